//! A campaign on several hosts: what each of them has to do of it.

use serde::{Deserialize, Serialize};

/// What one host measures of a campaign: all of its plan, from a seed of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The text that all runs of the campaign share.
    pub campaign: String,
    /// From 1.
    pub number: u32,
    /// As ssh calls it; in Slurm its node, and before it has one `job 3`.
    pub host: String,
    pub state: JobState,
    /// Why it is not done; absent if there is no more to say.
    pub message: Option<String>,
    /// Of all random choices of its runs.
    pub seed: u64,
    /// The text of the plan.
    pub plan: String,
    /// Microseconds since the epoch.
    pub changed_at_us: i64,
    /// How Slurm has it; absent if ssh brought it to its host.
    pub slurm: Option<Slurm>,
}

/// A job in Slurm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slurm {
    /// The directory that all nodes share, in which the directory of the job is.
    pub jobs_dir: String,
    /// What a node must have, as `sbatch --constraint` takes it; absent if any will do.
    pub constraint: Option<String>,
    /// More arguments of sbatch.
    pub sbatch: Vec<String>,
    /// As Slurm counts it: `1207_3`; absent before it was submitted.
    pub id: Option<String>,
    /// The node that it began on last, as Slurm calls it.
    pub node: Option<String>,
}

impl Job {
    /// What a reader knows it by: its host, with its number if others may have run there too.
    pub fn label(&self) -> String {
        match &self.slurm {
            Some(Slurm { node: Some(_), .. }) => format!("{} (job {})", self.host, self.number),
            Some(Slurm { node: None, .. }) | None => self.host.clone(),
        }
    }
}

/// How far a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, strum::IntoStaticStr, strum::VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum JobState {
    /// Nothing of it has begun.
    Waiting,
    /// It was begun, and nobody has seen its end.
    Running,
    /// All of it is measured, and its runs are in the store.
    Done,
    /// It ended otherwise; what it had measured is in the store, if it could be fetched.
    Failed,
    /// It was stopped: by Ctrl-C here, or by a shutdown there.
    Interrupted,
    /// The connection failed: it may go on there.
    Unreachable,
}

impl JobState {
    /// The name in JSON and in the store.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
