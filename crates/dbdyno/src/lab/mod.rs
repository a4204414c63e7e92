//! `dbdyno run PLAN --hosts a,b,c` and `--slurm`: each job measures all of the plan on one host, with a seed of its own, and its runs come into the
//! store here. A round or launch with all its subjects stays on one host, so that the host is in no ratio.

pub mod bundle;
mod slurm;
mod ssh;

pub use ssh::is_network;

use crate::cli::{Places, Run};
use crate::commands::measure::{TOOL_VERSION, new_run_id};
use crate::commands::report;
use crate::exit::{Ending, usage};
use crate::planning::drawn_seed;
use crate::progress::Progress;
use crate::{interrupt, paths};
use anyhow::{Context, anyhow};
use bundle::Files;
use model::figures::{and_list, count};
use model::job::{Job, JobState, Slurm};
use model::plan_file::PlanFile;
use runner::clock;
use runner::remote::job::{Ended, PLAN};
use runner::remote::program::OwnProgram;
use runner::remote::{RemoteError, RemoteHost};
use runner::slurm::SlurmError;
use slurm::InSlurm;
use ssh::BySsh;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;
use store::{MergedBy, Writer};
use tempfile::TempDir;

/// How often Ctrl-C is looked for while nothing is heard.
const LOOK: Duration = Duration::from_millis(200);

/// How a job ended, and its stores if it has any.
type Fetched = (Ended, Vec<FetchedStore>);

/// A store that was fetched, in a directory of its own, which is removed with it.
struct FetchedStore {
    directory: TempDir,
}

impl FetchedStore {
    /// Below the directory of the store here, whose disk needs the room anyway.
    fn in_directory(store_directory: &Path) -> anyhow::Result<FetchedStore> {
        let directory = tempfile::Builder::new().prefix(".dbdyno-job-").tempdir_in(store_directory);
        Ok(FetchedStore {
            directory: directory.context("failed to make a directory for the store of a host")?,
        })
    }

    /// Its file, which has yet to be written.
    fn path(&self) -> PathBuf {
        self.directory.path().join("store.sqlite")
    }
}

/// What is heard of a job.
enum Heard {
    Line(String),
    /// It has begun; in Slurm on this node.
    Running {
        node: Option<String>,
    },
    Ended(anyhow::Result<Fetched>),
}

/// What brings jobs to hosts, and back what they measured. What is done is heard by the campaign, which alone writes.
trait Carrier: Sync {
    /// Done once, before any job is carried out, for all of them together.
    ///
    /// # Errors
    /// No job can be carried out.
    fn begin(&self, jobs: &mut [Job], say: &dyn Fn(&str)) -> anyhow::Result<()>;

    /// Removes the files of a new campaign if none of its jobs could be begun.
    fn forget(&self);

    /// Begins or resumes a job and follows it to its end.
    fn carry_out(&self, job: &Job, tell: &dyn Fn(Heard)) -> anyhow::Result<Fetched>;

    /// Asks a job to end in order.
    fn stop(&self, job: &Job);
}

/// Measures a plan on hosts. `text` is that of the plan, `file` what it says.
pub fn run(places: &Places, arguments: &Run, text: &str, file: &PlanFile) -> anyhow::Result<Ending> {
    let placed: Vec<(String, Option<Slurm>)> = match slurm::jobs(&arguments.slurm, file)? {
        Some(jobs) => jobs.into_iter().map(|(name, slurm)| (name, Some(slurm))).collect(),
        None => hosts(&arguments.hosts)?.into_iter().map(|host| (host.target().to_owned(), None)).collect(),
    };
    // Once: all hosts get the same, whatever is edited meanwhile.
    let files = bundle::files(text, file)?;
    let campaign = new_run_id()?;
    let first_seed = match file.seed {
        Some(seed) => seed,
        None => drawn_seed()?,
    };
    let job = |((host, slurm), number): ((String, Option<Slurm>), u32)| Job {
        campaign: campaign.clone(),
        number,
        host,
        state: JobState::Waiting,
        message: None,
        seed: first_seed.wrapping_add(u64::from(number)),
        plan: text.to_owned(),
        changed_at_us: clock::epoch_us(),
        slurm,
    };
    let jobs: Vec<Job> = placed.into_iter().zip(1..).map(job).collect();
    Lab::new(places, jobs).carry_out(arguments, Some(files))
}

/// Goes on with the jobs of a campaign that are not done; to measure again what failed, with all of them.
pub fn resume(places: &Places, arguments: &Run, mut jobs: Vec<Job>) -> anyhow::Result<Ending> {
    if arguments.retry_failed {
        jobs.iter_mut().for_each(|job| job.state = JobState::Waiting);
    }
    if jobs.iter().all(|job| job.state == JobState::Done) {
        let campaign = jobs.first().map(|job| job.campaign.clone()).unwrap_or_default();
        return Err(usage(anyhow!(
            "all jobs of campaign {campaign} are done: there is nothing to resume; --retry-failed measures again what failed in them"
        )));
    }
    Lab::new(places, jobs).carry_out(arguments, None)
}

/// # Errors
/// A text that names no host, or one twice.
fn hosts(texts: &[String]) -> anyhow::Result<Vec<RemoteHost>> {
    let mut seen = BTreeSet::new();
    let mut hosts = Vec::new();
    for text in texts {
        let host = RemoteHost::new(text).map_err(usage)?;
        if !seen.insert(host.clone()) {
            return Err(usage(anyhow!(
                "host {text} is named twice: two jobs would disturb each other there"
            )));
        }
        hosts.push(host);
    }
    Ok(hosts)
}

/// A campaign on several hosts. The store is open only while something is written to it: it may be hours until a job ends, and others measure here
/// meanwhile.
struct Lab<'a> {
    places: &'a Places,
    progress: Progress,
    jobs: Vec<Job>,
    /// The jobs that the store does not have as they are now, with what was fetched of them.
    unwritten: BTreeMap<usize, Vec<FetchedStore>>,
    is_waiting_for_store: bool,
}

impl<'a> Lab<'a> {
    fn new(places: &'a Places, jobs: Vec<Job>) -> Lab<'a> {
        Lab {
            places,
            progress: Progress::new(),
            jobs,
            unwritten: BTreeMap::new(),
            is_waiting_for_store: false,
        }
    }

    /// `files` are those that each host needs; without, they are read for a host that has not got them.
    fn carry_out(mut self, arguments: &Run, files: Option<Files>) -> anyhow::Result<Ending> {
        interrupt::listen()?;
        let Some(first) = self.jobs.first().cloned() else { return Ok(Ending::Done) };
        let (program, words) = (OwnProgram::read()?, words(self.places, arguments)?);
        let is_new = files.is_some();
        let store_directory = paths::store_directory(self.places)?;
        let carrier: Box<dyn Carrier> = match &first.slurm {
            Some(slurm) => Box::new(InSlurm::new(
                &program,
                slurm,
                &first.campaign,
                words,
                arguments.retry_failed,
                files,
                store_directory,
            )?),
            None => Box::new(BySsh::new(program, words, arguments.retry_failed, files, store_directory)),
        };
        self.begin(&*carrier, is_new)?;
        let campaign = first.campaign;
        let on = match &first.slurm {
            Some(_) => format!("by {} in Slurm", count(self.jobs.len() as u64, "job", "jobs")),
            None => {
                let names: Vec<String> = self.jobs.iter().map(|job| job.host.clone()).collect();
                format!("on {}", and_list(&names))
            }
        };
        self.progress.say(&format!("campaign {campaign} {on}"));
        self.measure(&*carrier);
        let left: Vec<&Job> = self.jobs.iter().filter(|job| job.state != JobState::Done).collect();
        for job in &left {
            let message = job.message.as_ref().map(|message| format!(": {message}")).unwrap_or_default();
            self.progress.say(&format!("{}: {}{message}", job.label(), job.state.name()));
        }
        if !left.is_empty() {
            self.progress.say(&format!("`dbdyno run --resume {campaign}` continues"));
        }
        let ending = match self.jobs.iter().map(|job| job.state).max_by_key(|state| severity(*state)) {
            Some(JobState::Done) | None => Ending::Done,
            Some(JobState::Interrupted) => Ending::Interrupted,
            Some(_) => Ending::RunFailed,
        };
        report::of_campaign(self.places, &campaign, &arguments.output, arguments.detail)?;
        Ok(ending)
    }

    /// Opens the store first: if it cannot be used, the user hears so before any job is submitted. A new campaign is written before that, so that
    /// whatever ends this process meanwhile, it can be resumed; if all jobs are refused, nothing of it stays.
    fn begin(&mut self, carrier: &dyn Carrier, is_new: bool) -> anyhow::Result<()> {
        let mut writer = paths::open_store(self.places)?;
        let campaign = self.jobs.first().map(|job| job.campaign.clone()).unwrap_or_default();
        if is_new {
            writer.write_jobs(&self.jobs)?;
            if self.jobs.iter().any(|job| job.slurm.is_some()) {
                let jobs = count(self.jobs.len() as u64, "job", "jobs");
                self.progress.say(&format!("submitting {jobs} of campaign {campaign} to Slurm"));
            }
        }
        let begun = carrier.begin(&mut self.jobs, &|text| self.progress.say(text));
        let is_submitted = |job: &Job| job.slurm.as_ref().is_some_and(|slurm| slurm.id.is_some());
        if begun.is_ok() || self.jobs.iter().any(is_submitted) {
            writer.write_jobs(&self.jobs)?;
        } else if is_new {
            carrier.forget();
            match writer.remove_jobs(&campaign) {
                Ok(()) => self
                    .progress
                    .say(&format!("campaign {campaign} is removed: none of its jobs could be begun")),
                // Why none could is the error of the command.
                Err(error) => self.progress.say(&format!("{:#}", anyhow::Error::new(error))),
            }
        }
        begun
    }

    /// All hosts at the same time, until each has ended or cannot be heard any more, and the store has all of it.
    fn measure(&mut self, carrier: &dyn Carrier) {
        let on_hosts = self.jobs.clone();
        let mut waiting: BTreeSet<usize> =
            (0..on_hosts.len()).filter(|place| on_hosts[*place].state != JobState::Done).collect();
        thread::scope(|scope| {
            let (sender, heard) = mpsc::channel();
            for place in waiting.clone() {
                let (sender, job) = (sender.clone(), &on_hosts[place]);
                scope.spawn(move || {
                    let ended = carrier.carry_out(job, &|heard| tell(&sender, place, heard));
                    tell(&sender, place, Heard::Ended(ended));
                });
            }
            let mut stopping = false;
            while !waiting.is_empty() || !self.unwritten.is_empty() {
                if let Ok((place, heard)) = heard.recv_timeout(LOOK) {
                    if matches!(heard, Heard::Ended(_)) {
                        waiting.remove(&place);
                    }
                    self.on(place, heard);
                }
                self.write();
                if interrupt::requested() && !stopping {
                    stopping = true;
                    self.progress.say("stopping the hosts");
                    for place in &waiting {
                        let job = &on_hosts[*place];
                        scope.spawn(move || carrier.stop(job));
                    }
                }
                // What was fetched is on its host still.
                if interrupt::requested() && waiting.is_empty() {
                    return;
                }
            }
        });
    }

    fn on(&mut self, place: usize, heard: Heard) {
        let job = &mut self.jobs[place];
        let mut fetched = Vec::new();
        match heard {
            Heard::Line(line) => return self.progress.say(&format!("{}: {line}", job.host)),
            Heard::Running { node } => {
                (job.state, job.message) = (JobState::Running, None);
                if let (Some(node), Some(slurm)) = (node, &mut job.slurm) {
                    job.host.clone_from(&node);
                    slurm.node = Some(node);
                }
            }
            Heard::Ended(Ok((ended, stores))) => {
                (job.state, job.message) = match ended {
                    Ended::Done => (JobState::Done, None),
                    Ended::Interrupted => (JobState::Interrupted, None),
                    Ended::Failed { message } => (JobState::Failed, Some(message)),
                };
                fetched = stores;
            }
            Heard::Ended(Err(error)) => {
                job.state = if is_lost(&error) { JobState::Unreachable } else { JobState::Failed };
                job.message = Some(format!("{error:#}"));
            }
        }
        job.changed_at_us = clock::epoch_us();
        self.unwritten.insert(place, fetched);
    }

    /// Brings the store up to date, unless another dbdyno writes to it. An error of the store is printed; the other jobs go on.
    fn write(&mut self) {
        if self.unwritten.is_empty() {
            return;
        }
        let mut writer = match paths::open_store(self.places) {
            Ok(writer) => writer,
            Err(error) => {
                let is_in_use =
                    matches!(error.downcast_ref::<store::Error>(), Some(store::Error::OtherWriter { .. }));
                if !is_in_use {
                    self.unwritten.clear();
                }
                if !is_in_use || !self.is_waiting_for_store {
                    self.progress.say(&format!("what the hosts did is not in the store yet: {error:#}"));
                }
                self.is_waiting_for_store = is_in_use;
                return;
            }
        };
        self.is_waiting_for_store = false;
        for (place, fetched) in std::mem::take(&mut self.unwritten) {
            let job = &mut self.jobs[place];
            for store in fetched {
                if let Err(error) = merge(&mut writer, job, &store) {
                    (job.state, job.message) = (JobState::Failed, Some(format!("{error:#}")));
                }
            }
            if let Err(error) = writer.write_jobs(std::slice::from_ref(job)) {
                self.progress.say(&format!("{}: {:#}", job.label(), anyhow::Error::new(error)));
            }
        }
    }
}

/// The arguments of dbdyno that begin or resume a job, without `--store` and `--job`.
///
/// # Errors
/// A work directory whose name is no UTF-8.
fn words(places: &Places, arguments: &Run) -> anyhow::Result<Vec<String>> {
    let speed: &[&str] = if arguments.speed.no_fingerprint { &["--no-fingerprint"] } else { &[] };
    let retry: &[&str] = if arguments.retry_failed { &["--retry-failed"] } else { &[] };
    let work_dir = match &places.work_dir {
        Some(path) => {
            let path = path.to_str().ok_or_else(|| usage(anyhow!("--work-dir is no UTF-8")))?;
            vec!["--work-dir", path]
        }
        None => Vec::new(),
    };
    Ok([&["run", PLAN], speed, retry, &work_dir].concat().into_iter().map(str::to_owned).collect())
}

/// Whether what was begun may go on, and only the way to it is lost.
fn is_lost(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<RemoteError>().is_some_and(RemoteError::is_of_connection)
            || cause.downcast_ref::<SlurmError>().is_some_and(SlurmError::is_of_connection)
    })
}

/// Adds what a host has measured to the store.
fn merge(writer: &mut Writer, job: &Job, store: &FetchedStore) -> anyhow::Result<()> {
    let by = MergedBy { origin: &job.host, at_us: clock::epoch_us(), tool_version: TOOL_VERSION };
    let merged = store::merge(writer, &store.path(), by)?;
    match merged.diverged.first() {
        Some(run) => Err(anyhow!("run {run} is in the store already, and is not the one of the host")),
        None => Ok(()),
    }
}

/// A receiver that is gone has ended with an error of its own.
fn tell(sender: &Sender<(usize, Heard)>, place: usize, heard: Heard) {
    let _ = sender.send((place, heard));
}

/// A campaign ends as the most severe of its jobs does.
fn severity(state: JobState) -> u8 {
    match state {
        JobState::Done => 0,
        JobState::Interrupted => 1,
        JobState::Waiting | JobState::Running | JobState::Unreachable => 2,
        JobState::Failed => 3,
    }
}

/// What a host was told of the job that it measures: `--job CAMPAIGN:NUMBER:SEED`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobHere {
    pub campaign: String,
    pub number: u32,
    pub seed: u64,
}

impl JobHere {
    fn of(job: &Job) -> JobHere {
        JobHere { campaign: job.campaign.clone(), number: job.number, seed: job.seed }
    }
}

impl std::fmt::Display for JobHere {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}:{}:{}", self.campaign, self.number, self.seed)
    }
}

impl std::str::FromStr for JobHere {
    type Err = String;

    fn from_str(text: &str) -> Result<JobHere, String> {
        let mut parts = text.split(':');
        let parsed = (|| {
            let campaign = parts.next().filter(|campaign| !campaign.is_empty())?;
            let number = parts.next()?.parse().ok()?;
            let seed = parts.next()?.parse().ok()?;
            parts.next().is_none().then(|| JobHere { campaign: campaign.to_owned(), number, seed })
        })();
        parsed.ok_or_else(|| "write it like 20261127-160000-3fa9:2:7".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_read_back_and_what_is_none_refused() {
        let job = JobHere { campaign: "20261127-160000-3fa9".to_owned(), number: 2, seed: u64::MAX };
        assert_eq!(job.to_string(), "20261127-160000-3fa9:2:18446744073709551615");
        assert_eq!("20261127-160000-3fa9:2:18446744073709551615".parse(), Ok(job));
        for text in ["", "a", "a:1", ":1:2", "a:x:2", "a:1:2:3"] {
            assert!(text.parse::<JobHere>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_host_that_is_named_twice_is_refused() {
        let named = |texts: &[&str]| hosts(&texts.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(named(&["a", "me@b"]).unwrap().len(), 2);
        assert!(named(&["a", "b", "a"]).unwrap_err().to_string().contains("named twice"));
        assert!(named(&["-x"]).is_err());
    }
}
