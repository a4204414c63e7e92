//! Results of others: the arguments of `import`, and of `history`, which reads them as well as our own.

use super::Output;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

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

/// What the first report of iostat or vmstat covers.
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
    /// Only these steps; may be given several times
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

/// How files are read if they do not say so themselves.
#[derive(Debug, Clone, Args)]
pub struct Reading {
    /// In tables: where the releases are [default: found by the header]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum ImportFormat {
    /// report.tsv of benchmark.sh, or a summary of several
    #[value(name = "db_bench-report")]
    #[strum(serialize = "db_bench-report")]
    DbBenchReport,
    /// What db_bench prints
    #[value(name = "db_bench-text")]
    #[strum(serialize = "db_bench-text")]
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
        self.into()
    }
}
