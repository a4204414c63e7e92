//! From a plan file to plans: one for each workload, with every subject that can be had. What cannot be had is left
//! out with its reason: one broken build never ends a campaign.

use super::parts::{self, Part, Parts};
use super::subjects::{self, Prepared, Sources};
use super::{config_files, drawn_seed, elsewhere, interleaved, library_copies, sha256};
use crate::building::with_commit_built;
use crate::cli::Places;
use crate::exit::{Usage, usage};
use crate::there::asking;
use crate::{paths, resources};
use anyhow::anyhow;
use model::block_cache;
use model::figures::and_list;
use model::hardware::HardwareClasses;
use model::limits::MOST_BUDGET_MINUTES;
use model::loop_device::FileSystem;
use model::plan::{DecisionRule, Design, Layout, LeftOut, OmittedOption, Plan, Purpose, Subject};
use model::plan_file::PlanFile;
use model::record::RunRecord;
use model::subject::SubjectRef;
use model::units::Nanos;
use model::workload::{Step, Workload};
use runner::engines::{BuildCache, EngineCatalog};
use runner::real::code_files;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A plan that can be measured.
pub struct Campaign {
    pub plan: Plan,
    /// The options file that each side's build wrote.
    pub written_options: Vec<Option<String>>,
}

/// A campaign lasts as long as it lasts where the user sets no budget.
const NO_BUDGET: Nanos = Nanos::from_secs(MOST_BUDGET_MINUTES * 60);

/// The workloads of a plan file at their sizes, without anything fetched.
pub fn workloads(file: &PlanFile) -> anyhow::Result<Vec<Workload>> {
    let mut sized = Vec::new();
    for name in &file.workloads {
        let mut workload = resources::workload(name)?;
        if let Some(hardware) = &file.hardware {
            let classes = resources::hardware(&workload.engine)?;
            check_hardware(&classes, hardware, &workload)?;
            workload = workload.for_hardware(classes.class(hardware).map_err(usage)?);
        }
        workload = workload.scaled(&file.scale);
        workload.check_data().map_err(usage)?;
        workload.options.extend(file.options.clone());
        for step in &file.steps {
            workload.step(step).map_err(usage)?;
        }
        if !file.clients.is_empty() {
            check_clients(&workload)?;
            workload = workload.swept(&file.clients, &file.steps).map_err(usage)?;
        }
        sized.push(workload);
    }
    Ok(sized)
}

/// # Errors
/// A workload that the classes have no sizes for.
fn check_hardware(classes: &HardwareClasses, class: &str, workload: &Workload) -> anyhow::Result<()> {
    if classes.are_for(workload) {
        return Ok(());
    }
    let all = resources::workloads()?;
    let is_theirs = |other: &&Workload| other.engine == workload.engine && classes.are_for(other);
    let names: Vec<String> = all.iter().filter(is_theirs).map(|other| other.name.clone()).collect();
    Err(usage(anyhow!(
        "the hardware class `{class}` has sizes for {}, not for `{}`: leave `hardware` out, and change the sizes that its file states with \
         `scale`",
        and_list(&names),
        workload.name
    )))
}

/// # Errors
/// A workload that has no clients.
fn check_clients(workload: &Workload) -> anyhow::Result<()> {
    if workload.is_sql() {
        return Ok(());
    }
    Err(usage(anyhow!(
        "`clients` are those of SQL servers, which `{}` is not for: say `scale = {{ threads = 8 }}`",
        workload.name
    )))
}

/// Fetches, probes and checks everything that the file names.
pub fn plans(places: &Places, file: &PlanFile, tell: &mut dyn FnMut(&str)) -> anyhow::Result<Vec<Campaign>> {
    if let Some(host) = &file.server_host {
        return asking::plans(places, file, host, tell);
    }
    let mut catalog = resources::catalog()?;
    let cache = BuildCache::new(&paths::work_dir(places)?);
    let (subjects, not_built) = built(places, &catalog, &cache, &file.subjects, tell)?;
    let file = &PlanFile { subjects, ..file.clone() };
    config_files::add(&mut catalog, &file.config_files, &file.subjects, tell)?;
    let seed = match file.seed {
        Some(seed) => seed,
        None => drawn_seed()?,
    };
    let memory_bytes = super::host_memory();
    let mut campaigns = Vec::new();
    for workload in workloads(file)? {
        let history = resources::option_history(&workload.engine)?;
        let sources = Sources { places, catalog: &catalog, cache: &cache, history };
        let Parts { parts, all_in_rounds } = parts::of(file, &workload, memory_bytes)?;
        if let Some(reason) = all_in_rounds {
            tell(&format!("`{}` is measured in rounds: {reason}", workload.name));
        }
        let subjects = prepared(&sources, file, &workload, &not_built, tell)?;
        for part in parts {
            let campaign = plan(places, file, workload.clone(), part, subjects.clone(), seed)?;
            if let Some(some) = campaign.plan.layout.candidates_at_once {
                let all = campaign.plan.candidate_sides().len();
                tell(&format!("`{}`: {some} of {all} candidates are in each launch", workload.name));
            }
            campaigns.push(campaign);
        }
    }
    Ok(campaigns)
}

/// The subjects with the names of the builds that their commits became, and of the commits those that do not build; these keep their names.
///
/// # Errors
/// A commit that there is not, or two names of one commit; the user has interrupted it.
fn built(
    places: &Places,
    catalog: &EngineCatalog,
    cache: &BuildCache,
    subjects: &[SubjectRef],
    tell: &mut dyn FnMut(&str),
) -> anyhow::Result<(Vec<SubjectRef>, Vec<LeftOut>)> {
    let (mut built, mut not_built): (Vec<SubjectRef>, Vec<LeftOut>) = (Vec::new(), Vec::new());
    for subject in subjects {
        match with_commit_built(places, catalog, cache, subject, tell) {
            Ok(made) if made != *subject && built.contains(&made) => {
                return Err(usage(anyhow!("{subject} is {made}, which is there under another name already")));
            }
            Ok(made) => built.push(made),
            Err(error) if error.is::<Usage>() || crate::interrupt::requested() => return Err(error),
            Err(error) => {
                let reason = format!("{error:#}");
                tell(&format!("{subject} is not measured: {reason}"));
                not_built.push(LeftOut { reference: subject.clone(), reason });
                built.push(subject.clone());
            }
        }
    }
    Ok((built, not_built))
}

/// The subjects of a plan that can be measured, at least one, and those that cannot.
#[derive(Clone)]
struct Subjects {
    prepared: Vec<Prepared>,
    left_out: Vec<LeftOut>,
}

fn prepared(
    sources: &Sources<'_>,
    file: &PlanFile,
    workload: &Workload,
    not_built: &[LeftOut],
    tell: &mut dyn FnMut(&str),
) -> anyhow::Result<Subjects> {
    let mut prepared: Vec<Prepared> = Vec::new();
    let mut left_out = not_built.to_vec();
    for reference in &file.subjects {
        if not_built.iter().any(|one| one.reference == *reference) {
            continue;
        }
        match subjects::prepare(sources, reference, workload, file.unknown_options, tell) {
            Ok(subject) => prepared.push(subject),
            Err(error) if crate::interrupt::requested() => return Err(error),
            Err(error) => {
                let reason = format!("{error:#}");
                let prefix = format!("{}: ", reference.build);
                let reason = reason.strip_prefix(&prefix).unwrap_or(&reason).to_owned();
                tell(&format!("{reference} is not measured: {reason}"));
                left_out.push(LeftOut { reference: reference.clone(), reason });
            }
        }
    }
    if prepared.is_empty() {
        let first = left_out.first().map(|one| format!("; the first: {}", one.reason)).unwrap_or_default();
        return Err(anyhow!(
            "none of the {} subjects of `{}` can be measured{first}",
            left_out.len(),
            file.name
        ));
    }
    Ok(Subjects { prepared, left_out })
}

fn plan(
    places: &Places,
    file: &PlanFile,
    mut workload: Workload,
    part: Part,
    Subjects { prepared, left_out }: Subjects,
    seed: u64,
) -> anyhow::Result<Campaign> {
    let omitted_options = prepared
        .iter()
        .zip(0..)
        .flat_map(|(subject, side)| {
            let omitted = |(option, value): (&String, &String)| OmittedOption {
                side,
                option: option.clone(),
                value: value.clone(),
            };
            subject.omitted.iter().map(omitted).collect::<Vec<_>>()
        })
        .collect();
    if (workload.is_sql() || workload.is_fio()) && !file.db_bench.is_empty() {
        return Err(usage(anyhow!(
            "`db_bench` runs no step of `{}`: that is not for RocksDB",
            workload.name
        )));
    }
    let db_bench = db_bench_programs(file, &prepared);
    let (mut subjects, mut written_options): (Vec<Subject>, Vec<Option<String>>) =
        prepared.into_iter().map(|prepared| (prepared.subject, prepared.written_options)).unzip();
    plant(file, &mut subjects);
    let is_interleaved = part.design == Design::Interleaved;
    let (mut further_base_processes, mut candidates_at_once) = (0, None);
    if is_interleaved {
        let candidates = subjects.len().saturating_sub(1);
        further_base_processes = interleaved::add_base_processes(file, &mut subjects, &left_out)?;
        written_options.resize(subjects.len(), None);
        let fit = super::sides_that_fit(&workload, &subjects[0].options, super::host_memory());
        candidates_at_once =
            interleaved::candidates_at_once(file, candidates, 1 + further_base_processes, fit);
        let sides = candidates_at_once.unwrap_or(candidates) + 1 + further_base_processes;
        interleaved::fit_blocks(&mut workload, sides);
    }
    let layout = Layout {
        design: part.design,
        steps_of_other_run: part.other_steps,
        rounds: if is_interleaved { 0 } else { file.rounds },
        further_base_processes,
        candidates_at_once,
        left_out,
        omitted_options,
        tickers: file.tickers,
        reads_status: false,
        memory_limit: file.memory_limit,
        loop_device: file.loop_device.clone(),
        code_sha256: code_files::checksums(&subjects, &db_bench)?,
        db_bench,
        cloned_data: false,
        library_copies: library_copies(places, &subjects)?,
        server_host: None,
    };
    let plan = Plan {
        purpose: Purpose::Campaign,
        subjects,
        workload_sha256: sha256(workload.text.as_bytes()),
        workload,
        steps: part.steps,
        steps_named: !file.steps.is_empty(),
        own_image: false,
        layout,
        rule: rule(file),
        budget: part.budget.unwrap_or(NO_BUDGET),
        seed,
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    elsewhere::check(&plan)?;
    if is_interleaved {
        super::check_shared_image(&plan)?;
        super::check_memory(&plan)?;
        interleaved::check_descriptors(&plan)?;
    }
    Ok(Campaign { plan, written_options })
}

/// Slowdowns from their subjects on, in the order of the plan.
fn plant(file: &PlanFile, subjects: &mut [Subject]) {
    let mut factor = 1.0;
    for reference in &file.subjects {
        let name = reference.to_string();
        factor *= 1.0 + file.planted.get(&name).copied().unwrap_or(0.0) / 100.0;
        for subject in subjects.iter_mut().filter(|subject| subject.reference == *reference) {
            subject.planted_slowdown_percent = 100.0 * (factor - 1.0);
        }
    }
}

/// What is asked to be known within `until` is no change within it.
fn rule(file: &PlanFile) -> DecisionRule {
    let rule = DecisionRule::default();
    let until = file.interleaved.until;
    DecisionRule { until, margin: until.unwrap_or(rule.margin), ..rule }
}

fn db_bench_programs(file: &PlanFile, prepared: &[Prepared]) -> BTreeMap<usize, PathBuf> {
    let program = |subject: &Prepared| file.db_bench.get(&subject.subject.reference.to_string()).cloned();
    prepared.iter().enumerate().filter_map(|(side, subject)| Some((side, program(subject)?))).collect()
}

/// Assumed until measured, for the estimate only: a load in key order and random writes by one thread.
const FILL_PER_SECOND: f64 = 250_000.0;
const WRITES_PER_SECOND: f64 = 100_000.0;

/// What a dry run shows: sizes, steps, order, and the least time that it takes.
pub fn describe(
    file: &PlanFile,
    workload: &Workload,
    parts: &Parts,
    memory_bytes: u64,
    earlier: Option<&RunRecord>,
) -> String {
    use std::fmt::Write;
    let mut text = String::new();
    let gb = |bytes: f64| format!("{:.2} GB", bytes / 1e9);
    let here = file.server_host.as_ref().map_or("here".to_owned(), |host| format!("on {host}"));
    let cache = block_cache::size(&workload.options).map(|cache| cache.0 as f64);
    let mut line = |what: &str, value: String| {
        let _ = writeln!(text, "{what:<14} {value}");
    };
    line("plan", format!("{}: {}", file.name, file.description));
    line("workload", format!("{}: {}", workload.name, workload.description));
    line(
        "data",
        format!(
            "{} keys of {} B with values of {} B: {}",
            workload.data.keys,
            workload.data.key_bytes,
            workload.data.value_bytes,
            gb(workload.data.size().0 as f64)
        ),
    );
    match &workload.tables {
        Some(tables) => {
            let memory = workload.memory.unwrap_or(super::servers::DEFAULT_MEMORY);
            line("tables", format!("{} of {} rows", tables.count, tables.rows));
            line("server", format!("caches sized by {} of memory", gb(memory.0 as f64)));
        }
        None => line("block cache", cache.map_or("the default".to_owned(), gb)),
    }
    line(
        "memory",
        match file.memory_limit {
            Some(limit) => format!(
                "{} for a worker, page cache included; {} {here}",
                gb(limit.0 as f64),
                gb(memory_bytes as f64)
            ),
            None => format!("no limit; {} {here}", gb(memory_bytes as f64)),
        },
    );
    if let Some(device) = &file.loop_device {
        let further =
            device.further_settings().into_iter().map(|setting| format!(", {setting}")).collect::<String>();
        let file_system = if device.file_system == FileSystem::Ext4 { " with ext4" } else { "" };
        line(
            "device",
            format!("a loop device of {}{file_system}{further}, needs root", gb(device.bytes.0 as f64)),
        );
    }
    for part in &parts.parts {
        line("design", design(file, part.design));
        if !part.other_steps.is_empty() {
            line("of these", part.steps.join(", "));
        }
        let further = match part.design {
            Design::Interleaved => interleaved::forecast(file, workload, part, memory_bytes, earlier),
            Design::Rounds | Design::Sequential => in_turns(file, workload, part),
        };
        further.into_iter().for_each(|(what, value)| line(what, value));
    }
    let listed: String = file.subjects.iter().map(|subject| format!("  {subject}\n")).collect();
    format!("{text}subjects\n{listed}")
}

/// The least time that the turns of all subjects take, and what is done in a turn: the judged steps and those before them.
fn in_turns(file: &PlanFile, workload: &Workload, part: &Part) -> Vec<(&'static str, String)> {
    let (mut seconds, mut steps) = (0.0, String::new());
    for step in workload.steps_of_turn(&part.steps, &part.other_steps) {
        let (limit, least) = match &step.beside {
            Some(main) => (beside(step, main), 0.0),
            None => extent(step, workload),
        };
        seconds += least;
        let threads = if step.threads == 1 { String::new() } else { format!(", {} threads", step.threads) };
        steps.push_str(&format!("\n  {:<24} {limit}{threads}", step.name));
    }
    let all = seconds * file.subjects.len() as f64 * f64::from(file.rounds);
    let time = format!("at least {} for a turn, {} in all", span(seconds), span(all));
    vec![("time", time), ("steps", steps)]
}

/// How a companion goes.
fn beside(step: &Step, main: &str) -> String {
    match (&step.follows, step.rate) {
        (Some(leader), _) => format!("concurrent with {main}, after each event of {leader}"),
        (None, rate) => format!("concurrent with {main}, {} operations a second", rate.unwrap_or_default()),
    }
}

fn design(file: &PlanFile, design: Design) -> String {
    let count = |count: usize, of: &str| format!("{count} {of}{}", if count == 1 { "" } else { "s" });
    let (rounds, subjects) = (file.rounds as usize, count(file.subjects.len(), "subject"));
    match design {
        Design::Sequential => format!("{subjects} one after another, {} each", count(rounds, "time")),
        Design::Interleaved => format!(
            "{subjects} interleaved, all running at the same time, {} of the first",
            model::figures::count(
                file.interleaved.base_processes_of(file.subjects.len() - 1) as u64,
                "process",
                "processes"
            ),
        ),
        Design::Rounds => {
            format!("{} of {subjects}, each round in a random order of its own", count(rounds, "round"))
        }
    }
}

/// When a step ends, and the seconds that it takes at least.
fn extent(step: &Step, workload: &Workload) -> (String, f64) {
    use model::wire::BlockLimit;
    if step.only_settles() {
        return ("until the tree has settled".to_owned(), 0.0);
    }
    match step.limit(&workload.data) {
        BlockLimit::Time { wall } => (format!("{} s", wall.as_secs_f64()), wall.as_secs_f64()),
        BlockLimit::Operations { count } => {
            let rate = if step.operation.fills() { FILL_PER_SECOND } else { WRITES_PER_SECOND };
            let what = if count == 1 { "once".to_owned() } else { format!("{count} operations") };
            (what, count as f64 / rate)
        }
    }
}

fn span(seconds: f64) -> String {
    if seconds < 120.0 { format!("{seconds:.0} s") } else { format!("{:.0} min", seconds / 60.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plan_of_the_project_is_read_and_its_workloads_get_their_sizes() {
        let plans = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../plans")).unwrap();
        let mut names = Vec::new();
        for path in plans.map(|entry| entry.unwrap().path()) {
            let text = std::fs::read_to_string(&path).unwrap();
            let file = PlanFile::parse(&text, &path.display().to_string()).unwrap();
            assert_eq!(workloads(&file).unwrap().len(), file.workloads.len(), "{}", path.display());
            names.push(file.name);
        }
        assert!(names.len() > 10, "{names:?}");
    }

    #[test]
    fn a_hardware_class_is_refused_by_a_workload_that_it_has_no_sizes_for() {
        let of = |workload: &str| {
            let text = format!(
                "name = \"n\"\nworkloads = [\"{workload}\"]\nsubjects = [\"postgres@16.3\"]\nhardware = \"c8r32\"\n"
            );
            workloads(&PlanFile::parse(&text, "n.toml").unwrap())
        };
        let tables = of("sysbench.medium").unwrap()[0].tables.clone().unwrap();
        assert_eq!((tables.count, tables.rows), (1, 30_000_000));
        for other in ["sysbench-32.small", "sysbench-27.small", "ibench.io-bound"] {
            let error = of(other).unwrap_err().to_string();
            let expected =
                format!("sizes for sysbench.medium, sysbench.quick and sysbench.small, not for `{other}`");
            assert!(error.contains(&expected), "{error}");
        }
    }

    #[test]
    fn rows_of_a_plan_in_all_tables_of_its_workload_have_a_bound() {
        let text = "name = \"n\"\nworkloads = [\"sysbench.medium\"]\nsubjects = [\"postgres@16.3\"]\n\
                    scale = { rows = 200_000_000_000 }\n";
        let error = workloads(&PlanFile::parse(text, "n.toml").unwrap()).unwrap_err().to_string();
        let expected =
            "workload `sysbench.medium` at this size, data: keys (rows of all tables) is 1600000000000";
        assert!(error.contains(expected), "{error}");
    }
}
