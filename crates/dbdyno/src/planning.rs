//! From arguments to a plan: builds fetched and probed, options checked, memory counted, seed drawn. Whatever
//! is wrong with what the user wrote is found here, before anything is measured.

use crate::cli::{Measuring, Places};
use crate::exit::usage;
use crate::{paths, resources};
use anyhow::{Context, anyhow, bail};
use model::build::EngineBuild;
use model::config::{self, Options};
use model::names;
use model::plan::{DecisionRule, Plan, Purpose, Subject};
use model::subject::SubjectRef;
use model::units::Nanos;
use model::workload::Workload;
use runner::engines::{BuildCache, EngineCatalog};
use runner::marked_dir;
use runner::process::worker::WorkerError;
use runner::real::probe::{self, ProbePlace};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a plan is made from.
pub struct Request<'a> {
    pub purpose: Purpose,
    pub subjects: Vec<String>,
    pub measuring: &'a Measuring,
    pub budget: Duration,
    pub planted_slowdown_percent: f64,
}

/// Fetches, probes and checks; the plan, and the options file that each side's build wrote.
pub fn plan(
    places: &Places,
    request: &Request<'_>,
    tell: &mut dyn FnMut(&str),
) -> anyhow::Result<(Plan, Vec<Option<String>>)> {
    let measuring = request.measuring;
    let rule = decision_rule(measuring)?;
    let workload = resources::workload(&measuring.workload)?;
    let steps = chosen_steps(&workload, &measuring.steps)?;
    if !(0.0..=1000.0).contains(&request.planted_slowdown_percent) {
        return Err(usage(anyhow!("--plant-slowdown must be 0 to 1000 percent")));
    }
    let catalog = resources::catalog()?;
    let cache = BuildCache::new(&paths::work_dir(places)?);
    let mut subjects = Vec::new();
    let mut written_options = Vec::new();
    for (text, side) in request.subjects.iter().zip(0_u32..) {
        let reference: SubjectRef = text.parse().map_err(usage)?;
        if reference.build.engine != workload.engine {
            return Err(usage(anyhow!(
                "workload `{}` is for {}, not for {}",
                workload.name,
                workload.engine,
                reference.build.engine
            )));
        }
        let config = catalog.config(&reference.build.engine, &reference.config).map_err(usage)?.clone();
        let build = cache.fetch(&catalog, &reference.build, tell).map_err(usage_where_it_is)?;
        let options = config::merged(&workload.options, &config.options);
        let (build, written) = probed(places, &cache, &catalog, build, &options)?;
        written_options.push(written);
        let planted = if side == 0 { 0.0 } else { request.planted_slowdown_percent };
        subjects.push(Subject { reference, build, config, options, planted_slowdown_percent: planted });
    }
    let plan = Plan {
        purpose: request.purpose,
        subjects,
        workload_sha256: sha256(workload.text.as_bytes()),
        workload,
        steps,
        steps_named: !measuring.steps.is_empty(),
        own_image: measuring.own_image,
        rule,
        budget: Nanos::from(request.budget),
        seed: match measuring.seed {
            Some(seed) => seed,
            None => drawn_seed()?,
        },
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    check_memory(&plan)?;
    Ok((plan, written_options))
}

/// A seed from the system; it is stored with the run and printed.
pub fn drawn_seed() -> anyhow::Result<u64> {
    let mut bytes = [0_u8; 4];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut random| random.read_exact(&mut bytes))
        .context("failed to draw a seed from `/dev/urandom`; give one by --seed")?;
    // Four bytes: short enough to be typed again.
    Ok(u64::from(u32::from_le_bytes(bytes)))
}

fn decision_rule(measuring: &Measuring) -> anyhow::Result<DecisionRule> {
    let Measuring { margin, alpha, max_launches, .. } = measuring;
    if !(*margin > 0.0 && *margin < 50.0) {
        return Err(usage(anyhow!("--margin is {margin}, must be above 0 and below 50 percent")));
    }
    if !(*alpha >= 0.1 && *alpha <= 20.0) {
        return Err(usage(anyhow!("--alpha is {alpha}, must be 0.1 to 20 percent")));
    }
    if !(1..=48).contains(max_launches) {
        return Err(usage(anyhow!("--max-launches is {max_launches}, must be 1 to 48")));
    }
    Ok(DecisionRule {
        alpha: alpha / 100.0,
        margin: margin / 100.0,
        max_launches: *max_launches,
        ..DecisionRule::default()
    })
}

fn chosen_steps(workload: &Workload, wanted: &[String]) -> anyhow::Result<Vec<String>> {
    for step in wanted {
        workload.step(step).map_err(usage)?;
    }
    let chosen = |name: &String| wanted.is_empty() || wanted.contains(name);
    Ok(workload.steps.iter().map(|step| step.name.clone()).filter(chosen).collect())
}

/// An unknown name is wrong usage; a download that fails is a failed run.
fn usage_where_it_is(error: runner::engines::EngineError) -> anyhow::Error {
    if error.is_usage() { usage(error) } else { error.into() }
}

fn probed(
    places: &Places,
    cache: &BuildCache,
    catalog: &EngineCatalog,
    build: EngineBuild,
    options: &Options,
) -> anyhow::Result<(EngineBuild, Option<String>)> {
    let program = paths::own_program()?;
    let option_text = config::rocksdb_option_string(options);
    let build = match build.probe {
        Some(_) => build,
        None => {
            let found = in_scratch(places, |directory| {
                probe::probe(&ProbePlace { program: &program, directory }, &build.library)
            })?
            .with_context(|| format!("{} cannot be used", build.reference))?;
            cache.record_probe(&build, found)?;
            cache
                .resolve(catalog, &build.reference, &mut |_| {})?
                .ok_or_else(|| anyhow!("{} vanished from the cache", build.reference))?
        }
    };
    let written = in_scratch(places, |directory| {
        probe::check_options(&ProbePlace { program: &program, directory }, &build.library, &option_text)
    })?;
    match written {
        Ok(written) => Ok((build, written)),
        Err(error @ WorkerError::Refused { .. }) => {
            let known = build.probe.as_ref().map(|probe| probe.default_options.as_str()).unwrap_or("");
            let hint = refused_option_hint(options, &error.to_string(), known);
            Err(usage(anyhow!("{}: {error}{hint}", build.reference)))
        }
        Err(error) => Err(anyhow::Error::new(error).context(format!("{} cannot be used", build.reference))),
    }
}

/// What to offer for the option that an engine refused: the nearest names of its own OPTIONS file. Which option
/// that is, the engine says in its error.
fn refused_option_hint(options: &Options, refusal: &str, options_file: &str) -> String {
    let known = || options_file.lines().filter_map(|line| Some(line.split_once('=')?.0.trim()));
    options
        .keys()
        .map(|name| name.rsplit('.').next().unwrap_or(name))
        .filter(|name| refusal.contains(name) && !known().any(|known| known == *name))
        .map(|name| format!("; this release has no option `{name}`{}", names::hint(name, known())))
        .collect()
}

/// Runs in a fresh directory of ours and removes it.
fn in_scratch<T>(places: &Places, act: impl FnOnce(&Path) -> T) -> anyhow::Result<T> {
    let name = format!("probe-{}", std::process::id());
    let directory: PathBuf =
        marked_dir::create_marked_dir_below(&paths::work_dir(places)?, &["probes", &name])?;
    let result = act(&directory);
    marked_dir::remove_marked_dir(&directory)?;
    Ok(result)
}

/// Sides live at the same time: block cache, memtables and a copy of the data in the page cache for each.
fn check_memory(plan: &Plan) -> anyhow::Result<()> {
    const MOST_SHARE: f64 = 0.8;
    let number = |subject: &Subject, name: &str, otherwise: u64| {
        subject.options.get(name).and_then(|text| text.parse::<u64>().ok()).unwrap_or(otherwise)
    };
    let needed: u64 = plan
        .subjects
        .iter()
        .map(|subject| {
            let cache = number(subject, "block_based_table_factory.block_cache", 32 << 20);
            let memtable = number(subject, "write_buffer_size", 64 << 20);
            // RocksDB keeps two memtables by default and needs some for indexes, filters and compaction.
            cache.min(plan.workload.data.size().0 * 2) + memtable * 4 + plan.workload.data.size().0
        })
        .sum();
    let host = runner::proc::host::describe(Path::new("/"));
    if needed as f64 > host.memory_bytes as f64 * MOST_SHARE {
        bail!(usage(anyhow!(
            "the plan needs about {:.1} GB of memory for {} subjects at once, more than 80 % of the {:.1} GB \
             here: use fewer candidates, fewer keys or a smaller block cache",
            needed as f64 / 1e9,
            plan.subjects.len(),
            host.memory_bytes as f64 / 1e9,
        )));
    }
    Ok(())
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_that_a_build_does_not_know_is_named_with_the_nearest() {
        let option = |name: &str| (name.to_owned(), "1".to_owned());
        let options =
            Options::from([option("write_bufer_size"), option("block_based_table_factory.block_cache")]);
        let refusal = "Invalid argument: Could not find option: : write_bufer_size";
        let hint = refused_option_hint(&options, refusal, "  write_buffer_size=67108864\n  ttl=0\n");
        assert_eq!(
            hint,
            "; this release has no option `write_bufer_size`; did you mean `write_buffer_size`?"
        );
    }

    #[test]
    fn seeds_are_drawn() {
        assert_ne!((drawn_seed().unwrap(), drawn_seed().unwrap()), (0, 0));
    }
}
