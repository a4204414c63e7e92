//! A library of each commit: checked out and built in a clone of our own, kept by commit and recipe.

use super::git::{FOREIGN_VARIABLES, Git};
use super::{Commit, CommitError};
use crate::marked_dir::create_marked_dir_below;
use crate::process::tool::{self, Tool, ToolError};
use model::units::Nanos;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

/// A build that takes longer hangs. A clean build of a large engine on two cores takes about two hours.
const BUILD_TIMEOUT: Nanos = Nanos::from_secs(4 * 3600);
/// Where libraries of commits are kept, in the work directory.
const COMMITS: &str = "commits";
/// Digits of the recipe's checksum in the name of its directory.
const RECIPE_DIGITS: usize = 12;

/// How a commit becomes a library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipe {
    /// A command for `/bin/sh`, run in the root of the checkout.
    pub command: String,
    /// The library that it makes, by its path within the checkout.
    pub library: PathBuf,
}

/// Builds commits of one repository by one recipe.
pub struct Builder {
    repository: PathBuf,
    recipe: Recipe,
    /// Of this run; the clone is in it.
    scratch: PathBuf,
    libraries: PathBuf,
    is_cloned: bool,
}

impl Builder {
    /// Nothing is cloned or built yet. `scratch` is a directory of this run alone, which its owner removes.
    ///
    /// # Errors
    /// A library that is not named by a path within the checkout; directories that cannot be made.
    pub fn new(
        work_dir: &Path,
        scratch: &Path,
        repository: &Path,
        recipe: Recipe,
    ) -> Result<Builder, CommitError> {
        let is_within = |path: &Path| {
            let mut components = path.components();
            path.file_name().is_some() && components.all(|part| matches!(part, Component::Normal(_)))
        };
        if !is_within(&recipe.library) {
            return Err(CommitError::BadLibraryPath { path: recipe.library });
        }
        let digest = Sha256::digest(format!("{}\0{}", recipe.command, recipe.library.display()).as_bytes());
        let key = digest.iter().fold(String::new(), |mut text, byte| {
            // Writing to a String cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        });
        let libraries = create_marked_dir_below(work_dir, &[COMMITS, &key[..RECIPE_DIGITS]])?;
        let absolute = io_error("resolve", repository);
        Ok(Builder {
            repository: std::path::absolute(repository).map_err(absolute)?,
            recipe,
            scratch: scratch.to_owned(),
            libraries,
            is_cloned: false,
        })
    }

    /// The library of a commit that was built before.
    pub fn built(&self, commit: &Commit) -> Option<PathBuf> {
        let path = self.libraries.join(format!("{}.so", commit.id));
        path.is_file().then_some(path)
    }

    /// The library of a commit, built where it is not there yet.
    ///
    /// # Errors
    /// The build failed or made no library: the commit cannot be measured. git or the system refused: no commit can.
    pub fn build(&mut self, commit: &Commit, interrupted: &dyn Fn() -> bool) -> Result<PathBuf, CommitError> {
        if let Some(path) = self.built(commit) {
            return Ok(path);
        }
        let checkout = self.checkout(commit, interrupted)?;
        let arguments = ["-c".to_owned(), self.recipe.command.clone()];
        let tool = Tool {
            program: Path::new("/bin/sh"),
            arguments: &arguments,
            directory: &checkout,
            output: &self.scratch.join("build.output"),
            timeout: BUILD_TIMEOUT,
            without: &FOREIGN_VARIABLES,
        };
        tool::run(&tool, |_| Ok(()), &mut || interrupted()).map_err(|source| match source {
            ToolError::Interrupted => CommitError::Interrupted,
            source => CommitError::BuildFailed { source },
        })?;
        self.keep(commit, &checkout.join(&self.recipe.library))
    }

    /// The clone at a commit. What earlier builds left in it stays, so that only what changed is built again; but the
    /// library goes, so that none of another commit is taken for this one's.
    fn checkout(&mut self, commit: &Commit, interrupted: &dyn Fn() -> bool) -> Result<PathBuf, CommitError> {
        let clone = self.scratch.join("checkout");
        if !self.is_cloned {
            let theirs = Git { repository: &self.repository, scratch: &self.scratch, interrupted };
            let from = theirs.shared_directory()?;
            let git = Git { repository: &self.scratch, scratch: &self.scratch, interrupted };
            let cloned = git.run(&["clone", "--quiet", "--shared", "--no-checkout", "--", &from, "checkout"]);
            cloned.map_err(|source| git.error(format!("clone `{from}`"), source))?;
            self.is_cloned = true;
        }
        let library = clone.join(&self.recipe.library);
        match fs::remove_file(&library) {
            Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Err(io_error("remove", &library)(error));
            }
            Ok(()) | Err(_) => {}
        }
        let git = Git { repository: &clone, scratch: &self.scratch, interrupted };
        let done = git.run(&["checkout", "--quiet", "--force", "--detach", &commit.id]);
        done.map_err(|source| git.error(format!("check out {}", commit.short()), source))?;
        Ok(clone)
    }

    /// Copies the library to where it is kept, in one step: a reader sees all of it or nothing.
    fn keep(&self, commit: &Commit, library: &Path) -> Result<PathBuf, CommitError> {
        if !library.is_file() {
            return Err(CommitError::NoLibrary { path: self.recipe.library.clone() });
        }
        let kept = self.libraries.join(format!("{}.so", commit.id));
        let fresh = self.libraries.join(format!(".{}.new-{}", commit.short(), std::process::id()));
        let moved = fs::copy(library, &fresh).and_then(|_| fs::rename(&fresh, &kept));
        moved.map_err(|error| {
            // Best effort: the first error is the one to tell.
            let _ = fs::remove_file(&fresh);
            io_error("copy", library)(error)
        })?;
        Ok(kept)
    }
}

fn io_error(action: &'static str, path: &Path) -> impl Fn(io::Error) -> CommitError {
    let path = path.to_owned();
    move |source| CommitError::Io { action, path: path.clone(), source }
}
