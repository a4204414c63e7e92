//! Builds from source: commits of a user's git repository, directories and archives, each made by a recipe.
//!
//! The user's repository and checkout are only read: commits are checked out and built in a clone of our own that
//! shares its objects, below the work directory. (A `git worktree` would write into the user's repository, and leave
//! its entry there when this process is killed.) Nothing in here loads a library or starts an engine.

mod builder;
mod ccache;
pub(crate) mod debug_info;
mod git;
mod pgo;
mod recipe;
mod settings;
mod source;
mod tree;

pub use builder::{BUILD_TIMEOUT, Builder, Built};
pub use pgo::{Pgo, ProfileFormat};
pub use recipe::{Product, Ready, Recipe, Recipes};
pub use settings::{Compiler, DebugInfo, LAYOUTS, SETTINGS, Settings, UseOfCcache};
pub use source::Source;

use crate::engines::EngineError;
use crate::marked_dir::MarkedDirError;
use crate::process::tool::ToolError;
use crate::server::ServerError;
use git::Git;
use std::io;
use std::path::{Path, PathBuf};

/// Digits of a state's short name: beyond any repository's need for uniqueness.
const SHORT: usize = 12;

/// A state of sources: a commit, a directory or an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// Of a commit as git has it, of others the SHA-256 of what is in them.
    pub id: String,
    /// The first line of the commit's message, or the name of the file.
    pub summary: String,
}

impl Version {
    /// The beginning of its name.
    pub fn short(&self) -> &str {
        &self.id[..SHORT.min(self.id.len())]
    }
}

/// Why sources cannot be listed or built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
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
    #[error("there is no `{}`: --source names a directory with sources, or an archive of them", path.display())]
    NoSuchSource { path: PathBuf },
    #[error("`{}` cannot be unpacked", path.display())]
    NotUnpacked { path: PathBuf, source: ToolError },
    #[error("recipes of `{origin}`: {problem}")]
    RecipeInvalid {
        /// The file, or `embedded:NAME`.
        origin: String,
        problem: String,
    },
    #[error("{engine} has no recipe `{name}`; there are {known}")]
    NoSuchRecipe { engine: String, name: String, known: String },
    #[error("no recipe of {engine} fits these sources: they have no {needs}")]
    NoRecipeFits { engine: String, needs: String },
    #[error("a build has no setting `{name}`; there are {known}")]
    NoSuchSetting { name: String, known: String },
    #[error("the setting `{name}` is {wanted}, not `{value}`")]
    BadSetting { name: String, value: String, wanted: &'static str },
    #[error("this host has no compiler `{name}`; install it, or name another with --set compiler=NAME")]
    NoCompiler { name: String },
    #[error(
        "the library `{}` must be named by its path within the checkout, like build/librocksdb.so",
        path.display()
    )]
    BadLibraryPath { path: PathBuf },
    #[error("the build failed ({source}); all of its output is in `{}`", log.display())]
    BuildFailed { log: PathBuf, source: ToolError },
    #[error(
        "debug-info=apart needs `objcopy`, which is not on the search path: install binutils, or --set debug-info=in"
    )]
    NoObjcopy,
    #[error("failed to put the debug info of `{}` into a file beside it; --set debug-info=in leaves it there", path.display())]
    DebugInfo { path: PathBuf, source: ToolError },
    #[error(
        "pgo=yes needs a workload to train on, and the recipe `{recipe}` has none; --set pgo=COMMAND is one of yours"
    )]
    NoTraining { recipe: String },
    #[error(
        "no build below `{}` can have a profile: flags of the compiler name it, and its path would split them or change their meaning; name a --work-dir \
         whose path has only letters, digits and / . _ - + @ , =", path.display()
    )]
    ProfilePath { path: PathBuf },
    #[error("the training of the build failed ({source}); all of its output is in `{}`", log.display())]
    TrainingFailed { log: PathBuf, source: ToolError },
    #[error(
        "the training left no profile: either the tree does not pass CFLAGS and LDFLAGS on, or no process of the build ended by itself, for one that is \
         killed writes none; the output of the training is in `{}`", log.display()
    )]
    NoProfile { log: PathBuf },
    /// Of a server that root trains. Boxed, for it is much larger than the others.
    #[error(transparent)]
    Account(Box<ServerError>),
    #[error("the build made no `{}`", path.display())]
    NothingMade { path: PathBuf },
    #[error("another process still builds the same and holds the lock `{}`: wait for it, or end it", path.display())]
    StillLocked { path: PathBuf },
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
    /// A directory of ours that is not ours.
    #[error(transparent)]
    Directory(#[from] MarkedDirError),
    /// Sources that cannot be read. Boxed, for it is much larger than the others.
    #[error(transparent)]
    Checksum(Box<EngineError>),
    #[error("failed to {action} `{}`", path.display())]
    Io {
        /// `copy`, `remove`.
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

impl From<EngineError> for BuildError {
    fn from(error: EngineError) -> BuildError {
        BuildError::Checksum(Box::new(error))
    }
}

impl BuildError {
    /// Whether the user named something that cannot be.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            BuildError::NoSuchCommit { .. }
                | BuildError::NotAncestor { .. }
                | BuildError::NoSuchSource { .. }
                | BuildError::RecipeInvalid { .. }
                | BuildError::NoSuchRecipe { .. }
                | BuildError::NoRecipeFits { .. }
                | BuildError::NoSuchSetting { .. }
                | BuildError::BadSetting { .. }
                | BuildError::NoCompiler { .. }
                | BuildError::NoTraining { .. }
                | BuildError::ProfilePath { .. }
                | BuildError::BadLibraryPath { .. }
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
) -> Result<Vec<Version>, BuildError> {
    let git = Git { repository, scratch, interrupted };
    let good = git.commit(ends.good)?;
    let bad = git.commit(ends.bad)?;
    let beside = git.log(&format!("{}..{}", bad.id, good.id))?;
    if good == bad || !beside.is_empty() {
        return Err(BuildError::NotAncestor { good: ends.good.to_owned(), bad: ends.bad.to_owned() });
    }
    let mut commits = vec![good];
    commits.extend(git.log(&format!("{}..{}", commits[0].id, bad.id))?);
    Ok(commits)
}

fn io_error(action: &'static str, path: &Path) -> impl Fn(io::Error) -> BuildError {
    let path = path.to_owned();
    move |source| BuildError::Io { action, path: path.clone(), source }
}
