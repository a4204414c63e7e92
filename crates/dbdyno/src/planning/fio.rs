//! A subject that is fio, made ready: the options of every job tried by the program itself.

use super::subjects::{Prepared, Sources, in_scratch};
use crate::exit::usage;
use crate::{interrupt, paths};
use anyhow::anyhow;
use model::build::EngineBuild;
use model::config::{self, EngineConfig, Options};
use model::figures::bytes;
use model::plan::Subject;
use model::storage::Storage;
use model::subject::SubjectRef;
use model::units::Bytes;
use model::workload::{Operation, Step, Workload, fio};
use runner::doctor::free_space;
use runner::process::tool::ToolError;
use runner::real::probe_fio;

/// Tries the options of the workload, of each of its steps and of the configuration.
pub fn prepare(
    sources: &Sources<'_>,
    reference: &SubjectRef,
    build: EngineBuild,
    config: EngineConfig,
    workload: &Workload,
) -> anyhow::Result<Prepared> {
    check_space(sources, &config.storage, workload, 1)?;
    let options = config::configured(&workload.options, &config, &reference.build.version);
    let of_config = config.pins.keys().chain(config.options.keys()).map(|name| fio::may_be_configured(name));
    let of_workload = workload.options.keys().map(|name| fio::may_be_set(name));
    of_config
        .chain(of_workload)
        .collect::<Result<(), String>>()
        .map_err(|problem| usage(anyhow!(problem)))?;
    for step in &workload.steps {
        let Operation::Fio(job) = &step.operation else { continue };
        let together = job.in_effect(&workload.options, &config).options;
        let tried = in_scratch(sources.places, |directory| {
            probe_fio::try_options(&build.library, &together, directory, &interrupt::requested)
        })?;
        tried.map_err(|error| match error {
            ToolError::Failed { last_words, .. } => {
                let said: Vec<&str> = last_words.lines().map(str::trim).collect();
                usage(anyhow!("step `{}`: fio refuses the job: {}", step.name, said.join(" / ")))
            }
            error => anyhow::Error::new(error).context(format!("{reference} cannot be used")),
        })?;
    }
    let subject = Subject::new(reference.clone(), build, config, options);
    Ok(Prepared { subject, written_options: None, omitted: Options::new() })
}

/// What is left of a file system that others need too.
const LEFT: Bytes = Bytes(1 << 30);

/// Whether the files of so many sides fit where they are to be at one time: one that fills its disk would take the other users of the disk
/// down with it.
pub fn check_space(
    sources: &Sources<'_>,
    storage: &Storage,
    workload: &Workload,
    at_once: u64,
) -> anyhow::Result<()> {
    let wanted = Bytes(workload.data.size().0.saturating_mul(at_once));
    let (place, free) = match storage {
        Storage { target: Some(_), .. } => return Ok(()),
        Storage { loop_device: Some(device), .. } => {
            ("the loop device".to_owned(), Some(Bytes(device.bytes.0 / 20 * 19))) // the file system has its own share
        }
        Storage { directory, .. } => {
            let work_dir = paths::work_dir(sources.places)?;
            let place = directory.as_ref().unwrap_or(&work_dir);
            // A work directory is made by the first run.
            let there = place.ancestors().find(|path| path.exists()).unwrap_or(place);
            let free = free_space(there).map(|free| Bytes(free.0.saturating_sub(LEFT.0)));
            (format!("`{}`", place.display()), free)
        }
    };
    match free {
        Some(free) if free.0 < wanted.0 => Err(usage(anyhow!(
            "fio is to write {} of files at a time, and {place} has room for {} (1 GiB is left to others): make the file smaller \
             (`file` of the workload, `scale.file_mb` of a plan), or name a larger disk",
            bytes(wanted),
            bytes(free)
        ))),
        Some(_) | None => Ok(()),
    }
}

/// Where sides take turns a step that one of them may not run is run by none.
pub fn check_targets(subjects: &[Subject], workload: &Workload, chosen: &[String]) -> anyhow::Result<()> {
    let Some(subject) = subjects.iter().find(|subject| subject.config.storage.target.is_some()) else {
        return Ok(());
    };
    let last = workload.steps.iter().rposition(|step| chosen.contains(&step.name)).unwrap_or(0);
    let writes = |step: &&Step| matches!(&step.operation, Operation::Fio(job) if job.writes());
    match workload.steps.iter().take(last + 1).find(writes) {
        Some(step) => Err(usage(anyhow!(
            "{} has a `target`, which is only read, and the step `{}` writes: choose steps before it by --step",
            subject.reference,
            step.name
        ))),
        None => Ok(()),
    }
}
