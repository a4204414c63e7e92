//! The typed view of a comparison: everything that a report says, in base units, before any layout.

use crate::command::Again;
use crate::differs::Difference;
use crate::groups::GroupRow;
use model::block::Side;
use model::counter::Counter;
use model::event::Moment;
use model::host::{HarnessCost, Host};
use model::metric::Metric;
use model::plan::Purpose;
use model::record::{RunStatus, RunWarning};
use model::shape::Shape;
use model::verdict::Verdict;
use model::workload::Group;

/// A run, ready to be laid out.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportView {
    pub run: RunFacts,
    /// What its numbers can tell: the first line.
    pub tells: String,
    pub does_not_tell: String,
    /// The base, as the user named it.
    pub base: String,
    /// Each candidate against the base.
    pub candidates: Vec<CandidateView>,
    /// A change within plus or minus this share is no change.
    pub margin: f64,
    /// Share of false verdicts per step.
    pub alpha: f64,
    /// Where it was measured.
    pub host: Host,
    /// What a reader of all numbers must know; those about a step stand with its row.
    pub warnings: Vec<RunWarning>,
    /// What measuring cost; absent where the run is unfinished.
    pub cost: Option<HarnessCost>,
    /// Whether the engines are servers, whose client is a process of its own.
    pub of_servers: bool,
    /// How the trials ended.
    pub trials: Trials,
    /// The trees of the sides in the last launch, of steps on databases of their own.
    pub shapes: Vec<ShapeRow>,
}

/// Which run, and how far it came.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFacts {
    pub id: String,
    /// The name that the user gave it.
    pub name: Option<String>,
    /// What it was for.
    pub purpose: Purpose,
    /// How it ended, or that it did not.
    pub status: RunStatus,
    pub workload: String,
    /// Version of dbdyno that measured.
    pub tool_version: String,
    /// The seed of all its random choices.
    pub seed: u64,
    pub launches: u32,
    /// The most that there could be.
    pub max_launches: u32,
    /// Wall time from start to end, in seconds; absent where it is unfinished.
    pub elapsed_s: Option<f64>,
    /// How it is measured again: the whole of it, also where a part is shown.
    pub again: Again,
}

/// A candidate against the base.
#[derive(Debug, Clone, PartialEq)]
pub struct CandidateView {
    /// Its side in the run.
    pub side: Side,
    /// As the user named it.
    pub subject: String,
    /// One sentence over all steps.
    pub summary: String,
    /// The steps by group, in the order of reports.
    pub groups: Vec<GroupRow>,
    /// The steps, in the order of the workload.
    pub rows: Vec<StepRow>,
    /// What differs between the sides beside the code.
    pub differs: Vec<Difference>,
}

/// One step of one candidate.
#[derive(Debug, Clone, PartialEq)]
pub struct StepRow {
    pub step: String,
    pub group: Group,
    /// What may be said.
    pub verdict: Verdict,
    /// The rate that carries the verdict.
    pub decides: Metric,
    /// Whether a regression or an improvement holds among all steps of the report, and not only by itself.
    pub confirmed: bool,
    /// p value of the step by itself; absent where there was no test.
    pub p_value: Option<f64>,
    /// Launches that the verdict rests on.
    pub launches: u32,
    /// Wall time of the blocks of both sides in them, in seconds.
    pub seconds: f64,
    /// Operations per second of wall time.
    pub wall: Figure,
    /// Operations per second of wall time less run delay; absent in an open loop.
    pub adjusted: Option<Figure>,
    /// CPU per operation, in microseconds, of the whole process.
    pub cpu: Figure,
    /// All counters, in the order of [`Counter::ALL`].
    pub counters: Vec<CounterFigure>,
    /// Where the time of an operation went; absent without operations.
    pub time: Option<TimeParts>,
    /// The smallest change that would have been found with 90 % power (0.02 is 2 %).
    pub visible_change: Option<f64>,
    /// What a reader must know.
    pub notes: Vec<Note>,
}

/// Base, candidate and their ratio in one metric, in the metric's unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    pub metric: Metric,
    pub base: Option<f64>,
    pub candidate: Option<f64>,
    pub ratio: Option<f64>,
    /// Lower end of its interval; absent where it is not bounded.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Confidence of the interval; absent where there is none.
    pub confidence: Option<f64>,
}

/// A counter, per operation or as a level.
#[derive(Debug, Clone, PartialEq)]
pub struct CounterFigure {
    pub counter: Counter,
    pub figure: Figure,
    pub moved: bool,
    /// The order of those that moved: larger is clearer.
    pub score: f64,
    /// A counter that it is the same finding as.
    pub twin_of: Option<Counter>,
}

/// The time of an operation on a foreground thread, in microseconds: wall is the sum of the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeParts {
    pub wall: Sides,
    /// Running on a CPU.
    pub cpu: Sides,
    /// Runnable, waiting for a CPU.
    pub run_delay: Sides,
    pub other: Sides,
}

/// A value of both sides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sides {
    pub base: f64,
    pub candidate: f64,
}

/// What a reader of a row must know.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note {
    /// For scripts: `within-layout-noise`.
    pub id: String,
    pub text: String,
}

/// How the trials ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trials {
    pub done: u32,
    pub failed: u32,
    pub skipped: u32,
    /// Those that are not done, gathered by reason.
    pub reasons: Vec<TrialReason>,
}

/// Trials of one step of one subject that were not done, for one reason.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TrialReason {
    pub step: String,
    pub subject: String,
    /// Whether it was not even tried.
    pub skipped: bool,
    pub reason: String,
    pub launches: Vec<u32>,
}

/// The tree of one side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShapeRow {
    pub step: String,
    pub subject: String,
    /// When, relative to the step.
    pub moment: Moment,
    pub launch: u32,
    pub shape: Shape,
}

impl Trials {
    /// Trials of a step of a subject that failed.
    pub fn failed_of(&self, step: &str, subject: &str) -> usize {
        let failed = self.reasons.iter().filter(|one| !one.skipped);
        let of_it = failed.filter(|one| one.step == step && one.subject == subject);
        of_it.map(|one| one.launches.len()).sum()
    }
}

impl StepRow {
    /// The figure that carries the verdict.
    pub fn deciding(&self) -> &Figure {
        match (&self.adjusted, self.decides) {
            (Some(adjusted), Metric::OpsPerSecondAdjusted) => adjusted,
            (_, _) => &self.wall,
        }
    }

    /// Whether the verdict says that there is a difference.
    pub fn is_directional(&self) -> bool {
        matches!(self.verdict, Verdict::Regression | Verdict::Improvement | Verdict::Suspect)
    }

    /// The counters that moved, the clearest first, one for each group of twins.
    pub fn moved(&self) -> Vec<&CounterFigure> {
        let mut moved: Vec<&CounterFigure> =
            self.counters.iter().filter(|counter| counter.moved && counter.twin_of.is_none()).collect();
        let size = |counter: &CounterFigure| counter.figure.ratio.map_or(0.0, |ratio| ratio.ln().abs());
        moved.sort_by(|left, right| {
            right.score.total_cmp(&left.score).then(size(right).total_cmp(&size(left)))
        });
        moved
    }
}

impl Figure {
    /// Whether the interval leaves no doubt that something moved.
    pub fn excludes_one(&self) -> bool {
        self.low.is_some_and(|low| low > 1.0) || self.high.is_some_and(|high| high < 1.0)
    }
}
