//! Judging the steps and candidates of a run: which launches count, what keeps them from a verdict, what may be said. A
//! report replays the looks that the run's referee took on the same [`family`] of [`Case`]s, so that both say the same.

use crate::background_rates;
use crate::elsewhere;
use crate::harness::Harness;
use analysis::{
    Cap, Ceiling, Judgement, LaunchPairs, LaunchSummary, Look, Procedure, StepFacts, judge_family, pairs,
    summarize,
};
use model::block::{BASE, Block, Outcome, Side};
use model::event::Moment;
use model::plan::{DecisionRule, Plan};
use model::record::{LaunchRecord, RunRecord};
use model::self_test::SelfTestRecord;
use model::shape::{self, ShapeDifference, ShapePair};
use model::units::Bytes;
use model::warning::{DifferingPart, Warning};
use model::workload::Step;
use std::collections::{BTreeMap, BTreeSet};

/// A step and a candidate of a run, as far as it came.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    pub plan: &'a Plan,
    /// CPUs of the host.
    pub cpus: u32,
    pub blocks: &'a [Block],
    /// Where the run is stored already, all of it: blocks of trials that are not done do not count. A running
    /// comparison brings complete launches alone.
    pub record: Option<&'a RunRecord>,
    pub step: &'a Step,
    /// The candidate's side.
    pub candidate: Side,
}

/// What is said of a case, and the launches that it rests on.
#[derive(Debug, Clone)]
pub struct Judged {
    pub judgement: Judgement,
    pub launches: Vec<LaunchSummary>,
}

impl Judged {
    /// Wall time of the blocks of both sides, in seconds.
    pub fn seconds(&self) -> f64 {
        self.launches.iter().map(|launch| launch.base.wall_s + launch.candidate.wall_s).sum()
    }
}

impl<'a> Case<'a> {
    /// A case of a stored run.
    pub fn of(record: &'a RunRecord, step: &'a Step, candidate: Side) -> Case<'a> {
        Case {
            plan: &record.plan,
            cpus: record.host.cpus,
            blocks: &record.blocks,
            record: Some(record),
            step,
            candidate,
        }
    }

    /// The launches that count, paired: those whose trials of the step are done on both sides. A trial that failed, was
    /// skipped or was cut off by the end of the process leaves a launch out.
    pub fn launches(&self) -> Vec<LaunchPairs<'a>> {
        let not_done = self.record.map(|record| not_done(record, self.step)).unwrap_or_default();
        let of_pair = |(launch, side): &(u32, Side)| [BASE, self.candidate].contains(side).then_some(*launch);
        let excluded = not_done.iter().filter_map(of_pair).collect();
        let comparison = analysis::launch::Comparison {
            step: &self.step.name,
            candidate: self.candidate,
            excluded: &excluded,
        };
        pairs(self.blocks, &comparison)
    }

    /// The value of each launch that counts, in ascending order.
    pub fn summaries(&self) -> Vec<LaunchSummary> {
        summarize(&self.launches(), self.step.writes())
    }

    /// What `analysis` judges, under these caps; `tau` is the build noise of the step, if it was measured.
    pub fn for_analysis<'b>(
        &'b self,
        launches: &'b [LaunchSummary],
        caps: &'b [Cap],
        tau: Option<f64>,
    ) -> analysis::Case<'b> {
        let tau = if is_of_configurations(self.plan, self.candidate) { Some(0.0) } else { tau };
        analysis::Case { facts: StepFacts { tau, ..StepFacts::of(self.step, self.cpus, caps) }, launches }
    }
}

/// Whether a candidate runs the code of the base with other options: then nothing is laid out otherwise that could explain a change. Another
/// environment moves the stack, and may load other code (Mytkowicz et al., 2009). A build against itself is no such case: what differs between its
/// sides is what calibrations look for.
pub(crate) fn is_of_configurations(plan: &Plan, candidate: Side) -> bool {
    let (base, candidate) = (&plan.subjects[BASE], &plan.subjects[candidate]);
    let is_same_code = base.build.checksum().is_some() && base.build.checksum() == candidate.build.checksum();
    is_same_code
        && base.config.environment == candidate.config.environment
        && (base.config != candidate.config || base.options != candidate.options)
}

/// Launch and side of the trials of a step that have blocks and are not done.
pub(crate) fn not_done(record: &RunRecord, step: &Step) -> BTreeSet<(u32, Side)> {
    let of_step = |name: &str| name == step.name;
    let measured = record.blocks.iter().map(|block| &block.trial).filter(|trial| of_step(&trial.step));
    let ended = record.trials.iter().filter(|ended| of_step(&ended.trial.step));
    let done: BTreeSet<(u32, Side)> = ended
        .filter(|ended| ended.outcome == Outcome::Done)
        .map(|ended| (ended.trial.launch, ended.trial.side))
        .collect();
    measured.map(|trial| (trial.launch, trial.side)).filter(|key| !done.contains(key)).collect()
}

/// The steps and candidates of a run that are judged together, in the order of reports.
pub fn family(plan: &Plan) -> impl Iterator<Item = (&Step, Side)> {
    plan.candidate_sides().flat_map(|candidate| plan.chosen_steps().map(move |step| (step, candidate)))
}

/// What is held against a run: other runs of its host.
#[derive(Debug, Clone, Default)]
pub struct Evidence<'a> {
    /// The self-tests of all calibrations that count for it, from the oldest to the newest.
    pub self_tests: &'a [SelfTestRecord],
    /// Build noise of each step, in ln, as [`crate::build_noise::by_step`] has it; what is missing is as the rule assumes.
    pub build_noise: BTreeMap<String, f64>,
}

/// All that may be said of a stored comparison, in the order of its [`family`]. Campaigns are judged by [`crate::sides`].
pub fn judge_run<'a>(record: &'a RunRecord, evidence: &Evidence<'_>) -> Vec<(&'a Step, Side, Judged)> {
    let harness = Harness::of(record, evidence.self_tests);
    let cases: Vec<Case<'a>> =
        family(&record.plan).map(|(step, candidate)| Case::of(record, step, candidate)).collect();
    let launches: Vec<Vec<LaunchSummary>> = cases.iter().map(Case::summaries).collect();
    let caps: Vec<Vec<Cap>> = cases.iter().map(|case| caps(*case, &harness)).collect();
    let judged_cases: Vec<analysis::Case<'_>> = cases
        .iter()
        .zip(launches.iter().zip(&caps))
        .map(|(case, (launches, caps))| {
            case.for_analysis(launches, caps, evidence.build_noise.get(&case.step.name).copied())
        })
        .collect();
    let judgements = judge_family(&judged_cases, &Procedure::new(rule(record)), &looks(record));
    let judged = judgements.into_iter().zip(launches).map(|(judgement, mut launches)| {
        launches.truncate(judgement.launches as usize);
        Judged { judgement, launches }
    });
    cases.iter().zip(judged).map(|(case, judged)| (case.step, case.candidate, judged)).collect()
}

/// The looks that a run took. One that goes on or was interrupted has those until then.
pub fn looks(record: &RunRecord) -> Vec<Look> {
    let look = |launch: &LaunchRecord| Some(Look { launch: launch.launch, share: launch.look? });
    record.launches.iter().filter_map(look).collect()
}

/// RocksDB's default, where the options name no size of a memtable.
const DEFAULT_WRITE_BUFFER: Bytes = Bytes::from_mib(64);

/// The rule of a run: that of its plan, with Lmax as it was fixed.
pub fn rule(record: &RunRecord) -> DecisionRule {
    let rule = record.plan.rule;
    // An extension has as many as there may be at all.
    let fixed = record.max_launches.filter(|_| rule.extension.is_none());
    DecisionRule { max_launches: fixed.unwrap_or(rule.max_launches), ..rule }
}

/// What keeps a case of a stored run from a verdict: a harness that is biased in this step, a side that could not be frozen, trees of
/// different shape under a step that reads, unequal debt after one that writes, and a rate beside it that was missed.
pub(crate) fn caps(case: Case<'_>, harness: &Harness) -> Vec<Cap> {
    let step = &case.step.name;
    // A bias of one step says nothing sure of another: what others are limited by is told beside them.
    let biased = harness.failed.contains(step).then(|| Cap {
        ceiling: Ceiling::RatioOnly,
        warning: Warning::HarnessBiased { steps: vec![step.clone()] },
    });
    let unfrozen = elsewhere::cap(case.plan, case.candidate);
    let of_shape = case.record.and_then(|record| shape_cap(case, record));
    let of_rate = case
        .record
        .and_then(|record| background_rates::cap(case.plan, &record.blocks, case.step, case.candidate));
    biased.into_iter().chain(unfrozen).chain(of_shape).chain(of_rate).collect()
}

/// A step that reads depends on the tree it finds; one that writes may leave work behind. Only what differs in
/// most launches is held against a step: a single odd launch is noise like any other.
fn shape_cap(case: Case<'_>, record: &RunRecord) -> Option<Cap> {
    let reads = !case.step.operation.writes();
    let moment = if reads { Moment::Before } else { Moment::After };
    let mut compared = 0;
    let mut differing: BTreeMap<String, Vec<(u64, u64)>> = BTreeMap::new();
    for (launch, (bases, candidate)) in shapes_by_launch(case, record, moment) {
        compared += 1;
        let from = |base| {
            let pair = ShapePair { base, candidate };
            shape::differences(pair, write_buffer(case.plan), ingested(case, launch))
        };
        let from_each: Vec<_> = bases.into_iter().map(from).collect();
        let Some((first, others)) = from_each.split_first() else { continue };
        // Where the candidate lies among processes of the base is no difference of the candidate.
        let is_alike = |one: &ShapeDifference, other: &ShapeDifference| {
            one.part == other.part && (one.base < one.candidate) == (other.base < other.candidate)
        };
        let is_in_all =
            |one: &ShapeDifference| others.iter().all(|found| found.iter().any(|other| is_alike(one, other)));
        for one in first.iter().filter(|one| reads || one.part == "pending compaction bytes") {
            if is_in_all(one) {
                differing.entry(one.part.clone()).or_default().push((one.base, one.candidate));
            }
        }
    }
    differing.retain(|_, values| 2 * values.len() > compared);
    let ceiling = if reads { Ceiling::Inconclusive } else { of_debt(differing.values().flatten()) };
    let parts: Vec<DifferingPart> = differing
        .into_iter()
        .filter_map(|(part, values)| {
            let (base, candidate) = *values.last()?;
            Some(DifferingPart { part, base, candidate, launches: values.len() as u64 })
        })
        .collect();
    if parts.is_empty() {
        return None;
    }
    let launches = compared as u64;
    let warning = if reads {
        Warning::ShapeDiffers { parts, launches }
    } else {
        Warning::DebtDiffers { parts, launches }
    };
    Some(Cap { ceiling, warning })
}

/// Work that was left behind can make a side faster, never slower. Of the base and the candidate.
fn of_debt<'a>(debts: impl Iterator<Item = &'a (u64, u64)> + Clone) -> Ceiling {
    if debts.clone().all(|(base, candidate)| candidate > base) {
        Ceiling::Loss
    } else if debts.clone().all(|(base, candidate)| candidate < base) {
        Ceiling::Gain
    } else {
        Ceiling::Inconclusive
    }
}

/// The shapes of the base's processes and of the candidate at one moment, by launch.
fn shapes_by_launch<'a>(
    case: Case<'_>,
    record: &'a RunRecord,
    moment: Moment,
) -> BTreeMap<u32, (Vec<&'a shape::Shape>, &'a shape::Shape)> {
    let of_side = |side: Side| -> BTreeMap<u32, &shape::Shape> {
        let read = record.shapes.iter().filter(|read| {
            read.moment == moment && read.trial.side == side && read.trial.step == case.step.name
        });
        read.map(|read| (read.trial.launch, &read.shape)).collect()
    };
    let bases: Vec<BTreeMap<u32, &shape::Shape>> = case.plan.base_sides().map(of_side).collect();
    let of_launch = |(launch, candidate): (u32, &'a shape::Shape)| {
        let of_base: Vec<&shape::Shape> =
            bases.iter().filter_map(|base| base.get(&launch).copied()).collect();
        (!of_base.is_empty()).then_some((launch, (of_base, candidate)))
    };
    of_side(case.candidate).into_iter().filter_map(of_launch).collect()
}

fn write_buffer(plan: &Plan) -> Bytes {
    let subjects = plan.subjects.iter();
    let sizes = subjects.filter_map(|subject| subject.options.get("write_buffer_size")?.parse().ok());
    sizes.max().map_or(DEFAULT_WRITE_BUFFER, Bytes)
}

/// Bytes that one side of the step wrote in a launch; nothing where it only reads.
fn ingested(case: Case<'_>, launch: u32) -> Bytes {
    let data = &case.plan.workload.data;
    let row = (data.key_bytes + data.value_bytes) as u64;
    let blocks = case.blocks.iter().filter(|block| {
        block.trial.launch == launch && block.trial.side == BASE && block.trial.step == case.step.name
    });
    let written = if case.step.writes() { blocks.map(|block| block.operations * row).sum() } else { 0 };
    Bytes(written)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::verdict::Layout;
    use testing::compared::{EQUAL, Truth, record};

    /// Smaller than what builds of one source may differ by, and larger than the noise.
    const SMALL: Truth = Truth { write: 1.0, read: 0.985 };

    fn layout(record: &RunRecord) -> Option<Layout> {
        let judged = judge_run(record, &Evidence::default());
        judged.into_iter().find(|(step, ..)| step.name == "readrandom")?.2.judgement.layout
    }

    #[test]
    fn code_layout_explains_no_change_between_two_configurations_of_one_build() {
        let two_builds = record(&SMALL);
        assert_eq!(layout(&two_builds), Some(Layout::MayBe));
        let mut one_build = two_builds.clone();
        one_build.plan.subjects[1].build = one_build.plan.subjects[BASE].build.clone();
        one_build.plan.subjects[1].config = one_build.plan.subjects[BASE].config.clone();
        one_build.plan.subjects[1].options = one_build.plan.subjects[BASE].options.clone();
        assert_eq!(layout(&one_build), Some(Layout::MayBe), "a build against itself");
        one_build.plan.subjects[1].options.insert("use_adaptive_mutex".to_owned(), "true".to_owned());
        assert_eq!(layout(&one_build), Some(Layout::Beyond));
        let equal = RunRecord { blocks: record(&EQUAL).blocks, ..one_build };
        assert_eq!(layout(&equal), Some(Layout::Within));
    }
}
