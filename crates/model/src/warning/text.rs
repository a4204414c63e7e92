//! The sentences of warnings: made from their data, for people. Nothing is decided by them.

use super::{DifferingPart, NoInterval, Party, Selected, UnreadTexts, Warning};
use crate::elsewhere::NOT_OURS;
use crate::figures::{chosen_percent, percent, span};
use crate::plan::Design;
use std::fmt::{self, Display, Formatter};

impl Display for Warning {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Warning::DebugBuild => to.write_str("dbdyno itself is a debug build: run it with --release"),
            Warning::BusyHost { load_1m, cpus } => {
                write!(to, "load average {load_1m} on {cpus} CPUs before the run: the host is busy")
            }
            Warning::WithheldCpus { usable, online } => write!(
                to,
                "this run may use {usable} of the host's {online} CPUs: the rest are withheld, by the affinity of the \
                 shell or service that began it or by a container"
            ),
            Warning::CpuGovernor { governor } => {
                write!(to, "the CPU frequency governor is `{governor}`, not `performance`")
            }
            Warning::VirtualMachine => {
                to.write_str("a virtual machine: other guests of its host can disturb")
            }
            Warning::OwnImage => to.write_str(
                "each build made the image that it read: a difference can be one of the files as well as of the code \
                 that reads them",
            ),
            Warning::ServerElsewhere { subject, server } => {
                write!(to, "{subject}, at {server}, is {NOT_OURS}; its CPU, memory and IO are absent")
            }
            Warning::NoDevice { reason } => write!(to, "the columns of the device are absent: {reason}"),
            Warning::SharedDevice { device } => write!(
                to,
                "all sides write to {}: the kernel may write for one side in a block of another",
                device.as_deref().unwrap_or("the same device")
            ),
            Warning::WritesDelayed { step } => write!(
                to,
                "the engine delayed writes in {step}: frozen time refills its credit, so this step's rate is not that \
                 of an uninterrupted run"
            ),
            Warning::Retries { subject, kinds } => {
                let kinds: Vec<String> = kinds.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
                write!(
                    to,
                    "{subject} wanted events to be sent again, in the first block in which it did: {}",
                    kinds.join(", ")
                )
            }
            Warning::BehindItsRate { subject, step, round, achieved, rate } => write!(
                to,
                "{subject} did {achieved:.0} of the {rate:.0} operations a second of {step} in round {round}: less \
                 than 95 %, so that what ran beside it had less to bear than elsewhere"
            ),
            Warning::FailedOperations { subject, design, launch, failed, operations, error } => write!(
                to,
                "{failed} of {operations} operations failed on {subject} in {} {launch}: {error}",
                match design {
                    Design::Interleaved => "launch",
                    Design::Rounds | Design::Sequential => "round",
                }
            ),
            Warning::FailedOperationsCounted { operations } => {
                write!(to, "{operations} operations of trials that count returned an error or a wrong answer")
            }
            Warning::ApiDiffers { calls, base } => {
                // Those that were found later stand first, before what is said of the first.
                let names: Vec<&str> = calls.iter().rev().map(|call| call.subject.as_str()).collect();
                let function = calls.first().map_or("another function", |call| call.function.as_str());
                write!(
                    to,
                    "{} called by {function}, {} by {}: a difference is not one of code alone",
                    names.join(", "),
                    base.subject,
                    base.function
                )
            }
            Warning::Errors { of, failed, operations, most } => write!(
                to,
                "{failed} of the {of}'s {operations} operations failed, more than {}: no verdict; look at the first \
                 error in the raw output",
                chosen_percent(*most)
            ),
            Warning::EmptyBlocks { of, empty, blocks, most } => write!(
                to,
                "no operation completed in {empty} of the {of}'s {blocks} blocks, more than {}: no verdict; use longer \
                 blocks",
                chosen_percent(*most)
            ),
            Warning::WaitingTimeChanged => to.write_str(
                "the wall rate and the contention-adjusted rate moved in opposite directions: waiting time changed; \
                 measure again on a quiet host",
            ),
            Warning::WaitingTimeOfEngine => to.write_str(
                "the wall rate and the contention-adjusted rate moved in opposite directions: waiting time changed; \
                 here it belongs to the engine, so the wall rate decides",
            ),
            Warning::ContentionAdjusted => to.write_str(
                "decided on the contention-adjusted rate: the wall rate is too noisy to tell",
            ),
            Warning::MachineTooNoisy { margin, launches, max_launches, seconds } => {
                write!(
                    to,
                    "too noisy to tell: seeing a change of {} here would need about {launches} launches, of at most \
                     {max_launches}; use a quieter host",
                    chosen_percent(*margin)
                )?;
                match seconds {
                    Some(seconds) => write!(to, ", or {} of measuring", span(*seconds)),
                    None => Ok(()),
                }
            }
            Warning::WithinLayoutNoise { most } => write!(
                to,
                "real for these two binaries, but within code-layout noise: builds of one source differ by up to {}",
                percent(*most)
            ),
            Warning::WithinMargin { margin } => {
                write!(to, "real, but within the margin of {}", chosen_percent(*margin))
            }
            Warning::LaunchDropped { launches } => {
                write!(to, "{launches} launches have no rate on one side and do not count")
            }
            Warning::NoLaunches => to.write_str("no launch has a rate on both sides"),
            Warning::OneRun => to.write_str("no interval: one run"),
            Warning::TwoLaunches { ratios: [first, second] } => {
                write!(to, "no interval: two launches, ratios {first:.3} and {second:.3}")
            }
            Warning::ParametricInterval { launches } => {
                write!(to, "the interval assumes normal noise: {launches} launches are too few for ranks")
            }
            Warning::OneImage => to.write_str("holds on this data image only: all launches had the same"),
            Warning::SharedImages { images } => {
                write!(to, "launches share data images, so the unit is the image: {images} of them")
            }
            Warning::OpenLoop => to.write_str(
                "the rate was given: only a drop below it shows here; compare CPU per operation and latency",
            ),
            Warning::HarnessBiased { steps } => write!(
                to,
                "no verdict: the last calibration found the harness biased on {}; look for what disturbs this host, \
                 then run `dbdyno calibrate` again",
                steps.join(", ")
            ),
            Warning::NotFrozen { subjects, design } => write!(
                to,
                "at most a suspicion: {} cannot be frozen and may {}, so what it does by itself, or for other clients, \
                 can be in the difference",
                subjects.join(" and "),
                match design {
                    Design::Interleaved => "go on while blocks of the other side run",
                    Design::Rounds | Design::Sequential => "go on while other subjects are measured",
                }
            ),
            Warning::ShapeDiffers { parts, launches } => write!(
                to,
                "no verdict: the trees that were read differ between the sides, base and candidate have {}",
                differing(parts, *launches)
            ),
            Warning::DebtDiffers { parts, launches } => write!(
                to,
                "no verdict: the sides left unequal work behind, base and candidate have {}",
                differing(parts, *launches)
            ),
            Warning::RoundsMissing { of, rounds, most } => {
                write!(to, "the {of} has a value in {rounds} of {most} rounds")
            }
            Warning::NotConnected => to.write_str(
                "no chain of common rounds connects the version with the base: nothing can be compared",
            ),
            Warning::NoInterval { why } => to.write_str(match why {
                NoInterval::FewerThanTwoRounds => "no interval: fewer than two rounds",
                NoInterval::TwoRoundsOfFewVersions => {
                    "no interval: two rounds of so few versions do not tell how large the noise is"
                }
                NoInterval::NothingRepeats => "no interval: no round repeats another",
            }),
            Warning::Sequential => {
                to.write_str("measured one after another: drift of the host looks like a difference")
            }
            Warning::SequentialReleases => {
                to.write_str("measured one after another: drift of the host looks like a change")
            }
            Warning::TooFewVersions { versions, needed } => write!(
                to,
                "{versions} versions with a value: at least {needed} are needed to look for changes"
            ),
            Warning::SingleRuns => {
                to.write_str("one run of each version: changes are candidates that need repeats")
            }
            Warning::SingleRunsOfReleases => to.write_str(
                "one run of each release: what is found is a candidate, to be measured again",
            ),
            Warning::VersionsMissing { versions } => write!(to, "{versions} versions have no value"),
            Warning::Autocorrelated { correlation } => write!(
                to,
                "neighbours go together (correlation {correlation:.2}): changes must be larger to stand out"
            ),
            Warning::OrderUnknown => to.write_str(
                "nobody says in which order the repeats were measured: drift of the host looks like a change, so what \
                 is found is a candidate",
            ),
            Warning::Sorted => to.write_str(
                "the releases stand in the order of their numbers, not in that of the file",
            ),
            Warning::Joined { campaigns } => {
                write!(to, "rounds of {campaigns} campaigns are taken together")
            }
            Warning::Disturbed { trials } => {
                write!(to, "{trials} trials are set aside because others had the CPU meanwhile")
            }
            Warning::NotCalibrated => to.write_str(
                "the harness is not calibrated here since the host booted: `dbdyno calibrate` tells whether it is \
                 honest",
            ),
            Warning::ParametricFamily => to.write_str(
                "which steps hold together is judged by Student's t, which assumes normal noise: there are too few \
                 launches for ranks over so many steps",
            ),
            Warning::Dropped { reason, launch } => write!(to, "{reason} (after launch {launch})"),
            Warning::Selection { steps, subjects } => {
                let parts = [("steps", steps), ("subjects", subjects)];
                let parts: Vec<String> = parts
                    .into_iter()
                    .filter_map(|(what, selected)| Some(selection(what, selected.as_ref()?)))
                    .collect();
                write!(
                    to,
                    "A selection: {}; what holds for all together is judged on all of them",
                    parts.join(" and ")
                )
            }
            Warning::EngineTextUnread { texts } => {
                let texts: Vec<String> = texts.iter().map(unread).collect();
                write!(
                    to,
                    "what the engine said of itself could not be read, its columns are absent: {}",
                    texts.join("; ")
                )
            }
            Warning::BusyHostThroughout { median_percent, step } => write!(
                to,
                "other processes had {median_percent:.0} % of the host's CPU time in the median trial of {step}: \
                 intervals are wider than on a host of its own"
            ),
            Warning::Recorded { text, .. } => to.write_str(text),
        }
    }
}

impl Display for Party {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Party::Base => "base",
            Party::Candidate => "candidate",
            Party::Version => "version",
        })
    }
}

/// `L0 files 1 and 9 (in 14 of 14 launches), L1 bytes ..`
fn differing(parts: &[DifferingPart], compared: u64) -> String {
    let shown = |part: &DifferingPart| {
        let DifferingPart { part, base, candidate, launches } = part;
        format!("{part} {base} and {candidate} (in {launches} of {compared} launches)")
    };
    parts.iter().map(shown).collect::<Vec<_>>().join(", ")
}

fn selection(what: &str, selected: &Selected) -> String {
    format!("{} of {} {what} ({})", selected.shown, selected.all, selected.names.join(", "))
}

fn unread(texts: &UnreadTexts) -> String {
    format!("{} ({} texts; the first: {})", texts.subject, texts.count, texts.first)
}
