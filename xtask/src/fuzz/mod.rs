//! `cargo xtask fuzz`: libFuzzer on every reader of what others write. Its targets are programs of `fuzz/`, a workspace of its own; here they are
//! built, on the stable compiler, and run. A crash, a hang, or more memory than a reader may take is a failure.

mod seeds;
mod targets;

use crate::{choice, workspace};
use anyhow::{Context, anyhow, bail, ensure};
use std::fs::{self, File};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;
use targets::{TARGETS, Target};

#[derive(clap::Args, Default)]
pub struct Arguments {
    /// Seconds for each target [default: what lets all of them end within 70 seconds on two cores]
    #[arg(long)]
    seconds: Option<u64>,
    /// Half an hour for each reader of what comes over a network, five minutes for each other one
    #[arg(long, conflicts_with = "seconds")]
    nightly: bool,
    /// Run one target on this file alone, as after a crash
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seconds", "nightly"])]
    input: Option<PathBuf>,
    /// Only these targets
    targets: Vec<String>,
}

/// All targets together may run this long on two cores; a unit test holds it. With the build, which takes two minutes on a fresh machine, that
/// is three minutes of `cargo xtask ci`.
const CI_LIMIT: Duration = Duration::from_secs(70);
const CI_CORES: usize = 2;
/// What starting a target and reading its first inputs takes, about.
const START: Duration = Duration::from_secs(1);
const NIGHTLY_NETWORK: Duration = Duration::from_secs(30 * 60);
const NIGHTLY_OTHER: Duration = Duration::from_secs(5 * 60);

/// The memory of a whole target, in MiB.
const MEMORY_MIB: u64 = 256;
/// One input takes milliseconds.
const INPUT_SECONDS: u64 = 10;
/// Bytes of the longest input.
const INPUT_BYTES: u64 = 64 << 10;

/// The only platform that we build for. That it is named keeps the flags from build scripts and procedural macros.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

/// As cargo-fuzz has them without a sanitizer, and the checks of a debug build.
const FLAGS: [&str; 10] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Cllvm-args=-simplifycfg-branch-fold-threshold=0",
    "--cfg=fuzzing",
    "-Ccodegen-units=1",
    "-Cdebug-assertions",
    "-Coverflow-checks",
];

pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let targets = chosen(&arguments.targets)?;
    let places = Places { root: workspace::root()?, directory: workspace::target_directory()?.join("fuzz") };
    build(&targets, &places)?;
    if let Some(input) = &arguments.input {
        let [target] = targets.as_slice() else {
            bail!("--input needs one target: the one that the file is of");
        };
        return run_input(target, input, &places);
    }
    let time = |target: &Target| match (arguments.seconds, arguments.nightly) {
        (Some(seconds), _) => Duration::from_secs(seconds),
        (None, true) if target.is_network => NIGHTLY_NETWORK,
        (None, true) => NIGHTLY_OTHER,
        (None, false) => ci_time(),
    };
    let next = AtomicUsize::new(0);
    let one_after_another = || -> anyhow::Result<Vec<String>> {
        let mut failures = Vec::new();
        while let Some(target) = targets.get(next.fetch_add(1, Ordering::Relaxed)) {
            let ended = run_target(target, time(target), &places)?;
            println!("fuzz: {}", ended.line(target.name));
            failures.extend(ended.failure);
        }
        Ok(failures)
    };
    let failures: Vec<String> = thread::scope(|scope| {
        let jobs = thread::available_parallelism().map_or(1, NonZero::get);
        let threads: Vec<_> = (0..jobs).map(|_| scope.spawn(one_after_another)).collect();
        let ended =
            threads.into_iter().map(|thread| thread.join().map_err(|_| anyhow!("a thread panicked"))?);
        ended.collect::<anyhow::Result<Vec<_>>>()
    })?
    .concat();
    println!("fuzz: {} targets, {} crashes", targets.len(), failures.len());
    ensure!(failures.is_empty(), "{}", failures.join("\n"));
    Ok(())
}

fn chosen(wanted: &[String]) -> anyhow::Result<Vec<&'static Target>> {
    choice::chosen(TARGETS, |target| target.name.to_owned(), "target", wanted)
}

/// The time of each target that lets all of them end within the limit.
fn ci_time() -> Duration {
    let rounds = u32::try_from(TARGETS.len().div_ceil(CI_CORES)).unwrap_or(u32::MAX);
    (CI_LIMIT / rounds).saturating_sub(START)
}

/// Where things are. What is below the directory is kept: the next run begins with what this one found.
struct Places {
    root: PathBuf,
    directory: PathBuf,
}

impl Places {
    fn program(&self, target: &Target) -> PathBuf {
        self.directory.join("build").join(PLATFORM).join("release").join(target.name)
    }

    fn made(&self, kind: &str, target: &Target) -> anyhow::Result<PathBuf> {
        let directory = self.directory.join(kind).join(target.name);
        fs::create_dir_all(&directory)
            .with_context(|| format!("failed to make `{}`", directory.display()))?;
        Ok(directory)
    }
}

fn build(targets: &[&Target], places: &Places) -> anyhow::Result<()> {
    let status = workspace::cargo()
        .args(["build", "--release", "--target", PLATFORM, "--manifest-path"])
        .arg(places.root.join("fuzz/Cargo.toml"))
        .arg("--target-dir")
        .arg(places.directory.join("build"))
        .args(targets.iter().flat_map(|target| ["--bin", target.name]))
        .env("RUSTFLAGS", FLAGS.join(" "))
        .status()
        .context("failed to start cargo build")?;
    ensure!(
        status.success(),
        "the targets were not built ({status}); libFuzzer needs a C++ compiler (`c++`)"
    );
    Ok(())
}

/// What became of a target.
struct Ended {
    executions: Option<u64>,
    inputs: usize,
    peak_mib: Option<u64>,
    /// What is wrong, and how to see it again.
    failure: Option<String>,
}

impl Ended {
    fn line(&self, name: &str) -> String {
        let number = |number: Option<u64>| number.map_or_else(|| "?".to_owned(), |number| number.to_string());
        format!(
            "{name:<16} {:>10} executions, {:>5} inputs kept, {:>3} MiB at most, {}",
            number(self.executions),
            self.inputs,
            number(self.peak_mib),
            if self.failure.is_none() { "passed" } else { "failed" }
        )
    }
}

fn run_target(target: &Target, time: Duration, places: &Places) -> anyhow::Result<Ended> {
    let corpus = places.made("corpus", target)?;
    target.write_seeds(&places.root, &corpus)?;
    let crashes = places.made("crashes", target)?;
    let log = places.made("logs", target)?.join("log");
    let file = File::create(&log).with_context(|| format!("failed to write `{}`", log.display()))?;
    let program = places.program(target);
    let status = Command::new(&program)
        .arg(&corpus)
        .args(limits())
        .arg(format!("-max_total_time={}", time.as_secs()))
        .arg(format!("-artifact_prefix={}/", crashes.display()))
        .arg("-print_final_stats=1")
        .stdout(file.try_clone().context("failed to share a file")?)
        .stderr(file)
        .status()
        .with_context(|| format!("failed to start `{}`", program.display()))?;
    let said = fs::read(&log).with_context(|| format!("failed to read `{}`", log.display()))?;
    let said = String::from_utf8_lossy(&said);
    let peak_mib = statistic(&said, "peak_rss_mb");
    let name = target.name;
    let problem = match (status.success(), left_input(&said), peak_mib) {
        (false, Some(input), _) => Some(format!(
            "{name} fails on `{input}`: `cargo xtask fuzz {name} --input {input}` runs it again; all that it said is in `{}`",
            log.display()
        )),
        (false, None, _) => {
            Some(format!("{name} ended with {status}; what it said is in `{}`", log.display()))
        }
        (true, _, None) => {
            Some(format!("{name} did not say what it took; what it said is in `{}`", log.display()))
        }
        (true, _, Some(peak)) if peak > MEMORY_MIB => Some(format!(
            "{name} took {peak} MiB of memory, at most {MEMORY_MIB} are allowed; see `{}` for the inputs before",
            log.display()
        )),
        (true, _, Some(_)) => None,
    };
    let inputs =
        fs::read_dir(&corpus).with_context(|| format!("failed to read `{}`", corpus.display()))?.count();
    Ok(Ended { executions: statistic(&said, "number_of_executed_units"), inputs, peak_mib, failure: problem })
}

/// What one input and the memory may be.
fn limits() -> [String; 3] {
    [
        format!("-rss_limit_mb={MEMORY_MIB}"),
        format!("-timeout={INPUT_SECONDS}"),
        format!("-max_len={INPUT_BYTES}"),
    ]
}

/// Of the lines `stat::NAME: NUMBER`.
fn statistic(said: &str, name: &str) -> Option<u64> {
    let of =
        |line: &str| line.strip_prefix("stat::")?.strip_prefix(name)?.strip_prefix(':')?.trim().parse().ok();
    said.lines().rev().find_map(of)
}

/// The file that libFuzzer left of an input that fails; also of one that was only slow, which does not fail.
fn left_input(said: &str) -> Option<&str> {
    said.lines().rev().find_map(|line| line.split_once("Test unit written to ").map(|(_, path)| path.trim()))
}

fn run_input(target: &Target, input: &Path, places: &Places) -> anyhow::Result<()> {
    let program = places.program(target);
    let status = Command::new(&program)
        .args(limits())
        .arg(input)
        .env("RUST_BACKTRACE", "1")
        .status()
        .with_context(|| format!("failed to start `{}`", program.display()))?;
    ensure!(status.success(), "{} fails on `{}` ({status})", target.name, input.display());
    println!("fuzz: {} does not fail on `{}`", target.name, input.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn all_targets_end_within_the_limit_of_ci() {
        let rounds = u32::try_from(TARGETS.len().div_ceil(CI_CORES)).unwrap();
        let time = ci_time();
        assert!((time + START) * rounds <= CI_LIMIT && time >= Duration::from_secs(5), "{time:?}");
    }

    #[test]
    fn what_libfuzzer_says_is_read() {
        let said = "#2 INITED cov: 3\nartifact_prefix='/t/'; Test unit written to /t/crash-0a\nBase64: eA==\n\
                    stat::number_of_executed_units: 1234\nstat::peak_rss_mb:              45\n";
        assert_eq!(statistic(said, "number_of_executed_units"), Some(1234));
        assert_eq!((statistic(said, "peak_rss_mb"), statistic(said, "peak")), (Some(45), None));
        assert_eq!((left_input(said), left_input("stat::x: 1\n")), (Some("/t/crash-0a"), None));
    }

    #[test]
    fn what_is_tested_is_what_ships() {
        let packages = |lock: &str| -> BTreeSet<(String, String)> {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(lock);
            let lock: toml::Table = fs::read_to_string(path).unwrap().parse().unwrap();
            let of = |package: &toml::Value, key: &str| package[key].as_str().unwrap().to_owned();
            let packages = lock["package"].as_array().unwrap().iter();
            packages.map(|package| (of(package, "name"), of(package, "version"))).collect()
        };
        let (ours, tested) = (packages("Cargo.lock"), packages("fuzz/Cargo.lock"));
        for (name, version) in tested {
            let known: Vec<&str> =
                ours.iter().filter(|one| one.0 == name).map(|one| one.1.as_str()).collect();
            assert!(
                known.is_empty() || known.contains(&version.as_str()),
                "{name} {version} is tested and {known:?} ships: copy Cargo.lock to fuzz/Cargo.lock and run `cargo xtask fuzz`"
            );
        }
    }

    #[test]
    fn an_unknown_target_offers_the_nearest() {
        assert_eq!(chosen(&["mysql".to_owned()]).unwrap().len(), 1);
        assert_eq!(chosen(&[]).unwrap().len(), TARGETS.len());
        let message = format!("{:#}", chosen(&["postgre".to_owned()]).err().unwrap());
        assert!(message.contains("did you mean `postgres`?"), "{message}");
    }
}
