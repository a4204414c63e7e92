//! `cargo xtask check`: what a change is checked with while one works on it: fmt, clippy, tidy, unit tests. `ci` has the whole.
//!
//! A test binary that has passed as it is is not run again: cargo makes another one whenever something that it is made of
//! has changed. What tests read while they run (real fixtures, the tree of files) changes rarely, and `ci` runs them all.

use crate::{ci, tidy, workspace};
use anyhow::{Context, bail};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Instant, UNIX_EPOCH};

/// In the target directory: the test binaries that passed, a line each.
const PASSED: &str = "xtask-check-passed";

pub fn run() -> anyhow::Result<()> {
    let began = Instant::now();
    let stage = |name: &str, check: &dyn Fn() -> anyhow::Result<String>| -> anyhow::Result<()> {
        let stage_began = Instant::now();
        let said = check()?;
        println!("check: {name} passed in {:.1} s{said}", stage_began.elapsed().as_secs_f64());
        Ok(())
    };
    let silent = |()| String::new();
    stage("fmt", &|| ci::cargo(ci::FORMAT).map(silent))?;
    stage("clippy", &|| ci::cargo(ci::CLIPPY).map(silent))?;
    stage("tidy", &|| tidy::run().map(silent))?;
    stage("tests", &tests)?;
    println!("check: passed in {:.0} s", began.elapsed().as_secs_f64());
    Ok(())
}

/// A test binary, and the directory that its tests expect to be in.
struct TestBinary {
    path: PathBuf,
    directory: PathBuf,
}

impl TestBinary {
    /// Its path, which has cargo's hash of what it is made with, and when it was made.
    fn mark(&self) -> anyhow::Result<String> {
        let made = fs::metadata(&self.path)
            .and_then(|file| file.modified())
            .with_context(|| format!("failed to look at `{}`", self.path.display()))?;
        let made = made.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        Ok(format!("{} {made}", self.path.display()))
    }

    fn run(&self) -> anyhow::Result<()> {
        // Tests find their data by it, as under `cargo test`.
        let status = Command::new(&self.path)
            .current_dir(&self.directory)
            .env("CARGO_MANIFEST_DIR", &self.directory)
            .arg("--quiet")
            .status()
            .with_context(|| format!("failed to start `{}`", self.path.display()))?;
        if !status.success() {
            bail!("the tests of `{}` failed ({status})", self.path.display());
        }
        Ok(())
    }
}

/// Builds all, runs those that have not passed yet as they are; says how many were left out.
fn tests() -> anyhow::Result<String> {
    let file = workspace::target_directory()?.join(PASSED);
    let passed: BTreeSet<String> =
        fs::read_to_string(&file).unwrap_or_default().lines().map(str::to_owned).collect();
    let binaries = built()?;
    let mut now = BTreeSet::new();
    let mut failed = Vec::new();
    for binary in &binaries {
        let mark = binary.mark()?;
        if passed.contains(&mark) {
            now.insert(mark);
            continue;
        }
        match binary.run() {
            Ok(()) => drop(now.insert(mark)),
            Err(error) => failed.push(format!("{error:#}")),
        }
    }
    let kept = now.intersection(&passed).count();
    let text: String = now.iter().map(|mark| format!("{mark}\n")).collect();
    fs::write(&file, text).with_context(|| format!("failed to write `{}`", file.display()))?;
    if !failed.is_empty() {
        bail!("{}", failed.join("\n"));
    }
    Ok(format!(", {} of {} test binaries had passed as they are", kept, binaries.len()))
}

fn built() -> anyhow::Result<Vec<TestBinary>> {
    let output = workspace::cargo()
        .args(["test", "--workspace", "--no-run", "--message-format", "json-render-diagnostics"])
        .current_dir(workspace::root()?)
        .stderr(Stdio::inherit())
        .output()
        .context("failed to start cargo test")?;
    if !output.status.success() {
        bail!("cargo test --no-run failed ({})", output.status);
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    Ok(messages
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .filter_map(|one| binary(&one))
        .collect())
}

/// The test binary that a message of cargo tells of.
fn binary(message: &Value) -> Option<TestBinary> {
    if message["profile"]["test"] != true {
        return None;
    }
    let path = PathBuf::from(message["executable"].as_str()?);
    let directory = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
    Some(TestBinary { path, directory })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn test_binaries_are_told_from_programs_and_libraries() {
        let of = |test: bool, executable: Value| {
            let message = json!({
                "reason": "compiler-artifact", "manifest_path": "/w/crates/model/Cargo.toml",
                "profile": { "test": test }, "executable": executable,
            });
            binary(&message).map(|one| (one.path, one.directory))
        };
        let expected = (PathBuf::from("/t/debug/deps/model-1"), PathBuf::from("/w/crates/model"));
        assert_eq!(of(true, json!("/t/debug/deps/model-1")), Some(expected));
        assert_eq!(of(false, json!("/t/debug/dbdyno")), None);
        assert_eq!(of(true, Value::Null), None);
        assert!(binary(&json!({ "reason": "build-finished", "success": true })).is_none());
    }
}
