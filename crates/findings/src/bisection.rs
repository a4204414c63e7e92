//! What a bisection found: the view, and how it is made from what the search knows by the places of versions.

use crate::SCHEMA;
use analysis::bisect::{Compared, Findings, FoundStep, Measurement, Outcome, StretchReport, Wanted};
use model::metric::Metric;
use model::verdict::{Layout, Verdict};
use model::warning::Warning;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A bisection as far as it came, ready to be laid out, and to be kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BisectView {
    /// What JSON shows.
    pub found: BisectObject,
    /// Share of false verdicts of its comparisons: their intervals have a confidence of 1 less that.
    pub alpha: f64,
    /// What a reader must know.
    pub warnings: Vec<Warning>,
    /// Versions that were not tried, each with its place in the order of all; in that order.
    pub untried: Vec<(usize, Version)>,
}

/// The contract for scripts: keys in a fixed order, numbers in base units, what is unknown absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BisectObject {
    pub schema: u32,
    /// The first version that differs; absent where none was found, as all that follows from it.
    pub first_bad: Option<String>,
    pub probability: Option<f64>,
    pub confirmed: bool,
    pub launches: u32,
    /// In their order.
    pub tried: Vec<Version>,
    // Added to the contract; these may grow.
    /// The beginning of the names of its runs.
    pub bisect: String,
    pub seed: u64,
    pub workload: String,
    pub step: String,
    /// The rate that it went by.
    pub metric: String,
    /// The verdict that was looked for: a regression or an improvement.
    pub wanted: Verdict,
    pub good: String,
    pub bad: String,
    /// How many there are from good to bad.
    pub versions: usize,
    pub last_good: Option<String>,
    /// Versions of which each may be the first to differ.
    pub candidates: Vec<String>,
    pub more_than_one_step: bool,
    pub steps: Vec<Step>,
    /// In the order of their search; the first one is the whole.
    pub stretches: Vec<Stretch>,
    pub launches_ends: u32,
    pub launches_search: u32,
    pub launches_confirmation: u32,
    /// Wall time of measuring; fetching and building apart.
    pub seconds: f64,
    /// Why it ended before its end.
    pub stopped: Option<String>,
    /// `busy-host: load 3`
    pub warnings: Vec<String>,
    /// What makes the same search, for a shell; absent from bisections of older versions.
    #[serde(default)]
    pub command: Option<String>,
}

/// A version, with what was tried of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Version {
    /// `8.7.3`, or the beginning of a commit's name.
    pub version: String,
    /// The first line of a commit's message.
    pub summary: Option<String>,
    pub status: Status,
    pub launches: u32,
    /// Mean over the launches of the search, relative to the good end.
    pub ratio: Option<f64>,
    /// That it is the first to differ.
    pub probability: Option<f64>,
    /// Why it cannot be measured; absent where it can, as far as anybody tried.
    pub reason: Option<String>,
}

/// What became of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Status {
    GoodEnd,
    BadEnd,
    Measured,
    NotMeasurable,
    NotTried,
}

impl Status {
    /// As JSON has it.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A step that was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    pub last_good: String,
    pub first_bad: String,
    pub candidates: Vec<String>,
    pub probability: f64,
    pub confirmed: bool,
    /// Of the versions on either side; absent where there was no time for it.
    pub comparison: Option<Comparison>,
    /// What the step leaves of the difference of its stretch.
    pub remainder_ratio: Option<f64>,
}

/// Versions from one to another that were searched for one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stretch {
    pub good: String,
    pub bad: String,
    pub outcome: StretchOutcome,
    /// Of its ends, if it is the whole; absent if it was not made.
    pub comparison: Option<Comparison>,
    /// Of a part: how far its ends are apart by all launches of the search.
    #[serde(default)]
    pub fitted: Option<Fitted>,
    /// Places that were likely enough to be compared, and did not show a step.
    pub not_confirmed: Vec<Place>,
}

/// How the search of a stretch ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StretchOutcome {
    Step,
    Several,
    NoDifference,
    EndNotMeasurable,
    Unfinished,
}

/// Neighbours that were compared without showing a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Place {
    pub last_good: String,
    pub first_bad: String,
    pub comparison: Comparison,
}

/// The later version over the earlier one, with a 99 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Fitted {
    pub ratio: f64,
    pub low: f64,
    pub high: f64,
}

/// The later version over the earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    pub verdict: Verdict,
    /// Whether the layout of code can account for the change; absent without a verdict, and in searches of before.
    #[serde(default)]
    pub layout: Option<Layout>,
    pub ratio: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub launches: u32,
}

impl BisectView {
    /// Whether the ends do not differ in the way that is looked for.
    pub fn is_refused(&self) -> bool {
        self.outcome() == Some(StretchOutcome::NoDifference)
    }

    /// How the search of all versions ended; absent where it did not get as far.
    pub fn outcome(&self) -> Option<StretchOutcome> {
        self.whole().map(|whole| whole.outcome)
    }

    pub fn whole(&self) -> Option<&Stretch> {
        self.found.stretches.first()
    }

    pub fn ends(&self) -> Option<Comparison> {
        self.whole()?.comparison
    }

    /// All versions in their order.
    pub fn versions(&self) -> Vec<&Version> {
        let mut all: Vec<&Version> = self.found.tried.iter().collect();
        for (place, version) in &self.untried {
            all.insert((*place).min(all.len()), version);
        }
        all
    }

    /// `slower`, `faster`.
    pub fn comparative(&self) -> &'static str {
        if self.found.wanted == Verdict::Improvement { "faster" } else { "slower" }
    }
}

/// A search as far as it came.
#[derive(Debug, Clone, PartialEq)]
pub struct Searched {
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
    /// Share of false verdicts of its comparisons.
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
    pub warnings: Vec<Warning>,
    /// What makes the same search, for a shell.
    pub command: String,
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

/// The view of a search.
pub fn build(searched: &Searched) -> BisectView {
    let findings = &searched.findings;
    let first = findings.steps().into_iter().next();
    let (untried, tried): (Vec<_>, Vec<_>) =
        searched.tried().into_iter().enumerate().partition(|(_, version)| version.status == Status::NotTried);
    let found = BisectObject {
        schema: SCHEMA,
        first_bad: first.map(|step| searched.name(step.first_bad)),
        probability: first.map(|step| step.probability),
        confirmed: first.is_some_and(|step| step.confirmed),
        launches: findings.launches.sum(),
        tried: tried.into_iter().map(|(_, version)| version).collect(),
        bisect: searched.id.clone(),
        seed: searched.seed,
        workload: searched.workload.clone(),
        step: searched.step.clone(),
        metric: searched.metric.name().to_owned(),
        wanted: searched.wanted.verdict(),
        good: searched.name(0),
        bad: searched.name(searched.versions.len().saturating_sub(1)),
        versions: searched.versions.len(),
        last_good: first.map(|step| searched.name(step.last_good)),
        candidates: first.map(|step| searched.names(&step.candidates)).unwrap_or_default(),
        more_than_one_step: findings.more_than_one_step(),
        steps: findings.steps().into_iter().map(|step| searched.step(step)).collect(),
        stretches: findings.stretches.iter().map(|report| searched.stretch(report)).collect(),
        launches_ends: findings.launches.ends,
        launches_search: findings.launches.search,
        launches_confirmation: findings.launches.confirmation,
        seconds: searched.seconds,
        stopped: searched.stopped.clone(),
        warnings: searched.warnings.iter().map(|one| format!("{}: {one}", one.id())).collect(),
        command: Some(searched.command.clone()),
    };
    BisectView { found, alpha: searched.alpha, warnings: searched.warnings.clone(), untried }
}

impl Searched {
    fn name(&self, version: usize) -> String {
        self.versions.get(version).map_or_else(|| "?".to_owned(), |facts| facts.name.clone())
    }

    fn names(&self, versions: &[usize]) -> Vec<String> {
        versions.iter().map(|version| self.name(*version)).collect()
    }

    fn step(&self, found: &FoundStep) -> Step {
        Step {
            last_good: self.name(found.last_good),
            first_bad: self.name(found.first_bad),
            candidates: self.names(&found.candidates),
            probability: found.probability,
            confirmed: found.confirmed,
            comparison: found.confirmation.map(comparison),
            remainder_ratio: found.remainder.map(f64::exp),
        }
    }

    fn stretch(&self, report: &StretchReport) -> Stretch {
        let places = report.not_confirmed.iter().map(|place| Place {
            last_good: self.name(place.between.good),
            first_bad: self.name(place.between.bad),
            comparison: comparison(place.compared),
        });
        Stretch {
            good: self.name(report.stretch.good),
            bad: self.name(report.stretch.bad),
            outcome: match &report.outcome {
                Outcome::Step(_) => StretchOutcome::Step,
                Outcome::Several => StretchOutcome::Several,
                Outcome::NoDifference => StretchOutcome::NoDifference,
                Outcome::EndNotMeasurable => StretchOutcome::EndNotMeasurable,
                Outcome::Unfinished(_) => StretchOutcome::Unfinished,
            },
            comparison: report.ends.map(comparison),
            fitted: report.fitted.map(|fitted| Fitted {
                ratio: fitted.ratio,
                low: fitted.low,
                high: fitted.high,
            }),
            not_confirmed: places.collect(),
        }
    }

    /// Every version with what was tried of it, in their order.
    fn tried(&self) -> Vec<Version> {
        let last = self.versions.len().saturating_sub(1);
        let mut values: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for one in self.measurements.iter().filter(|one| one.anchor == 0) {
            values.entry(one.version).or_default().push(one.value);
        }
        let whole = self.findings.stretches.first();
        let suspected: BTreeMap<usize, f64> = whole
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
        let of = |(version, facts): (usize, &VersionFacts)| {
            let own = values.get(&version).and_then(|values| analysis::student::mean(values)).map(f64::exp);
            let ends = whole.and_then(|whole| whole.ends).filter(|_| version == last);
            Version {
                version: facts.name.clone(),
                summary: facts.summary.clone(),
                status: status(version, facts),
                launches: self.launches_of(version),
                ratio: own.or(ends.and_then(|ends| ends.ratio)),
                probability: suspected.get(&version).copied(),
                reason: facts.not_measurable.clone(),
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

fn comparison(compared: Compared) -> Comparison {
    Comparison {
        verdict: compared.verdict,
        layout: compared.layout,
        ratio: compared.ratio,
        low: compared.low,
        high: compared.high,
        launches: compared.launches,
    }
}
