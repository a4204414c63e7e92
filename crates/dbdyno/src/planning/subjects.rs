//! A subject made ready: its build fetched and probed, its options tried on an empty database.

use super::{elsewhere, fio, servers};
use crate::cli::Places;
use crate::exit::usage;
use crate::{interrupt, paths};
use anyhow::{Context, anyhow};
use model::build::{BuildSource, EngineBuild};
use model::config::{self, EngineConfig, Options};
use model::environment::Environment;
use model::names;
use model::option_history::{Known, OptionHistory};
use model::plan::Subject;
use model::plan_file::UnknownOptions;
use model::subject::SubjectRef;
use model::workload::Workload;
use runner::engines::{BuildCache, EngineCatalog};
use runner::process::worker::{OWN_PROGRAM, WorkerError};
use runner::real::loop_device::LoopFileSystem;
use runner::real::probe::{self, ProbePlace};
use runner::real::run_directory::RunDirectory;
use runner::real::storage;
use std::collections::BTreeSet;
use std::path::Path;

/// Where builds come from and what is known of them.
pub struct Sources<'a> {
    pub places: &'a Places,
    pub catalog: &'a EngineCatalog,
    pub cache: &'a BuildCache,
    /// Which release knows which option; absent where nobody found out.
    pub history: Option<OptionHistory>,
}

/// A subject with what was found out about it.
#[derive(Clone)]
pub struct Prepared {
    pub subject: Subject,
    /// The options file that its build wrote when it was opened with its options.
    pub written_options: Option<String>,
    /// Options that the build does not know and that were left out, with their values.
    pub omitted: Options,
}

/// Whether the name is one that can be had for this workload, as far as can be said without fetching anything.
pub fn check_name(sources: &Sources<'_>, reference: &SubjectRef, workload: &Workload) -> anyhow::Result<()> {
    let engine = &reference.build.engine;
    let family = sources.catalog.family(engine).map_err(usage)?;
    if family != workload.engine {
        return Err(usage(anyhow!(
            "workload `{}` is for {}, not for {engine}",
            workload.name,
            workload.engine
        )));
    }
    sources.catalog.config(engine, &reference.config).map_err(usage)?;
    if reference.build.commit().is_some() {
        return Ok(()); // whether there is such a commit shows when it is built
    }
    sources.cache.knows(sources.catalog, &reference.build).map_err(usage_where_it_is)
}

/// Fetches, probes, and tries the options of the workload and of each of its steps.
pub fn prepare(
    sources: &Sources<'_>,
    reference: &SubjectRef,
    workload: &Workload,
    unknown: UnknownOptions,
    tell: &mut dyn FnMut(&str),
) -> anyhow::Result<Prepared> {
    check_name(sources, reference, workload)?;
    let config = sources.catalog.config(&reference.build.engine, &reference.config).map_err(usage)?.clone();
    let build = sources.cache.fetch(sources.catalog, &reference.build, tell).map_err(usage_where_it_is)?;
    if let BuildSource::Elsewhere { server, .. } = build.source.clone() {
        return elsewhere::prepare(sources, reference, build, server, workload);
    }
    if build.server.is_some() {
        return servers::prepare(sources, reference, build, config, workload, unknown);
    }
    check_storage(sources, &config, workload)?;
    if workload.is_fio() {
        return fio::prepare(sources, reference, build, config, workload);
    }
    let build = probed(sources, build)?;
    let mut options = config::configured(&workload.options, &config, build.release());
    let mut omitted = Options::new();
    leave_out_unknown(sources, &build, &mut options, &mut omitted, unknown)?;
    let tried = Tried { build: &build, environment: &config.environment, unknown };
    let written_options = accepted(sources, &tried, &mut options, &mut omitted)?;
    let of_steps: BTreeSet<&Options> =
        workload.steps.iter().map(|step| &step.options).filter(|options| !options.is_empty()).collect();
    for step_options in of_steps {
        let mut together = config::overlaid(&options, step_options);
        accepted(sources, &tried, &mut together, &mut omitted)?;
    }
    let subject = Subject::new(reference.clone(), build, config, options);
    Ok(Prepared { subject, written_options, omitted })
}

/// Whether this host has the directory, the file and the device that a configuration names. A loop device is made, to see
/// whether it can be.
fn check_storage(sources: &Sources<'_>, config: &EngineConfig, workload: &Workload) -> anyhow::Result<()> {
    if config.storage.is_default() {
        return Ok(());
    }
    let work_dir = paths::work_dir(sources.places)?;
    // It is made by the first run.
    let there = work_dir.ancestors().find(|path| path.exists()).unwrap_or(&work_dir);
    let file = workload.is_fio().then(|| workload.data.size());
    storage::check(&config.name, &config.storage, there, file)?;
    let Some(device) = &config.storage.loop_device else { return Ok(()) };
    in_scratch(sources.places, |directory| {
        LoopFileSystem::create(directory, device, &interrupt::requested).map(drop)
    })??;
    Ok(())
}

/// Takes out the options that this release is known not to know, or names the first one as an error. What nobody tried
/// is left for the build itself to refuse.
fn leave_out_unknown(
    sources: &Sources<'_>,
    build: &EngineBuild,
    options: &mut Options,
    omitted: &mut Options,
    unknown: UnknownOptions,
) -> anyhow::Result<()> {
    let Some(history) = &sources.history else { return Ok(()) };
    let mut refused = Vec::new();
    for (name, value) in options.iter() {
        if let Known::No(why) = history.knows(build.release(), name, value) {
            if unknown == UnknownOptions::Error {
                return Err(usage(anyhow!("{}: {why}", build.reference)));
            }
            refused.push(name.clone());
        }
    }
    omit(&refused, options, omitted);
    Ok(())
}

/// Moves options from those that are set to those that are left out.
pub(super) fn omit(names: &[String], options: &mut Options, omitted: &mut Options) {
    omitted.extend(names.iter().filter_map(|name| options.remove_entry(name)));
}

/// An unknown name is wrong usage; a download that fails is a failed run.
fn usage_where_it_is(error: runner::engines::EngineError) -> anyhow::Error {
    if error.is_usage() { usage(error) } else { error.into() }
}

fn probed(sources: &Sources<'_>, build: EngineBuild) -> anyhow::Result<EngineBuild> {
    if build.probe.is_some() {
        return Ok(build);
    }
    let found = in_scratch(sources.places, |directory| {
        let place = ProbePlace { program: Path::new(OWN_PROGRAM), directory };
        probe::probe(&place, &build.library, &interrupt::requested)
    })?
    .with_context(|| format!("{} cannot be used", build.reference))?;
    sources.cache.record_probe(&build, found)?;
    sources
        .cache
        .resolve(sources.catalog, &build.reference, &mut |_| {})?
        .ok_or_else(|| anyhow!("{} vanished from the cache", build.reference))
}

/// What options are tried with.
struct Tried<'a> {
    build: &'a EngineBuild,
    environment: &'a Environment,
    unknown: UnknownOptions,
}

/// Tries the options; where unknown ones may be left out, takes them out one after another until the build accepts
/// the rest. Returns the options file that it wrote.
fn accepted(
    sources: &Sources<'_>,
    tried: &Tried<'_>,
    options: &mut Options,
    omitted: &mut Options,
) -> anyhow::Result<Option<String>> {
    let Tried { build, environment, unknown } = *tried;
    options.retain(|name, _| !omitted.contains_key(name));
    loop {
        let text = config::rocksdb_option_string(options);
        let written = in_scratch(sources.places, |directory| {
            let place = ProbePlace { program: Path::new(OWN_PROGRAM), directory };
            probe::check_options(&place, &build.library, environment, &text, &interrupt::requested)
        })?;
        let error = match written {
            Ok(written) => return Ok(written),
            Err(error) => error,
        };
        let WorkerError::Refused { .. } = &error else {
            return Err(anyhow::Error::new(error).context(format!("{} cannot be used", build.reference)));
        };
        let known = build.probe.as_ref().map(|probe| probe.default_options.as_str()).unwrap_or("");
        let refused = refused_options(options, &error.to_string(), known);
        if unknown == UnknownOptions::Error || refused.is_empty() {
            let hint = refused_option_hint(&refused, known);
            return Err(usage(anyhow!("{}: {error}{hint}", build.reference)));
        }
        omit(&refused, options, omitted);
    }
}

/// The options that an engine's refusal names and its own options file does not.
fn refused_options(options: &Options, refusal: &str, options_file: &str) -> Vec<String> {
    let known: BTreeSet<&str> = known_options(options_file).collect();
    let words: BTreeSet<&str> = refusal.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).collect();
    options
        .keys()
        .filter(|name| {
            let inner = name.rsplit('.').next().unwrap_or(name);
            words.contains(inner) && !known.contains(inner)
        })
        .cloned()
        .collect()
}

/// What to offer for the options that an engine refused: the nearest names of its own options file.
fn refused_option_hint(refused: &[String], options_file: &str) -> String {
    refused
        .iter()
        .map(|name| {
            let inner = name.rsplit('.').next().unwrap_or(name);
            format!(
                "; this release has no option `{inner}`{}",
                names::hint(inner, known_options(options_file))
            )
        })
        .collect()
}

fn known_options(options_file: &str) -> impl Iterator<Item = &str> {
    options_file.lines().filter_map(|line| Some(line.split_once('=')?.0.trim()))
}

/// Runs in a fresh directory of ours and removes it; where we are killed meanwhile, the next run does.
pub(super) fn in_scratch<T>(places: &Places, act: impl FnOnce(&Path) -> T) -> anyhow::Result<T> {
    let directory =
        RunDirectory::create(&paths::work_dir(places)?, &format!("probe-{}", std::process::id()))?;
    Ok(act(directory.path()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "  write_buffer_size=67108864\n  ttl=0\n";

    #[test]
    fn an_option_that_a_build_does_not_know_is_named_with_the_nearest() {
        let option = |name: &str| (name.to_owned(), "1".to_owned());
        let options =
            Options::from([option("write_bufer_size"), option("block_based_table_factory.block_cache")]);
        let refusal = "Invalid argument: Could not find option: : write_bufer_size";
        let refused = refused_options(&options, refusal, FILE);
        assert_eq!(refused, ["write_bufer_size"]);
        assert_eq!(
            refused_option_hint(&refused, FILE),
            "; this release has no option `write_bufer_size`; did you mean `write_buffer_size`?"
        );
    }

    #[test]
    fn a_known_option_with_a_bad_value_is_not_called_unknown() {
        let options = Options::from([("ttl".to_owned(), "soon".to_owned())]);
        assert!(refused_options(&options, "Invalid argument: ttl: soon", FILE).is_empty());
    }
}
