//! One view of a run that compares candidates with a base, whatever its design: interleaved launches and complete rounds
//! differ in their repeats and in which metrics exist. Everything is in base units; what is unknown is absent.

mod change;
pub(crate) mod facts;
mod group;
pub(crate) mod interleaved;
pub(crate) mod rounds;
mod step;
mod values;

pub use change::{Change, ChangedDefault, Drift, MovedWith, ReleaseTrend, Shift};
pub use group::{GroupRow, Interval, Quoted, Worst};
pub use step::{BothSides, ComparedMetric, ComparedStep, MovedCounter, TimeParts};
pub use values::Values;

pub use analysis::change_points::Kind as ChangeKind;
pub use analysis::drift::Cause;

use crate::again::Again;
use crate::differs::Difference;
use model::block::Side;
use model::event::Moment;
use model::figures::count;
use model::host::{HarnessCost, Host};
use model::metric::Metric;
use model::plan::{Design, LeftOut, LoopDevice, Purpose};
use model::record::{RunStatus, RunWarning};
use model::shape::Shape;
use model::units::Bytes;
use model::warning::Warning;
use model::workload::Group;
use serde::Serialize;

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
    /// Steps summarised by group, then by candidate.
    pub groups: Vec<GroupRow>,
    /// What changed at which release, those of one configuration and step together.
    pub changes: Vec<Change>,
    /// What rises or falls steadily over the releases, of rates.
    pub trends: Vec<ReleaseTrend>,
    /// Series that were searched for changes.
    pub searched_series: usize,
    /// What a reader of all numbers must know; what is about one comparison stands with it.
    pub warnings: Vec<RunWarning>,
    /// What measuring cost; absent where the run is unfinished.
    pub cost: Option<HarnessCost>,
    /// Whether the engines are servers, whose client is a process of its own.
    pub of_servers: bool,
    pub host: Host,
}

/// Which run, and how far it came.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFacts {
    pub id: String,
    /// The name that the user gave it.
    pub name: Option<String>,
    pub purpose: Purpose,
    pub status: RunStatus,
    pub workload: String,
    /// Version of dbdyno that measured.
    pub tool_version: String,
    /// The seed of all its random choices.
    pub seed: u64,
    /// Launches or rounds that ended.
    pub launches: u32,
    /// The most that there could be.
    pub max_launches: u32,
    /// The last launch after which its verdicts were looked at; of interleaved launches alone.
    pub looked_at: Option<u32>,
    /// Wall time from start to end, in seconds; absent where it is unfinished.
    pub elapsed_s: Option<f64>,
    /// How it is measured again: the whole of it, also where a part is shown.
    pub again: Again,
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

/// What a run was measured under.
#[derive(Debug, Clone, PartialEq)]
pub struct Conditions {
    /// How the trials were laid out in time.
    pub design: Design,
    /// Subjects that were measured, those included that a selection leaves out.
    pub subjects: usize,
    /// Times that each of them ran the sequence, as planned; 0 where they were interleaved.
    pub rounds: u32,
    /// Rows of the data set.
    pub rows: u64,
    pub data: Bytes,
    /// Block cache, where the options name one; absent where the subjects differ.
    pub cache: Option<Bytes>,
    /// Most memory of a worker, page cache included.
    pub memory_limit: Option<Bytes>,
    /// A device of its own for the databases.
    pub loop_device: Option<LoopDevice>,
    /// The device that the databases lay on, where it is known and no loop device.
    pub device: Option<String>,
    /// Whether the engine counted its tickers.
    pub tickers: bool,
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

/// An option that builds do not know and that was left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OmittedView {
    pub option: String,
    /// The value that it was to have.
    pub value: String,
    pub subjects: Vec<String>,
}

/// How the trials ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trials {
    /// All blocks measured.
    pub done: u32,
    /// Something broke.
    pub failed: u32,
    /// Not tried.
    pub skipped: u32,
    /// Those that are not done, gathered by reason.
    pub reasons: Vec<TrialReason>,
}

impl Trials {
    /// Trials of a step of a subject that failed.
    pub fn failed_of(&self, step: &str, subject: &str) -> usize {
        let failed = self.reasons.iter().filter(|one| !one.skipped);
        let of_it = failed.filter(|one| one.step == step && one.subject == subject);
        of_it.map(|one| one.launches.len()).sum()
    }
}

/// Trials of one step of one subject that were not done, for one reason.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TrialReason {
    pub step: String,
    pub subject: String,
    /// Whether it was not even tried.
    pub skipped: bool,
    pub reason: String,
    /// In which launches or rounds.
    pub launches: Vec<u32>,
}

impl TrialReason {
    /// `skipped`, `failed`
    pub fn outcome(&self) -> &'static str {
        if self.skipped { "skipped" } else { "failed" }
    }
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
        if case.deciding().and_then(|deciding| deciding.ratio).is_some() {
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
