//! Metrics: what a comparison is about, its unit and which way is better.

use crate::counter::Counter;
use serde::{Deserialize, Serialize};

/// What a number measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Metric {
    /// Operations per second of wall time: what users see.
    OpsPerSecond,
    /// Operations per second of wall time less the time runnable but not running (contention-adjusted).
    OpsPerSecondAdjusted,
    /// CPU of the whole process of the subject per operation, in microseconds.
    CpuMicrosPerOp,
    /// A counter, per operation or as a level.
    Counter(Counter),
}

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    HigherIsBetter,
    LowerIsBetter,
}

impl Metric {
    /// The name in SQL and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Metric::OpsPerSecond => "ops_per_s",
            Metric::OpsPerSecondAdjusted => "ops_per_s_adjusted",
            Metric::CpuMicrosPerOp => "cpu_us_per_op",
            Metric::Counter(counter) => counter.metric_name(),
        }
    }

    /// The unit of a value: `1/s`, `us`, `ns`, `B` or `1`.
    pub fn unit(self) -> &'static str {
        match self {
            Metric::OpsPerSecond | Metric::OpsPerSecondAdjusted => "1/s",
            Metric::CpuMicrosPerOp => "us",
            Metric::Counter(counter) => match counter {
                Counter::ForegroundCpuNanos
                | Counter::BackgroundCpuNanos
                | Counter::ClientCpuNanos
                | Counter::RunDelayNanos => "ns",
                Counter::UserCpuMicros
                | Counter::SystemCpuMicros
                | Counter::OtherCpuMicros
                | Counter::HostCpuMicros
                | Counter::DiskReadMicros
                | Counter::DiskWriteMicros
                | Counter::DiskBusyMicros => "us",
                Counter::ReadCallBytes
                | Counter::WriteCallBytes
                | Counter::StorageReadBytes
                | Counter::StorageWriteBytes
                | Counter::DiskReadBytes
                | Counter::DiskWriteBytes
                | Counter::ResidentBytes
                | Counter::ResidentPeakBytes => "B",
                Counter::VoluntarySwitches
                | Counter::InvoluntarySwitches
                | Counter::Retries
                | Counter::MinorFaults
                | Counter::MajorFaults
                | Counter::ReadCalls
                | Counter::WriteCalls
                | Counter::DiskReads
                | Counter::DiskWrites
                | Counter::DiskReadsMerged
                | Counter::DiskWritesMerged => "1",
            },
        }
    }

    /// Which way is better.
    pub fn direction(self) -> Direction {
        match self {
            Metric::OpsPerSecond | Metric::OpsPerSecondAdjusted => Direction::HigherIsBetter,
            Metric::CpuMicrosPerOp | Metric::Counter(_) => Direction::LowerIsBetter,
        }
    }
}
