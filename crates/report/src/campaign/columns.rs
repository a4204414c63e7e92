//! The columns of a campaign: the posts' names in tables, metric names and base units in JSON.
//!
//! Sizes are binary where the posts' tools are: their GB is 2^30 bytes, their MB 2^20, their KB 2^10.

use model::metric::Direction;

/// One metric of a trial, and how tables show it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Column {
    /// The name in tables: the posts' own where they have one.
    pub header: &'static str,
    /// The name in JSON.
    pub metric: &'static str,
    /// The unit in JSON: `1/s`, `us`, `B`, `1`.
    pub unit: &'static str,
    /// Which way is better.
    pub direction: Direction,
    /// What it is shown with.
    pub group: ColumnGroup,
    /// The value in JSON is that of tables times this.
    pub scale: f64,
    /// The name in sentences.
    pub name: &'static str,
}

impl Column {
    /// The unit of values in tables, after scaling; empty where it is 1.
    pub fn table_unit(&self) -> &'static str {
        match (self.unit, self.scale) {
            ("1", _) => "",
            ("B", scale) if scale >= GB => "GB",
            ("B", scale) if scale >= MB => "MB",
            ("B", scale) if scale >= KB => "KB",
            ("B/s", scale) if scale >= MB => "MB/s",
            ("us", scale) if scale >= 1000.0 => "ms",
            ("ns", scale) if scale >= 1000.0 => "us",
            ("s", scale) if scale >= 1000.0 => "ks",
            (unit, _) => unit,
        }
    }
}

/// Columns that are shown together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ColumnGroup {
    Throughput,
    /// The tree and its compaction, as the engine counts them.
    Tree,
    /// CPU and memory of the worker.
    CpuAndMemory,
    /// The device that the database lives on, while operations ran.
    Device,
    /// The same, until the tree had settled.
    DeviceWithDrain,
    PerOperation,
}

impl ColumnGroup {
    /// All of them in the order of reports.
    pub const ALL: [ColumnGroup; 6] = [
        ColumnGroup::Throughput,
        ColumnGroup::Tree,
        ColumnGroup::CpuAndMemory,
        ColumnGroup::Device,
        ColumnGroup::DeviceWithDrain,
        ColumnGroup::PerOperation,
    ];

    /// What stands over its table.
    pub fn title(self) -> &'static str {
        match self {
            ColumnGroup::Throughput => "rate, latency (us)",
            ColumnGroup::Tree => "compaction (GB, s)",
            ColumnGroup::CpuAndMemory => "CPU, memory (GB)",
            ColumnGroup::Device => "device (MB, ms, KB)",
            ColumnGroup::DeviceWithDrain => "device + drain",
            ColumnGroup::PerOperation => "per operation",
        }
    }
}

const KB: f64 = 1024.0;
const MB: f64 = 1_048_576.0;
const GB: f64 = 1_073_741_824.0;

use ColumnGroup::{CpuAndMemory, Device, DeviceWithDrain, PerOperation, Throughput, Tree};
use Direction::{HigherIsBetter, LowerIsBetter};

const fn column(
    group: ColumnGroup,
    header: &'static str,
    metric: &'static str,
    unit: &'static str,
    scale: f64,
    name: &'static str,
) -> Column {
    Column { header, metric, unit, direction: LowerIsBetter, group, scale, name }
}

const fn rate(
    header: &'static str,
    metric: &'static str,
    unit: &'static str,
    scale: f64,
    name: &'static str,
) -> Column {
    Column { header, metric, unit, direction: HigherIsBetter, group: Throughput, scale, name }
}

/// Every column, in the order of reports. The first one decides.
pub const COLUMNS: &[Column] = &[
    rate("ops_sec", "ops_per_s", "1/s", 1.0, "rate"),
    rate("mb_sec", "bytes_per_s", "B/s", MB, "rate in bytes"),
    column(Throughput, "usec_op", "thread_us_per_op", "us", 1.0, "time of an operation"),
    column(Throughput, "p50", "latency_us_p50", "us", 1.0, "p50 latency"),
    column(Throughput, "p99", "latency_us_p99", "us", 1.0, "p99 latency"),
    column(Throughput, "p99.9", "latency_us_p999", "us", 1.0, "p99.9 latency"),
    column(Throughput, "p99.99", "latency_us_p9999", "us", 1.0, "p99.99 latency"),
    column(Throughput, "pmax", "latency_us_max", "us", 1.0, "largest latency"),
    rate("ops_dr", "ops_per_s_drained", "1/s", 1.0, "drained rate"),
    column(Throughput, "drain_s", "drain_s", "s", 1.0, "drain time"),
    column(Tree, "lsm_sz", "lsm_bytes", "B", GB, "size of the tree"),
    column(Tree, "blob_sz", "blob_bytes", "B", GB, "size of blob files"),
    column(Tree, "c_wgb", "compaction_write_bytes", "B", GB, "bytes written by compaction"),
    column(Tree, "w_amp", "write_amplification", "1", 1.0, "write amplification"),
    column(Tree, "c_mbps", "compaction_write_bytes_per_s", "B/s", MB, "compaction write rate"),
    column(Tree, "c_wsecs", "compaction_s", "s", 1.0, "compaction time"),
    column(Tree, "c_csecs", "compaction_cpu_s", "s", 1.0, "compaction CPU"),
    column(Tree, "b_rgb", "blob_read_bytes", "B", GB, "bytes read from blob files"),
    column(Tree, "b_wgb", "blob_write_bytes", "B", GB, "bytes written to blob files"),
    column(Tree, "uptime", "uptime_s", "s", 1.0, "uptime"),
    column(Tree, "stall%", "stall_percent", "%", 1.0, "stalled time"),
    column(Tree, "Nstall", "stalls", "1", 1.0, "stalls"),
    column(CpuAndMemory, "u_cpu", "user_cpu_s", "s", 1000.0, "user CPU"),
    column(CpuAndMemory, "s_cpu", "system_cpu_s", "s", 1000.0, "system CPU"),
    column(CpuAndMemory, "rss", "resident_peak_bytes", "B", GB, "resident memory"),
    column(CpuAndMemory, "db_sz", "database_bytes", "B", GB, "size of the database"),
    Column {
        direction: HigherIsBetter,
        ..column(CpuAndMemory, "hit%", "cache_hit_percent", "%", 1.0, "pages found in the server's cache")
    },
    column(CpuAndMemory, "others%", OTHERS, "%", 1.0, "CPU of the host that others took"),
    column(Device, "c", "device_s", "s", 1.0, "time that the device was read for"),
    column(Device, "rps", "disk_reads_per_s", "1/s", 1.0, "device read requests"),
    column(Device, "rmbps", "disk_read_bytes_per_s", "B/s", MB, "device read rate"),
    column(Device, "rrqmps", "disk_reads_merged_per_s", "1/s", 1.0, "merged device reads"),
    column(Device, "rawait", "disk_read_us_mean", "us", 1000.0, "device read wait"),
    column(Device, "rareqsz", "disk_read_bytes_mean", "B", KB, "device read size"),
    column(Device, "wps", "disk_writes_per_s", "1/s", 1.0, "device write requests"),
    column(Device, "wmbps", "disk_write_bytes_per_s", "B/s", MB, "device write rate"),
    column(Device, "wrqmps", "disk_writes_merged_per_s", "1/s", 1.0, "merged device writes"),
    column(Device, "wawait", "disk_write_us_mean", "us", 1000.0, "device write wait"),
    column(Device, "wareqsz", "disk_write_bytes_mean", "B", KB, "device write size"),
    column(DeviceWithDrain, "c+d", "device_s_with_drain", "s", 1.0, "time until settled"),
    column(
        DeviceWithDrain,
        "rps+d",
        "disk_reads_per_s_with_drain",
        "1/s",
        1.0,
        "device read requests with the drain",
    ),
    column(
        DeviceWithDrain,
        "rmbps+d",
        "disk_read_bytes_per_s_with_drain",
        "B/s",
        MB,
        "device read rate with the drain",
    ),
    column(
        DeviceWithDrain,
        "rrqmps+d",
        "disk_reads_merged_per_s_with_drain",
        "1/s",
        1.0,
        "merged device reads with the drain",
    ),
    column(
        DeviceWithDrain,
        "rawait+d",
        "disk_read_us_mean_with_drain",
        "us",
        1000.0,
        "device read wait with the drain",
    ),
    column(
        DeviceWithDrain,
        "rareqsz+d",
        "disk_read_bytes_mean_with_drain",
        "B",
        KB,
        "device read size with the drain",
    ),
    column(
        DeviceWithDrain,
        "wps+d",
        "disk_writes_per_s_with_drain",
        "1/s",
        1.0,
        "device write requests with the drain",
    ),
    column(
        DeviceWithDrain,
        "wmbps+d",
        "disk_write_bytes_per_s_with_drain",
        "B/s",
        MB,
        "device write rate with the drain",
    ),
    column(
        DeviceWithDrain,
        "wrqmps+d",
        "disk_writes_merged_per_s_with_drain",
        "1/s",
        1.0,
        "merged device writes with the drain",
    ),
    column(
        DeviceWithDrain,
        "wawait+d",
        "disk_write_us_mean_with_drain",
        "us",
        1000.0,
        "device write wait with the drain",
    ),
    column(
        DeviceWithDrain,
        "wareqsz+d",
        "disk_write_bytes_mean_with_drain",
        "B",
        KB,
        "device write size with the drain",
    ),
    column(PerOperation, "cpu_us", "cpu_us_per_op", "us", 1.0, "CPU/op"),
    column(PerOperation, "fg_us", "foreground_cpu_ns_per_op", "ns", 1000.0, "foreground CPU/op"),
    column(PerOperation, "bg_us", "background_cpu_ns_per_op", "ns", 1000.0, "background CPU/op"),
    column(PerOperation, "client_us", "client_cpu_ns_per_op", "ns", 1000.0, "client CPU/op"),
    column(PerOperation, "delay_us", "run_delay_ns_per_op", "ns", 1000.0, "run delay/op"),
    column(PerOperation, "cs", "voluntary_switches_per_op", "1", 1.0, "voluntary switches/op"),
    column(PerOperation, "ics", "involuntary_switches_per_op", "1", 1.0, "involuntary switches/op"),
    column(PerOperation, "retries", "retries_per_op", "1", 1.0, "events sent again/op"),
    column(PerOperation, "minflt", "minor_faults_per_op", "1", 1.0, "minor faults/op"),
    column(PerOperation, "majflt", "major_faults_per_op", "1", 1.0, "major faults/op"),
    column(PerOperation, "rcalls", "read_calls_per_op", "1", 1.0, "read calls/op"),
    column(PerOperation, "wcalls", "write_calls_per_op", "1", 1.0, "write calls/op"),
    column(PerOperation, "rcallB", "read_call_bytes_per_op", "B", 1.0, "bytes of read calls/op"),
    column(PerOperation, "wcallB", "write_call_bytes_per_op", "B", 1.0, "bytes of write calls/op"),
    column(PerOperation, "rstorB", "storage_read_bytes_per_op", "B", 1.0, "bytes read from storage/op"),
    column(PerOperation, "wstorB", "storage_write_bytes_per_op", "B", 1.0, "bytes written to storage/op"),
    column(PerOperation, "rd_op", "disk_reads_per_op", "1", 1.0, "device reads/op"),
    column(PerOperation, "wr_op", "disk_writes_per_op", "1", 1.0, "device writes/op"),
    column(PerOperation, "cpu_us+d", "cpu_us_per_op_with_drain", "us", 1.0, "CPU/op with the drain"),
    column(
        PerOperation,
        "rd_op+d",
        "disk_reads_per_op_with_drain",
        "1",
        1.0,
        "device reads/op with the drain",
    ),
    column(
        PerOperation,
        "wr_op+d",
        "disk_writes_per_op_with_drain",
        "1",
        1.0,
        "device writes/op with the drain",
    ),
];

/// What the posts call cpu/o for sysbench: in no table but those for spreadsheets, for its unit compares on hosts with as
/// many CPUs only. The server's own CPU is `cpu_us_per_op`.
pub const POSTS_CPU: Column = column(
    PerOperation,
    "cpu/o",
    "host_cpu_percent_s_per_op",
    "% s",
    1.0,
    "CPU of the whole host/op, in percent points times seconds",
);

/// The rate that decides.
pub const RATE: &str = "ops_per_s";
/// Operations per second of the time until the tree had settled.
pub const DRAINED_RATE: &str = "ops_per_s_drained";

/// Share of the host's CPU time that others took, in percent: of the measuring, not of what is measured.
pub const OTHERS: &str = "other_cpu_percent";

/// The column of a metric.
pub fn column_of(metric: &str) -> Option<&'static Column> {
    COLUMNS.iter().find(|column| column.metric == metric)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::counter::Counter;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_columns_share_a_name_and_counters_have_their_own() {
        let headers: BTreeSet<&str> =
            COLUMNS.iter().chain([&POSTS_CPU]).map(|column| column.header).collect();
        let metrics: BTreeSet<&str> =
            COLUMNS.iter().chain([&POSTS_CPU]).map(|column| column.metric).collect();
        assert_eq!((headers.len(), metrics.len()), (COLUMNS.len() + 1, COLUMNS.len() + 1));
        assert_eq!(COLUMNS[0].metric, RATE);
        for counter in [Counter::ReadCalls, Counter::DiskReads, Counter::ResidentPeakBytes] {
            assert!(column_of(counter.metric_name()).is_some());
        }
    }
}
