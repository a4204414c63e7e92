//! What the host of the servers is asked from here: for plans, and to carry out a run.

use super::{Ask, Beginning, Comparison, Opened, Opening, Planned};
use crate::cli::Places;
use crate::exit::usage;
use crate::lab::bundle::{self, Files};
use crate::planning::campaign::Campaign;
use crate::planning::{Request, config_files, drawn_seed};
use crate::{interrupt, lab, paths, resources};
use anyhow::{Context, anyhow, bail};
use model::event::{RunEvent, RunOutcome};
use model::fingerprint::Fingerprint;
use model::host::Host;
use model::plan::{Design, Plan};
use model::plan_file::PlanFile;
use model::server_host::{self, ServerHost};
use model::subject::SubjectRef;
use model::units::Nanos;
use model::warning::Warning;
use model::workload::sql::Dialect;
use runner::campaign::interleaved::referee::{AfterLaunch, Referee};
use runner::clock::Stopwatch;
use runner::engines::BuildCache;
use runner::proc::host;
use runner::process::worker::OWN_PROGRAM;
use runner::remote::client_side::{Beginning as Start, ClientPlace, ClientSide, Listening};
use runner::remote::{Between, Judgement, Question, RemoteError, RemoteHost};
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// Times that a message goes there and back, of which the median counts.
const MESSAGES: usize = 15;
/// What the edges of a block take beside the message: server and client are thawed, frozen and read. Not measured on each host; here between servers
/// they took 2 to 4 ms.
const EDGES: Nanos = Nanos::from_millis(4);
/// A block is so many times as long as its edges take, so that these are at most a tenth of the time.
const BLOCK_PER_EDGES: u64 = 9;

/// The plan of a comparison whose servers are to be there.
///
/// # Errors
/// What the user wrote makes no sense, the host cannot be used, or no plan can be made there.
pub fn plan(
    places: &Places,
    request: &Request<'_>,
    text: &str,
    tell: &mut dyn FnMut(&str),
) -> anyhow::Result<(Plan, Vec<Option<String>>)> {
    let mut measuring = request.measuring.clone();
    (measuring.server_host, measuring.server_address) = (None, None);
    let references: Vec<SubjectRef> =
        request.subjects.iter().map(|text| text.parse().map_err(usage)).collect::<anyhow::Result<_>>()?;
    let mut named: Vec<PathBuf> = config_files::named(&measuring.config_files)?.into_values().collect();
    named.extend(bundle::is_path(&measuring.workload).then(|| PathBuf::from(&measuring.workload)));
    let wanted = Wanted {
        text,
        address: request.measuring.server_address.as_deref(),
        subjects: &references,
        files: &bundle::with_own(named)?,
    };
    let ask = Ask::Compare(Box::new(Comparison {
        purpose: request.purpose,
        subjects: request.subjects.clone(),
        measuring,
        budget: request.budget,
        extendable: request.extendable,
        planted_slowdown_percent: request.planted_slowdown_percent,
        planted_as: request.planted_as,
    }));
    let mut planned = wanted.plans(places, &ask, tell)?;
    let Planned { plan, written_options } =
        planned.pop().ok_or_else(|| anyhow!("host {text} has made no plan"))?;
    Ok((plan, written_options))
}

/// The plans of a plan file whose servers are to be there.
///
/// # Errors
/// As those of [`plan`].
pub fn plans(
    places: &Places,
    file: &PlanFile,
    text: &str,
    tell: &mut dyn FnMut(&str),
) -> anyhow::Result<Vec<Campaign>> {
    let wanted = Wanted {
        text,
        address: file.server_address.as_deref(),
        subjects: &file.subjects,
        files: &bundle::with_own(bundle::named_by(file))?,
    };
    let there = PlanFile { server_host: None, server_address: None, ..file.clone() };
    let planned = wanted.plans(places, &Ask::File(Box::new(there)), tell)?;
    let campaign = |Planned { plan, written_options }| Campaign { plan, written_options };
    Ok(planned.into_iter().map(campaign).collect())
}

/// The host of the servers as it is known before there is a plan, and the time by its clock, in microseconds since the epoch.
///
/// # Errors
/// It cannot be used.
pub fn host(places: &Places, target: &str) -> anyhow::Result<(Host, i64)> {
    let (mut there, _) = There::connect(places, target, &Files::new(), &paths::work_dir(places)?)?;
    there.ask(&Ask::Host, &mut |_| {})
}

/// How fast the host of the servers is.
///
/// # Errors
/// It cannot be used, or the user has interrupted it.
pub fn fingerprint(
    places: &Places,
    server_host: &ServerHost,
    unmeasured: bool,
    tell: &mut dyn FnMut(&str),
) -> anyhow::Result<Option<Fingerprint>> {
    let (mut there, _) =
        There::connect(places, &server_host.target, &Files::new(), &paths::work_dir(places)?)?;
    there.ask(&Ask::Fingerprint { unmeasured }, tell)
}

/// What is to be planned, and where.
struct Wanted<'a> {
    /// The host, as the user wrote it.
    text: &'a str,
    address: Option<&'a str>,
    subjects: &'a [SubjectRef],
    files: &'a Files,
}

impl Wanted<'_> {
    fn plans(&self, places: &Places, ask: &Ask, tell: &mut dyn FnMut(&str)) -> anyhow::Result<Vec<Planned>> {
        let target = server_host::target(self.text).map_err(usage)?;
        check_subjects(places, self.subjects)?;
        match self.address {
            Some(address) => drop(between(target, address)?),
            None => check_way(target)?,
        }
        let work_dir = paths::work_dir(places)?;
        let (mut there, file_system) = There::connect(places, target, self.files, &work_dir)?;
        if lab::is_network(&file_system) && places.work_dir.is_none() {
            tell(&format!(
                "warning: the home of {target} is on {file_system}: what is measured must not lie there, so name a local directory by --work-dir"
            ));
        }
        let round_trip = there.round_trip()?;
        let mut planned: Vec<Planned> = there.ask(ask, tell)?;
        let server_host = ServerHost {
            target: target.to_owned(),
            address: self.address.map(str::to_owned),
            clients: host::describe(&work_dir),
            round_trip,
        };
        for Planned { plan, .. } in &mut planned {
            let longest = fit_blocks(plan, round_trip);
            if let Some(subject) = plan.subjects.iter().find(|subject| subject.build.elsewhere().is_some()) {
                bail!(has_host(&subject.reference.build.to_string()));
            }
            if let Some(subject) =
                plan.subjects.iter().find(|one| one.config.transport != plan.subjects[0].config.transport)
            {
                bail!(usage(anyhow!(
                    "{} and {} differ in `transport`, and clients of servers on another host all come by TCP: leave out one of the two, or --server-host \
                     (`server_host` of the plan)",
                    plan.subjects[0].reference,
                    subject.reference
                )));
            }
            let blocks = longest.map_or_else(String::new, |least| {
                format!(
                    "; blocks of `{}` last at least {:.0} ms",
                    plan.workload.name,
                    least.as_secs_f64() * 1e3
                )
            });
            tell(&format!(
                "servers on {target}, clients here: a message takes {:.2} ms there and back{blocks}",
                round_trip.as_secs_f64() * 1e3
            ));
            plan.layout.server_host = Some(Box::new(server_host.clone()));
        }
        Ok(planned)
    }
}

/// Blocks are made longer to a multiple of this: no two plans measure the same time of a message, and steps whose blocks differ are not
/// compared with each other.
const BLOCK_GRID: Nanos = Nanos::from_millis(10);

/// Blocks of interleaved steps that are long beside their edges; the least of them if some had to be made longer.
fn fit_blocks(plan: &mut Plan, round_trip: Nanos) -> Option<Nanos> {
    if plan.layout.design != Design::Interleaved {
        return None;
    }
    let least = EDGES.0.saturating_add(round_trip.0).saturating_mul(BLOCK_PER_EDGES);
    let least = Nanos(least.div_ceil(BLOCK_GRID.0).saturating_mul(BLOCK_GRID.0));
    let mut is_longer = false;
    for step in &mut plan.workload.steps {
        is_longer |= step.block < least;
        step.block = step.block.max(least);
    }
    is_longer.then_some(least)
}

fn has_host(build: &str) -> anyhow::Error {
    usage(anyhow!(
        "{build} is an external server, which has a host of its own: leave out --server-host (`server_host` of the plan)"
    ))
}

/// # Errors
/// A subject that is no server, that lets in everybody, or that runs already.
fn check_subjects(places: &Places, subjects: &[SubjectRef]) -> anyhow::Result<()> {
    let catalog = resources::catalog()?;
    let cache = BuildCache::new(&paths::work_dir(places)?);
    for subject in subjects {
        let engine = &subject.build.engine;
        match catalog.dialect(engine).map_err(usage)? {
            None => {
                return Err(usage(anyhow!(
                    "{engine} is no server, so that it cannot be on another host than its clients: `run PLAN --hosts` measures all of a plan on others"
                )));
            }
            Some(Dialect::Mongodb) => {
                return Err(usage(anyhow!(
                    "{engine} would let in whoever reaches its port, since it is asked for no password: measure it with clients and server on one host"
                )));
            }
            Some(Dialect::Postgres | Dialect::Mysql) => {}
        }
        // What else is wrong with it, the host of the servers says.
        let known_here = cache.resolve(&catalog, &subject.build, &mut |_| {}).ok().flatten();
        if known_here.is_some_and(|build| build.elsewhere().is_some()) {
            return Err(has_host(&subject.build.to_string()));
        }
    }
    Ok(())
}

/// # Errors
/// ssh goes there through another host, which the servers would let in in the place of this one.
fn check_way(target: &str) -> anyhow::Result<()> {
    match RemoteHost::new(target).map_err(usage)?.through() {
        None => Ok(()),
        Some(through) => Err(usage(anyhow!(
            "ssh reaches {target} through `{through}`, so that servers there would let in clients from that host and not from this one: name an \
             address of {target} by --server-address, or as `server_address` of the plan"
        ))),
    }
}

fn between(target: &str, address: &str) -> anyhow::Result<Between> {
    let failed =
        |source| RemoteError::NoAddress { target: target.to_owned(), address: address.to_owned(), source };
    Between::to(address).map_err(|source| usage(failed(source)))
}

/// The host of the servers, as it is talked to.
struct There {
    side: ClientSide,
}

impl There {
    /// With the file system of its home. `directory` is that of the clients.
    fn connect(
        places: &Places,
        target: &str,
        files: &Files,
        directory: &Path,
    ) -> anyhow::Result<(There, String)> {
        interrupt::listen()?;
        let mut words = Vec::new();
        if let Some(path) = &places.work_dir {
            let text = path.to_str().filter(|_| path.is_absolute()).ok_or_else(|| {
                usage(anyhow!("--work-dir is that of host {target} too: give it from the root, in UTF-8"))
            })?;
            words.extend(["--work-dir".to_owned(), text.to_owned()]);
        }
        let name = format!("{}-{:08x}", std::process::id(), drawn_seed()?);
        let start = Start { files, words: &words, name: &name };
        let place = ClientPlace { program: PathBuf::from(OWN_PROGRAM), directory: directory.to_owned() };
        let host = RemoteHost::new(target).map_err(usage)?;
        let (side, there) = ClientSide::open(&host, &start, place)?;
        Ok((There { side }, there.file_system))
    }

    fn ask<T: DeserializeOwned>(&mut self, ask: &Ask, tell: &mut dyn FnMut(&str)) -> anyhow::Result<T> {
        let judge = &mut |_: Question| Judgement::AfterLaunch(AfterLaunch::default());
        self.ask_and_hear(ask, &mut Listening { say: tell, event: &mut |_| {}, judge })
    }

    fn ask_and_hear<T: DeserializeOwned>(
        &mut self,
        ask: &Ask,
        listening: &mut Listening<'_>,
    ) -> anyhow::Result<T> {
        // Also if the run is ended for another reason than the user's wish.
        let flag = interrupt::listen()?;
        let what = serde_json::to_value(ask).context("what is asked does not serialise")?;
        let answer = self.side.ask(what, &|| flag.load(Ordering::Relaxed), listening);
        let answer = answer.map_err(|error| match error {
            RemoteError::Refused { is_usage: true, .. } => usage(error),
            error => error.into(),
        })?;
        serde_json::from_value(answer)
            .with_context(|| format!("host {} answered what was not asked", self.side.target()))
    }

    /// The median of some messages.
    fn round_trip(&mut self) -> anyhow::Result<Nanos> {
        let mut took = Vec::new();
        for _ in 0..MESSAGES {
            let watch = Stopwatch::start();
            self.ask::<()>(&Ask::Nothing, &mut |_| {})?;
            took.push(watch.elapsed());
        }
        took.sort_unstable();
        Ok(took[MESSAGES / 2])
    }
}

/// A run whose servers are on another host: it is open there.
pub struct RunThere {
    there: There,
    opened: Opened,
    since: Stopwatch,
}

impl RunThere {
    /// `directory` is that of its clients, here; so much of the budget has passed.
    ///
    /// # Errors
    /// The host cannot be used.
    pub fn open(
        places: &Places,
        server_host: &ServerHost,
        run: &str,
        plan: &Plan,
        directory: &Path,
        elapsed: Nanos,
    ) -> anyhow::Result<RunThere> {
        let watch = Stopwatch::start();
        let target = &server_host.target;
        let between = server_host.address.as_deref().map(|address| between(target, address)).transpose()?;
        let (mut there, _) = There::connect(places, target, &Files::new(), directory)?;
        let opening =
            Opening { run: run.to_owned(), plan: plan.clone(), elapsed: elapsed + watch.elapsed(), between };
        let opened = there.ask(&Ask::Open(Box::new(opening)), &mut |_| {})?;
        Ok(RunThere { there, opened, since: Stopwatch::start() })
    }

    /// The host of the servers.
    pub fn host(&self) -> &Host {
        &self.opened.host
    }

    /// By the clock there, in microseconds since the epoch, but for the time of a message.
    pub fn now_us(&self) -> i64 {
        self.opened.at_us.saturating_add_unsigned(self.since.elapsed().0 / 1000)
    }

    /// What about host and plan a reader of the numbers must know.
    pub fn warnings(&self) -> Vec<RunEvent> {
        self.opened.warnings.clone()
    }

    /// Why the host is not fit for the plan.
    pub fn unfit(&self) -> Option<Warning> {
        self.opened.unfit.clone()
    }

    /// # Errors
    /// The host cannot give what the plan asks for, as a memory limit or a device of its own.
    pub fn check_given(&self) -> anyhow::Result<()> {
        match &self.opened.refusal {
            None => Ok(()),
            Some(message) => Err(RemoteError::Refused {
                target: self.there.side.target().to_owned(),
                message: message.clone(),
                is_usage: false,
            }
            .into()),
        }
    }

    /// Carries it out. The referee is that of a run that is interleaved.
    ///
    /// # Errors
    /// The connection was lost.
    pub fn carry_out(
        &mut self,
        beginning: Beginning,
        mut referee: Option<Box<dyn Referee>>,
        tell: &mut dyn FnMut(RunEvent),
    ) -> anyhow::Result<RunOutcome> {
        let judge = &mut |question: Question| match (&mut referee, question) {
            (Some(referee), Question::Fix { cost, left, active }) => {
                Judgement::Fixed(referee.fix(cost, left, &active))
            }
            (Some(referee), Question::AfterLaunch { blocks, active, passed }) => {
                Judgement::AfterLaunch(referee.after_launch(&blocks, &active, passed))
            }
            (None, _) => Judgement::AfterLaunch(AfterLaunch::default()),
        };
        // All that it says of a run are events.
        let listening = &mut Listening { say: &mut |_| {}, event: tell, judge };
        self.there.ask_and_hear(&Ask::Run(beginning), listening)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_at_most_a_tenth_of_the_time_and_longer_blocks_stay() {
        let plan = || testing::plan(testing::SMALL_WORKLOAD, &["rocksdb@8.5.4", "rocksdb@8.7.3"]);
        for milliseconds in [0, 1, 20] {
            let mut fitted = plan();
            let round_trip = Nanos::from_millis(milliseconds);
            fit_blocks(&mut fitted, round_trip);
            let edges = (EDGES.0 + round_trip.0) as f64;
            for (step, before) in fitted.workload.steps.iter().zip(&plan().workload.steps) {
                let block = step.block.0 as f64;
                assert!(edges / (edges + block) <= 0.1 && step.block >= before.block, "{}", step.name);
            }
        }
        let blocks = |round_trip: Nanos| {
            let mut fitted = plan();
            fit_blocks(&mut fitted, round_trip);
            fitted.workload
        };
        let slow = Nanos::from_millis(20);
        assert_eq!(blocks(slow), blocks(Nanos(slow.0 + 100_000)), "no message takes as long as the last");
        let mut in_rounds = plan();
        in_rounds.layout.design = Design::Rounds;
        assert_eq!(fit_blocks(&mut in_rounds, Nanos::from_secs(1)), None);
        assert_eq!(in_rounds.workload, plan().workload);
    }

    #[test]
    fn what_is_no_server_is_refused_before_anybody_is_asked() {
        let places = Places { store: None, work_dir: Some(PathBuf::from("/nonexistent")) };
        let refused =
            |subject: &str| check_subjects(&places, &[subject.parse().unwrap()]).unwrap_err().to_string();
        assert!(refused("rocksdb@8.7.3").contains("rocksdb is no server"));
        assert!(refused("mongodb@7.0.14").contains("mongodb would let in"));
        check_subjects(&places, &["postgres@16.3".parse().unwrap()]).unwrap();
    }
}
