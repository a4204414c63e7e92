//! One job of a campaign, from a look at its host to its store: what is done is heard by the campaign, which alone writes.

use super::bundle::{self, Files};
use crate::cli::{Places, Run};
use crate::exit::usage;
use crate::interrupt;
use anyhow::anyhow;
use model::job::Job;
use model::plan_file::PlanFile;
use runner::clock;
use runner::remote::job::{Ended, HostThere, JobOnHost, OwnProgram, PLAN};
use runner::remote::{RemoteError, RemoteHost};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// What a clock may be off without a word.
const CLOCK_OFF_S: i64 = 60;
/// As stat(1) names them.
const NETWORK_FILE_SYSTEMS: [&str; 6] = ["nfs", "cifs", "smb2", "lustre", "gpfs", "ceph"];

/// What is heard of a job.
pub(super) enum Heard {
    Line(String),
    Running,
    /// How it ended, and its store if there is one.
    Ended(anyhow::Result<(Ended, Option<Vec<u8>>)>),
}

/// What all jobs of a campaign share.
pub(super) struct Common<'a> {
    program: &'a OwnProgram,
    /// What begins or resumes a job; which one is added to it.
    words: Vec<String>,
    is_retried: bool,
    files: Option<Files>,
    /// The hosts that were looked at, by what they call themselves, with what ssh calls them.
    names: Mutex<BTreeMap<String, String>>,
}

impl<'a> Common<'a> {
    /// # Errors
    /// A work directory whose name is no UTF-8.
    pub(super) fn of(
        program: &'a OwnProgram,
        places: &Places,
        arguments: &Run,
        files: Option<Files>,
    ) -> anyhow::Result<Common<'a>> {
        let speed: &[&str] = if arguments.speed.no_fingerprint { &["--no-fingerprint"] } else { &[] };
        let retry: &[&str] = if arguments.retry_failed { &["--retry-failed"] } else { &[] };
        let work_dir = match &places.work_dir {
            Some(path) => {
                let path = path.to_str().ok_or_else(|| usage(anyhow!("--work-dir is no UTF-8")))?;
                vec!["--work-dir", path]
            }
            None => Vec::new(),
        };
        let words =
            [&["run", PLAN], speed, retry, &work_dir].concat().into_iter().map(str::to_owned).collect();
        Ok(Common { program, words, is_retried: arguments.retry_failed, files, names: Mutex::default() })
    }

    /// # Errors
    /// Two targets with the same host name. They may be one machine, where two jobs would disturb each other; if they are two, the report could not
    /// say which result is whose.
    fn register(&self, there: &HostThere, target: &str) -> anyhow::Result<()> {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        match names.insert(there.name.clone(), target.to_owned()) {
            Some(other) if other != target => Err(anyhow!(
                "it calls itself {}, as {other} does: name each host once, and give hosts names of their own",
                there.name
            )),
            Some(_) | None => Ok(()),
        }
    }
}

/// Prepares, begins or resumes, follows, fetches.
pub(super) fn carry_out(
    job: &Job,
    common: &Common<'_>,
    tell: &dyn Fn(Heard),
) -> anyhow::Result<(Ended, Option<Vec<u8>>)> {
    let (name, words) = (name_of(job), words(job, common));
    let on_host = on_host(job, common, &name, &words)?;
    let there = on_host.prepare()?;
    common.register(&there, &job.host)?;
    let off_s = there.clock_s - clock::epoch_us() / 1_000_000;
    if off_s.abs() > CLOCK_OFF_S {
        tell(Heard::Line(format!(
            "warning: its clock is {off_s} s off: nothing is compared across clocks, but runs are sorted by when they began"
        )));
    }
    if NETWORK_FILE_SYSTEMS.contains(&there.file_system.as_str()) {
        tell(Heard::Line(format!(
            "warning: its home is on {}: what is measured must not lie there, so name a local directory by --work-dir",
            there.file_system
        )));
    }
    if !on_host.has_files()? {
        match &common.files {
            Some(files) => on_host.put_files(files)?,
            None => {
                let file = PlanFile::parse(&job.plan, "the plan of the campaign")?;
                on_host.put_files(&bundle::files(&job.plan, &file)?)?;
            }
        }
    }
    if interrupt::requested() {
        return Ok((Ended::Interrupted, None));
    }
    let said = on_host.start()?;
    tell(Heard::Running);
    if interrupt::requested() {
        on_host.stop()?;
    }
    let ended = on_host.follow(said, |line| tell(Heard::Line(line.to_owned())))?;
    match on_host.store() {
        Ok(store) => Ok((ended, Some(store))),
        // It may have ended before it made one; why it did is the better message.
        Err(RemoteError::NoStore { .. }) if ended != Ended::Done => Ok((ended, None)),
        Err(error) => Err(error.into()),
    }
}

/// If the host cannot be reached, the thread that follows the job says so.
pub(super) fn stop(job: &Job, common: &Common<'_>) {
    let name = name_of(job);
    if let Ok(on_host) = on_host(job, common, &name, &[]) {
        let _ = on_host.stop();
    }
}

fn on_host<'a>(
    job: &Job,
    common: &'a Common<'_>,
    name: &'a str,
    words: &'a [String],
) -> Result<JobOnHost<'a>, RemoteError> {
    let host = RemoteHost::new(&job.host)?;
    Ok(JobOnHost { host, program: common.program, name, words, is_retried: common.is_retried })
}

fn name_of(job: &Job) -> String {
    format!("{}-{}", job.campaign, job.number)
}

fn words(job: &Job, common: &Common<'_>) -> Vec<String> {
    let mut words = common.words.clone();
    words.extend(["--job".to_owned(), format!("{}:{}:{}", job.campaign, job.number, job.seed)]);
    words
}
