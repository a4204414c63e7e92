//! What a run tells while it runs: one stream, read by the store and by the progress line alike.

use crate::block::{Block, Latency, Outcome, Second, Side, TrialKey};
use crate::fingerprint::Fingerprint;
use crate::host::{HarnessCost, Host, HostSample};
use crate::plan::Plan;
use crate::profile::Profile;
use crate::reason::LeaveReason;
use crate::shape::Shape;
use crate::units::Nanos;
use crate::warning::Warning;
use serde::{Deserialize, Serialize};

/// When, relative to a trial, a shape was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Moment {
    /// Before the first block.
    Before,
    /// After the last block, before settling.
    After,
    Settled,
}

impl Moment {
    /// The name in SQL and among raw outputs.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// How a run ended.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, strum::IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum RunOutcome {
    /// Every step had its verdict, or all its launches.
    Done,
    /// The user stopped it.
    Interrupted,
    /// It could not go on.
    Failed,
}

impl RunOutcome {
    /// The name in SQL and JSON.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Something that happened in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "event")]
pub enum RunEvent {
    /// The run began; nothing has been measured.
    Started {
        /// The run's id: sorts by time, unique.
        run: String,
        /// Microseconds since the epoch.
        at_us: i64,
        plan: Box<Plan>,
        host: Box<Host>,
    },
    /// A fresh start of the processes of all sides.
    LaunchStarted {
        launch: u32,
        /// Microseconds since the epoch.
        at_us: i64,
    },
    /// A subject's turn in a round began. Told for the progress only.
    VisitStarted {
        launch: u32,
        side: Side,
    },
    /// A large change of a step that has no verdict yet, once. Told for the progress only.
    Announced {
        step: String,
        candidate: Side,
        warning: Box<Warning>,
    },
    /// The launch's image is there.
    ImageBuilt {
        launch: u32,
        /// The image's number; equal numbers are equal bytes.
        image: u32,
        /// The seed that its bytes come from.
        seed: u64,
        shape: Shape,
        /// Wall time that building took.
        took: Nanos,
    },
    BlockMeasured(Box<Block>),
    /// A second of a trial that is measured in one go is over.
    SecondMeasured {
        trial: TrialKey,
        /// What happened in it.
        second: Second,
    },
    /// The shape of a side's tree.
    ShapeRead {
        trial: TrialKey,
        /// Before or after it.
        moment: Moment,
        shape: Shape,
    },
    TrialEnded {
        trial: TrialKey,
        outcome: Outcome,
        /// Latency of its operations, where it was measured.
        latency: Option<Latency>,
    },
    /// A launch ended: the point at which a step may leave.
    LaunchEnded {
        launch: u32,
        /// Wall time that it took.
        took: Nanos,
        /// Launches that there may be at most, once it is fixed.
        max_launches: u32,
        /// The share of the budget that had passed, if the launches so far were looked at here: 1 at the last look.
        look: Option<f64>,
        /// Steps that go on.
        active_steps: Vec<String>,
    },
    /// A step leaves the later launches.
    StepLeft {
        step: String,
        launch: u32,
        reason: LeaveReason,
    },
    /// The largest number of launches was fixed, before any difference was looked at.
    MaxLaunchesFixed {
        max_launches: u32,
    },
    /// How fast the host was before the run began.
    HostMeasured(Box<Fingerprint>),
    /// A reading of the whole host.
    HostSampled(HostSample),
    /// The stacks of a side in a step, sampled in a launch that carries no verdict.
    Profiled(Box<Profile>),
    /// Output of an engine or a worker, verbatim.
    RawOutput {
        /// The launch; 0 for what belongs to none.
        launch: u32,
        side: Side,
        /// `LOG`, `OPTIONS`, `stderr`.
        name: String,
        /// The bytes, as text; what is not UTF-8 is replaced.
        text: String,
    },
    /// Something that a reader of the numbers must know.
    Warned {
        /// The step it is about; all of them where absent.
        step: Option<String>,
        warning: Warning,
    },
    /// The user wants to stop, and our tables on a server that is not ours are dropped before. Told for the progress only.
    DroppingTables {
        side: Side,
        /// After so long they are left.
        at_most: Nanos,
    },
    /// Our tables on a server that is not ours could not be dropped. Told for the progress only.
    TablesLeft {
        side: Side,
        /// Why, as shown to the user.
        reason: String,
    },
    Ended {
        /// Microseconds since the epoch.
        at_us: i64,
        outcome: RunOutcome,
        cost: HarnessCost,
    },
}
