//! Calls of git, and what they print.

use super::{BuildError, Version};
use crate::process::tool::{self, Tool, ToolError};
use model::units::Nanos;
use std::collections::BTreeMap;
use std::path::Path;

/// Listing and checking out take seconds even in large repositories; a timeout against hangs.
const GIT_TIMEOUT: Nanos = Nanos::from_secs(600);

/// Variables that would make git act on another repository than the one it is told. They are set where dbdyno runs
/// in a hook or under `git bisect run`, and a checkout by force must not go there.
pub(super) const FOREIGN_VARIABLES: [&str; 8] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
];

/// git in one repository.
pub(super) struct Git<'a> {
    pub(super) repository: &'a Path,
    /// A directory of ours for what git prints.
    pub(super) scratch: &'a Path,
    pub(super) interrupted: &'a dyn Fn() -> bool,
}

impl Git<'_> {
    /// The commit of this name.
    pub(super) fn commit(&self, name: &str) -> Result<Version, BuildError> {
        let unknown =
            || BuildError::NoSuchCommit { name: name.to_owned(), repository: self.repository.to_owned() };
        // A name that begins with a dash would be read as an option.
        if name.is_empty() || name.starts_with('-') {
            return Err(unknown());
        }
        let found = match self.run(&["log", "-1", FORMAT, &format!("{name}^{{commit}}"), "--"]) {
            Ok(output) => listed(&output),
            // No repository at all is another thing than a name that it does not know.
            Err(ToolError::Failed { last_words, .. }) if is_unknown_name(&last_words) => {
                return Err(unknown());
            }
            Err(source) => return Err(self.error(format!("look for the commit `{name}`"), source)),
        };
        found.into_iter().next().ok_or_else(unknown)
    }

    /// The commits of a range along first parents, oldest first.
    pub(super) fn log(&self, range: &str) -> Result<Vec<Version>, BuildError> {
        let output = self.run(&["log", "--first-parent", "--reverse", FORMAT, range, "--"]);
        output.map(|output| listed(&output)).map_err(|source| self.error("list commits".to_owned(), source))
    }

    /// Whether a commit has a file, or a directory, of this path from its root, whichever directory of a checkout the repository was named by.
    pub(super) fn has(&self, commit: &Version, path: &Path) -> Result<bool, BuildError> {
        let path = path.to_string_lossy();
        let listed = self.run(&["ls-tree", "--full-tree", "--name-only", &commit.id, "--", &path]);
        let listed = listed.map_err(|source| self.error(format!("list {}", commit.short()), source))?;
        Ok(listed.lines().any(|line| line == path))
    }

    /// Where the repository's objects are, whichever directory of a checkout or worktree it was named by.
    pub(super) fn shared_directory(&self) -> Result<String, BuildError> {
        let output = self.run(&["rev-parse", "--path-format=absolute", "--git-common-dir"]);
        let output = output.map_err(|source| self.error("look for a repository".to_owned(), source))?;
        let found = output.lines().rfind(|line| line.starts_with('/'));
        Ok(found.unwrap_or(&*self.repository.to_string_lossy()).to_owned())
    }

    /// Runs git to its end; what it printed.
    pub(super) fn run(&self, arguments: &[&str]) -> Result<String, ToolError> {
        let all: Vec<String> =
            ["--no-pager"].iter().chain(arguments).map(|argument| (*argument).to_owned()).collect();
        let tool = Tool {
            program: Path::new("git"),
            arguments: &all,
            directory: self.repository,
            output: &self.scratch.join("git.output"),
            timeout: GIT_TIMEOUT,
            without: &FOREIGN_VARIABLES,
            with: &BTreeMap::new(),
        };
        tool::run(&tool, |_| Ok(()), &mut || (self.interrupted)()).map(|run| run.output)
    }

    pub(super) fn error(&self, doing: String, source: ToolError) -> BuildError {
        match source {
            ToolError::Interrupted => BuildError::Interrupted,
            source => BuildError::Git { doing, repository: self.repository.to_owned(), source },
        }
    }
}

/// Name and first line, separated by a tab.
const FORMAT: &str = "--format=%H%x09%s";

/// ```text
/// fatal: ambiguous argument 'v9': unknown revision or path not in the working tree.
/// fatal: bad revision 'v9'
/// ```
fn is_unknown_name(said: &str) -> bool {
    ["unknown revision", "bad revision", "bad object"].iter().any(|part| said.contains(part))
}

/// Lines that begin with the name of a commit; git's warnings stand among them.
fn listed(output: &str) -> Vec<Version> {
    let is_id = |text: &str| text.len() >= 40 && text.chars().all(|digit| digit.is_ascii_hexdigit());
    output
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .filter(|(id, _)| is_id(id))
        .map(|(id, summary)| Version { id: id.to_owned(), summary: summary.to_owned() })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_are_told_from_warnings() {
        let id = "a".repeat(40);
        let output = format!("warning: a\tb\n{id}\tfix: tabs\there\n{}\tshort\n\n", "a".repeat(7));
        assert_eq!(listed(&output), [Version { id, summary: "fix: tabs\there".to_owned() }]);
    }
}
