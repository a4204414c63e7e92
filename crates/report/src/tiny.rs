//! Counts that are too small for a ratio to mean anything: the worker's own replies make a dozen write calls.

use model::counter::Counter;

/// Calls and switches in a block below which they are the worker's own: a block ends with about a dozen.
const LEAST_CALLS: f64 = 30.0;
/// Bytes in a block below which they are the worker's own: replies and readings of /proc are a few KB each.
const LEAST_BYTES: f64 = 65_536.0;

/// Whether this count of a block is that small.
pub(crate) fn is_tiny(counter: Counter, count: f64) -> bool {
    match counter {
        Counter::ReadCalls
        | Counter::WriteCalls
        | Counter::VoluntarySwitches
        | Counter::InvoluntarySwitches => count < LEAST_CALLS,
        Counter::ReadCallBytes
        | Counter::WriteCallBytes
        | Counter::StorageReadBytes
        | Counter::StorageWriteBytes
        | Counter::DiskReadBytes
        | Counter::DiskWriteBytes => count < LEAST_BYTES,
        Counter::ForegroundCpuNanos
        | Counter::BackgroundCpuNanos
        | Counter::ClientCpuNanos
        | Counter::UserCpuMicros
        | Counter::SystemCpuMicros
        | Counter::RunDelayNanos
        | Counter::MinorFaults
        | Counter::MajorFaults
        | Counter::DiskReads
        | Counter::DiskWrites
        | Counter::DiskReadsMerged
        | Counter::DiskWritesMerged
        | Counter::DiskReadMicros
        | Counter::DiskWriteMicros
        | Counter::DiskBusyMicros
        | Counter::ResidentBytes
        | Counter::ResidentPeakBytes
        | Counter::Retries
        | Counter::OtherCpuMicros
        | Counter::HostCpuMicros => false,
    }
}
