//! What fio says of the jobs of one block: operations, time, CPU, latency. The jobs of a step are one group.

use super::process::{Ended, last_words};
use super::{CoarseHistogram, FioError, Recorder, io_error};
use formats::fio_histograms;
use formats::fio_json::{self, FioDirection, FioJob};
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

    /// How many requests the jobs did.
    pub(super) fn requests(&self) -> u64 {
        self.requests
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
    matches!(&setup.operation, Operation::Fio(job) if job.syncs())
}

fn of_requests(job: &FioJob) -> BTreeMap<u64, u64> {
    let mut all = BTreeMap::new();
    // Completions only, if this fio keeps no other bins.
    let bins = |direction: &'_ FioDirection| match direction.whole.ns_bins.is_empty() {
        true => direction.completion.ns_bins.clone(),
        false => direction.whole.ns_bins.clone(),
    };
    for (ns, count) in job.directions.iter().flat_map(bins) {
        *all.entry(ns).or_default() += count;
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

#[cfg(test)]
mod tests {
    use super::*;
    use model::config::Options;
    use model::counter::Counters;
    use model::workload::DataSet;
    use model::workload::fio::FioJob as Job;

    const OUTPUT: &str = r#"fio: note: both iodepth > 1 and synchronous I/O engine are selected
{ "fio version" : "fio-3.33", "jobs" : [ { "jobname" : "job", "error" : 0, "usr_cpu" : 5.0, "sys_cpu" : 20.0,
  "job_runtime" : 4000,
  "read" : { "io_bytes" : 12288, "total_ios" : 3, "runtime" : 2000,
             "clat_ns" : { "max" : 300, "bins" : { "100" : 2, "300" : 1 } } },
  "write" : { "io_bytes" : 4096, "total_ios" : 1, "runtime" : 1990,
              "clat_ns" : { "max" : 900, "bins" : { "900" : 1 } } },
  "sync" : { "total_ios" : 1, "lat_ns" : { "max" : 5000, "bins" : { "5000" : 1 } } } } ] }
"#;

    fn setup(options: &[(&str, &str)]) -> StepSetup {
        let options: Options =
            options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let job = Job { pattern: "randrw".to_owned(), depth: 1, block: None, options };
        let data = DataSet { keys: 9, key_bytes: 8, value_bytes: 4088, value_compressible_percent: 0 };
        StepSetup { threads: 2, ..StepSetup::plain(Operation::Fio(Box::new(job)), data, 1) }
    }

    fn of(said: &str, setup: &StepSetup) -> Result<(Outcome, Ended), FioError> {
        let ended = Ended::of_text(said);
        Ok((Outcome::of(&ended, setup)?, ended))
    }

    #[test]
    fn a_group_has_the_requests_of_both_directions_and_the_cpu_of_all_jobs() {
        let (outcome, ended) = of(OUTPUT, &setup(&[])).unwrap();
        let report = outcome.report(&ended, 2);
        assert_eq!((report.operations, report.wall), (4, Nanos::from_secs(2)));
        // 25 % of the 4 s that two jobs ran together.
        assert_eq!((report.process_cpu, report.thread_cpu.len()), (Nanos::from_secs(1), 2));
        let expected =
            Counters::from([(Counter::UserCpuMicros, 200_000), (Counter::SystemCpuMicros, 800_000)]);
        assert!(expected.iter().all(|(counter, count)| report.counters.get(counter) == Some(count)));
        let latency = outcome.latency().summary();
        assert_eq!((latency.count, latency.p50, latency.max), (4, Nanos(100), Nanos(900)));
    }

    #[test]
    fn where_jobs_sync_the_sync_is_what_is_waited_for() {
        let (outcome, _) = of(OUTPUT, &setup(&[("fsync", "1")])).unwrap();
        let latency = outcome.latency().summary();
        assert_eq!(latency.count, 1);
        assert!(latency.max.0.abs_diff(5000) < 10, "{latency:?}");
        let (never, _) = of(OUTPUT, &setup(&[("fsync", "0")])).unwrap();
        assert_eq!(never.latency().summary().count, 4);
    }

    #[test]
    fn seconds_are_those_of_the_log_and_what_is_left_at_the_end() {
        let scratch = tempfile::tempdir().unwrap();
        let log = scratch.path().join("log");
        let (outcome, _) = of(OUTPUT, &setup(&[])).unwrap();
        let line = |end_ms: u64, ns: usize| {
            let bins: Vec<String> = (0..1856).map(|bin| u64::from(bin == ns).to_string()).collect();
            format!("{end_ms}, 0, 4096, {}\n", bins.join(", "))
        };
        fs::write(scratch.path().join("log_clat_hist.log"), line(1002, 100) + &line(1003, 100)).unwrap();
        let seconds = outcome.seconds(&log).unwrap();
        let told: Vec<(u32, u64, Nanos)> =
            seconds.iter().map(|second| (second.second, second.operations, second.max)).collect();
        assert_eq!(told, [(0, 2, Nanos(100)), (1, 2, Nanos(900))]);
        // A block that was too short for a line of the log is one second.
        let short = outcome.seconds(&log).unwrap();
        assert_eq!((short.len(), short[0].operations), (1, 4));
    }

    #[test]
    fn what_is_no_result_is_said() {
        let refused = |said: &str| of(said, &setup(&[])).err().unwrap().to_string();
        let failed = OUTPUT.replace("\"error\" : 0", "\"error\" : 5");
        assert!(refused(&failed).contains("Input/output error"), "{}", refused(&failed));
        assert!(refused("fio: out of memory\n").contains("failed to read what fio wrote"));
        let idle = "fio: x\n{ \"jobs\" : [ { \"jobname\" : \"job\" } ] }";
        assert_eq!(refused(idle), "fio ended without a result of the job; it said: fio: x");
    }
}
