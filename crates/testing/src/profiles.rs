//! Profiles.

use model::block::{Side, TrialKey};
use model::profile::{FOREGROUND, Profile, Quality, Stacks, Wait, Waiting};
use model::units::Nanos;
use std::collections::BTreeMap;

/// Of step `read`, 1,000 operations on a foreground thread. Frames are joined by `;`, each stack has so many samples; the cost of sampling is 1/99.
pub fn profile(launch: u32, side: Side, ns_per_op: u64, stacks: &[(&str, u64)]) -> Profile {
    let mut all = Stacks::default();
    for (frames, samples) in stacks {
        all.add(FOREGROUND, frames.split(';'), *samples);
    }
    let (names, stacks) = all.finish();
    let cpu = Nanos(ns_per_op * 1000);
    Profile {
        trial: TrialKey { launch, step: "read".to_owned(), side },
        operations: 1000,
        cpu,
        wall: cpu,
        unsampled_operations: 1000,
        unsampled_cpu: Nanos(cpu.0 / 100 * 99),
        looks: 1000,
        waits: BTreeMap::from([(Wait::Lock, 10 + u64::from(launch % 2)), (Wait::Client, 300)]),
        quality: Quality { frequency: 199, ..Quality::default() },
        names,
        stacks,
        waiting: Waiting::default(),
        counters: BTreeMap::new(),
    }
}
