//! From a record to what analysis judges: which launches of a step count, and what keeps it from a verdict.
//! A running comparison and its report ask the same questions here, so that they get the same answers.

use analysis::{Cap, Ceiling, LaunchPairs, StepFacts, Warning, pairs, summarize};
use model::block::{BASE, Outcome, Side};
use model::event::Moment;
use model::plan::{DecisionRule, Plan};
use model::record::RunRecord;
use model::shape::{self, ShapePair};
use model::units::Bytes;
use model::workload::Step;
use std::collections::{BTreeMap, BTreeSet};

/// A step and a candidate of a run.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// The run, as far as it came.
    pub record: &'a RunRecord,
    pub step: &'a Step,
    pub candidate: Side,
}

/// What a calibration says of the harness.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Harness {
    /// Nobody asked since the host booted.
    NotCalibrated,
    /// No test found a bias.
    Honest,
    /// The sides are not treated alike: steps where that was seen.
    Biased { steps: Vec<String> },
}

/// RocksDB's default, where the options name no size of a memtable.
const DEFAULT_WRITE_BUFFER: Bytes = Bytes::from_mib(64);

/// The rule of a run: that of its plan, with Lmax as it was fixed.
pub fn rule(record: &RunRecord) -> DecisionRule {
    let rule = record.plan.rule;
    DecisionRule { max_launches: record.max_launches.unwrap_or(rule.max_launches), ..rule }
}

/// The launches that count, paired: those whose trials of the step are done on both sides. A trial that
/// failed, was skipped or was cut off by the end of the process leaves a launch out.
pub fn launches(case: Case<'_>) -> Vec<LaunchPairs<'_>> {
    let done = done_launches(case.record);
    let both_done = |launch: u32| {
        [BASE, case.candidate].iter().all(|side| done.contains(&(launch, case.step.name.as_str(), *side)))
    };
    let measured = case.record.blocks.iter().map(|block| block.trial.launch);
    let excluded: BTreeSet<u32> = measured.filter(|launch| !both_done(*launch)).collect();
    let comparison = analysis::launch::Comparison {
        step: &case.step.name,
        candidate: case.candidate,
        excluded: &excluded,
    };
    pairs(&case.record.blocks, &comparison)
}

/// What the verdict needs to know of the step, under these caps.
pub fn facts<'a>(case: Case<'a>, caps: &'a [Cap]) -> StepFacts<'a> {
    StepFacts::of(case.step, case.record.host.cpus, caps)
}

/// What keeps the case from a verdict: a biased harness, a side that could not be frozen, trees of different shape under
/// a step that reads, and unequal debt after one that writes.
pub fn caps(case: Case<'_>, harness: &Harness) -> Vec<Cap> {
    let biased = match harness {
        Harness::Biased { steps } => Some(Cap {
            ceiling: Ceiling::RatioOnly,
            warning: Warning::new(
                "harness-biased",
                format!(
                    "no verdict: the last calibration found the harness biased on {}; look for what disturbs \
                     this host, then run `dbdyno calibrate` again",
                    steps.join(", ")
                ),
            ),
        }),
        Harness::Honest | Harness::NotCalibrated => None,
    };
    let unfrozen = crate::elsewhere::cap(&case.record.plan, case.candidate);
    biased.into_iter().chain(unfrozen).chain(shape_cap(case)).collect()
}

/// What A/A runs of this host say of the harness.
pub fn harness(calibration: Option<&RunRecord>) -> Harness {
    let Some(record) = calibration else { return Harness::NotCalibrated };
    let mut steps = BTreeSet::new();
    for step in record.plan.chosen_steps() {
        for candidate in record.plan.candidate_sides() {
            let case = Case { record, step, candidate };
            let calibrated = analysis::calibration::calibrate(&summarize(&launches(case), step.writes()));
            let rates = calibrated.noise.iter().filter(|noise| is_rate(noise.metric));
            if rates.into_iter().any(|noise| noise.self_test.biased) {
                steps.insert(step.name.clone());
            }
        }
    }
    if steps.is_empty() { Harness::Honest } else { Harness::Biased { steps: steps.into_iter().collect() } }
}

pub(crate) fn is_rate(metric: model::metric::Metric) -> bool {
    use model::metric::Metric;
    match metric {
        Metric::OpsPerSecond | Metric::OpsPerSecondAdjusted => true,
        Metric::CpuMicrosPerOp | Metric::Counter(_) => false,
    }
}

fn done_launches(record: &RunRecord) -> BTreeSet<(u32, &str, Side)> {
    let done = record.trials.iter().filter(|ended| ended.outcome == Outcome::Done);
    done.map(|ended| (ended.trial.launch, ended.trial.step.as_str(), ended.trial.side)).collect()
}

/// A step that reads depends on the tree it finds; one that writes may leave work behind. Only what differs in
/// most launches is held against a step: a single odd launch is noise like any other.
fn shape_cap(case: Case<'_>) -> Option<Cap> {
    let reads = !case.step.operation.writes();
    let moment = if reads { Moment::Before } else { Moment::After };
    let mut compared = 0;
    let mut differing: BTreeMap<String, Vec<(u64, u64)>> = BTreeMap::new();
    for (launch, [base, candidate]) in shapes_by_launch(case, moment) {
        compared += 1;
        let pair = ShapePair { base, candidate };
        let found = shape::differences(pair, write_buffer(&case.record.plan), ingested(case, launch));
        for one in found.into_iter().filter(|one| reads || one.part == "pending compaction bytes") {
            differing.entry(one.part).or_default().push((one.base, one.candidate));
        }
    }
    let parts: Vec<String> = differing
        .into_iter()
        .filter(|(_, values)| 2 * values.len() > compared)
        .filter_map(|(part, values)| {
            let (base, candidate) = values.last()?;
            Some(format!("{part} {base} and {candidate} (in {} of {compared} launches)", values.len()))
        })
        .collect();
    if parts.is_empty() {
        return None;
    }
    let (id, text) = if reads {
        (
            "shape-differs",
            "no verdict: the trees that were read differ between the sides, base and candidate have",
        )
    } else {
        ("debt-differs", "no verdict: the sides left unequal work behind, base and candidate have")
    };
    Some(Cap {
        ceiling: Ceiling::Inconclusive,
        warning: Warning::new(id, format!("{text} {}", parts.join(", "))),
    })
}

/// The shapes of base and candidate at one moment, by launch.
fn shapes_by_launch(case: Case<'_>, moment: Moment) -> BTreeMap<u32, [&shape::Shape; 2]> {
    let of_side = |side: Side| -> BTreeMap<u32, &shape::Shape> {
        let read = case.record.shapes.iter().filter(|read| {
            read.moment == moment && read.trial.side == side && read.trial.step == case.step.name
        });
        read.map(|read| (read.trial.launch, &read.shape)).collect()
    };
    let candidates = of_side(case.candidate);
    let both = |(launch, base)| Some((launch, [base, *candidates.get(&launch)?]));
    of_side(BASE).into_iter().filter_map(both).collect()
}

fn write_buffer(plan: &Plan) -> Bytes {
    let subjects = plan.subjects.iter();
    let sizes = subjects.filter_map(|subject| subject.options.get("write_buffer_size")?.parse().ok());
    sizes.max().map_or(DEFAULT_WRITE_BUFFER, Bytes)
}

/// Bytes that one side of the step wrote in a launch; nothing where it only reads.
fn ingested(case: Case<'_>, launch: u32) -> Bytes {
    let data = &case.record.plan.workload.data;
    let row = (data.key_bytes + data.value_bytes) as u64;
    let blocks = case.record.blocks.iter().filter(|block| {
        block.trial.launch == launch && block.trial.side == BASE && block.trial.step == case.step.name
    });
    let written = if case.step.writes() { blocks.map(|block| block.operations * row).sum() } else { 0 };
    Bytes(written)
}
