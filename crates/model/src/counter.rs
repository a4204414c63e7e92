//! Counters of one side over one block: deltas of /proc at the block's edges.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What was counted. All are sums over the processes of the side, except the `Disk*` ones, which are of the
/// whole device that the database lives on, the `Resident*` ones, which are levels read at the end, and
/// [`Counter::OtherCpuMicros`] and [`Counter::HostCpuMicros`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counter {
    /// CPU time of the foreground threads, in nanoseconds; of a server those that served the client.
    ForegroundCpuNanos,
    /// CPU time of all other threads of the side (flushes, compactions), in nanoseconds.
    BackgroundCpuNanos,
    /// CPU time of the client's process where the engine is a server, in nanoseconds: no part of the side's.
    ClientCpuNanos,
    /// CPU time in user mode, tick-based, in microseconds.
    UserCpuMicros,
    /// CPU time in the kernel, tick-based, in microseconds.
    SystemCpuMicros,
    /// Time runnable but not running, all threads, in nanoseconds.
    RunDelayNanos,
    VoluntarySwitches,
    InvoluntarySwitches,
    /// Page faults without IO.
    MinorFaults,
    /// Page faults with IO.
    MajorFaults,
    ReadCalls,
    WriteCalls,
    /// Bytes asked for by read calls, from page cache or device.
    ReadCallBytes,
    /// Bytes given to write calls.
    WriteCallBytes,
    /// Bytes fetched from the device for this side.
    StorageReadBytes,
    /// Bytes that this side made dirty.
    StorageWriteBytes,
    /// Reads completed by the device.
    DiskReads,
    /// Bytes read from the device.
    DiskReadBytes,
    /// Writes completed by the device.
    DiskWrites,
    /// Bytes written to the device.
    DiskWriteBytes,
    /// Reads that were merged with a neighbour before they went to the device.
    DiskReadsMerged,
    /// Writes that were merged with a neighbour before they went to the device.
    DiskWritesMerged,
    /// Time that reads took, queueing included, summed over them, in microseconds.
    DiskReadMicros,
    /// Time that writes took, queueing included, summed over them, in microseconds.
    DiskWriteMicros,
    /// Time with IO in flight, in microseconds.
    DiskBusyMicros,
    /// Resident memory at the end of the block, in bytes: a level, not a delta.
    ResidentBytes,
    /// Largest resident memory of the processes so far, in bytes: a level, not a delta.
    ResidentPeakBytes,
    /// Events that a SQL server wanted to be sent again: deadlocks, lock timeouts, and the like.
    Retries,
    /// CPU time that processes without a part in the run and other guests of the hypervisor took,
    /// in microseconds: only of steps that are measured in one go.
    OtherCpuMicros,
    /// CPU time of the whole host in user mode and in the kernel, by its ticks, in microseconds: what vmstat calls us and
    /// sy. Only of steps that are measured in one go.
    HostCpuMicros,
}

impl Counter {
    /// Every counter, in the order of reports.
    pub const ALL: [Counter; 30] = [
        Counter::ForegroundCpuNanos,
        Counter::BackgroundCpuNanos,
        Counter::ClientCpuNanos,
        Counter::UserCpuMicros,
        Counter::SystemCpuMicros,
        Counter::RunDelayNanos,
        Counter::VoluntarySwitches,
        Counter::InvoluntarySwitches,
        Counter::MinorFaults,
        Counter::MajorFaults,
        Counter::ReadCalls,
        Counter::WriteCalls,
        Counter::ReadCallBytes,
        Counter::WriteCallBytes,
        Counter::StorageReadBytes,
        Counter::StorageWriteBytes,
        Counter::DiskReads,
        Counter::DiskReadBytes,
        Counter::DiskWrites,
        Counter::DiskWriteBytes,
        Counter::DiskReadsMerged,
        Counter::DiskWritesMerged,
        Counter::DiskReadMicros,
        Counter::DiskWriteMicros,
        Counter::DiskBusyMicros,
        Counter::ResidentBytes,
        Counter::ResidentPeakBytes,
        Counter::Retries,
        Counter::OtherCpuMicros,
        Counter::HostCpuMicros,
    ];

    /// The name in SQL and JSON; per operation unless it is a level.
    pub fn metric_name(self) -> &'static str {
        match self {
            Counter::ForegroundCpuNanos => "foreground_cpu_ns_per_op",
            Counter::BackgroundCpuNanos => "background_cpu_ns_per_op",
            Counter::ClientCpuNanos => "client_cpu_ns_per_op",
            Counter::UserCpuMicros => "user_cpu_us_per_op",
            Counter::SystemCpuMicros => "system_cpu_us_per_op",
            Counter::RunDelayNanos => "run_delay_ns_per_op",
            Counter::VoluntarySwitches => "voluntary_switches_per_op",
            Counter::InvoluntarySwitches => "involuntary_switches_per_op",
            Counter::MinorFaults => "minor_faults_per_op",
            Counter::MajorFaults => "major_faults_per_op",
            Counter::ReadCalls => "read_calls_per_op",
            Counter::WriteCalls => "write_calls_per_op",
            Counter::ReadCallBytes => "read_call_bytes_per_op",
            Counter::WriteCallBytes => "write_call_bytes_per_op",
            Counter::StorageReadBytes => "storage_read_bytes_per_op",
            Counter::StorageWriteBytes => "storage_write_bytes_per_op",
            Counter::DiskReads => "disk_reads_per_op",
            Counter::DiskReadBytes => "disk_read_bytes_per_op",
            Counter::DiskWrites => "disk_writes_per_op",
            Counter::DiskWriteBytes => "disk_write_bytes_per_op",
            Counter::DiskReadsMerged => "disk_reads_merged_per_op",
            Counter::DiskWritesMerged => "disk_writes_merged_per_op",
            Counter::DiskReadMicros => "disk_read_us_per_op",
            Counter::DiskWriteMicros => "disk_write_us_per_op",
            Counter::DiskBusyMicros => "disk_busy_us_per_op",
            Counter::ResidentBytes => "resident_bytes",
            Counter::ResidentPeakBytes => "resident_peak_bytes",
            Counter::Retries => "retries_per_op",
            Counter::OtherCpuMicros => "other_cpu_us_per_op",
            Counter::HostCpuMicros => "host_cpu_us_per_op",
        }
    }

    /// The smallest step in which the kernel counts, in the counter's own unit.
    pub fn resolution(self) -> f64 {
        match self {
            Counter::UserCpuMicros
            | Counter::SystemCpuMicros
            | Counter::OtherCpuMicros
            | Counter::HostCpuMicros => 10_000.0, // one tick at 100 Hz
            Counter::DiskReadMicros | Counter::DiskWriteMicros | Counter::DiskBusyMicros => 1000.0,
            Counter::StorageReadBytes
            | Counter::StorageWriteBytes
            | Counter::ResidentBytes
            | Counter::ResidentPeakBytes => 4096.0,
            Counter::DiskReadBytes | Counter::DiskWriteBytes => 512.0,
            Counter::ForegroundCpuNanos
            | Counter::BackgroundCpuNanos
            | Counter::ClientCpuNanos
            | Counter::RunDelayNanos => 1.0,
            Counter::VoluntarySwitches
            | Counter::InvoluntarySwitches
            | Counter::Retries
            | Counter::MinorFaults
            | Counter::MajorFaults
            | Counter::ReadCalls
            | Counter::WriteCalls
            | Counter::ReadCallBytes
            | Counter::WriteCallBytes
            | Counter::DiskReads
            | Counter::DiskWrites
            | Counter::DiskReadsMerged
            | Counter::DiskWritesMerged => 1.0,
        }
    }

    /// Whether the value is a level at the end of the block rather than a delta over it.
    pub fn is_level(self) -> bool {
        matches!(self, Counter::ResidentBytes | Counter::ResidentPeakBytes)
    }
}

/// Readings by counter; one that could not be read is absent, never zero.
pub type Counters = BTreeMap<Counter, u64>;
