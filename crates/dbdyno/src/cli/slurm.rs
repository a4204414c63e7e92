//! The arguments of `dbdyno run --slurm`. No behaviour.

use clap::Args;
use std::path::PathBuf;

/// Jobs of a campaign in Slurm.
#[derive(Debug, Args)]
pub struct SlurmJobs {
    /// Measure the plan by exclusive jobs of Slurm, and bring the runs together; needs --jobs and --jobs-dir
    #[arg(long, requires_all = ["jobs", "jobs_dir"], conflicts_with_all = ["hosts", "resume", "job", "db_bench", "plant"])]
    pub slurm: bool,
    /// With --slurm: how many jobs; each measures all of the plan once
    #[arg(long, value_name = "N", requires = "slurm", value_parser = clap::value_parser!(u32).range(1..=i64::from(runner::slurm::MOST_JOBS)))]
    pub jobs: Option<u32>,
    /// With --slurm: a directory that every node has under this name; the jobs are in CAMPAIGN-NUMBER below it
    #[arg(long, value_name = "DIR", requires = "slurm")]
    pub jobs_dir: Option<PathBuf>,
    /// With --slurm: what a node must have, as sbatch takes it; '' for nothing [default: the hardware class of the plan]
    #[arg(long, value_name = "EXPR", requires = "slurm")]
    pub constraint: Option<String>,
    /// With --slurm: more arguments of sbatch, split at spaces: '--partition=lab --account=db'; may be given several times
    #[arg(long, value_name = "ARGUMENTS", requires = "slurm", allow_hyphen_values = true)]
    pub sbatch: Vec<String>,
}
