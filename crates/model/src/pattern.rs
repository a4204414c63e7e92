//! Known patterns of slowdowns, as data: which metrics move together in which directions, and what that was each time it was looked into.

use crate::metric::Metric;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A pattern. It says what to look at, and never that it is the cause: that takes its remedy, measured.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pattern {
    /// `readahead-above-request-limit`
    pub id: String,
    /// Engines that it is of; all if there is none.
    #[serde(default)]
    pub engines: Vec<String>,
    /// What it means, in a sentence.
    pub says: String,
    /// Who found it, or the rule that it follows from.
    pub reference: String,
    /// A configuration of the engine that gives the rate back if this is the cause.
    pub remedy: Option<String>,
    /// All of these.
    when: Vec<Condition>,
}

/// How metrics must have changed, candidate over base.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Condition {
    /// One of these must have; names as in JSON.
    any_of: Vec<Metric>,
    #[serde(default)]
    above: Option<f64>,
    #[serde(default)]
    below: Option<f64>,
}

/// How a metric changed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Changed {
    /// Candidate over base.
    pub ratio: f64,
    /// Whether that may be noise: its interval includes 1.
    pub may_be_noise: bool,
}

/// Why a file of patterns could not be read.
#[derive(Debug, thiserror::Error)]
pub enum PatternError {
    #[error("failed to parse the patterns `{origin}`")]
    Parse { origin: String, source: Box<toml::de::Error> },
    #[error(
        "`{origin}`: a condition of the pattern `{id}` has neither or both of `above` and `below`, or names no metric"
    )]
    Condition { origin: String, id: String },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PatternFile {
    #[serde(rename = "pattern")]
    patterns: Vec<Pattern>,
}

/// Reads the patterns of a file; `origin` names it in errors.
pub fn parse(text: &str, origin: &str) -> Result<Vec<Pattern>, PatternError> {
    let file: PatternFile = toml::from_str(text)
        .map_err(|source| PatternError::Parse { origin: origin.to_owned(), source: Box::new(source) })?;
    for pattern in &file.patterns {
        let is_bad = |one: &Condition| one.any_of.is_empty() || one.above.is_some() == one.below.is_some();
        if pattern.when.is_empty() || pattern.when.iter().any(is_bad) {
            return Err(PatternError::Condition { origin: origin.to_owned(), id: pattern.id.clone() });
        }
    }
    Ok(file.patterns)
}

impl Pattern {
    /// Whether it is of an engine.
    pub fn is_of(&self, engine: &str) -> bool {
        self.engines.is_empty() || self.engines.iter().any(|one| one == engine)
    }

    /// The metrics that show it, one for each of its conditions; absent if one of them does not hold or is not known.
    pub fn evidence(&self, changed: &BTreeMap<Metric, Changed>) -> Option<Vec<(Metric, f64)>> {
        let of_condition = |condition: &Condition| {
            let holds = |metric: &&Metric| changed.get(metric).is_some_and(|of| condition.holds(*of));
            let metric = condition.any_of.iter().find(holds)?;
            Some((*metric, changed[metric].ratio))
        };
        self.when.iter().map(of_condition).collect()
    }
}

impl Condition {
    /// A change that may be noise is none.
    fn holds(&self, Changed { ratio, may_be_noise }: Changed) -> bool {
        match (self.above, self.below) {
            (Some(above), _) => {
                // Also "no less than before", which noise does not make untrue.
                if above > 1.0 { ratio > above && !may_be_noise } else { ratio > above }
            }
            (None, Some(below)) => {
                if below < 1.0 {
                    ratio < below && !may_be_noise
                } else {
                    ratio < below
                }
            }
            (None, None) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "[[pattern]]\nid = 'small-reads'\nengines = ['rocksdb']\nsays = 's'\nreference = 'r'\nremedy = 'x'\n\
        when = [{ any_of = ['disk_read_bytes_mean'], below = 0.6 }, { any_of = ['disk_reads_per_op', 'disk_reads_per_s'], above = 1.5 }, \
        { any_of = ['cpu_us_per_op'], below = 1.1 }]\n";

    fn changed(all: &[(&str, f64, bool)]) -> BTreeMap<Metric, Changed> {
        let one = |(name, ratio, may_be_noise): &(&str, f64, bool)| {
            (Metric::named(name).unwrap(), Changed { ratio: *ratio, may_be_noise: *may_be_noise })
        };
        all.iter().map(one).collect()
    }

    #[test]
    fn a_pattern_is_there_if_all_of_its_conditions_hold() {
        let pattern = &parse(TEXT, "test").unwrap()[0];
        assert!(pattern.is_of("rocksdb") && !pattern.is_of("mysql"));
        let all = [
            ("disk_read_bytes_mean", 0.2, false),
            ("disk_reads_per_s", 5.0, false),
            ("cpu_us_per_op", 1.0, true),
        ];
        let evidence = pattern.evidence(&changed(&all)).unwrap();
        assert_eq!(evidence.iter().map(|(_, ratio)| *ratio).collect::<Vec<_>>(), [0.2, 5.0, 1.0]);
        assert_eq!(pattern.evidence(&changed(&all[..2])), None, "what is not known does not hold");
        let noise = [("disk_read_bytes_mean", 0.2, true), all[1], all[2]];
        assert_eq!(pattern.evidence(&changed(&noise)), None);
        let more_cpu = [all[0], all[1], ("cpu_us_per_op", 1.2, false)];
        assert_eq!(pattern.evidence(&changed(&more_cpu)), None);
    }

    #[test]
    fn a_condition_that_says_nothing_is_refused() {
        for when in
            ["[]", "[{ any_of = [], above = 2 }]", "[{ any_of = ['rss'] }]", "[{ any_of = ['stalls'] }]"]
        {
            let text = format!("[[pattern]]\nid = 'a'\nsays = 's'\nreference = 'r'\nwhen = {when}\n");
            assert!(parse(&text, "test").is_err(), "{when}");
        }
    }
}
