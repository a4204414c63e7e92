//! Where sources come from: a git repository of the user, which is only read, or a directory or an archive, which are taken as they are.

use super::git::{FOREIGN_VARIABLES, Git};
use super::{BuildError, Version, io_error};
use crate::engines::sha256;
use crate::process::tool::{self, Tool, ToolError};
use model::units::Nanos;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

/// Unpacking the largest tree of sources takes minutes; a timeout against hangs.
const UNPACK_TIMEOUT: Nanos = Nanos::from_secs(1800);

/// Sources of an engine, in one state or many.
#[derive(Debug, Clone)]
pub enum Source {
    Repository(PathBuf),
    /// A directory, or an archive that tar reads.
    Tree {
        path: PathBuf,
        version: Version,
    },
}

impl Source {
    /// A repository that is only read; whether it is one shows when it is asked for a commit.
    ///
    /// # Errors
    /// A path that cannot be resolved.
    pub fn repository(path: &Path) -> Result<Source, BuildError> {
        Ok(Source::Repository(std::path::absolute(path).map_err(io_error("resolve", path))?))
    }

    /// A directory or an archive: its state is known by the checksum of what is in it.
    ///
    /// # Errors
    /// Nothing there that can be read.
    pub fn tree(path: &Path) -> Result<Source, BuildError> {
        let path = fs::canonicalize(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => BuildError::NoSuchSource { path: path.to_owned() },
            _ => io_error("resolve", path)(error),
        })?;
        let id = if path.is_dir() { checksum(&path)? } else { sha256::of_file(&path)?.0 };
        let summary = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Source::Tree { path, version: Version { id, summary } })
    }

    /// What the user gave.
    pub fn path(&self) -> &Path {
        match self {
            Source::Repository(path) | Source::Tree { path, .. } => path,
        }
    }

    /// The state that a name means: a commit, tag or branch. A directory or an archive has one state, whatever the name.
    ///
    /// # Errors
    /// No repository, or no commit of this name.
    pub fn version(
        &self,
        name: &str,
        scratch: &Path,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Version, BuildError> {
        match self {
            Source::Repository(repository) => Git { repository, scratch, interrupted }.commit(name),
            Source::Tree { version, .. } => Ok(version.clone()),
        }
    }

    /// Whether a state has a file of this path.
    ///
    /// # Errors
    /// git refuses, or an archive cannot be read.
    pub fn has(
        &self,
        version: &Version,
        file: &Path,
        scratch: &Path,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<bool, BuildError> {
        match self {
            Source::Repository(repository) => Git { repository, scratch, interrupted }.has(version, file),
            Source::Tree { path, .. } if path.is_dir() => Ok(path.join(file).exists()),
            Source::Tree { path, .. } => {
                let listed = run("tar", &["-t", "-f", &path.to_string_lossy()], path, scratch, interrupted)?;
                // By itself, or below the one directory that an archive has.
                let is_it = |line: &str| {
                    let parts: Vec<Component<'_>> =
                        Path::new(line).components().filter(|part| *part != Component::CurDir).collect();
                    let is_at = |skipped: usize| parts.iter().copied().skip(skipped).eq(file.components());
                    is_at(0) || is_at(1)
                };
                Ok(listed.lines().any(is_it))
            }
        }
    }

    /// Puts a state into `checkout`. What earlier builds left beside its files stays, so that only what changed is built again.
    pub(super) fn check_out(
        &self,
        version: &Version,
        checkout: &Path,
        scratch: &Path,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<(), BuildError> {
        match self {
            Source::Repository(repository) => {
                let theirs = Git { repository, scratch, interrupted };
                if !checkout.exists() {
                    // Under its name only when it is whole.
                    let fresh = checkout.with_extension("new");
                    remove_tree(&fresh)?;
                    let from = theirs.shared_directory()?;
                    let git = Git { repository: scratch, scratch, interrupted };
                    let to = fresh.to_string_lossy();
                    let cloned =
                        git.run(&["clone", "--quiet", "--shared", "--no-checkout", "--", &from, &to]);
                    cloned.map_err(|source| git.error(format!("clone `{from}`"), source))?;
                    fs::rename(&fresh, checkout).map_err(io_error("rename", &fresh))?;
                }
                // A git that was killed leaves its lock. Only who holds ours comes here.
                remove_file(&checkout.join(".git/index.lock"))?;
                let git = Git { repository: checkout, scratch, interrupted };
                let done = git.run(&["checkout", "--quiet", "--force", "--detach", &version.id]);
                done.map_err(|source| git.error(format!("check out {}", version.short()), source))?;
            }
            Source::Tree { path, .. } => {
                if checkout.exists() {
                    return Ok(());
                }
                // Under its name only when it is whole.
                let fresh = checkout.with_extension("new");
                remove_tree(&fresh)?;
                fs::create_dir(&fresh).map_err(io_error("create", &fresh))?;
                unpack(path, &fresh, scratch, interrupted)?;
                // What git keeps is no source, and may be larger than all that is.
                let git = fresh.join(".git");
                if git.is_dir() {
                    remove_tree(&git)?;
                }
                let only = if path.is_dir() { None } else { only_directory_in(&fresh)? };
                let whole = only.unwrap_or_else(|| fresh.clone());
                fs::rename(&whole, checkout).map_err(io_error("rename", &whole))?;
                remove_tree(&fresh)?;
            }
        }
        Ok(())
    }
}

/// Removes a directory with all that is in it, if it is there.
pub(super) fn remove_tree(path: &Path) -> Result<(), BuildError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(io_error("remove", path)(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Removes a file, if it is there.
pub(super) fn remove_file(path: &Path) -> Result<(), BuildError> {
    match fs::remove_file(path) {
        Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Err(io_error("remove", path)(error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Keeps the times of files: make judges by them whether what a tree brings ready-made is up to date.
fn unpack(path: &Path, to: &Path, scratch: &Path, interrupted: &dyn Fn() -> bool) -> Result<(), BuildError> {
    let (from, to) = (path.display().to_string(), to.display().to_string());
    let done = if path.is_dir() {
        run("cp", &["-a", "--", &format!("{from}/."), &to], path, scratch, interrupted)
    } else {
        run("tar", &["-x", "--no-same-owner", "-f", &from, "-C", &to], path, scratch, interrupted)
    };
    done.map(|_| ())
}

fn run(
    program: &str,
    arguments: &[&str],
    path: &Path,
    scratch: &Path,
    interrupted: &dyn Fn() -> bool,
) -> Result<String, BuildError> {
    let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
    let tool = Tool {
        program: Path::new(program),
        arguments: &arguments,
        directory: scratch,
        output: &scratch.join("unpack.output"),
        timeout: UNPACK_TIMEOUT,
        without: &FOREIGN_VARIABLES,
        with: &BTreeMap::new(),
    };
    tool::run(&tool, |_| Ok(()), &mut || interrupted()).map(|run| run.output).map_err(|source| match source {
        ToolError::Interrupted => BuildError::Interrupted,
        source => BuildError::NotUnpacked { path: path.to_owned(), source },
    })
}

/// That of an archive, which has all that is in it in one directory.
fn only_directory_in(directory: &Path) -> Result<Option<PathBuf>, BuildError> {
    let read = io_error("read", directory);
    let mut entries = fs::read_dir(directory).map_err(&read)?;
    let (Some(first), None) = (entries.next(), entries.next()) else { return Ok(None) };
    let path = first.map_err(&read)?.path();
    Ok(path.is_dir().then_some(path))
}

/// Of all paths, contents and rights to run, without what git keeps.
fn checksum(directory: &Path) -> Result<String, BuildError> {
    let mut hasher = Sha256::new();
    add(&mut hasher, directory, Path::new(""))?;
    Ok(sha256::hexadecimal(&hasher.finalize()))
}

fn add(hasher: &mut Sha256, root: &Path, below: &Path) -> Result<(), BuildError> {
    let directory = root.join(below);
    let read = io_error("read", &directory);
    let mut names = Vec::new();
    for entry in fs::read_dir(&directory).map_err(&read)? {
        names.push(entry.map_err(&read)?.file_name());
    }
    names.sort();
    for name in names.into_iter().filter(|name| name != ".git") {
        let below = below.join(name);
        let path = root.join(&below);
        let read = io_error("read", &path);
        let metadata = fs::symlink_metadata(&path).map_err(&read)?;
        let (kind, content) = if metadata.is_dir() {
            ("directory", String::new())
        } else if metadata.is_symlink() {
            ("link", fs::read_link(&path).map_err(&read)?.display().to_string())
        } else if metadata.permissions().mode() & 0o100 != 0 {
            ("program", sha256::of_file(&path)?.0)
        } else {
            ("file", sha256::of_file(&path)?.0)
        };
        hasher.update(format!("{} {kind} {content}\n", below.display()));
        if metadata.is_dir() {
            add(hasher, root, &below)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id_of(source: &Source) -> String {
        match source {
            Source::Tree { version, .. } => version.id.clone(),
            Source::Repository(_) => panic!("no tree"),
        }
    }

    #[test]
    fn a_directory_is_known_by_what_is_in_it() {
        let scratch = tempfile::tempdir().unwrap();
        let tree = scratch.path().join("tree");
        fs::create_dir_all(tree.join("src")).unwrap();
        fs::write(tree.join("src/a.c"), "int a;").unwrap();
        let id = || id_of(&Source::tree(&tree).unwrap());
        let first = id();
        fs::create_dir(tree.join(".git")).unwrap();
        fs::write(tree.join(".git/HEAD"), "x").unwrap();
        assert_eq!(id(), first, "what git keeps is no source");
        fs::set_permissions(tree.join("src/a.c"), fs::Permissions::from_mode(0o755)).unwrap();
        let program = id();
        assert_ne!(program, first);
        fs::rename(tree.join("src/a.c"), tree.join("src/b.c")).unwrap();
        assert_ne!(id(), program);
        let gone = Source::tree(&scratch.path().join("none")).unwrap_err();
        assert!(gone.is_usage() && gone.to_string().contains("none"), "{gone}");
    }

    #[test]
    fn an_archive_and_a_directory_are_unpacked_and_one_that_is_cut_short_is_named() {
        let scratch = tempfile::tempdir().unwrap();
        let path = |name: &str| scratch.path().join(name);
        fs::create_dir_all(path("rocksdb-1/db")).unwrap();
        fs::write(path("rocksdb-1/db/a.c"), "int a;").unwrap();
        let tar = std::process::Command::new("tar")
            .args(["-czf", "a.tar.gz", "rocksdb-1"])
            .current_dir(scratch.path())
            .status()
            .unwrap();
        assert!(tar.success());
        let check_out = |from: &str, to: &str| {
            let source = Source::tree(&path(from)).unwrap();
            let version = source.version("", scratch.path(), &|| false).unwrap();
            source.check_out(&version, &path(to), scratch.path(), &|| false)
        };
        check_out("a.tar.gz", "one").unwrap();
        check_out("rocksdb-1", "two").unwrap();
        for checkout in ["one", "two"] {
            assert_eq!(fs::read_to_string(path(checkout).join("db/a.c")).unwrap(), "int a;", "{checkout}");
        }
        for source in ["a.tar.gz", "rocksdb-1"] {
            let source = Source::tree(&path(source)).unwrap();
            let version = source.version("", scratch.path(), &|| false).unwrap();
            let has = |file: &str| source.has(&version, Path::new(file), scratch.path(), &|| false).unwrap();
            assert!(has("db/a.c") && !has("a.c") && !has("db/b.c"), "{source:?}");
        }
        let whole = fs::read(path("a.tar.gz")).unwrap();
        fs::write(path("cut.tar.gz"), &whole[..whole.len() / 2]).unwrap();
        let error = check_out("cut.tar.gz", "three").unwrap_err();
        assert!(matches!(error, BuildError::NotUnpacked { .. }) && !path("three").exists(), "{error}");
    }
}
