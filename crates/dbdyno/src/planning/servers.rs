//! A subject that is a server, made ready: its configuration brought to its release and to the memory of the workload,
//! and tried on an empty data directory.

use super::subjects::{Prepared, Sources, in_scratch, omit};
use crate::exit::usage;
use crate::{interrupt, paths};
use anyhow::{Context, anyhow};
use model::build::{BuildProbe, EngineBuild};
use model::config::{self, EngineConfig, Options};
use model::environment::NO_ENVIRONMENT;
use model::names;
use model::plan::Subject;
use model::plan_file::UnknownOptions;
use model::subject::{BuildRef, SubjectRef};
use model::units::Bytes;
use model::workload::{Step, Workload};
use runner::process::worker::OWN_PROGRAM;
use runner::real::probe::ProbePlace;
use runner::real::probe_server::{self, LookAt, ProbeError, ServerLook};
use runner::real::{reflink, run_directory};
use runner::server::ServerError;
use std::path::Path;

/// Memory of a server where the workload states none: what every development machine can spare.
pub const DEFAULT_MEMORY: Bytes = Bytes(1 << 30);

/// Probes the build and tries the options of the workload.
pub fn prepare(
    sources: &Sources<'_>,
    reference: &SubjectRef,
    build: EngineBuild,
    config: EngineConfig,
    workload: &Workload,
    unknown: UnknownOptions,
) -> anyhow::Result<Prepared> {
    let build = probed(sources, build)?;
    let memory = workload.memory.unwrap_or(DEFAULT_MEMORY);
    let of_release = config::for_server(&config, build.release(), memory);
    let mut options = config::overlaid(&workload.options, &of_release);
    let mut omitted = Options::new();
    let settings = loop {
        let error = match look(
            sources,
            &LookAt { build: &build, options: &options, environment: &config.environment },
        )? {
            Ok(look) => break look.settings,
            Err(error) => error,
        };
        let refused = match &error {
            ProbeError::Server(ServerError::UnknownOption { option, .. }) => option.clone(),
            ProbeError::Server(_) | ProbeError::Worker(_) => String::new(),
        };
        if unknown == UnknownOptions::LeaveOut && options.contains_key(&refused) {
            omit(&[refused], &mut options, &mut omitted);
            continue;
        }
        if refused.is_empty() {
            return Err(anyhow::Error::new(error).context(format!("{} cannot be used", build.reference)));
        }
        let known = build.probe.as_ref().map(|probe| probe.default_options.as_str()).unwrap_or_default();
        let known = known.lines().filter_map(|line| Some(line.split_once('=')?.0.trim()));
        return Err(usage(anyhow!(
            "{}: this release has no option `{refused}`{}",
            build.reference,
            names::hint(&refused, known)
        )));
    };
    check_connections(&build.reference, &settings, workload)?;
    let subject = Subject::new(reference.clone(), build, config, options);
    Ok(Prepared { subject, written_options: Some(settings), omitted })
}

/// Connections of a run besides those of the clients: those that prepare, settle and look. Postgres keeps three more for its administrators.
const OTHER_CONNECTIONS: u32 = 8;

/// # Errors
/// The server takes fewer connections than some step has clients, those that run concurrently with it included.
pub(super) fn check_connections(
    server: &BuildRef,
    settings: &str,
    workload: &Workload,
) -> anyhow::Result<()> {
    let mut settings = settings.lines().filter_map(|line| line.split_once('='));
    let most = settings.find(|(name, _)| name.trim() == MAX_CONNECTIONS);
    let Some(most) = most.and_then(|(_, value)| value.trim().parse::<u32>().ok()) else { return Ok(()) };
    let clients = |step: &Step| {
        step.threads + workload.companions(&step.name).map(|companion| companion.threads).sum::<u32>()
    };
    let needing = workload.steps.iter().max_by_key(|step| clients(step));
    match needing.map(|step| (step, clients(step))) {
        Some((step, clients)) if clients + OTHER_CONNECTIONS > most => Err(usage(anyhow!(
            "{server} takes {most} connections and step `{}` has {clients} clients, besides {OTHER_CONNECTIONS} connections of dbdyno: ask for \
             fewer clients, or put `{MAX_CONNECTIONS} = \"{}\"` into `options` of the plan",
            step.name,
            clients + OTHER_CONNECTIONS
        ))),
        Some(_) | None => Ok(()),
    }
}

const MAX_CONNECTIONS: &str = "max_connections";

/// Whether one loaded data directory serves all sides of each launch: they are one build that we start, their
/// configurations differ in nothing that is on disk, and the file system of the work directory clones files.
pub fn data_can_be_cloned(sources: &Sources<'_>, subjects: &[Subject]) -> anyhow::Result<bool> {
    let Some((first, others)) = subjects.split_first() else { return Ok(false) };
    if first.build.server.is_none() || others.is_empty() {
        return Ok(false);
    }
    let not_on_disk = sources.catalog.options_not_on_disk(&first.build.reference.engine)?;
    let on_disk = |subject: &Subject| -> Options {
        let kept = subject.options.iter().filter(|(name, _)| !not_on_disk.contains(name));
        kept.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    let fits = |other: &Subject| {
        other.build.reference.engine == first.build.reference.engine
            && other.build.server == first.build.server
            && other.build.sha256 == first.build.sha256
            && on_disk(other) == on_disk(first)
    };
    if !others.iter().all(fits) {
        return Ok(false);
    }
    in_scratch(sources.places, reflink::is_supported)
}

/// The build with what it says of itself where no option is set; found once.
fn probed(sources: &Sources<'_>, build: EngineBuild) -> anyhow::Result<EngineBuild> {
    if build.probe.is_some() {
        return Ok(build);
    }
    let at = LookAt { build: &build, options: &Options::new(), environment: &NO_ENVIRONMENT };
    let found = look(sources, &at)?.with_context(|| format!("{} cannot be used", build.reference))?;
    let probe =
        BuildProbe { default_options: found.settings, facts: found.facts, missing_symbols: Vec::new() };
    sources.cache.record_probe(&build, probe)?;
    sources
        .cache
        .resolve(sources.catalog, &build.reference, &mut |_| {})?
        .ok_or_else(|| anyhow!("{} vanished from the cache", build.reference))
}

fn look(sources: &Sources<'_>, at: &LookAt<'_>) -> anyhow::Result<Result<ServerLook, ProbeError>> {
    let kept = run_directory::initialised_below(&paths::work_dir(sources.places)?);
    in_scratch(sources.places, |directory| {
        let place = ProbePlace { program: Path::new(OWN_PROGRAM), directory };
        probe_server::look(&place, kept, at, &interrupt::requested)
    })
}
