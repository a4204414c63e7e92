//! What a reader of the numbers must know, as data: an enum with an id for scripts and, made from the data where it
//! is shown, a sentence for people. Nobody reads a sentence back.

mod parts;
#[cfg(test)]
mod tests;

pub use parts::{ApiCall, DifferingPart, NoInterval, Party, Selected, UnreadTexts};

use crate::elsewhere::NOT_OURS;
use crate::figures::{change, chosen_percent, count, percent, span};
use crate::plan::Design;
use crate::reason::LeaveReason;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Something that a reader of the numbers must know. `Display` is its sentence, without a full stop.
///
/// Its name in JSON is that of the variant: an id may stand for more than one sentence, a name does not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error, strum::IntoStaticStr)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Warning {
    // Of the host and the plan, before anything is measured.
    #[error("dbdyno itself is a debug build: run it with --release")]
    DebugBuild,
    #[error("load average {load_1m} on {cpus} CPUs before the run: the host is busy")]
    BusyHost { load_1m: f64, cpus: u32 },
    #[error(
        "this run may use {usable} of the host's {online} CPUs: the rest are withheld, by the affinity of \
         the shell or service that began it or by a container"
    )]
    WithheldCpus { usable: u32, online: u32 },
    #[error("the CPU frequency governor is `{governor}`, not `performance`")]
    CpuGovernor { governor: String },
    #[error(
        "this host is not fit to measure on: {} {}; `dbdyno doctor` says why and what to do",
        .checks.join(", "), if .checks.len() == 1 { "fails" } else { "fail" }
    )]
    HostUnfit {
        /// Ids of the checks that fail.
        checks: Vec<String>,
    },
    #[error("a virtual machine: other guests of its host can disturb")]
    VirtualMachine,
    /// Clients are on another host than their servers, and this is of theirs.
    #[error("host of the clients: {warning}")]
    ClientsHost { warning: Box<Warning> },
    #[error(
        "each build made the image that it read: a difference can be one of the files as well as of the code \
         that reads them"
    )]
    OwnImage,
    #[error(
        "each side loads its library from its original path, not from a copy made by this run: {reason}; libraries that were \
         written to this disk in different ways can differ in speed by 1 %"
    )]
    LibrariesInPlace { reason: String },
    #[error(
        "{subject} left the campaign and lacks its last {}: {reason}; `dbdyno run --resume RUN --retry-failed` measures them",
        count(*.rounds, "round", "rounds")
    )]
    SubjectLeft { subject: String, rounds: u64, reason: String },
    #[error("{subject} failed in {} and is not in the later ones", count(*.launches, "launch", "launches"))]
    SideLeft { subject: String, launches: u64 },
    #[error(
        "{} measured again by --retry-failed, later than the rest of their rounds: their differences include changes of the \
         host in between",
        count(*.visits, "turn was", "turns were")
    )]
    MeasuredAgainLater { visits: u64 },
    #[error(
        "resumed after the host had changed: {}; rounds before and after may differ for that reason",
        .changes.join("; ")
    )]
    ResumedAfterChange { changes: Vec<String> },
    #[error(
        "the host's fingerprint before {run} differs from that before {first}: {}; a difference between the two runs may come from the host",
        .figures.join("; ")
    )]
    HostDiffers {
        /// Ids of the runs, the first one of those that stand together, then this one.
        first: String,
        run: String,
        /// `memory_latency_ns: 181 then 240 (+32.6 %)`
        figures: Vec<String>,
    },
    #[error("{subject}, at {server}, is {NOT_OURS}; its CPU, memory and IO are absent")]
    ServerElsewhere { subject: String, server: String },
    #[error("{subject} is {server}, which speaks the protocol of {of}: its speed says nothing of {of}'s")]
    OtherServer { subject: String, server: String, of: String },
    #[error("the columns of the device are absent: {reason}")]
    NoDevice { reason: String },
    #[error(
        "all sides write to {}: the kernel may write for one side in a block of another",
        .device.as_deref().unwrap_or("the same device")
    )]
    SharedDevice { device: Option<String> },

    // Of a step, while it is measured.
    #[error(
        "the engine delayed writes in {step}: its write credit also refills while its side is frozen, so the rate differs \
         from that of an uninterrupted run"
    )]
    WritesDelayed { step: String },
    /// Events were sent again in the first block in which any was, so often of each kind.
    #[error(
        "{subject} wanted events to be sent again, in the first block in which it did: {}",
        counts(.kinds)
    )]
    Retries { subject: String, kinds: BTreeMap<String, u64> },
    /// A stream had less than its rate; both in operations per second.
    #[error(
        "{subject} did {achieved:.0} of the {rate:.0} operations a second of {step} in round {round}: less \
         than 95 %, so that the steps concurrent with it had less load than in other launches"
    )]
    BehindItsRate { subject: String, step: String, round: u32, achieved: f64, rate: f64 },
    /// Operations of one block failed.
    #[error(
        "{failed} of {operations} operations failed on {subject} in {} {launch}: {error}",
        repeat(.design)
    )]
    FailedOperations {
        subject: String,
        design: Design,
        launch: u32,
        failed: u64,
        /// All of them, those that failed included.
        operations: u64,
        error: String,
    },
    #[error(
        "{} runs this step through {}, {} through {}: the two sides do not run the same code path",
        subjects(.calls), function(.calls), .base.subject, .base.function
    )]
    ApiDiffers {
        /// Of the candidates, in the order in which they were found.
        calls: Vec<ApiCall>,
        base: ApiCall,
    },

    // Of a judgement.
    #[error(
        "{failed} of the {of}'s {operations} operations failed, more than {}: no verdict; look at the first \
         error in the raw output",
        chosen_percent(*.most)
    )]
    Errors {
        of: Party,
        failed: f64,
        operations: f64,
        /// The largest share that may.
        most: f64,
    },
    #[error(
        "no operation completed in {empty} of the {of}'s {blocks} blocks, more than {}: no verdict; use \
         longer blocks",
        chosen_percent(*.most)
    )]
    EmptyBlocks {
        of: Party,
        empty: u64,
        blocks: u64,
        /// The largest share that may.
        most: f64,
    },
    /// The rates contradict each other, and either could have decided.
    #[error(
        "the wall rate and the contention-adjusted rate moved in opposite directions: waiting time changed; \
         measure again on a quiet host"
    )]
    WaitingTimeChanged,
    /// The rates contradict each other, and only the wall rate may decide.
    #[error(
        "the wall rate and the contention-adjusted rate moved in opposite directions: waiting time changed; \
         here it belongs to the engine, so the wall rate decides"
    )]
    #[strum(serialize = "waiting-time-changed")]
    WaitingTimeOfEngine,
    /// Its parts are more than the whole.
    #[error(
        "where the time goes is not shown: CPU and run delay overlap, together they are more than the wall time"
    )]
    TimesOverlap,
    /// Of a step that is still measured.
    #[error(
        "no verdict yet: {} [{}, {}] after {launches} launches if their noise is normal (Student's t); the exact test \
         decides, after more of them",
        change(*.ratio), change(*.low), change(*.high)
    )]
    Provisional { ratio: f64, low: f64, high: f64, launches: u64 },
    #[error("decided on the contention-adjusted rate: the wall rate is too noisy")]
    ContentionAdjusted,
    #[error(
        "too noisy: seeing a change of {} here would need about {launches} launches, of at most \
         {max_launches}; use a quieter host{}",
        chosen_percent(*.margin), or_measuring(*.seconds)
    )]
    MachineTooNoisy {
        margin: f64,
        launches: f64,
        max_launches: u64,
        /// How long those would take; absent where nobody knows what a launch takes.
        seconds: Option<f64>,
    },
    #[error(
        "real for these two binaries, but code layout alone could explain it: builds of one source differ by up to {}",
        percent(*.most)
    )]
    WithinLayoutNoise { most: f64 },
    #[error("real, but within the margin of {}", chosen_percent(*.margin))]
    WithinMargin { margin: f64 },
    #[error("{launches} launches have no rate on one side and do not count")]
    LaunchDropped { launches: u64 },
    #[error(
        "{launches} of {of} launches excluded, in which the host disturbed most sides: their blocks scatter more than three times as \
         much as in the middle launch"
    )]
    LaunchesDisturbed { launches: u64, of: u64 },
    #[error("no launch has a rate on both sides")]
    NoLaunches,
    #[error("no interval: one run")]
    OneRun,
    #[error("no interval: two launches, ratios {:.3} and {:.3}", .ratios[0], .ratios[1])]
    TwoLaunches { ratios: [f64; 2] },
    #[error("the interval assumes normal noise: {launches} launches are too few for ranks")]
    ParametricInterval { launches: u64 },
    #[error("holds on this data image only: all launches had the same")]
    OneImage,
    #[error(
        "several launches share a data image, so the statistics count images, not launches: {images} of them"
    )]
    SharedImages { images: u32 },
    #[error(
        "open loop: the rate was fixed, so throughput shows only a drop below it; compare CPU per operation and latency"
    )]
    OpenLoop,

    // Of what keeps a comparison from a verdict.
    #[error(
        "no verdict: calibrations found a difference between two identical sides in {}; find what disturbs this \
         host, then run `dbdyno calibrate --anew`",
        .steps.join(", ")
    )]
    HarnessBiased { steps: Vec<String> },
    /// Servers elsewhere go on while others are measured.
    #[error(
        "suspect at most: {} cannot be frozen and may {}, so its background work and its other clients \
         can be part of the difference",
        .subjects.join(" and "), goes_on(.design)
    )]
    NotFrozen { subjects: Vec<String>, design: Design },
    #[error(
        "no verdict: the trees that were read differ between the sides, base and candidate have {}",
        differing(.parts, *.launches)
    )]
    ShapeDiffers { parts: Vec<DifferingPart>, launches: u64 },
    #[error(
        "the sides left different amounts of work undone (compaction debt), so only a side that left more and was still slower gets a \
         verdict; base and candidate have {}",
        differing(.parts, *.launches)
    )]
    DebtDiffers { parts: Vec<DifferingPart>, launches: u64 },
    /// Both in operations per second, over all launches or rounds.
    #[error(
        "no verdict: the {of} did {achieved:.0} of the {rate:.0} operations a second of {step}, which runs concurrently: less than 95 %, \
         so that the sides had unequal work"
    )]
    MissedRate { of: Party, step: String, achieved: f64, rate: f64 },

    // Of a comparison in rounds.
    #[error("the {of} has a value in {rounds} of {most} rounds")]
    RoundsMissing { of: Party, rounds: u64, most: u64 },
    #[error(
        "the version and the base have no round in common, directly or through other versions: they cannot be compared"
    )]
    NotConnected,
    #[error("no interval: {why}")]
    NoInterval { why: NoInterval },
    #[error("measured one after another: drift of the host looks like a difference")]
    Sequential,

    // Of series.
    #[error("{versions} versions with a value: at least {needed} are needed to look for changes")]
    TooFewVersions { versions: u64, needed: u64 },
    #[error("one run of each version: changes are candidates that need repeats")]
    SingleRuns,
    #[error("{versions} versions have no value")]
    VersionsMissing { versions: u64 },
    #[error("neighbours go together (correlation {correlation:.2}): only larger changes are significant")]
    Autocorrelated { correlation: f64 },
    /// The releases of a history were run once.
    #[error("one run of each release: what is found is a candidate, to be measured again")]
    #[strum(serialize = "single-runs")]
    SingleRunsOfReleases,
    /// The releases of a history were measured one after another.
    #[error("measured one after another: drift of the host looks like a change")]
    #[strum(serialize = "sequential")]
    SequentialReleases,
    #[error(
        "the order in which the repeats were measured is not known: drift of the host looks like a change, so \
         what is found is a candidate"
    )]
    OrderUnknown,
    #[error("the releases are in the order of their numbers, not in that of the file")]
    Sorted,
    #[error(
        "{campaigns} campaigns: the first one locates the changes, the rounds of the others alone confirm them, and all \
         rounds together give their sizes"
    )]
    Joined { campaigns: u64 },
    #[error(
        "{trials} trials are excluded because other processes or other guests of the hypervisor had the CPU meanwhile"
    )]
    Disturbed { trials: u64 },

    // Of a report.
    #[error(
        "the harness is not calibrated here since the host booted: `dbdyno calibrate` shows whether it is \
         unbiased"
    )]
    NotCalibrated,
    /// The self-test failed in other steps than one that has a verdict.
    #[error(
        "calibrations found that two equal sides are not treated alike in {}; that says nothing sure of other steps, but \
         look for what disturbs this host, then run `dbdyno calibrate --anew`",
        .steps.join(", ")
    )]
    HarnessBiasedElsewhere { steps: Vec<String> },
    /// A step left before it was decided.
    #[error("{reason} (after launch {launch})")]
    Dropped { reason: LeaveReason, launch: u32 },
    #[error(
        "Shown: {}; corrections for all steps and subjects still use all of them",
        selection(.steps.as_ref(), .subjects.as_ref())
    )]
    Selection {
        /// Absent where all are shown.
        steps: Option<Selected>,
        /// Absent where all are shown.
        subjects: Option<Selected>,
    },
    #[error("the statistics that the engine printed could not be parsed, so their columns are missing: {}", unread(.texts))]
    EngineTextUnread { texts: Vec<UnreadTexts> },
    #[error("{operations} operations of trials that count returned an error or a wrong answer")]
    #[strum(serialize = "failed-operations")]
    FailedOperationsCounted { operations: u64 },
    /// Others were at work all along.
    #[error(
        "other processes and other guests of the hypervisor had {median_percent:.0} % of the host's CPU time in the median \
         trial of {step}: intervals are wider than on a host of its own"
    )]
    #[strum(serialize = "busy-host")]
    BusyHostThroughout {
        /// What they had of the CPU in the median trial of the step, in percent.
        median_percent: f64,
        step: String,
    },

    /// What an older store holds: its sentence, without the data.
    #[error("{text}")]
    Recorded { id: String, text: String },
}

impl Warning {
    /// The id for scripts: `busy-host`. It says what it is about, and may have more than one sentence.
    pub fn id(&self) -> &str {
        match self {
            Warning::Recorded { id, .. } => id,
            known => known.into(),
        }
    }

    /// Whether it is about the rates, or the time of an operation, and nothing else of a step.
    pub fn is_about_rates(&self) -> bool {
        matches!(
            self,
            Warning::WaitingTimeChanged
                | Warning::WaitingTimeOfEngine
                | Warning::TimesOverlap
                | Warning::Provisional { .. }
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
            // The one id that something hangs on in older stores too.
            other => other.id() == "api-differs",
        }
    }
}

/// `deadlock 3, serialization 1`
fn counts(kinds: &BTreeMap<String, u64>) -> String {
    joined(kinds, ", ", |(kind, count)| format!("{kind} {count}"))
}

fn joined<T>(all: impl IntoIterator<Item = T>, between: &str, shown: impl Fn(T) -> String) -> String {
    all.into_iter().map(shown).collect::<Vec<String>>().join(between)
}

fn repeat(design: &Design) -> &'static str {
    match design {
        Design::Interleaved => "launch",
        Design::Rounds | Design::Sequential => "round",
    }
}

fn goes_on(design: &Design) -> &'static str {
    match design {
        Design::Interleaved => "continue while blocks of the other side run",
        Design::Rounds | Design::Sequential => "continue while other subjects are measured",
    }
}

/// Those that were found later stand first, before what is said of the first.
fn subjects(calls: &[ApiCall]) -> String {
    joined(calls.iter().rev(), ", ", |call| call.subject.clone())
}

fn function(calls: &[ApiCall]) -> &str {
    calls.first().map_or("another function", |call| &call.function)
}

fn or_measuring(seconds: Option<f64>) -> String {
    seconds.map(|seconds| format!(", or {} of measuring", span(seconds))).unwrap_or_default()
}

/// `L0 files 1 and 9 (in 14 of 14 launches), L1 bytes ..`
fn differing(parts: &[DifferingPart], compared: u64) -> String {
    joined(parts, ", ", |DifferingPart { part, base, candidate, launches }| {
        format!("{part} {base} and {candidate} (in {launches} of {compared} launches)")
    })
}

/// `5 of 42 steps (..) and 2 of 3 subjects (..)`
fn selection(steps: Option<&Selected>, subjects: Option<&Selected>) -> String {
    let selected = [("steps", steps), ("subjects", subjects)];
    joined(selected.into_iter().filter_map(|(what, part)| Some((what, part?))), " and ", |(what, part)| {
        format!("{} of {} {what} ({})", part.shown, part.all, part.names.join(", "))
    })
}

fn unread(texts: &[UnreadTexts]) -> String {
    joined(texts, "; ", |UnreadTexts { subject, count, first }| {
        format!("{subject} ({count} texts; the first: {first})")
    })
}
