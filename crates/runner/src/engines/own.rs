//! One's own builds: a library, or a server below its install prefix, is found where the user said, stays there, and may be rebuilt at any time.

use super::client;
use super::elf;
use super::error::EngineError;
use super::file::{EngineSource, InitialiseLayout, LibrarySource, ProgramSource, ServerSource};
use super::layout::Search;
use super::record::{BuildRecord, SCHEMA};
use super::sha256;
use crate::doctor::found_on_path;
use model::build::{BuildProbe, BuildSource, EngineBuild};
use model::subject::BuildRef;
use model::units::Bytes;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// `pg_config`, and a program that is asked for its version, prints and ends; not measured, far above what any machine needs.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// What of `pg_config`'s output tells how a build was made.
const PG_CONFIG_NAMES: [&str; 4] = ["VERSION", "CC", "CFLAGS", "CONFIGURE"];

/// The record of the library or server that `path` is, or that the directory `path` holds.
pub(super) fn record_of(
    reference: &BuildRef,
    path: &Path,
    source: &EngineSource,
    arch: &str,
) -> Result<BuildRecord, EngineError> {
    let mut probe = None;
    let (library, server, compilers) = match source {
        EngineSource::Program(program) => {
            let path = resolved(path)?;
            let compilers = elf::check_program(&path, arch)?;
            probe = Some(version_of(&path, program));
            (path, None, compilers)
        }
        EngineSource::Library(source) => {
            let library = find_library(path, source)?;
            let compilers = elf::check_library(&library, source, arch)?;
            (library, None, compilers)
        }
        EngineSource::Server(source) => {
            let root = root_of(&resolved(path)?, source);
            let search = Search {
                engine: &source.engine,
                layout: &source.layout,
                initialise: &source.layout.initialise,
                base: Path::new("/"),
                root: &root,
                // It was installed here, so it finds its libraries itself.
                libraries: Vec::new(),
                arguments: source.layout.arguments.clone(),
                own: true,
            };
            let found = search.run()?;
            let mut compilers = elf::check_program(&found.program, arch)?;
            if let InitialiseLayout::Initdb { .. } = source.layout.initialise {
                let output = client::output_of(&found.program.with_file_name("pg_config"), ANSWER_TIMEOUT);
                compilers.extend(output.iter().flat_map(|output| pg_config_facts(output)));
            }
            (found.program, Some(found.files), compilers)
        }
    };
    let (sha256, size) = sha256::of_file(&library)?;
    Ok(BuildRecord {
        schema: SCHEMA,
        reference: reference.clone(),
        library,
        sha256,
        size: Bytes(size),
        server,
        loader: None,
        source: BuildSource::Own { path: path.to_owned() },
        compilers,
        jar: None,
        packages: Vec::new(),
        code: None,
        probe,
    })
}

/// The program as the host has it.
pub(super) fn installed(
    reference: &BuildRef,
    program: &ProgramSource,
    arch: &str,
) -> Result<EngineBuild, EngineError> {
    let path = found_on_path(&program.name).ok_or_else(|| not_installed(reference, program))?;
    let record = record_of(reference, &path, &EngineSource::Program(program.clone()), arch)?;
    Ok(EngineBuild { source: BuildSource::Installed { path }, ..record.into_build(Path::new("/")) })
}

pub(super) fn not_installed(build: &BuildRef, program: &ProgramSource) -> EngineError {
    EngineError::NotInstalled {
        build: build.clone(),
        program: program.name.as_str().into(),
        package: program.package.as_str().into(),
    }
}

/// What it says of its version; nothing if it says nothing.
fn version_of(path: &Path, program: &ProgramSource) -> BuildProbe {
    let said = client::output_with(path, &[&program.version_argument], ANSWER_TIMEOUT).unwrap_or_default();
    let version = said.lines().next().map(str::trim).filter(|line| !line.is_empty());
    BuildProbe {
        default_options: String::new(),
        facts: version.map(|version| ("version".to_owned(), version.to_owned())).into_iter().collect(),
        missing_symbols: Vec::new(),
    }
}

/// `pg_config: CFLAGS = -O2`: the lines that tell how a build was made.
fn pg_config_facts(output: &str) -> Vec<String> {
    let told = |line: &&str| line.split_once(" = ").is_some_and(|(name, _)| PG_CONFIG_NAMES.contains(&name));
    output.lines().filter(told).map(|line| format!("pg_config: {line}")).collect()
}

/// The install prefix that is meant by a path: itself, or where it is the program, the directory that this is in.
fn root_of(path: &Path, source: &ServerSource) -> PathBuf {
    if path.is_dir() {
        return path.to_owned();
    }
    let below = |program: &&PathBuf| path.ends_with(program);
    match source.layout.programs.iter().filter(below).max_by_key(|program| program.components().count()) {
        Some(program) => path.ancestors().nth(program.components().count()).unwrap_or(path).to_owned(),
        None => path.to_owned(),
    }
}

fn resolved(path: &Path) -> Result<PathBuf, EngineError> {
    match fs::canonicalize(path) {
        Ok(resolved) => Ok(resolved),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(EngineError::NoSuchPath { path: path.to_owned() })
        }
        Err(error) => Err(EngineError::io("read", path)(error)),
    }
}

/// The library that is meant by a file or a directory, links resolved.
fn find_library(path: &Path, source: &LibrarySource) -> Result<PathBuf, EngineError> {
    let read = EngineError::io("read", path);
    let resolved = resolved(path)?;
    if !resolved.is_dir() {
        return Ok(resolved);
    }
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(&resolved).map_err(&read)? {
        let entry = entry.map_err(&read)?;
        let name = entry.file_name();
        let wanted = |pattern: &String| matches(pattern, &name.to_string_lossy());
        if source.own_library_patterns.iter().any(wanted)
            // A link that leads nowhere is left over from an earlier build.
            && let Ok(library) = fs::canonicalize(entry.path())
            && library.is_file()
        {
            found.insert(library);
        }
    }
    match (found.pop_first(), found.is_empty()) {
        (Some(library), true) => Ok(library),
        (Some(first), false) => Err(EngineError::SeveralLibraries {
            path: path.to_owned(),
            found: quoted([first].iter().chain(&found).map(|library| library.display().to_string())),
        }),
        (None, _) => Err(EngineError::NoLibraryInDirectory {
            path: path.to_owned(),
            patterns: quoted(source.own_library_patterns.iter().cloned()),
        }),
    }
}

fn quoted(names: impl Iterator<Item = String>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Whether a file name is meant by a pattern with at most one `*`.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        Some((start, end)) => {
            name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
        }
        None => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_pg_config_says_of_the_build_is_kept() {
        let output = "BINDIR = /usr/bin\nCONFIGURE =  '--with-icu'\nCC = gcc\nCFLAGS = -O2 -g\nCFLAGS_SL = -fPIC\n\
                      VERSION = PostgreSQL 15.18\nnonsense\n";
        let expected =
            ["CONFIGURE =  '--with-icu'", "CC = gcc", "CFLAGS = -O2 -g", "VERSION = PostgreSQL 15.18"];
        assert_eq!(pg_config_facts(output), expected.map(|fact| format!("pg_config: {fact}")));
    }

    #[test]
    fn a_pattern_means_what_a_shell_would() {
        assert!(matches("librocksdb.so", "librocksdb.so"));
        assert!(matches("librocksdb.so.*", "librocksdb.so.8.7.3"));
        assert!(matches("librocksdbjni*.so", "librocksdbjni-linux64.so"));
        assert!(!matches("librocksdb.so", "librocksdb_debug.so"));
        assert!(!matches("ab*b", "ab"));
    }
}
