//! What was measured on what: builds, hardware, the benchmark with its options, and what is kept verbatim of it. Pages
//! fold these sections, posts have the first ones as parts of their own.

use crate::document::{Block, Column, Kind, Level, PostPart, Section, Table};
use findings::again::Again;
use findings::labels::told_apart;
use model::build::{BuildSource, EngineBuild};
use model::config::Options;
use model::figures::{NONE, bytes, count, or_none, quantity, span};
use model::fingerprint::{Fingerprint, HostFigure};
use model::host::Host;
use model::plan::{Design, Plan};
use model::record::RunRecord;
use model::units::Bytes;
use model::workload::{Extent, Step};
use std::collections::BTreeMap;

/// What `engine add` learns of an own build of Postgres begins like this.
const OF_PG_CONFIG: &str = "pg_config: ";

/// Builds, hardware, benchmark, and the plan where there is one as a file.
pub fn sections(record: &RunRecord, again: &Again) -> Vec<Section> {
    let section =
        |id: &str, title: &str, part, blocks| Section::new(id, title, blocks).at(Level::Folded).in_post(part);
    let mut sections = vec![
        section("builds", "Builds", PostPart::Builds, builds(&record.plan)),
        section("hardware", "Hardware", PostPart::Hardware, vec![Block::Items(hardware(record))]),
        section("benchmark", "Benchmark", PostPart::Benchmark, benchmark(record)),
    ];
    sections.extend(again.plan.clone().map(|plan| {
        let about = "As a file, this measures the same again:".to_owned();
        let blocks = vec![Block::Paragraph(about), Block::Verbatim(plan)];
        // Its lines are meant to be copied, which no terminal is wide enough for.
        section("plan", "The plan", PostPart::Benchmark, blocks).at(Level::Page)
    }));
    sections
}

/// Version, compiler, flags and checksum of every build.
fn builds(plan: &Plan) -> Vec<Block> {
    let mut table = Table::by_columns(
        &plan.subjects,
        &[
            ("subject", Kind::Name, &|one| one.reference.to_string()),
            ("version", Kind::Prose, &|one| version(&one.build)),
            ("compiler", Kind::Prose, &|one| compilers(&one.build)),
            ("flags", Kind::Prose, &|one| flags(&one.build)),
            ("size", Kind::Number, &|one| or_none(one.build.file_size(), bytes)),
            ("SHA-256", Kind::Name, &|one| or_none(one.build.checksum(), str::to_owned)),
            ("from", Kind::Prose, &|one| source(&one.build)),
        ],
    );
    // A build that is compared with itself stands there once.
    table.rows.dedup();
    let left_out = plan.layout.left_out.iter();
    let left_out: Vec<String> =
        left_out.map(|one| format!("not measured: {}: {}", one.reference, one.reason)).collect();
    let mut blocks = vec![Block::Table(table)];
    blocks.extend((!left_out.is_empty()).then_some(Block::Items(left_out)));
    blocks
}

fn version(build: &EngineBuild) -> String {
    let of_probe = build.probe.as_ref().and_then(|probe| probe.facts.get("version"));
    of_probe.unwrap_or(&build.reference.version).clone()
}

fn compilers(build: &EngineBuild) -> String {
    known(build.compilers.iter().map(String::as_str).filter(|text| !text.starts_with(OF_PG_CONFIG)))
}

fn flags(build: &EngineBuild) -> String {
    known(build.compilers.iter().filter_map(|text| text.strip_prefix(OF_PG_CONFIG)))
}

fn known<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let texts: Vec<&str> = texts.collect();
    if texts.is_empty() { "unknown".to_owned() } else { texts.join("; ") }
}

fn source(build: &EngineBuild) -> String {
    match &build.source {
        BuildSource::Published { coordinates } => coordinates.clone(),
        BuildSource::Own { .. } => "own build".to_owned(),
        BuildSource::Installed { path } => format!("installed, {}", path.display()),
        BuildSource::Elsewhere { server, .. } => format!("an external server, {server}"),
    }
}

/// The host, a fact in each line.
fn hardware(record: &RunRecord) -> Vec<String> {
    let host = &record.host;
    let mut facts = Vec::new();
    let mut fact = |name: &str, value: Option<String>| {
        facts.extend(value.filter(|value| !value.is_empty()).map(|value| format!("{name}: {value}")));
    };
    fact("host", Some(host.name.clone()));
    fact("CPU", Some(host.cpu_model.clone()));
    fact("CPUs", (host.cpus > 0).then(|| findings::conditions::cpu_count(host)));
    fact("memory", (host.memory_bytes > 0).then(|| bytes(Bytes(host.memory_bytes))));
    fact("kernel", Some(host.kernel.clone()));
    fact("governor", host.governor.clone());
    fact("transparent huge pages", host.transparent_huge_pages.clone());
    fact("file system", host.file_system.clone());
    fact("device", host.device.clone());
    fact("virtual machine", Some(if host.virtual_machine { "yes" } else { "no" }.to_owned()));
    fact("load at the start", host.load_1m.clone());
    fact("measured before the run", record.fingerprint.as_ref().map(figures));
    facts
}

/// How fast the host was: `memory_latency_ns 181, fsync_us 308 (not steady)`
pub(crate) fn figures(fingerprint: &Fingerprint) -> String {
    let figure = |one: &HostFigure| {
        let unsteady = if one.is_steady() { "" } else { " (not steady)" };
        format!("{} {}{unsteady}", one.name, quantity(one.value))
    };
    fingerprint.figures.iter().map(figure).collect::<Vec<_>>().join(", ")
}

/// Sizes, steps, options.
fn benchmark(record: &RunRecord) -> Vec<Block> {
    let plan = &record.plan;
    let paragraphs = [sizes(plan), design(record)].map(Block::Paragraph);
    let mut blocks: Vec<Block> = paragraphs.into_iter().chain([Block::Table(steps(plan))]).collect();
    let (common, own) = options(plan);
    if !common.is_empty() {
        let lines: Vec<String> = common.iter().map(|(name, value)| format!("{name}={value}")).collect();
        blocks.push(Block::Paragraph("Options of all:".to_owned()));
        blocks.push(Block::Verbatim(lines.join("\n")));
    }
    blocks.extend(own.map(Block::Table));
    blocks
}

fn sizes(plan: &Plan) -> String {
    let workload = &plan.workload;
    let data = &workload.data;
    let mut facts = match workload.is_fio() {
        true => vec![format!("A file of {}", bytes(data.size()))],
        false => {
            vec![format!("{} rows", quantity(data.keys as f64)), format!("{} of data", bytes(data.size()))]
        }
    };
    if let Some(tables) = &workload.tables {
        let of = count(u64::from(tables.count), "table", "tables");
        facts.push(format!("{of} of {} rows each", quantity(tables.rows as f64)));
    } else if !workload.is_fio() {
        facts.push(format!("keys of {} B, values of {} B", data.key_bytes, data.value_bytes));
    }
    facts.extend(workload.memory.map(|memory| format!("{} of memory for a server", bytes(memory))));
    facts.extend(plan.layout.memory_limit.map(|limit| format!("memory limit {}", bytes(limit))));
    facts.extend(plan.layout.server_host.as_ref().map(|of| {
        let Host { name, cpu_model, kernel, .. } = &of.clients;
        format!("clients on another host, {name} ({cpu_model}, Linux {kernel})")
    }));
    format!("{}. Workload {}, SHA-256 {}.", facts.join(", "), workload.name, plan.workload_sha256)
}

fn design(record: &RunRecord) -> String {
    let plan = &record.plan;
    let layout = &plan.layout;
    let launches = record.launches.iter().filter(|launch| launch.took.is_some()).count() as u64;
    match layout.design {
        Design::Interleaved => format!(
            "All sides are started together and take turns in short blocks; {}, each on data of its own seed; seed {}.",
            count(launches, "launch", "launches"),
            plan.seed
        ),
        Design::Rounds => format!(
            "{launches} of {} in random order, each subject on its own database in each; seed {}.",
            count(u64::from(layout.rounds), "round", "rounds"),
            plan.seed
        ),
        Design::Sequential => format!(
            "One subject after another, {} each: drift of the host looks like a difference; seed {}.",
            count(u64::from(layout.rounds), "time", "times"),
            plan.seed
        ),
    }
}

fn steps(plan: &Plan) -> Table {
    let of_other_run = |step: &Step| plan.layout.steps_of_other_run.contains(&step.name);
    let is_shown = |step: &&Step| plan.steps.contains(&step.name) || of_other_run(step);
    Table::by_columns(
        plan.workload.steps.iter().filter(is_shown),
        &[
            ("step", Kind::Name, &|step| step.name.clone()),
            ("group", Kind::Word, &|step| step.group.name().to_owned()),
            ("threads", Kind::Number, &|step| step.threads.to_string()),
            ("extent", Kind::Word, &|step| extent(step, plan)),
            ("note", Kind::Word, &|step| {
                let of_other_run = of_other_run(step).then_some(match plan.layout.design {
                    Design::Interleaved => "in rounds, by the other run",
                    Design::Rounds | Design::Sequential => "interleaved, by the other run",
                });
                let of_setup = step.helper.then_some("setup step: not in summaries");
                of_other_run.or(of_setup).unwrap_or_default().to_owned()
            }),
        ],
    )
}

fn extent(step: &Step, plan: &Plan) -> String {
    let milliseconds = quantity(1e3 * step.block.as_secs_f64());
    let blocks = || format!("{} blocks of {milliseconds} ms", step.cycles);
    match (plan.layout.design, step.extent) {
        (Design::Interleaved, _) => step.stated_operations(&plan.workload.data).map_or_else(blocks, |all| {
            format!("{} operations in blocks of about {milliseconds} ms", quantity(all as f64))
        }),
        (Design::Rounds | Design::Sequential, Extent::Blocks) => blocks(),
        (_, Extent::Time { wall }) => span(wall.as_secs_f64()),
        (_, Extent::Operations { count }) => format!("{} operations", quantity(count as f64)),
        (_, Extent::PerKey { share }) => format!("{} operations per key", quantity(share)),
    }
}

/// Options that all subjects were given alike, and those that they were not.
fn options(plan: &Plan) -> (Options, Option<Table>) {
    let mut values: BTreeMap<&String, Vec<Option<&String>>> = BTreeMap::new();
    for subject in &plan.subjects {
        for name in subject.options.keys() {
            values.entry(name).or_default();
        }
    }
    for (name, of_subjects) in &mut values {
        *of_subjects = plan.subjects.iter().map(|subject| subject.options.get(*name)).collect();
    }
    let is_common = |of_subjects: &[Option<&String>]| of_subjects.windows(2).all(|pair| pair[0] == pair[1]);
    let common = values
        .iter()
        .filter(|(_, of_subjects)| is_common(of_subjects))
        .filter_map(|(name, of_subjects)| Some(((*name).clone(), (*of_subjects.first()?)?.clone())))
        .collect();
    let labels = told_apart(plan.subjects.iter().map(|subject| subject.reference.to_string()));
    let columns = std::iter::once(Column::new("option", Kind::Name))
        .chain(labels.into_iter().map(|label| Column::new(label, Kind::Word)));
    let own = values.iter().filter(|(_, of_subjects)| !is_common(of_subjects));
    let rows = own.map(|(name, of_subjects)| {
        let cells = of_subjects.iter().map(|value| value.map_or(NONE, String::as_str));
        std::iter::once(name.as_str()).chain(cells).collect::<Vec<_>>()
    });
    let own = Table::of(columns, rows)
        .captioned("Options that are not the same for all subjects; - where one has none set.");
    (common, own.unless_empty())
}

/// At most this many names stand in a report; `--raw list` has all.
const MOST_OUTPUTS: usize = 200;

/// The section; absent where nothing was kept.
pub(crate) fn raw_output(record: &RunRecord) -> Option<Section> {
    let mut texts: BTreeMap<&str, u64> = BTreeMap::new();
    for one in &record.raw_outputs {
        *texts.entry(&one.name).or_default() += 1;
    }
    let first = record.raw_outputs.first()?;
    let id = &record.id;
    let mut names: Vec<String> = texts
        .iter()
        .take(MOST_OUTPUTS)
        .map(|(name, number)| format!("{name}: {}", count(*number, "text", "texts")))
        .collect();
    names.extend((texts.len() > MOST_OUTPUTS).then(|| format!("and {} more", texts.len() - MOST_OUTPUTS)));
    let blocks = vec![
        Block::Paragraph(
            "Everything that engines and workers wrote is kept as they wrote it, by launch, side and name:"
                .to_owned(),
        ),
        Block::Verbatim(format!(
            "dbdyno report {id} --raw list\ndbdyno report {id} --raw {}/{}/{}",
            first.launch, first.side, first.name
        )),
        Block::Items(names),
    ];
    Some(Section::new("raw-output", "Raw output", blocks).at(Level::Page))
}
