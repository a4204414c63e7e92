//! Counters of one side over one block: deltas of /proc at the block's edges.
//!
//! A new counter is one entry here and the line that reads it: its name in SQL and JSON, its unit, how finely the kernel
//! counts it and the column of tables that it has all stand in the entry.

use crate::metric::{ColumnGroup, GB, MetricDef, level, per_op};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One tick at 100 Hz.
const TICK_MICROS: f64 = 10_000.0;
/// Calls and switches in a block below which they are the worker's own replies: a block ends with about a dozen.
const LEAST_CALLS: f64 = 30.0;
/// Bytes in a block below which they are the worker's own: replies and readings of /proc are a few KB each.
const LEAST_BYTES: f64 = 65_536.0;

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident => $def:expr,)+) => {
        /// What was counted. All are sums over the processes of the side, except the `Disk*` ones, which are of the
        /// whole device that the database lives on, the `Resident*` ones and [`Counter::DirectoryBytes`], which are levels read at the end, and
        /// [`Counter::OtherCpuMicros`] and [`Counter::HostCpuMicros`].
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Counter {
            $($(#[$doc])* $name,)+
        }

        impl Counter {
            /// Every counter, in the order of reports.
            pub const ALL: [Counter; [$(stringify!($name),)+].len()] = [$(Counter::$name,)+];

            /// What is known of it beside its values.
            pub fn def(self) -> &'static MetricDef {
                const DEFS: &[MetricDef] = &[$($def,)+];
                &DEFS[self as usize]
            }
        }
    };
}

counters! {
    /// CPU time of the foreground threads, in nanoseconds; of a server those that served the client.
    ForegroundCpuNanos => per_op("foreground_cpu_ns_per_op", "ns").column(ColumnGroup::PerOperation, "fg_us", 1000.0, "foreground CPU/op"),
    /// CPU time of all other threads of the side (flushes, compactions), in nanoseconds.
    BackgroundCpuNanos => per_op("background_cpu_ns_per_op", "ns").column(ColumnGroup::PerOperation, "bg_us", 1000.0, "background CPU/op"),
    /// CPU time of the client's process where the engine is a server, in nanoseconds: no part of the side's.
    ClientCpuNanos => per_op("client_cpu_ns_per_op", "ns").column(ColumnGroup::PerOperation, "client_us", 1000.0, "client CPU/op"),
    /// CPU time in user mode, tick-based, in microseconds.
    UserCpuMicros => per_op("user_cpu_us_per_op", "us").in_steps_of(TICK_MICROS),
    /// CPU time in the kernel, tick-based, in microseconds.
    SystemCpuMicros => per_op("system_cpu_us_per_op", "us").in_steps_of(TICK_MICROS),
    /// Time runnable but not running, all threads, in nanoseconds.
    RunDelayNanos => per_op("run_delay_ns_per_op", "ns").column(ColumnGroup::PerOperation, "delay_us", 1000.0, "run delay/op"),
    VoluntarySwitches => per_op("voluntary_switches_per_op", "1").telling_from(LEAST_CALLS).column(ColumnGroup::PerOperation, "cs", 1.0, "voluntary switches/op"),
    InvoluntarySwitches => per_op("involuntary_switches_per_op", "1").telling_from(LEAST_CALLS).column(ColumnGroup::PerOperation, "ics", 1.0, "involuntary switches/op"),
    /// Page faults without IO.
    MinorFaults => per_op("minor_faults_per_op", "1").column(ColumnGroup::PerOperation, "minflt", 1.0, "minor faults/op"),
    /// Page faults with IO.
    MajorFaults => per_op("major_faults_per_op", "1").column(ColumnGroup::PerOperation, "majflt", 1.0, "major faults/op"),
    ReadCalls => per_op("read_calls_per_op", "1").telling_from(LEAST_CALLS).column(ColumnGroup::PerOperation, "rcalls", 1.0, "read calls/op"),
    WriteCalls => per_op("write_calls_per_op", "1").telling_from(LEAST_CALLS).column(ColumnGroup::PerOperation, "wcalls", 1.0, "write calls/op"),
    /// Bytes asked for by read calls, from page cache or device.
    ReadCallBytes => per_op("read_call_bytes_per_op", "B").telling_from(LEAST_BYTES).column(ColumnGroup::PerOperation, "rcallB", 1.0, "bytes of read calls/op"),
    /// Bytes given to write calls.
    WriteCallBytes => per_op("write_call_bytes_per_op", "B").telling_from(LEAST_BYTES).column(ColumnGroup::PerOperation, "wcallB", 1.0, "bytes of write calls/op"),
    /// Bytes fetched from the device for this side.
    StorageReadBytes => per_op("storage_read_bytes_per_op", "B").in_steps_of(4096.0).telling_from(LEAST_BYTES).column(ColumnGroup::PerOperation, "rstorB", 1.0, "bytes read from storage/op"),
    /// Bytes that this side made dirty.
    StorageWriteBytes => per_op("storage_write_bytes_per_op", "B").in_steps_of(4096.0).telling_from(LEAST_BYTES).column(ColumnGroup::PerOperation, "wstorB", 1.0, "bytes written to storage/op"),
    /// Reads completed by the device.
    DiskReads => per_op("disk_reads_per_op", "1").column(ColumnGroup::PerOperation, "rd_op", 1.0, "device reads/op"),
    /// Bytes read from the device.
    DiskReadBytes => per_op("disk_read_bytes_per_op", "B").in_steps_of(512.0).telling_from(LEAST_BYTES),
    /// Writes completed by the device.
    DiskWrites => per_op("disk_writes_per_op", "1").column(ColumnGroup::PerOperation, "wr_op", 1.0, "device writes/op"),
    /// Bytes written to the device.
    DiskWriteBytes => per_op("disk_write_bytes_per_op", "B").in_steps_of(512.0).telling_from(LEAST_BYTES),
    /// Reads that were merged with a neighbour before they went to the device.
    DiskReadsMerged => per_op("disk_reads_merged_per_op", "1"),
    /// Writes that were merged with a neighbour before they went to the device.
    DiskWritesMerged => per_op("disk_writes_merged_per_op", "1"),
    /// Time that reads took, queueing included, summed over them, in microseconds.
    DiskReadMicros => per_op("disk_read_us_per_op", "us").in_steps_of(1000.0),
    /// Time that writes took, queueing included, summed over them, in microseconds.
    DiskWriteMicros => per_op("disk_write_us_per_op", "us").in_steps_of(1000.0),
    /// Time with IO in flight, in microseconds.
    DiskBusyMicros => per_op("disk_busy_us_per_op", "us").in_steps_of(1000.0),
    /// Resident memory at the end of the block, in bytes: a level, not a delta.
    ResidentBytes => level("resident_bytes", "B").in_steps_of(4096.0),
    /// Largest resident memory of the processes so far, in bytes: a level, not a delta.
    ResidentPeakBytes => level("resident_peak_bytes", "B").in_steps_of(4096.0).column(ColumnGroup::CpuAndMemory, "rss", GB, "resident memory"),
    /// What the files of the database take on its device at the end, logs of changes included: a level, not a delta. Only of steps that are
    /// measured in one go.
    DirectoryBytes => level("directory_bytes", "B").in_steps_of(4096.0).column(ColumnGroup::CpuAndMemory, "dir_sz", GB, "size of the data directory"),
    /// Events that a SQL server wanted to be sent again: deadlocks, lock timeouts, and the like.
    Retries => per_op("retries_per_op", "1").column(ColumnGroup::PerOperation, "retries", 1.0, "events sent again/op"),
    /// CPU time that processes without a part in the run and other guests of the hypervisor took,
    /// in microseconds: only of steps that are measured in one go.
    OtherCpuMicros => per_op("other_cpu_us_per_op", "us").in_steps_of(TICK_MICROS),
    /// The part of [`Counter::OtherCpuMicros`] that other guests of the hypervisor took.
    StolenCpuMicros => per_op("stolen_cpu_us_per_op", "us").in_steps_of(TICK_MICROS),
    /// CPU time of the whole host in user mode and in the kernel, by its ticks, in microseconds: what vmstat calls us and
    /// sy. Only of steps that are measured in one go.
    HostCpuMicros => per_op("host_cpu_us_per_op", "us").in_steps_of(TICK_MICROS).column(ColumnGroup::PerOperation, "host_us", 1.0, "CPU of the whole host/op"),
}

impl Counter {
    /// The name in JSON; per operation unless it is a level.
    pub fn metric_name(self) -> &'static str {
        self.def().name
    }

    /// The name of a total over a block, in SQL and exports.
    pub fn total_name(self) -> &'static str {
        self.def().name.trim_end_matches("_per_op")
    }

    /// The counter of this name of a total; none where a later version counted what this one does not know.
    pub fn of_total(name: &str) -> Option<Counter> {
        Counter::ALL.into_iter().find(|counter| counter.total_name() == name)
    }

    /// The smallest step in which the kernel counts, in the counter's own unit.
    pub fn resolution(self) -> f64 {
        self.def().resolution
    }

    /// Whether the value is a level at the end of the block rather than a delta over it.
    pub fn is_level(self) -> bool {
        self.def().is_level
    }

    /// Whether a count of a block is so small that its ratio means nothing.
    pub fn is_tiny(self, count: f64) -> bool {
        count < self.def().least
    }
}

/// Readings by counter; one that could not be read is absent, never zero.
pub type Counters = BTreeMap<Counter, u64>;
