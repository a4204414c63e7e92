//! Cases of plans whose subjects are all there at once: a loss that is found, a worker that is killed, a run that is gone on with, and
//! plans that cannot be measured.

use super::expect;
use super::processes;
use super::scratch::Scratch;
use super::tool::Call;
use super::{Case, Ending};
use anyhow::{Context, ensure};
use serde_json::Value;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const BASE: &str = "rocksdb@6.0.2";
const CANDIDATES: [&str; 2] = ["rocksdb@8.7.3", "rocksdb@11.8.1"];
/// The base runs as two processes beside two candidates.
const SIDES: usize = 4;
/// Never published as a library.
const NEVER_PUBLISHED: &str = "rocksdb@8.2.1";
/// Fewer launches are not judged by flips.
const LEAST_LAUNCHES: u64 = 8;

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("interleaved plan", a_loss_is_found),
        Case::new("interleaved killed worker", killed_worker).shares_host(),
        Case::new("interleaved resume", resume).shares_host(),
        Case::new("interleaved bad plans", bad_plans).shares_host(),
        Case::new("interleaved and rounds", each_step_its_design).nightly(),
        Case::new("interleaved incomplete", some_candidates_in_each_launch).shares_host(),
    ]
}

fn plan(scratch: &Scratch, subjects: &[&str], more: &str) -> anyhow::Result<PathBuf> {
    let subjects: Vec<String> = subjects.iter().map(|subject| format!("\"{subject}\"")).collect();
    let text = format!(
        "name = \"turns\"\ndesign = \"interleaved\"\nworkloads = [\"{}\"]\nsubjects = [{}]\nseed = 7\n{more}\n",
        scratch.workload.display(),
        subjects.join(", "),
    );
    scratch.write("plan.toml", &text)
}

/// Two steps, until they are known to within half: some launches of the tiny workload.
fn small_plan(scratch: &Scratch) -> anyhow::Result<PathBuf> {
    let more = "steps = [\"overwrite\", \"readrandom\"]\nuntil = \"50 %\"\nbudget_minutes = 1";
    plan(scratch, &[BASE, CANDIDATES[0], CANDIDATES[1]], more)
}

/// A release that has lost four fifths of its rate is found, the base is compared with itself, and every view has each release once.
fn a_loss_is_found(scratch: &Scratch) -> anyhow::Result<Ending> {
    let plan = small_plan(scratch)?;
    let dry = Call::new(scratch, ["run".as_ref(), plan.as_os_str(), "--dry-run".as_ref()]).succeeds()?.stdout;
    ensure!(dry.contains("3 subjects interleaved") && dry.contains("for 4 processes"), "dry run: {dry}");
    let run = Call::new(scratch, ["run".as_ref(), plan.as_os_str(), "--json".as_ref()]);
    let report = run.and(["--plant", &format!("{}=400", CANDIDATES[1])]).succeeds()?.json()?;
    ensure!(report["design"] == "interleaved", "design is {}", report["design"]);
    let subjects = expect::texts(&report["subjects"], "subject");
    ensure!(subjects == [BASE, CANDIDATES[0], CANDIDATES[1]], "subjects are {subjects:?}");
    ensure!(report["control"]["processes"] == 2, "control is {}", report["control"]);
    let trials = expect::trials(&report)?;
    let launches = report["launches"].as_u64().context("no launches")?;
    ensure!(
        launches >= LEAST_LAUNCHES && trials.failed == 0,
        "{launches} launches, {} failed",
        trials.failed
    );
    let rows = report["comparisons"].as_array().context("comparisons is no array")?;
    for step in ["overwrite", "readrandom"] {
        let deciding: Vec<&Value> =
            rows.iter().filter(|row| row["step"] == step && row["decides"] == true).collect();
        ensure!(deciding.len() == CANDIDATES.len(), "{step}: {} rows decide", deciding.len());
        let lost = deciding.iter().find(|row| row["candidate"] == CANDIDATES[1]);
        let lost = lost.with_context(|| format!("{step} has no row of {}", CANDIDATES[1]))?;
        ensure!(lost["verdict"] == "regression" && lost["confirmed"] == true, "{step}: {lost}");
        let ratio = lost["ratio"].as_f64().context("no ratio")?;
        ensure!(ratio < 0.5, "{step}: a planted slowdown of 400 % has ratio {ratio}");
    }
    shown_in_every_format(scratch)?;
    let history = Call::new(scratch, ["history", "last", "--json"]).succeeds()?.json()?;
    let series = history["series"].as_array().context("series is no array")?;
    ensure!(series.len() >= 2, "the history has {} series", series.len());
    Ok(Ending::Passed)
}

fn shown_in_every_format(scratch: &Scratch) -> anyhow::Result<()> {
    let shown = |arguments: &[&str]| -> anyhow::Result<String> {
        Ok(Call::new(scratch, ["report", "last"]).and(arguments).succeeds()?.stdout)
    };
    for width in ["80", "120"] {
        let text = shown(&["--width", width])?;
        for part in ["Control: the 2 processes of rocksdb@6.0.2", "8.7.3", "11.8.1", "readrandom"] {
            ensure!(text.contains(part), "the text at {width} columns does not show `{part}`:\n{text}");
        }
        let limit: usize = width.parse()?;
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        ensure!(widest <= limit, "a line has {widest} columns where there are {width}");
    }
    let sheet = shown(&["--format", "sheet"])?;
    ensure!(sheet.contains("col-1 : rocksdb@6.0.2") && sheet.contains("col-3 :"), "the sheet is:\n{sheet}");
    for format in ["markdown", "html", "tsv", "post", "openmetrics"] {
        ensure!(shown(&["--format", format])?.contains("11.8.1"), "{format} does not show 11.8.1");
    }
    Ok(())
}

/// Of three candidates two are in each launch, and each of them is compared by its own launches.
fn some_candidates_in_each_launch(scratch: &Scratch) -> anyhow::Result<Ending> {
    let more = "steps = [\"readrandom\"]\nuntil = \"50 %\"\nbudget_minutes = 1\ncandidates_at_once = 2";
    let plan = plan(scratch, &[BASE, "rocksdb@8.5.4", CANDIDATES[0], CANDIDATES[1]], more)?;
    let dry = Call::new(scratch, ["run".as_ref(), plan.as_os_str(), "--dry-run".as_ref()]).succeeds()?.stdout;
    ensure!(dry.contains("2 of 3 candidates") && dry.contains("for 4 processes"), "dry run: {dry}");
    let report =
        Call::new(scratch, ["run".as_ref(), plan.as_os_str(), "--json".as_ref()]).succeeds()?.json()?;
    let launches = report["launches"].as_u64().context("no launches")?;
    let rows = report["comparisons"].as_array().context("comparisons is no array")?;
    let deciding: Vec<u64> =
        rows.iter().filter(|row| row["decides"] == true).filter_map(|row| row["launches"].as_u64()).collect();
    ensure!(deciding.len() == 3, "{} rows decide: {rows:?}", deciding.len());
    ensure!(
        deciding.iter().all(|of_candidate| *of_candidate < launches)
            && deciding.iter().sum::<u64>() <= 2 * launches,
        "of {launches} launches candidates have {deciding:?}"
    );
    ensure!(expect::trials(&report)?.failed == 0, "some trial failed: {}", report["trials"]);
    let text = Call::new(scratch, ["report", "last"]).succeeds()?.stdout;
    ensure!(text.contains("Each launch has 2 of the 3 candidates"), "the report does not say it:\n{text}");
    Ok(Ending::Passed)
}

/// A read to interleave, and a write that only running without pauses tells about.
const BOTH: &str = r#"
name = "both"
engine = "rocksdb"
description = "d"
tells = "t"
does_not_tell = "n"
block_ms = 20
data = { keys = 20000, key_bytes = 20, value_bytes = 400, value_compressible_percent = 50 }

[options]
write_buffer_size = "1048576"

[[step]]
name = "fillseq"
group = "writes"
operation = "fill-sequential"
helper = true

[[step]]
name = "readrandom"
group = "point"
operation = "read-random"

[[step]]
name = "overwriteandwait"
group = "writes"
operation = "overwrite"
seconds = 0.3
settle = "drained"
uninterrupted = true
"#;

/// A plan that states no design is two runs of a workload with both kinds of steps, and one report, then and later.
fn each_step_its_design(scratch: &Scratch) -> anyhow::Result<Ending> {
    let workload = scratch.write("both.toml", BOTH)?;
    let plan = scratch.write(
        "plan.toml",
        &format!(
            "name = \"each\"\nworkloads = [\"{}\"]\nsubjects = [\"{BASE}\", \"{}\"]\nseed = 7\nbudget_minutes = 1\nuntil = \"50 %\"\n",
            workload.display(),
            CANDIDATES[0]
        ),
    )?;
    let dry = Call::new(scratch, ["run".as_ref(), plan.as_os_str(), "--dry-run".as_ref()]).succeeds()?.stdout;
    for part in ["2 subjects interleaved", "3 rounds of 2 subjects", "overwriteandwait"] {
        ensure!(dry.contains(part), "the dry run does not show `{part}`:\n{dry}");
    }
    let ran = Call::new(scratch, ["run".as_ref(), plan.as_os_str(), "--json".as_ref()]).succeeds()?.json()?;
    let reported = Call::new(scratch, ["report", "last", "--json"]).succeeds()?.json()?;
    for (when, report) in [("run", ran), ("report", reported)] {
        let of = |place: usize, key: &str| report[place][key].clone();
        ensure!(of(0, "design") == "interleaved" && of(1, "design") == "rounds", "{when}: {report}");
        let steps = [0, 1].map(|place| expect::texts(&report[place]["comparisons"], "step"));
        ensure!(steps[0].iter().all(|step| *step == "readrandom"), "{when}: interleaved are {:?}", steps[0]);
        ensure!(
            steps[1].iter().all(|step| *step == "overwriteandwait"),
            "{when}: in rounds are {:?}",
            steps[1]
        );
        ensure!(steps.iter().all(|steps| !steps.is_empty()), "{when}: a run has no comparison");
    }
    let table = Call::new(scratch, ["report", "last", "--format", "tsv"]).succeeds()?.stdout;
    ensure!(table.contains("readrandom") && table.contains("overwriteandwait"), "the table is:\n{table}");
    let text = Call::new(scratch, ["report", "last"]).succeeds()?.stdout;
    for part in ["Step overwriteandwait is measured in rounds", "the other 1 step, interleaved"] {
        ensure!(text.contains(part), "the report does not say `{part}`:\n{text}");
    }
    Ok(Ending::Passed)
}

/// Workers that are killed cost their own trials and no other's.
fn killed_worker(scratch: &Scratch) -> anyhow::Result<Ending> {
    const VICTIMS: usize = 3;
    let plan = small_plan(scratch)?;
    let mut controller = Call::new(scratch, ["run".as_ref(), plan.as_os_str(), "--json".as_ref()]).start()?;
    let (mut killed, mut last_kill) = (0, Instant::now());
    while killed < VICTIMS && controller.is_running()? {
        let workers = processes::workers(&scratch.shared.binary)?;
        // Who makes the image is alone, and so is the pilot.
        if workers.len() == SIDES && last_kill.elapsed() > Duration::from_millis(700) {
            processes::signal(workers[killed], libc::SIGKILL)?;
            (killed, last_kill) = (killed + 1, Instant::now());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let finished = controller.finish(Duration::from_secs(120))?.expect_code(&[0])?;
    let report = finished.json()?;
    let trials = expect::trials(&report)?;
    ensure!(killed == VICTIMS, "{killed} workers were killed");
    ensure!(
        trials.failed > 0 && trials.done > 10 * trials.failed,
        "{} done, {} failed",
        trials.done,
        trials.failed
    );
    ensure!(report["trials"]["skipped"] == 0, "the others were skipped: {}", report["trials"]);
    let reasons = expect::texts(&report["failures"], "reason").join("; ");
    ensure!(reasons.contains("killed by signal 9"), "the reasons do not tell how they ended: {reasons}");
    Ok(Ending::Passed)
}

/// Killed in a launch, the run goes on with the next number; the cut launch is void, and no launch is measured twice.
fn resume(scratch: &Scratch) -> anyhow::Result<Ending> {
    let plan = small_plan(scratch)?;
    let mut controller = Call::new(scratch, ["run".as_ref(), plan.as_os_str(), "--json".as_ref()]).start()?;
    let began = Instant::now();
    while ended_launches(scratch).map_or(0, |launches| launches.len()) < 2 {
        ensure!(controller.is_running()?, "it ended before two launches: {}", controller.stderr_so_far()?);
        ensure!(began.elapsed() < Duration::from_secs(60), "less than two launches in a minute");
        std::thread::sleep(Duration::from_millis(10));
    }
    controller.kill(true)?;
    processes::all_gone(&scratch.shared.binary)?;
    let before = ended_launches(scratch)?;
    let unfinished = Call::new(scratch, ["report", "last", "--json"]).succeeds()?.json()?;
    let verdicts = expect::texts(&unfinished["comparisons"], "verdict");
    ensure!(!verdicts.contains(&"regression"), "a run that goes on has verdicts: {verdicts:?}");
    let again = || Call::new(scratch, ["run", "--resume", "last"]);
    again().and(["--retry-failed"]).fails(&[2], &["leave out --retry-failed"])?;
    let report = again().and(["--json"]).succeeds()?.json()?;
    ensure!(report["status"] == "done", "status is {}", report["status"]);
    let after = ended_launches(scratch)?;
    let expected: Vec<u32> = (1..).take(after.len()).collect();
    ensure!(after == expected && after.len() > before.len(), "launches {before:?}, then {after:?}");
    ensure!(after.len() as u64 >= LEAST_LAUNCHES, "{} launches", after.len());
    again().fails(&[2], &["is done"])?;
    Ok(Ending::Passed)
}

/// The numbers of the launches that count and have ended.
pub fn ended_launches(scratch: &Scratch) -> anyhow::Result<Vec<u32>> {
    let store = scratch.store()?;
    let mut numbers = store
        .prepare("SELECT launch FROM launches WHERE put_aside = 0 AND took_ns IS NOT NULL ORDER BY launch")?;
    let numbers = numbers.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(numbers)
}

/// What cannot be measured is said before anything is.
fn bad_plans(scratch: &Scratch) -> anyhow::Result<Ending> {
    let check = |subjects: &[&str], more: &str, expected: &[&str]| -> anyhow::Result<()> {
        let plan = plan(scratch, subjects, more)?;
        Call::new(scratch, ["run".as_ref(), plan.as_os_str()]).fails(&[2, 3], expected)?;
        Ok(())
    };
    let both = [BASE, CANDIDATES[0]];
    check(&[BASE], "", &["there is one"])?;
    check(&both, "until = \"five\"", &["until", "write it like"])?;
    check(&both, "memory_limit = \"1 GB\"", &["memory_limit", "design = \"rounds\""])?;
    check(&both, "scale = { keys = 100_000_000 }", &["GB of memory", "use fewer"])?;
    check(&[NEVER_PUBLISHED, BASE], "", &["8.2.1 is what all others are compared with"])?;
    check(&[BASE, NEVER_PUBLISHED], "", &["nothing to compare rocksdb@6.0.2 with", "8.2.1"])?;
    let plan = plan(scratch, &both, "")?;
    let limited = "ulimit -n 90; exec \"$@\"";
    Call::new(scratch, ["run".as_ref(), plan.as_os_str()])
        .through(["bash", "-c", limited, "bash"])
        .fails(&[2], &["open files", "ulimit -n"])?;
    Ok(Ending::Passed)
}
