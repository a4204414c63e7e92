//! One trial as numbers: every metric of it in base units. What was not measured is absent, never zero. The engine says of
//! itself what nobody else sees: RocksDB's own statistics before and after a trial, as columns and tickers; of a SQL server
//! the size of its database and how often it found a page in its cache.

use super::seconds;
use crate::comparison::{Values, depths, facts};
use formats::rocksdb_stats::{self, RocksDbStats};
use formats::{rocksdb_tickers, server_status};
use model::block::{Block, BlockKind, Latency, Outcome, Second, Side, TrialKey};
use model::counter::Counter;
use model::event::Moment;
use model::host::Host;
use model::metric::{DeviceMetric, Metric};
use model::plan::Plan;
use model::record::{RunRecord, RunWarning};
use model::warning::{UnreadTexts, Warning};
use model::wire::EngineText;
use model::workload::{Operation, Step};
use std::collections::BTreeMap;

/// What a trial that is done left in the record.
pub(super) struct TrialData<'a> {
    pub(super) key: &'a TrialKey,
    pub(super) measured: Option<&'a Block>,
    drained: Option<&'a Block>,
    latency: Option<&'a Latency>,
    /// Empty where none were kept.
    seconds: &'a [Second],
}

impl TrialData<'_> {
    /// Wall time of all that was measured, in seconds.
    pub(super) fn seconds(&self) -> f64 {
        [self.measured, self.drained].into_iter().flatten().map(|block| block.wall.as_secs_f64()).sum()
    }

    /// Operations of each whole second; absent if its seconds were not kept.
    pub(super) fn rates(&self) -> Option<Vec<f64>> {
        self.measured.filter(|_| !self.seconds.is_empty()).map(|block| seconds::rates(self.seconds, block))
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
    let blocks: BTreeMap<(&TrialKey, BlockKind), &Block> =
        record.blocks.iter().map(|block| ((&block.trial, block.kind), block)).collect();
    let done = record.trials.iter().filter(|ended| ended.outcome == Outcome::Done);
    let mut trials: Vec<TrialData<'_>> = done
        .map(|ended| TrialData {
            key: &ended.trial,
            measured: blocks.get(&(&ended.trial, BlockKind::Whole)).copied(),
            drained: blocks.get(&(&ended.trial, BlockKind::Drain)).copied(),
            latency: ended.latency.as_ref(),
            seconds: record.seconds.get(&ended.trial).map(Vec::as_slice).unwrap_or_default(),
        })
        .collect();
    trials.sort_by(|left, right| left.key.cmp(right.key));
    trials
}

/// Processes, and hosts, count their CPU in ticks of 10 ms, which say nothing of a shorter trial.
const LEAST_SECONDS_OF_OTHERS: f64 = 1.0;

/// Everything that blocks and latency say of a trial; what the engine says is added by [`Texts`].
fn values(trial: &TrialData<'_>, step: &Step, plan: &Plan, host: &Host) -> Values {
    let mut values = Values::default();
    if let Some(measured) = trial.measured {
        values.operations = measured.operations;
        throughput(&mut values, measured, step, plan);
        device(&mut values, &Work { blocks: vec![measured] }, false);
        per_operation(&mut values, measured);
        let level = |counter| measured.counters.get(&counter).map(|level| *level as f64);
        values.set(Metric::Counter(Counter::DirectoryBytes), level(Counter::DirectoryBytes));
        if let Some(rates) = trial.rates() {
            seconds::add(&mut values, &rates);
        }
        if plan.workload.is_fio() {
            values.set(Metric::Counter(Counter::HostCpuMicros), posts_cpu_per_io(measured, host));
        }
        if plan.workload.is_sql() {
            values.set(Metric::HostCpuPercentSecondsPerOp, posts_cpu(measured, host));
        }
    }
    if let Some(latency) = trial.latency.filter(|latency| latency.count > 0) {
        values.latency_count = latency.count;
        values.set(Metric::LatencyP50, Some(latency.p50.as_micros_f64()));
        values.set(Metric::LatencyP99, Some(latency.p99.as_micros_f64()));
        values.set(Metric::LatencyP999, Some(latency.p999.as_micros_f64()));
        values.set(Metric::LatencyP9999, latency.p9999.map(model::units::Nanos::as_micros_f64));
        values.set(Metric::LatencyMax, Some(latency.max.as_micros_f64()));
    }
    if let Some(drained) = trial.drained {
        values.set(Metric::DrainSeconds, Some(drained.wall.as_secs_f64()));
    }
    let whole = Work { blocks: [trial.measured, trial.drained].into_iter().flatten().collect() };
    // Small Datum's CPU and memory are of the whole process, its waiting for compaction included.
    values.set(Metric::UserCpuSeconds, whole.count(Counter::UserCpuMicros).map(|micros| micros / 1e6));
    values.set(Metric::SystemCpuSeconds, whole.count(Counter::SystemCpuMicros).map(|micros| micros / 1e6));
    values.set(Metric::Counter(Counter::ResidentPeakBytes), whole.level(Counter::ResidentPeakBytes));
    let cpu_s = whole.seconds() * f64::from(host.counted_cpus());
    if whole.seconds() >= LEAST_SECONDS_OF_OTHERS {
        let share = |counter| whole.count(counter).map(|micros| micros / 1e4 / cpu_s);
        values.set(Metric::OtherCpuPercent, share(Counter::OtherCpuMicros));
        values.set(Metric::StolenCpuPercent, share(Counter::StolenCpuMicros));
    }
    if trial.drained.is_some() {
        with_drain(&mut values, trial, &whole, step);
    }
    values
}

/// Of fio what the side's own requests have.
fn bytes_per_operation(measured: &Block, step: &Step, plan: &Plan) -> f64 {
    let of_side = plan.subjects.get(measured.trial.side);
    match (&step.operation, of_side) {
        (Operation::Fio(job), Some(subject)) => {
            let job = job.in_effect(&plan.workload.options, &subject.config);
            job.block.map_or(0.0, |block| block.0 as f64)
        }
        _ => step.bytes_per_operation(&plan.workload.data) as f64,
    }
}

fn throughput(values: &mut Values, measured: &Block, step: &Step, plan: &Plan) {
    let (operations, wall) = (measured.operations as f64, measured.wall.as_secs_f64());
    if operations <= 0.0 || wall <= 0.0 {
        return;
    }
    let rate = operations / wall;
    let bytes = bytes_per_operation(measured, step, plan);
    let threads = f64::from(measured.foreground_threads.max(1));
    values.set(Metric::OpsPerSecond, Some(rate));
    values.set(Metric::BytesPerSecond, (bytes > 0.0).then_some(rate * bytes));
    // As db_bench counts: the time of all threads over their operations.
    values.set(Metric::ThreadMicrosPerOp, Some(1e6 * threads / rate));
}

fn per_operation(values: &mut Values, measured: &Block) {
    let operations = measured.operations as f64;
    if operations <= 0.0 {
        return;
    }
    values.set(Metric::CpuMicrosPerOp, measured.process_cpu.map(|cpu| cpu.as_micros_f64() / operations));
    // The host's is of steps of fio alone, over the time of their jobs.
    let of_side = |counter: &Counter| !counter.is_level() && *counter != Counter::HostCpuMicros;
    for counter in Counter::ALL.into_iter().filter(of_side) {
        let metric = Metric::Counter(counter);
        if metric.column().is_some() {
            values.set(metric, measured.counters.get(&counter).map(|count| *count as f64 / operations));
        }
    }
}

/// Small Datum's cpu/o of sysbench (classic benchmarks, 1.7): vmstat's us + sy, in percent of the whole host, over queries
/// per second. Absent where the host was not read, as where the server is not on it, and in a trial that is too short for
/// ticks.
fn posts_cpu(measured: &Block, host: &Host) -> Option<f64> {
    let (seconds, percent) = (measured.wall.as_secs_f64(), host_cpu_percent(measured, host)?);
    let queries_per_s = measured.operations as f64 / seconds;
    (seconds >= LEAST_SECONDS_OF_OTHERS && queries_per_s > 0.0).then(|| percent / queries_per_s)
}

/// Small Datum's CPU per IO of fio (classic benchmarks, 5).
fn posts_cpu_per_io(measured: &Block, host: &Host) -> Option<f64> {
    let seconds = measured.wall.as_secs_f64();
    let percent = host_cpu_percent(measured, host)?;
    let requests_per_s = measured.operations as f64 / seconds;
    (seconds >= LEAST_SECONDS_OF_OTHERS && requests_per_s > 0.0)
        .then(|| depths::cpu_us_per_io(percent, host.counted_cpus(), requests_per_s))
}

/// What vmstat calls us + sy, in percent of the whole host.
fn host_cpu_percent(measured: &Block, host: &Host) -> Option<f64> {
    let busy_s = *measured.counters.get(&Counter::HostCpuMicros)? as f64 / 1e6;
    Some(100.0 * busy_s / (measured.wall.as_secs_f64() * f64::from(host.counted_cpus())))
}

fn with_drain(values: &mut Values, trial: &TrialData<'_>, whole: &Work<'_>, step: &Step) {
    device(values, whole, true);
    let Some(operations) = trial.operations() else { return };
    let per_operation = |count: Option<f64>| count.map(|count| count / operations);
    values.set(Metric::CpuMicrosPerOpWithDrain, per_operation(whole.cpu_us()));
    values.set(Metric::DiskReadsPerOpWithDrain, per_operation(whole.count(Counter::DiskReads)));
    values.set(Metric::DiskWritesPerOpWithDrain, per_operation(whole.count(Counter::DiskWrites)));
    // A rate of reads over a time in which nothing was read would say nothing.
    if step.operation.writes() && whole.seconds() > 0.0 {
        values.set(Metric::OpsPerSecondDrained, Some(operations / whole.seconds()));
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

/// What is known of the device in one direction.
struct Direction {
    count: Counter,
    bytes: Counter,
    merged: Counter,
    micros: Counter,
    per_s: DeviceMetric,
    bytes_per_s: DeviceMetric,
    merged_per_s: DeviceMetric,
    us_mean: DeviceMetric,
    bytes_mean: DeviceMetric,
}

const DIRECTIONS: [Direction; 2] = [
    Direction {
        count: Counter::DiskReads,
        bytes: Counter::DiskReadBytes,
        merged: Counter::DiskReadsMerged,
        micros: Counter::DiskReadMicros,
        per_s: DeviceMetric::ReadsPerSecond,
        bytes_per_s: DeviceMetric::ReadBytesPerSecond,
        merged_per_s: DeviceMetric::ReadsMergedPerSecond,
        us_mean: DeviceMetric::ReadMicrosMean,
        bytes_mean: DeviceMetric::ReadBytesMean,
    },
    Direction {
        count: Counter::DiskWrites,
        bytes: Counter::DiskWriteBytes,
        merged: Counter::DiskWritesMerged,
        micros: Counter::DiskWriteMicros,
        per_s: DeviceMetric::WritesPerSecond,
        bytes_per_s: DeviceMetric::WriteBytesPerSecond,
        merged_per_s: DeviceMetric::WritesMergedPerSecond,
        us_mean: DeviceMetric::WriteMicrosMean,
        bytes_mean: DeviceMetric::WriteBytesMean,
    },
];

fn device(values: &mut Values, work: &Work<'_>, with_drain: bool) {
    let seconds = work.seconds();
    if seconds <= 0.0 {
        return;
    }
    let mut set = |what, value| values.set(Metric::Device { what, with_drain }, value);
    for of in &DIRECTIONS {
        let count = work.count(of.count);
        let per_s = |counter: Counter| work.count(counter).map(|count| count / seconds);
        set(of.per_s, per_s(of.count));
        set(of.bytes_per_s, per_s(of.bytes));
        set(of.merged_per_s, per_s(of.merged));
        // Without a request there is no size and no wait.
        if let Some(count) = count.filter(|count| *count > 0.0) {
            set(of.us_mean, work.count(of.micros).map(|micros| micros / count));
            set(of.bytes_mean, work.count(of.bytes).map(|bytes| bytes / count));
        }
        set(DeviceMetric::Seconds, count.map(|_| seconds));
    }
}

/// The values of every trial that is done, by step, side and round.
pub(crate) type Cells = BTreeMap<(String, Side), BTreeMap<u32, Values>>;

/// The values of every trial that is done, and a warning for engine texts that could not be read.
pub(super) fn cells(record: &RunRecord, done: &[TrialData<'_>]) -> (Cells, Option<RunWarning>) {
    let texts = Texts::of(record);
    let mut cells = Cells::new();
    let mut unread: BTreeMap<Side, (u32, String)> = BTreeMap::new();
    for trial in done {
        let Some(step) = record.plan.workload.steps.iter().find(|step| step.name == trial.key.step) else {
            continue;
        };
        let mut values = values(trial, step, &record.plan, &record.host);
        for problem in texts.add(&mut values, trial) {
            let (count, _) = unread.entry(trial.key.side).or_insert((0_u32, problem.clone()));
            *count += 1;
        }
        let rounds = cells.entry((trial.key.step.clone(), trial.key.side)).or_default();
        rounds.insert(trial.key.launch, values);
    }
    let of_side =
        |(side, (count, first))| UnreadTexts { subject: facts::subject(record, side), count, first };
    let texts: Vec<UnreadTexts> = unread.into_iter().map(of_side).collect();
    let unread = (!texts.is_empty())
        .then_some(RunWarning { step: None, warning: Warning::EngineTextUnread { texts } });
    (cells, unread)
}

/// Mean over the rounds of one side, as far as they have a value.
pub(super) fn mean_of_side(
    cells: &Cells,
    step: &str,
    side: Side,
    value: &dyn Fn(&Values) -> Option<f64>,
) -> Option<f64> {
    let rounds = cells.get(&(step.to_owned(), side))?;
    analysis::student::mean(&rounds.values().filter_map(value).collect::<Vec<f64>>())
}

/// p99 is judged only with this many samples above it, in every trial (statistics 1.9, rule 19).
const SAMPLES_ABOVE_QUANTILE: f64 = 1000.0;
/// The mean size of fewer requests than this is that of a few odd ones.
const LEAST_REQUESTS: f64 = 100.0;

/// The value of a metric, where there is enough behind it to judge it.
pub(super) fn judged(values: &Values, metric: Metric) -> Option<f64> {
    let enough = match metric {
        Metric::LatencyP99 => 0.01 * values.latency_count as f64 >= SAMPLES_ABOVE_QUANTILE,
        Metric::Device { what: DeviceMetric::ReadBytesMean, with_drain } => {
            let of = |what| values.get(Metric::Device { what, with_drain });
            of(DeviceMetric::ReadsPerSecond)? * of(DeviceMetric::Seconds)? >= LEAST_REQUESTS
        }
        _ => true,
    };
    values.get(metric).filter(|_| enough)
}

/// The texts of a run, by trial, kind and moment.
struct Texts<'a> {
    by_trial: BTreeMap<(&'a TrialKey, &'static str, &'static str), &'a str>,
}

/// The text before a trial and the last one of it.
struct Pair<'a> {
    before: Option<&'a str>,
    last: &'a str,
}

impl<'a> Texts<'a> {
    /// Those of a record.
    fn of(record: &'a RunRecord) -> Texts<'a> {
        // What fio says is read while it is measured.
        let texts = record.engine_texts.iter().filter(|_| !record.plan.workload.is_fio());
        let by_trial = texts.map(|one| ((&one.trial, one.what.name(), one.moment.name()), one.text.as_str()));
        Texts { by_trial: by_trial.collect() }
    }

    /// Adds what the engine says of a trial; returns why texts could not be read.
    fn add(&self, values: &mut Values, trial: &TrialData<'_>) -> Vec<String> {
        let stats = self.pair(trial.key, EngineText::Stats).map(|pair| stats(&pair));
        let tickers = self.pair(trial.key, EngineText::Tickers).map(|pair| tickers(&pair));
        if let Some(pair) = self.pair(trial.key, EngineText::Status) {
            add_status(values, &pair);
        }
        let mut problems = Vec::new();
        match stats {
            Some(Ok(stats)) => add_stats(values, &stats),
            Some(Err(problem)) => problems.push(problem.to_string()),
            None => {}
        }
        match tickers {
            Some(Ok(tickers)) => {
                if let Some(operations) = trial.operations() {
                    let counted = tickers.counts.into_iter().filter(|(_, count)| *count > 0);
                    values.tickers = counted.map(|(name, count)| (name, count as f64 / operations)).collect();
                }
            }
            Some(Err(problem)) => problems.push(problem.to_string()),
            None => {}
        }
        problems
    }

    /// The last text of a trial: settled where it settles, for what its operations left behind belongs to them.
    fn pair(&self, trial: &TrialKey, what: EngineText) -> Option<Pair<'a>> {
        let text = |moment: Moment| self.by_trial.get(&(trial, what.name(), moment.name())).copied();
        let last = text(Moment::Settled).or_else(|| text(Moment::After))?;
        Some(Pair { before: text(Moment::Before), last })
    }
}

/// What happened between the texts.
fn stats(pair: &Pair<'_>) -> Result<RocksDbStats, formats::ParseError> {
    let last = rocksdb_stats::parse(pair.last)?;
    Ok(match pair.before {
        Some(before) => last.since(&rocksdb_stats::parse(before)?),
        None => last,
    })
}

fn add_status(values: &mut Values, pair: &Pair<'_>) {
    let last = server_status::parse(pair.last);
    values.set(Metric::DatabaseBytes, last.database_bytes().map(|bytes| bytes as f64));
    let before = pair.before.map(server_status::parse);
    values.set(Metric::CacheHitPercent, before.and_then(|before| last.hit_percent_since(&before)));
}

fn tickers(pair: &Pair<'_>) -> Result<rocksdb_tickers::Tickers, formats::ParseError> {
    let last = rocksdb_tickers::parse(pair.last)?;
    Ok(match pair.before {
        Some(before) => last.since(&rocksdb_tickers::parse(before)?),
        None => last,
    })
}

fn add_stats(values: &mut Values, stats: &RocksDbStats) {
    let count = |count: Option<u64>| count.map(|count| count as f64);
    values.set(Metric::LsmBytes, count(stats.lsm_bytes));
    values.set(Metric::BlobBytes, count(stats.blob_bytes));
    values.set(Metric::CompactionWriteBytes, count(stats.compaction_write_bytes));
    values.set(Metric::WriteAmplification, stats.write_amplification());
    values.set(Metric::CompactionWriteBytesPerSecond, stats.compaction_write_bytes_per_s);
    values.set(Metric::CompactionSeconds, stats.compaction_s);
    values.set(Metric::CompactionCpuSeconds, stats.compaction_cpu_s);
    values.set(Metric::BlobReadBytes, count(stats.blob_read_bytes));
    values.set(Metric::BlobWriteBytes, count(stats.blob_write_bytes));
    values.set(Metric::UptimeSeconds, stats.uptime_s);
    values.set(Metric::StallPercent, stats.stall_percent);
    values.set(Metric::Stalls, count(stats.stall_count()));
    let share = stats.compaction_cpu_s.zip(stats.compaction_s).map(|(cpu, wall)| cpu / wall);
    values.set(Metric::CompactionCpuShare, share);
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::units::Nanos;

    #[test]
    fn cpu_per_query_of_the_posts_is_percent_of_the_host_over_queries_per_second() {
        let host = Host { cpus: 8, ..Host::default() };
        let trial = TrialKey { launch: 1, step: "point-query".to_owned(), side: 0 };
        let block = |seconds: u64, busy_us: Option<u64>| Block {
            kind: BlockKind::Whole,
            counters: busy_us.map(|busy_us| (Counter::HostCpuMicros, busy_us)).into_iter().collect(),
            ..testing::block(trial.clone(), 20_000, Nanos::from_secs(seconds))
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
