//! Profiles: the stacks of a side's threads, sampled by the kernel while its blocks run.
//!
//! The kernel's software clock interrupts what runs a number of times for each second of CPU time, and copies its registers and the upper part of
//! its stack. Published builds keep no frame pointers: stacks are followed by the unwind tables of the files with code (`.eh_frame`).
//! No program is needed but this one, and no counter of the CPU.

mod counting;
mod events;
mod kernel;
mod modules;
mod symbols;
mod threads;
mod waits;

pub use events::ProfileError;

use counting::Counting;
use events::{Events, Sample};
use kernel::KernelSymbols;
use model::block::TrialKey;
use model::profile::{FOREGROUND, Profile, Quality, Stacks, Waiting};
use model::units::Nanos;
use modules::{Code, Files};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use waits::{Looks, WaitStack, Watch};

/// Samples for each second of CPU time of a thread: enough for a function of one percent within seconds, few enough to cost next to nothing; a
/// prime number, so that it keeps no step with timers.
pub const FREQUENCY: u32 = 199;

/// How a thread of a worker waits for its next block: in a channel of Rust's, which no engine does. Its stack cannot be followed further.
const PARKED: &str = "::park";

/// A sampler of all sides of a run.
pub struct Profiler {
    /// Of all CPUs; empty if this user may sample threads of its own only.
    cpus: Vec<Events>,
    /// Of single threads, if not of CPUs; without those that cannot be sampled.
    by_thread: BTreeMap<u32, Events>,
    threads: BTreeMap<u32, Thread>,
    /// By process; forgotten with it.
    code: BTreeMap<u32, Code>,
    files: Files,
    kernel: KernelSymbols,
    user_only: bool,
    /// Whether the block that runs is sampled.
    samples: bool,
    /// Of the foreground threads of the side that runs.
    watch: Option<Watch>,
    looks: Looks,
    /// By the first process of a side.
    counting: BTreeMap<u32, Counting>,
    /// The first process of the side that runs.
    followed: Option<u32>,
    counted: BTreeMap<&'static str, Option<f64>>,
    gathered: BTreeMap<TrialKey, Gathered>,
}

struct Thread {
    process: u32,
    kind: String,
}

/// What a block of a side did.
#[derive(Debug, Clone, Copy)]
pub struct Work {
    pub operations: u64,
    /// Of the side's processes.
    pub cpu: Nanos,
    pub wall: Nanos,
}

#[derive(Default)]
struct Gathered {
    operations: u64,
    cpu: Nanos,
    unsampled_operations: u64,
    unsampled_cpu: Nanos,
    wall: Nanos,
    looks: Looks,
    quality: Quality,
    stacks: Stacks,
    /// By what is waited for.
    waiting: Stacks,
    /// Without a value if an event was not counted in one of the blocks.
    counted: BTreeMap<&'static str, Option<f64>>,
}

impl Profiler {
    /// # Errors
    /// The kernel lets us sample nothing, not even ourselves: what to change is said.
    pub fn new() -> Result<Profiler, ProfileError> {
        let user_only = events::is_user_only()?;
        Ok(Profiler {
            cpus: Events::of_cpus(user_only).unwrap_or_default(),
            by_thread: BTreeMap::new(),
            threads: BTreeMap::new(),
            code: BTreeMap::new(),
            files: Files::default(),
            kernel: KernelSymbols::read(),
            user_only,
            samples: false,
            watch: None,
            looks: Looks::default(),
            counting: BTreeMap::new(),
            followed: None,
            counted: BTreeMap::new(),
            gathered: BTreeMap::new(),
        })
    }

    /// From now on samples all threads of these processes, those that are new too, or none of them, and throws away what was sampled before.
    pub fn follow(&mut self, processes: &[u32], samples: bool) {
        self.samples = samples;
        // Those of other sides are alive too: they are stopped.
        self.threads.retain(|thread, of| threads::is_alive(of.process, *thread));
        self.by_thread.retain(|thread, _| self.threads.contains_key(thread));
        self.code.retain(|process, _| threads::is_alive(*process, *process));
        self.counting.retain(|process, _| threads::is_alive(*process, *process));
        for process in processes {
            for thread in threads::of(*process) {
                if let Entry::Vacant(vacant) = self.threads.entry(thread) {
                    vacant.insert(Thread { process: *process, kind: threads::kind(*process, thread) });
                    let events = self.cpus.is_empty().then(|| Events::of_thread(thread, self.user_only).ok());
                    self.by_thread.extend(events.flatten().map(|events| (thread, events)));
                }
            }
        }
        self.switch(samples);
        self.events().for_each(Events::discard);
        let in_front = self
            .threads
            .iter()
            .filter(|(_, thread)| processes.contains(&thread.process) && thread.kind == FOREGROUND);
        let in_front: Vec<(u32, u32)> = in_front.map(|(number, thread)| (thread.process, *number)).collect();
        self.watch = samples.then(|| Watch::begin(&in_front));
        self.followed = processes.first().copied();
        if let Some(process) = self.followed {
            let begin = || Counting::begin(processes, self.user_only);
            self.counting.entry(process).or_insert_with(begin).lap();
        }
    }

    fn events(&mut self) -> impl Iterator<Item = &mut Events> {
        self.cpus.iter_mut().chain(self.by_thread.values_mut())
    }

    fn switch(&mut self, on: bool) {
        self.events().for_each(|events| events.switch(on));
    }

    /// The side has ended what it was measured in: what its threads do and wait for from now on is no part of it, however long it takes to read
    /// what was sampled.
    pub fn ended(&mut self) {
        self.switch(false);
        self.looks = self.watch.take().map(Watch::end).unwrap_or_default();
        let counting = self.followed.take().and_then(|process| self.counting.get_mut(&process));
        self.counted = counting.map(Counting::lap).unwrap_or_default();
    }

    /// Takes in what was sampled of these processes in a trial since they are followed, or since the last call.
    pub fn take_samples(&mut self, trial: &TrialKey, processes: &[u32]) {
        if !self.samples {
            return;
        }
        let gathered = self.gathered.entry(trial.clone()).or_default();
        gathered.quality.frequency = FREQUENCY;
        gathered.quality.user_only = self.user_only;
        for events in self.cpus.iter_mut().chain(self.by_thread.values_mut()) {
            gathered.quality.lost += events.drain(|sample: &Sample<'_>| {
                // On a CPU others run too.
                if !processes.contains(&sample.process) {
                    return;
                }
                let kind = match self.threads.get(&sample.thread) {
                    Some(known) => known.kind.clone(),
                    // A thread that began within the block.
                    None => threads::kind(sample.process, sample.thread),
                };
                let code = self.code.entry(sample.process).or_default();
                let unwound = code.unwound(sample.process, sample, &mut self.files);
                gathered.quality.broken += u64::from(unwound.is_broken);
                let kernel = sample.kernel_frames().map(|at| self.kernel.name(at));
                let user = unwound.frames.iter().rev().map(|name| &**name);
                gathered.stacks.add(&kind, user.chain(kernel.rev()), 1);
            });
        }
        let cannot_be_sampled = |(number, thread): &(&u32, &Thread)| {
            processes.contains(&thread.process) && !self.by_thread.contains_key(number)
        };
        let left_out = match self.cpus.is_empty() {
            true => self.threads.iter().filter(cannot_be_sampled).count() as u64,
            false => 0,
        };
        gathered.quality.threads_left_out = gathered.quality.threads_left_out.max(left_out);
    }

    /// Takes in the rest of the samples of a block that has ended, what it did, its CPU time and how long it took.
    pub fn take_block(&mut self, trial: &TrialKey, processes: &[u32], work: Work) {
        self.take_samples(trial, processes);
        let Work { operations, cpu, wall } = work;
        let gathered = self.gathered.entry(trial.clone()).or_default();
        for (event, count) in std::mem::take(&mut self.counted) {
            let so_far = gathered.counted.entry(event).or_insert(Some(0.0));
            *so_far = so_far.zip(count).map(|(so_far, count)| so_far + count);
        }
        if !self.samples {
            gathered.unsampled_operations += operations;
            gathered.unsampled_cpu += cpu;
            return;
        }
        gathered.operations += operations;
        gathered.cpu += cpu;
        let Looks { threads, mut all, mut waits, stacks } = std::mem::take(&mut self.looks);
        let weight = stacks.weight();
        for WaitStack { process, thread, wait, registers, stack } in stacks.all {
            let sample = Sample::of_waiting(process, thread, &registers, &stack);
            let unwound = self.code.entry(process).or_default().unwound(process, &sample, &mut self.files);
            if unwound.frames.iter().any(|name| name.ends_with(PARKED)) {
                // It was seen before the block began, or after its end.
                all = all.saturating_sub(weight);
                waits.entry(wait).and_modify(|looks| *looks = looks.saturating_sub(weight));
                continue;
            }
            gathered.waiting.add(wait.name(), unwound.frames.iter().rev().map(|name| &**name), weight);
        }
        gathered.wall += Nanos(wall.0 * threads);
        gathered.looks.all += all;
        for (wait, looks) in waits {
            *gathered.looks.waits.entry(wait).or_default() += looks;
        }
    }

    /// What was gathered of all trials since the last call.
    pub fn finish(&mut self) -> Vec<Profile> {
        let of = |(trial, gathered): (TrialKey, Gathered)| {
            let (names, stacks) = gathered.stacks.finish();
            let (names_of_waits, stacks_of_waits) = gathered.waiting.finish();
            let operations = gathered.operations + gathered.unsampled_operations;
            let counted = gathered.counted.into_iter().filter(|_| operations > 0);
            let per_op =
                |(event, count): (&str, Option<f64>)| Some((event.to_owned(), count? / operations as f64));
            Profile {
                trial,
                operations: gathered.operations,
                cpu: gathered.cpu,
                unsampled_operations: gathered.unsampled_operations,
                unsampled_cpu: gathered.unsampled_cpu,
                wall: gathered.wall,
                looks: gathered.looks.all,
                waits: gathered.looks.waits,
                quality: gathered.quality,
                names,
                stacks,
                waiting: Waiting { names: names_of_waits, stacks: stacks_of_waits },
                counters: counted.filter_map(per_op).collect(),
            }
        };
        std::mem::take(&mut self.gathered).into_iter().map(of).collect()
    }
}

#[cfg(test)]
mod tests;
