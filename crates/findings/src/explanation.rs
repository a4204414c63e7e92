//! Why a step differs, as far as what was measured tells: where the time of an operation went, what moved with the rate, and patterns that are
//! known. What moved together is never said to be a cause.

use crate::change::Change;
use crate::comparison::rounds::FOLLOW_THE_RATE;
use crate::comparison::{ComparedMetric, ComparedStep, Comparison, StepView, TimeParts};
use crate::counterfactual::{Chain, Test};
use crate::differs::Difference;
use crate::import::{ImportView, RowView};
use crate::profile::{self, ProfileView};
use crate::query_plans::PlanChange;
use model::counter::Counter;
use model::metric::{DeviceMetric, Metric};
use model::pattern::{Changed, Pattern};
use model::profile::Profile;
use model::verdict::Verdict;
use std::collections::BTreeMap;

/// What is said of a run, or of an import.
#[derive(Debug, Clone, PartialEq)]
pub struct ExplanationView {
    pub id: String,
    pub base: String,
    /// Those that differ, in the order of the workload.
    pub cases: Vec<Explained>,
    /// What lies between the ends, as far as it was measured.
    pub chains: Vec<Chain>,
}

/// A step of a candidate.
#[derive(Debug, Clone, PartialEq)]
pub struct Explained {
    pub step: String,
    pub candidate: String,
    /// What it is compared with: the base, or in an import the version before it.
    pub base: String,
    /// Absent of what another program measured.
    pub verdict: Option<Verdict>,
    /// Of the rate, candidate over base.
    pub rate: Option<Change>,
    /// Where the time of an operation went; absent if it does not add up or is not known.
    pub time: Option<TimeParts>,
    /// Absent if no stacks of it were sampled.
    pub profile: Option<ProfileView>,
    /// What moved with the rate, the clearest first, one of each group of twins.
    pub moved: Vec<Moved>,
    pub patterns: Vec<Matched>,
    /// Configurations that were tested on it.
    pub tests: Vec<Test>,
    /// Statements that run by another plan.
    pub plan_changes: Vec<PlanChange>,
    /// Besides the code.
    pub differs: Vec<Difference>,
}

/// A metric that moved.
#[derive(Debug, Clone, PartialEq)]
pub struct Moved {
    pub metric: Metric,
    pub base: Option<f64>,
    pub candidate: Option<f64>,
    pub change: Change,
}

/// A pattern with what shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Matched {
    pub pattern: Pattern,
    /// Metrics and their ratios.
    pub evidence: Vec<(Metric, f64)>,
}

/// What explanations are made from besides a comparison.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known<'a> {
    pub patterns: &'a [Pattern],
    pub profiles: &'a [Profile],
    pub tests: &'a [Test],
    pub chains: &'a [Chain],
}

/// Of a comparison: the named steps of all candidates, or those that differ if none is named.
pub fn of_comparison(view: &Comparison, known: Known<'_>, steps: &[String]) -> ExplanationView {
    let cases = wanted(view, steps).map(|(step, case)| explained(view, step, case, known)).collect();
    ExplanationView { id: view.run.id.clone(), base: view.base.clone(), cases, chains: known.chains.to_vec() }
}

/// The steps of a comparison that are explained, each once, in the order of the workload.
pub fn wanted_steps(view: &Comparison, steps: &[String]) -> Vec<String> {
    let mut names: Vec<String> = wanted(view, steps).map(|(step, _)| step.name.clone()).collect();
    names.dedup();
    names
}

fn wanted<'a>(
    view: &'a Comparison,
    steps: &'a [String],
) -> impl Iterator<Item = (&'a StepView, &'a ComparedStep)> {
    let is_wanted = move |step: &StepView, case: &ComparedStep| match steps {
        [] => case.differs(),
        steps => steps.contains(&step.name),
    };
    let in_order = view.judged_steps().flat_map(|step| step.cases.iter().map(move |case| (step, case)));
    in_order.filter(move |(step, case)| is_wanted(step, case))
}

fn explained(view: &Comparison, step: &StepView, case: &ComparedStep, known: Known<'_>) -> Explained {
    let changed: BTreeMap<Metric, Changed> = case
        .metrics
        .iter()
        .filter_map(|one| Some((one.metric, Changed { ratio: one.ratio?, may_be_noise: may_be_noise(one) })))
        .collect();
    let engine = view.base.split('@').next().unwrap_or_default();
    let subject = view.subjects.iter().find(|subject| subject.side == case.side);
    let plan_changes = view.plan_changes.iter().filter(|one| one.step == step.name && one.side == case.side);
    let is_tested = |one: &&Test| one.step == step.name && one.candidate == view.name(case.side);
    let tests = known.tests.iter().filter(is_tested);
    Explained {
        step: step.name.clone(),
        candidate: view.name(case.side).to_owned(),
        base: view.base.clone(),
        verdict: Some(case.verdict),
        rate: case.deciding().and_then(change),
        time: case.time,
        profile: profile::build(known.profiles, &step.name, case.side),
        moved: moved(case),
        patterns: matched(known.patterns, Some(engine), with_read_size(changed)),
        tests: tests.cloned().collect(),
        plan_changes: plan_changes.cloned().collect(),
        differs: subject.map(|subject| subject.differs.clone()).unwrap_or_default(),
    }
}

fn may_be_noise(one: &ComparedMetric) -> bool {
    one.is_bounded() && !one.excludes_one()
}

fn change(one: &ComparedMetric) -> Option<Change> {
    Some(Change { ratio: one.ratio?, low: one.low, high: one.high })
}

/// Of launches what the test of counters says; of rounds what has an interval that leaves no doubt, the largest change first.
fn moved(case: &ComparedStep) -> Vec<Moved> {
    let of_launches = case.moved();
    let mut of_rounds: Vec<&ComparedMetric> = Vec::new();
    if case.metrics.iter().all(|one| one.moved.is_none()) {
        of_rounds.extend(case.metrics.iter().filter(|one| !is_the_rate(one.metric) && one.excludes_one()));
        let size = |one: &ComparedMetric| one.ratio.map_or(0.0, |ratio| ratio.ln().abs());
        of_rounds.sort_by(|left, right| size(right).total_cmp(&size(left)));
    }
    let all = of_launches.into_iter().chain(of_rounds);
    let of = |one: &ComparedMetric| {
        Some(Moved { metric: one.metric, base: one.base, candidate: one.candidate, change: change(one)? })
    };
    all.filter_map(of).collect()
}

/// What says again that the rate changed.
fn is_the_rate(metric: Metric) -> bool {
    metric.is_rate() || FOLLOW_THE_RATE.contains(&metric)
}

/// Adds the mean size of reads, bytes over requests, if it was not measured itself.
fn with_read_size(mut changed: BTreeMap<Metric, Changed>) -> BTreeMap<Metric, Changed> {
    let size = Metric::Device { what: DeviceMetric::ReadBytesMean, with_drain: false };
    let of = |counter: Counter| changed.get(&Metric::Counter(counter)).copied();
    if let (Some(reads), Some(bytes)) = (of(Counter::DiskReads), of(Counter::DiskReadBytes)) {
        let ratio = bytes.ratio / reads.ratio;
        let may_be_noise = reads.may_be_noise && bytes.may_be_noise;
        changed.entry(size).or_insert(Changed { ratio, may_be_noise });
    }
    changed
}

/// The patterns that hold: those with a remedy to test first, then those written for one engine, then those for all. If the engine is not known,
/// patterns of every engine are tried.
fn matched(patterns: &[Pattern], engine: Option<&str>, changed: BTreeMap<Metric, Changed>) -> Vec<Matched> {
    let of = |pattern: &Pattern| {
        let evidence =
            pattern.evidence(&changed).filter(|_| engine.is_none_or(|engine| pattern.is_of(engine)))?;
        Some(Matched { pattern: pattern.clone(), evidence })
    };
    let mut matched: Vec<Matched> = patterns.iter().filter_map(of).collect();
    matched.sort_by_key(|one| (one.pattern.remedy.is_none(), one.pattern.engines.is_empty()));
    matched
}

/// Of an import: each version against the one before it, if a pattern shows or its step is named. Its engine is not known, so that patterns of all
/// count; nor are intervals.
pub fn of_import(view: &ImportView, patterns: &[Pattern], steps: &[String]) -> ExplanationView {
    let mut cases = Vec::new();
    for step in view.steps.iter().filter(|step| steps.is_empty() || steps.contains(&step.name)) {
        for pair in step.rows.windows(2) {
            let [before, row] = pair else { continue };
            let case = of_rows(&step.name, before, row, patterns);
            cases.extend((!case.patterns.is_empty() || !steps.is_empty()).then_some(case));
        }
    }
    ExplanationView { id: view.id.clone(), base: view.base.clone(), cases, chains: Vec::new() }
}

/// The metric of this name in JSON, or under this header in tables.
fn called(name: &str) -> Option<Metric> {
    Metric::named(name).or_else(|| Metric::all().find(|metric| metric.header() == name))
}

fn of_rows(step: &str, before: &RowView, row: &RowView, patterns: &[Pattern]) -> Explained {
    let changed: BTreeMap<Metric, Changed> = row
        .values
        .iter()
        .filter_map(|value| {
            let metric = called(&value.metric)?;
            let ratio = value.value? / before.value(&value.metric)?.value?;
            ratio.is_finite().then_some((metric, Changed { ratio, may_be_noise: false }))
        })
        .collect();
    let rate = changed.get(&Metric::OpsPerSecond);
    Explained {
        step: step.to_owned(),
        candidate: row.subject.clone(),
        base: before.subject.clone(),
        verdict: None,
        rate: rate.map(|of| Change { ratio: of.ratio, low: None, high: None }),
        time: None,
        profile: None,
        moved: Vec::new(),
        patterns: matched(patterns, None, changed),
        tests: Vec::new(),
        plan_changes: Vec::new(),
        differs: Vec::new(),
    }
}
