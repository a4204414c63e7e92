//! The catalogue of metrics: what each is called in JSON, SQL and tables, its unit, which way is better, how finely it is
//! counted. The sampler, the store, importers and all reports read it; counters have their entries in
//! [`crate::counter`].
//!
//! Sizes in tables are binary where the Small Datum tools are: their GB is 2^30 bytes, their MB 2^20, their KB 2^10.

use crate::counter::Counter;
use serde::{Deserialize, Serialize, Serializer};

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Throughput.
    HigherIsBetter,
    /// Cost.
    LowerIsBetter,
}

/// Columns that are shown together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, strum::VariantArray)]
pub enum ColumnGroup {
    /// Throughput and latency.
    Throughput,
    /// The tree and its compaction, as the engine counts them.
    Tree,
    /// CPU and memory of the side's processes.
    CpuAndMemory,
    /// The device that the database lives on, while operations ran.
    Device,
    /// The same, until the tree had settled.
    DeviceWithDrain,
    PerOperation,
}

impl ColumnGroup {
    /// All of them in the order of reports.
    pub const ALL: &[ColumnGroup] = <ColumnGroup as strum::VariantArray>::VARIANTS;

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

/// How tables show a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Column {
    pub group: ColumnGroup,
    /// The name in tables: that of the Small Datum posts where they have one.
    pub header: &'static str,
    /// The value in JSON is that of tables times this.
    pub scale: f64,
    /// The name in sentences.
    pub label: &'static str,
}

/// What is known of a metric beside its values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MetricDef {
    /// The name in JSON.
    pub name: &'static str,
    /// The unit in JSON: `1/s`, `us`, `ns`, `B` or `1`.
    pub unit: &'static str,
    pub direction: Direction,
    /// Absent where no table of columns shows it.
    pub column: Option<Column>,
    /// A level at the end of a block rather than a delta over it.
    pub is_level: bool,
    /// The smallest step in which it is counted, in its own unit.
    pub resolution: f64,
    /// Counts of a block below this are the harness's own.
    pub least: f64,
}

/// A cost per operation.
pub(crate) const fn per_op(name: &'static str, unit: &'static str) -> MetricDef {
    MetricDef {
        name,
        unit,
        direction: Direction::LowerIsBetter,
        column: None,
        is_level: false,
        resolution: 1.0,
        least: 0.0,
    }
}

/// A level.
pub(crate) const fn level(name: &'static str, unit: &'static str) -> MetricDef {
    MetricDef { is_level: true, ..per_op(name, unit) }
}

/// A throughput.
const fn rate(name: &'static str, unit: &'static str) -> MetricDef {
    MetricDef { direction: Direction::HigherIsBetter, ..per_op(name, unit) }
}

impl MetricDef {
    pub(crate) const fn in_steps_of(self, resolution: f64) -> MetricDef {
        MetricDef { resolution, ..self }
    }

    pub(crate) const fn telling_from(self, least: f64) -> MetricDef {
        MetricDef { least, ..self }
    }

    pub(crate) const fn column(
        self,
        group: ColumnGroup,
        header: &'static str,
        scale: f64,
        label: &'static str,
    ) -> MetricDef {
        MetricDef { column: Some(Column { group, header, scale, label }), ..self }
    }
}

pub(crate) const KB: f64 = 1024.0;
pub(crate) const MB: f64 = 1_048_576.0;
pub(crate) const GB: f64 = 1_073_741_824.0;

use ColumnGroup::{CpuAndMemory, Device, DeviceWithDrain, PerOperation, Throughput, Tree};

macro_rules! metrics {
    ($($(#[$doc:meta])* $name:ident => $def:expr,)+) => {
        /// What a number measures.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Metric {
            $($(#[$doc])* $name,)+
            /// A metric of the device that the database lives on.
            Device {
                what: DeviceMetric,
                /// Until the tree had settled, not only while operations ran.
                with_drain: bool,
            },
            /// A counter, per operation or as a level.
            Counter(Counter),
        }

        /// Those that are neither of the device nor counters, in the order of reports.
        const OWN: &[(Metric, MetricDef)] = &[$((Metric::$name, $def),)+];
    };
}

metrics! {
    /// Operations per second of wall time: what users see.
    OpsPerSecond => rate("ops_per_s", "1/s").column(Throughput, "ops_sec", 1.0, "rate"),
    /// Operations per second of wall time less the time runnable but not running (contention-adjusted).
    OpsPerSecondAdjusted => rate("ops_per_s_adjusted", "1/s"),
    BytesPerSecond => rate("bytes_per_s", "B/s").column(Throughput, "mb_sec", MB, "rate in bytes"),
    /// As db_bench counts: the time of all threads over their operations.
    ThreadMicrosPerOp => per_op("thread_us_per_op", "us").column(Throughput, "usec_op", 1.0, "time of an operation"),
    LatencyP50 => per_op("latency_us_p50", "us").column(Throughput, "p50", 1.0, "p50 latency"),
    LatencyP99 => per_op("latency_us_p99", "us").column(Throughput, "p99", 1.0, "p99 latency"),
    LatencyP999 => per_op("latency_us_p999", "us").column(Throughput, "p99.9", 1.0, "p99.9 latency"),
    LatencyP9999 => per_op("latency_us_p9999", "us").column(Throughput, "p99.99", 1.0, "p99.99 latency"),
    LatencyMax => per_op("latency_us_max", "us").column(Throughput, "pmax", 1.0, "largest latency"),
    /// Operations per second of the time until the tree had settled.
    OpsPerSecondDrained => rate("ops_per_s_drained", "1/s").column(Throughput, "ops_dr", 1.0, "drained rate"),
    DrainSeconds => per_op("drain_s", "s").column(Throughput, "drain_s", 1.0, "drain time"),
    /// Operations per second that are reached in half of the seconds.
    RateIn50Percent => rate("ops_per_s_in_50_percent", "1/s").column(Throughput, "r50", 1.0, "rate in half of the seconds"),
    RateIn95Percent => rate("ops_per_s_in_95_percent", "1/s").column(Throughput, "r95", 1.0, "rate in 95 % of the seconds"),
    RateIn99Percent => rate("ops_per_s_in_99_percent", "1/s").column(Throughput, "r99", 1.0, "rate in 99 % of the seconds"),
    /// The same of means over ten seconds.
    RateIn50PercentOfTen => rate("ops_per_s_in_50_percent_of_10_s", "1/s")
        .column(Throughput, "r50/10", 1.0, "rate in 50 % of ten seconds"),
    RateIn95PercentOfTen => rate("ops_per_s_in_95_percent_of_10_s", "1/s")
        .column(Throughput, "r95/10", 1.0, "rate in 95 % of ten seconds"),
    RateIn99PercentOfTen => rate("ops_per_s_in_99_percent_of_10_s", "1/s")
        .column(Throughput, "r99/10", 1.0, "rate in 99 % of ten seconds"),
    LsmBytes => per_op("lsm_bytes", "B").column(Tree, "lsm_sz", GB, "size of the tree"),
    BlobBytes => per_op("blob_bytes", "B").column(Tree, "blob_sz", GB, "size of blob files"),
    CompactionWriteBytes => per_op("compaction_write_bytes", "B")
        .column(Tree, "c_wgb", GB, "bytes written by compaction"),
    WriteAmplification => per_op("write_amplification", "1").column(Tree, "w_amp", 1.0, "write amplification"),
    CompactionWriteBytesPerSecond => per_op("compaction_write_bytes_per_s", "B/s")
        .column(Tree, "c_mbps", MB, "compaction write rate"),
    CompactionSeconds => per_op("compaction_s", "s").column(Tree, "c_wsecs", 1.0, "compaction time"),
    CompactionCpuSeconds => per_op("compaction_cpu_s", "s").column(Tree, "c_csecs", 1.0, "compaction CPU"),
    BlobReadBytes => per_op("blob_read_bytes", "B").column(Tree, "b_rgb", GB, "bytes read from blob files"),
    BlobWriteBytes => per_op("blob_write_bytes", "B").column(Tree, "b_wgb", GB, "bytes written to blob files"),
    UptimeSeconds => per_op("uptime_s", "s").column(Tree, "uptime", 1.0, "uptime"),
    StallPercent => per_op("stall_percent", "%").column(Tree, "stall%", 1.0, "stalled time"),
    Stalls => per_op("stalls", "1").column(Tree, "Nstall", 1.0, "stalls"),
    /// CPU of compactions over their time: a compaction that waits for the device has little.
    CompactionCpuShare => rate("compaction_cpu_share", "1").column(Tree, "c_cpu/w", 1.0, "compaction CPU over wall"),
    UserCpuSeconds => per_op("user_cpu_s", "s").column(CpuAndMemory, "u_cpu", 1000.0, "user CPU"),
    SystemCpuSeconds => per_op("system_cpu_s", "s").column(CpuAndMemory, "s_cpu", 1000.0, "system CPU"),
    DatabaseBytes => per_op("database_bytes", "B").column(CpuAndMemory, "db_sz", GB, "size of the database"),
    CacheHitPercent => rate("cache_hit_percent", "%")
        .column(CpuAndMemory, "hit%", 1.0, "pages found in the server's cache"),
    /// Share of the host's CPU time that others took: of the measuring, not of what is measured.
    OtherCpuPercent => per_op("other_cpu_percent", "%")
        .column(CpuAndMemory, "others%", 1.0, "CPU of the host that others took"),
    /// The part of `other_cpu_percent` that other guests of the hypervisor took.
    StolenCpuPercent => per_op("stolen_cpu_percent", "%"),
    /// CPU of the whole process of the subject per operation, in microseconds.
    CpuMicrosPerOp => per_op("cpu_us_per_op", "us").column(PerOperation, "cpu_us", 1.0, "CPU/op"),
    CpuMicrosPerOpWithDrain => per_op("cpu_us_per_op_with_drain", "us")
        .column(PerOperation, "cpu_us+d", 1.0, "CPU/op with the drain"),
    DiskReadsPerOpWithDrain => per_op("disk_reads_per_op_with_drain", "1")
        .column(PerOperation, "rd_op+d", 1.0, "device reads/op with the drain"),
    DiskWritesPerOpWithDrain => per_op("disk_writes_per_op_with_drain", "1")
        .column(PerOperation, "wr_op+d", 1.0, "device writes/op with the drain"),
    /// What Small Datum calls cpu/o for sysbench: in tables for spreadsheets alone, for it compares only on hosts with as
    /// many CPUs. The server's own CPU is `cpu_us_per_op`.
    HostCpuPercentSecondsPerOp => per_op("host_cpu_percent_s_per_op", "% s"),
}

macro_rules! device_metrics {
    ($($name:ident => $metric:literal, $unit:literal, $header:literal, $scale:expr, $label:literal;)+) => {
        /// What is known of the device over a trial, in the order of iostat.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum DeviceMetric {
            $(#[doc = $label] $name,)+
        }

        impl DeviceMetric {
            const ALL: &[DeviceMetric] = &[$(DeviceMetric::$name,)+];

            fn def(self, with_drain: bool) -> &'static MetricDef {
                const WITHOUT: &[MetricDef] = &[$(per_op($metric, $unit).column(Device, $header, $scale, $label),)+];
                const WITH: &[MetricDef] = &[$(
                    per_op(concat!($metric, "_with_drain"), $unit).column(
                        DeviceWithDrain,
                        concat!($header, "+d"),
                        $scale,
                        concat!($label, " with the drain"),
                    ),
                )+];
                &(if with_drain { WITH } else { WITHOUT })[self as usize]
            }
        }
    };
}

device_metrics! {
    Seconds => "device_s", "s", "c", 1.0, "time that the device was read for";
    ReadsPerSecond => "disk_reads_per_s", "1/s", "rps", 1.0, "device read requests";
    ReadBytesPerSecond => "disk_read_bytes_per_s", "B/s", "rmbps", MB, "device read rate";
    ReadsMergedPerSecond => "disk_reads_merged_per_s", "1/s", "rrqmps", 1.0, "merged device reads";
    ReadMicrosMean => "disk_read_us_mean", "us", "rawait", 1000.0, "device read wait";
    ReadBytesMean => "disk_read_bytes_mean", "B", "rareqsz", KB, "device read size";
    WritesPerSecond => "disk_writes_per_s", "1/s", "wps", 1.0, "device write requests";
    WriteBytesPerSecond => "disk_write_bytes_per_s", "B/s", "wmbps", MB, "device write rate";
    WritesMergedPerSecond => "disk_writes_merged_per_s", "1/s", "wrqmps", 1.0, "merged device writes";
    WriteMicrosMean => "disk_write_us_mean", "us", "wawait", 1000.0, "device write wait";
    WriteBytesMean => "disk_write_bytes_mean", "B", "wareqsz", KB, "device write size";
}

impl Metric {
    /// Every metric of the catalogue.
    pub fn all() -> impl Iterator<Item = Metric> {
        let device = [false, true].into_iter().flat_map(|with_drain| {
            DeviceMetric::ALL.iter().map(move |what| Metric::Device { what: *what, with_drain })
        });
        OWN.iter().map(|(metric, _)| *metric).chain(device).chain(Counter::ALL.map(Metric::Counter))
    }

    /// Those that tables have a column for, in the order of reports: by group, the rate first.
    pub fn columns() -> Vec<Metric> {
        let of_group = |group| {
            Metric::all().filter(move |metric| metric.column().is_some_and(|column| column.group == group))
        };
        ColumnGroup::ALL.iter().copied().flat_map(of_group).collect()
    }

    /// The metric of this name in JSON.
    pub fn named(name: &str) -> Option<Metric> {
        Metric::all().find(|metric| metric.name() == name)
    }

    fn def(self) -> &'static MetricDef {
        match self {
            Metric::Counter(counter) => counter.def(),
            Metric::Device { what, with_drain } => what.def(with_drain),
            own => OWN.iter().find(|(metric, _)| *metric == own).map_or(&OWN[0].1, |(_, def)| def),
        }
    }

    /// The name in SQL and JSON.
    pub fn name(self) -> &'static str {
        self.def().name
    }

    /// The unit of a value: `1/s`, `us`, `ns`, `B` or `1`.
    pub fn unit(self) -> &'static str {
        self.def().unit
    }

    /// Which way is better.
    pub fn direction(self) -> Direction {
        self.def().direction
    }

    /// How tables show it; absent where none does.
    pub fn column(self) -> Option<&'static Column> {
        self.def().column.as_ref()
    }

    /// What stands over its column: the name that Small Datum gives it, else its own.
    pub fn header(self) -> &'static str {
        match self {
            Metric::HostCpuPercentSecondsPerOp => "cpu/o",
            _ => self.column().map_or(self.name(), |column| column.header),
        }
    }

    /// A value in JSON is that of tables times this.
    pub fn scale(self) -> f64 {
        self.column().map_or(1.0, |column| column.scale)
    }

    /// The name in sentences.
    pub fn label(self) -> &'static str {
        self.column().map_or(self.name(), |column| column.label)
    }

    /// Whether it is a throughput of the step that a verdict can rest on.
    pub fn is_rate(self) -> bool {
        matches!(self, Metric::OpsPerSecond | Metric::OpsPerSecondAdjusted)
    }

    /// The same with what happened until the tree had settled; absent where there is no such metric.
    pub fn with_drain(self) -> Option<Metric> {
        match self {
            Metric::Device { what, with_drain: false } => Some(Metric::Device { what, with_drain: true }),
            Metric::CpuMicrosPerOp => Some(Metric::CpuMicrosPerOpWithDrain),
            Metric::Counter(Counter::DiskReads) => Some(Metric::DiskReadsPerOpWithDrain),
            Metric::Counter(Counter::DiskWrites) => Some(Metric::DiskWritesPerOpWithDrain),
            _ => None,
        }
    }

    /// The unit of values in tables, after scaling; empty where it is 1.
    pub fn table_unit(self) -> &'static str {
        match (self.unit(), self.scale()) {
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

/// By its name.
impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// By its name, which must be one of the catalogue.
impl<'de> Deserialize<'de> for Metric {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Metric, D::Error> {
        let name = String::deserialize(deserializer)?;
        Metric::named(&name).ok_or_else(|| serde::de::Error::custom(format!("no metric is called `{name}`")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_metrics_share_a_name_or_a_header_and_each_is_found_by_its_name() {
        let all: Vec<Metric> = Metric::all().collect();
        let names: BTreeSet<&str> = all.iter().map(|metric| metric.name()).collect();
        let headers: BTreeSet<&str> = all.iter().map(|metric| metric.header()).collect();
        assert_eq!((names.len(), headers.len()), (all.len(), all.len()));
        for metric in &all {
            assert_eq!(Metric::named(metric.name()), Some(*metric));
        }
        assert_eq!(Metric::columns()[0], Metric::OpsPerSecond);
        assert_eq!(Metric::named("dance"), None);
    }

    #[test]
    fn what_has_a_twin_with_the_drain_is_named_like_it() {
        for metric in Metric::all() {
            if let Some(twin) = metric.with_drain() {
                assert_eq!(twin.name(), format!("{}_with_drain", metric.name()));
                assert_eq!(twin.unit(), metric.unit());
            }
        }
    }
}
