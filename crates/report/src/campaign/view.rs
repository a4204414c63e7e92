//! The typed view of a campaign: everything that its report says, in base units, before any layout.

use super::columns::Column;
use super::values::Values;
use crate::groups::GroupRow;
use crate::view::{Note, RunFacts, ShapeRow, Trials};
use analysis::change_points::Kind;
use analysis::drift::Cause;
use model::block::Side;
use model::host::{HarnessCost, Host};
use model::plan::{Design, LeftOut, LoopDevice};
use model::record::RunWarning;
use model::units::Bytes;
use model::verdict::Verdict;
use model::workload::Group;

/// A campaign, ready to be laid out.
#[derive(Debug, Clone, PartialEq)]
pub struct CampaignView {
    pub run: RunFacts,
    /// What its numbers can tell: the first line.
    pub tells: String,
    pub does_not_tell: String,
    /// What it was measured under.
    pub conditions: Conditions,
    /// The base, as the user named it.
    pub base: String,
    /// A change within plus or minus this share is no change.
    pub margin: f64,
    /// Share of false verdicts per step, all candidates together; and of false findings per series.
    pub alpha: f64,
    /// The subjects that were measured, in the order of the plan.
    pub subjects: Vec<SubjectView>,
    /// Those that could not be.
    pub left_out: Vec<LeftOut>,
    /// Options that builds do not know and were left out.
    pub omitted: Vec<OmittedView>,
    /// How the trials ended.
    pub trials: Trials,
    /// Trials that are done and in no number, because others had the CPU meanwhile.
    pub disturbed: Vec<Disturbed>,
    /// The steps, in the order of the workload.
    pub steps: Vec<StepView>,
    /// Steps summarised by group, then by candidate.
    pub groups: Vec<GroupRow>,
    /// What changed at which release, the clearest of each series first in the order of configurations and steps.
    pub findings: Vec<Finding>,
    /// Series that were searched for changes.
    pub searched_series: usize,
    /// What a reader must know.
    pub warnings: Vec<RunWarning>,
    /// What measuring cost; absent where the run is unfinished.
    pub cost: Option<HarnessCost>,
    /// Whether the engines are servers, whose client is a process of its own.
    pub of_servers: bool,
    /// Where it was measured.
    pub host: Host,
}

/// What a campaign was measured under.
#[derive(Debug, Clone, PartialEq)]
pub struct Conditions {
    /// How the trials were laid out in time.
    pub design: Design,
    /// Subjects that were measured, those included that a selection leaves out.
    pub subjects: usize,
    /// Times that each of them ran the sequence, as planned.
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

/// A subject of a campaign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubjectView {
    /// Its side in the run.
    pub side: Side,
    /// As the user named it.
    pub subject: String,
    /// The same, without the engine where all subjects share it.
    pub label: String,
    /// Version of its build.
    pub version: String,
    /// Name of its configuration.
    pub config: String,
    /// Whether the user's db_bench ran its steps instead of our worker.
    pub db_bench: bool,
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

/// An option that a build does not know and was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OmittedView {
    pub option: String,
    /// The value that it was to have.
    pub value: String,
    pub subjects: Vec<String>,
}

/// One step over all subjects.
#[derive(Debug, Clone, PartialEq)]
pub struct StepView {
    pub name: String,
    pub group: Group,
    /// Whether it is left out of summaries.
    pub helper: bool,
    /// Columns of which some trial has a value, in the order of reports.
    pub columns: Vec<&'static Column>,
    /// One for each subject that has a trial that is done, in the order of the plan.
    pub rows: Vec<StepRow>,
    /// Candidates against the base, by candidate, then by column; the rate first.
    pub comparisons: Vec<Comparison>,
    /// Trees of the last round.
    pub shapes: Vec<ShapeRow>,
}

/// One step of one subject.
#[derive(Debug, Clone, PartialEq)]
pub struct StepRow {
    pub side: Side,
    /// Means over the rounds.
    pub mean: Values,
    /// Round and its values.
    pub rounds: Vec<(u32, Values)>,
}

/// A candidate against the base in one metric of one step.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    pub side: Side,
    pub column: &'static Column,
    /// Whether it carries the verdict of the step.
    pub decides: bool,
    /// The base's value, mean over rounds.
    pub base_value: Option<f64>,
    pub candidate_value: Option<f64>,
    /// Candidate over base: exp of the mean difference of logarithms, the rounds' effects taken out.
    pub ratio: Option<f64>,
    /// Lower end of its interval; absent where there is none.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Confidence of the interval, Bonferroni over all candidates in it.
    pub confidence: Option<f64>,
    /// p times the number of candidates, at most 1.
    pub p_value: Option<f64>,
    /// Whether it stands out among all steps and candidates of the report, at 5 % false ones (Benjamini-Hochberg).
    pub discovered: bool,
    /// Whether its verdict holds with those of all steps and candidates of the run taken together (Holm).
    pub confirmed: bool,
    /// The verdict; ratio-only for what does not decide.
    pub verdict: Verdict,
    /// Rounds that both sides have.
    pub rounds: u32,
    /// Wall time of the trials of both sides, in seconds.
    pub seconds: f64,
    /// What a reader must know.
    pub notes: Vec<Note>,
}

/// A change of one metric of one step, at a release of a configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The configuration whose releases form the series.
    pub config: String,
    pub step: String,
    pub column: &'static Column,
    /// What kind of change.
    pub kind: Kind,
    /// Whether the design lets it be no more than a suspicion.
    pub suspect: bool,
    /// The first release that differs.
    pub version: String,
    /// The release before it.
    pub before: String,
    /// Releases at which it may also have happened, `version` among them.
    pub location: Vec<String>,
    /// Whether a single release stands on one side of it.
    pub at_edge: bool,
    /// Mean from the change on over the mean before.
    pub ratio: f64,
    /// Lower end of its interval.
    pub low: f64,
    pub high: f64,
    pub confidence: f64,
    /// Mean of the releases before, in the metric's unit.
    pub value_before: Option<f64>,
    /// Mean of the releases from it on.
    pub value_after: Option<f64>,
    /// What moved at the same release, the clearest first.
    pub moved: Vec<Moved>,
    /// Whether a default of the release or its code changed; absent where only one of the configurations was
    /// measured.
    pub drift: Option<Drift>,
    /// The finding that this one goes with, where it is listed there as having moved.
    pub part_of: Option<usize>,
}

/// A metric that moved at the same release as another. Together, which is not because of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Moved {
    /// The metric and its values.
    pub shift: Shift,
    /// From the change on over before.
    pub ratio: f64,
    /// Lower end of its interval.
    pub low: f64,
    pub high: f64,
    /// The order: larger is clearer.
    pub score: f64,
    /// Metrics that are the same finding.
    pub twins: Vec<Shift>,
}

/// A metric before and after a change.
#[derive(Debug, Clone, PartialEq)]
pub struct Shift {
    /// The name of the metric in JSON; of a ticker, its own.
    pub metric: String,
    /// Its name in sentences.
    pub name: String,
    /// How it is shown; absent for a ticker.
    pub column: Option<&'static Column>,
    /// Mean of the releases before, in the metric's unit.
    pub value_before: Option<f64>,
    /// Mean of the releases from it on.
    pub value_after: Option<f64>,
}

/// Where a change comes from, as far as pinning the defaults tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drift {
    pub cause: Cause,
    /// Defaults that differ between the two releases and may be why: those that the pinned configuration pins, or
    /// all where it pins none of them.
    pub defaults: Vec<ChangedDefault>,
}

/// A default that differs between two neighbouring releases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedDefault {
    pub option: String,
    pub before: String,
    /// The value from the release on.
    pub after: String,
}
