//! Slurm by its own programs: submits the jobs of a campaign as the tasks of an array, looks for them in the queue, stops them. Nothing is measured
//! through it: what runs on a node is dbdyno itself, with a store of its own in the directory of its job.

pub mod directory;
pub mod lock;

use crate::process::child;
use directory::PlacedProgram;
use formats::ParseError;
use formats::slurm::{ACCOUNT_FORMAT, Accounted, QUEUE_FORMAT, QueuedJob};
use std::env;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Variables by which users filter and arrange what Slurm's programs do for them: jobs that were left out would be taken for lost. Those of sbatch stay, by
/// which sites choose a partition or an account.
const HABITS: [&str; 4] = ["SQUEUE_", "SINFO_", "SACCT_", "SCANCEL_"];

/// Jobs of a campaign: ids of runs tell so many apart that begin in the same second.
pub const MOST_JOBS: u32 = 255;

/// What went wrong with Slurm or with the directory that its nodes share.
#[derive(Debug, thiserror::Error)]
pub enum SlurmError {
    #[error(
        "failed to start `{program}`: run dbdyno where Slurm's programs are installed and in the PATH, or use --hosts"
    )]
    Start { program: &'static str, source: io::Error },
    #[error("sbatch refused the jobs: {said}; {}", hint(said))]
    Refused { said: String },
    #[error("`{program}` failed: {said}")]
    Failed { program: &'static str, said: String },
    #[error("failed to read what `{program}` printed: its version may be one that this dbdyno does not know")]
    Unreadable { program: &'static str, source: ParseError },
    #[error(
        "failed to write to `{}`: the directory of the jobs must be one that you and every node can write to", path.display()
    )]
    Directory { path: PathBuf, source: io::Error },
    #[error("`{}` cannot be the directory of the jobs: name one without % and \\ that every node has under this name", path.display())]
    NoDirectory { path: PathBuf },
    #[error(
        "nodes would run what lies in `{}` as you, and {why}: name by --jobs-dir a directory of your own in which no other user can write \
         (`install -d -m 700 DIR`), or `chmod go-w` this one if nobody else has written there", path.display()
    )]
    NotOurs { path: PathBuf, why: String },
    #[error(
        "campaign {campaign} is followed by {holder}, and two would submit its jobs twice: wait for that one, or stop it there with Ctrl-C and then resume \
         the campaign"
    )]
    InUse {
        campaign: String,
        /// `process 4711 on login-1`
        holder: String,
    },
    #[error(
        "failed to lock `{}`: the file system of the jobs must have locks (Lustre: mounted with `flock`)", path.display()
    )]
    NoLock { path: PathBuf, source: io::Error },
}

impl SlurmError {
    /// Whether Slurm could not be asked: what was submitted may go on.
    pub fn is_of_connection(&self) -> bool {
        matches!(self, SlurmError::Failed { .. } | SlurmError::Start { .. })
    }

    fn of(path: &Path) -> impl FnOnce(io::Error) -> SlurmError {
        let path = path.to_owned();
        move |source| SlurmError::Directory { path, source }
    }
}

/// What to do about a refusal, by what sbatch says.
fn hint(said: &str) -> &'static str {
    let says = |words: &[&str]| words.iter().any(|word| said.contains(word));
    if says(&["Invalid feature"]) {
        "`sinfo --format=%f` lists what nodes have: name some of it by --constraint, or nothing by --constraint ''"
    } else if says(&["array"]) {
        "name fewer by --jobs, as many as Slurm's MaxArraySize allows"
    } else if says(&["QOS", "Assoc", "policy", "limit", "Limit"]) {
        "that is a quota: name fewer jobs by --jobs, or another account or QOS, as in --sbatch '--account=lab'"
    } else if says(&["partition", "account", "Account"]) {
        "name what the jobs need, as in --sbatch '--partition=lab --account=db'"
    } else {
        "more of its arguments are given by --sbatch, as in --sbatch '--partition=lab'"
    }
}

/// Jobs of a campaign that are submitted together.
pub struct Submission<'a> {
    /// Absolute.
    pub jobs_dir: &'a Path,
    pub campaign: &'a str,
    /// The numbers of the jobs.
    pub numbers: &'a [u32],
    pub constraint: Option<&'a str>,
    /// The only node that they may run on; any if absent.
    pub node: Option<&'a str>,
    /// More arguments, over those of dbdyno.
    pub more: &'a [String],
    pub placed: &'a PlacedProgram,
    /// What begins a job, beside its store and its number, and resumes it if it has begun.
    pub words: &'a [String],
}

impl Submission<'_> {
    /// Submits them, and gives the number of their array.
    ///
    /// # Errors
    /// There is no sbatch, or it refuses them.
    pub fn submit(&self) -> Result<u64, SlurmError> {
        let said = run("sbatch", &self.arguments()).map_err(|error| match error {
            SlurmError::Failed { said, .. } => SlurmError::Refused { said },
            other => other,
        })?;
        let unreadable = |source| SlurmError::Unreadable { program: "sbatch", source };
        formats::slurm::submitted(&said).map_err(unreadable)
    }

    fn arguments(&self) -> Vec<String> {
        let numbers: Vec<String> = self.numbers.iter().map(ToString::to_string).collect();
        let directories = format!("{}/{}", self.jobs_dir.display(), self.campaign);
        let mut arguments = vec![
            "--parsable".to_owned(),
            format!("--array={}", numbers.join(",")),
            format!("--job-name={}", name_of(self.campaign)),
            // All of one node.
            "--nodes=1".to_owned(),
            "--exclusive".to_owned(),
            "--mem=0".to_owned(),
            // A job whose node has failed is looked at before it runs elsewhere.
            "--no-requeue".to_owned(),
            "--open-mode=append".to_owned(),
            format!("--chdir={}", self.jobs_dir.display()),
            format!("--output={directories}-%a/slurm.out"),
        ];
        arguments.extend(self.constraint.map(|constraint| format!("--constraint={constraint}")));
        arguments.extend(self.node.map(|node| format!("--nodelist={node}")));
        arguments.extend(self.more.iter().cloned());
        let [script, program] =
            [&self.placed.script, &self.placed.program].map(|path| path.display().to_string());
        arguments.extend([script, program, directories]);
        arguments.extend(self.words.iter().cloned());
        arguments
    }
}

/// By which squeue finds the jobs of a campaign, also those whose numbers nobody has written down.
fn name_of(campaign: &str) -> String {
    format!("dbdyno-{campaign}")
}

/// A directory in which those of jobs can be: absolute, with a name that Slurm takes as it is.
///
/// # Errors
/// One that is not there, or has another name.
pub fn jobs_directory(path: &Path) -> Result<PathBuf, SlurmError> {
    let absolute = std::path::absolute(path).map_err(SlurmError::of(path))?;
    match absolute.to_str() {
        Some(text) if !text.contains(['%', '\\', '\n']) && absolute.is_dir() => Ok(absolute),
        Some(_) | None => Err(SlurmError::NoDirectory { path: absolute }),
    }
}

/// The jobs of a campaign that Slurm knows, also those that are over, for as long as it keeps them (its MinJobAge).
///
/// # Errors
/// Slurm cannot be asked.
pub fn queue(campaign: &str) -> Result<Vec<QueuedJob>, SlurmError> {
    let arguments = [
        "--noheader".to_owned(),
        "--array".to_owned(),
        "--states=all".to_owned(),
        format!("--name={}", name_of(campaign)),
        format!("--format={QUEUE_FORMAT}"),
    ];
    let said = run("squeue", &arguments)?;
    formats::slurm::queue(&said).map_err(|source| SlurmError::Unreadable { program: "squeue", source })
}

/// Whether a node takes jobs: it is there, answers, and is not drained.
///
/// # Errors
/// Slurm cannot be asked.
pub fn takes_jobs(node: &str) -> Result<bool, SlurmError> {
    let arguments =
        ["--noheader".to_owned(), "--Node".to_owned(), format!("--nodes={node}"), "--format=%T".to_owned()];
    Ok(formats::slurm::takes_jobs(&run("sinfo", &arguments)?))
}

/// How a job ended that is in the queue no more; absent if the accounting does not know it, or if there is none.
pub fn accounted(id: &str) -> Option<Accounted> {
    let arguments = [
        "--noheader".to_owned(),
        "--parsable2".to_owned(),
        format!("--jobs={id}"),
        format!("--format={ACCOUNT_FORMAT}"),
    ];
    formats::slurm::accounted(&run("sacct", &arguments).ok()?, id)
}

/// Takes a job out of the queue, or asks it to end in order if it runs; one that is over stays as it is.
///
/// # Errors
/// Slurm cannot be asked.
pub fn stop(id: &str) -> Result<(), SlurmError> {
    // The one that does not apply does nothing or says so: a job may begin between the two, not the other way round.
    let waiting = run("scancel", &["--state=PENDING".to_owned(), id.to_owned()]);
    let running = run("scancel", &["--batch".to_owned(), "--signal=USR1".to_owned(), id.to_owned()]);
    match (waiting, running) {
        (Err(error), Err(_)) => Err(error),
        (Ok(_), _) | (_, Ok(_)) => Ok(()),
    }
}

/// Runs a program of Slurm to its end and gives what it printed. If the controller does not answer it gives up by itself (MessageTimeout).
fn run(program: &'static str, arguments: &[String]) -> Result<String, SlurmError> {
    let mut command = child::command(program);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Ctrl-C on our terminal is for us.
        .process_group(0);
    for (name, _) in env::vars_os() {
        if HABITS.iter().any(|prefix| name.as_encoded_bytes().starts_with(prefix.as_bytes())) {
            command.env_remove(name);
        }
    }
    child::die_with_controller(&mut command);
    let ended = command.output().map_err(|source| SlurmError::Start { program, source })?;
    if ended.status.success() {
        return Ok(String::from_utf8_lossy(&ended.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&ended.stderr);
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let said = match &lines[..] {
        [] => format!("it {}", child::how_it_ended(ended.status)),
        lines => lines.join("; "),
    };
    Err(SlurmError::Failed { program, said })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remote::program::OwnProgram;

    #[test]
    fn jobs_are_an_array_that_has_each_node_for_itself() {
        let root = tempfile::tempdir().unwrap();
        let own = OwnProgram { bytes: b"program".to_vec(), sha256: "ab".repeat(32) };
        let placed = PlacedProgram::put(root.path(), &own).unwrap();
        let submission = Submission {
            jobs_dir: Path::new("/jobs"),
            campaign: "c",
            numbers: &[2, 7],
            constraint: Some("c16r64&nvme"),
            node: None,
            more: &["--partition=lab".to_owned()],
            placed: &placed,
            words: &["run".to_owned(), "plan.toml".to_owned()],
        };
        let arguments = submission.arguments();
        for wanted in [
            "--array=2,7",
            "--exclusive",
            "--mem=0",
            "--constraint=c16r64&nvme",
            "--output=/jobs/c-%a/slurm.out",
        ] {
            assert!(arguments.iter().any(|one| one == wanted), "{wanted} is not in {arguments:?}");
        }
        assert_eq!(arguments.last().map(String::as_str), Some("plan.toml"));
        let place = |word: &str| arguments.iter().position(|one| one.ends_with(word)).unwrap();
        assert!(place("--mem=0") < place("--partition=lab") && place("--partition=lab") < place("/job.sh"));
        assert_eq!(place("/dbdyno"), place("/job.sh") + 1);
        let pinned = Submission { node: Some("n2"), ..submission }.arguments();
        assert!(pinned.iter().any(|one| one == "--nodelist=n2"));
    }

    #[test]
    fn a_refusal_of_sbatch_says_what_to_do() {
        for (said, does) in [
            ("sbatch: error: Batch job submission failed: Invalid feature specification", "--constraint"),
            ("sbatch: error: invalid partition specified: nope", "--partition=lab"),
            ("sbatch: error: Batch job submission failed: Invalid job array specification", "--jobs"),
            ("sbatch: error: QOSMaxSubmitJobPerUserLimit", "quota"),
            ("sbatch: error: Memory specification can not be satisfied", "--sbatch"),
        ] {
            let error = SlurmError::Refused { said: said.to_owned() }.to_string();
            assert!(error.contains(said) && hint(said).contains(does), "{error}");
        }
    }

    #[test]
    fn a_directory_of_jobs_is_there_and_has_a_name_that_slurm_takes_as_it_is() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(jobs_directory(root.path()).unwrap(), root.path());
        assert!(jobs_directory(&root.path().join("none")).is_err());
        let percent = root.path().join("a%j");
        std::fs::create_dir(&percent).unwrap();
        assert!(matches!(jobs_directory(&percent), Err(SlurmError::NoDirectory { .. })));
    }
}
