//! The kinds of faults: how often each is drawn, and what a host must have for it.

use super::draws::Draws;
use std::collections::BTreeMap;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    EngineCrash,
    EngineHang,
    HangAtExit,
    ProcessLeftBehind,
    OutOfMemory,
    WorkerKilled,
    WorkerStopped,
    RunKilled,
    SupervisorKilled,
    BothKilled,
    Terminated,
    HungUp,
    CtrlC,
    CtrlCTwice,
    StoreLocked,
    StoreDiskFull,
    WorkDiskFull,
    StoreReadOnly,
    WorkReadOnly,
    DeviceErrors,
    BinaryReplaced,
    LibraryReplaced,
    LibraryRebuilt,
}

/// What not every host has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Needed {
    /// A file system of its own can be mounted.
    Disk,
    MemoryGroup,
    SlowDevice,
}

/// Why this host has not what some faults need.
pub type Missing = BTreeMap<Needed, String>;

/// Each kind with its name and its weight: the more moments there are at which it may hurt, and the less time it takes, the more often it
/// is drawn.
const KINDS: &[(Kind, &str, u64)] = &[
    (Kind::EngineCrash, "engine crash", 8),
    (Kind::EngineHang, "engine hang", 4),
    (Kind::HangAtExit, "engine hang at exit", 3),
    (Kind::ProcessLeftBehind, "process left behind", 3),
    (Kind::OutOfMemory, "out of memory", 4),
    (Kind::WorkerKilled, "kill -9 of a worker", 8),
    (Kind::WorkerStopped, "worker stopped", 5),
    (Kind::RunKilled, "kill -9 of the run", 10),
    (Kind::SupervisorKilled, "kill -9 of its supervisor", 8),
    (Kind::BothKilled, "kill -9 of both", 6),
    (Kind::Terminated, "SIGTERM", 6),
    (Kind::HungUp, "SIGHUP", 4),
    (Kind::CtrlC, "Ctrl-C", 8),
    (Kind::CtrlCTwice, "Ctrl-C twice", 6),
    (Kind::StoreLocked, "store locked", 5),
    (Kind::StoreDiskFull, "disk of the store full", 4),
    (Kind::WorkDiskFull, "disk of the work directory full", 4),
    (Kind::StoreReadOnly, "disk of the store read-only", 2),
    (Kind::WorkReadOnly, "disk of the work directory read-only", 2),
    (Kind::DeviceErrors, "EIO of the device", 1),
    (Kind::BinaryReplaced, "binary replaced", 3),
    (Kind::LibraryReplaced, "library replaced in a run", 3),
    (Kind::LibraryRebuilt, "library rebuilt while stopped", 3),
];

impl Kind {
    pub fn all() -> impl Iterator<Item = Kind> {
        KINDS.iter().map(|(kind, _, _)| *kind)
    }

    pub fn name(self) -> &'static str {
        KINDS.iter().find(|(kind, _, _)| *kind == self).map_or("", |(_, name, _)| name)
    }

    pub fn needs(self) -> Option<Needed> {
        match self {
            Kind::StoreDiskFull | Kind::WorkDiskFull | Kind::StoreReadOnly | Kind::WorkReadOnly => {
                Some(Needed::Disk)
            }
            Kind::OutOfMemory => Some(Needed::MemoryGroup),
            Kind::DeviceErrors => Some(Needed::SlowDevice),
            _ => None,
        }
    }

    /// One that this host can have.
    pub fn drawn(draws: &mut Draws, missing: &Missing) -> Kind {
        let whole: u64 = KINDS.iter().map(|(_, _, weight)| weight).sum();
        loop {
            let mut place = draws.below(whole);
            for (kind, _, weight) in KINDS {
                if place < *weight {
                    if kind.needs().is_some_and(|needed| missing.contains_key(&needed)) {
                        break;
                    }
                    return *kind;
                }
                place -= weight;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_two_hundred_faults_each_kind_is_drawn_unless_the_host_lacks_what_it_needs() {
        let count = |seed: u64, missing: &Missing| -> BTreeMap<Kind, u32> {
            let mut counts = BTreeMap::new();
            for fault in 1..=200 {
                *counts.entry(Kind::drawn(&mut Draws::of(seed, fault), missing)).or_default() += 1;
            }
            counts
        };
        let mut most_absent = 0;
        for seed in 0..50 {
            most_absent = most_absent.max(KINDS.len() - count(seed, &Missing::new()).len());
        }
        assert!(most_absent <= 3, "{most_absent} kinds do not occur");
        let missing = Missing::from([(Needed::Disk, "no root".to_owned())]);
        let drawn = count(1, &missing);
        assert!(drawn.keys().all(|kind| kind.needs() != Some(Needed::Disk)), "{drawn:?}");
        assert!(drawn.contains_key(&Kind::OutOfMemory), "{drawn:?}");
    }

    #[test]
    fn each_kind_has_a_name_of_its_own() {
        let names: std::collections::BTreeSet<&str> = Kind::all().map(Kind::name).collect();
        assert!(names.len() == KINDS.len() && !names.contains(""));
    }
}
