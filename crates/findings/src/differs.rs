//! What differs between two sides beside the code: binaries, their facts, default options, options in effect.
//! It stands beside every comparison, because each of these can be the reason.

use crate::elsewhere::NOT_OURS;
use formats::options_file::{self, OptionDifference, OptionsFile, OptionsPair};
use model::address::Endpoint;
use model::block::Side;
use model::block_cache::{BLOCK_CACHE, CACHE_TYPE};
use model::build::{BuildProbe, EngineBuild};
use model::plan::Subject;
use model::planted::PlantedAs;
use model::record::RunRecord;
use std::collections::{BTreeMap, BTreeSet};

/// One thing that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub kind: DifferenceKind,
    /// Its name: `compiler`, `fast crc32`, `compaction_readahead_size`.
    pub what: String,
    /// The base's value; absent where it has none.
    pub base: Option<String>,
    pub candidate: Option<String>,
}

/// What kind of thing differs, the most telling kinds first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum DifferenceKind {
    /// A slowdown was planted: a test, not a measurement.
    #[strum(to_string = "planted-slowdown")]
    Planted,
    /// A side is a server that is not ours.
    #[strum(to_string = "server-elsewhere")]
    Elsewhere,
    Config,
    /// An option that both sides were opened with, at different values.
    OptionInEffect,
    /// A default that changed, and no configuration pins it.
    DefaultInEffect,
    /// An option that only one of the releases has, at its default.
    OptionOfOneRelease,
    /// A default that changed, pinned to one value on both sides.
    DefaultPinned,
    /// Compiler, recipe and settings.
    Compiler,
    /// Size, checksum or sources of the library.
    Library,
    /// What the build says of itself.
    Fact,
    /// An optional function of the C API that one build lacks.
    MissingSymbol,
    /// Something that could not be read, so that differences in it are unknown.
    Unknown,
}

impl DifferenceKind {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Two sides of one run.
#[derive(Debug, Clone, Copy)]
pub struct Sides {
    pub base: Side,
    pub candidate: Side,
}

/// The section of nested table options, which configurations write with this prefix.
const TABLE_SECTION: &str = "TableOptions/";
const TABLE_PREFIX: &str = "block_based_table_factory.";

/// What differs between two sides of a run, by kind, then by name.
pub fn between(record: &RunRecord, sides: Sides) -> Vec<Difference> {
    let subjects = &record.plan.subjects;
    let (Some(base), Some(candidate)) = (subjects.get(sides.base), subjects.get(sides.candidate)) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    found.extend(planted(base, candidate));
    found.extend(elsewhere(base, candidate));
    found.extend(unequal(
        DifferenceKind::Config,
        "configuration",
        Some(&base.config.name),
        Some(&candidate.config.name),
    ));
    found.extend(builds(&base.build, &candidate.build));
    found.extend(probes(base.build.probe.as_ref(), candidate.build.probe.as_ref()));
    found.extend(storage(base, candidate));
    found.extend(environments(base, candidate));
    if record.plan.workload.is_fio() {
        found.extend(set_options(base, candidate));
    } else {
        found.extend(caches(base, candidate));
        found.extend(options(record, sides));
    }
    found.sort_by(|left, right| (left.kind, &left.what).cmp(&(right.kind, &right.what)));
    found
}

/// The block cache, which is in no OPTIONS file that RocksDB writes.
fn caches(base: &Subject, candidate: &Subject) -> Vec<Difference> {
    let of = |name: &str| {
        unequal(DifferenceKind::OptionInEffect, name, base.options.get(name), candidate.options.get(name))
    };
    [BLOCK_CACHE, CACHE_TYPE].into_iter().filter_map(of).collect()
}

/// Options that the sides are given. What fio does with those that it is not given it tells nobody.
fn set_options(base: &Subject, candidate: &Subject) -> Vec<Difference> {
    in_effect(&base.options, &candidate.options)
}

/// Where the files of each side are, and what the device below is set to.
fn storage(base: &Subject, candidate: &Subject) -> Vec<Difference> {
    in_effect(&base.config.storage.facts(), &candidate.config.storage.facts())
}

fn environments(base: &Subject, candidate: &Subject) -> Vec<Difference> {
    let named = |subject: &Subject| -> BTreeMap<String, String> {
        let variables = subject.config.environment.iter();
        variables.map(|(name, value)| (format!("environment variable {name}"), value.to_owned())).collect()
    };
    in_effect(&named(base), &named(candidate))
}

/// What is set on one side only, or otherwise on the other.
fn in_effect(base: &BTreeMap<String, String>, candidate: &BTreeMap<String, String>) -> Vec<Difference> {
    let names: BTreeSet<&String> = base.keys().chain(candidate.keys()).collect();
    let of =
        |name: &String| unequal(DifferenceKind::OptionInEffect, name, base.get(name), candidate.get(name));
    names.into_iter().filter_map(of).collect()
}

fn planted(base: &Subject, candidate: &Subject) -> Option<Difference> {
    let percent = |subject: &Subject| {
        let planted = subject.planted_slowdown_percent;
        let spent = match subject.planted_as {
            PlantedAs::Cpu => String::new(),
            other => format!(" as {}", other.name()),
        };
        (planted > 0.0).then(|| format!("{planted} %{spent}"))
    };
    let (base, candidate) = (percent(base), percent(candidate));
    unequal(DifferenceKind::Planted, "injected slowdown", base.as_ref(), candidate.as_ref())
}

/// Told of both sides even where neither is ours: what is absent is absent for this reason. And how they are reached: a
/// query by TCP takes longer than one by a Unix socket.
fn elsewhere(base: &Subject, candidate: &Subject) -> Vec<Difference> {
    let whose = |subject: &Subject| match subject.build.elsewhere() {
        Some(_) => NOT_OURS,
        None => "started, frozen and measured by dbdyno",
    };
    let is_any = [base, candidate].iter().any(|subject| subject.build.elsewhere().is_some());
    if !is_any {
        return Vec::new();
    }
    let reached = |subject: &Subject| match subject.build.elsewhere().map(|server| &server.endpoint) {
        Some(Endpoint::Tcp { host, port }) => format!("TCP, {host} port {port}"),
        Some(Endpoint::Socket { .. }) | None => "a Unix socket".to_owned(),
    };
    let row = |what: &str, base: String, candidate: String| Difference {
        kind: DifferenceKind::Elsewhere,
        what: what.to_owned(),
        base: Some(base),
        candidate: Some(candidate),
    };
    vec![
        row("server", whose(base).to_owned(), whose(candidate).to_owned()),
        row("server reached by", reached(base), reached(candidate)),
    ]
}

fn builds(base: &EngineBuild, candidate: &EngineBuild) -> Vec<Difference> {
    let compilers = |build: &EngineBuild| (!build.compilers.is_empty()).then(|| build.compilers.join(", "));
    let size = |build: &EngineBuild| build.file_size().map(model::figures::bytes);
    // Twelve digits tell two builds apart; the store has all of them.
    let sha256 = |build: &EngineBuild| Some(build.checksum()?.chars().take(12).collect::<String>());
    let recipe = |build: &EngineBuild| Some(build.made.as_ref()?.shown());
    let sources =
        |build: &EngineBuild| build.made.as_ref().map(|made| format!("{:.12} {}", made.id, made.summary));
    [
        (DifferenceKind::Compiler, "compiler", compilers(base), compilers(candidate)),
        (DifferenceKind::Compiler, "recipe", recipe(base), recipe(candidate)),
        (DifferenceKind::Library, "sources", sources(base), sources(candidate)),
        (DifferenceKind::Library, "library size", size(base), size(candidate)),
        (DifferenceKind::Library, "library sha256", sha256(base), sha256(candidate)),
    ]
    .into_iter()
    .filter_map(|(kind, what, base, candidate)| unequal(kind, what, base.as_ref(), candidate.as_ref()))
    .collect()
}

fn probes(base: Option<&BuildProbe>, candidate: Option<&BuildProbe>) -> Vec<Difference> {
    let (Some(base), Some(candidate)) = (base, candidate) else { return Vec::new() };
    let facts: BTreeSet<&String> = base.facts.keys().chain(candidate.facts.keys()).collect();
    let facts = facts.into_iter().filter_map(|fact| {
        unequal(DifferenceKind::Fact, fact, base.facts.get(fact), candidate.facts.get(fact))
    });
    let symbols: BTreeSet<&String> = base.missing_symbols.iter().chain(&candidate.missing_symbols).collect();
    let symbols = symbols.into_iter().filter_map(|symbol| {
        let has =
            |probe: &BuildProbe| (!probe.missing_symbols.contains(symbol)).then(|| "present".to_owned());
        unequal(DifferenceKind::MissingSymbol, symbol, has(base).as_ref(), has(candidate).as_ref())
    });
    facts.chain(symbols).collect()
}

/// Differences of the OPTIONS files that the engines wrote: of their defaults, each with whether it is in effect,
/// and of what is in effect for any other reason.
fn options(record: &RunRecord, sides: Sides) -> Vec<Difference> {
    // What a server that is not ours would do by default is not known: then there are no defaults to compare.
    let known = [sides.base, sides.candidate]
        .iter()
        .all(|side| record.plan.subjects[*side].build.elsewhere().is_none());
    let defaults = |side: Side| {
        let probe = record.plan.subjects[side].build.probe.as_ref().filter(|_| known);
        probe.map(|probe| probe.default_options.as_str())
    };
    let in_effect = |side: Side| record.options_in_effect.get(&side).map(String::as_str);
    let mut found = Vec::new();
    let defaults =
        read_both([defaults(sides.base), defaults(sides.candidate)], "default options", &mut found);
    let in_effect =
        read_both([in_effect(sides.base), in_effect(sides.candidate)], "options in effect", &mut found);
    let subjects = [&record.plan.subjects[sides.base], &record.plan.subjects[sides.candidate]];
    let mut listed = BTreeSet::new();
    for one in defaults.as_ref().map(differences).unwrap_or_default() {
        let kind = kind_of_default(&one, in_effect.as_ref(), subjects);
        listed.insert((one.section.clone(), one.option.clone()));
        found.push(option(kind, one, in_effect.as_ref()));
    }
    // A server shows some settings to its superuser only: what it does not show us is not known.
    let hides = |side: Side| record.plan.subjects[side].build.elsewhere().is_some();
    for one in in_effect.as_ref().map(differences).unwrap_or_default() {
        if (hides(sides.base) && one.base.is_none()) || (hides(sides.candidate) && one.candidate.is_none()) {
            continue;
        }
        if !listed.contains(&(one.section.clone(), one.option.clone())) {
            found.push(option(DifferenceKind::OptionInEffect, one, None));
        }
    }
    found
}

/// The files of both sides.
type Files = [OptionsFile; 2];

fn differences(files: &Files) -> Vec<OptionDifference> {
    options_file::differences(OptionsPair { base: &files[0], candidate: &files[1] })
}

/// Reads both files; where one is missing or broken there is nothing to compare, and the reader is told.
fn read_both(texts: [Option<&str>; 2], what: &str, found: &mut Vec<Difference>) -> Option<Files> {
    let mut unknown = |base: Option<String>, candidate: Option<String>| {
        found.push(Difference { kind: DifferenceKind::Unknown, what: what.to_owned(), base, candidate });
        None
    };
    match texts.map(|text| text.map(options_file::parse)) {
        [Some(Ok(base)), Some(Ok(candidate))] => Some([base, candidate]),
        [None, None] => None,
        [base, candidate] => {
            let state = |file: Option<Result<OptionsFile, options_file::OptionsError>>| match file {
                None => Some("not recorded".to_owned()),
                Some(Err(error)) => Some(error.to_string()),
                Some(Ok(_)) => None,
            };
            unknown(state(base), state(candidate))
        }
    }
}

fn kind_of_default(
    one: &OptionDifference,
    in_effect: Option<&Files>,
    subjects: [&Subject; 2],
) -> DifferenceKind {
    if one.base.is_none() || one.candidate.is_none() {
        return DifferenceKind::OptionOfOneRelease;
    }
    let pinned = match in_effect {
        Some([base, candidate]) => {
            base.value(&one.section, &one.option) == candidate.value(&one.section, &one.option)
        }
        None => {
            let name = configured_name(one);
            let [base, candidate] = subjects.map(|subject| subject.options.get(&name));
            base.is_some() && base == candidate
        }
    };
    if pinned { DifferenceKind::DefaultPinned } else { DifferenceKind::DefaultInEffect }
}

/// The name of an option in a configuration.
pub(crate) fn configured_name(one: &OptionDifference) -> String {
    let prefix = if one.section.starts_with(TABLE_SECTION) { TABLE_PREFIX } else { "" };
    format!("{prefix}{}", one.option)
}

/// A default is shown with the values in effect where these differ, else with the defaults.
fn option(kind: DifferenceKind, one: OptionDifference, in_effect: Option<&Files>) -> Difference {
    let what = configured_name(&one);
    if let (DifferenceKind::DefaultInEffect, Some([base, candidate])) = (kind, in_effect) {
        let value = |file: &OptionsFile| file.value(&one.section, &one.option).map(str::to_owned);
        return Difference { kind, what, base: value(base), candidate: value(candidate) };
    }
    Difference { kind, what, base: one.base, candidate: one.candidate }
}

fn unequal(
    kind: DifferenceKind,
    what: &str,
    base: Option<&String>,
    candidate: Option<&String>,
) -> Option<Difference> {
    (base != candidate).then(|| Difference {
        kind,
        what: what.to_owned(),
        base: base.cloned(),
        candidate: candidate.cloned(),
    })
}
