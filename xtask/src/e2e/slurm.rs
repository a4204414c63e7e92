//! Cases of a campaign whose parts are jobs of a real Slurm.

use super::scratch::Scratch;
use super::slurm_cluster::Cluster;
use super::tool::{Call, Running};
use super::{Case, Ending, expect};
use anyhow::{Context, ensure};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("slurm bad input", bad_input).shares_host(),
        Case::new("slurm twelve jobs on three nodes", twelve),
        Case::new("slurm stopped", stopped).nightly(),
        Case::new("slurm nodes that fail", failing).nightly(),
    ]
}

const SUBJECTS: [&str; 2] = ["rocksdb@8.5.4", "rocksdb@8.7.3"];
const PLAN: &str = "name = \"lab\"\nworkloads = [\"./part.toml\"]\nsubjects = [\"rocksdb@8.5.4\", \"rocksdb@8.7.3\"]\nrounds = 1\n";
/// As short as a part can be and still be stopped in its middle.
const WORKLOAD: &str = r#"
name = "part"
engine = "rocksdb"
description = "5,000 keys, for end-to-end checks"
tells = "that everything runs"
does_not_tell = "how fast anything is"

[data]
keys = 5000
key_bytes = 20
value_bytes = 400
value_compressible_percent = 50

[options]
write_buffer_size = "1048576"

[[step]]
name = "fillseq"
group = "writes"
operation = "fill-sequential"
threads = 1
wal = false

[[step]]
name = "readrandom"
group = "point"
operation = "read-random"
seconds = 0.8

[[step]]
name = "overwrite"
group = "writes"
operation = "overwrite"
seconds = 0.3
"#;
/// Of a part: two subjects in one round, three steps.
const TRIALS: i64 = 2 * 3;
const FEATURE: &str = "c16r64";
const TIMEOUT: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(50);

/// A node is drained and a job cancelled in the middle; when it is resumed, each part is there, and once.
fn twelve(scratch: &Scratch) -> anyhow::Result<Ending> {
    const JOBS: u32 = 12;
    let lab = match Lab::set_up(scratch, 3)? {
        Ok(lab) => lab,
        Err(ending) => return Ok(ending),
    };
    let mut controller = lab.run(JOBS).and(["--constraint", FEATURE, "--json"]).start()?;
    let campaign = lab.campaign(&mut controller)?;
    let victim = lab.until_in_the_middle(&campaign, JOBS, &mut controller)?;
    let node = lab.node(&campaign, victim)?;
    let drained = lab.cluster.nodes.iter().find(|other| **other != node).context("another node")?.clone();
    lab.cluster.set(&drained, "drain")?;
    let id = lab.id(victim)?;
    lab.cluster.asked("scancel", &[&id])?;
    let finished = controller.finish(TIMEOUT)?.expect_code(&[130])?;
    let line = format!("{node} (job {victim}): interrupted");
    let finished = finished.expect_stderr(&[&line, "dbdyno run --resume "])?;
    for other in &lab.cluster.nodes {
        ensure!(finished.stderr.contains(&format!("{other}: ")), "nothing is heard of {other}");
    }
    ensure!(
        lab.jobs_in_state("done")? == i64::from(JOBS) - 1,
        "{} jobs are done",
        lab.jobs_in_state("done")?
    );

    let resumed = lab.cluster.call(["run", "--resume", &campaign, "--json"]).succeeds()?.json()?;
    ensure!(lab.jobs_in_state("done")? == i64::from(JOBS), "{} jobs are done", lab.jobs_in_state("done")?);
    let found = resumed.as_array().context("a report of several hosts is an array")?;
    let over = &found[0];
    let names: BTreeSet<&str> = expect::texts(&over["hosts"], "name").into_iter().collect();
    let nodes: BTreeSet<&str> = lab.cluster.nodes.iter().map(String::as_str).collect();
    ensure!(names == nodes, "the hosts are {names:?}");
    // Each round once, whichever node had it, and none in no count.
    let rounds = |host: &Value| host["repeats"].as_u64().unwrap_or(0);
    let all: u64 = over["hosts"].as_array().into_iter().flatten().map(rounds).sum();
    ensure!(all == u64::from(JOBS), "{all} rounds count: {}", over["hosts"]);
    ensure!(over["uncounted_runs"] == Value::Array(Vec::new()), "in no count: {}", over["uncounted_runs"]);
    ensure!(over["unfinished_jobs"] == Value::Array(Vec::new()), "not done: {}", over["unfinished_jobs"]);
    let number = |sql: &str| lab.number(sql);
    ensure!(number("SELECT count(*) FROM runs")? == i64::from(JOBS), "runs");
    ensure!(number("SELECT count(DISTINCT seed) FROM runs")? == i64::from(JOBS), "seeds");
    let trials = number("SELECT count(*) FROM trials WHERE outcome = 'done' AND put_aside = 0")?;
    ensure!(trials == i64::from(JOBS) * TRIALS, "{trials} trials");
    ensure!(lab.node(&campaign, victim)? == node, "a job that had begun was resumed on another node");
    ensure!(lab.cluster.left()? == 0, "jobs are in the queue still");
    lab.cluster.call(["run", "--resume", &campaign]).fails(&[2], &["all jobs of campaign", "are done"])?;
    let again = Call::new(scratch, ["report", &campaign, "--json"]).succeeds()?.json()?;
    ensure!(again == resumed, "the report of the campaign is another one later");
    Ok(Ending::Passed)
}

/// Ctrl-C stops what runs in order and takes what waits out of the queue.
fn stopped(scratch: &Scratch) -> anyhow::Result<Ending> {
    const JOBS: u32 = 3;
    let lab = match Lab::set_up(scratch, 2)? {
        Ok(lab) => lab,
        Err(ending) => return Ok(ending),
    };
    let mut controller = lab.run(JOBS).start()?;
    let campaign = lab.campaign(&mut controller)?;
    // A second one would submit the jobs again.
    let second = lab.cluster.call(["run", "--resume", &campaign]);
    second.fails(&[3], &["is followed by process", "stop it there with Ctrl-C"])?;
    lab.until_in_the_middle(&campaign, JOBS, &mut controller)?;
    controller.press_ctrl_c()?;
    let finished = controller.finish(TIMEOUT)?.expect_code(&[130])?;
    finished.expect_stderr(&["stopping the hosts", "interrupted", "dbdyno run --resume "])?;
    ensure!(lab.cluster.left()? == 0, "jobs are in the queue still");
    let failed = lab.number("SELECT count(*) FROM trials WHERE outcome = 'failed'")?;
    ensure!(failed == 0, "{failed} trials failed because the job was stopped");
    lab.cluster.call(["run", "--resume", &campaign, "--json"]).succeeds()?;
    let trials = lab.number("SELECT count(*) FROM trials WHERE outcome = 'done' AND put_aside = 0")?;
    ensure!(trials == i64::from(JOBS) * TRIALS, "{trials} trials");
    Ok(Ending::Passed)
}

/// What Slurm refuses, what is not there, and a directory that the nodes do not share.
fn bad_input(scratch: &Scratch) -> anyhow::Result<Ending> {
    let lab = match Lab::set_up(scratch, 1)? {
        Ok(lab) => lab,
        Err(ending) => return Ok(ending),
    };
    lab.run(0).fails(&[2], &["--jobs"])?;
    lab.cluster.call(["run", "--slurm"]).and([&lab.plan]).fails(&[2], &["--jobs"])?;
    lab.run(2).and(["--hosts", "a"]).fails(&[2], &["--hosts"])?;
    lab.cluster.call(["run", "--jobs", "2"]).and([&lab.plan]).fails(&[2], &["--slurm"])?;
    let missing =
        lab.cluster.call(["run", "--slurm", "--jobs", "1", "--jobs-dir", "not-there"]).and([&lab.plan]);
    missing.fails(&[2], &["not-there` cannot be the directory of the jobs"])?;
    let nothing = scratch.path("nothing");
    fs::create_dir(&nothing)?;
    lab.run(1).search_path(nothing).fails(&[3], &["failed to start `squeue`", "--hosts"])?;

    lab.run(2).and(["--constraint", "no-such-feature"]).fails(
        &[3],
        &[
            "submitting 2 jobs of campaign ",
            "Invalid feature",
            "--constraint",
            "is removed: none of its jobs",
        ],
    )?;
    lab.run(2).and(["--sbatch", "--partition=none"]).fails(&[3], &["invalid partition", "--sbatch"])?;
    lab.run(30).fails(&[3], &["sbatch refused the jobs", "MaxArraySize"])?;
    let left: Vec<String> = fs::read_dir(&lab.jobs_dir)?
        .map(|entry| Ok(entry?.file_name().display().to_string()))
        .collect::<anyhow::Result<_>>()?;
    ensure!(left == ["bin"], "of jobs that were refused there is {left:?}");
    let kept = lab.number("SELECT count(*) FROM jobs")?;
    ensure!(kept == 0, "of campaigns that were refused the store has {kept} jobs");

    let unshared = scratch.path("unshared");
    let run =
        lab.cluster.call(["run", "--slurm", "--jobs", "1", "--jobs-dir"]).and([&unshared]).and([&lab.plan]);
    run.fails(&[3], &["failed: Slurm says of job", "every node must have this directory"])?;

    let occupied = scratch.path("occupied");
    fs::create_dir(&occupied)?;
    fs::write(occupied.join("bin"), "")?;
    let run =
        lab.cluster.call(["run", "--slurm", "--jobs", "1", "--jobs-dir"]).and([&occupied]).and([&lab.plan]);
    run.fails(&[3], &["failed to write to", "every node can write to"])?;

    let shared = scratch.path("shared");
    fs::create_dir(&shared)?;
    fs::set_permissions(&shared, Permissions::from_mode(0o777))?;
    let run =
        lab.cluster.call(["run", "--slurm", "--jobs", "1", "--jobs-dir"]).and([&shared]).and([&lab.plan]);
    run.fails(&[3], &["other users can write in it", "--jobs-dir"])?;

    // Somebody takes it out of the queue before it has a node.
    lab.cluster.set(&lab.cluster.nodes[0], "drain")?;
    let mut controller = lab.run(1).start()?;
    lab.campaign(&mut controller)?;
    lab.cluster.asked("scancel", &[&lab.id(1)?])?;
    let finished = controller.finish(TIMEOUT)?.expect_code(&[3])?;
    finished.expect_stderr(&["job 1: failed: Slurm says of job", "CANCELLED", "dbdyno run --resume "])?;
    Ok(Ending::Passed)
}

/// A node goes down with a job on it: the part begins again elsewhere, and what the node had measured stays its own.
fn failing(scratch: &Scratch) -> anyhow::Result<Ending> {
    const JOBS: u32 = 4;
    let lab = match Lab::set_up(scratch, 2)? {
        Ok(lab) => lab,
        Err(ending) => return Ok(ending),
    };
    let mut controller = lab.run(JOBS).start()?;
    let campaign = lab.campaign(&mut controller)?;
    let victim = lab.until_in_the_middle(&campaign, JOBS, &mut controller)?;
    let node = lab.node(&campaign, victim)?;
    lab.cluster.set(&node, "down")?;
    // In order, or killed: whichever came first.
    let finished = controller.finish(TIMEOUT)?.expect_code(&[3, 130])?;
    finished.expect_stderr(&[&format!("{node} (job {victim}): "), "dbdyno run --resume "])?;
    let resumed = lab.cluster.call(["run", "--resume", &campaign, "--json"]).succeeds()?;
    resumed.expect_stderr(&[&format!("{node} takes no jobs now: job {victim} begins from the start")])?;
    ensure!(lab.jobs_in_state("done")? == i64::from(JOBS), "{} jobs are done", lab.jobs_in_state("done")?);
    ensure!(lab.node(&campaign, victim)? != node, "the job ran on a node that is down");
    let runs = lab.number("SELECT count(*) FROM runs")?;
    ensure!(runs == i64::from(JOBS) + 1, "{runs} runs: each job's, and what the node had measured");
    let of_done = "SELECT count(*) FROM trials JOIN runs USING (run_key) WHERE runs.outcome = 'done' AND trials.outcome = 'done'";
    ensure!(lab.number(of_done)? == i64::from(JOBS) * TRIALS, "{} trials", lab.number(of_done)?);

    // What a job has written is lost: it is measured again, since nothing says that it was.
    let mut controller = lab.run(1).start()?;
    let campaign = lab.campaign(&mut controller)?;
    lab.until_in_the_middle(&campaign, 1, &mut controller)?;
    fs::remove_dir_all(lab.jobs_dir.join(format!("{campaign}-1")))?;
    controller.finish(TIMEOUT)?.expect_code(&[3])?.expect_stderr(&["dbdyno run --resume "])?;
    lab.cluster.call(["run", "--resume", &campaign]).succeeds()?;
    Ok(Ending::Passed)
}

/// A cluster and the directory that its nodes share.
struct Lab<'a> {
    scratch: &'a Scratch,
    cluster: Cluster<'a>,
    plan: PathBuf,
    jobs_dir: PathBuf,
}

impl<'a> Lab<'a> {
    fn set_up(scratch: &'a Scratch, nodes: u16) -> anyhow::Result<Result<Lab<'a>, Ending>> {
        for subject in SUBJECTS {
            Call::new(scratch, ["engine", "fetch", subject]).succeeds()?;
        }
        let cluster = match Cluster::set_up(scratch, nodes, FEATURE)? {
            Ok(cluster) => cluster,
            Err(ending) => return Ok(Err(ending)),
        };
        scratch.write("part.toml", WORKLOAD)?;
        let plan = scratch.write("plan.toml", PLAN)?;
        let jobs_dir = scratch.path("jobs");
        fs::create_dir(&jobs_dir)?;
        Ok(Ok(Lab { scratch, cluster, plan, jobs_dir }))
    }

    fn run(&self, jobs: u32) -> Call<'a> {
        let call = self.cluster.call(["run", "--slurm", "--jobs", &jobs.to_string(), "--jobs-dir"]);
        call.and([&self.jobs_dir]).and([&self.plan])
    }

    /// The campaign, once all of its jobs are submitted.
    fn campaign(&self, controller: &mut Running) -> anyhow::Result<String> {
        let mut campaign = None;
        until(controller, |controller| {
            let said = controller.stderr_so_far()?;
            let line = said.lines().find(|line| line.starts_with("campaign ") && line.ends_with(" in Slurm"));
            campaign = line.and_then(|line| line.split(' ').nth(1)).map(str::to_owned);
            Ok(campaign.is_some())
        })?;
        campaign.context("a campaign")
    }

    /// A job that runs and has measured something, but not all.
    fn until_in_the_middle(
        &self,
        campaign: &str,
        jobs: u32,
        controller: &mut Running,
    ) -> anyhow::Result<u32> {
        let mut found = None;
        until(controller, |_| {
            let in_the_middle = |number: &u32| {
                let directory = self.jobs_dir.join(format!("{campaign}-{number}"));
                !directory.join("ended").exists()
                    && trials_done(&directory.join("store.sqlite")).is_ok_and(|done| (1..3).contains(&done))
            };
            found = (1..=jobs).find(in_the_middle);
            Ok(found.is_some())
        })?;
        found.context("a job in the middle")
    }

    fn node(&self, campaign: &str, job: u32) -> anyhow::Result<String> {
        let path = self.jobs_dir.join(format!("{campaign}-{job}/node"));
        let node =
            fs::read_to_string(&path).with_context(|| format!("failed to read `{}`", path.display()))?;
        Ok(node.trim().to_owned())
    }

    /// As Slurm counts a job that waits or runs.
    fn id(&self, job: u32) -> anyhow::Result<String> {
        let queue = self.cluster.asked("squeue", &["--noheader", "--array", "--format=%i %K"])?;
        let id = queue.lines().find_map(|line| {
            let (id, task) = line.split_once(' ')?;
            (task.trim() == job.to_string()).then(|| id.to_owned())
        });
        id.with_context(|| format!("job {job} is not in the queue: {queue}"))
    }

    fn jobs_in_state(&self, state: &str) -> anyhow::Result<i64> {
        self.number(&format!("SELECT count(*) FROM jobs WHERE state = '{state}'"))
    }

    fn number(&self, sql: &str) -> anyhow::Result<i64> {
        Ok(self.scratch.store()?.query_row(sql, [], |row| row.get(0))?)
    }
}

fn trials_done(store: &std::path::Path) -> anyhow::Result<i64> {
    let store = rusqlite::Connection::open_with_flags(store, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let sql = "SELECT count(*) FROM trials WHERE outcome = 'done' AND put_aside = 0";
    Ok(store.query_row(sql, [], |row| row.get(0))?)
}

fn until(
    controller: &mut Running,
    mut holds: impl FnMut(&mut Running) -> anyhow::Result<bool>,
) -> anyhow::Result<()> {
    let began = Instant::now();
    while !holds(controller)? {
        ensure!(controller.is_running()?, "the campaign ended at once: {}", controller.stderr_so_far()?);
        ensure!(began.elapsed() < TIMEOUT, "nothing is measured: {}", controller.stderr_so_far()?);
        thread::sleep(POLL);
    }
    Ok(())
}
