//! `dbdyno remote`: what the host of the servers answers to the dbdyno of the clients, until that says nothing any more.

use super::{Ask, Beginning, Comparison, Opened, Opening, Planned};
use crate::cli::{HostSpeed, Places};
use crate::commands::measure;
use crate::exit::{Ending, Usage};
use crate::planning::campaign::{self, Campaign};
use crate::planning::{self, Request};
use crate::{fingerprints, interrupt, paths};
use anyhow::{Context, anyhow, bail};
use model::event::{RunEvent, RunOutcome};
use model::plan::{Design, Plan};
use runner::campaign::drive::drive;
use runner::campaign::interleaved;
use runner::campaign::rounds;
use runner::clock::{self, Stopwatch};
use runner::proc::host;
use runner::process::open_files;
use runner::process::worker::OWN_PROGRAM;
use runner::real::run_directory::{self, RunDirectory, RunDirectoryError};
use runner::real::world::RealWorld;
use runner::real::{code_files, memory_limit};
use runner::remote::server_side::{Heard, ServerSide};
use runner::remote::{Between, SSH_CONNECTION};
use serde::Serialize;
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;

/// What is begun unwinds in this time after the connection is lost: servers are killed, which writes nothing, and their data is removed. What
/// does not is ended then, by the supervisor above this process.
const LOSS_TIMEOUT: Duration = Duration::from_secs(10);
/// As shells report a death by SIGHUP.
const LOST: i32 = 129;

/// A run that is open.
struct Open {
    plan: Plan,
    world: RealWorld,
}

/// Answers until the input ends.
///
/// # Errors
/// Signals cannot be listened to.
pub fn serve(places: &Places) -> anyhow::Result<Ending> {
    interrupt::listen()?;
    open_files::raise_limit();
    let heard = Heard { on_interrupt: Box::new(interrupt::request), on_loss: Box::new(end_soon) };
    let side = ServerSide::begin(std::io::stdin(), std::io::stdout(), heard);
    let mut open = None;
    while let Some(what) = side.next() {
        match answered(places, &side, &mut open, what) {
            Ok(answer) => side.answer(answer),
            Err(error) => side.fail(format!("{error:#}"), error.is::<Usage>()),
        }
    }
    Ok(Ending::Done)
}

fn end_soon() {
    interrupt::request();
    std::thread::sleep(LOSS_TIMEOUT);
    std::process::exit(LOST);
}

fn answered(
    places: &Places,
    side: &ServerSide,
    open: &mut Option<Open>,
    what: Value,
) -> anyhow::Result<Value> {
    match serde_json::from_value::<Ask>(what).context("dbdyno was asked what it does not know")? {
        Ask::Nothing => Ok(Value::Null),
        Ask::Host => value(&(host::describe(&paths::work_dir(places)?), clock::epoch_us())),
        Ask::Compare(comparison) => value(&[compared(places, side, &comparison)?]),
        Ask::File(file) => {
            let campaigns = campaign::plans(places, &file, &mut |text| side.say(text))?;
            let planned = |Campaign { plan, written_options }| Planned { plan, written_options };
            value(&campaigns.into_iter().map(planned).collect::<Vec<_>>())
        }
        Ask::Fingerprint { unmeasured } => {
            let speed = HostSpeed { no_fingerprint: unmeasured };
            value(&fingerprints::here(places, &speed, &mut |text| side.say(text))?)
        }
        Ask::Open(opening) => {
            let (opened, run) = opened(places, side, *opening)?;
            *open = run;
            value(&opened)
        }
        Ask::Run(beginning) => {
            let run = open.take().ok_or_else(|| anyhow!("there is no run to be carried out"))?;
            value(&driven(side, run, beginning))
        }
    }
}

fn value(answer: &impl Serialize) -> anyhow::Result<Value> {
    serde_json::to_value(answer).context("an answer does not serialise")
}

fn compared(places: &Places, side: &ServerSide, comparison: &Comparison) -> anyhow::Result<Planned> {
    let request = Request {
        purpose: comparison.purpose,
        subjects: comparison.subjects.clone(),
        measuring: &comparison.measuring,
        budget: comparison.budget,
        extendable: comparison.extendable,
        planted_slowdown_percent: comparison.planted_slowdown_percent,
        planted_as: comparison.planted_as,
    };
    let (plan, written_options) = planning::plan(places, &request, &mut |text| side.say(text))?;
    Ok(Planned { plan, written_options })
}

/// Makes all that a run stands on, but for its clients.
fn opened(places: &Places, side: &ServerSide, opening: Opening) -> anyhow::Result<(Opened, Option<Open>)> {
    let Opening { run, plan, elapsed, between } = opening;
    let between = match between {
        Some(between) => between,
        None => between_by_ssh()?,
    };
    code_files::check(&plan).map_err(crate::exit::usage)?;
    let work_dir = paths::work_dir(places)?;
    memory_limit::remove_stale(&work_dir);
    run_directory::remove_stale(&work_dir);
    // Clients may have the same work directory: both hosts may be one.
    let directory =
        RunDirectory::create(&work_dir, &format!("{run}-servers")).map_err(|error| match error {
            locked @ RunDirectoryError::Lock { .. } => anyhow!(locked).context(format!(
                "run {run} may still have servers here, of a connection that was lost: they end a minute after it, so try again then"
            )),
            other => other.into(),
        })?;
    let host = host::describe(&work_dir);
    let mut opened = Opened {
        at_us: clock::epoch_us(),
        warnings: measure::host_warnings(&plan, &host, directory.path()),
        unfit: measure::unfit(&plan, directory.path()),
        host,
        refusal: None,
    };
    let watch = Stopwatch::started_before(elapsed);
    let interrupted = interrupt::listen()?;
    let world = RealWorld::new(&plan, PathBuf::from(OWN_PROGRAM), directory, watch, interrupted)
        .with_context(|| format!("skipped: this host cannot give what the plan of run {run} asks for"));
    match world {
        Ok(world) => {
            let world = world.with_clients_at(side.clients(), between);
            Ok((opened, Some(Open { plan, world })))
        }
        Err(error) => {
            opened.refusal = Some(format!("{error:#}"));
            Ok((opened, None))
        }
    }
}

/// Where ssh came from, and where it came to.
fn between_by_ssh() -> anyhow::Result<Between> {
    let text = std::env::var(SSH_CONNECTION).unwrap_or_default();
    match Between::of_ssh(&text) {
        Some(between) => Ok(between),
        None => bail!(
            "${SSH_CONNECTION} does not say by which address clients reach this host (it is `{text}`): name one by --server-address, or as \
             `server_address` of the plan"
        ),
    }
}

fn driven(side: &ServerSide, run: Open, beginning: Beginning) -> RunOutcome {
    let Open { plan, mut world } = run;
    let mut tell = |event: RunEvent| side.event(event);
    match (beginning, plan.layout.design) {
        (Beginning::Interleaved { plan, before }, _) => {
            let schedule = interleaved::machine::Campaign::resumed(*plan, side, before);
            drive(schedule, &mut world, &mut tell)
        }
        (Beginning::Rounds(before), _) => {
            drive(rounds::machine::Rounds::new(plan, before), &mut world, &mut tell)
        }
        (Beginning::Anew, Design::Interleaved) => {
            drive(interleaved::machine::Campaign::new(plan, side), &mut world, &mut tell)
        }
        (Beginning::Anew, Design::Rounds | Design::Sequential) => drive(
            rounds::machine::Rounds::new(plan, rounds::machine::Before::default()),
            &mut world,
            &mut tell,
        ),
    }
}
