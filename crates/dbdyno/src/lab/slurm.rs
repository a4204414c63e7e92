//! Jobs that Slurm brings to nodes: submitted together, followed by what they write into their directories, which all nodes share. Slurm is asked
//! only where a job is and whether it is still there.

use super::bundle::{self, Files};
use super::{Carrier, Fetched, FetchedStore, Heard, JobHere};
use crate::cli::SlurmJobs;
use crate::exit::usage;
use crate::interrupt;
use anyhow::{Context, anyhow};
use formats::slurm::{Phase, QueuedJob};
use model::job::{Job, JobState, Slurm};
use model::plan_file::PlanFile;
use runner::clock;
use runner::remote::job::Ended;
use runner::remote::program::OwnProgram;
use runner::slurm::directory::{JobDirectory, PlacedProgram};
use runner::slurm::lock::CampaignLock;
use runner::slurm::{self, SlurmError, Submission};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};
use store::log_of;

/// How often a job's directory is looked into. It is on a network, and a person reads what is new in it.
const LOOK: Duration = Duration::from_millis(300);
/// How often Slurm is asked for all jobs together: its controller serves a whole cluster.
const LOOK_AT_QUEUE: Duration = Duration::from_secs(3);
/// How long a job's files are waited for after Slurm has said that it is over: on a shared file system other hosts see them a moment later.
const SEEN_LATER: Duration = Duration::from_secs(5);
/// How long after the signal to stop it is sent again to a job that still runs: during the job's prolog it is lost. A job that has received it ignores a second one.
const STOP_AGAIN: Duration = Duration::from_secs(30);
/// How long Slurm may not answer, as when its controller is started again.
const MOST_SILENCE: Duration = Duration::from_secs(600);
/// A store that was written to while it was copied is copied again after this, so many times in all.
const COPIED_AGAIN: Duration = Duration::from_millis(500);
const MOST_COPIES: u32 = 5;
/// Why every job waits now and then; of other reasons the user hears.
const USUAL_REASONS: [&str; 4] = ["Resources", "Priority", "JobArrayTaskLimit", "BeginTime"];

/// The jobs that were asked for, each with what it is called before it has a node; none if they are not for Slurm.
///
/// # Errors
/// A directory of jobs that cannot be one.
pub(super) fn jobs(asked: &SlurmJobs, file: &PlanFile) -> anyhow::Result<Option<Vec<(String, Slurm)>>> {
    let (true, Some(number), Some(jobs_dir)) = (asked.slurm, asked.jobs, &asked.jobs_dir) else {
        return Ok(None);
    };
    let jobs_dir = slurm::jobs_directory(jobs_dir).map_err(usage)?;
    let constraint = asked.constraint.clone().or_else(|| file.hardware.clone());
    let slurm = Slurm {
        jobs_dir: jobs_dir.display().to_string(),
        constraint: constraint.filter(|constraint| !constraint.is_empty()),
        sbatch: asked.sbatch.iter().flat_map(|text| text.split_whitespace()).map(str::to_owned).collect(),
        id: None,
        node: None,
    };
    Ok(Some((1..=number).map(|number| (format!("job {number}"), slurm.clone())).collect()))
}

/// What all jobs of a campaign share.
pub(super) struct InSlurm {
    campaign: String,
    jobs_dir: PathBuf,
    /// Held as long as jobs are submitted and followed.
    lock: CampaignLock,
    constraint: Option<String>,
    sbatch: Vec<String>,
    placed: PlacedProgram,
    words: Vec<String>,
    is_retried: bool,
    files: Option<Files>,
    /// Stores are copied into this directory.
    store_directory: PathBuf,
    begun: Mutex<Begun>,
    looked: Mutex<Looked>,
    /// Jobs are stopped one after another: each is two calls of the controller.
    stopping: Mutex<()>,
}

/// What became of the jobs that had to be submitted.
#[derive(Default)]
struct Begun {
    /// As Slurm counts them, by their numbers.
    submitted: BTreeMap<u32, String>,
    /// Why those were not, by their numbers.
    refused: BTreeMap<u32, String>,
}

/// The queue as it was last seen.
#[derive(Default)]
struct Looked {
    at: Option<Instant>,
    jobs: Option<Vec<QueuedJob>>,
    /// Since when Slurm does not answer.
    silent_since: Option<Instant>,
}

/// What Slurm knows of a job.
enum Seen {
    /// It was not asked yet, or does not answer.
    Unknown,
    /// Nothing: it was over so long ago that it was forgotten.
    Gone,
    Job(QueuedJob),
}

impl InSlurm {
    /// # Errors
    /// A directory of jobs that is no more there, or cannot be written to, and a campaign that another dbdyno follows.
    pub(super) fn new(
        program: &OwnProgram,
        slurm: &Slurm,
        campaign: &str,
        words: Vec<String>,
        is_retried: bool,
        files: Option<Files>,
        store_directory: PathBuf,
    ) -> anyhow::Result<InSlurm> {
        let jobs_dir = slurm::jobs_directory(Path::new(&slurm.jobs_dir)).map_err(usage)?;
        let placed = PlacedProgram::put(&jobs_dir, program)?;
        Ok(InSlurm {
            lock: CampaignLock::take(&jobs_dir, campaign)?,
            campaign: campaign.to_owned(),
            placed,
            jobs_dir,
            constraint: slurm.constraint.clone(),
            sbatch: slurm.sbatch.clone(),
            words,
            is_retried,
            files,
            store_directory,
            begun: Mutex::default(),
            looked: Mutex::default(),
            stopping: Mutex::default(),
        })
    }

    fn directory(&self, number: u32) -> JobDirectory {
        JobDirectory::of(&self.jobs_dir, &self.campaign, number)
    }

    /// The node on which a job that has begun goes on; none if it may begin on any.
    fn node_of(
        &self,
        directory: &JobDirectory,
        job: &Job,
        say: &dyn Fn(&str),
    ) -> anyhow::Result<Option<String>> {
        let Some(node) = directory.node().filter(|_| directory.has_begun()) else { return Ok(None) };
        if slurm::takes_jobs(&node)? {
            return Ok(Some(node));
        }
        say(&format!(
            "{node} takes no jobs now: job {} begins from the start on another node; what {node} has measured of it stays",
            job.number
        ));
        Ok(None)
    }

    /// Those of one node, or of any, are one array.
    fn submit(&self, node: Option<&str>, numbers: &[u32]) -> Result<(), SlurmError> {
        let submission = Submission {
            jobs_dir: &self.jobs_dir,
            campaign: &self.campaign,
            numbers,
            constraint: self.constraint.as_deref(),
            node,
            more: &self.sbatch,
            placed: &self.placed,
            words: &self.words,
        };
        let submitted = match submission.submit() {
            Ok(array) => numbers.iter().map(|number| (*number, format!("{array}_{number}"))).collect(),
            // It may have taken them all the same: an answer can be lost, or be none that is understood.
            Err(error) => match self.in_queue(numbers) {
                taken if taken.is_empty() => return Err(error),
                taken => taken,
            },
        };
        self.begun().submitted.extend(submitted);
        Ok(())
    }

    /// Those of these jobs that wait or run, with their ids; none if Slurm does not answer.
    fn in_queue(&self, numbers: &[u32]) -> BTreeMap<u32, String> {
        let queue = slurm::queue(&self.campaign).unwrap_or_default().into_iter();
        queue
            .filter(|job| matches!(job.phase, Phase::Waiting | Phase::Running))
            .filter_map(|job| Some((job.task.filter(|task| numbers.contains(task))?, job.id)))
            .collect()
    }

    fn begun(&self) -> MutexGuard<'_, Begun> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// By a look at all jobs, unless the last one was a moment ago.
    fn look(&self, id: &str) -> Result<Seen, SlurmError> {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        if looked.at.is_none_or(|at| at.elapsed() > LOOK_AT_QUEUE) {
            match slurm::queue(&self.campaign) {
                Ok(jobs) => (looked.jobs, looked.silent_since) = (Some(jobs), None),
                Err(error) => {
                    looked.jobs = None;
                    if looked.silent_since.get_or_insert_with(Instant::now).elapsed() > MOST_SILENCE {
                        return Err(error);
                    }
                }
            }
            looked.at = Some(Instant::now());
        }
        let Some(jobs) = &looked.jobs else { return Ok(Seen::Unknown) };
        Ok(jobs
            .iter()
            .filter(|job| job.is(id))
            .max_by_key(|job| job.task)
            .cloned()
            .map_or(Seen::Gone, Seen::Job))
    }

    /// Follows a job until it has written down how it ended, or Slurm says that it is over.
    fn follow(&self, job: &Job, id: &str, tell: &dyn Fn(Heard)) -> anyhow::Result<Ended> {
        let directory = self.directory(job.number);
        let is_new = self.begun().submitted.contains_key(&job.number);
        let mut log = directory.log(!is_new);
        let (mut node, mut reason, mut over_since) = (None::<String>, None::<String>, None);
        let mut stopped_at = None;
        loop {
            if interrupt::requested() {
                let at = stopped_at.get_or_insert_with(Instant::now);
                if at.elapsed() > STOP_AGAIN {
                    self.stop(job);
                    *at = Instant::now();
                }
            }
            let mut lines = Vec::new();
            log.new_lines(|line| lines.push(line.to_owned()));
            let seen = self.look(id)?;
            let on_node = match &seen {
                Seen::Job(QueuedJob { phase: Phase::Running, node: Some(node), .. }) => Some(node.clone()),
                // What it says comes sooner than what Slurm says of it.
                Seen::Job(_) | Seen::Gone | Seen::Unknown if lines.is_empty() => None,
                Seen::Job(_) | Seen::Gone | Seen::Unknown => directory.node(),
            };
            if on_node.is_some() && on_node != node {
                node = on_node;
                tell(Heard::Running { node: node.clone() });
            }
            lines.into_iter().for_each(|line| tell(Heard::Line(line)));
            let is_waiting = matches!(&seen, Seen::Job(QueuedJob { phase: Phase::Waiting, .. }));
            if !is_waiting && let Some(ended) = directory.ended() {
                if node.is_none() {
                    tell(Heard::Running { node: directory.node() });
                }
                log.rest(|line| tell(Heard::Line(line.to_owned())));
                return Ok(ended);
            }
            match &seen {
                Seen::Job(QueuedJob { phase: Phase::Waiting, reason: now, .. }) if *now != reason => {
                    if let Some(now) = now.as_deref().filter(|now| !USUAL_REASONS.contains(now)) {
                        tell(Heard::Line(format!("waits for a node: {now}")));
                    }
                    reason.clone_from(now);
                }
                Seen::Job(QueuedJob { phase: Phase::Over, .. }) | Seen::Gone => {
                    let since = over_since.get_or_insert_with(Instant::now);
                    if since.elapsed() > SEEN_LATER {
                        return Ok(lost(&seen, id, &directory));
                    }
                }
                // Somebody may have put it back into the queue.
                Seen::Job(_) => over_since = None,
                Seen::Unknown => {}
            }
            thread::sleep(LOOK);
        }
    }
}

impl Carrier for InSlurm {
    /// Submits what is not done, and neither waits in the queue nor runs.
    fn begin(&self, jobs: &mut [Job], say: &dyn Fn(&str)) -> anyhow::Result<()> {
        let queue = slurm::queue(&self.campaign)?;
        let is_there = |job: &QueuedJob, has_ended: bool| match job.phase {
            Phase::Waiting | Phase::Running => true,
            Phase::Ending => !has_ended,
            Phase::Over => false,
        };
        let mut to_submit: BTreeMap<Option<String>, Vec<u32>> = BTreeMap::new();
        let (mut is_one_there, mut made) = (false, Vec::new());
        for job in jobs.iter_mut().filter(|job| job.state != JobState::Done) {
            let directory = self.directory(job.number);
            let ended = directory.ended();
            let there =
                queue.iter().find(|one| one.task == Some(job.number) && is_there(one, ended.is_some()));
            if let Some(there) = there {
                wait(job, &there.id);
                is_one_there = true;
                continue;
            }
            if ended == Some(Ended::Done) && !self.is_retried {
                continue;
            }
            if !directory.has_files() {
                let which = JobHere::of(job).to_string();
                directory.put_files(&bundle::of_job(job, self.files.as_ref())?, &which)?;
                made.push(directory.clone());
            }
            directory.forget_end()?;
            to_submit.entry(self.node_of(&directory, job, say)?).or_default().push(job.number);
        }
        for (node, numbers) in to_submit {
            let Err(error) = self.submit(node.as_deref(), &numbers) else { continue };
            if !is_one_there && self.begun().submitted.is_empty() {
                made.iter().for_each(JobDirectory::remove_unbegun);
                return Err(error.into());
            }
            self.begun().refused.extend(numbers.iter().map(|number| (*number, error.to_string())));
        }
        let begun = self.begun();
        for job in jobs.iter_mut() {
            if let Some(id) = begun.submitted.get(&job.number) {
                wait(job, id);
            }
        }
        Ok(())
    }

    fn forget(&self) {
        self.lock.remove_file();
    }

    fn carry_out(&self, job: &Job, tell: &dyn Fn(Heard)) -> anyhow::Result<Fetched> {
        if let Some(refusal) = self.begun().refused.get(&job.number) {
            return Err(anyhow!("{refusal}"));
        }
        let id = job.slurm.as_ref().and_then(|slurm| slurm.id.clone()).unwrap_or_default();
        let ended = self.follow(job, &id, tell)?;
        let directory = self.directory(job.number);
        let stores: Vec<FetchedStore> = directory
            .stores()
            .iter()
            .map(|store| copied(store, &self.store_directory))
            .collect::<anyhow::Result<_>>()?;
        if stores.is_empty() && ended == Ended::Done {
            return Err(anyhow!("the job left no store in `{}`", directory.path().display()));
        }
        Ok((ended, stores))
    }

    /// If Slurm cannot be asked, the thread that follows the job says so.
    fn stop(&self, job: &Job) {
        let _one_at_a_time = self.stopping.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(id) = job.slurm.as_ref().and_then(|slurm| slurm.id.as_deref()) {
            let _ = slurm::stop(id);
        }
    }
}

/// It may wait for hours: until it is heard of, readers must not see how it ended before.
fn wait(job: &mut Job, id: &str) {
    if let Some(slurm) = &mut job.slurm {
        slurm.id = Some(id.to_owned());
    }
    (job.state, job.message, job.changed_at_us) = (JobState::Waiting, None, clock::epoch_us());
}

/// Why a job has ended that has not written down how.
fn lost(seen: &Seen, id: &str, directory: &JobDirectory) -> Ended {
    if interrupt::requested() {
        return Ended::Interrupted;
    }
    let mut message = match seen {
        Seen::Job(QueuedJob { state, reason, .. }) => {
            let reason = reason.as_ref().map(|reason| format!(", {reason}")).unwrap_or_default();
            format!("Slurm says of job {id}: {state}{reason}")
        }
        Seen::Gone | Seen::Unknown => match slurm::accounted(id) {
            Some(of) => format!("Slurm says of job {id}: {}, exit {} on {}", of.state, of.exit, of.nodes),
            None => format!("Slurm does not know job {id} any more"),
        },
    };
    let said = directory.said();
    if !said.is_empty() {
        message = format!("{message}; {said}");
    } else if directory.node().is_none() {
        message = format!(
            "{message}; it has written nothing into `{}`: every node must have this directory under this name, and you must be allowed to write there",
            directory.path().display()
        );
    }
    Ended::Failed { message }
}

/// A copy of a job's store, with SQLite's log of it if the job was killed. SQLite does not read it on the shared file system: a node that Slurm has given up may
/// write to it still, and locks and memory that processes on one host share are not seen from another.
fn copied(store: &Path, store_directory: &Path) -> anyhow::Result<FetchedStore> {
    let copy = FetchedStore::in_directory(store_directory)?;
    let is_whole = is_unchanged_while(store, || {
        let (log, log_of_copy) = (log_of(store), log_of(&copy.path()));
        fs::copy(store, copy.path()).with_context(|| format!("failed to copy `{}`", store.display()))?;
        match fs::copy(&log, &log_of_copy) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // Of an earlier copy there may be one.
                let _ = fs::remove_file(&log_of_copy);
                Ok(())
            }
            copied => copied.map(|_| ()).with_context(|| format!("failed to copy `{}`", log.display())),
        }
    })?;
    if is_whole {
        return Ok(copy);
    }
    Err(anyhow!(
        "`{}` is written to: a node still measures the job, though Slurm says that it is over; `run --resume` fetches it once that has ended",
        store.display()
    ))
}

/// Copies again if the store was written to meanwhile, a few times; whether it was not in the last.
fn is_unchanged_while(store: &Path, mut copy: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<bool> {
    for again in 0..MOST_COPIES {
        if again > 0 {
            thread::sleep(COPIED_AGAIN);
        }
        let before = written_at(store)?;
        copy()?;
        if written_at(store)? == before {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Length and time of the store and of its log, none if there is none. Opened for that: only then is NFS asked for them.
fn written_at(store: &Path) -> anyhow::Result<[Option<(u64, SystemTime)>; 2]> {
    let of = |path: &Path| match File::open(path).and_then(|file| file.metadata()) {
        Ok(found) => Ok(Some((found.len(), found.modified()?))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    };
    let looked = of(store).and_then(|of_store| Ok([of_store, of(&log_of(store))?]));
    looked.with_context(|| format!("failed to read `{}`", store.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> PlanFile {
        let text = "name = \"n\"\nworkloads = [\"quick\"]\nsubjects = [\"rocksdb@8.5.4\", \"rocksdb@8.7.3\"]\nhardware = \"c8r32\"\n";
        PlanFile::parse(text, "plan").unwrap()
    }

    fn asked(directory: &Path, constraint: Option<&str>) -> SlurmJobs {
        SlurmJobs {
            slurm: true,
            jobs: Some(3),
            jobs_dir: Some(directory.to_owned()),
            constraint: constraint.map(str::to_owned),
            sbatch: vec!["--partition=lab  --account=db".to_owned()],
        }
    }

    #[test]
    fn jobs_ask_for_the_hardware_class_of_the_plan_unless_the_user_names_something_else() {
        let directory = tempfile::tempdir().unwrap();
        let of = |constraint| jobs(&asked(directory.path(), constraint), &file()).unwrap().unwrap();
        let by_plan = of(None);
        let names: Vec<&str> = by_plan.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["job 1", "job 2", "job 3"]);
        assert_eq!(by_plan[0].1.constraint.as_deref(), Some("c8r32"));
        assert_eq!(by_plan[0].1.sbatch, ["--partition=lab", "--account=db"]);
        assert_eq!(of(Some("nvme"))[0].1.constraint.as_deref(), Some("nvme"));
        assert_eq!(of(Some(""))[0].1.constraint, None);
        let missing = asked(&directory.path().join("none"), None);
        assert!(jobs(&missing, &file()).is_err());
        assert!(jobs(&SlurmJobs { slurm: false, ..missing }, &file()).unwrap().is_none());
    }

    #[test]
    fn a_store_is_copied_with_its_log_and_not_while_a_node_writes_to_it() {
        let (root, here) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let store = root.path().join("store.sqlite");
        let said = |copy: &FetchedStore| {
            let text = |path: &Path| fs::read_to_string(path).ok();
            (text(&copy.path()), text(&log_of(&copy.path())))
        };
        fs::write(&store, "pages").unwrap();
        assert_eq!(said(&copied(&store, here.path()).unwrap()), (Some("pages".to_owned()), None));
        fs::write(log_of(&store), "log").unwrap();
        let copy = copied(&store, here.path()).unwrap();
        assert_eq!(said(&copy), (Some("pages".to_owned()), Some("log".to_owned())));
        let mut copies = 0;
        let mut written_to = |times: u32| {
            copies = 0;
            let is_whole = is_unchanged_while(&store, || {
                copies += 1;
                if copies <= times {
                    fs::write(log_of(&store), "log".repeat(1 + copies as usize)).unwrap();
                }
                Ok(())
            });
            (is_whole.unwrap(), copies)
        };
        assert_eq!(written_to(2), (true, 3));
        assert_eq!(written_to(MOST_COPIES), (false, MOST_COPIES));
    }

    #[test]
    fn of_a_job_that_left_nothing_slurm_and_its_directory_tell_why() {
        let root = tempfile::tempdir().unwrap();
        let directory = JobDirectory::of(root.path(), "c", 1);
        let queued = QueuedJob {
            id: "10_1".to_owned(),
            task: Some(1),
            phase: Phase::Over,
            state: "FAILED".to_owned(),
            node: None,
            reason: Some("JobLaunchFailure".to_owned()),
        };
        let said = |seen: &Seen| match lost(seen, "10_1", &directory) {
            Ended::Failed { message } => message,
            other => panic!("{other:?}"),
        };
        let message = said(&Seen::Job(queued));
        assert!(
            message.starts_with("Slurm says of job 10_1: FAILED, JobLaunchFailure; it has written nothing"),
            "{message}"
        );
        assert!(message.contains("c-1"), "{message}");
        directory.put_files(&[], "c:1:7").unwrap();
        std::fs::write(directory.path().join("slurm.out"), "slurmstepd: error: DUE TO NODE FAILURE\n")
            .unwrap();
        assert!(said(&Seen::Gone).ends_with("; slurmstepd: error: DUE TO NODE FAILURE"));
    }
}
