//! One's own builds: a library is found where the user said, stays there, and may be rebuilt at any time.

use super::catalog::EngineSource;
use super::elf;
use super::error::EngineError;
use super::record::{BuildRecord, Facts};
use super::sha256;
use model::build::BuildSource;
use model::subject::BuildRef;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The record of the library that `path` is, or that the build directory `path` holds.
pub(super) fn record_of(
    reference: &BuildRef,
    path: &Path,
    source: &EngineSource,
    arch: &str,
) -> Result<BuildRecord, EngineError> {
    let library = find_library(path, source)?;
    let compilers = elf::check_library(&library, source, arch)?;
    let (sha256, size) = sha256::of_file(&library)?;
    Ok(BuildRecord::new(Facts {
        reference: reference.clone(),
        library,
        sha256,
        size,
        source: BuildSource::Own { path: path.to_owned() },
        compilers,
        jar: None,
    }))
}

/// The library that is meant by a file or a directory, links resolved.
fn find_library(path: &Path, source: &EngineSource) -> Result<PathBuf, EngineError> {
    let read = EngineError::io("read", path);
    let resolved = match fs::canonicalize(path) {
        Ok(resolved) => resolved,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(EngineError::NoSuchPath { path: path.to_owned() });
        }
        Err(error) => return Err(read(error)),
    };
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
    fn a_pattern_means_what_a_shell_would() {
        assert!(matches("librocksdb.so", "librocksdb.so"));
        assert!(matches("librocksdb.so.*", "librocksdb.so.8.7.3"));
        assert!(matches("librocksdbjni*.so", "librocksdbjni-linux64.so"));
        assert!(!matches("librocksdb.so", "librocksdb_debug.so"));
        assert!(!matches("ab*b", "ab"));
    }
}
