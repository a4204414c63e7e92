//! The JSON of fio (`--output-format=json` or `json+`): per job and direction, what was moved and how long it took.
//!
//! fio 3.x, shortened; where it has something to tell, it says so before the JSON:
//!
//! ```text
//! { "fio version" : "fio-3.33",
//!   "jobs" : [ { "jobname" : "randread", "read" : { "io_bytes" : 4096, "iops" : 1.5,
//!     "clat_ns" : { "mean" : 9000.1, "percentile" : { "99.000000" : 12608 } } }, "usr_cpu" : 2.5 } ] }
//! ```
//!
//! A percentile of a direction that moved nothing is 0 there, and absent here.

use crate::ParseError;
use crate::lines::{LineCount, last};
use serde::Deserialize;
use std::collections::BTreeMap;

const WHAT: &str = "JSON of fio";

/// Stands once in each job: where the n-th does, the n-th job is.
const JOB_NAME: &str = "\"jobname\"";

/// What one invocation of fio measured.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FioOutput {
    /// `3.33`; absent where the text does not say.
    pub version: Option<String>,
    /// The jobs, in their order. With `group_reporting` one stands for its whole group.
    pub jobs: Vec<FioJob>,
}

/// One job.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FioJob {
    /// The line that its name stands on, from 1.
    pub line: usize,
    pub name: String,
    /// The error that ended it, as a number of the system; 0 where none did.
    pub error: i64,
    /// The directions in which it moved something.
    pub directions: Vec<FioDirection>,
    /// User CPU, in percent of one CPU.
    pub user_cpu_percent: Option<f64>,
    /// System CPU, in percent of one CPU.
    pub system_cpu_percent: Option<f64>,
    pub context_switches: Option<u64>,
    /// Time that the jobs of the group ran, summed over them, in milliseconds: what the percentages are of. Absent before
    /// fio 3.
    pub job_runtime_ms: Option<u64>,
    /// Of calls that sync the file, if the job made any.
    pub sync: FioLatency,
}

/// What a job read, wrote or trimmed.
#[derive(Debug, Clone, PartialEq)]
pub struct FioDirection {
    pub kind: FioKind,
    pub bytes: u64,
    pub bytes_per_s: Option<f64>,
    pub requests_per_s: Option<f64>,
    pub requests: Option<u64>,
    /// How long it took, in milliseconds.
    pub runtime_ms: Option<u64>,
    /// From the submission of a request to its end.
    pub completion: FioLatency,
    /// From the begin of the submission to its end; has percentiles where fio was told to (`lat_percentiles`).
    pub whole: FioLatency,
}

/// A direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum FioKind {
    Read,
    Write,
    Trim,
}

impl FioKind {
    /// `read`
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Latency in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FioLatency {
    pub count: Option<u64>,
    pub ns_min: Option<f64>,
    pub ns_mean: Option<f64>,
    pub ns_stddev: Option<f64>,
    pub ns_max: Option<f64>,
    /// By percentile, as short as it can be written: `99`, `99.95`.
    pub ns_percentiles: BTreeMap<String, f64>,
    /// How many had about this latency; only in the form `json+`.
    pub ns_bins: BTreeMap<u64, u64>,
}

/// Reads the text; several outputs may stand in one file. Errors: there is no JSON in it, it was cut off, or it is none
/// of fio's.
pub fn parse(text: &str) -> Result<Vec<FioOutput>, ParseError> {
    let failed = |line, problem| ParseError { what: WHAT, line, problem };
    let mut outputs = Vec::new();
    let mut offset = 0;
    let mut lines = LineCount::of(text);
    while let Some(begin) = begin_of_json(text, offset) {
        let first_line = lines.line_at(begin);
        let mut values = serde_json::Deserializer::from_str(&text[begin..]).into_iter::<FioFile>();
        let Some(file) = values.next() else { break };
        let file = file.map_err(|error| {
            let said = error.to_string();
            let problem = said.split(" at line ").next().unwrap_or_default().to_owned();
            failed((first_line - 1 + error.line().max(1)).min(last(text)), problem)
        })?;
        offset = begin + values.byte_offset();
        if file.jobs.is_empty() {
            let problem = "there are no `jobs` in it; what clients of fio measured is not read".to_owned();
            return Err(failed(first_line, problem));
        }
        outputs.push(domain(file, &text[begin..offset], first_line));
    }
    if outputs.is_empty() {
        return Err(failed(last(text), "there is no line that begins with `{`".to_owned()));
    }
    Ok(outputs)
}

/// Where the first line from here on begins that begins with the brace: `fio: ..` and notes of the engine may stand
/// before it.
fn begin_of_json(text: &str, from: usize) -> Option<usize> {
    let mut begin = from;
    for line in text[from..].split_inclusive('\n') {
        if line.starts_with('{') {
            return Some(begin);
        }
        begin += line.len();
    }
    None
}

/// The file as fio writes it. Fields come and go with releases, so that what we do not know is passed over.
#[derive(Deserialize)]
#[serde(expecting = "an output of fio")]
struct FioFile {
    #[serde(rename = "fio version")]
    version: Option<String>,
    #[serde(default)]
    jobs: Vec<JobFile>,
}

#[derive(Deserialize)]
#[serde(expecting = "a job")]
struct JobFile {
    jobname: String,
    #[serde(default)]
    error: i64,
    read: Option<DirectionFile>,
    write: Option<DirectionFile>,
    trim: Option<DirectionFile>,
    usr_cpu: Option<f64>,
    sys_cpu: Option<f64>,
    ctx: Option<u64>,
    job_runtime: Option<u64>,
    sync: Option<SyncFile>,
}

#[derive(Deserialize, Default)]
#[serde(expecting = "the calls that sync")]
struct SyncFile {
    #[serde(default)]
    lat_ns: LatencyFile,
}

#[derive(Deserialize)]
#[serde(expecting = "what a job moved in one direction")]
struct DirectionFile {
    io_bytes: u64,
    bw_bytes: Option<f64>,
    iops: Option<f64>,
    total_ios: Option<u64>,
    runtime: Option<u64>,
    #[serde(default)]
    clat_ns: LatencyFile,
    #[serde(default)]
    lat_ns: LatencyFile,
}

#[derive(Deserialize, Default)]
#[serde(expecting = "a latency")]
struct LatencyFile {
    min: Option<f64>,
    max: Option<f64>,
    mean: Option<f64>,
    stddev: Option<f64>,
    #[serde(rename = "N")]
    count: Option<u64>,
    #[serde(default)]
    percentile: BTreeMap<String, f64>,
    #[serde(default)]
    bins: BTreeMap<u64, u64>,
}

fn domain(file: FioFile, json: &str, first_line: usize) -> FioOutput {
    let version = file.version.map(|version| version.trim_start_matches("fio-").to_owned());
    let mut lines = LineCount::of(json);
    let lines: Vec<usize> =
        json.match_indices(JOB_NAME).map(|(at, _)| first_line - 1 + lines.line_at(at)).collect();
    let line_of = |index: usize| lines.get(index).copied().unwrap_or(first_line);
    let jobs = file.jobs.into_iter().enumerate().map(|(index, file)| job(file, line_of(index)));
    FioOutput { version, jobs: jobs.collect() }
}

fn job(file: JobFile, line: usize) -> FioJob {
    let directions = [(FioKind::Read, file.read), (FioKind::Write, file.write), (FioKind::Trim, file.trim)];
    FioJob {
        line,
        name: file.jobname,
        error: file.error,
        directions: directions.into_iter().filter_map(|(kind, file)| direction(kind, file?)).collect(),
        user_cpu_percent: file.usr_cpu,
        system_cpu_percent: file.sys_cpu,
        context_switches: file.ctx,
        job_runtime_ms: file.job_runtime,
        sync: latency(file.sync.unwrap_or_default().lat_ns),
    }
}

/// None where nothing was moved.
fn direction(kind: FioKind, file: DirectionFile) -> Option<FioDirection> {
    let moved = file.io_bytes > 0 || file.total_ios.is_some_and(|requests| requests > 0);
    moved.then(|| FioDirection {
        kind,
        bytes: file.io_bytes,
        bytes_per_s: file.bw_bytes,
        requests_per_s: file.iops,
        requests: file.total_ios,
        runtime_ms: file.runtime,
        completion: latency(file.clat_ns),
        whole: latency(file.lat_ns),
    })
}

/// fio writes zeros for a latency that it did not measure (`disable_clat`): there is no largest one of 0 ns.
fn latency(file: LatencyFile) -> FioLatency {
    if file.count == Some(0) || !file.max.is_some_and(|max| max > 0.0) {
        return FioLatency::default();
    }
    FioLatency {
        count: file.count,
        ns_min: file.min,
        ns_mean: file.mean,
        ns_stddev: file.stddev,
        ns_max: file.max,
        ns_percentiles: file.percentile.into_iter().map(|(percent, ns)| (short(&percent), ns)).collect(),
        ns_bins: file.bins,
    }
}

/// `99.950000` is `99.95`, `99.000000` is `99`.
fn short(percent: &str) -> String {
    if !percent.contains('.') {
        return percent.to_owned();
    }
    percent.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::refused;

    const MIXED: &str = include_str!("../fixtures/fio/3.33.mixed.txt");
    const BINS: &str = include_str!("../fixtures/fio/3.33.bins.json");

    fn only_job(text: &str) -> FioJob {
        let mut outputs = parse(text).unwrap();
        assert_eq!((outputs.len(), outputs[0].jobs.len()), (1, 1));
        outputs.remove(0).jobs.remove(0)
    }

    #[test]
    fn a_job_has_what_it_read_and_wrote() {
        let output = &parse(MIXED).unwrap()[0];
        assert_eq!(output.version.as_deref(), Some("3.33"));
        let job = &output.jobs[0];
        assert_eq!((job.name.as_str(), job.error), ("mixed", 0));
        assert!(MIXED.lines().nth(job.line - 1).unwrap().contains("\"jobname\" : \"mixed\""));
        let kinds: Vec<FioKind> = job.directions.iter().map(|direction| direction.kind).collect();
        assert_eq!(kinds, [FioKind::Read, FioKind::Write], "nothing was trimmed");
        for direction in &job.directions {
            let seconds = direction.runtime_ms.unwrap() as f64 / 1000.0;
            let requests = direction.requests.unwrap() as f64;
            assert!(
                (direction.requests_per_s.unwrap() * seconds / requests - 1.0).abs() < 0.01,
                "{direction:?}"
            );
            assert_eq!(direction.bytes, direction.requests.unwrap() * 4096);
            assert!((direction.bytes_per_s.unwrap() * seconds / direction.bytes as f64 - 1.0).abs() < 0.01);
            let latency = &direction.completion;
            let names: Vec<&str> = latency.ns_percentiles.keys().map(String::as_str).collect();
            assert_eq!(names, ["50", "95", "99", "99.9", "99.99"]);
            assert!(latency.ns_percentiles["50"] < latency.ns_percentiles["99.9"]);
            assert!(latency.ns_min < latency.ns_mean && latency.ns_mean < latency.ns_max);
            assert_eq!(latency.count, direction.requests);
            assert!(direction.whole.ns_mean > latency.ns_mean && direction.whole.ns_percentiles.is_empty());
        }
        assert!(job.user_cpu_percent.unwrap() > 0.0 && job.system_cpu_percent.unwrap() > 0.0);
        assert!(job.context_switches.is_some());
    }

    #[test]
    fn bins_count_all_requests_and_percentiles_may_be_of_the_whole_latency() {
        let job = only_job(BINS);
        let bins = &job.directions[0].whole.ns_bins;
        assert_eq!(Some(bins.values().sum::<u64>()), job.directions[0].requests);
        assert_eq!((job.job_runtime_ms.is_some(), &job.sync), (true, &FioLatency::default()));
        assert_eq!((job.directions.len(), job.directions[0].bytes), (1, 256 << 10));
        let direction = &job.directions[0];
        assert!(direction.completion.ns_percentiles.is_empty());
        assert_eq!(direction.whole.ns_percentiles.len(), 5);
    }

    #[test]
    fn outputs_one_after_another_are_all_read() {
        let outputs = parse(&format!("{MIXED}fio: done\n{BINS}\n")).unwrap();
        let names: Vec<&str> = outputs.iter().map(|output| output.jobs[0].name.as_str()).collect();
        assert_eq!(names, ["mixed", "scan"]);
        assert!(outputs[1].jobs[0].line > MIXED.lines().count());
    }

    #[test]
    fn each_of_many_jobs_has_its_line() {
        let job = |number: usize| format!("{{\n\"jobname\": \"j{number}\"\n}}");
        let output = |first: usize| {
            let jobs: Vec<String> = (first..first + 100).map(job).collect();
            format!("fio: starting\n{{ \"jobs\": [\n{}]}}\n", jobs.join(",\n"))
        };
        let text = [output(0), output(100), output(200)].concat();
        let of_text: Vec<&str> = text.lines().collect();
        let jobs: Vec<FioJob> = parse(&text).unwrap().into_iter().flat_map(|output| output.jobs).collect();
        assert_eq!(jobs.len(), 300);
        for (number, job) in jobs.iter().enumerate() {
            assert_eq!(job.name, format!("j{number}"));
            assert_eq!(of_text[job.line - 1], format!("\"jobname\": \"j{number}\""));
        }
    }

    #[test]
    fn a_latency_that_was_not_measured_is_absent() {
        let text = "{\"jobs\": [{\"jobname\": \"a\", \"read\": {\"io_bytes\": 0, \"total_ios\": 5, \
                    \"clat_ns\": {\"min\": 0, \"max\": 0, \"mean\": 0.0, \"percentile\": {\"99.000000\": 0}}}}]}";
        let job = only_job(text);
        assert_eq!((job.line, job.user_cpu_percent), (1, None));
        assert_eq!(
            (&job.directions[0].completion, job.directions[0].bytes_per_s),
            (&FioLatency::default(), None)
        );
    }

    #[test]
    fn what_cannot_be_read_is_named_with_its_line() {
        let check = refused("JSON of fio", parse);
        check("", "1: there is no line that begins with `{`");
        check("read: IOPS=9352\n\u{0}\n", "2: there is no line that begins with `{`");
        check("fio: x\n{\n  \"jobs\" : [\n", "3: EOF while parsing a list");
        check("{\"jobs\": []}", "1: there are no `jobs` in it; what clients of fio measured is not read");
        check(
            "\n{\n\"client_stats\": []}",
            "2: there are no `jobs` in it; what clients of fio measured is not read",
        );
        check(
            "{\"jobs\": [{\n\"read\": 5}]}",
            "2: invalid type: integer `5`, expected what a job moved in one direction",
        );
        check("{\"jobs\": [{}]}", "1: missing field `jobname`");
        let nan = "{\"jobs\": [{\"jobname\": \"a\",\n\"usr_cpu\": nan}]}";
        check(nan, "2: expected ident");
    }

    #[test]
    fn a_text_that_was_cut_off_is_an_error() {
        let whole = MIXED.trim_end().len();
        for end in (0..whole).step_by(37) {
            let error = parse(&MIXED[..end]).unwrap_err();
            assert_eq!(error.line, MIXED[..end].lines().count().max(1), "cut at {end}: {error}");
        }
    }
}
