//! What a store lists: runs, imports and bisections, how far a run has come and how fast its trials were. A store fills
//! it, pages show it.

use crate::block::{Second, Side};
use crate::plan::Purpose;
use crate::record::{RunStatus, RunWarning, StepExit};
use crate::units::Nanos;
use std::collections::BTreeMap;

/// What an entry of the list is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A run of ours.
    Run(Purpose),
    /// Results of another program.
    Import,
    /// A search for the first version that differs, over several runs.
    Bisection,
}

impl EntryKind {
    /// All, in the order of the form.
    pub const ALL: [EntryKind; 5] = [
        EntryKind::Run(Purpose::Compare),
        EntryKind::Run(Purpose::Campaign),
        EntryKind::Run(Purpose::Calibrate),
        EntryKind::Import,
        EntryKind::Bisection,
    ];

    /// The name in SQL and in URLs.
    pub fn name(self) -> &'static str {
        match self {
            EntryKind::Run(purpose) => purpose.name(),
            EntryKind::Import => "import",
            EntryKind::Bisection => "bisection",
        }
    }

    /// What it is, in lists.
    pub fn word(self) -> &'static str {
        match self {
            EntryKind::Run(purpose) => purpose.word(),
            EntryKind::Import | EntryKind::Bisection => self.name(),
        }
    }
}

/// A run, an import or a bisection in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub id: String,
    /// The name that the user gave it; a bisection has none.
    pub name: Option<String>,
    pub kind: EntryKind,
    /// How it ended, or that it did not.
    pub status: RunStatus,
    /// Microseconds since the epoch.
    pub began_at_us: i64,
    /// Microseconds since the epoch; absent where it is unfinished.
    pub ended_at_us: Option<i64>,
    /// The workload; of an import its format.
    pub workload: String,
    /// Name of the host; absent for an import and a bisection.
    pub host: Option<String>,
    /// The base, then the candidates; of an import its files, of a bisection its good and its bad end.
    pub subjects: Vec<String>,
    /// How its trials ended; those of a run.
    pub trials: TrialCounts,
    /// What the report of a run found, as JSON; absent where none was made.
    pub found: Option<String>,
}

/// How trials ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TrialCounts {
    pub done: u64,
    pub failed: u64,
    pub skipped: u64,
    /// Without an end, in a run that is not done: being measured, or cut off.
    pub unfinished: u64,
    /// Without an end, in a run that is done: a step that only makes the tree for others, since it has its verdict or
    /// was not chosen.
    pub not_needed: u64,
}

/// What there is to choose from, each in the order of the alphabet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choices {
    pub engines: Vec<String>,
    pub workloads: Vec<String>,
    pub hosts: Vec<String>,
}

/// A run's own row, without its plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunHead {
    pub id: String,
    /// The name that the user gave it.
    pub name: Option<String>,
    pub purpose: Purpose,
    /// How it ended, or that it did not.
    pub status: RunStatus,
    /// Microseconds since the epoch.
    pub started_at_us: i64,
    /// Microseconds since the epoch; absent where it is unfinished.
    pub ended_at_us: Option<i64>,
    pub boot_id: String,
    /// Version of dbdyno that measured.
    pub tool_version: String,
}

/// How fast one trial was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrialRate {
    pub launch: u32,
    pub side: Side,
    pub ended: TrialEnd,
    /// Operations of its measured blocks.
    pub operations: u64,
    /// Wall time of these.
    pub wall: Nanos,
}

/// How a trial ended, without the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum TrialEnd {
    Done,
    Failed,
    Skipped,
    /// It has no end, and its run is not done.
    Unfinished,
    /// It has no end, and nobody waits for it: its run is done.
    #[strum(serialize = "not needed")]
    NotNeeded,
}

impl TrialEnd {
    /// The word in lists.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl TrialRate {
    /// Operations per second so far; absent before the first block.
    pub fn per_second(&self) -> Option<f64> {
        let seconds = self.wall.as_secs_f64();
        (seconds > 0.0).then(|| self.operations as f64 / seconds)
    }
}

impl TrialCounts {
    /// Counts trials that ended like this.
    pub fn add(&mut self, ended: TrialEnd, trials: u64) {
        match ended {
            TrialEnd::Done => self.done += trials,
            TrialEnd::Failed => self.failed += trials,
            TrialEnd::Skipped => self.skipped += trials,
            TrialEnd::Unfinished => self.unfinished += trials,
            TrialEnd::NotNeeded => self.not_needed += trials,
        }
    }

    /// Those that somebody waits for in vain, with the word for each; nobody waits for those that were not needed.
    pub fn not_done(&self) -> impl Iterator<Item = (u64, &'static str)> {
        let counts = [
            (self.failed, TrialEnd::Failed.name()),
            (self.skipped, TrialEnd::Skipped.name()),
            (self.unfinished, TrialEnd::Unfinished.name()),
        ];
        counts.into_iter().filter(|(trials, _)| *trials > 0)
    }
}

/// How far a run has come.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveFacts {
    /// The last launch that began, and when, in microseconds since the epoch.
    pub launch: Option<(u32, i64)>,
    /// How long each launch took that has ended.
    pub launches_took: BTreeMap<u32, Nanos>,
    /// The most that there may be; absent until it is fixed.
    pub launches_max: Option<u32>,
    pub steps: BTreeMap<String, TrialCounts>,
    /// The trials that were begun last, newest first.
    pub newest: Vec<LiveTrial>,
    /// The last second that was measured of the newest trial, where it is measured in one go.
    pub last_second: Option<Second>,
    /// When the host was sampled last, in microseconds since the epoch: the run was alive then.
    pub alive_at_us: Option<i64>,
    /// Steps that left, in that order.
    pub exits: Vec<StepExit>,
    /// Warnings in the order they were given.
    pub warnings: Vec<RunWarning>,
}

/// A trial of a run in progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveTrial {
    pub step: String,
    /// What was measured of it so far.
    pub rate: TrialRate,
}
