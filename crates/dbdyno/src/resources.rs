//! Workloads, engine sources and configurations: those built in, and the user's own laid over them.

use crate::exit::usage;
use crate::paths;
use anyhow::{Context, anyhow};
use model::hardware::HardwareClasses;
use model::names;
use model::option_history::OptionHistory;
use model::workload::Workload;
use runner::engines::{CatalogFiles, EngineCatalog};
use std::fs;
use std::path::{Path, PathBuf};

const WORKLOADS: [(&str, &str); 18] = [
    ("embedded:workloads/quick.toml", include_str!("../../../workloads/quick.toml")),
    ("embedded:workloads/rocksdb.12038.toml", include_str!("../../../workloads/rocksdb.12038.toml")),
    ("embedded:workloads/rocksdb.2021.toml", include_str!("../../../workloads/rocksdb.2021.toml")),
    ("embedded:workloads/rocksdb.byos.toml", include_str!("../../../workloads/rocksdb.byos.toml")),
    ("embedded:workloads/rocksdb.byrx.toml", include_str!("../../../workloads/rocksdb.byrx.toml")),
    ("embedded:workloads/rocksdb.iobuf.toml", include_str!("../../../workloads/rocksdb.iobuf.toml")),
    ("embedded:workloads/rocksdb.iodir.toml", include_str!("../../../workloads/rocksdb.iodir.toml")),
    ("embedded:workloads/rocksdb.iodir_lz4.toml", include_str!("../../../workloads/rocksdb.iodir_lz4.toml")),
    ("embedded:workloads/rocksdb.iodir_nlz.toml", include_str!("../../../workloads/rocksdb.iodir_nlz.toml")),
    ("embedded:workloads/rocksdb.iodir_nnl.toml", include_str!("../../../workloads/rocksdb.iodir_nnl.toml")),
    ("embedded:workloads/rocksdb.iodir_nnz.toml", include_str!("../../../workloads/rocksdb.iodir_nnz.toml")),
    (
        "embedded:workloads/rocksdb.iodir_none.toml",
        include_str!("../../../workloads/rocksdb.iodir_none.toml"),
    ),
    (
        "embedded:workloads/rocksdb.iodir_zstd.toml",
        include_str!("../../../workloads/rocksdb.iodir_zstd.toml"),
    ),
    ("embedded:workloads/ibench.quick.toml", include_str!("../../../workloads/ibench.quick.toml")),
    ("embedded:workloads/ibench.small.toml", include_str!("../../../workloads/ibench.small.toml")),
    ("embedded:workloads/sysbench.medium.toml", include_str!("../../../workloads/sysbench.medium.toml")),
    ("embedded:workloads/sysbench.quick.toml", include_str!("../../../workloads/sysbench.quick.toml")),
    ("embedded:workloads/sysbench.small.toml", include_str!("../../../workloads/sysbench.small.toml")),
];
/// Sequences of steps, by the name that workloads give.
const SEQUENCES: [(&str, &str); 4] = [
    ("insert-benchmark", include_str!("../../../workloads/sequences/insert-benchmark.toml")),
    ("sysbench-42", include_str!("../../../workloads/sequences/sysbench-42.toml")),
    ("rocksdb-2021", include_str!("../../../workloads/sequences/rocksdb-2021.toml")),
    ("rocksdb-2022", include_str!("../../../workloads/sequences/rocksdb-2022.toml")),
];
const OPTION_HISTORIES: [(&str, &str, &str); 1] = [(
    "rocksdb",
    "embedded:engines/rocksdb-options.toml",
    include_str!("../../../engines/rocksdb-options.toml"),
)];
const HARDWARE: [(&str, &str, &str); 2] = [
    ("rocksdb", "embedded:hardware/rocksdb.toml", include_str!("../../../hardware/rocksdb.toml")),
    ("sql", "embedded:hardware/sql.toml", include_str!("../../../hardware/sql.toml")),
];
const ENGINES: [(&str, &str); 5] = [
    ("embedded:engines/mariadb.toml", include_str!("../../../engines/mariadb.toml")),
    ("embedded:engines/myrocks.toml", include_str!("../../../engines/myrocks.toml")),
    ("embedded:engines/mysql.toml", include_str!("../../../engines/mysql.toml")),
    ("embedded:engines/postgres.toml", include_str!("../../../engines/postgres.toml")),
    ("embedded:engines/rocksdb.toml", include_str!("../../../engines/rocksdb.toml")),
];
const CONFIGS: [(&str, &str); 5] = [
    ("embedded:configs/mariadb.toml", include_str!("../../../configs/mariadb.toml")),
    ("embedded:configs/myrocks.toml", include_str!("../../../configs/myrocks.toml")),
    ("embedded:configs/mysql.toml", include_str!("../../../configs/mysql.toml")),
    ("embedded:configs/postgres.toml", include_str!("../../../configs/postgres.toml")),
    ("embedded:configs/rocksdb.toml", include_str!("../../../configs/rocksdb.toml")),
];

/// The engines, with the user's own files from `engines/*.toml` and `configs/*.toml` of the configuration
/// directory.
pub fn catalog() -> anyhow::Result<EngineCatalog> {
    let own_engines = own_files("engines")?;
    let own_configs = own_files("configs")?;
    let engines: Vec<(&str, &str)> = ENGINES.into_iter().chain(borrowed(&own_engines)).collect();
    let configs: Vec<(&str, &str)> = CONFIGS.into_iter().chain(borrowed(&own_configs)).collect();
    EngineCatalog::parse(CatalogFiles { engines: &engines, configs: &configs }).map_err(usage)
}

/// All workloads by name; one of the user's takes the place of a built-in one of the same name.
pub fn workloads() -> anyhow::Result<Vec<Workload>> {
    let own = own_files("workloads")?;
    let mut workloads: Vec<Workload> = Vec::new();
    for (origin, text) in WORKLOADS.into_iter().chain(borrowed(&own)) {
        let workload = Workload::parse_with(text, origin, &SEQUENCES).map_err(usage)?;
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
        return Workload::parse_with(&text, wanted, &SEQUENCES).map_err(usage);
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
    let found = OPTION_HISTORIES.into_iter().find(|(known, _, _)| *known == engine);
    found.map(|(_, origin, text)| OptionHistory::parse(text, origin).map_err(usage)).transpose()
}

/// The hardware classes of an engine.
pub fn hardware(engine: &str) -> anyhow::Result<HardwareClasses> {
    let found = HARDWARE.into_iter().find(|(known, _, _)| *known == engine);
    let (_, origin, text) =
        found.ok_or_else(|| usage(anyhow!("there are no hardware classes for {engine}")))?;
    HardwareClasses::parse(text, origin).map_err(usage)
}

type Files = Vec<(String, String)>;

fn borrowed(files: &Files) -> impl Iterator<Item = (&str, &str)> {
    files.iter().map(|(origin, text)| (origin.as_str(), text.as_str()))
}

fn own_files(kind: &str) -> anyhow::Result<Files> {
    let directory = paths::config_dir()?.join(kind);
    let Ok(entries) = fs::read_dir(&directory) else { return Ok(Vec::new()) };
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    files.sort();
    let read = |path: PathBuf| {
        let text =
            fs::read_to_string(&path).with_context(|| format!("failed to read `{}`", path.display()))?;
        Ok((path.display().to_string(), text))
    };
    files.into_iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::workload::sql::Dialect;
    use model::workload::{Group, Operation, Scale, Step};

    #[test]
    fn every_embedded_definition_is_sound() {
        for (origin, text) in WORKLOADS {
            let workload = Workload::parse_with(text, origin, &SEQUENCES).unwrap();
            assert!(origin.ends_with(&format!("/{}.toml", workload.name)), "{origin}");
        }
        let catalog = EngineCatalog::parse(CatalogFiles { engines: &ENGINES, configs: &CONFIGS }).unwrap();
        assert!(catalog.config("rocksdb", "direct").unwrap().options.contains_key("use_direct_reads"));
        assert!(hardware("rocksdb").unwrap().class("c48r128").is_ok());
        assert!(hardware("sql").unwrap().class("c16r64").is_ok());
    }

    #[test]
    fn the_microbenchmarks_are_those_of_the_posts() {
        let (origin, text) =
            WORKLOADS.into_iter().find(|(origin, _)| origin.contains("sysbench.quick")).unwrap();
        let workload = Workload::parse_with(text, origin, &SEQUENCES).unwrap();
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
        assert_eq!(queries("read-only_range=100"), 16, "as the posts count them");
        assert_eq!((queries("point-query_range=100"), queries("insert_range=100")), (1, 1));
    }

    #[test]
    fn the_insert_benchmark_is_that_of_the_posts() {
        let (origin, text) =
            WORKLOADS.into_iter().find(|(origin, _)| origin.contains("ibench.quick")).unwrap();
        let workload = Workload::parse_with(text, origin, &SEQUENCES).unwrap();
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
        for dialect in Dialect::ALL {
            let of = |name: &str| operations(name, dialect);
            assert_eq!((of("l.i1"), of("l.i2"), of("qr100.inserts"), of("qr100.deletes")), (50, 5, 50, 50));
            assert_eq!((of("qr100"), of("qp1000")), (1, 1));
        }
        assert_eq!(workload.step("qp500.inserts").unwrap().rate, Some(500.0));
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
            let scaled = workload(name).unwrap().scaled(&scale);
            assert_eq!(workload(name).unwrap().scaled(&scaled.scale()), scaled, "{name}");
        }
    }

    #[test]
    fn the_classic_sequences_are_whole() {
        let steps = |name: &str| {
            let (origin, text) = WORKLOADS.into_iter().find(|(origin, _)| origin.contains(name)).unwrap();
            Workload::parse_with(text, origin, &SEQUENCES).unwrap().steps
        };
        assert_eq!(steps("rocksdb.byrx").len(), 11);
        let of_2021 = steps("rocksdb.2021");
        assert_eq!(of_2021.iter().filter(|step| !step.helper).count(), 16);
        let processes = of_2021.iter().filter(|step| !step.same_process).count();
        assert_eq!(processes, 12, "invocations of db_bench");
    }

    #[test]
    fn what_is_shown_of_a_workload_can_be_used_as_a_file() {
        for (origin, text) in WORKLOADS {
            let workload = Workload::parse_with(text, origin, &SEQUENCES).unwrap();
            let again = Workload::parse(&workload.text, "shown").unwrap();
            assert_eq!((again.steps, again.options), (workload.steps, workload.options), "{origin}");
        }
    }
}
