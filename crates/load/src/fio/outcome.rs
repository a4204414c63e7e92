//! What fio says of the jobs of one block: operations, time, CPU, latency. The jobs of a step are one group.

use super::process::{Ended, last_words};
use super::{CoarseHistogram, FioError, Recorder, io_error};
use formats::fio_histograms;
use formats::fio_json::{self, FioJob};
use model::block::Second;
use model::counter::Counter;
use model::units::Nanos;
use model::wire::{BlockReport, StepSetup};
use model::workload::Operation;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The result of one block.
pub(super) struct Outcome {
    requests: u64,
    wall: Nanos,
    user_cpu: Nanos,
    system_cpu: Nanos,
    /// How many requests, or syncs where the jobs sync, had about this latency in nanoseconds.
    latency: BTreeMap<u64, u64>,
    syncs: bool,
}

impl Outcome {
    /// # Errors
    /// What it printed is none of fio's JSON, has no job in it, or says that the job failed.
    pub(super) fn of(ended: &Ended, setup: &StepSetup) -> Result<Outcome, FioError> {
        let outputs = fio_json::parse(&ended.said)?;
        let said = || last_words(&ended.said, "");
        let job = outputs
            .first()
            .and_then(|output| output.jobs.first())
            .ok_or_else(|| FioError::NoResult(said()))?;
        if job.error != 0 {
            let cause = std::io::Error::from_raw_os_error(i32::try_from(job.error).unwrap_or(i32::MAX));
            return Err(FioError::Failed { how: format!("stopped its job ({cause})"), said: said() });
        }
        let requests: u64 = job.directions.iter().filter_map(|direction| direction.requests).sum();
        let runtime_ms = job.directions.iter().filter_map(|direction| direction.runtime_ms).max();
        let (1.., Some(runtime_ms @ 1..)) = (requests, runtime_ms) else {
            return Err(FioError::NoResult(said()));
        };
        let wall = Nanos::from_millis(runtime_ms);
        // The percentages are of the time of all jobs together; before fio 3 it is not said.
        let of_jobs = job.job_runtime_ms.map_or(wall.0 * u64::from(setup.threads), |ms| ms * 1_000_000);
        let cpu = |percent: Option<f64>| {
            let seconds = percent.unwrap_or(0.0) / 100.0 * of_jobs as f64 / 1e9;
            std::time::Duration::try_from_secs_f64(seconds.max(0.0)).map_or(Nanos(0), Nanos::from)
        };
        let syncs = syncs(setup);
        // The file is written in large requests; what counts is what is laid out.
        let requests = match &setup.operation {
            Operation::LayOutFile => setup.data.keys,
            _ => requests,
        };
        Ok(Outcome {
            requests,
            wall,
            user_cpu: cpu(job.user_cpu_percent),
            system_cpu: cpu(job.system_cpu_percent),
            latency: if syncs { job.sync.ns_bins.clone() } else { of_requests(job) },
            syncs,
        })
    }

    pub(super) fn report(&self, ended: &Ended, threads: u32) -> BlockReport {
        let cpu = self.user_cpu + self.system_cpu;
        let mut counters = ended.counters.clone();
        let micros = |time: Nanos| time.0 / 1000;
        counters.extend([
            (Counter::UserCpuMicros, micros(self.user_cpu)),
            (Counter::SystemCpuMicros, micros(self.system_cpu)),
        ]);
        counters.extend(ended.host_cpu(self.wall).map(|cpu| (Counter::HostCpuMicros, micros(cpu))));
        BlockReport {
            operations: self.requests,
            wall: self.wall,
            thread_cpu: vec![Nanos(cpu.0 / u64::from(threads)); threads as usize],
            process_cpu: cpu,
            counters,
            ..BlockReport::default()
        }
    }

    pub(super) fn latency(&self) -> Recorder {
        let mut recorder = Recorder::new();
        self.latency.iter().for_each(|(ns, count)| recorder.record_many(Nanos(*ns), *count));
        recorder
    }

    /// Each second, from the log. fio does not log what is left when its time is up: that is what all had less what was
    /// logged. Of jobs that sync, none: the log has the writes and not the syncs.
    pub(super) fn seconds(&self, log: &Path) -> Result<Vec<Second>, FioError> {
        let mut name = log.as_os_str().to_owned();
        name.push("_clat_hist.log");
        let file = Path::new(&name);
        let text = match fs::read_to_string(file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            read => read.map_err(io_error("read", file))?,
        };
        // Gone before the next block, whose log may be empty.
        let _ = fs::remove_file(file);
        if self.syncs {
            return Ok(Vec::new());
        }
        let mut seconds: BTreeMap<u64, BTreeMap<u64, u64>> = BTreeMap::new();
        let mut left = self.latency.clone();
        for interval in fio_histograms::parse(&text)? {
            // An interval ends some milliseconds after its second.
            let second = seconds.entry((interval.end_ms / 1000).saturating_sub(1)).or_default();
            for (ns, count) in interval.counts {
                *second.entry(ns).or_default() += count;
                if let Some(left) = left.get_mut(&ns) {
                    *left = left.saturating_sub(count);
                }
            }
        }
        if left.values().any(|count| *count > 0) {
            let last = seconds.keys().next_back().map_or(0, |last| last + 1);
            seconds.insert(last, left);
        }
        Ok(seconds.into_iter().map(|(second, counts)| summary(second, &counts)).collect())
    }
}

/// Whether the jobs sync their file, so that the sync is what is waited for.
fn syncs(setup: &StepSetup) -> bool {
    let Operation::Fio(job) = &setup.operation else { return false };
    let every = |name: &str| job.options.get(name).is_some_and(|number| number != "0");
    every("fsync") || every("fdatasync")
}

fn of_requests(job: &FioJob) -> BTreeMap<u64, u64> {
    let mut all = BTreeMap::new();
    for (ns, count) in job.directions.iter().flat_map(|direction| &direction.completion.ns_bins) {
        *all.entry(*ns).or_default() += count;
    }
    all
}

fn summary(second: u64, counts: &BTreeMap<u64, u64>) -> Second {
    let mut histogram = CoarseHistogram::new();
    counts.iter().for_each(|(ns, count)| histogram.add(Nanos(*ns), *count));
    let max = counts.iter().rfind(|(_, count)| **count > 0).map_or(0, |(ns, _)| *ns);
    Second {
        second: u32::try_from(second).unwrap_or(u32::MAX),
        operations: histogram.count(),
        p50: histogram.quantile(0.5),
        p99: histogram.quantile(0.99),
        max: Nanos(max),
    }
}
