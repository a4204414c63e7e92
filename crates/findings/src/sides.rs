//! A run whose sides are all there at once: its values of each side and launch, its verdicts by all sides together, and the base's
//! processes against each other.

use crate::comparison::rounds::Cells;
use crate::comparison::{ControlView, Values};
use crate::harness::Harness;
use crate::judge::{self, Case, Evidence, Judged};
use analysis::launch::totals;
use analysis::sides::{
    Roles, SideLaunch, SideStep, SideValue, SidesStep, judge_sides, set_aside, side_launches, widest_halves,
};
use analysis::{Cap, LaunchSummary, StepFacts, least_launches};
use model::block::{BASE, Block, Side};
use model::counter::Counter;
use model::event::RunOutcome;
use model::metric::Metric;
use model::plan::Plan;
use model::record::{RunRecord, RunStatus};
use model::warning::Warning;
use model::workload::Step;
use std::collections::{BTreeMap, BTreeSet};

/// What a run says.
pub(crate) struct JudgedRun<'a> {
    /// By candidate, then in the order of the workload: as [`judge::family`] has them.
    pub(crate) judged: Vec<(&'a Step, Side, Judged)>,
    pub(crate) control: ControlView,
}

/// Judges a campaign.
pub(crate) fn judge<'a>(record: &'a RunRecord, evidence: &Evidence<'_>) -> JudgedRun<'a> {
    let plan = &record.plan;
    let measured = Measured::of_record(record, evidence);
    let steps = measured.steps(plan, record.host.cpus, &evidence.build_noise);
    // One that was stopped is gone on with: a verdict before its end would be one of several looks.
    let is_over = record.status == RunStatus::Ended(RunOutcome::Done);
    let found = judge_sides(&steps, &roles(plan), &plan.rule, is_over).expect(FINITE);
    let candidates = plan.candidate_sides().count();
    let mut judgements: BTreeMap<(Side, usize), Judged> = BTreeMap::new();
    for (place, mut judgement) in found.judgements.into_iter().enumerate() {
        judgement.warnings.extend(measured.values[place / candidates].warning());
        let key = (plan.candidate_sides().start + place % candidates, place / candidates);
        judgements.insert(key, Judged { judgement, launches: measured.pairs[place].clone() });
    }
    let steps: Vec<&Step> = plan.chosen_steps().collect();
    let control = ControlView {
        verdict: found.control.verdict,
        processes: plan.base_sides().count(),
        p: found.control.p,
        step: found.control.step.map(|step| steps[step].name.clone()),
        range: found.control.range.exp_m1(),
    };
    let judged = judgements.into_iter().map(|((side, step), judged)| (steps[step], side, judged)).collect();
    JudgedRun { judged, control }
}

/// Half of the widest interval of each step of a campaign that is measured, by these blocks of complete trials, as a share (0.05 is plus
/// or minus 5 %); a step of which nothing is known yet is left out.
pub fn known_within(plan: &Plan, cpus: u32, blocks: &BTreeMap<String, Vec<Block>>) -> BTreeMap<String, f64> {
    let measured = Measured::of_blocks(plan, cpus, blocks);
    let steps = measured.steps(plan, cpus, &BTreeMap::new());
    let halves = widest_halves(&steps, &roles(plan), &plan.rule).expect(FINITE);
    let of = |(step, half): (&Step, Option<f64>)| Some((step.name.clone(), half?.exp_m1()));
    plan.chosen_steps().zip(halves).filter_map(of).collect()
}

/// Fewer launches say nothing of how much they scatter.
const LEAST_LAUNCHES: u32 = 5;

/// What another run may expect by this one.
pub struct Noise {
    /// Wall time of a launch for each of its sides.
    pub seconds_of_a_side: f64,
    /// Standard deviation of a side's value in a launch, in ln, by step: the middle over candidates, of the rate that decides.
    pub deviation_of_a_side: BTreeMap<String, f64>,
}

impl Noise {
    /// Absent if no launch of all steps has ended.
    pub fn of(record: &RunRecord) -> Option<Noise> {
        let first_exit = record.step_exits.iter().map(|exit| exit.launch).min().unwrap_or(u32::MAX);
        let of_all_steps = record.launches.iter().filter(|launch| launch.launch <= first_exit);
        let took: Vec<f64> = of_all_steps.filter_map(|launch| Some(launch.took?.as_secs_f64())).collect();
        let sides = record.plan.sides_at_once() as f64;
        let base = record.plan.base_sides().count() as f64;
        let mut of_step: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for (step, _, judged) in judge(record, &Evidence::default()).judged {
            let is_known = judged.judgement.launches >= LEAST_LAUNCHES;
            let deviation = judged.judgement.deciding().launch_sd.filter(|_| is_known);
            of_step.entry(step.name.clone()).or_default().extend(deviation);
        }
        let of_side = |mut values: Vec<f64>| {
            let is_known = !values.is_empty();
            is_known.then(|| analysis::student::median(&mut values) / (1.0 + 1.0 / base).sqrt())
        };
        Some(Noise {
            seconds_of_a_side: analysis::student::mean(&took)? / sides,
            deviation_of_a_side: of_step
                .into_iter()
                .filter_map(|(step, values)| Some((step, of_side(values)?)))
                .collect(),
        })
    }
}

const FINITE: &str = "logarithms of positive numbers are finite";

fn roles(plan: &Plan) -> Roles {
    Roles::new(plan.base_sides().collect(), plan.candidate_sides().collect())
        .expect("a plan has a base of at most four processes, and candidates")
}

/// What analysis is given, by step, and of pairs then by candidate.
struct Measured {
    values: Vec<StepValues>,
    /// With the first process of the base.
    pairs: Vec<Vec<LaunchSummary>>,
    caps: Vec<Vec<Cap>>,
}

impl Measured {
    fn of_record(record: &RunRecord, evidence: &Evidence<'_>) -> Measured {
        let harness = Harness::of(record, evidence.self_tests);
        let cases: Vec<Case<'_>> = by_step(&record.plan)
            .into_iter()
            .map(|(step, candidate)| Case::of(record, step, candidate))
            .collect();
        Measured {
            values: record.plan.chosen_steps().map(|step| values(record, step)).collect(),
            pairs: cases.iter().map(Case::summaries).collect(),
            caps: cases.iter().map(|case| judge::caps(*case, &harness)).collect(),
        }
    }

    fn of_blocks(plan: &Plan, cpus: u32, blocks: &BTreeMap<String, Vec<Block>>) -> Measured {
        let of_step = |step: &Step| blocks.get(&step.name).map(Vec::as_slice).unwrap_or_default();
        let none = BTreeSet::new();
        let value = |step: &Step| StepValues::of(of_step(step), plan, step, &none);
        let members = by_step(plan);
        let pair = |(step, candidate): &(&Step, Side)| {
            let blocks = of_step(step);
            Case { plan, cpus, blocks, record: None, step, candidate: *candidate }.summaries()
        };
        Measured {
            values: plan.chosen_steps().map(value).collect(),
            pairs: members.iter().map(pair).collect(),
            caps: vec![Vec::new(); members.len()],
        }
    }

    fn steps<'a>(
        &'a self,
        plan: &'a Plan,
        cpus: u32,
        build_noise: &BTreeMap<String, f64>,
    ) -> Vec<SidesStep<'a>> {
        let sides: Vec<Side> = plan.candidate_sides().collect();
        let candidates = sides.len();
        let of = |(index, step): (usize, &'a Step)| {
            let measured = build_noise.get(&step.name).copied();
            let case = |place: usize| {
                let side = sides[place % candidates];
                let tau = if judge::is_of_configurations(plan, side) { Some(0.0) } else { measured };
                analysis::Case {
                    facts: StepFacts { tau, ..StepFacts::of(step, cpus, &self.caps[place]) },
                    launches: &self.pairs[place],
                }
            };
            SidesStep {
                facts: StepFacts::of(step, cpus, &[]),
                launches: self.values[index].launches.clone(),
                cases: (index * candidates..(index + 1) * candidates).map(case).collect(),
            }
        };
        plan.chosen_steps().enumerate().map(of).collect()
    }
}

/// By step, then by candidate: as `analysis` has them.
fn by_step(plan: &Plan) -> Vec<(&Step, Side)> {
    plan.chosen_steps().flat_map(|step| plan.candidate_sides().map(move |side| (step, side))).collect()
}

/// The values of all sides of a step.
struct StepValues {
    /// Of the launches that the host did not disturb.
    launches: Vec<SideLaunch>,
    disturbed: usize,
}

impl StepValues {
    fn of(blocks: &[Block], plan: &Plan, step: &Step, excluded: &BTreeSet<(u32, Side)>) -> StepValues {
        let of = SideStep { step: &step.name, writes: step.writes(), excluded };
        let mut launches = side_launches(blocks, &of);
        let disturbed = set_aside(&mut launches, least_launches(plan.rule.alpha) as usize);
        StepValues { launches, disturbed }
    }

    fn warning(&self) -> Option<Warning> {
        let (launches, kept) = (self.disturbed as u64, self.launches.len() as u64);
        (launches > 0).then_some(Warning::LaunchesDisturbed { launches, of: launches + kept })
    }
}

/// Of trials that are done.
fn values(record: &RunRecord, step: &Step) -> StepValues {
    StepValues::of(&record.blocks, &record.plan, step, &judge::not_done(record, step))
}

/// A run as rounds have it: values by step, side and launch, a launch being a round. The base's are means over its processes. Rates are
/// those from which a launch's cycles are taken out, at the level of the base, so that only their quotients within a launch mean
/// anything; of a step that only reads on a busy host without the time spent waiting for a CPU, as the verdict is.
pub(crate) fn cells(record: &RunRecord, judged: &JudgedRun<'_>) -> Cells {
    let plan = &record.plan;
    let base: Vec<Side> = plan.base_sides().collect();
    let adjusted = adjusted_steps(judged);
    let mut cells = Cells::new();
    for step in plan.chosen_steps() {
        let of_step: Vec<&Block> =
            record.blocks.iter().filter(|block| block.trial.step == step.name).collect();
        let launches = values(record, step).launches;
        let is_adjusted = adjusted.contains(&step.name);
        let rates: Vec<BTreeMap<Side, f64>> =
            launches.iter().map(|launch| about_mean(launch, is_adjusted)).collect();
        let of_base = rates.iter().flat_map(|of| base.iter().filter_map(|side| of.get(side).copied()));
        let center = analysis::student::mean(&of_base.collect::<Vec<f64>>()).unwrap_or(0.0);
        let level = level(&of_step, &base) - center;
        for (launch, rates) in launches.iter().zip(&rates) {
            let rate = |side: Side| rates.get(&side).copied();
            let of_side = |side: Side| {
                let blocks = of_step
                    .iter()
                    .filter(|block| block.trial.launch == launch.launch && block.trial.side == side);
                work(blocks.copied(), rate(side).map(|rate| (rate + level).exp()))
            };
            let base = Values::mean(
                base.iter()
                    .filter(|side| rate(**side).is_some())
                    .map(|side| of_side(*side))
                    .collect::<Vec<_>>()
                    .iter(),
            );
            let candidates = plan.candidate_sides().filter(|side| rate(*side).is_some());
            let all = candidates.map(|side| (side, of_side(side))).chain([(BASE, base)]);
            for (side, values) in all.filter(|(_, values)| values.get(Metric::OpsPerSecond).is_some()) {
                cells.entry((step.name.clone(), side)).or_default().insert(launch.launch, values);
            }
        }
    }
    cells
}

/// ln of the rates of a launch's sides about their mean.
fn about_mean(launch: &SideLaunch, is_adjusted: bool) -> BTreeMap<Side, f64> {
    let rate = |value: &SideValue| if is_adjusted { value.adjusted } else { value.wall };
    let mean = launch.values.values().map(rate).sum::<f64>() / launch.values.len().max(1) as f64;
    launch.values.iter().map(|(side, value)| (*side, rate(value) - mean)).collect()
}

/// ln of the base's operations per second over all launches.
fn level(blocks: &[&Block], base: &[Side]) -> f64 {
    let of_base = totals(blocks.iter().copied().filter(|block| base.contains(&block.trial.side)));
    let rate = of_base.operations / of_base.wall_s;
    if rate.is_finite() && rate > 0.0 { rate.ln() } else { 0.0 }
}

/// The steps of which the rate without the time spent waiting for a CPU decides, for most candidates.
fn adjusted_steps(judged: &JudgedRun<'_>) -> BTreeSet<String> {
    let mut votes: BTreeMap<&str, i64> = BTreeMap::new();
    for (step, _, judged) in &judged.judged {
        let is_adjusted = judged.judgement.decides == Metric::OpsPerSecondAdjusted;
        *votes.entry(&step.name).or_default() += if is_adjusted { 1 } else { -1 };
    }
    votes.into_iter().filter(|(_, votes)| *votes > 0).map(|(step, _)| step.to_owned()).collect()
}

/// What one side did in a launch, per operation.
fn work<'a>(blocks: impl Iterator<Item = &'a Block>, rate: Option<f64>) -> Values {
    let of = totals(blocks);
    let mut values = Values::default();
    values.set(Metric::OpsPerSecond, rate);
    if of.operations > 0.0 {
        values.set(Metric::CpuMicrosPerOp, of.process_cpu_s.map(|seconds| seconds * 1e6 / of.operations));
        for counter in Counter::ALL.into_iter().filter(|counter| !counter.is_level()) {
            let metric = Metric::Counter(counter);
            if metric.column().is_some() {
                values.set(metric, of.counters.get(&counter).map(|count| count / of.operations));
            }
        }
    }
    values
}
