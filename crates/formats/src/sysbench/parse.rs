//! Reads sysbench's text line by line: which section a label stands in says what it is.

use super::{Bucket, Counted, Interval, Percentile, Spread, SysbenchRun};
use crate::ParseError;
use crate::lines::{Line, last, numbered};
use crate::number::{counted, real};

const WHAT: &str = "output of sysbench";

/// Microseconds of a millisecond.
const MS: f64 = 1000.0;

/// The lines that a section begins with; all others that stand at the left edge and end in a colon begin one that
/// says nothing that we read.
const SECTIONS: [(&str, Section); 6] = [
    ("SQL statistics:", Section::Sql),
    ("General statistics:", Section::Time),
    ("Throughput:", Section::Time),
    ("CPU speed:", Section::Time),
    ("Latency (ms):", Section::Latency),
    ("Threads fairness:", Section::Fairness),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    /// What stands before the report, or in a part of it that is none of ours.
    Other,
    Histogram,
    Sql,
    Time,
    Latency,
    Fairness,
}

type Read<T> = Result<T, String>;

/// Reads the text. Errors: there is no report in it, or a known line cannot be read.
pub fn parse(text: &str) -> Result<Vec<SysbenchRun>, ParseError> {
    let mut reader = Reader { runs: Vec::new(), section: Section::Other, reported: false, script: None };
    for line in numbered(text) {
        reader.line(line).map_err(|problem| ParseError { what: WHAT, line: line.number, problem })?;
    }
    let runs = reader.runs;
    if !runs.iter().any(SysbenchRun::has_report) {
        let problem = "there is no report with `transactions:` or `total number of events:`".to_owned();
        return Err(ParseError { what: WHAT, line: last(text), problem });
    }
    Ok(runs)
}

struct Reader {
    runs: Vec<SysbenchRun>,
    section: Section,
    /// Whether the last run's report has begun: what then looks like a beginning is that of another.
    reported: bool,
    /// Of the command line that was seen last.
    script: Option<String>,
}

impl Reader {
    fn line(&mut self, line: Line<'_>) -> Read<()> {
        let text = line.text;
        if let Some(version) = version(text) {
            let script = self.script.take();
            self.begin(SysbenchRun {
                line: line.number,
                version: Some(version.to_owned()),
                script,
                ..SysbenchRun::default()
            });
        } else if let Some(script) = script_of_command(text) {
            self.script = Some(script.to_owned());
        } else if let Some(interval) = interval(text) {
            if line.whole {
                let interval = interval?;
                self.before_report(line.number).intervals.push(interval);
            }
        } else if let Some(seconds) = checkpoint(text) {
            self.before_report(line.number).checkpoint_s = Some(seconds);
        } else if let Some(threads) = text.strip_prefix("Number of threads: ") {
            let threads = counted(threads, "of the number of threads")?;
            self.before_report(line.number).threads = Some(threads).filter(|_| line.whole);
        } else if text.starts_with("Latency histogram (values are in milliseconds)") {
            self.before_report(line.number);
            self.section = Section::Histogram;
        } else if !text.starts_with(' ') && text.ends_with(':') {
            self.section(text, line.number);
        } else if self.section == Section::Histogram {
            if line.whole {
                self.bucket(text)?;
            }
        } else if let (Some(run), Some((label, value))) = (self.runs.last_mut(), text.split_once(':')) {
            // A number at the very end of a text that was cut off may lack digits.
            let is_whole = line.whole || value.ends_with(')');
            if is_whole {
                labelled(run, self.section, label.trim(), value.trim())?;
            }
        }
        Ok(())
    }

    fn begin(&mut self, run: SysbenchRun) {
        self.runs.push(run);
        self.section = Section::Other;
        self.reported = false;
    }

    /// The run whose report has not begun yet. After a report goes on what a checkpoint ended; without the first lines
    /// of an invocation nothing else tells two of them apart.
    fn before_report(&mut self, line: usize) -> &mut SysbenchRun {
        if self.reported || self.runs.is_empty() {
            self.go_on(line);
        }
        let last = self.runs.len() - 1;
        &mut self.runs[last]
    }

    fn go_on(&mut self, line: usize) {
        let before = self.runs.last();
        let run = SysbenchRun {
            line,
            version: before.and_then(|run| run.version.clone()),
            script: self.script.take().or_else(|| before.and_then(|run| run.script.clone())),
            threads: before.and_then(|run| run.threads),
            begin_s: before.and_then(|run| run.checkpoint_s).unwrap_or(0.0),
            ..SysbenchRun::default()
        };
        self.begin(run);
    }

    fn section(&mut self, header: &str, line: usize) {
        let known = SECTIONS.iter().find(|(known, _)| *known == header);
        let section = known.map_or(Section::Other, |(_, section)| *section);
        let has_it = self.runs.last().is_some_and(|run| has_section(run, section));
        if section != Section::Other && (self.runs.is_empty() || has_it) {
            self.go_on(line);
        }
        self.section = section;
        self.reported = self.reported || section != Section::Other;
    }

    fn bucket(&mut self, text: &str) -> Read<()> {
        let Some((value, rest)) = text.split_once('|') else { return Ok(()) };
        let ms = real(value.trim(), "of the histogram")?;
        let count = counted(rest.trim_start_matches('*').trim(), "of the histogram")?;
        if let (Some(run), Some(ms)) = (self.runs.last_mut(), ms) {
            run.histogram.push(Bucket { us: ms * MS, count });
        }
        Ok(())
    }
}

/// Whether a run has this section already: then another report begins.
fn has_section(run: &SysbenchRun, section: Section) -> bool {
    match section {
        Section::Other | Section::Histogram => false,
        Section::Sql => run.queries.is_some(),
        // Two of these sections are of one report: the speed of CPUs, and the general statistics.
        Section::Time => run.events.is_some(),
        Section::Latency => run.latency.us_mean.is_some(),
        Section::Fairness => run.fairness.seconds.is_some(),
    }
}

/// `sysbench 1.0.20 (using bundled LuaJIT 2.1.0-beta2)`
fn version(text: &str) -> Option<&str> {
    let version = text.strip_prefix("sysbench ")?.split_whitespace().next()?;
    version.starts_with(|first: char| first.is_ascii_digit()).then_some(version)
}

/// `sysbench --threads=2 /usr/share/sysbench/oltp_read_only.lua run` is of `oltp_read_only`.
fn script_of_command(text: &str) -> Option<&str> {
    let is_sysbench = |word: &str| word.rsplit('/').next() == Some("sysbench");
    let mut words = text.split_whitespace().skip_while(|word| !is_sysbench(word)).skip(1);
    let script = words.find(|word| !word.starts_with('-') && *word != "run")?;
    let is_run = text.split_whitespace().any(|word| word == "run");
    let script = script.rsplit('/').next().unwrap_or(script);
    is_run.then(|| script.strip_suffix(".lua").unwrap_or(script))
}

/// `[ 10s ] Checkpoint report:`
fn checkpoint(text: &str) -> Option<f64> {
    let seconds = text.strip_prefix("[ ")?.strip_suffix("s ] Checkpoint report:")?;
    seconds.trim().parse().ok()
}

/// None where it is no interval line.
fn interval(text: &str) -> Option<Read<Interval>> {
    let (seconds, rest) = text.strip_prefix("[ ")?.split_once("s ] ")?;
    rest.starts_with("thds:").then(|| interval_of(seconds.trim(), rest))
}

fn interval_of(seconds: &str, rest: &str) -> Read<Interval> {
    let end_s = real(seconds, "of an interval line")?.ok_or("an interval line has no time")?;
    let mut interval = Interval { end_s, ..Interval::default() };
    let mut words = rest.split_whitespace();
    while let Some(label) = words.next() {
        if label == "lat" {
            let label = words.next().unwrap_or_default();
            let percent = label.strip_prefix("(ms,").and_then(|it| it.strip_suffix("%):"));
            let percent = percent.ok_or_else(|| format!("`lat {label}` is not like `lat (ms,95%):`"))?;
            let ms = real(words.next().unwrap_or_default(), "of lat")?;
            interval.latency = percentile(percent, ms);
            continue;
        }
        let value = words.next().unwrap_or_default();
        let number = || real(value, &format!("of {}", label.trim_matches(['(', ':'])));
        match label {
            "thds:" => interval.threads = Some(counted(value, "of thds")?),
            "tps:" => interval.transactions_per_s = number()?,
            "qps:" => interval.queries_per_s = number()?,
            "eps:" => interval.events_per_s = number()?,
            "err/s:" => interval.errors_per_s = number()?,
            "reconn/s:" => interval.reconnects_per_s = number()?,
            "(r/w/o:" => {
                let parts: Vec<&str> = value.trim_end_matches(')').split('/').collect();
                let [reads, writes, others] = parts[..] else {
                    return Err(format!("`{value}` of r/w/o is not three numbers"));
                };
                interval.reads_per_s = real(reads, "of r/w/o")?;
                interval.writes_per_s = real(writes, "of r/w/o")?;
                interval.others_per_s = real(others, "of r/w/o")?;
            }
            _ => {}
        }
    }
    Ok(interval)
}

/// Percentile 0 is how sysbench is told to have none.
fn percentile(percent: &str, ms: Option<f64>) -> Option<Percentile> {
    let percent = percent.trim();
    ms.filter(|_| percent != "0").map(|ms| Percentile { percent: percent.to_owned(), us: ms * MS })
}

fn labelled(run: &mut SysbenchRun, section: Section, label: &str, value: &str) -> Read<()> {
    let of = format!("of {label}");
    let count = || counted(value, &of).map(Some);
    let number = || real(value, &of);
    let milliseconds = || Ok::<_, String>(number()?.map(|ms| ms * MS));
    match (section, label) {
        (Section::Sql, "read") => run.queries_by_kind.read = count()?,
        (Section::Sql, "write") => run.queries_by_kind.write = count()?,
        (Section::Sql, "other") => run.queries_by_kind.other = count()?,
        (Section::Sql, "total") => run.queries_by_kind.total = count()?,
        (Section::Sql, "transactions") => run.transactions = Some(with_rate(value, &of)?),
        (Section::Sql, "queries") => run.queries = Some(with_rate(value, &of)?),
        (Section::Sql, "ignored errors") => run.ignored_errors = Some(with_rate(value, &of)?),
        (Section::Sql, "reconnects") => run.reconnects = Some(with_rate(value, &of)?),
        (Section::Time, "events/s (eps)" | "events per second") => run.events_per_s = number()?,
        (Section::Time, "total time" | "time elapsed") => {
            let seconds = value.strip_suffix('s').ok_or_else(|| format!("`{value}` {of} has no unit"))?;
            run.seconds = real(seconds, &of)?.map(|seconds| seconds - run.begin_s);
        }
        (Section::Time, "total number of events") => run.events = count()?,
        (Section::Latency, "min") => run.latency.us_min = milliseconds()?,
        (Section::Latency, "avg") => run.latency.us_mean = milliseconds()?,
        (Section::Latency, "max") => run.latency.us_max = milliseconds()?,
        (Section::Latency, "sum") => run.latency.us_sum = milliseconds()?,
        (Section::Latency, "percentile stats") => {} // disabled
        (Section::Latency, label) => {
            if let Some(percent) = label.strip_suffix("th percentile") {
                run.latency.percentile = percentile(percent, number()?);
            }
        }
        (Section::Fairness, "events (avg/stddev)") => run.fairness.events = spread(value, &of)?,
        (Section::Fairness, "execution time (avg/stddev)") => run.fairness.seconds = spread(value, &of)?,
        (Section::Sql | Section::Time | Section::Fairness | Section::Other | Section::Histogram, _) => {}
    }
    Ok(())
}

/// `19300  (6414.57 per sec.)`
fn with_rate(value: &str, of: &str) -> Read<Counted> {
    let wrong = || format!("`{value}` {of} is not like `19300  (6414.57 per sec.)`");
    let (count, rate) = value.split_once('(').ok_or_else(wrong)?;
    let rate = rate.strip_suffix(" per sec.)").ok_or_else(wrong)?;
    Ok(Counted { count: counted(count.trim(), of)?, per_s: real(rate.trim(), of)? })
}

/// `482.5000/4.50`
fn spread(value: &str, of: &str) -> Read<Option<Spread>> {
    let (mean, stddev) = value.split_once('/').ok_or_else(|| format!("`{value}` {of} has no deviation"))?;
    let (mean, stddev) = (real(mean, of)?, real(stddev, of)?);
    Ok(mean.zip(stddev).map(|(mean, stddev)| Spread { mean, stddev }))
}
