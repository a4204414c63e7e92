//! One's own builds: a library, or a server below its install prefix, is found where the user said, stays there, and may be rebuilt at any time.

use super::client;
use super::elf;
use super::error::EngineError;
use super::file::{EngineSource, InitialiseLayout, LibrarySource, ProgramSource, ServerSource};
use super::layout::Search;
use super::record::{BuildRecord, SCHEMA};
use super::sha256;
use crate::doctor::found_on_path;
use model::build::{BuildProbe, BuildSource, EngineBuild, Made};
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

/// The record of the library or server that `path` is, or that the directory `path` holds; `made` if `engine build` made it.
pub(super) fn record_of(
    reference: &BuildRef,
    path: &Path,
    source: &EngineSource,
    arch: &str,
    mut made: Option<Box<Made>>,
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
            if let Some(made) = &mut made {
                made.ignored = ignored(&made.flags, &elf::command_lines(&library));
            }
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
                // One that was installed where it is finds its libraries itself; one of ours was built for another place.
                libraries: if made.is_some() { libraries_in(&root) } else { Vec::new() },
                arguments: source.layout.arguments.clone(),
                own: true,
            };
            let found = search.run()?;
            let mut compilers = elf::check_program(&found.program, arch)?;
            if let Some(made) = &mut made {
                check_version(made, &found.program)?;
                made.ignored = ignored(&made.flags, &elf::command_lines(&found.program));
            }
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
        made,
    })
}

/// A build directory may have kept something of another version.
fn check_version(made: &Made, program: &Path) -> Result<(), EngineError> {
    let Some(wanted) = &made.version else { return Ok(()) };
    let said = client::output_with(program, &["--version"], ANSWER_TIMEOUT).unwrap_or_default();
    let said = said.lines().next().unwrap_or_default().trim();
    if said.contains(wanted.as_str()) {
        return Ok(());
    }
    Err(EngineError::BuiltAnotherVersion {
        program: program.to_owned(),
        said: said.into(),
        wanted: wanted.as_str().into(),
    })
}

/// Of these flags those that are missing in some command lines of the compiler; of those that set a level (`-O2`) the last one counts. None if the
/// compiler wrote no command lines.
fn ignored(flags: &[String], lines: &[String]) -> Vec<String> {
    let has = |line: &str, flag: &str| {
        let mut words = line.split_whitespace().rev();
        if flag.starts_with(LEVEL) {
            return words.find(|word| word.starts_with(LEVEL)) == Some(flag);
        }
        if flag.starts_with(LTO) {
            // Of `-flto=auto` gcc writes `-flto`; what it compiles when it links has no flag that says so.
            return line.starts_with(GCC_AT_LINK_TIME) || words.any(|word| word.starts_with(LTO));
        }
        words.any(|word| word == flag)
    };
    let is_missing = |flag: &&String| is_written(flag) && lines.iter().any(|line| !has(line, flag));
    flags.iter().filter(is_missing).cloned().collect()
}

/// How flags of optimisation begin.
const LEVEL: &str = "-O";
const LTO: &str = "-flto";
/// How gcc calls itself when it compiles what it has kept for link time.
const GCC_AT_LINK_TIME: &str = "GNU GIMPLE";

/// Whether a compiler writes a flag as it was given: gcc leaves macros, paths and warnings out, and has put the name of this CPU in place of
/// `native`.
fn is_written(flag: &str) -> bool {
    [LEVEL, "-f", "-m"].iter().any(|begin| flag.starts_with(begin)) && !flag.ends_with("=native")
}

/// Directories of libraries, as installing makes them.
fn libraries_in(root: &Path) -> Vec<PathBuf> {
    let candidates = ["lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"];
    candidates.into_iter().map(|directory| root.join(directory)).filter(|path| path.is_dir()).collect()
}

/// The program as the host has it.
pub(super) fn installed(
    reference: &BuildRef,
    program: &ProgramSource,
    arch: &str,
) -> Result<EngineBuild, EngineError> {
    let path = found_on_path(&program.name).ok_or_else(|| not_installed(reference, program))?;
    let record = record_of(reference, &path, &EngineSource::Program(program.clone()), arch, None)?;
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
    fn flags_that_a_tree_does_not_pass_on_are_found() {
        let list = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<String>>();
        let lines = list(&["GNU C17 12.2.0 -O2 -g -flto=auto", "GNU C17 12.2.0 -O2 -O3 -g -flto=auto"]);
        assert_eq!(ignored(&list(&["-O2", "-flto=auto"]), &lines), ["-O2"]);
        assert_eq!(ignored(&list(&["-O3", "-march=haswell"]), &lines), ["-O3", "-march=haswell"]);
        let not_written = list(&["-march=native", "-DNDEBUG", "-Wall"]);
        assert!(ignored(&not_written, &lines).is_empty());
        // As Postgres 15.18 has them, built with -flto=auto.
        let linked =
            list(&["GNU GIMPLE 12.2.0 -g -O2 -fPIC -fltrans", "GNU C17 12.2.0 -g -O2 -fwrapv -flto"]);
        assert_eq!(
            ignored(&list(&["-O2", "-flto=auto", "-fno-omit-frame-pointer"]), &linked),
            ["-fno-omit-frame-pointer"]
        );
        assert!(ignored(&list(&["-O2"]), &[]).is_empty(), "nothing is known");
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
