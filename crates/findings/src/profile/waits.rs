//! Which functions the foreground threads waited in.

use super::interval::Interval;
use analysis::student::mean;
use model::profile::{Profile, Stack, Wait};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A function that waits, on both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WaitChange {
    /// What is waited for: `lock`, `read`, ..
    pub wait: String,
    /// The innermost function of the engine that waits: wrappers of the system are passed over.
    pub function: String,
    /// In microseconds, base and candidate.
    pub us_per_op: [f64; 2],
    pub change: Interval,
}

/// How the names of wrappers begin, those of libraries and of the engines' own, through which code of an engine waits in the kernel.
const WRAPPERS: [&str; 29] = [
    "unknown in libc",
    "unknown in libpthread",
    "__",
    "_IO_",
    "clock_nanosleep",
    "do_futex",
    "epoll_",
    "fdatasync",
    "fsync",
    "futex",
    "lll_",
    "nanosleep",
    "ppoll",
    "pread",
    "pthread_",
    "pwrite",
    "rocksdb::InstrumentedCondVar::",
    "rocksdb::InstrumentedMutex::",
    "rocksdb::port::",
    "sem_",
    "semop",
    "std::condition_variable::",
    "std::mutex::",
    "std::sync::",
    "std::sys::",
    "std::this_thread::",
    "std::thread::",
    "syscall",
    "usleep",
];

/// The functions, clear changes first, then by size. The time that an operation waits for something is split by the stacks that were seen of it.
pub fn changes(launches: &[[&Profile; 2]]) -> Vec<WaitChange> {
    // One whose stacks could not be copied would be one in which nobody waited.
    let launches = launches.iter().filter(|sides| sides.iter().all(|side| !side.waiting.stacks.is_empty()));
    let of: Vec<[BTreeMap<(String, String), f64>; 2]> =
        launches.map(|sides| [0, 1].map(|side| us_by_function(sides[side]))).collect();
    let keys: BTreeSet<&(String, String)> =
        of.iter().flat_map(|sides| sides.iter()).flat_map(BTreeMap::keys).collect();
    let change = |key: &(String, String)| {
        let value = |side: &BTreeMap<(String, String), f64>| side.get(key).copied().unwrap_or(0.0);
        let differences: Vec<f64> =
            of.iter().map(|[base, candidate]| value(candidate) - value(base)).collect();
        let of_side = |side: usize| {
            mean(&of.iter().map(|sides| value(&sides[side])).collect::<Vec<f64>>()).unwrap_or(0.0)
        };
        let (wait, function) = key.clone();
        WaitChange { wait, function, us_per_op: [of_side(0), of_side(1)], change: Interval::of(&differences) }
    };
    let mut changes: Vec<WaitChange> = keys.into_iter().map(change).collect();
    changes.sort_by(|left, right| left.change.clearest_first(&right.change));
    changes
}

/// Microseconds that an operation waits, by what it waits for and the function that waits.
fn us_by_function(profile: &Profile) -> BTreeMap<(String, String), f64> {
    let waits = profile.waits_us_per_op().unwrap_or_default();
    let name = |place: usize| profile.waiting.names.get(place).map_or("", String::as_str);
    let of_wait =
        |wait: Wait| profile.waiting.stacks.iter().filter(move |stack| name(stack.thread) == wait.name());
    let mut all = BTreeMap::new();
    for (wait, us) in waits {
        let seen: u64 = of_wait(wait).map(|stack| stack.samples).sum();
        for stack in of_wait(wait) {
            let key = (wait.name().to_owned(), waiting_function(profile, stack));
            *all.entry(key).or_insert(0.0) += us * stack.samples as f64 / seen as f64;
        }
    }
    all
}

fn waiting_function(profile: &Profile, stack: &Stack) -> String {
    let names = stack.frames.iter().rev().filter_map(|place| profile.waiting.names.get(*place));
    let mut names = names.filter(|name| !WRAPPERS.iter().any(|start| name.starts_with(start)));
    names.next().cloned().unwrap_or_else(|| "unknown".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::profile::{Stacks, Waiting};
    use testing::profiles::profile;

    fn launch(number: u32, side: usize, in_queue: u64) -> Profile {
        let mut stacks = Stacks::default();
        for (frames, samples) in [
            (
                "main;rocksdb::WriteThread::AwaitState;std::condition_variable::wait;pthread_cond_wait;futex_wait",
                in_queue,
            ),
            ("main;rocksdb::DBImpl::Lock;__lll_lock_wait", 10),
        ] {
            stacks.add("lock", frames.split(';'), samples);
        }
        let (names, stacks) = stacks.finish();
        let looks_locked = 10 + in_queue + u64::from(number % 2);
        Profile {
            waiting: Waiting { names, stacks },
            waits: BTreeMap::from([(Wait::Lock, looks_locked)]),
            ..profile(number, side, 10_000, &[("main", 10)])
        }
    }

    #[test]
    fn waiting_is_split_by_the_functions_of_the_engine_that_wait() {
        let launches: Vec<[Profile; 2]> =
            (1..=4).map(|number| [launch(number, 0, 10), launch(number, 1, 40)]).collect();
        let sides: Vec<[&Profile; 2]> = launches.iter().map(|[base, candidate]| [base, candidate]).collect();
        let found = changes(&sides);
        assert_eq!(
            (found[0].function.as_str(), found[0].wait.as_str()),
            ("rocksdb::WriteThread::AwaitState", "lock")
        );
        // 1,000 looks at 10 us of an operation: a look is 0.01 us.
        let [base, candidate] = found[0].us_per_op;
        assert!((base - 0.1).abs() < 0.01 && (candidate - 0.4).abs() < 0.01, "{found:?}");
        assert!(found[0].change.is_clear() && !found[1].change.is_clear(), "{found:?}");
        assert_eq!(changes(&[]), []);
    }
}
