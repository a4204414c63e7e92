//! `dbdyno run PLAN.toml`: a matrix of builds, configurations and workloads, in rounds or one after another.

use crate::cli::{Gate, HostSpeed, Output, Places, Run};
use crate::commands::measure::{self, Measured, Origin, Ready, Resuming};
use crate::commands::render::{self, Wanted};
use crate::commands::{gate, print};
use crate::exit::{Ending, usage};
use crate::lab::JobHere;
use crate::planning::campaign::{self, Campaign};
use crate::planning::parts;
use crate::progress::Progress;
use crate::there::asking;
use crate::{finding, fingerprints, interrupt, lab, paths};
use anyhow::{Context, anyhow};
use findings::selection::Selection;
use findings::{ComparedRun, Finding};
use model::block::{Outcome, Side};
use model::event::RunOutcome;
use model::figures::count;
use model::job::Job;
use model::plan::{Design, Plan, Purpose};
use model::plan_file::PlanFile;
use model::reason::Reason;
use model::record::{RunRecord, RunStatus};
use model::server_host;
use model::warning::Warning;
use model::workload::{Operation, Step};
use runner::clock::Stopwatch;
use std::collections::BTreeSet;
use std::path::Path;
use store::{QueuedRun, Retry, Store, Writer};

/// Plans, measures workload after workload, prints each report.
pub fn run(places: &Places, arguments: &Run) -> anyhow::Result<Ending> {
    render::check(&arguments.output, true)?;
    if let Some(wanted) = &arguments.resume {
        return resume(places, arguments, wanted);
    }
    let Some(path) = &arguments.plan else { return Err(usage(anyhow!("name a plan file"))) };
    let text = read(path)?;
    let file = parse(&text, path)?;
    let file = with_planted(with_db_bench(file, &arguments.db_bench)?, &arguments.plant)?;
    db_bench_has_the_steps(&file)?;
    if arguments.dry_run {
        // Its memory says how many sides can be there at once.
        let host = match &file.server_host {
            Some(text) => asking::host(places, server_host::target(text).map_err(usage)?)?.0,
            None => runner::proc::host::describe(Path::new("/")),
        };
        for workload in campaign::workloads(&file)? {
            let parts = parts::of(&file, &workload, host.memory_bytes)?;
            let has_interleaved = parts.parts.iter().any(|part| part.design == Design::Interleaved);
            let earlier = match has_interleaved {
                true => last_interleaved(places, &workload.name, &host.name)?,
                false => None,
            };
            let text = campaign::describe(&file, &workload, &parts, host.memory_bytes, earlier.as_ref());
            print::text(&report::printable_lines(&text))?;
        }
        return Ok(Ending::Done);
    }
    if !arguments.hosts.is_empty() || arguments.slurm.slurm {
        if file.server_host.is_some() {
            return Err(usage(anyhow!(
                "the plan has its servers on a host of their own (`server_host`), and --hosts and --slurm measure all of it on each host: leave out one of them"
            )));
        }
        return lab::run(places, arguments, &text, &file);
    }
    if let Some(job) = &arguments.job {
        return measure_job(places, arguments, file, job);
    }
    measure_file(places, &file, &arguments.speed, reported(arguments))
}

/// Measures what another dbdyno wants of this host, or goes on with it.
fn measure_job(places: &Places, arguments: &Run, file: PlanFile, job: &JobHere) -> anyhow::Result<Ending> {
    let mut session = Session::open(places, &arguments.speed, reported(arguments))?;
    session.job = Some(job.number);
    let store = session.writer.store();
    if store.runs_of_campaign(&job.campaign)?.is_empty() && store.queued(&job.campaign)? == 0 {
        return session.measure_file(&PlanFile { seed: Some(job.seed), ..file }, &job.campaign);
    }
    session.resume_campaign(&job.campaign, retry(arguments))
}

fn retry(arguments: &Run) -> Retry {
    if arguments.retry_failed { Retry::Failed } else { Retry::CutOff }
}

/// More runs than these are not looked at.
const MOST_EARLIER_RUNS: u32 = 20;

/// The newest interleaved campaign of a workload on this host: what its launches took and how much they scattered.
fn last_interleaved(places: &Places, workload: &str, host: &str) -> anyhow::Result<Option<RunRecord>> {
    // Without a store there is no earlier run.
    let Ok(store) = Store::open_existing(&paths::store_file(places)?) else { return Ok(None) };
    for head in store.runs_of(workload, MOST_EARLIER_RUNS)? {
        let (plan, of) = store.run_plan(&head.id)?;
        if plan.is_interleaved_campaign() && of.name == host {
            let record = store.load_run(&head.id)?;
            if record.status == RunStatus::Ended(RunOutcome::Done) {
                return Ok(Some(record));
            }
        }
    }
    Ok(None)
}

fn reported(arguments: &Run) -> Reported<'_> {
    Reported { output: &arguments.output, detail: arguments.detail, gate: None }
}

/// Measures every workload of a plan; also the way of `compare --design rounds`. All of them are queued before the first begins, so
/// that `--resume` goes on to the others.
pub fn measure_file(
    places: &Places,
    file: &PlanFile,
    speed: &HostSpeed,
    reported: Reported<'_>,
) -> anyhow::Result<Ending> {
    let mut session = Session::open(places, speed, reported)?;
    session.measure_file(file, &measure::new_run_id()?)
}

/// The plan's; with the workload if there are several, and with the design if the workload is measured by two.
fn name_of_run(file: &PlanFile, plan: &Plan) -> String {
    let mut name = file.name.clone();
    if file.workloads.len() > 1 {
        name = format!("{name}/{}", plan.workload.name);
    }
    if !plan.layout.steps_of_other_run.is_empty() {
        name = format!("{name}/{}", plan.layout.design.name());
    }
    name
}

/// Goes on with a run that was stopped, and then with those of its campaign that have not begun.
fn resume(places: &Places, arguments: &Run, wanted: &str) -> anyhow::Result<Ending> {
    let jobs = jobs_of(places, wanted)?;
    if !jobs.is_empty() {
        return lab::resume(places, arguments, jobs);
    }
    let mut session = Session::open(places, &arguments.speed, reported(arguments))?;
    let run = session.writer.store().find_run(wanted).map_err(usage)?;
    let campaign = session.writer.store().campaign_of(&run)?.unwrap_or_default();
    let resumed =
        session.resume_run(&run, retry(arguments), session.writer.store().queued(&campaign)? > 0)?;
    if resumed == Ending::Interrupted {
        session.say_what_is_left(&campaign)?;
        return Ok(resumed);
    }
    Ok(worse(resumed, session.measure_queue(&campaign)?))
}

/// The jobs of a campaign on several hosts, by its id or by one of its runs; none of a run of this host alone.
fn jobs_of(places: &Places, wanted: &str) -> anyhow::Result<Vec<Job>> {
    // Without a store there is nothing to resume, which is said by who opens it next.
    let Ok(store) = Store::open_existing(&paths::store_file(places)?) else { return Ok(Vec::new()) };
    let jobs = store.jobs(wanted)?;
    if !jobs.is_empty() {
        return Ok(jobs);
    }
    let Ok(run) = store.find_run(wanted) else { return Ok(Vec::new()) };
    match store.campaign_of(&run)? {
        Some(campaign) => Ok(store.jobs(&campaign)?),
        None => Ok(Vec::new()),
    }
}

/// Measuring the runs of a campaign.
struct Session<'a> {
    places: &'a Places,
    speed: &'a HostSpeed,
    reported: Reported<'a>,
    writer: Writer,
    progress: Progress,
    /// Of a campaign on several hosts, which of its jobs this is.
    job: Option<u32>,
}

impl<'a> Session<'a> {
    fn open(places: &'a Places, speed: &'a HostSpeed, reported: Reported<'a>) -> anyhow::Result<Session<'a>> {
        interrupt::listen()?;
        let writer = paths::open_store(places)?;
        Ok(Session { places, speed, reported, writer, progress: Progress::new(), job: None })
    }

    /// Measures every workload of a plan.
    fn measure_file(&mut self, file: &PlanFile, campaign: &str) -> anyhow::Result<Ending> {
        let campaigns = campaign::plans(self.places, file, &mut |text| self.progress.say(text))?;
        let runs: Vec<QueuedRun> = campaigns
            .into_iter()
            .map(|Campaign { plan, written_options }| QueuedRun {
                name: name_of_run(file, &plan),
                plan,
                written_options,
            })
            .collect();
        // Before the queue is written: a campaign none of whose runs has started cannot be resumed.
        let server_host = runs.first().and_then(|run| run.plan.layout.server_host.as_deref());
        fingerprints::before_run(self.places, server_host, self.speed, &self.progress)?;
        self.writer.queue(campaign, &runs)?;
        self.measure_queue(campaign)
    }

    /// Goes on with all runs of a campaign that were stopped, then with those that have not begun. One that cannot be gone on with ends none of
    /// the others.
    fn resume_campaign(&mut self, campaign: &str, retry: Retry) -> anyhow::Result<Ending> {
        let mut worst = Ending::Done;
        for run in self.writer.store().runs_of_campaign(campaign)? {
            let record = self.writer.store().load_run(&run)?;
            // An interleaved run has no single turns to measure again.
            let retry = if is_interleaved(&record) { Retry::CutOff } else { retry };
            let ended = match (record.status, is_left(&record, retry)) {
                (RunStatus::Ended(outcome), false) => {
                    show(&self.writer, &Measured { run: run.clone(), outcome }, self.reported)
                }
                _ => self.go_on(record, retry),
            };
            let ending = self.or_said(&run, ended)?;
            if ending == Ending::Interrupted {
                self.say_what_is_left(campaign)?;
                return Ok(ending);
            }
            worst = worse(worst, ending);
        }
        Ok(worse(worst, self.measure_queue(campaign)?))
    }

    /// Measures the runs of a campaign that have not begun, one after another. One that cannot be measured ends none of the others.
    fn measure_queue(&mut self, campaign: &str) -> anyhow::Result<Ending> {
        let mut worst = Ending::Done;
        while let Some(QueuedRun { name, plan, written_options }) =
            self.writer.store().next_queued(campaign)?
        {
            let left = self.writer.store().queued(campaign)?;
            let server_host = plan.layout.server_host.as_deref();
            let measured = fingerprints::before_run(self.places, server_host, self.speed, &self.progress);
            let fingerprint = match measured {
                Err(_) if interrupt::requested() => {
                    self.say_what_is_left(campaign)?;
                    return Ok(Ending::Interrupted);
                }
                measured => measured?,
            };
            let ready = Ready { plan, written_options, fingerprint, watch: Stopwatch::start() };
            let origin = Origin::Queue { campaign, job: self.job };
            let ended = measure::measure(self.places, &ready, origin, &mut self.writer, &mut self.progress)
                .and_then(|measured| show(&self.writer, &measured, self.reported));
            // A run that is still queued would fail again. If none follows, its error is that of the command.
            let others = (1..left).contains(&self.writer.store().queued(campaign)?);
            let ending = if others { self.or_said(&name, ended)? } else { ended? };
            if ending == Ending::Interrupted {
                self.say_what_is_left(campaign)?;
                return Ok(ending);
            }
            worst = worse(worst, ending);
        }
        Ok(worst)
    }

    /// The error of one of several runs is said, and the others go on, unless the user wants to stop.
    fn or_said(&self, run: &str, ended: anyhow::Result<Ending>) -> anyhow::Result<Ending> {
        match ended {
            Err(error) if !interrupt::requested() => {
                self.progress.say(&format!("{run}: {error:#}"));
                Ok(Ending::RunFailed)
            }
            ended => ended,
        }
    }

    fn say_what_is_left(&self, campaign: &str) -> anyhow::Result<()> {
        let queued = self.writer.store().queued(campaign)?;
        if queued > 0 {
            let left = count(u64::from(queued), "workload is", "workloads are");
            self.progress.say(&format!("{left} still to be measured: `dbdyno run --resume last` continues"));
        }
        Ok(())
    }

    /// Goes on with one run. That it is done is an error, unless `others` wait behind it.
    fn resume_run(&mut self, run: &str, retry: Retry, others: bool) -> anyhow::Result<Ending> {
        let record = self.writer.store().load_run(run)?;
        if record.plan.purpose != Purpose::Campaign {
            return Err(usage(anyhow!(
                "run {run} is not a campaign: if it is a comparison, resume it with `dbdyno compare --resume {run}`"
            )));
        }
        if is_interleaved(&record) && retry == Retry::Failed {
            return Err(usage(anyhow!(
                "run {run} is interleaved: every launch has all subjects, so there are no single turns to measure again; leave out --retry-failed"
            )));
        }
        if !is_left(&record, retry) {
            if others {
                return Ok(Ending::Done);
            }
            return Err(usage(anyhow!(
                "run {run} is done: there is nothing to resume{}",
                retry_hint(visits_with_failures(&record).len())
            )));
        }
        self.go_on(record, retry)
    }

    fn go_on(&mut self, record: RunRecord, retry: Retry) -> anyhow::Result<Ending> {
        measure::check_code(&record.plan)?;
        let server_host = record.plan.layout.server_host.as_deref();
        let fingerprint = fingerprints::before_run(self.places, server_host, self.speed, &self.progress)?;
        let resuming = Resuming { record, retry, extension: None, fingerprint };
        let measured = measure::resume(self.places, resuming, &mut self.writer, &mut self.progress)?;
        show(&self.writer, &measured, self.reported)
    }
}

fn is_interleaved(record: &RunRecord) -> bool {
    record.plan.layout.design == Design::Interleaved
}

/// Whether something of a run is still to be measured.
fn is_left(record: &RunRecord, retry: Retry) -> bool {
    record.status != RunStatus::Ended(RunOutcome::Done)
        || retry == Retry::Failed && !visits_with_failures(record).is_empty()
}

/// The visits that `--retry-failed` measures again: a step failed in them or was skipped, other than because the release lacks it. An
/// interleaved run has none: every launch has all subjects.
fn visits_with_failures(record: &RunRecord) -> BTreeSet<(u32, Side)> {
    if is_interleaved(record) {
        return BTreeSet::new();
    }
    let failed = record.trials.iter().filter(|ended| match &ended.outcome {
        Outcome::Done | Outcome::Failed { reason: Reason::NotSupported(_) } => false,
        Outcome::Failed { .. } | Outcome::Skipped { .. } => true,
    });
    failed.map(|ended| (ended.trial.launch, ended.trial.side)).collect()
}

fn retry_hint(failed: usize) -> String {
    match failed {
        0 => String::new(),
        _ => format!(
            "; --retry-failed measures {} again in which a step failed or was skipped",
            count(failed as u64, "turn", "turns")
        ),
    }
}

/// How the report of a campaign is shown.
#[derive(Clone, Copy)]
pub struct Reported<'a> {
    pub output: &'a Output,
    /// All columns of all steps.
    pub detail: bool,
    /// Of `compare --design rounds`.
    pub gate: Option<Gate>,
}

fn show(writer: &Writer, measured: &Measured, reported: Reported<'_>) -> anyhow::Result<Ending> {
    let store = writer.store();
    let record = store.load_run(&measured.run)?;
    let run = finding::compared(store, record, &Selection::default())?;
    let threshold = reported.gate.map(gate::threshold).transpose()?.flatten();
    let ending = match reported.gate.filter(|gate| gate.gate) {
        Some(gate) => gate::ending(measured.outcome, &run.view, gate),
        None => Ok(ending(measured.outcome, &run)),
    };
    let wanted = Wanted { detail: reported.detail, threshold, ..Wanted::of(reported.output) };
    if waits_for_its_other_part(store, &run.record)? {
        return ending;
    }
    let mut findings = Vec::new();
    for other in finding::other_parts(store, &run.record)? {
        findings.push(finding::of_run(store, other, &Selection::default())?);
    }
    findings.push(Finding::Comparison(Box::new(run)));
    render::show(&findings, wanted)?;
    ending
}

/// Whether the next run of its campaign measures the other steps of its workload: one report will have both.
fn waits_for_its_other_part(store: &Store, record: &RunRecord) -> anyhow::Result<bool> {
    if record.plan.layout.steps_of_other_run.is_empty() || record.status != RunStatus::Ended(RunOutcome::Done)
    {
        return Ok(false);
    }
    let campaign = store.campaign_of(&record.id)?.unwrap_or_default();
    let next = store.next_queued(&campaign)?;
    Ok(next.is_some_and(|next| next.plan.workload.name == record.plan.workload.name))
}

/// A campaign whose plan was carried out is done, broken builds and all: each is a row with a reason. It failed if nothing was
/// measured, or if a subject left it.
fn ending(outcome: RunOutcome, run: &ComparedRun) -> Ending {
    let of_subject =
        |warning: &Warning| matches!(warning, Warning::SubjectLeft { .. } | Warning::SideLeft { .. });
    let left = run.view.warnings.iter().any(|one| of_subject(&one.warning));
    match outcome {
        RunOutcome::Interrupted => Ending::Interrupted,
        RunOutcome::Done if !run.record.blocks.is_empty() && !left => Ending::Done,
        RunOutcome::Done | RunOutcome::Failed => Ending::RunFailed,
    }
}

/// How two parts end together: as the first that is not done.
pub fn worse(left: Ending, right: Ending) -> Ending {
    if left == Ending::Done { right } else { left }
}

/// The text of a plan.
pub fn read(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path)
        .with_context(|| format!("failed to read the plan `{}`", path.display()))
        .map_err(usage)
}

/// What the text of a plan says.
pub fn parse(text: &str, path: &Path) -> anyhow::Result<PlanFile> {
    PlanFile::parse(text, &path.display().to_string()).map_err(usage)
}

/// db_bench builds no files outside of a database.
fn db_bench_has_the_steps(file: &PlanFile) -> anyhow::Result<()> {
    if file.db_bench.is_empty() {
        return Ok(());
    }
    for workload in campaign::workloads(file)? {
        let builds_files = |step: &&Step| matches!(step.operation, Operation::BuildFiles { .. });
        if let Some(step) = workload.steps.iter().find(builds_files) {
            return Err(usage(anyhow!(
                "`db_bench` cannot run step `{}` of `{}`: it builds no files outside of a database; leave db_bench out",
                step.name,
                workload.name
            )));
        }
    }
    Ok(())
}

/// `rocksdb@8.7.3=3`: 3 % from this subject on.
fn with_planted(mut file: PlanFile, planted: &[String]) -> anyhow::Result<PlanFile> {
    for text in planted {
        let parsed = text.rsplit_once('=').and_then(|(subject, percent)| {
            let percent = percent.parse::<f64>().ok().filter(|percent| (0.0..=1000.0).contains(percent))?;
            file.subjects.iter().any(|one| one.to_string() == subject).then(|| (subject.to_owned(), percent))
        });
        let (subject, percent) = parsed.ok_or_else(|| {
            usage(anyhow!(
                "--plant `{text}`: write a subject of the plan and 0 to 1000 percent, like rocksdb@8.7.3=3"
            ))
        })?;
        file.planted.insert(subject, percent);
    }
    Ok(file)
}

/// `rocksdb@8.7.3=./db_bench.873`, over what the plan says.
fn with_db_bench(mut file: PlanFile, programs: &[String]) -> anyhow::Result<PlanFile> {
    for text in programs {
        let (subject, program) = text
            .split_once('=')
            .ok_or_else(|| usage(anyhow!("--db-bench `{text}`: write it like rocksdb@8.7.3=./db_bench")))?;
        file.db_bench.insert(subject.to_owned(), program.into());
    }
    let known: Vec<String> = file.subjects.iter().map(ToString::to_string).collect();
    if let Some(stranger) = file.db_bench.keys().find(|subject| !known.contains(subject)) {
        let hint = model::names::hint(stranger, known.iter().map(String::as_str));
        return Err(usage(anyhow!(
            "db_bench is given for `{stranger}`, which is no subject of the plan{hint}"
        )));
    }
    Ok(file)
}
