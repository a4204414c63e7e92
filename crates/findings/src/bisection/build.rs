//! The view of a bisection, from what the search knows by the places of versions.

use super::{
    BisectObject, BisectView, Comparison, Fitted, Place, Status, Step, Stretch, StretchOutcome, Version,
};
use crate::SCHEMA;
use analysis::bisect::{Compared, Findings, FoundStep, Measurement, Outcome, StretchReport, Wanted};
use model::metric::Metric;
use model::warning::Warning;
use std::collections::BTreeMap;

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
