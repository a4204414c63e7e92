//! Cases of servers on another host than their clients: a network namespace with a name, a home, builds and an sshd of its own. Both have one
//! kernel, so that what is read there can be read here too.

use super::lab::Lab;
use super::processes;
use super::scratch::Scratch;
use super::servers::{POSTGRES, WORKLOAD};
use super::tool::{Call, Finished, Running};
use super::{Case, Ending, expect};
use anyhow::{Context, ensure};
use runner::clock;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

const MARIADB: [&str; 2] = ["mariadb@10.11.19", "myrocks@10.11.19"];
const TIMEOUT: Duration = Duration::from_secs(240);
/// Frozen servers are gone this long after the connection is.
const GONE_TIMEOUT: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(20);
/// A side is frozen for as long as the others run, at least a block.
const LOOK: Duration = Duration::from_millis(4);
/// What freezing over ssh may add to a block's edges.
const MOST_ADDED_US: f64 = 5000.0;
/// Part of the CPU that may be missing of what was read here, or be too much.
const MOST_OFF: f64 = 0.01;

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("server host postgres", postgres),
        Case::new("server host mariadb", mariadb).nightly(),
        Case::new("server host rounds", rounds).nightly(),
        Case::new("server host lost", lost).shares_host(),
        Case::new("server host bad input", bad_input).shares_host(),
    ]
}

/// A comparison with the servers on the only host of a lab.
fn compare<'a>(
    scratch: &'a Scratch,
    lab: &Lab<'a>,
    subjects: [&str; 2],
    host: &str,
    budget: &str,
) -> anyhow::Result<Call<'a>> {
    scratch.write("tiny-sql.toml", WORKLOAD)?;
    let host = format!("ssh://{host}");
    let words = ["compare", subjects[0], subjects[1], "--workload", "./tiny-sql.toml", "--json"];
    Ok(lab.call(words).and(["--budget", budget, "--server-host", &host]))
}

/// All that is known of servers here is known of servers there, and is the same as what is read here.
fn postgres(scratch: &Scratch) -> anyhow::Result<Ending> {
    let lab = match Lab::with_servers(scratch, &["far-a"], &POSTGRES)? {
        Ok(lab) => lab,
        Err(ending) => return Ok(ending),
    };
    let mut run = compare(scratch, &lab, POSTGRES, "far-a", "20s")?.start()?;
    let read = read_here(&lab.hosts[0].work_dir(), &mut run)?;
    let finished = run.finish(TIMEOUT)?.expect_code(&[0])?;
    let there = finished.expect_stderr(&["servers on far-a, clients here: a message takes"])?;
    let report = there.json()?;
    check(&report, "far-a")?;
    let counted =
        "SELECT count(*) FROM block_counters JOIN counters USING (counter_key) WHERE name LIKE ? || '%'";
    for counter in ["resident_bytes", "storage_write_bytes"] {
        let blocks: i64 = scratch.store()?.query_row(counted, [counter], |row| row.get(0))?;
        ensure!(blocks > 0, "{counter} of servers there is not kept");
    }
    check_cpu(scratch, &read)?;
    let there = edge_us(scratch)?;
    scratch.write("tiny-sql.toml", WORKLOAD)?;
    let here = Call::new(scratch, ["compare", POSTGRES[0], POSTGRES[1], "--workload", "./tiny-sql.toml"]);
    here.and(["--budget", "10s", "--json"]).succeeds()?;
    let here = edge_us(scratch)?;
    println!("server host postgres: an edge takes {there:.0} us over ssh, {here:.0} us on one host");
    ensure!(there - here < MOST_ADDED_US, "freezing over ssh adds {:.0} us to an edge", there - here);
    Ok(Ending::Passed)
}

/// Every step is measured, with the counters that a server of this host has, and no verdict is limited.
fn check(report: &Value, host: &str) -> anyhow::Result<()> {
    let trials = expect::trials(report)?;
    ensure!(trials.done > 0 && trials.failed == 0, "{} trials done, {} failed", trials.done, trials.failed);
    ensure!(report["host"]["name"] == host, "the host of the run is {}", report["host"]["name"]);
    let warnings = report["warnings"].to_string();
    ensure!(!warnings.contains("not-frozen") && !warnings.contains("server-elsewhere"), "{warnings}");
    // Both hosts have one kernel.
    let is_of_both = ["cpu-governor", "virtual-machine"].iter().any(|id| warnings.contains(id));
    ensure!(
        !is_of_both || warnings.contains("clients-host"),
        "nothing is told of the clients' host: {warnings}"
    );
    let rows = report["comparisons"].as_array().context("comparisons is no array")?;
    for metric in ["client_cpu_ns_per_op", "cpu_us_per_op", "voluntary_switches_per_op"] {
        let is_known = |row: &&Value| {
            row["metric"] == metric && row["base_value"].as_f64().is_some_and(|value| value > 0.0)
        };
        ensure!(rows.iter().any(|row| is_known(&row)), "{metric} is not known of servers there");
    }
    Ok(())
}

/// The mean edge of a block of the newest run.
fn edge_us(scratch: &Scratch) -> anyhow::Result<f64> {
    let store = scratch.store()?;
    let newest = "SELECT block_edge_us FROM runs ORDER BY started_at_us DESC LIMIT 1";
    Ok(store.query_row(newest, [], |row| row.get(0))?)
}

/// A side while it was frozen.
struct Frozen {
    at_us: i64,
    /// CPU time of each of its processes.
    cpu_ns: BTreeMap<u32, u64>,
}

/// What is read here of servers, by side, until the run has ended.
fn read_here(work_dir: &Path, run: &mut Running) -> anyhow::Result<[Vec<Frozen>; 2]> {
    let engines = work_dir.join("engines");
    let mut read = [Vec::new(), Vec::new()];
    let mut roots: Vec<(usize, u32)> = Vec::new();
    let mut looked: Option<Instant> = None;
    while run.is_running()? {
        // To list all processes takes longer than to look at some.
        if looked.is_none_or(|at| at.elapsed() > Duration::from_millis(500)) {
            looked = Some(Instant::now());
            roots.clear();
            for pid in processes::roots_below(&engines)? {
                let program = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
                let program = program.display().to_string();
                let is_of =
                    |subject: &str| subject.split('@').next_back().is_some_and(|of| program.contains(of));
                roots.extend(POSTGRES.iter().position(|subject| is_of(subject)).map(|side| (side, pid)));
            }
        }
        for (side, root) in &roots {
            let at_us = clock::epoch_us();
            if let Some(cpu_ns) = cpu_of_frozen(*root) {
                read[*side].push(Frozen { at_us, cpu_ns });
            }
        }
        thread::sleep(LOOK);
    }
    Ok(read)
}

/// The CPU time of each process of a tree; none if one of them is not stopped.
fn cpu_of_frozen(root: u32) -> Option<BTreeMap<u32, u64>> {
    let mut cpu_ns = BTreeMap::new();
    let mut waiting = vec![root];
    while let Some(pid) = waiting.pop() {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (_, state) = stat.rsplit_once(") ")?;
        if !state.starts_with('T') {
            return None;
        }
        let times = fs::read_to_string(format!("/proc/{pid}/schedstat")).ok()?;
        cpu_ns.insert(pid, times.split_whitespace().next()?.parse().ok()?);
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
        waiting.extend(children.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
    }
    Some(cpu_ns)
}

/// The blocks between two moments at which a side was frozen have used what its processes have used between them.
fn check_cpu(scratch: &Scratch, read: &[Vec<Frozen>; 2]) -> anyhow::Result<()> {
    /// More than this beside its block was something else.
    const MOST_BESIDE_US: i64 = 40_000;
    let store = scratch.store()?;
    let mut statement = store.prepare(
        "SELECT side, blocks.started_at_us, wall_ns / 1000, process_cpu_ns FROM blocks JOIN trials USING (trial_key)
         WHERE process_cpu_ns IS NOT NULL AND blocks.started_at_us IS NOT NULL",
    )?;
    let blocks: Vec<(usize, i64, i64, i64)> = statement
        .query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?
        .map(|row| row.map(|(side, at, wall, cpu)| (usize::try_from(side).unwrap_or(0), at, wall, cpu)))
        .collect::<Result<_, _>>()?;
    let (mut here, mut there, mut counted) = (0_i64, 0_i64, 0);
    for (side, moments) in read.iter().enumerate() {
        for pair in moments.windows(2) {
            let [before, after] = pair else { continue };
            let within: Vec<_> = blocks
                .iter()
                .filter(|(of, at, ..)| *of == side && *at > before.at_us && *at < after.at_us)
                .collect();
            let [(_, _, wall, cpu)] = within.as_slice() else { continue };
            let is_alone = after.at_us - before.at_us < wall + MOST_BESIDE_US;
            if !is_alone || !before.cpu_ns.keys().eq(after.cpu_ns.keys()) {
                continue;
            }
            let sum = |moment: &Frozen| moment.cpu_ns.values().sum::<u64>();
            here += i64::try_from(sum(after) - sum(before))?;
            there += cpu;
            counted += 1;
        }
    }
    let off = (there - here) as f64 / here.max(1) as f64;
    println!("server host postgres: CPU of {counted} blocks is {:+.3} % off what was read here", off * 100.0);
    ensure!(counted >= 20, "{counted} blocks were seen whole");
    ensure!(off.abs() < MOST_OFF, "{there} ns were read there, {here} ns here");
    Ok(())
}

fn mariadb(scratch: &Scratch) -> anyhow::Result<Ending> {
    let lab = match Lab::with_servers(scratch, &["far-b"], &MARIADB)? {
        Ok(lab) => lab,
        Err(ending) => return Ok(ending),
    };
    let report = compare(scratch, &lab, MARIADB, "far-b", "40s")?.succeeds()?.json()?;
    check(&report, "far-b")?;
    Ok(Ending::Passed)
}

/// A plan in rounds, and what is kept of its host and of the host of its clients.
fn rounds(scratch: &Scratch) -> anyhow::Result<Ending> {
    let lab = match Lab::with_servers(scratch, &["far-c"], &POSTGRES)? {
        Ok(lab) => lab,
        Err(ending) => return Ok(ending),
    };
    scratch.write("tiny-sql.toml", WORKLOAD)?;
    let plan = scratch.write(
        "plan.toml",
        &format!(
            "name = \"there\"\nrounds = 2\nworkloads = [\"./tiny-sql.toml\"]\nserver_host = \"ssh://far-c\"\n\
             subjects = [\"{}\", \"{}\"]\n",
            POSTGRES[0], POSTGRES[1]
        ),
    )?;
    let dry = lab.call(["run", "--dry-run"]).and([&plan]).succeeds()?.stdout;
    ensure!(dry.contains("on ssh://far-c"), "it does not say whose memory it is: {dry}");
    let report = lab.call(["run", "--json"]).and([&plan]).succeeds()?.json()?;
    let trials = expect::trials(&report)?;
    ensure!(trials.done > 0 && trials.failed == 0, "{} trials done, {} failed", trials.done, trials.failed);
    let text: String =
        scratch.store()?.query_row("SELECT plan_json FROM runs", [], |row| row.get::<_, String>(0))?;
    let kept: Value = serde_json::from_str(&text)?;
    let server_host = &kept["layout"]["server_host"];
    ensure!(
        server_host["target"] == "far-c" && server_host["round_trip"].as_u64() > Some(0),
        "{server_host}"
    );
    let clients = server_host["clients"]["name"].as_str().context("the host of the clients has a name")?;
    ensure!(clients != "far-c" && report["host"]["name"] == "far-c", "clients on {clients}");
    lab.call(["run", "--hosts", "far-c"]).and([&plan]).fails(&[2], &["leave out one of them"])?;

    // A scheduler that no kernel has any more: the run fails there, and does not stay in the queue.
    let refused = format!(
        "design = \"rounds\"\n{}[loop_device]\nsize = \"64 MB\"\nscheduler = \"cfq\"\n",
        fs::read_to_string(&plan)?
    );
    let refused = scratch.write("refused.toml", &refused)?;
    lab.call(["run"]).and([&refused]).fails(&[3], &["host far-c: skipped: this host cannot give"])?;
    let number =
        |sql: &str| -> anyhow::Result<i64> { Ok(scratch.store()?.query_row(sql, [], |row| row.get(0))?) };
    let failed = number("SELECT count(*) FROM runs WHERE outcome = 'failed'")?;
    let queued = number("SELECT count(*) FROM queued_runs")?;
    ensure!((failed, queued) == (1, 0), "{failed} runs failed, {queued} are in the queue");
    Ok(Ending::Passed)
}

/// The connection is cut in the middle: nothing frozen stays, the run says so and is gone on with.
fn lost(scratch: &Scratch) -> anyhow::Result<Ending> {
    let lab = match Lab::with_servers(scratch, &["far-d"], &POSTGRES)? {
        Ok(lab) => lab,
        Err(ending) => return Ok(ending),
    };
    let host = &lab.hosts[0];
    let engines = host.work_dir().join("engines");
    let mut run = compare(scratch, &lab, POSTGRES, "far-d", "40s")?.start()?;
    let began = Instant::now();
    let launches = "SELECT count(*) FROM launches WHERE took_ns IS NOT NULL";
    // Without a store there is none yet.
    let ended =
        || scratch.store().ok().and_then(|store| store.query_row(launches, [], |row| row.get(0)).ok());
    while ended().unwrap_or(0_i64) < 1 || processes::roots_below(&engines)?.is_empty() {
        ensure!(run.is_running()?, "it ended before it was cut off: {}", run.stderr_so_far()?);
        ensure!(began.elapsed() < TIMEOUT, "no launch ended and no other began: {}", run.stderr_so_far()?);
        thread::sleep(POLL);
    }
    host.cut()?;
    let cut = Instant::now();
    while !processes::roots_below(&engines)?.is_empty() {
        ensure!(cut.elapsed() < GONE_TIMEOUT, "servers are left on the host that lost its connection");
        thread::sleep(POLL);
    }
    println!(
        "server host lost: its servers were gone {:.1} s after the connection",
        cut.elapsed().as_secs_f64()
    );
    let finished: Finished = run.finish(TIMEOUT)?.expect_code(&[3])?;
    let finished = finished.expect_stderr(&[
        "the connection to host far-d was lost",
        "has ended early; `dbdyno compare --resume",
    ])?;
    ensure!(!finished.stderr.contains("panicked"), "{}", finished.stderr);
    // What is here ends at once, what is there takes its data away first.
    let runs = host.work_dir().join("runs");
    let left = || -> Vec<String> {
        let entries = fs::read_dir(&runs).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().display().to_string());
        // The mark of a directory of ours stays.
        names.filter(|name| !name.starts_with('.')).collect()
    };
    while !left().is_empty() {
        ensure!(cut.elapsed() < GONE_TIMEOUT, "directories of runs are left there: {:?}", left());
        thread::sleep(POLL);
    }
    println!("server host lost: its data was gone {:.1} s after the connection", cut.elapsed().as_secs_f64());
    let resumed = lab.call(["compare", "--resume", "last", "--json"]).succeeds()?;
    let resumed = resumed.expect_stderr(&["complete"])?.json()?;
    check(&resumed, "far-d")?;
    Ok(Ending::Passed)
}

fn bad_input(scratch: &Scratch) -> anyhow::Result<Ending> {
    let lab = match Lab::with_servers(scratch, &["far-e"], &POSTGRES[..1])? {
        Ok(lab) => lab,
        Err(ending) => return Ok(ending),
    };
    scratch.write("tiny-sql.toml", WORKLOAD)?;
    let run = |words: &[&str]| {
        let call = lab.call(["compare", POSTGRES[0], "postgres@15.7+defaults", "--budget", "5s"]);
        call.and(["--workload", "./tiny-sql.toml"]).and(words)
    };
    run(&["--server-host", "far-e"]).fails(&[2], &["`far-e` is no host of servers", "ssh://me@lab-1"])?;
    run(&["--server-host", "ssh://-oProxyCommand=x"]).fails(&[2], &["is no host of servers"])?;
    run(&["--server-host", "ssh://nowhere"]).fails(&[3], &["host nowhere cannot be reached"])?;
    run(&["--server-host", "ssh://far-e"])
        .variable("DBDYNO_SSH", &format!("{} -oProxyJump=gate", lab.ssh()))
        .fails(&[2], &["ssh reaches far-e through `gate`", "--server-address"])?;
    run(&["--server-address", "10.0.0.1"]).fails(&[2], &["--server-host"])?;
    let address = run(&["--server-host", "ssh://far-e", "--server-address", "no.such.host.invalid"]);
    address.fails(&[2], &["`no.such.host.invalid` is not reached from here", "--server-address"])?;
    let rocksdb = lab.call(["compare", "rocksdb@8.5.4", "rocksdb@8.7.3", "--server-host", "ssh://far-e"]);
    rocksdb.fails(&[2], &["rocksdb is no server"])?;
    Call::new(scratch, ["engine", "add", "far-e-own", "postgres://me@127.0.0.1/bench"]).succeeds()?;
    let external = lab.call(["compare", POSTGRES[0], "postgres@far-e-own", "--server-host", "ssh://far-e"]);
    external
        .and(["--workload", "./tiny-sql.toml"])
        .fails(&[2], &["postgres@far-e-own is an external server"])?;
    let unknown = lab.call(["compare", POSTGRES[0], "postgres@1.2.3", "--server-host", "ssh://far-e"]);
    unknown.and(["--workload", "./tiny-sql.toml"]).fails(&[2, 3], &["1.2.3"])?;

    // A file stands where the program has to be.
    let programs = lab.hosts[0].home.join(".cache");
    if programs.exists() {
        fs::rename(&programs, lab.hosts[0].home.join("cache-before"))?;
    }
    fs::write(&programs, "")?;
    run(&["--server-host", "ssh://far-e"]).fails(&[3], &["copy dbdyno", "far-e"])?;
    Ok(Ending::Passed)
}
