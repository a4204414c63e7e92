//! From arguments to a plan: builds fetched and probed, options checked, memory counted, seed drawn. Whatever
//! is wrong with what the user wrote is found here, before anything is measured.

pub mod again;
pub mod campaign;
pub mod config_files;
mod elsewhere;
mod fio;
mod interleaved;
pub mod parts;
mod servers;
mod subjects;

use crate::building::with_commit_built;
use crate::cli::{Measuring, Places};
use crate::exit::usage;
use crate::there::asking;
use crate::{paths, resources};
use anyhow::{Context, anyhow, bail};
use model::block_cache;
use model::config::Options;
use model::limits::MOST_BYTES;
use model::plan::{DecisionRule, Layout, Plan, Purpose, Subject};
use model::plan_file::UnknownOptions;
use model::planted::PlantedAs;
use model::storage::Storage;
use model::subject::SubjectRef;
use model::units::{Bytes, Nanos};
use model::workload::{DatabaseKind, Step, Workload};
use runner::doctor::Needs;
use runner::engines::BuildCache;
use runner::real::{code_files, library_copy};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::Read;
use std::path::Path;
use std::time::Duration;
use subjects::Sources;

/// Wall time of a comparison where neither the user nor the workload states one.
const DEFAULT_BUDGET: Nanos = Nanos::from_secs(300);

/// What a plan is made from.
pub struct Request<'a> {
    pub purpose: Purpose,
    pub subjects: Vec<String>,
    pub measuring: &'a Measuring,
    /// The workload's where absent.
    pub budget: Option<Duration>,
    /// Whether a comparison that ends open can be extended.
    pub extendable: bool,
    pub planted_slowdown_percent: f64,
    pub planted_as: PlantedAs,
}

/// Fetches, probes and checks; the plan, and the options file that each side's build wrote.
pub fn plan(
    places: &Places,
    request: &Request<'_>,
    tell: &mut dyn FnMut(&str),
) -> anyhow::Result<(Plan, Vec<Option<String>>)> {
    let measuring = request.measuring;
    if let Some(host) = &measuring.server_host {
        return asking::plan(places, request, host, tell);
    }
    let rule = DecisionRule { extendable: request.extendable, ..decision_rule(measuring)? };
    let workload = resources::workload(&measuring.workload)?;
    let steps = chosen_steps(&workload, &measuring.steps)?;
    if !(0.0..=1000.0).contains(&request.planted_slowdown_percent) {
        return Err(usage(anyhow!("--plant-slowdown must be 0 to 1000 percent")));
    }
    let references: Vec<SubjectRef> =
        request.subjects.iter().map(|text| text.parse().map_err(usage)).collect::<anyhow::Result<_>>()?;
    let mut catalog = resources::catalog()?;
    let cache = BuildCache::new(&paths::work_dir(places)?);
    let files = config_files::named(&measuring.config_files)?;
    config_files::add(&mut catalog, &files, &references, tell)?;
    let mut subjects = Vec::new();
    let mut written_options = Vec::new();
    let sources = Sources {
        places,
        catalog: &catalog,
        cache: &cache,
        history: resources::option_history(&workload.engine)?,
    };
    // A name that is wrong is told before minutes are spent on fetching or building another.
    references.iter().try_for_each(|reference| subjects::check_name(&sources, reference, &workload))?;
    let built = |reference| with_commit_built(places, &catalog, &cache, reference, tell);
    let references = references.iter().map(built).collect::<anyhow::Result<Vec<_>>>()?;
    for (reference, side) in references.iter().zip(0_u32..) {
        let prepared = subjects::prepare(&sources, reference, &workload, UnknownOptions::Error, tell)?;
        written_options.push(prepared.written_options);
        let planted = if side == 0 { 0.0 } else { request.planted_slowdown_percent };
        let planted_as = request.planted_as;
        subjects.push(Subject { planted_slowdown_percent: planted, planted_as, ..prepared.subject });
    }
    if workload.is_fio() {
        // All sides are there at the same time.
        let of_others = subjects.iter().filter(|subject| subject.config.storage.is_default()).count();
        fio::check_space(&sources, &Storage::default(), &workload, of_others as u64)?;
        fio::check_targets(&subjects, &workload, &steps)?;
    }
    let layout = Layout {
        cloned_data: servers::data_can_be_cloned(&sources, &subjects)?,
        library_copies: library_copies(places, &subjects)?,
        code_sha256: code_files::checksums(&subjects, &BTreeMap::new())?,
        ..Layout::default()
    };
    let budget = request.budget.map(Nanos::from).or(workload.budget).unwrap_or(DEFAULT_BUDGET);
    let plan = Plan {
        purpose: request.purpose,
        subjects,
        workload_sha256: sha256(workload.text.as_bytes()),
        workload,
        steps,
        steps_named: !measuring.steps.is_empty(),
        own_image: measuring.own_image,
        layout,
        rule,
        budget,
        seed: match measuring.seed {
            Some(seed) => seed,
            None => drawn_seed()?,
        },
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    elsewhere::check(&plan)?;
    check_shared_image(&plan)?;
    check_memory(&plan)?;
    Ok((plan, written_options))
}

/// Whether each side loads a copy of its library.
fn library_copies(places: &Places, subjects: &[Subject]) -> anyhow::Result<bool> {
    Ok(library_copy::obstacle(subjects, &paths::work_dir(places)?).is_none())
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
    let Measuring { margin, alpha, build_noise, max_launches, .. } = measuring;
    if !(*margin > 0.0 && *margin < 50.0) {
        return Err(usage(anyhow!("--margin is {margin}, must be above 0 and below 50 percent")));
    }
    if !(*alpha >= 0.1 && *alpha <= 20.0) {
        return Err(usage(anyhow!("--alpha is {alpha}, must be 0.1 to 20 percent")));
    }
    if !(0.0..=20.0).contains(build_noise) {
        return Err(usage(anyhow!("--build-noise is {build_noise}, must be 0 to 20 percent")));
    }
    if !(1..=48).contains(max_launches) {
        return Err(usage(anyhow!("--max-launches is {max_launches}, must be 1 to 48")));
    }
    Ok(DecisionRule {
        alpha: alpha / 100.0,
        margin: margin / 100.0,
        tau: build_noise / 100.0,
        max_launches: *max_launches,
        ..DecisionRule::default()
    })
}

/// The steps to judge: those named, else all that can be cut into blocks and are no helpers.
///
/// # Errors
/// A step that is named and is not there, or has no blocks.
fn chosen_steps(workload: &Workload, wanted: &[String]) -> anyhow::Result<Vec<String>> {
    // A companion runs at the same time as its step, and is measured with it.
    let why_no_blocks = |step: &Step| workload.main_of(step).why_no_blocks();
    for name in wanted {
        if let Some(why) = why_no_blocks(workload.step(name).map_err(usage)?) {
            bail!(usage(anyhow!(
                "step `{name}` of `{}` {why} and cannot be cut into blocks: leave it out, or measure it in rounds (`--design rounds`, \
                 in a plan `design = \"rounds\"`)",
                workload.name
            )));
        }
    }
    let chosen = |name: &String| wanted.is_empty() || wanted.contains(name);
    // A helper only brings the tree into a state.
    let is_judged =
        |step: &&Step| why_no_blocks(step).is_none() && (!step.helper || wanted.contains(&step.name));
    Ok(workload.steps.iter().filter(is_judged).map(|step| step.name.clone()).filter(chosen).collect())
}

/// What a plan takes while it runs. Sides live at the same time: block cache, memtables and a copy of the data in the page cache for
/// each; on the disk as much again for what compactions and logs have not given back.
pub fn needs(plan: &Plan) -> Needs {
    let here = plan.subjects.iter().filter(|subject| subject.build.elsewhere().is_none()).count();
    let at_once = here.min(plan.sides_at_once());
    let memory: u64 = plan
        .subjects
        .iter()
        .map(|subject| {
            if subject.build.elsewhere().is_some() {
                return 0; // whatever it takes, it has taken already
            }
            memory_of(&plan.workload, &subject.options)
        })
        .sum();
    let memory = if at_once < here { memory / here as u64 * at_once as u64 } else { memory };
    Needs { memory: Bytes(memory), disk: Bytes(plan.workload.data.size().0 * 2 * at_once as u64) }
}

/// How many sides with these options may be there at once on a host with so much memory.
fn sides_that_fit(workload: &Workload, options: &Options, memory_bytes: u64) -> usize {
    let of_side = memory_of(workload, options).max(1);
    #[expect(clippy::cast_possible_truncation, reason = "a share of the memory of a host")]
    #[expect(clippy::cast_sign_loss, reason = "it is positive")]
    let usable = (memory_bytes as f64 * MOST_MEMORY) as u64;
    usize::try_from(usable / of_side).unwrap_or(usize::MAX)
}

/// A process without data.
const EMPTY_PROCESS: u64 = 64 << 20;

/// What a side takes of memory, its share of the page cache included, with these options.
fn memory_of(workload: &Workload, options: &Options) -> u64 {
    let data = workload.data.size().0;
    if workload.is_fio() {
        return EMPTY_PROCESS; // its shared memory; its file is on the device
    }
    if workload.is_sql() {
        // The pages of its files are in the page cache too, and writes make more of them.
        return workload.memory.unwrap_or(servers::DEFAULT_MEMORY).0 + data * 2;
    }
    let number = |name: &str| options.get(name).and_then(|text| text.parse::<u64>().ok());
    let cache = block_cache::size(options).map_or(32 << 20, |cache| cache.0);
    // Indexes and filters are in the cache too. The image's pages are one file's for all sides.
    let reads = cache.min(data + data / 4);
    // RocksDB keeps two memtables by default and needs some for compaction; the files that it writes are in the page cache.
    let memtable = number("write_buffer_size").unwrap_or(64 << 20).min(MOST_BYTES.0);
    let writes = memtable * 4 + data;
    EMPTY_PROCESS + reads.max(writes)
}

/// Sides that share an image have it by hard links, which reach no other file system.
fn check_shared_image(plan: &Plan) -> anyhow::Result<()> {
    let has_image = plan.chosen_steps().any(|step| step.database == DatabaseKind::Image);
    let apart = |subject: &&Subject| {
        let storage = &subject.config.storage;
        storage.directory.is_some() || storage.loop_device.is_some()
    };
    match plan.subjects.iter().find(apart) {
        Some(subject) if has_image => bail!(usage(anyhow!(
            "the configuration of {} sets `storage`, but the sides of a comparison share one image of `{}`: measure it in rounds, with \
             a plan and `dbdyno run`",
            subject.reference,
            plan.workload.name
        ))),
        Some(_) | None => Ok(()),
    }
}

/// Memory of this host in bytes.
fn host_memory() -> u64 {
    runner::proc::host::describe(Path::new("/")).memory_bytes
}

/// Of the memory of a host that subjects may take.
const MOST_MEMORY: f64 = 0.8;

fn check_memory(plan: &Plan) -> anyhow::Result<()> {
    let needed = needs(plan).memory.0;
    let memory_bytes = host_memory();
    if needed as f64 > memory_bytes as f64 * MOST_MEMORY {
        bail!(usage(anyhow!(
            "the plan needs about {:.1} GB of memory for {} subjects at once, more than 80 % of the {:.1} GB \
             here: use fewer candidates, fewer keys or a smaller block cache",
            needed as f64 / 1e9,
            plan.subjects.len(),
            memory_bytes as f64 / 1e9,
        )));
    }
    Ok(())
}

pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_drawn() {
        assert_ne!((drawn_seed().unwrap(), drawn_seed().unwrap()), (0, 0));
    }
}
