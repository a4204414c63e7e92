//! `cargo xtask bench commits`: does `bisect --git` find the commit of a server that made it slower? Thirty commits are made over real sources of Postgres,
//! each to a file that the seed draws; one of them also burns CPU in the executor.

use super::{Ending, Here, Scratch, burnt_percent, printed, scrambled};
use anyhow::{Context, ensure};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

#[derive(clap::Args)]
pub struct Arguments {
    /// An archive of the sources of Postgres
    #[arg(long)]
    source: PathBuf,
    /// Commits after the first
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..))]
    commits: u64,
    /// By how much one of them makes a statement slower
    #[arg(long, default_value_t = 5.0, value_name = "PERCENT")]
    slower: f64,
    /// Time for measuring
    #[arg(long, default_value = "60m", value_name = "TIME")]
    budget: String,
    #[command(flatten)]
    here: Here,
    /// One JSON object instead of lines
    #[arg(long)]
    json: bool,
}

const WORKLOAD: &str = "sysbench-32.quick";
const STEP: &str = "point-query_range=100";
/// What is run once for each statement.
const EXECUTOR: &str = "src/backend/executor/execMain.c";
const FUNCTION: &str = "\nstandard_ExecutorRun(QueryDesc *queryDesc,";
/// The first line of the function behind its declarations.
const FIRST_LINE: &str = "\t/* sanity checks */";
/// Where the files are that commits change.
const BACKEND: &str = "src/backend";

/// Builds of the whole search, both ends included.
const GOAL_BUILDS: usize = 12;
/// Of the search; the first two commits are built before it.
const GOAL_SECONDS: f64 = 90.0 * 60.0;
/// Time of building a neighbouring commit over that of the first.
const GOAL_SECOND_BUILD: f64 = 0.25;

pub fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let bench = Bench { dbdyno: arguments.here.dbdyno.path()?, scratch: arguments.here.scratch()? };
    let repository = Repository::unpack(&arguments.source, &bench.scratch)?;
    let first = repository.id("HEAD")?;
    let of_first = bench.build(&repository, &first)?;
    let turns = bench.turns_for(arguments.slower, &first)?;
    let planted = 1 + scrambled(arguments.here.seed, 0) % arguments.commits;
    let slow = repository.commit_all(arguments, planted, turns)?;
    let of_second = bench.build(&repository, &repository.id(&format!("HEAD~{}", arguments.commits - 1))?)?;
    let watch = Instant::now();
    let found = bench.bisect(&repository, &first, arguments)?;
    let seconds = watch.elapsed().as_secs_f64();
    let builds = bench.builds()?;
    let is_found = found["first_bad"].as_str().is_some_and(|name| name.ends_with(&slow[..12]));
    let is_confirmed = found["confirmed"] == true;
    let second_build = of_second / of_first;
    if arguments.json {
        let row = json!({
            "bench": "commits", "commits": arguments.commits, "planted": planted, "turns": turns, "found": is_found,
            "confirmed": is_confirmed, "builds": builds, "seconds": seconds, "launches": found["launches"],
            "seconds_of_first_build": of_first, "second_build": second_build,
        });
        println!("{row}");
    } else {
        println!(
            "commit {planted} of {} is slower by {} % ({turns:.0} turns of a loop)",
            arguments.commits, arguments.slower
        );
        println!("found {is_found}, confirmed {is_confirmed}, in {} launches", found["launches"]);
        println!(
            "{builds} builds (goal {GOAL_BUILDS}), {:.0} min (goal {:.0})",
            seconds / 60.0,
            GOAL_SECONDS / 60.0
        );
        println!(
            "first build {of_first:.0} s, a neighbour's {second_build:.2} of it (goal {GOAL_SECOND_BUILD})"
        );
    }
    let is_cheap = builds <= GOAL_BUILDS && seconds <= GOAL_SECONDS && second_build <= GOAL_SECOND_BUILD;
    Ok(Ending::of(is_found && is_confirmed && is_cheap))
}

/// The sources as a repository.
struct Repository {
    directory: PathBuf,
}

impl Repository {
    /// The sources as they are, as the first commit.
    fn unpack(archive: &Path, scratch: &Scratch) -> anyhow::Result<Repository> {
        let directory = scratch.empty_directory("repository")?;
        let mut tar = Command::new("tar");
        tar.arg("-x").arg("--strip-components=1").arg("-C").arg(&directory).arg("-f").arg(archive);
        printed(&mut tar)?;
        let repository = Repository { directory };
        repository.git(["init", "--quiet"])?;
        repository.commit("sources as published")?;
        Ok(repository)
    }

    /// Commits that change a file each; the name of the one that is slow.
    fn commit_all(&self, arguments: &Arguments, planted: u64, turns: f64) -> anyhow::Result<String> {
        let files = self.files()?;
        let mut slow = None;
        for number in 1..=arguments.commits {
            let file = &files[usize::try_from(scrambled(arguments.here.seed, number) % files.len() as u64)?];
            let text = fs::read_to_string(file)?;
            fs::write(
                file,
                format!("{text}\nextern int\tcommit_{number};\nint\t\t\tcommit_{number} = {number};\n"),
            )?;
            if number == planted {
                let path = self.directory.join(EXECUTOR);
                fs::write(&path, slowed(&fs::read_to_string(&path)?, turns)?)?;
            }
            self.commit(&format!("change {number}"))?;
            if number == planted {
                slow = Some(self.id("HEAD")?);
            }
        }
        slow.context("no commit is slow")
    }

    /// The C files of some folders of the server, in order.
    fn files(&self) -> anyhow::Result<Vec<PathBuf>> {
        let listed = self.git(["ls-files", "--", BACKEND])?;
        let is_code = |file: &&str| {
            let folder = file.trim_start_matches(BACKEND).split('/').nth(1).unwrap_or_default();
            file.ends_with(".c")
                && ["access", "commands", "executor", "optimizer", "storage"].contains(&folder)
        };
        let files: Vec<PathBuf> =
            listed.lines().filter(is_code).map(|file| self.directory.join(file)).collect();
        ensure!(!files.is_empty(), "these are no sources of Postgres: no C file below {BACKEND}");
        Ok(files)
    }

    fn commit(&self, message: &str) -> anyhow::Result<()> {
        self.git(["add", "--all", "--force"])?;
        self.git(["commit", "--quiet", "-m", message]).map(|_| ())
    }

    fn id(&self, reference: &str) -> anyhow::Result<String> {
        self.git(["rev-parse", reference]).map(|id| id.trim().to_owned())
    }

    fn git<const N: usize>(&self, arguments: [&str; N]) -> anyhow::Result<String> {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=bench", "-c", "user.email=bench@dbdyno.example"]);
        printed(git.args(arguments).current_dir(&self.directory))
    }
}

/// The executor with a loop before each statement.
fn slowed(text: &str, turns: f64) -> anyhow::Result<String> {
    let function = text.find(FUNCTION).with_context(|| format!("{EXECUTOR} has no{FUNCTION}"))?;
    let line =
        text[function..].find(FIRST_LINE).with_context(|| format!("{EXECUTOR} has no `{FIRST_LINE}`"))?;
    let (before, after) = text.split_at(function + line);
    Ok(format!("{before}{}\n{after}", burning(turns)))
}

/// A loop in C: a chain of multiplications in a register, which takes the same time in the server as in the program that is timed. With a `volatile` counter the
/// statement lost 10 % instead of 5.
fn burning(turns: f64) -> String {
    format!(
        "\t{{\n\t\tunsigned long burnt = 1;\n\n\t\tfor (long turn = 0; turn < {turns:.0}; turn++)\n\t\t\t\
         __asm__ __volatile__(\"\" : \"=r\"(burnt) : \"0\"(burnt * 6364136223846793005UL));\n\t}}\n"
    )
}

/// The program with a store and a work directory of its own.
struct Bench {
    dbdyno: PathBuf,
    scratch: Scratch,
}

impl Bench {
    /// Builds a commit; seconds.
    fn build(&self, repository: &Repository, commit: &str) -> anyhow::Result<f64> {
        let built = self.call(
            ["engine", "build", "postgres", "--json", "--ref", commit, "--git"],
            [&repository.directory],
        )?;
        built["seconds"].as_f64().context("the commit was built before")
    }

    /// How many turns of the loop make a statement slower by this many percent: from the time of a statement and of a turn.
    fn turns_for(&self, slower: f64, commit: &str) -> anyhow::Result<f64> {
        let build = format!("postgres@{}", &commit[..12]);
        let compare = ["compare", &build, &build, "--workload", WORKLOAD, "--step", STEP, "--budget", "30s"];
        let report = self.call(compare, ["--json", "--no-fingerprint"])?;
        let rows = report["comparisons"].as_array().context("the report has no comparisons")?;
        let rate = rows.iter().find(|row| row["step"] == STEP && row["metric"] == "ops_per_s");
        let rate = rate.and_then(|row| row["base_value"].as_f64()).context("the step has no rate")?;
        let burnt = 1e9 / rate * burnt_percent(slower) / 100.0;
        Ok((burnt / self.nanoseconds_of_a_turn()?).round())
    }

    /// Of the loop, compiled as Postgres is.
    fn nanoseconds_of_a_turn(&self) -> anyhow::Result<f64> {
        let (source, program) = (self.scratch.path("loop.c"), self.scratch.path("loop"));
        fs::write(&source, format!("int main(void)\n{{\n{}\treturn 0;\n}}\n", burning(TURNS)))
            .with_context(|| format!("failed to write `{}`", source.display()))?;
        printed(Command::new("gcc").arg("-O2").arg("-o").arg(&program).arg(&source))?;
        let watch = Instant::now();
        printed(&mut Command::new(&program))?;
        Ok(watch.elapsed().as_secs_f64() * 1e9 / TURNS)
    }

    fn bisect(&self, repository: &Repository, first: &str, arguments: &Arguments) -> anyhow::Result<Value> {
        let seed = arguments.here.seed.to_string();
        let of = [
            "bisect",
            "--engine",
            "postgres",
            "--good",
            first,
            "--bad",
            "HEAD",
            "--workload",
            WORKLOAD,
            "--step",
            STEP,
        ];
        let how = ["--budget", &arguments.budget, "--seed", &seed, "--no-fingerprint", "--json", "--git"];
        self.call([of.as_slice(), how.as_slice()].concat(), [&repository.directory])
    }

    /// States that were built.
    fn builds(&self) -> anyhow::Result<usize> {
        let mut count = 0;
        for workshop in fs::read_dir(self.work_dir().join("builds"))? {
            if let Ok(kept) = fs::read_dir(workshop?.path().join("kept")) {
                count += kept.count();
            }
        }
        Ok(count)
    }

    fn work_dir(&self) -> PathBuf {
        self.scratch.path("work")
    }

    /// What it prints; its progress goes where ours does.
    fn call<A: AsRef<OsStr>, B: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
        more: impl IntoIterator<Item = B>,
    ) -> anyhow::Result<Value> {
        let mut command = Command::new(&self.dbdyno);
        command.args(arguments).args(more).arg("--work-dir").arg(self.work_dir());
        command.arg("--store").arg(self.scratch.path("commits.sqlite")).stderr(Stdio::inherit());
        serde_json::from_str(&printed(&mut command)?).context("dbdyno printed no JSON")
    }
}

/// Of the loop in a program that is timed.
const TURNS: f64 = 5e8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loop_stands_behind_the_declarations_of_the_right_function() {
        let text = "void\nstandard_ExecutorStart(QueryDesc *queryDesc, int eflags)\n{\n\t/* sanity checks */\n}\n\n\
                    void\nstandard_ExecutorRun(QueryDesc *queryDesc,\n\t\tuint64 count)\n{\n\tEState *estate;\n\n\t/* sanity checks */\n}\n";
        let slow = slowed(text, 7.0).unwrap();
        assert_eq!(slow.matches("turn < 7;").count(), 1);
        assert!(slow.contains("EState *estate;\n\n\t{\n\t\tunsigned long burnt = 1;"), "{slow}");
        assert!(slowed("int main;", 7.0).unwrap_err().to_string().contains("standard_ExecutorRun"));
    }
}
