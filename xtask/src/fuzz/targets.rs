//! The targets: what each reads at first. Their code is in `fuzz/fuzz_targets`.

use super::seeds;
use anyhow::Context;
use std::fs;
use std::path::{Path, PathBuf};

/// One program of `fuzz/`.
pub struct Target {
    pub name: &'static str,
    /// Whether it reads what others send over a network.
    pub is_network: bool,
    /// Files and directories below the project's root that have real inputs.
    files: &'static [&'static str],
    /// Inputs that no file has.
    made: fn() -> Vec<Vec<u8>>,
}

const fn of_files(name: &'static str, files: &'static [&'static str]) -> Target {
    Target { name, is_network: false, files, made: Vec::new }
}

const fn of_network(name: &'static str, made: fn() -> Vec<Vec<u8>>) -> Target {
    Target { name, is_network: true, files: &[], made }
}

/// Those of a network first: they take the longest.
pub const TARGETS: &[Target] = &[
    of_network("worker", seeds::worker),
    of_network("postgres", seeds::postgres),
    of_network("mysql", seeds::mysql),
    of_network("mongodb", seeds::mongodb),
    of_network("http", seeds::http),
    Target { name: "archives", is_network: false, files: &[], made: seeds::archives },
    of_files("toml_files", &["configs", "engines", "hardware", "patterns", "plans", "recipes", "workloads"]),
    of_files("db_bench_report", &["crates/formats/fixtures/benchmark_sh"]),
    of_files("db_bench_text", &["crates/formats/fixtures/db_bench"]),
    of_files("fio_json", &["crates/formats/fixtures/fio"]),
    of_files("go_bench", &["crates/formats/fixtures/go_bench"]),
    of_files("iostat", &["crates/formats/fixtures/iostat"]),
    of_files("otava_csv", &["crates/formats/fixtures/otava"]),
    of_files("pgbench", &["crates/formats/fixtures/pgbench"]),
    of_files("pgbench_log", &["crates/formats/fixtures/pgbench"]),
    of_files("rocksdb_texts", &["crates/formats/fixtures/rocksdb"]),
    Target {
        name: "server_texts",
        is_network: false,
        files: &["crates/formats/fixtures/rocksdb/8.7.3"],
        made: seeds::server_texts,
    },
    of_files("sysbench", &["crates/formats/fixtures/sysbench"]),
    of_files("table", &["crates/formats/fixtures/tables"]),
    of_files("vmstat", &["crates/formats/fixtures/vmstat"]),
];

impl Target {
    /// Writes what it reads at first into a directory, beside what was found before.
    pub fn write_seeds(&self, root: &Path, corpus: &Path) -> anyhow::Result<()> {
        for path in self.files {
            for file in files_below(&root.join(path))? {
                let name = file.strip_prefix(root).unwrap_or(&file).to_string_lossy().replace('/', "_");
                let text = fs::read(&file).with_context(|| format!("failed to read `{}`", file.display()))?;
                write(&corpus.join(name), &text)?;
            }
        }
        for (number, bytes) in (self.made)().iter().enumerate() {
            write(&corpus.join(format!("made-{number}")), bytes)?;
        }
        Ok(())
    }
}

fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    fs::write(path, bytes).with_context(|| format!("failed to write `{}`", path.display()))
}

fn files_below(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries =
        fs::read_dir(directory).with_context(|| format!("failed to read `{}`", directory.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(files_below(&path)?);
        } else {
            files.push(path);
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
    }

    #[test]
    fn each_program_of_the_crate_is_a_target_and_has_its_file() {
        let manifest = fs::read_to_string(root().join("fuzz/Cargo.toml")).unwrap();
        let manifest: toml::Table = manifest.parse().unwrap();
        let programs = manifest["bin"].as_array().unwrap().iter();
        let programs: BTreeSet<&str> = programs.map(|program| program["name"].as_str().unwrap()).collect();
        assert_eq!(programs, TARGETS.iter().map(|target| target.name).collect());
        for name in programs {
            assert!(root().join(format!("fuzz/fuzz_targets/{name}.rs")).is_file(), "{name}");
        }
    }

    #[test]
    fn each_target_begins_with_inputs() {
        for target in TARGETS {
            let corpus = tempfile::tempdir().unwrap();
            target.write_seeds(&root(), corpus.path()).unwrap();
            assert!(fs::read_dir(corpus.path()).unwrap().count() > 1, "{}", target.name);
        }
    }
}
