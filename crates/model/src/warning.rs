//! What a reader of the numbers must know, as data: an enum with an id for scripts and, made from the data where it
//! is shown, a sentence for people. Nobody reads a sentence back.

mod text;

#[cfg(test)]
mod tests;

use crate::plan::Design;
use crate::reason::LeaveReason;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The one id that something hangs on in older stores too, which hold no data.
const API_DIFFERS: &str = "api-differs";

/// Something that a reader of the numbers must know. `Display` is its sentence, without a full stop.
///
/// Its name in JSON is that of the variant: an id may stand for more than one sentence, a name does not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Warning {
    // Of the host and the plan, before anything is measured.
    DebugBuild,
    /// Others were at work before the run.
    BusyHost {
        load_1m: f64,
        cpus: u32,
    },
    WithheldCpus {
        usable: u32,
        online: u32,
    },
    CpuGovernor {
        governor: String,
    },
    VirtualMachine,
    /// Each build read an image that it made itself.
    OwnImage,
    ServerElsewhere {
        subject: String,
        /// Its address.
        server: String,
    },
    /// The device below the databases is not known.
    NoDevice {
        /// What the system said.
        reason: String,
    },
    /// All sides write to one device, whose name may not be known.
    SharedDevice {
        device: Option<String>,
    },

    // Of a step, while it is measured.
    WritesDelayed {
        step: String,
    },
    /// Events were sent again in the first block in which any was, so often of each kind.
    Retries {
        subject: String,
        kinds: BTreeMap<String, u64>,
    },
    /// A stream had less than its rate; both in operations per second.
    BehindItsRate {
        subject: String,
        step: String,
        round: u32,
        achieved: f64,
        rate: f64,
    },
    /// Operations of one block failed.
    FailedOperations {
        subject: String,
        design: Design,
        launch: u32,
        failed: u64,
        /// All of them, those that failed included.
        operations: u64,
        /// The first error.
        error: String,
    },
    /// Candidates are called by another function of the engine than the base is.
    ApiDiffers {
        /// Of the candidates, in the order in which they were found.
        calls: Vec<ApiCall>,
        base: ApiCall,
    },

    // Of a judgement.
    /// More operations failed than may.
    Errors {
        of: Party,
        failed: f64,
        operations: f64,
        /// The largest share that may.
        most: f64,
    },
    /// More blocks were empty than may be.
    EmptyBlocks {
        of: Party,
        empty: u64,
        blocks: u64,
        /// The largest share that may.
        most: f64,
    },
    /// The rates contradict each other, and either could have decided.
    WaitingTimeChanged,
    /// The rates contradict each other, and only the wall rate may decide.
    WaitingTimeOfEngine,
    ContentionAdjusted,
    /// The step was given up.
    MachineTooNoisy {
        /// The change that would have to be seen.
        margin: f64,
        /// How many that would take.
        launches: f64,
        max_launches: u64,
        /// How long those would take; absent where nobody knows what a launch takes.
        seconds: Option<f64>,
    },
    /// A change of no more than code layout makes.
    WithinLayoutNoise {
        /// By how much builds of one source differ at most.
        most: f64,
    },
    WithinMargin {
        margin: f64,
    },
    LaunchDropped {
        launches: u64,
    },
    NoLaunches,
    OneRun,
    TwoLaunches {
        ratios: [f64; 2],
    },
    ParametricInterval {
        launches: u64,
    },
    OneImage,
    SharedImages {
        images: u32,
    },
    /// The rate was given.
    OpenLoop,

    // Of what keeps a comparison from a verdict.
    HarnessBiased {
        steps: Vec<String>,
    },
    /// Servers elsewhere go on while others are measured.
    NotFrozen {
        subjects: Vec<String>,
        design: Design,
    },
    /// The trees that were read.
    ShapeDiffers {
        parts: Vec<DifferingPart>,
        /// Launches that were compared.
        launches: u64,
    },
    /// The work that was left behind.
    DebtDiffers {
        parts: Vec<DifferingPart>,
        /// Launches that were compared.
        launches: u64,
    },

    // Of a comparison in rounds.
    RoundsMissing {
        of: Party,
        rounds: u64,
        most: u64,
    },
    NotConnected,
    NoInterval {
        why: NoInterval,
    },
    /// A candidate was measured after the base.
    Sequential,

    // Of series.
    TooFewVersions {
        versions: u64,
        needed: u64,
    },
    /// What is found in them needs repeats.
    SingleRuns,
    VersionsMissing {
        versions: u64,
    },
    /// Neighbours go together.
    Autocorrelated {
        correlation: f64,
    },
    /// The releases of a history were run once.
    SingleRunsOfReleases,
    /// The releases of a history were measured one after another.
    SequentialReleases,
    OrderUnknown,
    /// The releases do not stand in the order of the file.
    Sorted,
    /// Rounds of several campaigns are one history.
    Joined {
        campaigns: u64,
    },
    /// Trials were set aside.
    Disturbed {
        trials: u64,
    },

    // Of a report.
    NotCalibrated,
    ParametricFamily,
    /// A step left before it was decided.
    Dropped {
        reason: LeaveReason,
        launch: u32,
    },
    /// A part of the run is shown.
    Selection {
        /// Absent where all are shown.
        steps: Option<Selected>,
        /// Absent where all are shown.
        subjects: Option<Selected>,
    },
    EngineTextUnread {
        texts: Vec<UnreadTexts>,
    },
    /// Operations failed in trials that count.
    FailedOperationsCounted {
        operations: u64,
    },
    /// Others were at work all along.
    BusyHostThroughout {
        /// What they had of the CPU in the median trial of the step, in percent.
        median_percent: f64,
        step: String,
    },

    /// What an older store holds: its sentence, without the data.
    Recorded {
        id: String,
        text: String,
    },
}

/// A subject and the function of the engine that a step calls it by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiCall {
    pub subject: String,
    pub function: String,
}

/// Who of a comparison, where no subject is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Party {
    Base,
    Candidate,
    /// A candidate among several releases.
    Version,
}

/// Why rounds have no interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoInterval {
    FewerThanTwoRounds,
    /// Two rounds, and too few versions to lend each other what they know of the noise.
    TwoRoundsOfFewVersions,
    NothingRepeats,
}

/// A part of a tree that differs between the sides in most launches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DifferingPart {
    /// `L0 files`
    pub part: String,
    /// In the last launch in which it differs.
    pub base: u64,
    /// In the same launch.
    pub candidate: u64,
    /// In how many it differs.
    pub launches: u64,
}

/// What is shown of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selected {
    pub shown: u64,
    pub all: u64,
    pub names: Vec<String>,
}

/// What an engine said of itself and no parser knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreadTexts {
    pub subject: String,
    pub count: u32,
    /// What is wrong with the first of them.
    pub first: String,
}

impl Warning {
    /// The id for scripts: `busy-host`. It says what it is about, and may have more than one sentence.
    pub fn id(&self) -> &str {
        match self {
            Warning::DebugBuild => "debug-build",
            Warning::BusyHost { .. } | Warning::BusyHostThroughout { .. } => "busy-host",
            Warning::WithheldCpus { .. } => "withheld-cpus",
            Warning::CpuGovernor { .. } => "cpu-governor",
            Warning::VirtualMachine => "virtual-machine",
            Warning::OwnImage => "own-image",
            Warning::ServerElsewhere { .. } => "server-elsewhere",
            Warning::NoDevice { .. } => "no-device",
            Warning::SharedDevice { .. } => "shared-device",
            Warning::WritesDelayed { .. } => "writes-delayed",
            Warning::Retries { .. } => "retries",
            Warning::BehindItsRate { .. } => "behind-its-rate",
            Warning::FailedOperations { .. } | Warning::FailedOperationsCounted { .. } => "failed-operations",
            Warning::ApiDiffers { .. } => API_DIFFERS,
            Warning::Errors { .. } => "errors",
            Warning::EmptyBlocks { .. } => "empty-blocks",
            Warning::WaitingTimeChanged | Warning::WaitingTimeOfEngine => "waiting-time-changed",
            Warning::ContentionAdjusted => "contention-adjusted",
            Warning::MachineTooNoisy { .. } => "machine-too-noisy",
            Warning::WithinLayoutNoise { .. } => "within-layout-noise",
            Warning::WithinMargin { .. } => "within-margin",
            Warning::LaunchDropped { .. } => "launch-dropped",
            Warning::NoLaunches => "no-launches",
            Warning::OneRun => "one-run",
            Warning::TwoLaunches { .. } => "two-launches",
            Warning::ParametricInterval { .. } => "parametric-interval",
            Warning::OneImage => "one-image",
            Warning::SharedImages { .. } => "shared-images",
            Warning::OpenLoop => "open-loop",
            Warning::HarnessBiased { .. } => "harness-biased",
            Warning::NotFrozen { .. } => "not-frozen",
            Warning::ShapeDiffers { .. } => "shape-differs",
            Warning::DebtDiffers { .. } => "debt-differs",
            Warning::RoundsMissing { .. } => "rounds-missing",
            Warning::NotConnected => "not-connected",
            Warning::NoInterval { .. } => "no-interval",
            Warning::Sequential | Warning::SequentialReleases => "sequential",
            Warning::TooFewVersions { .. } => "too-few-versions",
            Warning::SingleRuns | Warning::SingleRunsOfReleases => "single-runs",
            Warning::VersionsMissing { .. } => "versions-missing",
            Warning::Autocorrelated { .. } => "autocorrelated",
            Warning::OrderUnknown => "order-unknown",
            Warning::Sorted => "sorted",
            Warning::Joined { .. } => "joined",
            Warning::Disturbed { .. } => "disturbed",
            Warning::NotCalibrated => "not-calibrated",
            Warning::ParametricFamily => "parametric-family",
            Warning::Dropped { .. } => "dropped",
            Warning::Selection { .. } => "selection",
            Warning::EngineTextUnread { .. } => "engine-text-unread",
            Warning::Recorded { id, .. } => id,
        }
    }

    /// Whether it is about the rates and nothing else of a step.
    pub fn is_about_rates(&self) -> bool {
        matches!(
            self,
            Warning::WaitingTimeChanged
                | Warning::WaitingTimeOfEngine
                | Warning::ContentionAdjusted
                | Warning::WithinLayoutNoise { .. }
                | Warning::WithinMargin { .. }
        )
    }

    /// Whether it says that a candidate is called by another function of the engine than the base. An older store
    /// holds only the sentence, from which nobody reads the candidate's name: it counts for every one.
    pub fn is_other_call_of(&self, candidate: &str) -> bool {
        match self {
            Warning::ApiDiffers { calls, .. } => calls.iter().any(|call| call.subject == candidate),
            other => other.id() == API_DIFFERS,
        }
    }
}
