//! The report of several builds of the same source against each other: how much a build by itself differs.

use crate::comparison::{RunFacts, facts};
use crate::judge::Case;
use analysis::build_noise::{BuildNoise, build_noise};
use analysis::launch::LaunchSummary;
use model::block::BASE;
use model::host::Host;
use model::plan::Plan;
use model::record::RunRecord;
use model::workload::Step;
use std::collections::BTreeMap;

/// The name of the runs that measure it.
pub const BUILD_NOISE: &str = "build-noise";
/// Confidence of the upper bounds.
pub const CONFIDENCE: f64 = 0.95;

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct BuildNoiseView {
    pub run: RunFacts,
    /// The builds, the base first.
    pub builds: Vec<String>,
    /// Builds that are byte for byte the same as one before them: they can have no noise.
    pub identical: Vec<String>,
    /// One for each step.
    pub steps: Vec<StepNoise>,
    /// What is assumed where nobody measured it, in ln.
    pub assumed: f64,
    /// Where it was measured.
    pub host: Host,
}

/// One step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepNoise {
    pub step: String,
    /// Of operations a second.
    pub rate: Option<BuildNoise>,
    /// Of CPU time per operation.
    pub cpu: Option<BuildNoise>,
}

/// The view of a comparison of builds of the same source.
pub fn build(record: &RunRecord) -> BuildNoiseView {
    let subjects = &record.plan.subjects;
    let mut seen: BTreeMap<&str, &model::plan::Subject> = BTreeMap::new();
    let mut identical = Vec::new();
    for subject in subjects {
        let same = subject.build.checksum().and_then(|sha256| seen.insert(sha256, subject));
        if let Some(first) = same {
            identical.push(format!("{} is {}", subject.reference, first.reference));
        }
    }
    BuildNoiseView {
        run: facts::run(record),
        builds: subjects.iter().map(|subject| subject.reference.to_string()).collect(),
        identical,
        steps: record.plan.chosen_steps().map(|step| of_step(record, step)).collect(),
        assumed: record.plan.rule.tau,
        host: record.host.clone(),
    }
}

/// What the default of build noise counts for beside what was measured: as much as three builds.
const ASSUMED_FREEDOM: f64 = 2.0;

/// The build noise of each step of a run, in ln, from a comparison of builds of one source of the same engine. A few
/// builds tell little of how builds scatter, so what is assumed counts beside what was measured.
pub fn by_step(measured: &RunRecord, of: &Plan) -> BTreeMap<String, f64> {
    let engine = |plan: &Plan| plan.subjects.first().map(|subject| subject.reference.build.engine.clone());
    if engine(&measured.plan) != engine(of) {
        return BTreeMap::new();
    }
    let view = build(measured);
    let freedom = (view.builds.len() - view.identical.len()).saturating_sub(1) as f64;
    let combined = |tau: f64| {
        let assumed = of.rule.tau;
        ((freedom * tau.powi(2) + ASSUMED_FREEDOM * assumed.powi(2)) / (freedom + ASSUMED_FREEDOM)).sqrt()
    };
    let of_step = |step: StepNoise| Some((step.step, combined(step.rate?.tau)));
    view.steps.into_iter().filter_map(of_step).collect()
}

fn of_step(record: &RunRecord, step: &Step) -> StepNoise {
    let candidates: Vec<BTreeMap<u32, LaunchSummary>> = record
        .plan
        .candidate_sides()
        .filter(|side| *side != BASE)
        .map(|candidate| {
            let summaries = Case::of(record, step, candidate).summaries();
            summaries.into_iter().map(|summary| (summary.launch, summary)).collect()
        })
        .collect();
    let launches: Vec<u32> = candidates.first().map(|of| of.keys().copied().collect()).unwrap_or_default();
    let noise = |value: fn(&LaunchSummary) -> Option<f64>| {
        let row = |launch: &u32| candidates.iter().map(|of| of.get(launch).and_then(value)).collect();
        build_noise(&launches.iter().map(row).collect::<Vec<_>>(), CONFIDENCE)
    };
    StepNoise { step: step.name.clone(), rate: noise(|of| of.wall), cpu: noise(|of| of.cpu) }
}
