//! Commits of a user's git repository, and a build of each on demand.
//!
//! The user's repository and checkout are only read: commits are checked out and built in a clone of our own that
//! shares its objects, below the work directory. (A `git worktree` would write into the user's repository, and leave
//! its entry there when this process is killed.) Nothing in here loads a library or knows an engine.

mod build;
mod git;

pub use build::{Builder, Recipe};

use crate::marked_dir::MarkedDirError;
use crate::process::tool::ToolError;
use git::Git;
use std::io;
use std::path::{Path, PathBuf};

/// Digits of a commit's short name: beyond any repository's need for uniqueness.
const SHORT: usize = 12;

/// One commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    pub id: String,
    /// The first line of its message.
    pub summary: String,
}

impl Commit {
    /// The beginning of its name.
    pub fn short(&self) -> &str {
        &self.id[..SHORT.min(self.id.len())]
    }
}

/// Why commits cannot be listed or built.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    #[error("failed to {doing} in `{}`", repository.display())]
    Git {
        /// `look for the commit x`.
        doing: String,
        repository: PathBuf,
        source: ToolError,
    },
    #[error("`{}` has no commit `{name}`; name a commit, tag or branch", repository.display())]
    NoSuchCommit { name: String, repository: PathBuf },
    #[error("`{good}` is no ancestor of `{bad}`: bisect looks between a good commit and a later bad one")]
    NotAncestor { good: String, bad: String },
    #[error(
        "the library `{}` must be named by its path within the checkout, like build/librocksdb.so",
        path.display()
    )]
    BadLibraryPath { path: PathBuf },
    #[error("the build failed: {source}")]
    BuildFailed { source: ToolError },
    #[error("the build made no `{}`", path.display())]
    NoLibrary { path: PathBuf },
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
    /// A directory of ours that is not ours.
    #[error(transparent)]
    Directory(#[from] MarkedDirError),
    #[error("failed to {action} `{}`", path.display())]
    Io {
        /// `copy`, `remove`.
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

impl CommitError {
    /// Whether the user named something that cannot be.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            CommitError::NoSuchCommit { .. }
                | CommitError::NotAncestor { .. }
                | CommitError::BadLibraryPath { .. }
        )
    }
}

/// Two commits by any name that git knows them by.
#[derive(Debug, Clone, Copy)]
pub struct Ends<'a> {
    pub good: &'a str,
    pub bad: &'a str,
}

/// The commits from the good to the bad one, both included, oldest first, along first parents: a merge is one commit.
///
/// # Errors
/// No repository, a name that is no commit, a good commit that is no ancestor of the bad one.
pub fn between(
    repository: &Path,
    ends: Ends<'_>,
    scratch: &Path,
    interrupted: &dyn Fn() -> bool,
) -> Result<Vec<Commit>, CommitError> {
    let git = Git { repository, scratch, interrupted };
    let good = git.commit(ends.good)?;
    let bad = git.commit(ends.bad)?;
    let beside = git.log(&format!("{}..{}", bad.id, good.id))?;
    if good == bad || !beside.is_empty() {
        return Err(CommitError::NotAncestor { good: ends.good.to_owned(), bad: ends.bad.to_owned() });
    }
    let mut commits = vec![good];
    commits.extend(git.log(&format!("{}..{}", commits[0].id, bad.id))?);
    Ok(commits)
}
