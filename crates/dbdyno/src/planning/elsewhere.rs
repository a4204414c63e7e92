//! A subject that is a server which runs already and is not ours: asked what it is, and whether our tables can be made
//! there, before anything is measured. Nothing of it is set, so it has no configuration of ours.

use super::servers;
use super::subjects::{Prepared, Sources, in_scratch};
use crate::exit::usage;
use crate::interrupt;
use anyhow::{Context, anyhow};
use model::build::{BuildProbe, BuildSource, EngineBuild};
use model::config::{EngineConfig, Options};
use model::elsewhere::ServerElsewhere;
use model::plan::{Design, Plan, Subject};
use model::subject::{DEFAULT_CONFIG, SubjectRef};
use model::workload::Workload;
use runner::process::worker::OWN_PROGRAM;
use runner::real::probe::ProbePlace;
use runner::real::probe_server;
use runner::server::elsewhere;
use std::path::Path;

/// The name of the configuration that it has: whatever its owner gave it.
const AS_IT_RUNS: &str = "as-it-runs";

/// Connects, asks, makes room for the tables and leaves.
pub fn prepare(
    sources: &Sources<'_>,
    reference: &SubjectRef,
    build: EngineBuild,
    server: ServerElsewhere,
    workload: &Workload,
) -> anyhow::Result<Prepared> {
    if reference.config != DEFAULT_CONFIG {
        return Err(usage(anyhow!(
            "{} is an external server, whose settings dbdyno does not change: leave out `+{}`",
            build.reference,
            reference.config
        )));
    }
    if let Some(option) = workload.options.keys().next() {
        return Err(usage(anyhow!(
            "workload `{}` sets `{option}`, and nothing can be set on {}, an external server",
            workload.name,
            build.reference
        )));
    }
    let unreachable = || {
        format!(
            "{} cannot be used: {}",
            build.reference,
            elsewhere::password_origin(&build.reference, &server)
        )
    };
    let address = elsewhere::address(&build.reference, &server).map_err(usage)?;
    let tables = workload.tables.as_ref().map(model::workload::sql::Tables::names).unwrap_or_default();
    let look = in_scratch(sources.places, |directory| {
        let place = ProbePlace { program: Path::new(OWN_PROGRAM), directory };
        probe_server::look_elsewhere(&place, address, tables, &interrupt::requested)
    })?
    .with_context(unreachable)?;
    servers::check_connections(&build.reference, &look.server.settings, workload)?;
    let probe = BuildProbe {
        // What its release would do if nobody had set anything is not known.
        default_options: String::new(),
        facts: look.server.facts,
        missing_symbols: Vec::new(),
    };
    let source = BuildSource::Elsewhere { server, statements_of_others: look.statements_of_others };
    let config = EngineConfig {
        name: AS_IT_RUNS.to_owned(),
        description: "the settings that it runs with".to_owned(),
        ..EngineConfig::default()
    };
    let build = EngineBuild { probe: Some(probe), source, ..build };
    let subject = Subject::new(reference.clone(), build, config, Options::new());
    Ok(Prepared { subject, written_options: Some(look.server.settings), omitted: Options::new() })
}

/// What a plan must not ask of servers that are not ours.
pub fn check(plan: &Plan) -> anyhow::Result<()> {
    let servers: Vec<(&Subject, &ServerElsewhere)> =
        plan.subjects.iter().filter_map(|subject| Some((subject, subject.build.elsewhere()?))).collect();
    let Some((first, _)) = servers.first() else { return Ok(()) };
    for (index, (subject, server)) in servers.iter().enumerate() {
        if let Some((other, _)) = servers[..index].iter().find(|(_, other)| other.is_same_database(server)) {
            return Err(usage(anyhow!(
                "{} and {} are one database, {server}, which cannot have the tables of both: add one of them with \
                 another database of that server",
                other.reference,
                subject.reference
            )));
        }
    }
    let cannot = |what: &str| usage(anyhow!("{} is an external server, so {what}", first.reference));
    if plan.layout.memory_limit.is_some() {
        return Err(cannot("its memory cannot be limited: leave out `memory_limit`"));
    }
    if plan.layout.loop_device.is_some() {
        return Err(cannot("its data cannot be put on a loop device: leave out `loop_device`"));
    }
    if plan.layout.design == Design::Interleaved {
        return Ok(()); // there no step begins with a fresh process or a cold cache
    }
    let steps = &plan.workload.steps;
    if steps.iter().any(|step| step.cold) {
        return Err(cannot("its files cannot be put out of the page cache: no step may be `cold`"));
    }
    if steps.iter().skip(1).any(|step| !step.same_process) {
        return Err(cannot("it cannot be restarted: every step but the first needs `same_process = true`"));
    }
    Ok(())
}
