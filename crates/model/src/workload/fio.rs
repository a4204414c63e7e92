//! A job of fio as a step has it: options by fio's own names. What dbdyno decides itself (where the file is, how long a
//! job lasts, what it prints) is not among them.

use crate::config::{EngineConfig, Options, overlaid};
use crate::names;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// What fio does in a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FioJob {
    /// `rw`: `randread`, `write`.
    pub pattern: String,
    /// Requests that each job keeps in flight.
    pub depth: u32,
    /// Bytes of a request; absent if they differ.
    pub block: Option<Bytes>,
    /// The options of this step, by fio's names.
    pub options: Options,
}

/// The patterns that `rw` may name (fio's own names).
const PATTERNS: [&str; 10] =
    ["read", "write", "randread", "randwrite", "rw", "readwrite", "randrw", "trim", "randtrim", "trimwrite"];

/// Options that dbdyno sets itself, or that would take the file, the length or the output of a job out of its hands.
const OURS: [&str; 36] = [
    "allow_file_create",
    "clat_percentiles",
    "create_only",
    "directory",
    "disable_clat",
    "disable_lat",
    "filename",
    "filename_format",
    "fill_device",
    "group_reporting",
    "gtod_reduce",
    "hist_log",
    "io_limit",
    "io_size",
    "lat_percentiles",
    "loops",
    "name",
    "new_group",
    "number_ios",
    "numjobs",
    "output",
    "output-format",
    "per_job_logs",
    "ramp_time",
    "randseed",
    "rate_iops",
    "readonly",
    "runtime",
    "size",
    "startdelay",
    "stonewall",
    "thinktime",
    "time_based",
    "timeout",
    "unified_rw_reporting",
    "unlink",
];

/// fio asks for 4 KiB unless it is told otherwise.
const DEFAULT_BLOCK: Bytes = Bytes(4096);

impl FioJob {
    /// The job of a step, with what the workload says of all its steps below it.
    ///
    /// # Errors
    /// No `rw`, one that is no pattern, a depth that is no number, an option that is not for a workload to set.
    pub(super) fn of(step: &Options, workload: &Options) -> Result<FioJob, String> {
        step.keys().try_for_each(|name| may_be_set(name))?;
        let Some(pattern) = step.get("rw") else {
            return Err(format!("a job of fio needs `rw` among its options: {}", PATTERNS.join(", ")));
        };
        if !PATTERNS.contains(&pattern.as_str()) {
            let hint = names::hint(pattern, PATTERNS);
            return Err(format!("`rw = \"{pattern}\"` is none of {}{hint}", PATTERNS.join(", ")));
        }
        let either = |name: &str| step.get(name).or_else(|| workload.get(name)).map(String::as_str);
        let depth = match either("iodepth") {
            None => 1,
            Some(text) => text
                .parse()
                .ok()
                .filter(|depth| *depth > 0)
                .ok_or_else(|| format!("`iodepth = \"{text}\"` must be a number of at least 1"))?,
        };
        let block = block_of(either);
        Ok(FioJob { pattern: pattern.clone(), depth, block, options: step.clone() })
    }

    /// The job as a subject runs it: the workload's options below the step's, those of the configuration over them.
    pub fn in_effect(&self, workload: &Options, config: &EngineConfig) -> FioJob {
        let below = overlaid(&overlaid(&config.pins, workload), &self.options);
        let options = overlaid(&below, &config.options);
        // What a configuration may say of sizes is a size or none that is one number.
        let block = block_of(|name| options.get(name).map(String::as_str));
        FioJob { pattern: self.pattern.clone(), depth: self.depth, block, options }
    }

    /// Whether each write is synced, so that the sync is what is waited for.
    pub fn syncs(&self) -> bool {
        let every = |name: &str| self.options.get(name).is_some_and(|number| number != "0");
        every("fsync") || every("fdatasync")
    }

    /// Whether it changes what is in the file.
    pub fn writes(&self) -> bool {
        !matches!(self.pattern.as_str(), "read" | "randread")
    }

    /// Whether two jobs differ in nothing but the requests that they keep in flight.
    pub fn differs_in_depth_only(&self, other: &FioJob) -> bool {
        let but_depth = |job: &FioJob| {
            let mut options = job.options.clone();
            options.remove("iodepth");
            options
        };
        self.depth != other.depth && but_depth(self) == but_depth(other)
    }
}

/// Bytes of a request by the options that say so; absent if they differ.
fn block_of<'a>(option: impl Fn(&str) -> Option<&'a str>) -> Option<Bytes> {
    match option("bs").or_else(|| option("blocksize")) {
        _ if option("bssplit").is_some() || option("bsrange").is_some() => None,
        None => Some(DEFAULT_BLOCK),
        Some(text) => size(text),
    }
}

/// Options as arguments of fio; one without a value is what fio knows as a switch.
pub fn arguments(options: &Options) -> impl Iterator<Item = String> {
    options.iter().map(|(name, value)| match value.as_str() {
        "" => format!("--{name}"),
        value => format!("--{name}={value}"),
    })
}

/// Whether a configuration may set an option of fio: not those that make a step what it is called.
pub fn may_be_configured(name: &str) -> Result<(), String> {
    if matches!(name, "rw" | "readwrite" | "iodepth") {
        return Err(format!(
            "the option `{name}` of fio is what a step is: change it in a workload of your own"
        ));
    }
    may_be_set(name)
}

/// Whether a workload may set an option of fio.
pub fn may_be_set(name: &str) -> Result<(), String> {
    if OURS.contains(&name) || name.starts_with("write_") || name.starts_with("log_") {
        return Err(format!(
            "the option `{name}` of fio is set by dbdyno: `file` of the workload sizes the file, `seconds`, `operations` and \
             `threads` of a step say how long a job lasts and how many there are, `directory` of a configuration where the \
             file is"
        ));
    }
    Ok(())
}

/// `4k`, `1M` or `4096`: fio's sizes, in powers of 1024; absent if it is more than one.
fn size(text: &str) -> Option<Bytes> {
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor).map(Bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(pairs: &[(&str, &str)]) -> Options {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_job_has_its_own_options_and_the_workloads_below() {
        let of_all = options(&[("bs", "4k"), ("iodepth", "2"), ("direct", "1")]);
        let job = FioJob::of(&options(&[("rw", "randread"), ("iodepth", "8")]), &of_all).unwrap();
        assert_eq!((job.depth, job.block, job.writes()), (8, Some(Bytes(4096)), false));
        let deeper = FioJob::of(&options(&[("rw", "randread"), ("iodepth", "16")]), &of_all).unwrap();
        assert!(job.differs_in_depth_only(&deeper) && !job.differs_in_depth_only(&job));
        let other = FioJob::of(&options(&[("rw", "randwrite"), ("bs", "16k")]), &of_all).unwrap();
        assert_eq!((other.depth, other.block, other.writes()), (2, Some(Bytes(16_384)), true));
        assert!(!job.differs_in_depth_only(&other));
        let mixed = FioJob::of(&options(&[("rw", "randrw"), ("bssplit", "4k/50:8k/50")]), &of_all).unwrap();
        assert_eq!((mixed.block, mixed.writes()), (None, true));
    }

    #[test]
    fn mistakes_are_named() {
        let refused = |pairs: &[(&str, &str)]| FioJob::of(&options(pairs), &Options::new()).unwrap_err();
        assert!(refused(&[]).contains("needs `rw`"));
        assert!(refused(&[("rw", "randraed")]).contains("did you mean `randread`"));
        assert!(refused(&[("rw", "read"), ("iodepth", "many")]).contains("many"));
        for name in ["filename", "runtime", "write_iops_log", "log_avg_msec"] {
            assert!(refused(&[("rw", "read"), (name, "1")]).contains(name));
        }
    }

    #[test]
    fn a_configuration_lies_over_a_step_but_does_not_make_it_another() {
        let job =
            FioJob::of(&options(&[("rw", "write"), ("fsync", "1"), ("ioengine", "psync")]), &Options::new());
        let config = EngineConfig {
            name: "c".to_owned(),
            description: String::new(),
            pins: options(&[("direct", "1")]),
            options: options(&[("ioengine", "libaio"), ("bs", "16k"), ("fsync", "0")]),
            ..EngineConfig::default()
        };
        let job = job.unwrap();
        let effect = job.in_effect(&options(&[("bs", "4k"), ("direct", "0")]), &config);
        assert_eq!((effect.block, effect.depth), (Some(Bytes(16_384)), 1));
        let of = |name: &str| effect.options[name].as_str();
        assert_eq!((of("ioengine"), of("direct"), of("rw")), ("libaio", "0", "write"));
        assert!(job.syncs() && !effect.syncs());
        assert!(may_be_configured("iodepth").is_err() && may_be_configured("bs").is_ok());
    }

    #[test]
    fn sizes_are_those_of_fio() {
        let sizes = ["512", "4k", "1M", "2GiB", "4k,8k", "x"].map(size);
        let expected = [Some(512), Some(4096), Some(1 << 20), Some(2 << 30), None, None];
        assert_eq!(sizes, expected.map(|bytes| bytes.map(Bytes)));
    }
}
