//! `cargo xtask ci`: every check, cheapest first, stopping at the first that fails.
//!
//! Runs the tools and shows their own output unchanged; it judges nothing but their exit status.

use crate::{e2e, fuzz, tidy, workspace};
use anyhow::{Context, bail};
use model::figures::bytes;
use model::units::Bytes;
use std::time::{Duration, Instant};

/// The whole of it must end within this on two cores from a clean clone; more is an error, so that it is seen.
const LIMIT: Duration = Duration::from_secs(45 * 60);
/// What a clean clone and the caches of its cases take is 13 GB; the rest is what the host must keep free.
const SPACE: Bytes = Bytes(16_000_000_000);

pub const FORMAT: &[&str] = &["fmt", "--all", "--check"];
/// The targets of fuzz tests are no part of the workspace.
pub const FORMAT_FUZZ: &[&str] = &["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"];
pub const CLIPPY: &[&str] = &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
const TEST: &[&str] = &["test", "--workspace"];

pub fn run() -> anyhow::Result<()> {
    let began = Instant::now();
    warn_of_a_full_disk()?;
    let mut took = Vec::new();
    let mut stage = |name: &'static str, check: &dyn Fn() -> anyhow::Result<()>| -> anyhow::Result<()> {
        let stage_began = Instant::now();
        let result = check();
        let elapsed = stage_began.elapsed();
        let word = if result.is_ok() { "passed" } else { "failed" };
        println!("ci: {name} {word} in {:.1} s", elapsed.as_secs_f64());
        took.push(format!("{name} {:.0} s", elapsed.as_secs_f64()));
        result
    };
    stage("fmt", &|| cargo(FORMAT).and_then(|()| cargo(FORMAT_FUZZ)))?;
    stage("clippy", &|| cargo(CLIPPY))?;
    stage("tidy", &tidy::run)?;
    stage("test", &|| cargo(TEST))?;
    stage("fuzz", &|| fuzz::run(&fuzz::Arguments::default()))?;
    stage("e2e", &|| e2e::run(&e2e::Arguments::default()))?;
    let elapsed = began.elapsed();
    println!("ci: passed in {:.0} s ({})", elapsed.as_secs_f64(), took.join(", "));
    if elapsed > LIMIT {
        bail!("ci took {:.0} min, the limit is {} min", elapsed.as_secs_f64() / 60.0, LIMIT.as_secs() / 60);
    }
    Ok(())
}

/// A disk that gets full fails whatever happens to write then: said beforehand, and no error, because much may be built already.
fn warn_of_a_full_disk() -> anyhow::Result<()> {
    let root = workspace::root()?;
    if let Some(free) = runner::doctor::free_space(&root).filter(|free| *free < SPACE) {
        println!(
            "ci: warning: {} are free on the disk of `{}`; a run in a clean clone takes 13 GB, so free some first",
            bytes(free),
            root.display()
        );
    }
    Ok(())
}

/// Runs cargo with our own standard output, so that its closing lines are seen as they are.
pub fn cargo(arguments: &[&str]) -> anyhow::Result<()> {
    let shown = format!("cargo {}", arguments.join(" "));
    println!("running {shown}");
    let status = workspace::cargo()
        .args(arguments)
        .current_dir(workspace::root()?)
        .status()
        .with_context(|| format!("failed to start `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` failed ({status})");
    }
    Ok(())
}
