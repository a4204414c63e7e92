//! One trial as numbers: every column of it in base units. What was not measured is absent, never zero.

use super::columns::{COLUMNS, Column, OTHERS, POSTS_CPU};
use model::block::{Block, DRAINED, Latency, MEASURED, Outcome, Side, TrialKey};
use model::counter::Counter;
use model::host::Host;
use model::plan::Plan;
use model::record::RunRecord;
use model::workload::Step;
use std::collections::BTreeMap;

/// The numbers of one trial, or the means of several.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Values {
    /// By metric, in base units.
    pub columns: BTreeMap<&'static str, f64>,
    /// Tickers of the engine per operation, by the engine's own names.
    pub tickers: BTreeMap<String, f64>,
    /// Operations that were measured.
    pub operations: u64,
    /// Operations whose latency was measured.
    pub latency_count: u64,
}

impl Values {
    /// The value of a metric.
    pub fn get(&self, metric: &str) -> Option<f64> {
        self.columns.get(metric).copied()
    }

    pub(super) fn set(&mut self, metric: &'static str, value: Option<f64>) {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            self.columns.insert(metric, value);
        }
    }

    /// The arithmetic mean of each metric over the trials that have it.
    pub(super) fn mean<'a>(trials: impl Iterator<Item = &'a Values> + Clone) -> Values {
        let mean = |values: Vec<f64>| analysis::student::mean(&values);
        let columns = COLUMNS.iter().chain([&POSTS_CPU]).filter_map(|column: &Column| {
            let values = trials.clone().filter_map(|values| values.get(column.metric)).collect();
            Some((column.metric, mean(values)?))
        });
        let mut tickers: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for (name, value) in trials.clone().flat_map(|values| &values.tickers) {
            tickers.entry(name.clone()).or_default().push(*value);
        }
        Values {
            columns: columns.collect(),
            tickers: tickers.into_iter().filter_map(|(name, values)| Some((name, mean(values)?))).collect(),
            operations: trials.clone().map(|values| values.operations).sum(),
            latency_count: trials.map(|values| values.latency_count).sum(),
        }
    }
}

/// What a trial that is done left in the record.
pub(super) struct TrialData<'a> {
    pub(super) key: &'a TrialKey,
    measured: Option<&'a Block>,
    drained: Option<&'a Block>,
    latency: Option<&'a Latency>,
}

impl TrialData<'_> {
    /// Wall time of all that was measured, in seconds.
    pub(super) fn seconds(&self) -> f64 {
        [self.measured, self.drained].into_iter().flatten().map(|block| block.wall.as_secs_f64()).sum()
    }

    /// Operations with an error or a wrong answer.
    pub(super) fn failed_operations(&self) -> u64 {
        self.measured.map_or(0, |block| block.failed_operations)
    }

    /// Operations that were measured.
    pub(super) fn operations(&self) -> Option<f64> {
        self.measured.map(|block| block.operations as f64).filter(|operations| *operations > 0.0)
    }
}

/// The trials that are done, in the order of their keys. What a failed trial measured before it failed does not
/// count.
pub(super) fn done_trials(record: &RunRecord) -> Vec<TrialData<'_>> {
    let blocks: BTreeMap<(&TrialKey, u32), &Block> =
        record.blocks.iter().map(|block| ((&block.trial, block.cycle), block)).collect();
    let done = record.trials.iter().filter(|ended| ended.outcome == Outcome::Done);
    let mut trials: Vec<TrialData<'_>> = done
        .map(|ended| TrialData {
            key: &ended.trial,
            measured: blocks.get(&(&ended.trial, MEASURED)).copied(),
            drained: blocks.get(&(&ended.trial, DRAINED)).copied(),
            latency: ended.latency.as_ref(),
        })
        .collect();
    trials.sort_by(|left, right| left.key.cmp(right.key));
    trials
}

/// Processes, and hosts, count their CPU in ticks of 10 ms, which say nothing of a shorter trial.
const LEAST_SECONDS_OF_OTHERS: f64 = 1.0;

/// Everything that blocks and latency say of a trial; what the engine says is added by [`super::engine`].
pub(super) fn values(trial: &TrialData<'_>, step: &Step, plan: &Plan, host: &Host) -> Values {
    let mut values = Values::default();
    if let Some(measured) = trial.measured {
        values.operations = measured.operations;
        throughput(&mut values, measured, step, plan);
        device(&mut values, &Work { blocks: vec![measured] }, &MEASURED_DEVICE);
        per_operation(&mut values, measured);
        if plan.workload.is_sql() {
            values.set(POSTS_CPU.metric, posts_cpu(measured, host));
        }
    }
    if let Some(latency) = trial.latency.filter(|latency| latency.count > 0) {
        values.latency_count = latency.count;
        values.set("latency_us_p50", Some(latency.p50.as_micros_f64()));
        values.set("latency_us_p99", Some(latency.p99.as_micros_f64()));
        values.set("latency_us_p999", Some(latency.p999.as_micros_f64()));
        values.set("latency_us_p9999", latency.p9999.map(model::units::Nanos::as_micros_f64));
        values.set("latency_us_max", Some(latency.max.as_micros_f64()));
    }
    if let Some(drained) = trial.drained {
        values.set("drain_s", Some(drained.wall.as_secs_f64()));
    }
    let whole = Work { blocks: [trial.measured, trial.drained].into_iter().flatten().collect() };
    // The posts' CPU and memory are of the whole process, its waiting for compaction included.
    values.set("user_cpu_s", whole.count(Counter::UserCpuMicros).map(|micros| micros / 1e6));
    values.set("system_cpu_s", whole.count(Counter::SystemCpuMicros).map(|micros| micros / 1e6));
    values.set("resident_peak_bytes", whole.level(Counter::ResidentPeakBytes));
    let cpu_s = whole.seconds() * f64::from(host.counted_cpus());
    let others = whole.count(Counter::OtherCpuMicros).filter(|_| whole.seconds() >= LEAST_SECONDS_OF_OTHERS);
    values.set(OTHERS, others.map(|micros| micros / 1e4 / cpu_s));
    if trial.drained.is_some() {
        with_drain(&mut values, trial, &whole, step);
    }
    values
}

fn throughput(values: &mut Values, measured: &Block, step: &Step, plan: &Plan) {
    let (operations, wall) = (measured.operations as f64, measured.wall.as_secs_f64());
    if operations <= 0.0 || wall <= 0.0 {
        return;
    }
    let rate = operations / wall;
    let bytes = step.bytes_per_operation(&plan.workload.data) as f64;
    let threads = f64::from(measured.foreground_threads.max(1));
    values.set("ops_per_s", Some(rate));
    values.set("bytes_per_s", (bytes > 0.0).then_some(rate * bytes));
    // As db_bench counts: the time of all threads over their operations.
    values.set("thread_us_per_op", Some(1e6 * threads / rate));
}

fn per_operation(values: &mut Values, measured: &Block) {
    let operations = measured.operations as f64;
    if operations <= 0.0 {
        return;
    }
    values.set("cpu_us_per_op", measured.process_cpu.map(|cpu| cpu.as_micros_f64() / operations));
    for counter in Counter::ALL.into_iter().filter(|counter| !counter.is_level()) {
        let column = super::columns::column_of(counter.metric_name());
        let count = measured.counters.get(&counter).map(|count| *count as f64 / operations);
        if let Some(column) = column {
            values.set(column.metric, count);
        }
    }
}

/// The posts' cpu/o of sysbench (classic benchmarks, 1.7): vmstat's us + sy, in percent of the whole host, over queries
/// per second. Absent where the host was not read, as where the server is not on it, and in a trial that is too short for
/// ticks.
fn posts_cpu(measured: &Block, host: &Host) -> Option<f64> {
    let seconds = measured.wall.as_secs_f64();
    let busy_s = *measured.counters.get(&Counter::HostCpuMicros)? as f64 / 1e6;
    let percent = 100.0 * busy_s / (seconds * f64::from(host.counted_cpus()));
    let queries_per_s = measured.operations as f64 / seconds;
    (seconds >= LEAST_SECONDS_OF_OTHERS && queries_per_s > 0.0).then(|| percent / queries_per_s)
}

fn with_drain(values: &mut Values, trial: &TrialData<'_>, whole: &Work<'_>, step: &Step) {
    device(values, whole, &DEVICE_WITH_DRAIN);
    let Some(operations) = trial.operations() else { return };
    let per_operation = |count: Option<f64>| count.map(|count| count / operations);
    values.set("cpu_us_per_op_with_drain", per_operation(whole.cpu_us()));
    values.set("disk_reads_per_op_with_drain", per_operation(whole.count(Counter::DiskReads)));
    values.set("disk_writes_per_op_with_drain", per_operation(whole.count(Counter::DiskWrites)));
    // A rate of reads over a time in which nothing was read would say nothing.
    if step.operation.writes() && whole.seconds() > 0.0 {
        values.set("ops_per_s_drained", Some(operations / whole.seconds()));
    }
}

/// Blocks taken together.
struct Work<'a> {
    blocks: Vec<&'a Block>,
}

impl Work<'_> {
    fn seconds(&self) -> f64 {
        self.blocks.iter().map(|block| block.wall.as_secs_f64()).sum()
    }

    /// Absent where it is not known of a block.
    fn cpu_us(&self) -> Option<f64> {
        self.blocks.iter().map(|block| block.process_cpu.map(model::units::Nanos::as_micros_f64)).sum()
    }

    /// The sum of a counter; absent where a block has not got it.
    fn count(&self, counter: Counter) -> Option<f64> {
        let counts = self.blocks.iter().map(|block| block.counters.get(&counter).map(|count| *count as f64));
        counts.sum::<Option<f64>>().filter(|_| !self.blocks.is_empty())
    }

    /// The largest reading of a level.
    fn level(&self, counter: Counter) -> Option<f64> {
        let levels = self.blocks.iter().filter_map(|block| block.counters.get(&counter));
        levels.max().map(|level| *level as f64)
    }
}

/// The metrics of the device over some blocks.
struct DeviceMetrics {
    seconds: &'static str,
    reads: WayMetrics,
    writes: WayMetrics,
}

/// Those of one way, in the order of iostat.
struct WayMetrics {
    per_s: &'static str,
    bytes_per_s: &'static str,
    merged_per_s: &'static str,
    us_mean: &'static str,
    bytes_mean: &'static str,
}

const MEASURED_DEVICE: DeviceMetrics = DeviceMetrics {
    seconds: "device_s",
    reads: WayMetrics {
        per_s: "disk_reads_per_s",
        bytes_per_s: "disk_read_bytes_per_s",
        merged_per_s: "disk_reads_merged_per_s",
        us_mean: "disk_read_us_mean",
        bytes_mean: "disk_read_bytes_mean",
    },
    writes: WayMetrics {
        per_s: "disk_writes_per_s",
        bytes_per_s: "disk_write_bytes_per_s",
        merged_per_s: "disk_writes_merged_per_s",
        us_mean: "disk_write_us_mean",
        bytes_mean: "disk_write_bytes_mean",
    },
};

const DEVICE_WITH_DRAIN: DeviceMetrics = DeviceMetrics {
    seconds: "device_s_with_drain",
    reads: WayMetrics {
        per_s: "disk_reads_per_s_with_drain",
        bytes_per_s: "disk_read_bytes_per_s_with_drain",
        merged_per_s: "disk_reads_merged_per_s_with_drain",
        us_mean: "disk_read_us_mean_with_drain",
        bytes_mean: "disk_read_bytes_mean_with_drain",
    },
    writes: WayMetrics {
        per_s: "disk_writes_per_s_with_drain",
        bytes_per_s: "disk_write_bytes_per_s_with_drain",
        merged_per_s: "disk_writes_merged_per_s_with_drain",
        us_mean: "disk_write_us_mean_with_drain",
        bytes_mean: "disk_write_bytes_mean_with_drain",
    },
};

/// The counters of one way.
struct WayCounters {
    count: Counter,
    bytes: Counter,
    merged: Counter,
    micros: Counter,
}

const READS: WayCounters = WayCounters {
    count: Counter::DiskReads,
    bytes: Counter::DiskReadBytes,
    merged: Counter::DiskReadsMerged,
    micros: Counter::DiskReadMicros,
};

const WRITES: WayCounters = WayCounters {
    count: Counter::DiskWrites,
    bytes: Counter::DiskWriteBytes,
    merged: Counter::DiskWritesMerged,
    micros: Counter::DiskWriteMicros,
};

fn device(values: &mut Values, work: &Work<'_>, metrics: &DeviceMetrics) {
    let seconds = work.seconds();
    if seconds <= 0.0 {
        return;
    }
    let mut known = false;
    for (counters, names) in [(READS, &metrics.reads), (WRITES, &metrics.writes)] {
        let count = work.count(counters.count);
        known |= count.is_some();
        let per_s = |counter: Counter| work.count(counter).map(|count| count / seconds);
        values.set(names.per_s, per_s(counters.count));
        values.set(names.bytes_per_s, per_s(counters.bytes));
        values.set(names.merged_per_s, per_s(counters.merged));
        // Without a request there is no size and no wait.
        if let Some(count) = count.filter(|count| *count > 0.0) {
            values.set(names.us_mean, work.count(counters.micros).map(|micros| micros / count));
            values.set(names.bytes_mean, work.count(counters.bytes).map(|bytes| bytes / count));
        }
    }
    if known {
        values.set(metrics.seconds, Some(seconds));
    }
}

/// The values of every trial that is done, by step, side and round.
pub(super) type Cells = BTreeMap<(String, Side), BTreeMap<u32, Values>>;

#[cfg(test)]
mod tests {
    use super::*;
    use model::units::Nanos;

    #[test]
    fn cpu_per_query_of_the_posts_is_percent_of_the_host_over_queries_per_second() {
        let host = Host { cpus: 8, ..Host::default() };
        let block = |seconds: u64, busy_us: Option<u64>| Block {
            trial: TrialKey { launch: 1, step: "point-query".to_owned(), side: 0 },
            image: 1,
            cycle: MEASURED,
            position: 0,
            started_at_us: None,
            operations: 20_000,
            failed_operations: 0,
            wall: Nanos::from_secs(seconds),
            run_delay: Nanos(0),
            foreground_cpu: Nanos(0),
            foreground_threads: 1,
            process_cpu: None,
            counters: busy_us.map(|busy_us| (Counter::HostCpuMicros, busy_us)).into_iter().collect(),
        };
        // 8 s of CPU in 2 s on 8 CPUs are 50 %; 10,000 queries a second.
        let found = posts_cpu(&block(2, Some(8_000_000)), &host).unwrap();
        assert!((found - 0.005).abs() < 1e-12, "{found}");
        let withheld = Host { cpus: 2, cpus_online: Some(8), ..Host::default() };
        assert_eq!(posts_cpu(&block(2, Some(8_000_000)), &withheld), Some(found), "ticks are of all CPUs");
        assert_eq!(posts_cpu(&block(2, None), &host), None);
        assert_eq!(posts_cpu(&block(0, Some(10_000)), &host), None);
    }
}
