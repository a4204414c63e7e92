//! `cargo xtask tidy`: the rules of the house that no compiler and no lint holds.
//!
//! [`check`] is pure: the texts of the tracked files in, violations out. Only [`run`] reads the disk and asks git and cargo.

mod arrows;
mod circles;
mod citations;
mod dependencies;
mod docs;
mod files;
mod foreign;
mod links;
mod papers;
mod placement;
mod rust_source;
mod words;

use crate::workspace;
use anyhow::{Context, bail};
use std::fmt;
use std::process::Command;

/// A text file of the project, by its path from the root with `/` between.
#[derive(Debug, Clone)]
pub struct SourceFile {
    pub path: String,
    pub text: String,
}

impl SourceFile {
    /// The crate that the file belongs to: `load` for `crates/load/..`, `xtask` for `xtask/..`.
    fn crate_name(&self) -> Option<&str> {
        if self.path.starts_with("xtask/") {
            return Some("xtask");
        }
        self.path.strip_prefix("crates/")?.split_once('/').map(|(name, _)| name)
    }

    fn file_name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Whether the whole file is test code: below `tests/` or `benches/`, or a module file `tests.rs`.
    fn is_test_file(&self) -> bool {
        self.file_name() == "tests.rs"
            || self.path.split('/').any(|part| matches!(part, "tests" | "benches" | "fixtures"))
    }
}

/// A rule that a file breaks.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    pub path: String,
    /// From 1; 0 where the file as a whole is meant.
    pub line: usize,
    pub problem: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.problem),
            line => write!(f, "{}:{line}: {}", self.path, self.problem),
        }
    }
}

pub fn run() -> anyhow::Result<()> {
    let files = read_project()?;
    let mut violations = check(&files);
    violations.extend(dependencies::check_licences(&files, &dependencies::metadata()?));
    for violation in &violations {
        println!("{violation}");
    }
    println!("tidy: {} files, {} violations", files.len(), violations.len());
    if !violations.is_empty() {
        bail!("{} violations of the rules in STYLE.md and ARCHITECTURE.md", violations.len());
    }
    Ok(())
}

/// Every violation, in the order of the paths.
pub fn check(files: &[SourceFile]) -> Vec<Violation> {
    let mut violations = Vec::new();
    violations.extend(arrows::check(files));
    violations.extend(circles::check(files));
    violations.extend(citations::check(files));
    violations.extend(dependencies::check(files));
    violations.extend(docs::check(files));
    violations.extend(placement::check(files));
    violations.extend(files::check(files));
    violations.extend(papers::check(files));
    violations.extend(foreign::check(files));
    violations.extend(links::check(files));
    violations.extend(words::check(files));
    violations.sort();
    violations
}

/// All files that git tracks or would track, as far as they are text.
fn read_project() -> anyhow::Result<Vec<SourceFile>> {
    let root = workspace::root()?;
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(&root)
        .output()
        .context("failed to start git ls-files")?;
    if !output.status.success() {
        bail!("git ls-files failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    let listing = String::from_utf8(output.stdout).context("a tracked path is not UTF-8")?;
    let mut files = Vec::new();
    for path in listing.split('\0').filter(|path| !path.is_empty()) {
        // A tracked file may be deleted in the working tree; a binary fixture is no text. Both are nothing to check.
        if let Ok(text) = std::fs::read_to_string(root.join(path)) {
            files.push(SourceFile { path: path.to_owned(), text });
        }
    }
    if files.is_empty() {
        bail!("git lists no file below `{}`", root.display());
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn file(path: &str, text: &str) -> SourceFile {
        SourceFile { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn violations_are_sorted_by_place() {
        let violations = check(&[
            file(
                "crates/report/src/lib.rs",
                "//! r\nuse std::process::Command;\nfn f() { Command::new(\"x\"); }\n",
            ),
            file("crates/model/src/lib.rs", "fn f() {}\n"),
        ]);
        let paths: Vec<&str> = violations.iter().map(|violation| violation.path.as_str()).collect();
        let mut sorted = paths.clone();
        sorted.sort_unstable();
        assert_eq!(paths, sorted);
        assert!(paths.contains(&"crates/model/src/lib.rs"));
        assert!(paths.contains(&"crates/report/src/lib.rs"));
    }
}
