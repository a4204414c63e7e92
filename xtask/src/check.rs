//! `cargo xtask check`: what a change is checked with while one works on it: fmt, clippy, tidy, unit tests. `ci` has the whole.
//!
//! A test binary that has passed as it is is not run again: cargo makes another one whenever something that it is made of has
//! changed, and the files of its crate that tests read (fixtures, snapshots) are looked at. `ci` runs them all.

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
    stage("fmt", &|| ci::cargo(ci::FORMAT).and_then(|()| ci::cargo(ci::FORMAT_FUZZ)).map(silent))?;
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
    /// Its path, which has cargo's hash of what it is made with, and when it and the files of its crate were last written.
    fn mark(&self) -> anyhow::Result<String> {
        let written = written(&self.path)?.max(newest_below(&self.directory)?);
        Ok(format!("{} {written}", self.path.display()))
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

/// In nanoseconds since the epoch.
fn written(path: &Path) -> anyhow::Result<u128> {
    let time = fs::metadata(path).and_then(|file| file.modified());
    let time = time.with_context(|| format!("failed to look at `{}`", path.display()))?;
    Ok(time.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos())
}

/// When a file or directory in this one was last written: a file that was removed shows in its directory.
fn newest_below(directory: &Path) -> anyhow::Result<u128> {
    let mut newest = written(directory)?;
    let entries =
        fs::read_dir(directory).with_context(|| format!("failed to read `{}`", directory.display()))?;
    for entry in entries {
        let entry = entry?;
        let below =
            if entry.file_type()?.is_dir() { newest_below(&entry.path())? } else { written(&entry.path())? };
        newest = newest.max(below);
    }
    Ok(newest)
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

/// The test binary that a message of cargo names.
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
    fn a_binary_is_run_again_if_a_file_of_its_crate_was_written_or_removed() {
        let scratch = tempfile::tempdir().unwrap();
        let crate_directory = scratch.path().join("crate");
        let snapshots = crate_directory.join("tests/snapshots");
        fs::create_dir_all(&snapshots).unwrap();
        let path = scratch.path().join("binary");
        fs::write(&path, "").unwrap();
        // The clock of a file system is coarser than a test is long.
        let written = |path: &Path, seconds: u64| {
            let file = fs::File::open(path).unwrap();
            file.set_modified(UNIX_EPOCH + std::time::Duration::from_secs(seconds)).unwrap();
        };
        for path in [&path, &crate_directory, &crate_directory.join("tests"), &snapshots] {
            written(path, 1_000);
        }
        let binary = TestBinary { path: path.clone(), directory: crate_directory };
        let mark = || binary.mark().unwrap();
        let first = mark();
        assert_eq!(mark(), first);
        fs::write(snapshots.join("a.snap"), "a").unwrap();
        let second = mark();
        assert_ne!(second, first);
        fs::remove_file(snapshots.join("a.snap")).unwrap();
        written(&snapshots, 2_000);
        let third = mark();
        assert!(third != second && third != first);
        written(&path, 3_000);
        assert_ne!(mark(), third);
    }

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
