//! Workloads, engine sources and configurations: those built in, and the user's own laid over them.

use crate::exit::usage;
use crate::paths;
use anyhow::{Context, anyhow};
use model::hardware::HardwareClasses;
use model::names;
use model::option_history::OptionHistory;
use model::pattern::{self, Pattern};
use model::workload::Workload;
use runner::builds::Recipes;
use runner::engines::{CatalogFiles, EngineCatalog};
use std::fs;
use std::path::{Path, PathBuf};

/// Folder, name and text of every file that is built in, in alphabetical order: `build.rs` finds them.
const EMBEDDED: &[(&str, &str, &str)] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// The engines, with the user's own files from `engines/*.toml` and `configs/*.toml` of the configuration
/// directory.
pub fn catalog() -> anyhow::Result<EngineCatalog> {
    parse_catalog(&with_own("engines")?, &with_own("configs")?)
}

/// All workloads by name; one of the user's takes the place of a built-in one of the same name.
pub fn workloads() -> anyhow::Result<Vec<Workload>> {
    let mut workloads: Vec<Workload> = Vec::new();
    for (origin, text) in with_own("workloads")? {
        let workload = parse_workload(&text, &origin)?;
        workloads.retain(|earlier| earlier.name != workload.name);
        workloads.push(workload);
    }
    Ok(workloads)
}

/// A workload by its name, or by the path of a TOML file.
pub fn workload(wanted: &str) -> anyhow::Result<Workload> {
    if wanted.contains('/') || Path::new(wanted).extension().is_some_and(|extension| extension == "toml") {
        let text = fs::read_to_string(wanted)
            .with_context(|| format!("failed to read the workload file `{wanted}`"))
            .map_err(usage)?;
        return parse_workload(&text, wanted);
    }
    let workloads = workloads()?;
    let hint = names::hint(wanted, workloads.iter().map(|workload| workload.name.as_str()));
    workloads.into_iter().find(|workload| workload.name == wanted).ok_or_else(|| {
        usage(anyhow!(
            "there is no workload `{wanted}`{hint}; `dbdyno workload list` shows them, and a path ending in \
             .toml names a file"
        ))
    })
}

/// Which release of an engine knows which option; absent where nobody found out.
pub fn option_history(engine: &str) -> anyhow::Result<Option<OptionHistory>> {
    let found = embedded("engines/options").find(|(known, _)| *known == engine);
    found
        .map(|(name, text)| OptionHistory::parse(text, &origin("engines/options", name)).map_err(usage))
        .transpose()
}

/// How sources of an engine become a build; one of the user's files takes the place of a built-in one.
pub fn recipes(engine: &str) -> anyhow::Result<Recipes> {
    let mut found = None;
    for (origin, text) in with_own("recipes")? {
        let recipes = Recipes::parse(&text, &origin).map_err(usage)?;
        if recipes.engine == engine {
            found = Some(recipes);
        }
    }
    found.ok_or_else(|| {
        let known: Vec<&str> = embedded("recipes").map(|(name, _)| name).collect();
        usage(anyhow!("there is no recipe to build {engine}; there are those of {}", known.join(", ")))
    })
}

/// Patterns of slowdowns, those of one engine and those of all.
pub fn patterns() -> anyhow::Result<Vec<Pattern>> {
    let files = embedded("patterns")
        .map(|(name, text)| pattern::parse(text, &origin("patterns", name)).map_err(usage));
    Ok(files.collect::<anyhow::Result<Vec<_>>>()?.concat())
}

/// The hardware classes of an engine.
pub fn hardware(engine: &str) -> anyhow::Result<HardwareClasses> {
    let found = embedded("hardware").find(|(known, _)| *known == engine);
    let (name, text) = found.ok_or_else(|| usage(anyhow!("there are no hardware classes for {engine}")))?;
    HardwareClasses::parse(text, &origin("hardware", name)).map_err(usage)
}

fn parse_catalog(engines: &Files, configs: &Files) -> anyhow::Result<EngineCatalog> {
    let (engines, configs) = (borrowed(engines), borrowed(configs));
    EngineCatalog::parse(CatalogFiles { engines: &engines, configs: &configs }).map_err(usage)
}

fn parse_workload(text: &str, origin: &str) -> anyhow::Result<Workload> {
    let sequences: Vec<(&str, &str)> = embedded("workloads/sequences").collect();
    Workload::parse_with(text, origin, &sequences).map_err(usage)
}

/// Name and text of each built-in file of a folder.
fn embedded(folder: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    EMBEDDED.iter().filter(move |(of, _, _)| *of == folder).map(|(_, name, text)| (*name, *text))
}

fn origin(folder: &str, name: &str) -> String {
    format!("embedded:{folder}/{name}.toml")
}

/// Texts, each with the origin that names it in errors.
type Files = Vec<(String, String)>;

fn borrowed(files: &Files) -> Vec<(&str, &str)> {
    files.iter().map(|(origin, text)| (origin.as_str(), text.as_str())).collect()
}

fn built_in(folder: &str) -> Files {
    embedded(folder).map(|(name, text)| (origin(folder, name), text.to_owned())).collect()
}

/// The built-in files, and the user's own laid over them.
fn with_own(folder: &str) -> anyhow::Result<Files> {
    let directory = paths::config_dir()?.join(folder);
    let mut files = built_in(folder);
    let Ok(entries) = fs::read_dir(&directory) else { return Ok(files) };
    let mut own: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    own.sort();
    for path in own {
        let text =
            fs::read_to_string(&path).with_context(|| format!("failed to read `{}`", path.display()))?;
        files.push((path.display().to_string(), text));
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::wire::BlockLimit;
    use model::workload::sql::{Dialect, Transaction};
    use model::workload::{Group, Operation, Scale, Step};
    use runner::builds::Compiler;

    mod posts;

    fn built_in_workload(name: &str) -> Workload {
        let (_, text) = embedded("workloads").find(|(known, _)| *known == name).unwrap();
        parse_workload(text, name).unwrap()
    }

    #[test]
    fn every_embedded_definition_is_sound() {
        for (name, _) in embedded("workloads") {
            assert_eq!(built_in_workload(name).name, name);
        }
        let catalog = parse_catalog(&built_in("engines"), &built_in("configs")).unwrap();
        assert!(catalog.config("rocksdb", "direct").unwrap().options.contains_key("use_direct_reads"));
        for (name, text) in embedded("recipes") {
            assert_eq!(Recipes::parse(text, name).unwrap().engine, name);
        }
        assert!(hardware("rocksdb").unwrap().class("c48r128").is_ok());
        assert!(hardware("sql").unwrap().class("c16r64").is_ok());
    }

    #[test]
    fn both_recipes_of_postgres_are_trained_by_one_workload_whose_socket_has_a_short_path() {
        let (_, text) = embedded("recipes").find(|(name, _)| *name == "postgres").unwrap();
        let recipes = Recipes::parse(text, "postgres").unwrap();
        let gcc = |name: &str| {
            Some(Compiler { name: name.to_owned(), version: String::new(), takes_partial_training: true })
        };
        let training = |recipe: &str| {
            let names = [recipe, "pgo"].map(str::to_owned);
            recipes.choose(&names, &[], &|_| Ok(true), &gcc).unwrap().pgo.unwrap().training
        };
        let of_configure = training("configure");
        assert_eq!(training("meson"), of_configure);
        for part in ["PGHOST=/proc/self/cwd ", " -k .. ", "--reuid=$server_uid "] {
            assert!(of_configure.contains(part), "{part}: {of_configure}");
        }
    }

    #[test]
    fn the_microbenchmarks_are_those_of_the_posts() {
        let workload = built_in_workload("sysbench.quick");
        let steps: Vec<&Step> = workload.steps.iter().filter(|step| !step.helper).collect();
        assert_eq!(steps.len(), 42);
        assert_eq!(
            (steps[0].name.as_str(), steps[41].name.as_str()),
            ("point-query.pre_range=100", "insert_range=100")
        );
        let of = |group: Group| steps.iter().filter(|step| step.group == group).count();
        let groups = [Group::Point1, Group::Point2, Group::Range1, Group::Range2, Group::Writes];
        assert_eq!(groups.map(of), [11, 6, 9, 6, 10]);
        assert!(steps.iter().all(|step| step.writes() == (step.group == Group::Writes)));
        let queries = |name: &str| match &workload.step(name).unwrap().operation {
            Operation::Transaction(transaction) => transaction.operations(Dialect::Postgres),
            _ => 0,
        };
        assert_eq!(queries("read-only_range=100"), 16, "as Small Datum counts them");
        assert_eq!((queries("point-query_range=100"), queries("insert_range=100")), (1, 1));
    }

    #[test]
    fn the_lists_of_27_and_32_are_those_of_the_posts() {
        let reported = |name: &str| -> Vec<Step> {
            built_in_workload(name).steps.into_iter().filter(|step| !step.helper).collect()
        };
        let (of_27, of_32) = (reported("sysbench-27.small"), reported("sysbench-32.quick"));
        let groups = [Group::Point, Group::Range1, Group::Range2, Group::Writes];
        let counts =
            |steps: &[Step]| groups.map(|group| steps.iter().filter(|step| step.group == group).count());
        assert_eq!((counts(&of_27), counts(&of_32)), ([9, 5, 3, 10], [9, 5, 8, 10]));
        let names = |steps: &[Step]| steps.iter().map(|step| step.name.clone()).collect::<Vec<_>>();
        let added: Vec<String> =
            names(&of_32).into_iter().filter(|name| !names(&of_27).contains(name)).collect();
        let kinds = ["simple", "sum", "order", "distinct", "count"];
        assert_eq!(added, kinds.map(|kind| format!("read-only-{kind}_range=1000")));
        // What the 42 have too is the same transaction.
        let of_42 = built_in_workload("sysbench.quick");
        for step in of_32.iter().filter(|step| !added.contains(&step.name)) {
            assert_eq!(step.operation, of_42.step(&step.name).unwrap().operation, "{}", step.name);
        }
        let queries = |name: &str| match &of_32.iter().find(|step| step.name == name).unwrap().operation {
            Operation::Transaction(transaction) => transaction.operations(Dialect::Postgres),
            _ => 0,
        };
        assert_eq!((queries("read-only-sum_range=1000"), queries("read-only-count_range=1000")), (13, 1));
    }

    #[test]
    fn on_documents_the_insert_benchmark_has_the_same_steps() {
        let (documents, rows) =
            (built_in_workload("ibench-mongodb.quick"), built_in_workload("ibench.quick"));
        let told = |workload: &Workload, dialect: Dialect| -> Vec<(String, Option<f64>, u64)> {
            let operations = |step: &Step| match &step.operation {
                Operation::Transaction(transaction) => transaction.operations(dialect),
                _ => 0,
            };
            workload.steps.iter().map(|step| (step.name.clone(), step.rate, operations(step))).collect()
        };
        assert_eq!(told(&documents, Dialect::Mongodb), told(&rows, Dialect::Postgres));
        let of_2015 = built_in_workload("ibench-2015.quick");
        let threads = |name: &str| of_2015.step(name).unwrap().threads;
        assert_eq!((threads("10i.1q"), threads("10i.1q.queries")), (10, 1));
        assert_eq!((threads("1i.10q"), threads("1i.10q.inserts")), (10, 1));
    }

    #[test]
    fn where_clients_share_a_table_the_insert_benchmark_has_the_same_steps_and_queries() {
        let (shared, own) = (built_in_workload("ibench-shared.quick"), built_in_workload("ibench.quick"));
        let four = own.scaled(&Scale { threads: Some(4), ..Scale::default() });
        assert_eq!(shared.tables.as_ref().unwrap().count, 1);
        let mut queries = 0;
        assert_eq!(shared.steps.len(), four.steps.len());
        for (shared, own) in shared.steps.iter().zip(&four.steps) {
            let (Operation::Transaction(of_shared), Operation::Transaction(of_own)) =
                (&shared.operation, &own.operation)
            else {
                assert_eq!(shared, own, "as many clients load it");
                continue;
            };
            // What differs are the statements of inserts and deletes.
            assert_eq!(Step { operation: own.operation.clone(), ..shared.clone() }, *own);
            let operations =
                |transaction: &Transaction| Dialect::ALL.map(|dialect| transaction.operations(dialect));
            assert_eq!(operations(of_shared), operations(of_own), "{}", shared.name);
            assert_eq!(of_shared == of_own, !of_own.writes(), "{}", shared.name);
            queries += u32::from(!of_own.writes());
        }
        assert_eq!(queries, 6);
        let large = built_in_workload("ibench-shared.small-4");
        let each = built_in_workload("ibench.small-4");
        let sizes = |workload: &Workload| -> Vec<_> {
            let steps = workload.steps.iter();
            steps.map(|step| (step.name.clone(), step.threads, step.limit(&workload.data))).collect()
        };
        assert_eq!((large.data.keys, sizes(&large)), (each.data.keys, sizes(&each)));
    }

    #[test]
    fn the_insert_benchmark_is_that_of_the_posts() {
        let workload = built_in_workload("ibench.quick");
        let own = workload.steps.iter().filter(|step| !step.is_companion()).map(|step| step.name.as_str());
        let own: Vec<&str> = own.collect();
        assert_eq!(
            own,
            ["l.i0", "l.x", "l.i1", "l.i2", "qr100", "qp100", "qr500", "qp500", "qr1000", "qp1000"]
        );
        let operations = |name: &str, dialect: Dialect| match &workload.step(name).unwrap().operation {
            Operation::Transaction(transaction) => transaction.operations(dialect),
            _ => 0,
        };
        for dialect in [Dialect::Postgres, Dialect::Mysql] {
            let of = |name: &str| operations(name, dialect);
            assert_eq!((of("l.i1"), of("l.i2"), of("qr100.inserts"), of("qr100.deletes")), (50, 5, 50, 50));
            assert_eq!((of("qr100"), of("qp1000")), (1, 1));
        }
        assert_eq!(workload.step("qp500.inserts").unwrap().rate, Some(500.0));
        let twelve = Scale { tables: Some(12), threads: Some(12), ..Scale::default() };
        let threads = |workload: &str, step: &str| {
            built_in_workload(workload).scaled(&twelve).step(step).unwrap().threads
        };
        assert_eq!(threads("ibench.quick", "l.i0"), 12, "each client loads its table");
        assert_eq!(threads("sysbench.quick", "load"), 1, "sysbench prepares with one");
    }

    #[test]
    fn the_insert_benchmark_inserts_as_many_rows_as_the_posts() {
        const MILLION: u64 = 1_000_000;
        let inserted =
            |workload: &Workload, step: &str| match workload.step(step).unwrap().limit(&workload.data) {
                BlockLimit::Operations { count } => count,
                BlockLimit::Time { .. } => 0,
            };
        let of = |name: &str, scale: &Scale| {
            let workload = built_in_workload(name).scaled(scale);
            (workload.data.keys, inserted(&workload, "l.i1"), inserted(&workload, "l.i2"))
        };
        let whole = Scale::default();
        assert_eq!(of("ibench.small", &whole), (30 * MILLION, 40 * MILLION, 10 * MILLION));
        assert_eq!(of("ibench.small-4", &whole), (40 * MILLION, 64 * MILLION, 16 * MILLION));
        assert_eq!(of("ibench.io-bound", &whole), (800 * MILLION, 4 * MILLION, MILLION));
        assert_eq!(of("ibench.io-bound-4", &whole), (800 * MILLION, 16 * MILLION, 4 * MILLION));
        assert_eq!(of("ibench.large", &whole), (3600 * MILLION, 48 * MILLION, 12 * MILLION));
        let tenth = Scale { rows: Some(3 * MILLION), ..Scale::default() };
        assert_eq!(of("ibench.small", &tenth), (3 * MILLION, 4 * MILLION, MILLION), "they go with the table");
        let large = built_in_workload("ibench.large");
        let clients =
            ["l.i0", "l.x", "l.i1", "l.i1.deletes", "qr100"].map(|step| large.step(step).unwrap().threads);
        assert_eq!(clients, [12; 5]);
        assert_eq!(
            large.step("qr100.inserts").unwrap().rate,
            Some(1200.0),
            "each client inserts at the rate"
        );
        let in_bursts = large.scaled(&Scale { in_bursts: Some(true), ..Scale::default() });
        let steps =
            ["qr100.inserts", "qr100.deletes", "qr100"].map(|step| in_bursts.step(step).unwrap().in_bursts);
        assert_eq!(steps, [true, false, false]);
    }

    #[test]
    fn the_scale_of_a_campaign_is_found_again() {
        let of_servers = Scale {
            tables: Some(2),
            rows: Some(5000),
            memory_mb: Some(256),
            read_seconds: Some(1.5),
            write_seconds: Some(3.0),
            threads: Some(4),
            ..Scale::default()
        };
        let of_rocksdb = Scale { keys: Some(7000), read_seconds: Some(2.0), ..Scale::default() };
        for (name, scale) in [("sysbench.quick", of_servers), ("quick", of_rocksdb)] {
            let scaled = built_in_workload(name).scaled(&scale);
            assert_eq!(built_in_workload(name).scaled(&scaled.scale()), scaled, "{name}");
        }
    }

    #[test]
    fn the_classic_sequences_are_whole() {
        assert_eq!(built_in_workload("rocksdb.byrx").steps.len(), 11);
        let of_2021 = built_in_workload("rocksdb.2021").steps;
        assert_eq!(of_2021.iter().filter(|step| !step.helper).count(), 16);
        let processes = of_2021.iter().filter(|step| !step.same_process).count();
        assert_eq!(processes, 12, "invocations of db_bench");
    }

    /// Their options are held to db_bench's on one workload of each family (`cargo xtask e2e "same options"`).
    #[test]
    fn classic_workloads_of_a_family_differ_in_cache_or_codecs_alone() {
        let but = |name: &str, prefixes: &[&str]| {
            let mut options = built_in_workload(name).options;
            options.retain(|option, _| !prefixes.iter().any(|prefix| option.starts_with(prefix)));
            options
        };
        let cache = ["block_based_table_factory.block_cache"];
        let codecs = ["compression", "bottommost_compression"];
        let variants = ["none", "lz4", "zstd", "nnl", "nnz", "nlz"];
        let of_codecs =
            variants.map(|variant| ("rocksdb.iodir", format!("rocksdb.iodir_{variant}"), &codecs[..]));
        let of_cache = [("rocksdb.byrx", "rocksdb.byos"), ("rocksdb.2021", "rocksdb.2021-not-cached")]
            .map(|(name, other)| (name, other.to_owned(), &cache[..]));
        for (name, other, prefixes) in of_codecs.into_iter().chain(of_cache) {
            assert_eq!(but(name, prefixes), but(&other, prefixes), "{name} {other}");
            let (whole, whole_other) = (built_in_workload(name), built_in_workload(&other));
            assert_eq!((whole.data, whole.steps), (whole_other.data, whole_other.steps), "{name} {other}");
        }
    }

    #[test]
    fn what_is_shown_of_a_workload_can_be_used_as_a_file() {
        for (name, _) in embedded("workloads") {
            let workload = built_in_workload(name);
            let again = Workload::parse(&workload.text, "shown").unwrap();
            assert_eq!((again.steps, again.options), (workload.steps, workload.options), "{name}");
        }
    }
}
