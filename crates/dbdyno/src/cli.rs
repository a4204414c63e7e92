//! The command line as data: arguments, help and examples. No behaviour.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// A dynamometer for database engines: is it slower, by how much, and how sure?
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, after_help = EXAMPLES, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    pub places: Places,
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  dbdyno compare rocksdb@8.5.4 rocksdb@8.7.3     is 8.7.3 slower than 8.5.4?
  dbdyno engine add my-fix build/librocksdb.so   make your own build known
  dbdyno compare rocksdb@8.7.3 rocksdb@my-fix --step readrandom
  dbdyno report last --format markdown           the last run again, for a pull request
  dbdyno run plans/rocksdb-releases-small.toml   twenty releases, the classic sequence, every column
  dbdyno history last                            since which release?
  dbdyno calibrate rocksdb@8.7.3                 is the harness honest on this machine?";

/// Where results and data lie.
#[derive(Debug, Clone, Args)]
pub struct Places {
    /// File of results [default: dbdyno/dbdyno.sqlite below the XDG data directory]
    #[arg(long, global = true, env = "DBDYNO_STORE", value_name = "FILE")]
    pub store: Option<PathBuf>,
    /// Directory of engines and data [default: dbdyno below the XDG cache directory]
    #[arg(long, global = true, value_name = "DIR")]
    pub work_dir: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compare candidates with a base, step by step, in interleaved blocks
    Compare(Compare),
    /// Compare a build with itself: is the harness honest here, and how small a change can it see?
    Calibrate(Calibrate),
    /// Measure a matrix of builds, configurations and workloads from a plan file
    Run(Run),
    /// Show a run again
    Report(Report),
    /// Store and show results that another program wrote
    Import(Import),
    /// Search series of releases for changes: of campaigns, or of tables that others published
    History(History),
    /// Releases that can be had, builds that are here, your own builds
    Engine(Engine),
    /// The workloads and their steps
    Workload(Workload),
    /// Print a completion script for a shell
    Completions { shell: clap_complete::Shell },
    /// Print the man page
    Man,
    /// Serve requests on standard input (started by the other commands)
    #[command(hide = true)]
    Worker,
}

#[derive(Debug, Args)]
#[command(after_help = COMPARE_EXAMPLES)]
pub struct Compare {
    /// The base, written engine@version or engine@version+config
    #[arg(value_name = "BASE")]
    pub base: String,
    /// What is compared with it
    #[arg(value_name = "CANDIDATE", required = true)]
    pub candidates: Vec<String>,
    #[command(flatten)]
    pub measuring: Measuring,
    /// At most two minutes: steps that cannot have a verdict by then are dropped, writes first
    #[arg(long, conflicts_with = "budget")]
    pub fast: bool,
    /// Wall time from the plan to the report, fetching apart (90s, 5m, 1h)
    #[arg(long, value_parser = duration, value_name = "TIME", default_value = "5m")]
    pub budget: Duration,
    /// How trials are laid out in time; rounds and sequential run the whole sequence, each step in one go
    #[arg(long, value_enum, default_value_t = DesignName::Interleaved)]
    pub design: DesignName,
    /// With --design rounds or sequential: times that each subject runs the sequence
    #[arg(long, default_value_t = 3, value_name = "N")]
    pub rounds: u32,
    /// A name for the run
    #[arg(long)]
    pub name: Option<String>,
    /// Exit status 1 if there is a regression, 4 if a step is inconclusive
    #[arg(long)]
    pub gate: bool,
    /// With --gate: a regression counts when it is larger than this (percent) [default: the margin]
    #[arg(long, value_name = "PERCENT", requires = "gate")]
    pub gate_threshold: Option<f64>,
    #[command(flatten)]
    pub output: Output,
    /// Test hook: burn this share of each operation's time again on the candidates, in percent
    #[arg(long, hide = true, default_value_t = 0.0)]
    pub plant_slowdown: f64,
}

const COMPARE_EXAMPLES: &str = "\
Examples:
  dbdyno compare rocksdb@8.5.4 rocksdb@8.7.3
  dbdyno compare rocksdb@8.5.4 rocksdb@8.6.7 rocksdb@8.7.3 --step readrandom --step seekrandom
  dbdyno compare rocksdb@8.7.3 rocksdb@8.7.3+defaults          the same build, its own defaults
  dbdyno compare rocksdb@8.7.3 rocksdb@my-fix --fast --gate    in CI";

/// How trials are laid out in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DesignName {
    /// All sides alive at once, short blocks in turn
    Interleaved,
    /// Complete rounds in random order
    Rounds,
    /// One subject after another, as the posts do it
    Sequential,
}

/// What is measured, and how it is judged.
#[derive(Debug, Clone, Args)]
pub struct Measuring {
    /// The workload: a name from `dbdyno workload list`, or a TOML file
    #[arg(long, default_value = "quick", value_name = "NAME|FILE")]
    pub workload: String,
    /// A step to measure, may be given several times [default: all of the workload]
    #[arg(long = "step", value_name = "STEP")]
    pub steps: Vec<String>,
    /// Let each build make the image that it reads: shows a change of the file format, which a shared image hides
    #[arg(long)]
    pub own_image: bool,
    /// A change within plus or minus this is no change, in percent
    #[arg(long, default_value_t = 2.0, value_name = "PERCENT")]
    pub margin: f64,
    /// Share of false verdicts per step, in percent
    #[arg(long, default_value_t = 1.0, value_name = "PERCENT")]
    pub alpha: f64,
    /// What the same source differs by when it is built again, in percent; `calibrate --builds` measures it
    #[arg(long, default_value_t = 0.5, value_name = "PERCENT")]
    pub build_noise: f64,
    /// Most launches of a step
    #[arg(long, default_value_t = 48, value_name = "N")]
    pub max_launches: u32,
    /// Seed of every random choice [default: drawn, and printed]
    #[arg(long)]
    pub seed: Option<u64>,
}

#[derive(Debug, Args)]
pub struct Calibrate {
    /// The build that is compared with itself
    #[arg(value_name = "BUILD")]
    pub build: String,
    #[command(flatten)]
    pub measuring: Measuring,
    /// Other builds of the same source, two or more: measures by how much builds differ that should be the same
    #[arg(long, value_name = "BUILD", num_args = 2..)]
    pub builds: Vec<String>,
    /// Verdicts to reach: each is one step of one comparison of the build with itself
    #[arg(long, default_value_t = 20, value_name = "N")]
    pub verdicts: u32,
    /// Wall time of each comparison
    #[arg(long, value_parser = duration, value_name = "TIME", default_value = "3m")]
    pub budget: Duration,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES)]
pub struct Run {
    /// The plan, a TOML file
    #[arg(value_name = "PLAN", required_unless_present = "resume")]
    pub plan: Option<PathBuf>,
    /// Show sizes, steps, subjects and the least time, and measure nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Go on with a campaign that was stopped: a run's id, a unique beginning of it, its name, or `last`
    #[arg(long, value_name = "RUN", conflicts_with_all = ["plan", "dry_run"])]
    pub resume: Option<String>,
    /// Run the steps by db_bench: SUBJECT=PROGRAM, for example rocksdb@8.7.3=./db_bench.873; several
    #[arg(long = "db-bench", value_name = "SUBJECT=PROGRAM")]
    pub db_bench: Vec<String>,
    #[command(flatten)]
    pub output: Output,
    /// All columns of all steps
    #[arg(long)]
    pub detail: bool,
}

const RUN_EXAMPLES: &str = "\
Examples:
  dbdyno run plans/rocksdb-releases-small.toml --dry-run
  dbdyno run plans/rocksdb-releases-small.toml
  dbdyno run --resume last
  dbdyno report last --format tsv -o columns.tsv";

#[derive(Debug, Args)]
pub struct Report {
    /// A run's id, a unique beginning of it, its name, or `last`; several only for calibrations
    #[arg(default_value = "last", value_name = "RUN")]
    pub runs: Vec<String>,
    #[command(flatten)]
    pub output: Output,
    /// All columns of all steps, where the run is a campaign
    #[arg(long)]
    pub detail: bool,
    /// List the runs of the store instead
    #[arg(long)]
    pub list: bool,
    /// Print raw output that was kept: LAUNCH/SIDE/NAME, for example 1/0/read/LOG; `list` lists it
    #[arg(long, value_name = "WHICH")]
    pub raw: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = IMPORT_EXAMPLES)]
pub struct Import {
    /// What the files are
    #[arg(value_name = "FORMAT", value_enum)]
    pub import_format: ImportFormat,
    /// The files; together they are one import
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub reading: Reading,
    /// A name for the import
    #[arg(long)]
    pub name: Option<String>,
    #[command(flatten)]
    pub output: Output,
}

/// What the first report of iostat or vmstat tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FirstReport {
    /// Left out
    SinceBoot,
    /// Counted
    Interval,
}

const IMPORT_EXAMPLES: &str = "\
Examples:
  dbdyno import db_bench-report summary.tsv --name nov23
  dbdyno import db_bench-text readrandom.8.5.txt readrandom.8.7.txt --format markdown
  dbdyno import sysbench x.pg16/sb.o.read-only x.pg17/sb.o.read-only
  dbdyno import iostat sb.io.read-only --first-report interval     recorded with iostat -y
  dbdyno import go-bench old.txt new.txt
  dbdyno report nov23 --json                     the same import again";

#[derive(Debug, Args)]
#[command(after_help = HISTORY_EXAMPLES)]
pub struct History {
    /// A campaign or an import of the store, or files; several files are repeats of the same
    #[arg(default_value = "last", value_name = "RUN|FILE")]
    pub sources: Vec<String>,
    /// What the files are
    #[arg(long, value_enum, default_value_t = ImportFormat::Table, value_name = "FORMAT")]
    pub from: ImportFormat,
    #[command(flatten)]
    pub reading: Reading,
    /// Only these steps, several
    #[arg(long = "step", value_name = "STEP")]
    pub steps: Vec<String>,
    /// Share of series without a change in which anything is found, in percent
    #[arg(long, default_value_t = 1.0, value_name = "PERCENT")]
    pub alpha: f64,
    /// Changes of less than this are left out, in percent
    #[arg(long, default_value_t = 1.0, value_name = "PERCENT")]
    pub least_change: f64,
    /// Layout noise of one build, in percent: what the same source differs by when it is built again
    #[arg(long, default_value_t = 0.5, value_name = "PERCENT")]
    pub build_noise: f64,
    /// Write a plan that measures again what needs it, in rounds
    #[arg(long, value_name = "PLAN")]
    pub schedule: Option<PathBuf>,
    /// With files: the engine that the releases are of, so that they can be measured again
    #[arg(long, value_name = "ENGINE")]
    pub engine: Option<String>,
    /// With files: the workload to measure them with
    #[arg(long, value_name = "NAME|FILE", requires = "engine")]
    pub workload: Option<String>,
    #[command(flatten)]
    pub output: Output,
}

const HISTORY_EXAMPLES: &str = "\
Examples:
  dbdyno history last                                  change points of the last campaign
  dbdyno history iostat.tsv                            of a table with a row for each release
  dbdyno history qps.tsv --metric ops_per_s            of one with a column for each
  dbdyno history qps.tsv --engine rocksdb --workload rocksdb.byrx --schedule again.toml
  dbdyno run again.toml                                measures again what needs it";

/// How files are read where they do not say so themselves.
#[derive(Debug, Clone, Args)]
pub struct Reading {
    /// In tables: where the releases stand [default: found by the header]
    #[arg(long, value_enum, value_name = "WHERE")]
    pub releases: Option<ReleasesIn>,
    /// In tables with a column for each release: what the numbers are, for example ops_per_s
    #[arg(long, value_name = "METRIC")]
    pub metric: Option<String>,
    /// The first report of iostat or vmstat: of the time since boot, or an interval like the others (recorded with -y)
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = FirstReport::SinceBoot)]
    pub first_report: FirstReport,
}

/// Where the releases of a table stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReleasesIn {
    /// A row for each
    Rows,
    /// A column for each
    Columns,
}

/// Formats of other programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ImportFormat {
    /// report.tsv of benchmark.sh, or a summary of several
    #[value(name = "db_bench-report")]
    DbBenchReport,
    /// What db_bench prints
    #[value(name = "db_bench-text")]
    DbBenchText,
    /// A table with a row or a column for each release, separated by tabs, commas or semicolons
    Table,
    /// What sysbench 1.0 and 1.1 print
    Sysbench,
    /// What pgbench prints
    Pgbench,
    /// The log of pgbench -l, also with --aggregate-interval
    PgbenchLog,
    /// fio --output-format=json or json+
    FioJson,
    /// What iostat -x prints
    Iostat,
    /// What vmstat prints
    Vmstat,
    /// The tables of Apache Otava: time, commit or version, metrics
    OtavaCsv,
    /// What go test -bench prints
    GoBench,
}

impl ImportFormat {
    /// The name on the command line, in the store and in reports.
    pub fn name(self) -> &'static str {
        match self {
            ImportFormat::DbBenchReport => "db_bench-report",
            ImportFormat::DbBenchText => "db_bench-text",
            ImportFormat::Table => "table",
            ImportFormat::Sysbench => "sysbench",
            ImportFormat::Pgbench => "pgbench",
            ImportFormat::PgbenchLog => "pgbench-log",
            ImportFormat::FioJson => "fio-json",
            ImportFormat::Iostat => "iostat",
            ImportFormat::Vmstat => "vmstat",
            ImportFormat::OtavaCsv => "otava-csv",
            ImportFormat::GoBench => "go-bench",
        }
    }
}

/// How results are shown.
#[derive(Debug, Clone, Args)]
pub struct Output {
    /// Form of the report
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Write the report to a file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Width of text tables [default: the terminal's, else 120]
    #[arg(long, value_name = "COLUMNS")]
    pub width: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Text,
    Markdown,
    Json,
    /// All columns of a campaign, tab separated
    Tsv,
    /// All columns of a campaign, comma separated
    Csv,
}

impl Output {
    pub fn chosen_format(&self) -> Format {
        if self.json { Format::Json } else { self.format }
    }
}

#[derive(Debug, Args)]
pub struct Engine {
    #[command(subcommand)]
    pub action: EngineAction,
}

#[derive(Debug, Subcommand)]
pub enum EngineAction {
    /// Builds that are here and releases that can be had
    List {
        #[arg(long)]
        json: bool,
    },
    /// Fetch published builds
    Fetch {
        /// engine@version, several
        #[arg(required = true)]
        builds: Vec<String>,
    },
    /// Make your own build known under a name
    Add {
        /// Its name: `my-fix` is then rocksdb@my-fix
        name: String,
        /// The library, or a build directory that holds one
        path: PathBuf,
    },
    /// What is known of a build: checksum, compiler, its own defaults
    Info {
        /// engine@version
        build: String,
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub struct Workload {
    #[command(subcommand)]
    pub action: WorkloadAction,
}

#[derive(Debug, Subcommand)]
pub enum WorkloadAction {
    /// All workloads
    List {
        #[arg(long)]
        json: bool,
    },
    /// One workload, as the data that defines it
    Show {
        /// Its name, or a TOML file
        name: String,
        #[arg(long)]
        json: bool,
    },
}

/// `90s`, `5m`, `1h30m`, or seconds without a unit.
fn duration(text: &str) -> Result<Duration, String> {
    if let Ok(seconds) = text.parse::<u64>() {
        return Ok(Duration::from_secs(seconds));
    }
    let span: jiff::SignedDuration = text.parse().map_err(|_| "write it like 90s, 5m or 1h30m".to_owned())?;
    Duration::try_from(span).map_err(|_| "it must not be negative".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn durations_are_read_as_people_write_them() {
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("5m"), Ok(Duration::from_secs(300)));
        assert_eq!(duration("1h30m"), Ok(Duration::from_secs(5400)));
        assert!(duration("soon").is_err() && duration("-5m").is_err());
    }
}
