//! What a bisection found, as text, JSON and a document.

mod document;
mod json;
mod text;

pub use document::document;
pub use json::json;
pub use text::{refusal, text};

use analysis::bisect::{Findings, FoundStep, Measurement, Outcome, Wanted};
use model::metric::Metric;
use std::collections::BTreeMap;

/// A bisection as far as it came.
#[derive(Debug, Clone, PartialEq)]
pub struct BisectView {
    /// The beginning of the names of its runs.
    pub id: String,
    /// The seed of all its random choices.
    pub seed: u64,
    pub workload: String,
    pub step: String,
    /// The rate that it went by.
    pub metric: Metric,
    /// What was looked for.
    pub wanted: Wanted,
    /// Share of false verdicts of its comparisons: their intervals have a confidence of 1 less that.
    pub alpha: f64,
    /// The versions in their order, as they are named to the user.
    pub versions: Vec<VersionFacts>,
    /// What the search found.
    pub findings: Findings,
    /// The launches of the search.
    pub measurements: Vec<Measurement>,
    /// Whether the time was up or the user stopped it before the search was done.
    pub stopped: Option<String>,
    /// Wall time of measuring, in seconds; fetching and building apart.
    pub seconds: f64,
    /// What a reader must know.
    pub warnings: Vec<String>,
}

/// A version of a bisection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionFacts {
    /// `8.7.3`, or the beginning of a commit's name.
    pub name: String,
    /// The first line of a commit's message.
    pub summary: Option<String>,
    /// Why it cannot be measured; absent where it can, as far as anybody tried.
    pub not_measurable: Option<String>,
}

/// What was tried of one version.
struct Tried {
    version: usize,
    status: Status,
    launches: u32,
    /// Mean over the launches of the search, relative to the good end.
    ratio: Option<f64>,
    /// That it is the first to differ.
    probability: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    GoodEnd,
    BadEnd,
    Measured,
    NotMeasurable,
    NotTried,
}

impl Status {
    fn name(self) -> &'static str {
        match self {
            Status::GoodEnd => "good-end",
            Status::BadEnd => "bad-end",
            Status::Measured => "measured",
            Status::NotMeasurable => "not-measurable",
            Status::NotTried => "not-tried",
        }
    }
}

impl BisectView {
    /// The first of the steps that were found.
    fn first_step(&self) -> Option<&FoundStep> {
        self.findings.steps().into_iter().next()
    }

    fn name(&self, version: usize) -> &str {
        self.versions.get(version).map_or("?", |facts| facts.name.as_str())
    }

    fn last_name(&self) -> &str {
        self.name(self.versions.len().saturating_sub(1))
    }

    /// `8.1.1 or 8.3.3`, where not all of them can be told apart.
    fn names(&self, versions: &[usize]) -> String {
        let names: Vec<&str> = versions.iter().map(|version| self.name(*version)).collect();
        names.join(" or ")
    }

    /// Whether the ends do not differ in the way that is looked for.
    pub fn is_refused(&self) -> bool {
        self.findings.stretches.first().is_some_and(|whole| whole.outcome == Outcome::NoDifference)
    }

    /// Every version with what was tried of it, in their order.
    fn tried(&self) -> Vec<Tried> {
        let last = self.versions.len().saturating_sub(1);
        let mut values: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        let whole = |one: &&Measurement| one.anchor == 0;
        for one in self.measurements.iter().filter(whole) {
            values.entry(one.version).or_default().push(one.value);
        }
        let suspected: BTreeMap<usize, f64> = self
            .findings
            .stretches
            .first()
            .into_iter()
            .flat_map(|whole| &whole.suspected)
            .map(|one| (one.version, one.probability))
            .collect();
        let status = |version: usize, facts: &VersionFacts| match (version, &facts.not_measurable) {
            (0, _) => Status::GoodEnd,
            (_, Some(_)) => Status::NotMeasurable,
            (version, None) if version == last => Status::BadEnd,
            (version, None) if self.launches_of(version) > 0 => Status::Measured,
            (_, None) => Status::NotTried,
        };
        let ends = self.findings.stretches.first().and_then(|whole| whole.ends);
        let of = |(version, facts): (usize, &VersionFacts)| {
            let own = values.get(&version).and_then(|values| analysis::student::mean(values)).map(f64::exp);
            let of_ends = ends.filter(|_| version == last).and_then(|ends| ends.ratio);
            Tried {
                version,
                status: status(version, facts),
                launches: self.launches_of(version),
                ratio: own.or(of_ends),
                probability: suspected.get(&version).copied(),
            }
        };
        self.versions.iter().enumerate().map(of).collect()
    }

    /// Launches of the search that measured a version; of the last one, those of the comparison of the ends.
    fn launches_of(&self, version: usize) -> u32 {
        if version + 1 == self.versions.len() {
            let ends = self.findings.stretches.first().and_then(|whole| whole.ends);
            return ends.map_or(0, |ends| ends.launches);
        }
        let of = self.measurements.iter().filter(|one| one.version == version);
        u32::try_from(of.count()).unwrap_or(u32::MAX)
    }
}

/// `worse`, `better`.
fn comparative(wanted: Wanted) -> &'static str {
    match wanted {
        Wanted::Regression => "slower",
        Wanted::Improvement => "faster",
    }
}

#[cfg(test)]
mod tests;
