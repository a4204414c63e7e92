//! Where the CPU time of a step went, by function: stacks of a side's threads, sampled while its blocks ran.

use crate::block::TrialKey;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The kind of a thread that does the client's operations, in every engine.
pub const FOREGROUND: &str = "foreground";

/// Retired instructions, by their name among [`Profile::counters`]. Of a host without counters of the CPU (many virtual machines) none of these is there.
pub const INSTRUCTIONS: &str = "cpu.instructions";
/// Cycles of the CPU, however long each is.
pub const CYCLES: &str = "cpu.cycles";
/// Branches that were predicted wrongly.
pub const BRANCH_MISSES: &str = "cpu.branch_misses";
/// Of the cache of the last level.
pub const CACHE_MISSES: &str = "cpu.cache_misses";
/// How often a thread went on on another CPU, which the kernel counts.
pub const MIGRATIONS: &str = "kernel.migrations";

/// The stacks of one side in one step of one launch. A launch that is sampled carries no verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    pub trial: TrialKey,
    /// Operations of the client in the blocks that were sampled.
    pub operations: u64,
    /// CPU time of the side's processes in them.
    pub cpu: Nanos,
    /// Operations of the blocks between these that were not sampled, and CPU time in them: what sampling costs is the difference.
    pub unsampled_operations: u64,
    pub unsampled_cpu: Nanos,
    /// Time that its foreground threads had in them, one after another: wall time times threads.
    pub wall: Nanos,
    /// Looks at foreground threads, those that found them running included.
    pub looks: u64,
    /// How often they were seen waiting, and for what.
    pub waits: BTreeMap<Wait, u64>,
    pub quality: Quality,
    /// Each name once: functions and kinds of threads.
    pub names: Vec<String>,
    pub stacks: Vec<Stack>,
    /// Stacks of foreground threads while they waited, of some of these waits.
    #[serde(default)]
    pub waiting: Waiting,
    /// What was counted per operation, sampled or not: events of the CPU and the kernel by the names above, and what the engine tells by its own names.
    #[serde(default)]
    pub counters: BTreeMap<String, f64>,
}

/// Stacks of threads that wait; the thread of each is named after what it waits for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Waiting {
    pub names: Vec<String>,
    pub stacks: Vec<Stack>,
}

/// What a thread waits for, by the call of the kernel that it is in.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, strum::IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Wait {
    /// A lock or another thread: futex, semaphores.
    Lock,
    /// Its own sleep.
    Sleep,
    /// Data of a file.
    Read,
    /// A file to take data, or to have it on the device.
    Write,
    /// A page of memory: of a file that is mapped, or swapped out.
    Page,
    /// The client's next request.
    Client,
    Other,
}

impl Wait {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// What a reader must know of the samples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quality {
    /// Samples for each second of CPU time that were asked for.
    pub frequency: u32,
    /// Stacks that could not be followed to their end. They count for the functions that were found.
    pub broken: u64,
    /// Samples that the kernel had no room for; of whole CPUs also those of others.
    pub lost: u64,
    /// Whether time in the kernel could not be sampled: it needs a permission that we did not have.
    pub user_only: bool,
    /// Threads that could not be sampled.
    pub threads_left_out: u64,
}

/// One stack, and how often it was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stack {
    /// The kind of its thread, by its place among the names.
    pub thread: usize,
    /// The functions by their places among the names, the outermost first.
    pub frames: Vec<usize>,
    pub samples: u64,
}

/// How often a function was seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Seen {
    /// As the one that ran.
    pub own: u64,
    /// Anywhere in the stack, once for each.
    pub total: u64,
}

impl Profile {
    pub fn samples(&self) -> u64 {
        self.stacks.iter().map(|stack| stack.samples).sum()
    }

    /// Each function with its samples.
    pub fn functions(&self) -> BTreeMap<&str, Seen> {
        let mut functions: BTreeMap<&str, Seen> = BTreeMap::new();
        for stack in &self.stacks {
            let mut frames: Vec<usize> = stack.frames.clone();
            if let Some(name) = frames.last().and_then(|last| self.names.get(*last)) {
                functions.entry(name).or_default().own += stack.samples;
            }
            // One that calls itself is in the stack once.
            frames.sort_unstable();
            frames.dedup();
            for name in frames.into_iter().filter_map(|frame| self.names.get(frame)) {
                functions.entry(name).or_default().total += stack.samples;
            }
        }
        functions
    }

    /// A line for each stack, as flame graphs are drawn from: kind of thread, functions from the outermost on, samples.
    pub fn folded(&self) -> String {
        let name = |place: &usize| self.names.get(*place).map_or("?", String::as_str).replace(';', ":");
        let line = |stack: &Stack| {
            let parts: Vec<String> = std::iter::once(&stack.thread).chain(&stack.frames).map(name).collect();
            format!("{} {}\n", parts.join(";"), stack.samples)
        };
        self.stacks.iter().map(line).collect()
    }

    /// CPU time of one operation, in microseconds; absent if there was none.
    pub fn cpu_us_per_op(&self) -> Option<f64> {
        (self.operations > 0).then(|| self.cpu.0 as f64 / 1e3 / self.operations as f64)
    }

    /// What sampling adds to the CPU time of an operation, as a share of it; absent if every block was sampled.
    pub fn cost_of_sampling(&self) -> Option<f64> {
        let without = self.unsampled_cpu.0 as f64 / 1e3 / self.unsampled_operations as f64;
        let is_known = self.unsampled_operations > 0 && self.unsampled_cpu.0 > 0;
        self.cpu_us_per_op().filter(|_| is_known).map(|with| with / without - 1.0)
    }

    /// How long an operation waited, in microseconds, by what it waited for; absent if no thread was looked at, or no operation was done.
    pub fn waits_us_per_op(&self) -> Option<BTreeMap<Wait, f64>> {
        let per_look = self.wall.0 as f64 / 1e3 / self.operations as f64 / self.looks as f64;
        let of = |(wait, looks): (&Wait, &u64)| (*wait, per_look * *looks as f64);
        (self.operations > 0 && self.looks > 0).then(|| self.waits.iter().map(of).collect())
    }
}

/// Puts stacks together.
#[derive(Debug, Default)]
pub struct Stacks {
    places: BTreeMap<String, usize>,
    names: Vec<String>,
    seen: BTreeMap<(usize, Vec<usize>), u64>,
}

impl Stacks {
    /// So many samples of a thread, its functions from the outermost on.
    pub fn add<'a>(&mut self, thread: &str, frames: impl Iterator<Item = &'a str>, samples: u64) {
        let thread = self.place(thread);
        let frames = frames.map(|frame| self.place(frame)).collect();
        *self.seen.entry((thread, frames)).or_default() += samples;
    }

    fn place(&mut self, name: &str) -> usize {
        if let Some(place) = self.places.get(name) {
            return *place;
        }
        self.names.push(name.to_owned());
        self.places.insert(name.to_owned(), self.names.len() - 1);
        self.names.len() - 1
    }

    /// All names, and the stacks with the most samples first.
    pub fn finish(self) -> (Vec<String>, Vec<Stack>) {
        let of = |((thread, frames), samples)| Stack { thread, frames, samples };
        let mut stacks: Vec<Stack> = self.seen.into_iter().map(of).collect();
        stacks.sort_by_key(|stack| std::cmp::Reverse(stack.samples));
        (self.names, stacks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(stacks: &[(&str, &str, u64)]) -> Profile {
        let mut all = Stacks::default();
        for (thread, frames, samples) in stacks {
            all.add(thread, frames.split(';'), *samples);
        }
        let (names, stacks) = all.finish();
        let trial = TrialKey { launch: 1, step: "s".to_owned(), side: 0 };
        Profile {
            trial,
            operations: 10,
            cpu: Nanos(50_000),
            wall: Nanos(100_000),
            unsampled_operations: 20,
            unsampled_cpu: Nanos(90_000),
            looks: 20,
            waits: BTreeMap::from([(Wait::Lock, 5)]),
            quality: Quality::default(),
            names,
            stacks,
            waiting: Waiting::default(),
            counters: BTreeMap::new(),
        }
    }

    #[test]
    fn a_function_counts_once_in_a_stack_and_as_its_own_where_it_ran() {
        let profile = profile(&[
            ("client", "main;get;get;read", 3),
            ("client", "main;get", 2),
            ("flush", "main;write", 1),
        ]);
        let functions = profile.functions();
        assert_eq!(functions["get"], Seen { own: 2, total: 5 });
        assert_eq!(functions["main"], Seen { own: 0, total: 6 });
        assert_eq!(functions["read"], Seen { own: 3, total: 3 });
        assert_eq!((profile.samples(), profile.cpu_us_per_op()), (6, Some(5.0)));
        assert!(!functions.contains_key("client"), "a kind of thread is no function");
        assert_eq!(profile.waits_us_per_op(), Some(BTreeMap::from([(Wait::Lock, 2.5)])));
        let cost = profile.cost_of_sampling().unwrap();
        assert!((cost - 1.0 / 9.0).abs() < 1e-12, "{cost}");
        assert_eq!(Profile { unsampled_operations: 0, ..profile.clone() }.cost_of_sampling(), None);
        assert_eq!(Profile { looks: 0, ..profile }.waits_us_per_op(), None);
    }

    #[test]
    fn folded_lines_are_those_of_flame_graphs() {
        let profile = profile(&[("client", "main;a", 1), ("client", "main;b", 4)]);
        assert_eq!(profile.folded(), "client;main;b 4\nclient;main;a 1\n");
    }
}
