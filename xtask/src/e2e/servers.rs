//! Cases on SQL servers: both dialects and both storage engines of MariaDB, interleaved and in rounds; options that a
//! release does not know, statements that fail, servers and controllers that die.

use super::expect;
use super::processes;
use super::scratch::Scratch;
use super::tool::{Call, Finished, Running};
use super::{Case, Ending};
use anyhow::{Context, ensure};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

pub const WORKLOAD: &str = include_str!("tiny-sql.toml");
const STEPS: [&str; 5] = ["point", "points", "update", "move", "scan"];
pub const POSTGRES: [&str; 2] = ["postgres@15.7", "postgres@16.3"];
/// One package version of one suite: the tables differ in their storage engine only.
const MARIADB: [&str; 2] = ["mariadb@10.11.19", "myrocks@10.11.19"];
/// A server is seen within this: it is initialised first.
const SEEN_TIMEOUT: Duration = Duration::from_secs(120);
const CLEAN_UP_TIMEOUT: Duration = Duration::from_secs(40);

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("servers compare postgres", compare_with_umask_077).shares_host(),
        Case::new("servers compare mariadb with myrocks", |scratch| compare(call(scratch, MARIADB, "40s")?))
            .shares_host(),
        Case::new("servers at once", at_once).nightly(),
        Case::new("servers by clients", by_clients).nightly(),
        Case::new("servers rounds", rounds).shares_host(),
        Case::new("servers unknown option", unknown_option).shares_host(),
        Case::new("servers wrong statement", wrong_statement).nightly(),
        Case::new("servers killed server", killed_server), // kills those that have clients after a stated time
        Case::new("servers killed controller", killed_controller).shares_host(),
    ]
}

/// `compare` on the small tables.
pub fn call<'a>(scratch: &'a Scratch, subjects: [&str; 2], budget: &str) -> anyhow::Result<Call<'a>> {
    let workload = scratch.write("tiny-sql.toml", WORKLOAD)?;
    Ok(Call::new(scratch, ["compare", subjects[0], subjects[1], "--budget", budget, "--json", "--workload"])
        .and([workload]))
}

/// With builds that are fetched with that umask, as root has it on hardened hosts and in jobs: servers that root starts run as another user.
fn compare_with_umask_077(scratch: &Scratch) -> anyhow::Result<Ending> {
    let cache = scratch.root()?.join("umask-077");
    if cache.exists() {
        fs::remove_dir_all(&cache)?;
    }
    fs::create_dir(&cache)?;
    scratch.shared.share_fingerprint(&cache)?;
    let shell = ["sh", "-c", "umask 077; exec \"$@\"", "sh"];
    let ending = compare(call(scratch, POSTGRES, "40s")?.cache(&cache).through(shell))?;
    fs::remove_dir_all(&cache)?;
    Ok(ending)
}

fn compare(call: Call<'_>) -> anyhow::Result<Ending> {
    let report = call.succeeds()?.json()?;
    check_steps(&report)?;
    let trials = expect::trials(&report)?;
    ensure!(trials.done > 0 && trials.failed == 0, "{} trials done, {} failed", trials.done, trials.failed);
    let groups = report["groups"].as_array().context("groups is no array")?;
    ensure!(groups.iter().any(|group| group["group"] == "writes"), "no group of writes: {groups:?}");
    for metric in ["client_cpu_ns_per_op", "voluntary_switches_per_op", "cpu_us_per_op"] {
        let rows = report["comparisons"].as_array().into_iter().flatten();
        let positive = |row: &Value| {
            row["metric"] == metric && row["base_value"].as_f64().is_some_and(|value| value > 0.0)
        };
        ensure!(
            rows.filter(|row| positive(row)).count() == STEPS.len(),
            "{metric} is not positive in each step"
        );
    }
    Ok(Ending::Passed)
}

/// Every step has one object that decides, and a rate.
fn check_steps(report: &Value) -> anyhow::Result<()> {
    let rows = report["comparisons"].as_array().context("comparisons is no array")?;
    for step in STEPS {
        let deciding = rows.iter().filter(|row| row["step"] == step && row["decides"] == true).count();
        ensure!(deciding == 1, "{step}: {deciding} objects decide");
        let has_rate = rows.iter().any(|row| {
            row["step"] == step
                && row["metric"] == "ops_per_s"
                && row["base_value"].as_f64().is_some_and(|v| v > 10.0)
        });
        ensure!(has_rate, "{step} has no rate");
    }
    Ok(())
}

/// An interleaved plan of servers, the base as two of them. What was kept to start on is of another build, and is made again.
fn at_once(scratch: &Scratch) -> anyhow::Result<Ending> {
    const OF_ANOTHER_BUILD: &str = "{\"program_sha256\": \"of another build\"}";
    for made_of in kept(scratch)? {
        fs::write(made_of, OF_ANOTHER_BUILD)?;
    }
    let workload = scratch.write("tiny-sql.toml", WORKLOAD)?;
    let plan = scratch.write(
        "plan.toml",
        &format!(
            "name = \"at once\"\ndesign = \"interleaved\"\nworkloads = [\"{}\"]\nsteps = [\"point\", \"update\"]\nseed = 7\n\
             until = \"50 %\"\nbudget_minutes = 1\nsubjects = [\"{}\", \"{}\"]\n",
            workload.display(),
            POSTGRES[0],
            POSTGRES[1],
        ),
    )?;
    let run = Call::new(scratch, ["run", "--json"]).and([plan]);
    let report = run.and(["--plant", &format!("{}=400", POSTGRES[1])]).succeeds()?.json()?;
    ensure!(report["control"]["processes"] == 2, "control is {}", report["control"]);
    let trials = expect::trials(&report)?;
    ensure!(trials.done > 0 && trials.failed == 0, "{} trials done, {} failed", trials.done, trials.failed);
    let rows = report["comparisons"].as_array().context("comparisons is no array")?;
    let point = rows.iter().find(|row| row["step"] == "point" && row["decides"] == true);
    let point = point.context("no row of `point` decides")?;
    ensure!(point["verdict"] == "regression", "a planted slowdown of 400 %: {point}");
    let made: Vec<String> = kept(scratch)?.iter().map(fs::read_to_string).collect::<Result<_, _>>()?;
    let again = made.iter().filter(|text| *text != OF_ANOTHER_BUILD).count();
    ensure!(again == POSTGRES.len(), "{again} data directories of {} were made again", made.len());
    Ok(Ending::Passed)
}

/// A step with one and with four clients: each has its verdict, and their relative rates are compared within each launch.
fn by_clients(scratch: &Scratch) -> anyhow::Result<Ending> {
    let workload = scratch.write("tiny-sql.toml", WORKLOAD)?;
    let write_plan = |clients: &str| {
        let text = format!(
            "name = \"by clients\"\ndesign = \"interleaved\"\nworkloads = [\"{}\"]\nsteps = [\"point\"]\nclients = {clients}\n\
             seed = 7\nuntil = \"50 %\"\nbudget_minutes = 1\nsubjects = [\"{}\", \"{}\"]\n",
            workload.display(),
            POSTGRES[0],
            POSTGRES[1],
        );
        scratch.write("plan.toml", &text)
    };
    let too_many = Call::new(scratch, ["run", "--json"]).and([write_plan("[1, 193]")?]);
    too_many.fails(&[3], &["takes 200 connections", "`point_clients=193`", "`max_connections = \"201\"`"])?;
    let report = Call::new(scratch, ["run", "--json"]).and([write_plan("[4, 1]")?]).succeeds()?.json()?;
    let rows = report["comparisons"].as_array().context("comparisons is no array")?;
    let sweep = &report["sweeps"][0];
    ensure!(sweep["step"] == "point" && sweep["candidate"] == POSTGRES[1], "the sweep is {sweep}");
    for (place, clients) in [1, 4].into_iter().enumerate() {
        let name = format!("point_clients={clients}");
        let row = rows.iter().find(|row| row["step"] == name.as_str() && row["decides"] == true);
        let row = row.with_context(|| format!("no row of `{name}` decides"))?;
        ensure!(row["low"].is_f64() && row["high"].is_f64(), "{name} has no interval: {row}");
        let at = &sweep["at"][place];
        ensure!(at["clients"] == clients && at["step"] == name.as_str(), "at place {place} is {at}");
    }
    let over = &sweep["at"][1]["over_fewest"];
    let bounds =
        [&over["low"], &over["ratio"], &over["high"]].map(|bound| bound.as_f64().unwrap_or(f64::NAN));
    ensure!(bounds[0] < bounds[1] && bounds[1] < bounds[2], "over the fewest clients: {over}");
    Ok(Ending::Passed)
}

/// What each data directory that is kept was made of.
fn kept(scratch: &Scratch) -> anyhow::Result<Vec<PathBuf>> {
    let directory = scratch.shared.cache.join("dbdyno/initialised");
    let Ok(entries) = fs::read_dir(&directory) else { return Ok(Vec::new()) };
    let files = entries.map(|entry| Ok(entry?.path().join("made-of.json")));
    let files: Vec<PathBuf> = files.collect::<std::io::Result<_>>()?;
    Ok(files.into_iter().filter(|path| path.is_file()).collect())
}

/// A plan of both dialects: one subject is left out because it cannot start, the others run the whole sequence.
fn rounds(scratch: &Scratch) -> anyhow::Result<Ending> {
    write_config(scratch, "postgres", "shared_buffers = \"1kB\"")?;
    let workload = scratch.write("tiny-sql.toml", WORKLOAD)?;
    let plan = scratch.write(
        "plan.toml",
        &format!(
            "name = \"both\"\nworkloads = [\"{}\"]\nrounds = 1\nseed = 7\n\
             subjects = [\"{}\", \"{}\", \"postgres@16.3+broken\"]\n",
            workload.display(),
            POSTGRES[0],
            MARIADB[1],
        ),
    )?;
    let report = Call::new(scratch, ["run", "--json"]).and([plan]).succeeds()?.json()?;
    let trials = expect::trials(&report)?;
    ensure!(trials.failed == 0, "{} trials failed", trials.failed);
    // The load and the building of indexes are measured too.
    ensure!(trials.done == 2 * (STEPS.len() as u64 + 2), "{} trials are done", trials.done);
    for (side, work) in [(0, "checkpoint"), (1, "flush")] {
        work_is_kept(scratch, side, work)?;
    }
    let text = Call::new(scratch, ["report", "last"]).succeeds()?.stdout;
    for part in ["broken", "shared_buffers", "point", "move"] {
        ensure!(text.contains(part), "the report does not show `{part}`:\n{text}");
    }
    Ok(Ending::Passed)
}

/// What a log tells of its engine's work, as the steps settle, is kept with times within the run.
fn work_is_kept(scratch: &Scratch, side: usize, work: &str) -> anyhow::Result<()> {
    let name = format!("1/{side}/write/engine-work");
    let kept = Call::new(scratch, ["report", "last", "--raw", &name]).succeeds()?.stdout;
    let line = kept.lines().find(|line| line.ends_with(&format!(" {work}")));
    let line = line.with_context(|| format!("{name} tells of no {work}: {kept}"))?;
    let began_us = line.split(' ').next().and_then(|at| at.parse::<i64>().ok());
    let (from_us, to_us): (i64, i64) =
        scratch.store()?.query_row("SELECT started_at_us, ended_at_us FROM runs", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    let within = began_us.is_some_and(|began_us| (from_us..to_us).contains(&began_us));
    ensure!(within, "the {work} is not within the run, {from_us} to {to_us}: {line}");
    Ok(())
}

fn write_config(scratch: &Scratch, engine: &str, options: &str) -> anyhow::Result<()> {
    let text = format!(
        "engine = \"{engine}\"\n[[config]]\nname = \"broken\"\ndescription = \"broken on purpose\"\n\
         [config.options]\n{options}\n"
    );
    scratch.write_config(&format!("configs/{engine}.toml"), &text)
}

/// Wrong usage that is found before anything is measured, in either dialect.
fn unknown_option(scratch: &Scratch) -> anyhow::Result<Ending> {
    for (engine, version) in [("postgres", "15.7"), ("mariadb", "10.11.19")] {
        write_config(scratch, engine, "no_such_option = \"1\"")?;
        let subject = format!("{engine}@{version}");
        let broken = format!("{subject}+broken");
        call(scratch, [&subject, &broken], "10s")?.fails(&[2], &["no_such_option", &subject])?;
    }
    Ok(Ending::Passed)
}

/// A statement that the server refuses is a failed trial with the server's words; the other steps are measured.
fn wrong_statement(scratch: &Scratch) -> anyhow::Result<Ending> {
    let text =
        WORKLOAD.replace("SELECT k FROM {table} WHERE k IN", "SELECT no_such_column FROM {table} WHERE k IN");
    let workload = scratch.write("wrong.toml", &text)?;
    let plan = scratch.write(
        "plan.toml",
        &format!(
            "name = \"wrong\"\nworkloads = [\"{}\"]\nrounds = 1\nseed = 7\nsubjects = [\"{}\"]\n",
            workload.display(),
            POSTGRES[0]
        ),
    )?;
    let finished = Call::new(scratch, ["run", "--json"]).and([plan]).run()?;
    let finished = finished.expect_code(&[0, 3])?;
    let shown = format!("{}{}", finished.stdout, finished.stderr);
    ensure!(shown.contains("no_such_column"), "the server's words are not told: {shown}");
    let trials = expect::trials(&finished.json()?)?;
    ensure!(trials.failed == 1 && trials.done == 6, "{} failed, {} done", trials.failed, trials.done);
    one_side_refuses(scratch)
}

/// Interleaved, a statement that one side refuses costs its own step and no other.
fn one_side_refuses(scratch: &Scratch) -> anyhow::Result<Ending> {
    // A function of the candidate alone.
    let text =
        WORKLOAD.replace("SELECT k FROM {table} WHERE k IN", "SELECT any_value(k) FROM {table} WHERE k IN");
    let workload = scratch.write("one-side.toml", &text)?;
    let finished =
        Call::new(scratch, ["compare", POSTGRES[0], POSTGRES[1], "--budget", "30s", "--json", "--workload"])
            .and([workload])
            .run()?
            .expect_code(&[0, 3])?;
    let report = finished.json()?;
    let reasons = expect::texts(&report, "reason").join("; ");
    ensure!(reasons.contains("any_value"), "the reasons do not show the statement: {reasons}");
    let rows = report["comparisons"].as_array().context("comparisons is no array")?;
    for step in STEPS {
        let measured = rows.iter().any(|row| {
            row["step"] == step && row["metric"] == "ops_per_s" && row["base_value"].as_f64().is_some()
        });
        ensure!(measured == (step != "points"), "{step} measured: {measured}");
    }
    Ok(Ending::Passed)
}

/// Servers to kill, in different launches.
const VICTIMS: usize = 2;
/// By then it has clients.
const VICTIM_AGE: Duration = Duration::from_millis(800);

/// A server that is killed in the middle is a failed trial with its log's tail; later launches go on.
fn killed_server(scratch: &Scratch) -> anyhow::Result<Ending> {
    let mut controller = call(scratch, POSTGRES, "45s")?.start()?;
    let mut first_seen: BTreeMap<u32, Instant> = BTreeMap::new();
    let mut killed = 0;
    let began = Instant::now();
    while killed < VICTIMS && controller.is_running()? && began.elapsed() < SEEN_TIMEOUT {
        for server in servers(scratch)?.into_iter().filter(|pid| is_of_a_launch(*pid)) {
            let seen = *first_seen.entry(server).or_insert_with(Instant::now);
            if seen.elapsed() > VICTIM_AGE && killed < VICTIMS {
                processes::signal(server, libc::SIGKILL)?;
                killed += 1;
            }
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    ensure!(killed == VICTIMS, "only {killed} servers lived for {VICTIM_AGE:?}");
    let finished = controller.finish(SEEN_TIMEOUT)?.expect_code(&[0, 3])?;
    let report = finished.json()?;
    let trials = expect::trials(&report)?;
    ensure!(trials.failed > 0, "no trial failed although servers were killed");
    ensure!(trials.done > 0, "the run did not go on");
    let reasons = expect::texts(&report, "reason").join("; ");
    ensure!(
        reasons.contains("killed by signal 9"),
        "the reasons do not tell how the server ended: {reasons}"
    );
    Ok(Ending::Passed)
}

/// Both of the pilot, and both of the first launch.
const SEEN_BEFORE_KILL: usize = 4;

/// No server outlives its controller, frozen or not.
fn killed_controller(scratch: &Scratch) -> anyhow::Result<Ending> {
    for subjects in [POSTGRES, MARIADB] {
        let mut controller = call(scratch, subjects, "60s")?.start()?;
        let began = Instant::now();
        let mut seen = std::collections::BTreeSet::new();
        while seen.len() < SEEN_BEFORE_KILL {
            seen.extend(servers(scratch)?);
            ensure!(controller.is_running()?, "it ended when {} servers had been seen", seen.len());
            ensure!(began.elapsed() < SEEN_TIMEOUT, "only {} servers in {SEEN_TIMEOUT:?}", seen.len());
            std::thread::sleep(Duration::from_millis(20));
        }
        std::thread::sleep(Duration::from_millis(1500));
        controller.signal(libc::SIGKILL)?;
        let ended: Result<Finished, _> = Running::finish(controller, CLEAN_UP_TIMEOUT);
        ended.context("after SIGKILL")?;
        processes::none_below(&scratch.shared.cache)?;
        // What a killed one left is removed by the next.
        call(scratch, subjects, "10s")?.run()?.expect_code(&[0, 3])?;
    }
    Ok(Ending::Passed)
}

/// Whether it was started to serve clients in a launch: what makes a data directory is a server, too, and without its
/// pilot a run ends, which is no launch but the one of number 0 and takes its time on a busy host.
fn is_of_a_launch(pid: u32) -> bool {
    let arguments = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let arguments = String::from_utf8_lossy(&arguments);
    arguments.contains("unix_socket_directories") && !arguments.contains("/0000-")
}

/// The first processes of the servers that run from the cache.
fn servers(scratch: &Scratch) -> anyhow::Result<Vec<u32>> {
    processes::roots_below(&scratch.shared.cache)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workload_has_the_steps_that_are_expected() {
        let workload: toml::Table = WORKLOAD.parse().unwrap();
        let steps = workload["step"].as_array().unwrap().iter();
        let names: Vec<&str> = steps
            .filter(|step| step.get("helper").is_none())
            .filter_map(|step| step["name"].as_str())
            .collect();
        assert_eq!(names, STEPS);
    }
}
