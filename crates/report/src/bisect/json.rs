//! A bisection as JSON: keys in a fixed order, numbers in base units, what is unknown absent.

use super::{BisectView, Status, Tried};
use crate::json::SCHEMA;
use analysis::bisect::{Compared, FoundStep, Outcome, StretchReport, Wanted};
use serde::Serialize;

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_bad: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    probability: Option<f64>,
    confirmed: bool,
    launches: u32,
    tried: Vec<Version<'a>>,
    // Added to the contract; these may grow.
    bisect: &'a str,
    seed: u64,
    workload: &'a str,
    step: &'a str,
    metric: &'a str,
    wanted: &'static str,
    good: &'a str,
    bad: &'a str,
    versions: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_good: Option<&'a str>,
    candidates: Vec<&'a str>,
    more_than_one_step: bool,
    steps: Vec<Step<'a>>,
    stretches: Vec<Stretch<'a>>,
    launches_ends: u32,
    launches_search: u32,
    launches_confirmation: u32,
    seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<&'a str>,
    warnings: &'a [String],
}

#[derive(Serialize)]
struct Version<'a> {
    version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'a str>,
    status: &'static str,
    launches: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    probability: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

#[derive(Serialize)]
struct Step<'a> {
    last_good: &'a str,
    first_bad: &'a str,
    candidates: Vec<&'a str>,
    probability: f64,
    confirmed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    comparison: Option<Comparison>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remainder_ratio: Option<f64>,
}

#[derive(Serialize)]
struct Stretch<'a> {
    good: &'a str,
    bad: &'a str,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    comparison: Option<Comparison>,
    not_confirmed: Vec<Place<'a>>,
}

#[derive(Serialize)]
struct Place<'a> {
    last_good: &'a str,
    first_bad: &'a str,
    comparison: Comparison,
}

#[derive(Serialize)]
struct Comparison {
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    low: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    high: Option<f64>,
    launches: u32,
}

/// The view as JSON, with a newline at its end. Errors: none that a view can cause.
pub fn json(view: &BisectView) -> Result<String, serde_json::Error> {
    let first = view.first_step();
    let tried = view.tried();
    let named = |versions: &[usize]| versions.iter().map(|version| view.name(*version)).collect();
    let launches = view.findings.launches;
    let document = Document {
        schema: SCHEMA,
        first_bad: first.map(|step| view.name(step.first_bad)),
        probability: first.map(|step| step.probability),
        confirmed: first.is_some_and(|step| step.confirmed),
        launches: launches.sum(),
        tried: tried
            .iter()
            .filter(|one| one.status != Status::NotTried)
            .map(|one| version(view, one))
            .collect(),
        bisect: &view.id,
        seed: view.seed,
        workload: &view.workload,
        step: &view.step,
        metric: view.metric.name(),
        wanted: match view.wanted {
            Wanted::Regression => "regression",
            Wanted::Improvement => "improvement",
        },
        good: view.name(0),
        bad: view.name(view.versions.len().saturating_sub(1)),
        versions: view.versions.len(),
        last_good: first.map(|step| view.name(step.last_good)),
        candidates: first.map(|step| named(&step.candidates)).unwrap_or_default(),
        more_than_one_step: view.findings.more_than_one_step(),
        steps: view.findings.steps().into_iter().map(|found| step(view, found)).collect(),
        stretches: view.findings.stretches.iter().map(|report| stretch(view, report)).collect(),
        launches_ends: launches.ends,
        launches_search: launches.search,
        launches_confirmation: launches.confirmation,
        seconds: view.seconds,
        stopped: view.stopped.as_deref(),
        warnings: &view.warnings,
    };
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn version<'a>(view: &'a BisectView, tried: &Tried) -> Version<'a> {
    let facts = &view.versions[tried.version];
    Version {
        version: &facts.name,
        summary: facts.summary.as_deref(),
        status: tried.status.name(),
        launches: tried.launches,
        ratio: tried.ratio,
        probability: tried.probability,
        reason: facts.not_measurable.as_deref(),
    }
}

fn step<'a>(view: &'a BisectView, found: &FoundStep) -> Step<'a> {
    Step {
        last_good: view.name(found.last_good),
        first_bad: view.name(found.first_bad),
        candidates: found.candidates.iter().map(|version| view.name(*version)).collect(),
        probability: found.probability,
        confirmed: found.confirmed,
        comparison: found.confirmation.map(comparison),
        remainder_ratio: found.remainder.map(f64::exp),
    }
}

fn stretch<'a>(view: &'a BisectView, report: &StretchReport) -> Stretch<'a> {
    Stretch {
        good: view.name(report.stretch.good),
        bad: view.name(report.stretch.bad),
        outcome: match &report.outcome {
            Outcome::Step(_) => "step",
            Outcome::Several => "several",
            Outcome::NoDifference => "no-difference",
            Outcome::EndNotMeasurable => "end-not-measurable",
            Outcome::Unfinished(_) => "unfinished",
        },
        comparison: report.ends.map(comparison),
        not_confirmed: report
            .not_confirmed
            .iter()
            .map(|place| Place {
                last_good: view.name(place.between.good),
                first_bad: view.name(place.between.bad),
                comparison: comparison(place.compared),
            })
            .collect(),
    }
}

fn comparison(compared: Compared) -> Comparison {
    Comparison {
        verdict: compared.verdict.name(),
        ratio: compared.ratio,
        low: compared.low,
        high: compared.high,
        launches: compared.launches,
    }
}
