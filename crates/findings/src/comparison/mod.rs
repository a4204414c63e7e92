//! One view of a run that compares candidates with a base, whatever its design: interleaved launches and complete rounds
//! differ in their repeats and in which metrics exist. Everything is in base units; what is unknown is absent.

mod change;
mod depths;
pub(crate) mod facts;
mod group;
pub(crate) mod interleaved;
pub(crate) mod rounds;
mod step;
mod sweeps;
pub(crate) mod visible;

pub use change::{Change, ChangedDefault, Drift, MovedWith, ReleaseTrend, Shift};
pub use depths::{AtDepth, Depths, NO_MORE};
pub use facts::{Conditions, OmittedView, RunFacts, TrialReason, Trials};
pub use group::{GroupRow, Interval, Quoted, Worst};
pub use step::{BothSides, ComparedMetric, ComparedStep, LnError, MovedCounter, TimeParts};
pub use sweeps::{AtClients, Dependence, OverFewest, Sweep};
pub use visible::{VisibleChange, VisibleChanges};

pub use analysis::change_points::Kind as ChangeKind;
pub use analysis::course::Waves;
pub use analysis::drift::Cause;
pub use analysis::sides::ControlVerdict;

use crate::background_rates::BackgroundRate;
use crate::differs::Difference;
use crate::query_plans::PlanChange;
use model::block::{BASE, Side};
use model::event::Moment;
use model::figures::count;
use model::fingerprint::Fingerprint;
use model::host::{HarnessCost, Host};
use model::metric::Metric;
use model::plan::LeftOut;
use model::record::RunWarning;
use model::shape::Shape;
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
    /// Share of runs without a difference that get a verdict of one in any step; of rounds, for any candidate; of histories, the share of series with a false change.
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
    /// Steps that run beside others.
    pub companions: Vec<String>,
    /// Those of them with a stated rate, and what each side did of it.
    pub background_rates: Vec<BackgroundRate>,
    /// Statements of SQL servers that candidates run by other plans than the base.
    pub plan_changes: Vec<PlanChange>,
    /// Steps at several numbers of clients.
    pub sweeps: Vec<Sweep>,
    /// What changed at which release, those of one configuration and step together.
    pub changes: Vec<Change>,
    /// What rises or falls steadily over the releases, of rates.
    pub trends: Vec<ReleaseTrend>,
    /// Series that were searched for changes.
    pub searched_series: usize,
    /// Stretches of seconds in which a trial did hardly anything, the longest first; of rounds alone.
    pub stalls: Vec<Stall>,
    /// Rates that fall or go up and down within a step; of rounds alone.
    pub courses: Vec<Course>,
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

/// A stretch of seconds in which a trial did at most a tenth of what it did in its middle second.
#[derive(Debug, Clone, PartialEq)]
pub struct Stall {
    pub step: String,
    pub side: Side,
    pub round: u32,
    /// The first of these seconds of the trial, from 0.
    pub from_s: u32,
    /// How many there are.
    pub lasted_s: u32,
    /// Their mean rate over that of the middle second.
    pub share: f64,
    /// In microseconds since the epoch; absent where a db_bench ran it.
    pub began_at_us: Option<i64>,
    /// What the engine did meanwhile by its log, what took longest first; absent where the log does not tell of that time.
    pub engine: Option<Vec<String>>,
}

/// How the rate of a subject goes on over the seconds of a step, over all rounds: at least one of the two is there.
#[derive(Debug, Clone, PartialEq)]
pub struct Course {
    pub step: String,
    pub side: Side,
    pub rounds: u32,
    /// The rate of the last fifth of the seconds over that of the first, if it fell in each round.
    pub fallen_to: Option<f64>,
    /// If most rounds have some.
    pub waves: Option<Waves>,
}

/// A trial that others disturbed.
#[derive(Debug, Clone, PartialEq)]
pub struct Disturbed {
    pub step: String,
    pub side: Side,
    pub round: u32,
    /// Share of the host's CPU time that others took while it ran, in percent.
    pub others_percent: f64,
    /// The part of it that other guests of the hypervisor took; absent in stores of versions that did not count it.
    pub stolen_percent: Option<f64>,
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

    /// Operations per second of a side, of the base as [`StepView::base_rate`] has it.
    pub fn rate(&self, side: Side) -> Option<f64> {
        match side {
            BASE => self.base_rate(),
            side => self.case(side)?.metric(Metric::OpsPerSecond)?.candidate,
        }
    }

    /// Operations per second of the base, in the repeats that it shares with the first candidate that has any.
    pub fn base_rate(&self) -> Option<f64> {
        self.cases.iter().find_map(|case| case.metric(Metric::OpsPerSecond)?.base)
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
