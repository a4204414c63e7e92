//! Jobs that ssh brings to their hosts: each from a look at its host to its store.

use super::bundle::{self, Files};
use super::{Carrier, Fetched, FetchedStore, Heard, JobHere};
use crate::interrupt;
use anyhow::anyhow;
use model::job::Job;
use runner::clock;
use runner::remote::job::{Ended, JobOnHost};
use runner::remote::program::{HostThere, OwnProgram};
use runner::remote::{RemoteError, RemoteHost};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// What a clock may be off without a word.
const CLOCK_OFF_S: i64 = 60;
/// As stat(1) names them.
const NETWORK_FILE_SYSTEMS: [&str; 6] = ["nfs", "cifs", "smb2", "lustre", "gpfs", "ceph"];

/// Whether what stat(1) calls like this is on other hosts, so that nothing is measured on it.
pub fn is_network(file_system: &str) -> bool {
    NETWORK_FILE_SYSTEMS.contains(&file_system)
}

/// What all jobs of a campaign share.
pub(super) struct BySsh {
    program: OwnProgram,
    /// What begins or resumes a job; which one is added to it.
    words: Vec<String>,
    is_retried: bool,
    files: Option<Files>,
    /// Stores are fetched into this directory.
    store_directory: PathBuf,
    /// The hosts that were looked at, by what they call themselves, with what ssh calls them.
    names: Mutex<BTreeMap<String, String>>,
}

impl BySsh {
    pub(super) fn new(
        program: OwnProgram,
        words: Vec<String>,
        is_retried: bool,
        files: Option<Files>,
        store_directory: PathBuf,
    ) -> BySsh {
        BySsh { program, words, is_retried, files, store_directory, names: Mutex::default() }
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

    fn on_host<'a>(
        &'a self,
        job: &Job,
        name: &'a str,
        words: &'a [String],
    ) -> Result<JobOnHost<'a>, RemoteError> {
        let host = RemoteHost::new(&job.host)?;
        Ok(JobOnHost { host, program: &self.program, name, words, is_retried: self.is_retried })
    }
}

impl Carrier for BySsh {
    /// Each host is a place of its own.
    fn begin(&self, _jobs: &mut [Job], _say: &dyn Fn(&str)) -> anyhow::Result<()> {
        Ok(())
    }

    /// Nothing is made before a job is carried out.
    fn forget(&self) {}

    /// Prepares, begins or resumes, follows, fetches.
    fn carry_out(&self, job: &Job, tell: &dyn Fn(Heard)) -> anyhow::Result<Fetched> {
        let name = name_of(job);
        let mut words = self.words.clone();
        words.extend(["--job".to_owned(), JobHere::of(job).to_string()]);
        let on_host = self.on_host(job, &name, &words)?;
        let there = on_host.prepare()?;
        self.register(&there, &job.host)?;
        let off_s = there.clock_s - clock::epoch_us() / 1_000_000;
        if off_s.abs() > CLOCK_OFF_S {
            tell(Heard::Line(format!(
                "warning: its clock is {off_s} s off: nothing is compared across clocks, but runs are sorted by when they began"
            )));
        }
        if is_network(&there.file_system) {
            tell(Heard::Line(format!(
                "warning: its home is on {}: what is measured must not lie there, so name a local directory by --work-dir",
                there.file_system
            )));
        }
        if !on_host.has_files()? {
            on_host.put_files(&bundle::of_job(job, self.files.as_ref())?)?;
        }
        if interrupt::requested() {
            return Ok((Ended::Interrupted, Vec::new()));
        }
        let said = on_host.start()?;
        tell(Heard::Running { node: None });
        if interrupt::requested() {
            on_host.stop()?;
        }
        let ended = on_host.follow(said, |line| tell(Heard::Line(line.to_owned())))?;
        let store = FetchedStore::in_directory(&self.store_directory)?;
        match on_host.fetch_store(&store.path()) {
            Ok(()) => Ok((ended, vec![store])),
            // It may have ended before it made one; why it did is the better message.
            Err(RemoteError::NoStore { .. }) if ended != Ended::Done => Ok((ended, Vec::new())),
            Err(error) => Err(error.into()),
        }
    }

    /// If the host cannot be reached, the thread that follows the job says so.
    fn stop(&self, job: &Job) {
        let name = name_of(job);
        if let Ok(on_host) = self.on_host(job, &name, &[]) {
            let _ = on_host.stop();
        }
    }
}

fn name_of(job: &Job) -> String {
    format!("{}-{}", job.campaign, job.number)
}
