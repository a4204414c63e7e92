//! One view of a run that compares candidates with a base, whatever its design: interleaved launches and complete rounds
//! differ in their repeats and in which metrics exist. Everything is in base units; what is unknown is absent.

mod change;
mod depths;
pub(crate) mod facts;
mod group;
pub(crate) mod interleaved;
pub(crate) mod rounds;
pub(crate) mod visible;

pub use change::{Change, ChangedDefault, Drift, MovedWith, ReleaseTrend, Shift};
pub use depths::{AtDepth, Depths, NO_MORE};
pub use facts::{Conditions, OmittedView, RunFacts, TrialReason, Trials};
pub use group::{GroupRow, Interval, Quoted, Worst};
pub use visible::{VisibleChange, VisibleChanges};

pub use analysis::change_points::Kind as ChangeKind;
pub use analysis::drift::Cause;
pub use analysis::sides::ControlVerdict;

use crate::differs::Difference;
use model::block::Side;
use model::counter::Counter;
use model::event::Moment;
use model::figures::count;
use model::fingerprint::Fingerprint;
use model::host::{HarnessCost, Host};
use model::metric::Metric;
use model::plan::LeftOut;
use model::record::RunWarning;
use model::shape::Shape;
use model::verdict::{Layout, Verdict};
use model::warning::Warning;
use model::workload::Group;
use std::collections::BTreeMap;

/// A run with what is said of each step and candidate.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    pub run: RunFacts,
    /// What its verdicts count.
    pub repeats: Repeats,
    /// What its numbers can tell: the first line.
    pub tells: String,
    /// What they cannot.
    pub does_not_tell: String,
    pub conditions: Conditions,
    /// The base, as the user named it.
    pub base: String,
    /// A change within plus or minus this share is no change.
    pub margin: f64,
    /// Share of false verdicts per step; of rounds all candidates together, and of false changes per series.
    pub alpha: f64,
    /// Those that were measured, by their sides: the base, then the candidates.
    pub subjects: Vec<SubjectView>,
    /// Those that could not be.
    pub left_out: Vec<LeftOut>,
    /// Options that builds do not know and that were left out.
    pub omitted: Vec<OmittedView>,
    pub trials: Trials,
    /// Trials that are done and in no number, because others had the CPU meanwhile.
    pub disturbed: Vec<Disturbed>,
    /// In the order of the workload.
    pub steps: Vec<StepView>,
    /// How small a change of each step would have been found, over all candidates of the run.
    pub visible: VisibleChanges,
    /// Steps summarised by group, then by candidate.
    pub groups: Vec<GroupRow>,
    /// Jobs of fio by the requests that they keep in flight; of rounds alone.
    pub depths: Vec<Depths>,
    /// What changed at which release, those of one configuration and step together.
    pub changes: Vec<Change>,
    /// What rises or falls steadily over the releases, of rates.
    pub trends: Vec<ReleaseTrend>,
    /// Series that were searched for changes.
    pub searched_series: usize,
    /// The processes of the base against each other; of interleaved campaigns alone.
    pub control: Option<ControlView>,
    /// What a reader of all numbers must know; what is about one comparison stands with it.
    pub warnings: Vec<RunWarning>,
    /// What measuring cost; absent where the run is unfinished.
    pub cost: Option<HarnessCost>,
    /// Whether the engines are servers, whose client is a process of its own.
    pub of_servers: bool,
    pub host: Host,
    /// How fast the host was when the run began; absent if it was not measured.
    pub fingerprint: Option<Fingerprint>,
}

/// The processes of the base against each other: nothing differs in them, so what is found there was made by the harness or the host.
#[derive(Debug, Clone, PartialEq)]
pub struct ControlView {
    pub verdict: ControlVerdict,
    /// How many there are.
    pub processes: usize,
    /// Share of the relabellings of the processes under which they would be as far apart.
    pub p: f64,
    /// The step in which they are the farthest apart; absent if it is not known.
    pub step: Option<String>,
    /// How far the fastest is above the slowest in that step (0.01 is 1 %).
    pub range: f64,
}

/// What a verdict rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeats {
    /// Launches of interleaved sides.
    Launches,
    /// Complete rounds, or times one after another.
    Rounds,
}

impl Repeats {
    /// `14 launches`, `1 round`.
    pub fn count(self, number: u32) -> String {
        count(u64::from(number), self.one(), self.many())
    }

    /// "failed: overwrite of rocksdb@8.7.3 in rounds 3, 4: reason".
    pub fn trial_reason(self, steps: &str, reason: &TrialReason) -> String {
        let numbers: Vec<String> = reason.launches.iter().map(ToString::to_string).collect();
        format!(
            "{}: {steps} of {} in {} {}: {}",
            reason.outcome(),
            reason.subject,
            if numbers.len() == 1 { self.one() } else { self.many() },
            numbers.join(", "),
            reason.reason
        )
    }

    /// `launch`, `round`
    pub fn one(self) -> &'static str {
        match self {
            Repeats::Launches => "launch",
            Repeats::Rounds => "round",
        }
    }

    /// `launches`, `rounds`
    pub fn many(self) -> &'static str {
        match self {
            Repeats::Launches => "launches",
            Repeats::Rounds => "rounds",
        }
    }
}

/// A subject of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubjectView {
    pub side: Side,
    /// As the user named it.
    pub subject: String,
    /// The same, without the engine where all subjects share it, and told apart where two have one name.
    pub label: String,
    /// Version of its build.
    pub version: String,
    /// Name of its configuration.
    pub config: String,
    /// Whether the user's db_bench ran its steps instead of our worker.
    pub db_bench: bool,
    /// What differs from the base beside the code.
    pub differs: Vec<Difference>,
}

/// A trial that others disturbed.
#[derive(Debug, Clone, PartialEq)]
pub struct Disturbed {
    pub step: String,
    pub side: Side,
    pub round: u32,
    /// Share of the host's CPU time that others took while it ran, in percent.
    pub others_percent: f64,
    /// The median of all trials of the step.
    pub median_percent: f64,
}

/// One step over all subjects.
#[derive(Debug, Clone, PartialEq)]
pub struct StepView {
    pub name: String,
    pub group: Group,
    /// Whether it only brings a database into a state, and is left out of summaries.
    pub helper: bool,
    /// Columns of which some trial has a value, in the order of reports; of rounds alone.
    pub columns: Vec<Metric>,
    /// One for each subject that has a trial that is done; of rounds alone.
    pub rows: Vec<SubjectRow>,
    /// One for each candidate, by side.
    pub cases: Vec<ComparedStep>,
    /// Trees of the last launch or round.
    pub shapes: Vec<ShapeRow>,
}

/// The values of one subject in one step.
#[derive(Debug, Clone, PartialEq)]
pub struct SubjectRow {
    pub side: Side,
    /// Means over the rounds.
    pub mean: Values,
    /// Round and its values.
    pub rounds: Vec<(u32, Values)>,
}

/// The tree of one side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShapeRow {
    pub step: String,
    pub side: Side,
    /// When, relative to the step.
    pub moment: Moment,
    pub launch: u32,
    pub shape: Shape,
}

/// The numbers of one trial, or the means of several, in base units. What was not measured is absent, never zero.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Values {
    pub metrics: BTreeMap<Metric, f64>,
    /// Tickers of the engine per operation, by the engine's own names.
    pub tickers: BTreeMap<String, f64>,
    /// Operations that were measured.
    pub operations: u64,
    /// Operations whose latency was measured.
    pub latency_count: u64,
}

/// One candidate against the base in one step: what is said, and what it rests on.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedStep {
    pub side: Side,
    pub verdict: Verdict,
    /// The metric that carries the verdict; absent where none can: no rate, or a helper step.
    pub decides: Option<Metric>,
    /// Whether a regression or an improvement holds among all steps and candidates of the run, and not only by itself.
    pub confirmed: bool,
    /// Whether it stands out among all of them, at 5 % false ones (Benjamini-Hochberg).
    pub discovered: bool,
    /// Whether the layout of code can account for it; absent without a verdict, and of rounds, whose intervals have it in
    /// them.
    pub layout: Option<Layout>,
    /// p value of the step by itself; of rounds that of all candidates of the step. Absent where there was no test.
    pub p_value: Option<f64>,
    /// Launches or rounds that it rests on.
    pub repeats: u32,
    /// Wall time of both sides in them, in seconds.
    pub seconds: f64,
    /// Every metric that either side has, the rates first.
    pub metrics: Vec<ComparedMetric>,
    /// Where the time of an operation went; absent where nobody measured it, and where the parts do not add up.
    pub time: Option<TimeParts>,
    /// The smallest change that would have been found with 90 % power (0.02 is 2 %).
    pub visible_change: Option<f64>,
    /// What a reader must know.
    pub warnings: Vec<Warning>,
}

/// One metric of both sides, in its unit.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedMetric {
    pub metric: Metric,
    pub base: Option<f64>,
    pub candidate: Option<f64>,
    /// Candidate over base, estimated from pairs or complete rounds: it may differ from the quotient of the values.
    pub ratio: Option<f64>,
    /// Lower end of its interval; absent where it is not bounded.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Confidence of the interval; absent where there is none.
    pub confidence: Option<f64>,
    /// Launches or rounds that have it on both sides.
    pub repeats: u32,
    /// Of a counter that was tested beside the rates.
    pub moved: Option<MovedCounter>,
}

/// Whether a counter moved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MovedCounter {
    pub moved: bool,
    /// The order of those that moved: larger is clearer.
    pub score: f64,
    /// A counter that it is the same finding as.
    pub twin_of: Option<Counter>,
}

/// The time of an operation on a foreground thread, in microseconds: wall is the sum of the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeParts {
    pub wall: BothSides,
    /// Running on a CPU.
    pub cpu: BothSides,
    /// Runnable, waiting for a CPU.
    pub run_delay: BothSides,
    /// Blocked or asleep.
    pub other: BothSides,
}

/// A value of both sides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BothSides {
    pub base: f64,
    pub candidate: f64,
}

impl Comparison {
    /// The candidates, by side.
    pub fn candidates(&self) -> &[SubjectView] {
        self.subjects.get(1..).unwrap_or_default()
    }

    /// A subject as the user named it.
    pub fn name(&self, side: Side) -> &str {
        self.subjects.get(side).map_or("", |subject| &subject.subject)
    }

    /// A subject as tables with several name it.
    pub fn label(&self, side: Side) -> &str {
        self.subjects.get(side).map_or("", |subject| &subject.label)
    }

    /// The steps that summaries are about.
    pub fn judged_steps(&self) -> impl Iterator<Item = &StepView> {
        self.steps.iter().filter(|step| !step.helper)
    }

    /// Every candidate in every step that summaries are about, by candidate, then in the order of the workload.
    pub fn cases(&self) -> impl Iterator<Item = (&StepView, &ComparedStep)> {
        self.candidates()
            .iter()
            .flat_map(|subject| self.judged_steps().filter_map(|step| Some((step, step.case(subject.side)?))))
    }

    /// The changes that go with no other.
    pub fn own_changes(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(|change| change.part_of.is_none())
    }

    /// Why a case has no ratio: how its trials ended, else what is said of it. Absent where it has one.
    pub fn not_measured(&self, step: &StepView, case: &ComparedStep) -> Option<String> {
        if case.ratio().is_some() {
            return None;
        }
        let of = |subject: &str| {
            let is_it = |one: &&TrialReason| one.step == step.name && one.subject == subject;
            self.trials.reasons.iter().find(is_it)
        };
        let reason = [self.name(case.side), &self.base].into_iter().find_map(of);
        let said: Vec<String> = case.warnings.iter().map(Warning::to_string).collect();
        Some(match reason {
            Some(reason) => self.repeats.trial_reason(&reason.step, reason),
            None if said.is_empty() => "no trial of it is done on both sides".to_owned(),
            None => said.join("; "),
        })
    }
}

impl StepView {
    /// What is said of a candidate.
    pub fn case(&self, side: Side) -> Option<&ComparedStep> {
        self.cases.iter().find(|case| case.side == side)
    }

    /// Operations per second of the base, in the repeats that it shares with the first candidate that has any.
    pub fn base_rate(&self) -> Option<f64> {
        self.cases.iter().find_map(|case| case.metric(Metric::OpsPerSecond)?.base)
    }
}

impl ComparedStep {
    /// One metric of it.
    pub fn metric(&self, metric: Metric) -> Option<&ComparedMetric> {
        self.metrics.iter().find(|one| one.metric == metric)
    }

    /// The metric that carries the verdict.
    pub fn deciding(&self) -> Option<&ComparedMetric> {
        self.metric(self.decides?)
    }

    /// The ratio of the metric that carries the verdict.
    pub fn ratio(&self) -> Option<f64> {
        self.deciding()?.ratio
    }

    /// Both, where there are both.
    pub fn deciding_ratio(&self) -> Option<(&ComparedMetric, f64)> {
        self.deciding().zip(self.ratio())
    }

    /// Whether the verdict says that there is a difference.
    pub fn is_directional(&self) -> bool {
        self.verdict.is_directional()
    }

    /// Whether a regression or an improvement is significant alone, but not after correction for all steps.
    pub fn is_alone(&self) -> bool {
        matches!(self.verdict, Verdict::Regression | Verdict::Improvement) && !self.confirmed
    }

    /// A change that was announced while there is no verdict: ratio, low and high.
    pub fn provisional(&self) -> Option<[f64; 3]> {
        let of = |warning: &Warning| match warning {
            Warning::Provisional { ratio, low, high, .. } => Some([*ratio, *low, *high]),
            _ => None,
        };
        self.warnings.iter().filter(|_| self.verdict == Verdict::Inconclusive).find_map(of)
    }

    /// Whether the sides differ, but did unequal work (other trees, work left behind), which can be the reason: then it is no verdict.
    pub fn did_unequal_work(&self) -> bool {
        let is_unequal =
            |warning: &Warning| matches!(warning, Warning::ShapeDiffers { .. } | Warning::DebtDiffers { .. });
        let differs = |one: &ComparedMetric| {
            one.high.is_some_and(|high| high < 1.0) || one.low.is_some_and(|low| low > 1.0)
        };
        self.verdict == Verdict::Inconclusive
            && self.provisional().is_none()
            && self.warnings.iter().any(is_unequal)
            && self.deciding().is_some_and(differs)
    }

    /// Whether it holds with all steps taken together, but builds of one source may differ as much.
    pub fn may_be_layout(&self) -> bool {
        self.confirmed && self.layout == Some(Layout::MayBe)
    }

    /// Whether it is a change that counts: it holds with all steps taken together, beyond the layout of code.
    pub fn counts(&self) -> bool {
        self.confirmed && !self.may_be_layout()
    }

    /// Whether the rate decides from which the time spent waiting for a CPU is taken out.
    pub fn is_adjusted(&self) -> bool {
        self.decides == Some(Metric::OpsPerSecondAdjusted)
    }

    /// The counters that moved, the clearest first, one for each group of twins.
    pub fn moved(&self) -> Vec<&ComparedMetric> {
        let clear =
            |one: &&ComparedMetric| one.moved.is_some_and(|moved| moved.moved && moved.twin_of.is_none());
        let mut moved: Vec<&ComparedMetric> = self.metrics.iter().filter(clear).collect();
        let key = |one: &ComparedMetric| {
            (one.moved.map_or(0.0, |moved| moved.score), one.ratio.map_or(0.0, |ratio| ratio.ln().abs()))
        };
        moved.sort_by(|left, right| {
            let ((left_score, left_size), (right_score, right_size)) = (key(left), key(right));
            right_score.total_cmp(&left_score).then(right_size.total_cmp(&left_size))
        });
        moved
    }
}

impl ComparedMetric {
    /// Whether the interval leaves no doubt that something moved.
    pub fn excludes_one(&self) -> bool {
        self.low.is_some_and(|low| low > 1.0) || self.high.is_some_and(|high| high < 1.0)
    }

    /// Whether it has an interval that is bounded on a side.
    pub fn is_bounded(&self) -> bool {
        self.low.is_some() || self.high.is_some()
    }
}

impl Values {
    /// The value of a metric.
    pub fn get(&self, metric: Metric) -> Option<f64> {
        self.metrics.get(&metric).copied()
    }

    pub(super) fn set(&mut self, metric: Metric, value: Option<f64>) {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            self.metrics.insert(metric, value);
        }
    }

    /// The arithmetic mean of each metric over the trials that have it.
    pub(super) fn mean<'a>(trials: impl Iterator<Item = &'a Values> + Clone) -> Values {
        Values {
            metrics: means(
                trials
                    .clone()
                    .flat_map(|values| values.metrics.iter().map(|(metric, value)| (*metric, *value))),
            ),
            tickers: means(
                trials
                    .clone()
                    .flat_map(|values| values.tickers.iter().map(|(name, value)| (name.clone(), *value))),
            ),
            operations: trials.clone().map(|values| values.operations).sum(),
            latency_count: trials.map(|values| values.latency_count).sum(),
        }
    }
}

fn means<K: Ord>(values: impl Iterator<Item = (K, f64)>) -> BTreeMap<K, f64> {
    let mut by_key: BTreeMap<K, Vec<f64>> = BTreeMap::new();
    for (key, value) in values {
        by_key.entry(key).or_default().push(value);
    }
    by_key.into_iter().filter_map(|(key, values)| Some((key, analysis::student::mean(&values)?))).collect()
}
