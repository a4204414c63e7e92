//! A subject that is fio, made ready: the options of every job tried by the program itself.

use super::subjects::{Prepared, Sources, in_scratch};
use crate::exit::usage;
use crate::interrupt;
use anyhow::anyhow;
use model::build::EngineBuild;
use model::config::{self, EngineConfig, Options};
use model::plan::Subject;
use model::subject::SubjectRef;
use model::workload::{Operation, Workload, fio};
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
    let options = config::configured(&workload.options, &config);
    for name in options.keys() {
        fio::may_be_set(name).map_err(|problem| usage(anyhow!("{reference}: {problem}")))?;
    }
    for step in &workload.steps {
        let Operation::Fio(job) = &step.operation else { continue };
        let together = config::overlaid(&options, &job.options);
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
    let subject =
        Subject { reference: reference.clone(), build, config, options, planted_slowdown_percent: 0.0 };
    Ok(Prepared { subject, written_options: None, omitted: Options::new() })
}
