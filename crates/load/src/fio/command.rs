//! The arguments of fio for one block of a step. Pure.

use model::wire::{BlockLimit, StepSetup};
use model::workload::{Operation, fio};
use std::path::Path;

/// The jobs of one block.
pub(super) struct Jobs<'a> {
    pub file: &'a Path,
    /// The file is not ours.
    pub read_only: bool,
    pub setup: &'a StepSetup,
    pub limit: BlockLimit,
    /// Where histograms of each second go, if they are asked for.
    pub log: Option<&'a Path>,
}

/// More than any step asks for: its number of requests ends it.
const MOST_IO_BYTES: u64 = 1 << 60;

impl Jobs<'_> {
    pub(super) fn arguments(&self) -> Vec<String> {
        let StepSetup { operation, data, threads, seed, .. } = self.setup;
        let mut arguments = vec![
            "--output-format=json+".to_owned(),
            // Bins from the begin of a request's submission to its end: an engine may spend long in either.
            "--lat_percentiles=1".to_owned(),
            "--name=job".to_owned(),
            // A colon would make two files of it.
            format!("--filename={}", self.file.display().to_string().replace(':', "\\:")),
            format!("--size={}", data.size().0),
            // It takes 63 bits.
            format!("--randseed={}", seed >> 1),
        ];
        let Operation::Fio(job) = operation else {
            // The whole file once, as fast as the device takes it; what a read finds later is on the device.
            let lay_out = ["--rw=write", "--bs=1M", "--ioengine=psync", "--end_fsync=1"];
            arguments.extend(lay_out.map(str::to_owned));
            return arguments;
        };
        if self.read_only {
            arguments.push("--readonly".to_owned());
        }
        // A file that is not there is an error, and is not made of holes that no device is asked for.
        arguments.extend(["--allow_file_create=0".to_owned(), format!("--numjobs={threads}")]);
        arguments.push("--group_reporting".to_owned());
        match self.limit {
            BlockLimit::Time { wall } => {
                arguments.extend(["--time_based".to_owned(), format!("--runtime={}ms", wall.0 / 1_000_000)]);
            }
            BlockLimit::Operations { count } => {
                // More than the file has of them: then it begins again.
                arguments.push(format!("--number_ios={}", count.div_ceil(u64::from(*threads)).max(1)));
                arguments.push(format!("--io_size={MOST_IO_BYTES}"));
            }
        }
        if let Some(log) = self.log {
            arguments.extend([
                format!("--write_hist_log={}", log.display()),
                "--log_hist_msec=1000".to_owned(),
                "--per_job_logs=0".to_owned(),
            ]);
        }
        arguments.extend(fio::arguments(&job.options));
        arguments
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::config::Options;
    use model::units::Nanos;
    use model::workload::DataSet;
    use model::workload::fio::FioJob;

    fn options(pairs: &[(&str, &str)]) -> Options {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn arguments(
        operation: Operation,
        limit: BlockLimit,
        read_only: bool,
        log: Option<&Path>,
    ) -> Vec<String> {
        let data = DataSet { keys: 1000, key_bytes: 8, value_bytes: 4088, value_compressible_percent: 0 };
        let setup = StepSetup { threads: 3, ..StepSetup::plain(operation, data, 42) };
        let file = Path::new("db/fio.data");
        Jobs { file, read_only, setup: &setup, limit, log }.arguments()
    }

    #[test]
    fn a_job_is_its_options_and_time_or_number_ends_it() {
        let job = FioJob {
            pattern: "randread".to_owned(),
            depth: 8,
            block: None,
            options: options(&[
                ("rw", "randread"),
                ("iodepth", "8"),
                ("ioengine", "io_uring"),
                ("thread", ""),
            ]),
        };
        let read = Operation::Fio(Box::new(job));
        let limit = BlockLimit::Time { wall: Nanos::from_millis(1500) };
        let found = arguments(read.clone(), limit, false, Some(Path::new("fio-log")));
        for expected in [
            "--filename=db/fio.data",
            "--size=4096000",
            "--numjobs=3",
            "--runtime=1500ms",
            "--time_based",
            "--ioengine=io_uring",
            "--iodepth=8",
            "--lat_percentiles=1",
            "--thread",
            "--write_hist_log=fio-log",
            "--allow_file_create=0",
            "--randseed=21",
        ] {
            assert!(found.iter().any(|argument| argument == expected), "{expected} is not in {found:?}");
        }
        assert!(!found.iter().any(|argument| argument == "--readonly"));
        let found = arguments(read, BlockLimit::Operations { count: 100 }, true, None);
        assert!(found.iter().any(|argument| argument == "--number_ios=34"), "{found:?}");
        assert!(found.iter().any(|argument| argument == "--readonly"), "{found:?}");
        assert!(!found.iter().any(|argument| argument.contains("log") || argument == "--time_based"));
    }

    #[test]
    fn a_file_is_laid_out_by_one_job_whatever_the_side_says() {
        let found = arguments(Operation::LayOutFile, BlockLimit::Operations { count: 1000 }, false, None);
        assert!(found.iter().any(|argument| argument == "--rw=write"), "{found:?}");
        assert!(found.iter().any(|argument| argument == "--end_fsync=1"), "{found:?}");
        assert!(!found.iter().any(|argument| argument.contains("io_uring") || argument.contains("numjobs")));
    }
}
