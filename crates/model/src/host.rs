//! The host: what it is, and how it was at one moment.

use crate::units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a host is. An unknown value is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    pub name: String,
    /// Identifier of the current boot.
    pub boot_id: String,
    pub kernel: String,
    pub cpu_model: String,
    /// Logical CPUs that this process may use.
    pub cpus: u32,
    /// Logical CPUs of the host that are online, those included that this process may not use; absent in runs of before
    /// 2026-11-22.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus_online: Option<u32>,
    pub memory_bytes: u64,
    /// Frequency governor of the first CPU.
    pub governor: Option<String>,
    pub transparent_huge_pages: Option<String>,
    /// Hypervisor, where the CPU says that there is one.
    pub virtual_machine: bool,
    /// File system type of the work directory.
    pub file_system: Option<String>,
    /// Block device of the work directory, as named in /proc/diskstats.
    pub device: Option<String>,
    /// Load average over one minute when the run began.
    pub load_1m: Option<String>,
}

impl Host {
    /// The CPUs that the host's own counters are of: busy ticks, load.
    pub fn counted_cpus(&self) -> u32 {
        self.cpus_online.unwrap_or(self.cpus)
    }

    /// The host's CPUs where this process may not use all of them: because of an affinity that it inherited, or a container.
    pub fn withheld_from(&self) -> Option<u32> {
        self.cpus_online.filter(|online| *online > self.cpus)
    }
}

/// Readings of the whole host at one moment: cumulative counters and levels by name
/// (`stat.cpu.user_ticks`, `vmstat.pgfault`, `disk.vda.reads`, `pressure.cpu.some_us`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostSample {
    /// Microseconds since the epoch.
    pub at_us: i64,
    pub readings: BTreeMap<String, u64>,
}

/// What measuring itself cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct HarnessCost {
    /// CPU of the 1 Hz sampler over the time it ran, in percent of one core.
    pub sampler_core_percent: f64,
    /// Wall time per block spent on thawing, freezing and reading counters, mean, in microseconds.
    pub block_edge_us: f64,
    /// CPU per operation of the worker against an engine that does nothing, in nanoseconds, by step: part of
    /// both sides' `cpu_us_per_op`.
    pub client_cpu_ns_per_op: Option<f64>,
    /// Largest resident memory of the controller, in bytes.
    pub controller_peak_bytes: u64,
    /// Largest heap of a worker's own allocations (the engine's are not in it), in bytes.
    pub worker_heap_peak_bytes: u64,
    /// Pauses between the steps of a visit, in rounds and one after another.
    #[serde(default)]
    pub step_pauses: Option<StepPauses>,
}

/// The time between steps that is neither a step nor the engine's own work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepPauses {
    pub count: u32,
    pub mean: Nanos,
    pub longest: Nanos,
}
