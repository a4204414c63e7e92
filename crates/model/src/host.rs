//! The host: what it is, and how it was at one moment.

use crate::units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

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
    /// Settings by name: `vm.swappiness`, `device.max_sectors_kb`; none in runs of before 2026-11-24.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, String>,
}

impl Host {
    /// The CPUs that the host's own counters are of: busy ticks, load.
    pub fn counted_cpus(&self) -> u32 {
        self.cpus_online.unwrap_or(self.cpus)
    }

    /// What a run that began here and goes on on `now` has to know.
    pub fn changes(&self, now: &Host) -> Vec<HostChange> {
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let facts = [
            ("CPU model", true, self.cpu_model.clone(), now.cpu_model.clone()),
            ("usable CPUs", false, self.cpus.to_string(), now.cpus.to_string()),
            ("CPUs", false, self.counted_cpus().to_string(), now.counted_cpus().to_string()),
            ("host name", false, self.name.clone(), now.name.clone()),
            (BOOT, false, self.boot_id.clone(), now.boot_id.clone()),
            ("kernel", false, self.kernel.clone(), now.kernel.clone()),
            ("frequency governor", false, text(&self.governor), text(&now.governor)),
            (
                "transparent huge pages",
                false,
                text(&self.transparent_huge_pages),
                text(&now.transparent_huge_pages),
            ),
            ("file system", false, text(&self.file_system), text(&now.file_system)),
            ("device", false, text(&self.device), text(&now.device)),
        ];
        let change = |(fact, of_machine, before, now): (&str, bool, String, String)| HostChange {
            fact: fact.to_owned(),
            of_machine,
            before,
            now,
        };
        let memory = (!is_about(self.memory_bytes, now.memory_bytes))
            .then(|| ("memory", true, gibibytes(self.memory_bytes), gibibytes(now.memory_bytes)));
        // What an older run does not have, it does not differ in.
        let settings = self.facts.iter().filter_map(|(name, before)| {
            let now = now.facts.get(name).cloned().unwrap_or_default();
            Some((name.as_str(), false, before.clone(), now))
                .filter(|_| !TOLD_BY_NAME.contains(&name.as_str()))
        });
        let all = facts.into_iter().chain(memory).chain(settings);
        all.map(change).filter(|change| change.before != change.now).collect()
    }

    /// The host's CPUs where this process may not use all of them: because of an affinity that it inherited, or a container.
    pub fn withheld_from(&self) -> Option<u32> {
        self.cpus_online.filter(|online| *online > self.cpus)
    }
}

const BOOT: &str = "boot";

/// Settings that have a field of their own.
const TOLD_BY_NAME: [&str; 3] = ["cpu.governor", "thp.enabled", "file_system.type"];

/// Within 5 %: a kernel reserves a little more or less of the same memory.
fn is_about(before: u64, now: u64) -> bool {
    before.abs_diff(now) <= before.max(now) / 20
}

fn gibibytes(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30))
}

/// A fact in which a host differs from what it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostChange {
    /// `kernel`
    pub fact: String,
    /// Whether it makes it another machine, on which nothing can be gone on with.
    pub of_machine: bool,
    /// Empty if it is not known.
    pub before: String,
    pub now: String,
}

impl fmt::Display for HostChange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.fact == BOOT {
            return write!(formatter, "it was booted again");
        }
        let shown = |value: &str| if value.is_empty() { "unknown".to_owned() } else { value.to_owned() };
        write!(formatter, "{} was {}, is {}", self.fact, shown(&self.before), shown(&self.now))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reboot_is_a_change_and_another_cpu_another_machine() {
        let before = Host {
            boot_id: "a".to_owned(),
            cpu_model: "EPYC".to_owned(),
            cpus: 2,
            memory_bytes: 24 << 30,
            ..Host::default()
        };
        // Either side of a whole GiB and a half.
        let before = Host { memory_bytes: 15_876 << 20, ..before };
        let same = Host { load_1m: Some("3".to_owned()), memory_bytes: 15_868 << 20, ..before.clone() };
        assert_eq!(before.changes(&same), []);
        let booted = Host { boot_id: "b".to_owned(), device: Some("vdb".to_owned()), ..before.clone() };
        let changes = before.changes(&booted);
        let shown: Vec<String> = changes.iter().map(HostChange::to_string).collect();
        assert_eq!(shown, ["it was booted again", "device was unknown, is vdb"]);
        assert!(changes.iter().all(|change| !change.of_machine));
        let set = |swappiness: &str| Host {
            facts: BTreeMap::from([("vm.swappiness".to_owned(), swappiness.to_owned())]),
            ..before.clone()
        };
        let shown: Vec<String> = set("60").changes(&set("1")).iter().map(HostChange::to_string).collect();
        assert_eq!(shown, ["vm.swappiness was 60, is 1"]);
        assert_eq!(before.changes(&set("1")), []);
        let other = Host { cpus: 4, cpus_online: Some(8), memory_bytes: 48 << 30, ..before.clone() };
        let changes = before.changes(&other);
        let of_machine: Vec<&str> =
            changes.iter().filter(|change| change.of_machine).map(|change| change.fact.as_str()).collect();
        // Threads of a core may have been switched off since.
        assert_eq!((of_machine, changes.len()), (vec!["memory"], 3), "{changes:?}");
    }
}
