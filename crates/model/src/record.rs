//! A run as it was recorded: what the store reads back and what a report is made from.

use crate::block::{Block, Latency, Outcome, Second, Side, TrialKey};
use crate::event::{Moment, RunOutcome};
use crate::fingerprint::Fingerprint;
use crate::host::{HarnessCost, Host};
use crate::plan::Plan;
use crate::reason::LeaveReason;
use crate::shape::Shape;
use crate::units::Nanos;
use crate::warning::Warning;
use crate::wire::EngineText;
use std::collections::BTreeMap;

/// The name under which a side's options file is kept as raw output.
pub const OPTIONS_OUTPUT: &str = "OPTIONS";

/// Everything of one run that a reader of its results needs. Samples and raw output stay in the store.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRecord {
    /// Sorts by time, unique.
    pub id: String,
    /// The name that the user gave it.
    pub name: Option<String>,
    /// How it ended, or that it did not.
    pub status: RunStatus,
    /// Microseconds since the epoch.
    pub started_at_us: i64,
    /// Microseconds since the epoch; absent where the run is unfinished.
    pub ended_at_us: Option<i64>,
    pub plan: Plan,
    pub host: Host,
    /// How fast the host was when the run began; absent if it was not measured.
    pub fingerprint: Option<Fingerprint>,
    /// Launches in their order.
    pub launches: Vec<LaunchRecord>,
    /// Images in the order they were built.
    pub images: Vec<ImageRecord>,
    /// Blocks in the order they were measured; those of failed trials too.
    pub blocks: Vec<Block>,
    /// Trials that ended, by launch, step and side.
    pub trials: Vec<TrialRecord>,
    /// Shapes in the order they were read.
    pub shapes: Vec<ShapeRecord>,
    /// Steps that left, in that order.
    pub step_exits: Vec<StepExit>,
    /// Warnings in the order they were given.
    pub warnings: Vec<RunWarning>,
    /// The largest number of launches; absent until it was fixed.
    pub max_launches: Option<u32>,
    /// What measuring cost; absent where the run is unfinished.
    pub cost: Option<HarnessCost>,
    /// The options file that each side's engine wrote when it was first opened in this run, verbatim.
    pub options_in_effect: BTreeMap<Side, String>,
    /// Raw output that the store keeps.
    pub raw_outputs: Vec<RawOutputName>,
    /// What engines said of themselves before and after each trial in rounds or one after another, verbatim; of interleaved runs their query plans.
    pub engine_texts: Vec<EngineTextRecord>,
    /// What the logs of engines tell of their work in rounds.
    pub engine_works: Vec<EngineWorkRecord>,
    /// The seconds of each trial that was measured in one go.
    pub seconds: BTreeMap<TrialKey, Vec<Second>>,
}

/// What an engine said of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineTextRecord {
    pub trial: TrialKey,
    /// Before the trial, after its operations or after settling.
    pub moment: Moment,
    pub what: EngineText,
    pub text: String,
}

/// What the log of an engine tells of its work: checkpoints, compactions, writes that it held up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineWorkRecord {
    /// The round.
    pub launch: u32,
    pub side: Side,
    /// As `formats::engine_log` writes it.
    pub text: String,
}

/// The last part of the names among raw outputs of what an engine's log tells of its work: `write/engine-work`.
pub const ENGINE_WORK_OUTPUT: &str = "engine-work";

/// The name among raw outputs of an engine's text: `overwrite/settled/stats`.
pub fn engine_text_name(step: &str, moment: Moment, what: EngineText) -> String {
    format!("{step}/{}/{}", moment.name(), what.name())
}

/// The step, moment and text that a name among raw outputs stands for, where it is an engine's text.
pub fn engine_text_of(name: &str) -> Option<(&str, Moment, EngineText)> {
    let (rest, what) = name.rsplit_once('/')?;
    let (step, moment) = rest.rsplit_once('/')?;
    let moment =
        [Moment::Before, Moment::After, Moment::Settled].into_iter().find(|it| it.name() == moment)?;
    let what = EngineText::ALL.into_iter().find(|it| it.name() == what)?;
    Some((step, moment, what))
}

/// How a run ended, or that it did not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RunStatus {
    /// It ended by itself.
    Ended(RunOutcome),
    /// It has no end: it still runs, or it was killed.
    Unfinished,
}

impl RunStatus {
    /// All, in the order of the form.
    pub const ALL: [RunStatus; 4] = [
        RunStatus::Ended(RunOutcome::Done),
        RunStatus::Unfinished,
        RunStatus::Ended(RunOutcome::Failed),
        RunStatus::Ended(RunOutcome::Interrupted),
    ];

    /// The name in lists and JSON.
    pub fn name(self) -> &'static str {
        match self {
            RunStatus::Ended(outcome) => outcome.name(),
            RunStatus::Unfinished => "unfinished",
        }
    }
}

/// One launch.
#[derive(Debug, Clone, PartialEq)]
pub struct LaunchRecord {
    pub launch: u32,
    /// Microseconds since the epoch.
    pub started_at_us: i64,
    /// Wall time that it took; absent where it did not end.
    pub took: Option<Nanos>,
    /// Steps that went on after it.
    pub active_steps: Vec<String>,
    /// The share of the budget that had passed, if the launches so far were looked at after it: 1 at the last look; in an
    /// extension 1 and the share of its time.
    pub look: Option<f64>,
}

/// The image of one launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageRecord {
    /// The launch that it was built for.
    pub launch: u32,
    /// Its number; equal numbers are equal bytes.
    pub image: u32,
    /// The seed that its bytes come from.
    pub seed: u64,
    pub shape: Shape,
    /// Wall time that building took.
    pub took: Nanos,
}

/// How one trial ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrialRecord {
    pub trial: TrialKey,
    pub outcome: Outcome,
    /// Latency of its operations, where it was measured.
    pub latency: Option<Latency>,
}

/// The shape of one side's tree before or after a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShapeRecord {
    pub trial: TrialKey,
    /// Before or after it.
    pub moment: Moment,
    pub shape: Shape,
}

/// A step that left the later launches.
#[derive(Debug, Clone, PartialEq)]
pub struct StepExit {
    pub step: String,
    pub launch: u32,
    pub reason: LeaveReason,
}

/// Something that a reader of the numbers must know.
#[derive(Debug, Clone, PartialEq)]
pub struct RunWarning {
    /// The step it is about; all of them where absent.
    pub step: Option<String>,
    pub warning: Warning,
}

/// Where raw output is found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RawOutputName {
    /// The launch; 0 for what belongs to none.
    pub launch: u32,
    pub side: Side,
    /// `LOG`, `OPTIONS`, `stderr`.
    pub name: String,
}

/// A bisection as it is kept: where it looked, and what it found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BisectionRecord {
    /// Sorts by time, unique.
    pub id: String,
    /// Microseconds since the epoch.
    pub began_at_us: i64,
    /// Microseconds since the epoch; absent while it runs, and where it was killed.
    pub ended_at_us: Option<i64>,
    pub workload: String,
    /// The step whose rate it followed.
    pub step: String,
    /// The version that is compared with, as the user named it.
    pub good: String,
    /// A version that differs from it, as the user named it.
    pub bad: String,
    /// What was found, as `dbdyno bisect --format json` tells it; absent before it has ended.
    pub finding_json: Option<String>,
    /// What it was asked for, with which `dbdyno bisect --resume` goes on; absent if an older version began it.
    pub request_json: Option<String>,
}
