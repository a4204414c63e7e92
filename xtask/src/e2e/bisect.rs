//! Cases of bisections: releases and commits whose slowdown is planted, ends that do not differ, Ctrl-C.

use super::engines::{RELEASE, Releases, library_of};
use super::git_repository::GitRepository;
use super::processes::{self, Watch};
use super::scratch::Scratch;
use super::servers::{POSTGRES, WORKLOAD};
use super::tool::Call;
use super::{Case, Ending};
use crate::workspace;
use anyhow::{Context, ensure};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Never published as a library; it lies between two releases of CI.
const NEVER_PUBLISHED: &str = "8.2.1";
/// Burnt after each operation, in percent: a fifth of the rate is left, which even a busy host shows.
pub const SLOWDOWN: &str = "400";
/// What a shell reports for SIGINT.
const INTERRUPTED: i32 = 130;

pub fn cases(releases: &Releases) -> Vec<Case> {
    let (ci, ci_again) = (releases.ci.clone(), releases.ci.clone());
    vec![
        Case::new("bisect releases", move |scratch| of_releases(scratch, &ci)),
        Case::new("bisect resume", move |scratch| resume(scratch, &ci_again)),
        Case::new("bisect commits", of_commits),
        Case::new("bisect servers", of_servers).nightly(),
        Case::new("bisect refused", refused).shares_host(),
        Case::new("bisect interrupt", interrupt).shares_host(),
    ]
}

/// `bisect` on the tiny workload, with more blocks: each launch must tell by itself.
pub fn search<'a>(scratch: &'a Scratch, ends: [&str; 2]) -> anyhow::Result<Call<'a>> {
    let tiny = fs::read_to_string(&scratch.workload).context("failed to read the workload")?;
    let workload = scratch.write("longer.toml", &tiny.replace("cycles = 2", "cycles = 10"))?;
    let call = Call::new(scratch, ["bisect", "--good", ends[0], "--bad", ends[1], "--step", "readrandom"]);
    Ok(call.and(["--seed", "7", "--workload"]).and([&workload]))
}

fn call<'a>(scratch: &'a Scratch, ends: [&str; 2]) -> anyhow::Result<Call<'a>> {
    Ok(search(scratch, ends)?.and(["--json"]))
}

/// Only the releases of CI, and one that cannot be had: others are not fetched here.
pub fn few_releases(scratch: &Scratch, ci: &[String]) -> anyhow::Result<()> {
    let path = workspace::root()?.join("engines/rocksdb.toml");
    let text = fs::read_to_string(&path).with_context(|| format!("failed to read `{}`", path.display()))?;
    let mut file: toml::Table =
        text.parse().with_context(|| format!("failed to parse `{}`", path.display()))?;
    // A checksum of a release that is not listed is taken for a mistake.
    file.remove("sha256");
    let tried = ci.iter().map(String::as_str).chain([NEVER_PUBLISHED]);
    let tried = toml::Value::Array(tried.map(toml::Value::from).collect());
    file.insert(
        "releases".to_owned(),
        toml::Value::Table([("tried".to_owned(), tried)].into_iter().collect()),
    );
    scratch.write_config("engines/rocksdb.toml", &file.to_string())
}

/// The first slow release is found, confirmed, and named together with the one before it that cannot be had.
fn of_releases(scratch: &Scratch, ci: &[String]) -> anyhow::Result<Ending> {
    few_releases(scratch, ci)?;
    let found = call(scratch, ["rocksdb@5.18.4", "rocksdb@11.8.1"])?
        .and(["--plant-slowdown", SLOWDOWN, "--plant-from", NEVER_PUBLISHED, "--budget", "3m"])
        .succeeds()?
        .json()?;
    // The releases differ by themselves as well, so that the planted step need be neither the only one nor the first.
    let steps = found["steps"].as_array().context("steps is no array")?;
    let planted = steps.iter().find(|step| step["first_bad"] == RELEASE);
    let planted = planted.with_context(|| format!("{RELEASE} is no step: {found}"))?;
    confirmed(planted)?;
    let ratio = planted["comparison"]["ratio"].as_f64().context("no ratio")?;
    ensure!(ratio < 0.5, "a planted slowdown of {SLOWDOWN} % has ratio {ratio}");
    let candidates = texts(&planted["candidates"]);
    ensure!(candidates == [&format!("rocksdb@{NEVER_PUBLISHED}"), RELEASE], "candidates are {candidates:?}");
    let tried = found["tried"].as_array().context("tried is no array")?;
    let missing = tried.iter().find(|one| one["status"] == "not-measurable").context("none is missing")?;
    ensure!(missing["reason"].as_str().is_some_and(|reason| reason.contains("fetch")), "reason: {missing}");

    // Each launch and comparison is a run like any other.
    let id = found["bisect"].as_str().context("no id")?;
    let list = Call::new(scratch, ["report", "--list"]).succeeds()?.stdout;
    let runs = list.lines().filter(|line| line.contains(id)).count() as u64;
    let launches = found["launches_search"].as_u64().context("no launches")?;
    ensure!(
        runs >= launches + 2,
        "{runs} runs in the store for {launches} launches and at least two comparisons:\n{list}"
    );
    Call::new(scratch, ["report", "last"]).succeeds()?;
    Ok(Ending::Passed)
}

/// Killed twice, it goes on to the planted step, and nothing that was measured is measured again.
fn resume(scratch: &Scratch, ci: &[String]) -> anyhow::Result<Ending> {
    few_releases(scratch, ci)?;
    let begun = call(scratch, ["rocksdb@5.18.4", "rocksdb@11.8.1"])?.and([
        "--plant-slowdown",
        SLOWDOWN,
        "--plant-from",
        NEVER_PUBLISHED,
        "--budget",
        "3m",
    ]);
    // A search has the comparison of the ends, a launch and a confirmation at least: two kills come before its end.
    kill_after(scratch, begun, 1)?;
    let again = || Call::new(scratch, ["bisect", "--resume", "last", "--json"]);
    kill_after(scratch, again(), 2)?;
    let measured_before = done_runs(scratch)?;
    let found = again().succeeds()?.json()?;
    let steps = found["steps"].as_array().context("steps is no array")?;
    let planted = steps.iter().find(|step| step["first_bad"] == RELEASE);
    confirmed(planted.with_context(|| format!("{RELEASE} is no step: {found}"))?)?;
    let runs = done_runs(scratch)?;
    ensure!(runs[..measured_before.len()] == measured_before[..], "runs that were done are gone");
    // A search may ask for the confirmation of a place again when it knows more; its launches have numbers.
    let since = &runs[measured_before.len()..];
    ensure!(
        !since.iter().any(|name| measured_before.contains(name)),
        "what was measured before is measured again: {runs:?}"
    );
    let launches: Vec<&String> = runs.iter().filter(|name| !name.ends_with("/confirmation")).collect();
    let names: BTreeSet<&&String> = launches.iter().collect();
    ensure!(names.len() == launches.len(), "something was measured twice: {runs:?}");
    again().fails(&[2], &["is done"])?;
    Ok(Ending::Passed)
}

/// The names of the runs that are done, in their order.
fn done_runs(scratch: &Scratch) -> anyhow::Result<Vec<String>> {
    let store = scratch.store()?;
    let mut names = store
        .prepare("SELECT name FROM runs WHERE outcome = 'done' AND name IS NOT NULL ORDER BY run_key")?;
    let names = names.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(names)
}

/// Starts it and kills it as soon as so many runs are done.
fn kill_after(scratch: &Scratch, call: Call<'_>, runs: usize) -> anyhow::Result<()> {
    let mut controller = call.start()?;
    let began = Instant::now();
    // The store and its tables come a moment later.
    while done_runs(scratch).map_or(0, |names| names.len()) < runs {
        ensure!(controller.is_running()?, "it ended before {runs} runs: {}", controller.stderr_so_far()?);
        ensure!(began.elapsed() < Duration::from_secs(120), "less than {runs} runs were done in two minutes");
        std::thread::sleep(Duration::from_millis(20));
    }
    controller.kill(true)?;
    processes::all_gone(&scratch.shared.binary)
}

fn found_and_confirmed(found: &Value, first_bad: &str) -> anyhow::Result<()> {
    ensure!(found["schema"] == 1, "schema is {}", found["schema"]);
    ensure!(found["first_bad"] == first_bad, "first_bad is {}, not {first_bad}: {found}", found["first_bad"]);
    confirmed(found)
}

fn confirmed(step: &Value) -> anyhow::Result<()> {
    ensure!(step["confirmed"] == true, "it was not confirmed: {step}");
    let probability = step["probability"].as_f64().unwrap_or(0.0);
    ensure!((0.9..=1.0).contains(&probability), "probability is {probability}");
    Ok(())
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// A repository whose build copies the real library that its commits name; one commit names none.
struct Repository {
    sources: GitRepository,
    commits: Vec<String>,
}

const COMMITS: usize = 8;
const BROKEN: usize = 5;
const BUILD: &str = "mkdir -p out && cp \"$(cat library)\" out/engine.so";

impl Repository {
    fn create(scratch: &Scratch, library: &Path) -> anyhow::Result<Repository> {
        let of_commit = |number| {
            let library = if number == BROKEN { Path::new("no-such-library") } else { library };
            ("library", library.display().to_string())
        };
        Repository::of(scratch, COMMITS, of_commit)
    }

    /// One file, and what is in it in each commit.
    fn of(
        scratch: &Scratch,
        commits: usize,
        content: impl Fn(usize) -> (&'static str, String),
    ) -> anyhow::Result<Repository> {
        let sources = GitRepository::create(scratch.path("repository"))?;
        let commit = |number| {
            let (file, text) = content(number);
            sources.commit(file, &text, &format!("change {number}"))
        };
        let commits = (0..commits).map(commit).collect::<anyhow::Result<_>>()?;
        Ok(Repository { sources, commits })
    }

    /// The name of its build.
    fn build(&self, number: usize) -> String {
        format!("rocksdb@{}", &self.commits[number][..12])
    }

    fn bisect<'a>(&self, scratch: &'a Scratch) -> anyhow::Result<Call<'a>> {
        let call = call(scratch, [&self.commits[0], "HEAD"])?.own_cache();
        Ok(call.and(["--git".as_ref(), self.sources.path.as_os_str()]).and([
            "--build",
            BUILD,
            "--library",
            "out/engine.so",
        ]))
    }
}

/// The first slow commit is found among commits that are built on demand and kept; the user's checkout is left alone.
fn of_commits(scratch: &Scratch) -> anyhow::Result<Ending> {
    let repository = Repository::create(scratch, &library_of(scratch, RELEASE)?)?;
    fs::write(repository.sources.path.join("library"), "the user works on it")?;
    let before = repository.sources.git(&["status", "--porcelain", "--branch"])?;
    let first_bad = 4;
    let bisect = || -> anyhow::Result<_> {
        let from = &repository.commits[first_bad][..12];
        let call = repository.bisect(scratch)?.and(["--plant-slowdown", SLOWDOWN, "--plant-from", from]);
        call.and(["--budget", "3m"]).succeeds()
    };
    let finished = bisect()?;
    found_and_confirmed(&finished.json()?, &repository.build(first_bad))?;
    ensure!(finished.stderr.contains("building"), "nothing was built:\n{}", finished.stderr);
    let again = bisect()?;
    found_and_confirmed(&again.json()?, &repository.build(first_bad))?;
    // The commit that does not build is tried again; the others are there. A search may take another way the second time.
    let built = |stderr: &str| -> BTreeSet<String> {
        stderr.lines().filter(|line| line.starts_with("building ")).map(str::to_owned).collect()
    };
    let (first, second) = (built(&finished.stderr), built(&again.stderr));
    let twice: Vec<&String> = first.intersection(&second).collect();
    ensure!(twice.len() <= 1, "built again: {twice:?}:\n{}", again.stderr);
    let after = repository.sources.git(&["status", "--porcelain", "--branch"])?;
    ensure!(before == after, "the user's checkout was `{before}`, is `{after}`");
    ensure!(
        repository.sources.git(&["worktree", "list"])?.lines().count() == 1,
        "a worktree was left behind"
    );
    Ok(Ending::Passed)
}

/// A recipe that installs the Postgres which is here already, with a library that each commit has its own of.
const RECIPE: &str = r#"
engine = "postgres"
[[recipe]]
name = "copy"
description = "installs what is there"
needs = "change"
build = ":"
install = 'mkdir -p "$stage$prefix" && cp -a "ROOT/." "$stage$prefix/" && cp "$source/change" "$stage$prefix/lib/change.so"'
version = { file = "change", lines = ["VERSION="] }
"#;

/// The first slow commit of a server: the versions between the ends have code of their own.
fn of_servers(scratch: &Scratch) -> anyhow::Result<Ending> {
    let [_, release] = POSTGRES;
    let info = Call::new(scratch, ["engine", "fetch", release])
        .succeeds()
        .and_then(|_| Call::new(scratch, ["engine", "info", release, "--json"]).succeeds()?.json())?;
    let root = info["build"]["server"]["root"].as_str().with_context(|| format!("no root: {info}"))?;
    scratch.write_config("recipes/copy.toml", &RECIPE.replace("ROOT", root))?;
    let version = release.split('@').nth(1).unwrap_or_default();
    let repository =
        Repository::of(scratch, 4, |number| ("change", format!("VERSION={version}\nchange {number}\n")))?;
    let slow = &repository.commits[2][..12];
    let workload = scratch.write("tiny-sql.toml", WORKLOAD)?;
    let found =
        Call::new(scratch, ["bisect", "--good", &repository.commits[0], "--bad", "HEAD", "--step", "point"])
            .and(["--engine", "postgres", "--budget", "3m", "--seed", "7", "--json"])
            .and(["--plant-slowdown", SLOWDOWN, "--plant-from", slow, "--workload"])
            .and([&workload])
            .and(["--git".as_ref(), repository.sources.path.as_os_str()])
            .succeeds()?
            .json()?;
    found_and_confirmed(&found, &format!("postgres@{slow}"))?;
    ensure!(
        found["command"].as_str().is_some_and(|command| command.contains("--engine postgres --good ")),
        "how it is searched again: {found}"
    );
    Ok(Ending::Passed)
}

/// Ends that are the same library do not differ: nothing is searched, and the interval is told.
fn refused(scratch: &Scratch) -> anyhow::Result<Ending> {
    let repository = Repository::create(scratch, &library_of(scratch, RELEASE)?)?;
    let finished = repository.bisect(scratch)?.and(["--budget", "20s"]).run()?.expect_code(&[2])?;
    let said = finished.json()?;
    ensure!(said.get("first_bad").is_none() && said["launches_search"] == 0, "it was searched: {said}");
    finished.expect_stderr(&["is not shown to be slower than", "["])?;
    Ok(Ending::Passed)
}

/// Ctrl-C ends it at once, with what is known by then, and nothing is left behind.
fn interrupt(scratch: &Scratch) -> anyhow::Result<Ending> {
    const WORKERS_OF_THE_ENDS: usize = 12;
    let repository = Repository::create(scratch, &library_of(scratch, RELEASE)?)?;
    let mut controller = repository.bisect(scratch)?.start()?;
    Watch::default().until_seen(WORKERS_OF_THE_ENDS, &scratch.shared.binary, &mut controller)?;
    controller.press_ctrl_c()?;
    let said = controller.finish(Duration::from_secs(20))?.expect_code(&[INTERRUPTED])?.json()?;
    ensure!(said["stopped"] == "by the user", "stopped is {}", said["stopped"]);
    processes::all_gone(&scratch.shared.binary)?;
    let runs = scratch.path("cache/dbdyno/runs");
    let left = fs::read_dir(&runs).with_context(|| format!("failed to list `{}`", runs.display()))?;
    let left = left.filter_map(Result::ok).filter(|entry| entry.path().is_dir()).count();
    ensure!(left == 0, "{left} directories of runs were left behind");
    Ok(Ending::Passed)
}
