//! The command line as data: arguments, help and examples. No behaviour.

mod compare;
mod device;
mod engine;
mod imports;
mod reports;
mod slurm;
mod store_file;
mod watch;

pub use compare::{Compare, DesignName};
pub use device::{Device, DeviceAction, StartDevice};
pub use engine::{Engine, EngineAction, Recipe};
pub use imports::{FirstReport, History, Import, ImportFormat, Reading, ReleasesIn};
pub use reports::{Explain, Export, ExportFormat, ExportTable, Gate, Output, Report};
pub use slurm::SlurmJobs;
pub use store_file::{StoreAction, StoreFile};
pub use watch::Watch;

use crate::lab::JobHere;
use clap::{ArgGroup, Args, Parser, Subcommand};
use model::limits::MOST_BUDGET_MINUTES;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Launches of a bisection's search, if no other number is given.
pub const MAX_BISECT_LAUNCHES: u32 = 128;

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
  dbdyno engine add my-fix build/librocksdb.so   register your own build
  dbdyno compare rocksdb@8.7.3 rocksdb@my-fix --step readrandom
  dbdyno report last --format markdown           the last run again, for a pull request
  dbdyno run plans/rocksdb-releases-small.toml   twenty releases, the classic sequence, every column
  dbdyno history last                            since which release?
  dbdyno calibrate rocksdb@8.7.3                 is the harness unbiased on this machine?";

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
    /// Compare a build with itself: is the harness unbiased here, and how small a change can it detect?
    Calibrate(Calibrate),
    /// Find the first release or commit that is slower, in few launches
    Bisect(Bisect),
    /// Measure a matrix of builds, configurations and workloads, given by a plan file
    Run(Run),
    /// Measure a plan again whenever a commit that it names has moved, and tell what is new
    Watch(Watch),
    /// Show a run again
    Report(Report),
    /// Why steps differ: where the time of an operation went, by function too; what moved with the rate; known patterns
    Explain(Explain),
    /// Write every value of runs in long form, for other programs
    Export(Export),
    /// Store and show results that another program wrote
    Import(Import),
    /// Search series of releases for changes: of campaigns, or of tables that others published
    History(History),
    /// Is this host fit to measure on? What to change, and why
    Doctor(Doctor),
    /// Show the store in a browser, read-only
    Serve(Serve),
    /// List and fetch releases, add your own builds and servers
    Engine(Engine),
    /// A device that is slow on purpose, to try programs on
    Device(Device),
    /// Check, back up or compact the file of results
    Store(StoreFile),
    /// The workloads and their steps
    Workload(Workload),
    /// Print a completion script for a shell
    Completions { shell: clap_complete::Shell },
    /// Print the man page
    Man,
    /// Serve requests on standard input (started by the other commands)
    #[command(hide = true)]
    Worker,
    /// Run the servers of another dbdyno here, by requests on standard input (started by that one, over ssh)
    #[command(hide = true)]
    Remote,
    /// Cover a file with a device that is slow on purpose (started by the other commands)
    #[command(hide = true)]
    SlowDevice { file: PathBuf },
}

impl Command {
    /// Whether it starts engines or other programs: it then runs below a supervisor, which ends what is left of them.
    pub fn starts_processes(&self) -> bool {
        match self {
            Command::Compare(_)
            | Command::Calibrate(_)
            | Command::Bisect(_)
            | Command::Run(_)
            | Command::Watch(_)
            | Command::Engine(_)
            | Command::Device(_)
            | Command::Remote => true,
            Command::Explain(arguments) => arguments.profile,
            Command::Report(_)
            | Command::Export(_)
            | Command::Import(_)
            | Command::History(_)
            | Command::Doctor(_)
            | Command::Serve(_)
            | Command::Store(_)
            | Command::Workload(_)
            | Command::Completions { .. }
            | Command::Man
            | Command::Worker
            | Command::SlowDevice { .. } => false,
        }
    }

    /// Whether it begins as root under sudo: to set the kernel, and to serve a device to it.
    pub fn is_of_root(&self) -> bool {
        matches!(self, Command::Doctor(_) | Command::SlowDevice { .. })
    }
}

/// What is measured, and how it is judged.
#[derive(Debug, Clone, Args, Serialize, Deserialize)]
pub struct Measuring {
    /// The workload: a name from `dbdyno workload list`, or a TOML file
    #[arg(long, default_value = "quick", value_name = "NAME|FILE")]
    pub workload: String,
    /// A step to measure, may be given several times [default: all of the workload]
    #[arg(long = "step", value_name = "STEP")]
    pub steps: Vec<String>,
    /// A my.cnf or postgresql.conf as the configuration NAME, for subjects written like mysql@8.0.15+NAME
    #[arg(long = "config-file", value_name = "NAME=FILE")]
    pub config_files: Vec<String>,
    /// Let each build make the image that it reads: shows a change of the file format, which a shared image hides
    #[arg(long)]
    pub own_image: bool,
    /// A change within plus or minus this is no change, in percent
    #[arg(long, default_value_t = 2.0, value_name = "PERCENT")]
    pub margin: f64,
    /// Share of runs without a difference that get a verdict of one in any step, in percent
    #[arg(long, default_value_t = 1.0, value_name = "PERCENT")]
    pub alpha: f64,
    /// Build noise: how much two builds of the same source differ, in percent; `calibrate --builds` measures it
    #[arg(long, default_value_t = 0.5, value_name = "PERCENT")]
    pub build_noise: f64,
    /// Most launches of a step
    #[arg(long, default_value_t = 48, value_name = "N")]
    pub max_launches: u32,
    /// Seed of every random choice [default: random, and printed]
    #[arg(long)]
    pub seed: Option<u64>,
    /// Run the servers on this host, which ssh reaches, and their clients here: ssh://lab-1, ssh://me@lab-1
    #[arg(long, value_name = "ssh://HOST")]
    pub server_host: Option<String>,
    /// With --server-host: the address at which clients reach it [default: the one that ssh reaches]
    #[arg(long, value_name = "HOST", requires = "server_host")]
    pub server_address: Option<String>,
}

/// Whether the host is measured before a run.
#[derive(Debug, Clone, Args)]
pub struct HostSpeed {
    /// Do not measure the host before the run (CPU, memory, device; some three seconds, once in six hours)
    #[arg(long)]
    pub no_fingerprint: bool,
}

#[derive(Debug, Args)]
pub struct Calibrate {
    /// The build that is compared with itself
    #[arg(value_name = "BUILD")]
    pub build: String,
    #[command(flatten)]
    pub measuring: Measuring,
    /// Two or more other builds of the same source: measures how much builds differ that should be equal
    #[arg(long, value_name = "BUILD", num_args = 2..)]
    pub builds: Vec<String>,
    /// Instead of --builds: build the source of BUILD, which `engine build` made, again with N other code layouts (1 to 6)
    #[arg(long, value_name = "N", conflicts_with = "builds", value_parser = clap::value_parser!(u32).range(1..=6))]
    pub layouts: Option<u32>,
    /// Restart the self-test of this host after you fixed a fault: earlier calibrations no longer count
    #[arg(long, conflicts_with_all = ["builds", "layouts"])]
    pub anew: bool,
    /// Verdicts to reach: each is one step of one comparison of the build with itself
    #[arg(long, default_value_t = 20, value_name = "N")]
    pub verdicts: u32,
    /// Wall time of each comparison
    #[arg(long, value_parser = duration, value_name = "TIME", default_value = "3m")]
    pub budget: Duration,
    #[command(flatten)]
    pub speed: HostSpeed,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Debug, Args)]
#[command(after_help = BISECT_EXAMPLES)]
pub struct Bisect {
    /// The earlier version: engine@version, engine@version+config, or with --git a commit
    #[arg(long, value_name = "VERSION", required_unless_present = "resume")]
    pub good: Option<String>,
    /// The later version, which differs
    #[arg(long, value_name = "VERSION", required_unless_present = "resume")]
    pub bad: Option<String>,
    /// The step that it differs in
    #[arg(long, value_name = "STEP", required_unless_present = "resume")]
    pub step: Option<String>,
    /// Resume a bisection that was stopped: its id, a unique prefix of it, or `last`; with --budget for more time
    #[arg(long, value_name = "BISECTION", conflicts_with_all = [
        "good", "bad", "step", "workload", "improvement", "untried", "git", "max_launches", "own_image", "margin", "alpha",
        "seed", "plant_slowdown", "plant_from", "names", "set", "timeout",
    ])]
    pub resume: Option<String>,
    /// The workload: a name from `dbdyno workload list`, or a TOML file
    #[arg(long, default_value = "quick", value_name = "NAME|FILE")]
    pub workload: String,
    /// Look for the first version that is faster
    #[arg(long)]
    pub improvement: bool,
    /// Include releases that were published but never tried
    #[arg(long, conflicts_with = "git")]
    pub untried: bool,
    /// Bisect the commits of this repository, along first parents; it is only read
    #[arg(long, value_name = "DIR")]
    pub git: Option<PathBuf>,
    /// With --git: what the repository has, if the workload is for more than one engine: postgres, mariadb, mysql
    #[arg(long, value_name = "ENGINE", requires = "git")]
    pub engine: Option<String>,
    #[command(flatten)]
    pub recipe: Recipe,
    /// With --git, instead of a recipe: the shell command that builds a commit; it runs in the root of a separate checkout
    #[arg(long, value_name = "COMMAND", requires_all = ["git", "library"], conflicts_with_all = ["names", "set"])]
    pub build: Option<String>,
    /// With --build: the library that it makes, by its path within the checkout
    #[arg(long, value_name = "PATH", requires = "build")]
    pub library: Option<PathBuf>,
    /// Wall time of measuring, without fetching and building [default: 30m]
    #[arg(long, value_parser = duration, value_name = "TIME")]
    pub budget: Option<Duration>,
    /// Most launches of the search; those that compare the ends and confirm the change are not counted
    #[arg(long, default_value_t = MAX_BISECT_LAUNCHES, value_name = "N")]
    pub max_launches: u32,
    /// Let each build make the image that it reads
    #[arg(long)]
    pub own_image: bool,
    /// For the comparison of the ends: a change within plus or minus this is no change, in percent
    #[arg(long, default_value_t = 2.0, value_name = "PERCENT")]
    pub margin: f64,
    /// Share of false verdicts of a comparison, in percent
    #[arg(long, default_value_t = 1.0, value_name = "PERCENT")]
    pub alpha: f64,
    /// Seed of every random choice [default: random, and printed]
    #[arg(long)]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub speed: HostSpeed,
    #[command(flatten)]
    pub output: Output,
    /// Test hook: burn this share of each operation's time again, in percent ...
    #[arg(long, hide = true, default_value_t = 0.0)]
    pub plant_slowdown: f64,
    /// ... in this version and those after it
    #[arg(long, hide = true, requires = "plant_slowdown")]
    pub plant_from: Option<String>,
}

const BISECT_EXAMPLES: &str = "\
Examples:
  dbdyno bisect --good rocksdb@7.10.2 --bad rocksdb@9.3.1 --step readrandom
  dbdyno bisect --good rocksdb@6.0.2 --bad rocksdb@8.7.3 --step fillseq --improvement
  dbdyno bisect --git ~/rocksdb --good v8.5.3 --bad v8.6.7 --step readrandom \\
      --build 'make -j8 shared_lib DEBUG_LEVEL=0' --library librocksdb.so
  dbdyno bisect --git ~/postgres --engine postgres --good REL_16_0 --bad REL_17_0 --workload sysbench-32.quick \\
      --step point-query_range=100
  dbdyno bisect --resume last";

#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES, group(ArgGroup::new("goes_on").args(["resume", "job"])))]
pub struct Run {
    /// The plan, a TOML file
    #[arg(value_name = "PLAN", required_unless_present = "resume")]
    pub plan: Option<PathBuf>,
    /// Show sizes, steps, subjects and the least time, and measure nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Measure the plan on each of these hosts, as ssh calls them, and bring the runs together: lab-1,me@lab-2
    #[arg(long, value_name = "HOST", value_delimiter = ',', conflicts_with_all = ["resume", "db_bench", "plant"])]
    pub hosts: Vec<String>,
    #[command(flatten)]
    pub slurm: SlurmJobs,
    /// What another dbdyno says that this host measures: CAMPAIGN:NUMBER:SEED
    #[arg(long, value_name = "JOB", hide = true, conflicts_with_all = ["resume", "hosts"])]
    pub job: Option<JobHere>,
    /// Resume a campaign that was stopped: a run's id, a unique prefix of it, its name, or `last`; for a campaign on several hosts, its id
    #[arg(long, value_name = "RUN", conflicts_with_all = ["plan", "dry_run"])]
    pub resume: Option<String>,
    /// With --resume: measure again each turn in which a step failed or was skipped, also in a finished campaign
    #[arg(long, requires = "goes_on")]
    pub retry_failed: bool,
    /// Run the steps by db_bench: SUBJECT=PROGRAM, for example rocksdb@8.7.3=./db_bench.873; may be given several times
    #[arg(long = "db-bench", value_name = "SUBJECT=PROGRAM")]
    pub db_bench: Vec<String>,
    /// Test hook: SUBJECT=PERCENT burns this share of each operation's time again in this subject and those after it; several add up
    #[arg(long, value_name = "SUBJECT=PERCENT", hide = true)]
    pub plant: Vec<String>,
    #[command(flatten)]
    pub speed: HostSpeed,
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
  dbdyno run plans/rocksdb-releases-small.toml --hosts lab-1,lab-2,lab-3
  dbdyno run plans/rocksdb-releases-small.toml --slurm --jobs 12 --jobs-dir /shared/dbdyno --sbatch '--partition=lab'
  dbdyno run --resume last
  dbdyno run --resume last --retry-failed
  dbdyno report last --format tsv -o columns.tsv";

#[derive(Debug, Args)]
#[command(after_help = DOCTOR_EXAMPLES)]
pub struct Doctor {
    /// Results as JSON
    #[arg(long)]
    pub json: bool,
    /// Change the settings that dbdyno can change (needs root); --undo restores them
    #[arg(long)]
    pub fix: bool,
    /// Restore what --fix changed, except settings that were changed since
    #[arg(long, conflicts_with = "fix")]
    pub undo: bool,
    /// Measure the host itself too: CPU, memory, fsync, device reads; takes some seconds, kept in the store
    #[arg(long)]
    pub bench: bool,
    /// Width of the text [default: the terminal's, else 120]
    #[arg(long, value_name = "COLUMNS")]
    pub width: Option<usize>,
}

const DOCTOR_EXAMPLES: &str = "\
Examples:
  dbdyno doctor
  dbdyno doctor --bench
  sudo dbdyno doctor --fix
  sudo dbdyno doctor --undo";

#[derive(Debug, Args)]
#[command(after_help = SERVE_EXAMPLES)]
pub struct Serve {
    /// Address to listen on; any other than the loopback needs a token
    #[arg(long, default_value = "127.0.0.1:7117", value_name = "ADDR:PORT")]
    pub listen: SocketAddr,
    /// File whose first line is the token [default: if one is needed, an address for one browser is printed]
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Answer by TLS, with the certificate of this file (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_certificate: Option<PathBuf>,
    /// File of the certificate's private key (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    pub tls_key: Option<PathBuf>,
    /// Name of this host by which browsers may ask, besides its address
    #[arg(long, value_name = "HOST")]
    pub name: Vec<String>,
}

const SERVE_EXAMPLES: &str = "\
Examples:
  dbdyno serve                                     then open http://127.0.0.1:7117/
  dbdyno serve --listen 127.0.0.1:0                any free port; the address is printed
  dbdyno serve --listen 10.0.0.5:7117 --token-file ~/.config/dbdyno/token
  dbdyno serve --listen 0.0.0.0:443 --name bench.example --tls-certificate cert.pem --tls-key key.pem";

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
    let duration = if let Ok(seconds) = text.parse::<u64>() {
        Duration::from_secs(seconds)
    } else {
        let span: jiff::SignedDuration =
            text.parse().map_err(|_| "write it like 90s, 5m or 1h30m".to_owned())?;
        Duration::try_from(span).map_err(|_| "it must not be negative".to_owned())?
    };
    if duration > Duration::from_secs(MOST_BUDGET_MINUTES * 60) {
        return Err(format!("it must be at most {}h", MOST_BUDGET_MINUTES / 60));
    }
    Ok(duration)
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
        assert_eq!(duration("8784h"), Ok(Duration::from_secs(366 * 86_400)));
        for too_long in ["8785h", "18446744073709551615"] {
            assert_eq!(duration(too_long), Err("it must be at most 8784h".to_owned()));
        }
    }
}
