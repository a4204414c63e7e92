//! Showing what was measured: the arguments of `report` and `export`, and those of every command that prints results.

use super::duration;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use report::render::{FORMATS, Format};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
#[command(after_help = REPORT_EXAMPLES)]
pub struct Report {
    /// A run's id, a unique prefix of it, its name, or `last`; several of the same workload, scale and host
    #[arg(default_value = "last", value_name = "RUN")]
    pub runs: Vec<String>,
    /// Only these steps, may be given several times; corrections for all steps still use all of them
    #[arg(long = "step", value_name = "STEP")]
    pub steps: Vec<String>,
    /// Only these subjects and the base; may be given several times
    #[arg(long = "subject", value_name = "SUBJECT")]
    pub subjects: Vec<String>,
    #[command(flatten)]
    pub gate: Gate,
    #[command(flatten)]
    pub output: Output,
    /// All columns of all steps, if the run is a campaign
    #[arg(long)]
    pub detail: bool,
    /// The interval of each ratio in the matrix of steps and candidates, also of many candidates
    #[arg(long)]
    pub intervals: bool,
    /// List the runs of the store instead
    #[arg(long)]
    pub list: bool,
    /// Print raw output that was kept: LAUNCH/SIDE/NAME, for example 1/0/read/LOG; `list` lists it
    #[arg(long, value_name = "WHICH")]
    pub raw: Option<String>,
}

const REPORT_EXAMPLES: &str = "\
Examples:
  dbdyno report last --format html -o report.html     one file for a browser, no network needed
  dbdyno report last --format post -o post/           a blog post with its charts
  dbdyno report last --format step-summary >> \"$GITHUB_STEP_SUMMARY\"
  dbdyno report last --gate --format junit -o dbdyno.xml
  dbdyno report last --step readrandom --format benchstat";

#[derive(Debug, Args)]
#[command(after_help = EXPLAIN_EXAMPLES)]
pub struct Explain {
    /// A run's id, a unique prefix of it, its name, or `last`; or an import
    #[arg(default_value = "last", value_name = "RUN")]
    pub run: String,
    /// These steps, whether they differ or not; may be given several times [default: those that differ]
    #[arg(long = "step", value_name = "STEP")]
    pub steps: Vec<String>,
    /// First measure these steps in further launches, with the stacks of both sides sampled: which functions take longer
    #[arg(long)]
    pub profile: bool,
    /// Launches of --profile, or rounds
    #[arg(long, value_name = "N", default_value_t = 6, requires = "profile")]
    pub launches: u32,
    /// Measure base and candidate once more, each also under the configuration that is the remedy of a pattern (or --with): does it give
    /// the rate back?
    #[arg(long)]
    pub test: bool,
    /// With --test: this configuration, may be given several times [default: the remedies of the patterns that are seen]
    #[arg(long = "with", value_name = "CONFIG", requires = "test")]
    pub with: Vec<String>,
    /// Measure what lies between base and candidate: subjects in their order, `base`, `candidate`, `+CONFIG` of the base's build, or in full
    #[arg(long, value_name = "SUBJECT,..", value_delimiter = ',', num_args = 1)]
    pub chain: Vec<String>,
    /// Wall time of each test, or of the chain; rounds end with it too
    #[arg(long, value_parser = duration, value_name = "TIME", default_value = "5m")]
    pub budget: Duration,
    #[command(flatten)]
    pub output: Output,
}

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  dbdyno explain last
  dbdyno explain last --profile
  dbdyno explain last --step readrandom --format markdown
  dbdyno explain last --test                                    does the remedy of a pattern give the rate back?
  dbdyno explain last --test --with direct --budget 10m         or another configuration?
  dbdyno explain last --chain base,+direct,candidate            what does each link cost?";

/// The gate of CI.
#[derive(Debug, Clone, Copy, Args)]
pub struct Gate {
    /// Exit status 3 if a trial failed, 1 if there is a regression, 4 if a step is inconclusive
    #[arg(long)]
    pub gate: bool,
    /// With --gate: a regression counts when it is larger than this (percent) [default: the margin]
    #[arg(long, value_name = "PERCENT", requires = "gate")]
    pub gate_threshold: Option<f64>,
}

/// How results are shown.
#[derive(Debug, Clone, Args)]
pub struct Output {
    /// Form of the report
    #[arg(long, default_value = "text", value_parser = format_parser())]
    pub format: &'static Format,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Write to a file instead of standard output; to a directory for svg, png, and a post with its charts
    #[arg(short, long, value_name = "FILE|DIR")]
    pub output: Option<PathBuf>,
    /// Width of text tables [default: the terminal's, else 120]
    #[arg(long, value_name = "COLUMNS")]
    pub width: Option<usize>,
}

impl Output {
    pub fn chosen_format(&self) -> &'static Format {
        if self.json { Format::named("json").unwrap_or(self.format) } else { self.format }
    }
}

/// The formats of reports by their names, with what `--help` says of each.
fn format_parser() -> impl TypedValueParser<Value = &'static Format> {
    let value = |format: &Format| PossibleValue::new(format.name).help(format.help);
    PossibleValuesParser::new(FORMATS.iter().map(value))
        .try_map(|name| Format::named(&name).ok_or_else(|| format!("there is no format `{name}`")))
}

#[derive(Debug, Args)]
#[command(after_help = EXPORT_EXAMPLES)]
pub struct Export {
    /// A run's id, a unique prefix of it, its name, or `last`; may be given several times
    #[arg(default_value = "last", value_name = "RUN")]
    pub runs: Vec<String>,
    /// Form of the values
    #[arg(long, value_enum, default_value_t = ExportFormat::Csv)]
    pub format: ExportFormat,
    /// Only this; may be given several times [default: everything]
    #[arg(long = "table", value_enum, value_name = "TABLE")]
    pub tables: Vec<ExportTable>,
    /// Only these steps; may be given several times; readings of the host belong to none
    #[arg(long = "step", value_name = "STEP")]
    pub steps: Vec<String>,
    /// Write to a file instead of standard output; to a directory, a file for each table
    #[arg(short, long, value_name = "FILE|DIR")]
    pub output: Option<PathBuf>,
}

const EXPORT_EXAMPLES: &str = "\
Examples:
  dbdyno export last -o last.csv                      one line for each value
  dbdyno export last --table seconds --step overwrite --format json
  dbdyno export nov nov-again -o tables/              values.csv, trials.csv, seconds.csv, ...";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// Comma separated, quoted as RFC 4180 says
    Csv,
    /// One object with the runs and an array of values
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportTable {
    /// The metrics of each trial that counts
    Values,
    /// How each trial ended, and its latency
    Trials,
    /// Second by second, of trials that were measured in one go
    Seconds,
    /// Every block as it was measured
    Blocks,
    /// The counters of every block
    Counters,
    /// The readings of the host
    Host,
}
