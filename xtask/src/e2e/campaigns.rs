//! Cases of campaigns: rounds with a broken release, one after another, going on after a kill, a device of its own.

use super::engines::library_of;
use super::expect;
use super::processes::{self, Watch};
use super::scratch::Scratch;
use super::tool::Call;
use super::{Case, Ending};
use crate::workspace;
use anyhow::{Context, ensure};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// A workload with every operation of the classic sequences.
const SEQUENCE: &str = include_str!("sequence.toml");
/// Its steps that are judged; helpers are measured too, but stand in no summary.
const STEPS: [&str; 9] = [
    "fillseq",
    "revrange",
    "readrandom",
    "readseq",
    "multireadrandom",
    "overwritesome",
    "fwdrangewhilewriting",
    "overwriteandwait",
    "coldcompact",
];
/// Releases that span the changes of the C API, of the statistics' layout and of the file format.
const RELEASES: [&str; 4] = ["rocksdb@5.18.4", "rocksdb@6.0.2", "rocksdb@8.7.3", "rocksdb@11.8.1"];
/// It can neither write nor read its tables, and says so as soon as it is opened: broken on purpose.
const BROKEN: &str = "rocksdb@6.0.2+format-5";
/// It never compacts, though its tree asks for it: waiting for that ends only by the step's timeout.
const STUCK: &str = "rocksdb@8.7.3+stuck";
const STUCK_CONFIG: &str = "engine = \"rocksdb\"\n[[config]]\nname = \"stuck\"\ndescription = \"never settles\"\n\
                            options = { disable_auto_compactions = \"true\", level0_stop_writes_trigger = \"1\", \
                            level0_slowdown_writes_trigger = \"1\", level0_file_num_compaction_trigger = \"1\" }\n";
/// Never published as a library.
const NEVER_PUBLISHED: &str = "rocksdb@8.2.1";

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("campaign rounds", rounds),
        Case::new("campaign sequential", sequential),
        Case::new("campaign resume", resume),
        Case::new("campaign resume of a rebuilt library", resume_of_a_rebuilt_library),
        Case::new("campaign loop device", loop_device),
        Case::new("campaign killed worker", killed_worker),
        Case::new("campaign db_bench", db_bench),
        Case::new("campaign import", import),
        Case::new("campaign bad plans", bad_plans),
        Case::new("campaign classic workloads", classic_workloads),
    ]
}

fn plan(scratch: &Scratch, subjects: &[&str], more: &str) -> anyhow::Result<PathBuf> {
    let workload = scratch.write("sequence.toml", SEQUENCE)?;
    let subjects: Vec<String> = subjects.iter().map(|subject| format!("\"{subject}\"")).collect();
    let text = format!(
        "name = \"small\"\nworkloads = [\"{}\"]\nsubjects = [{}]\nseed = 7\n{more}\n",
        workload.display(),
        subjects.join(", "),
    );
    scratch.write("plan.toml", &text)
}

/// Every release runs every step in every round; the broken ones are rows with reasons and cost nobody else anything.
fn rounds(scratch: &Scratch) -> anyhow::Result<Ending> {
    let mut subjects = RELEASES.to_vec();
    subjects.extend([BROKEN, STUCK, NEVER_PUBLISHED]);
    scratch.write_config("configs/stuck.toml", STUCK_CONFIG)?;
    let plan = plan(scratch, &subjects, "rounds = 2\ntickers = true")?;
    let report =
        Call::new(scratch, ["run".as_ref(), plan.as_os_str(), "--json".as_ref()]).succeeds()?.json()?;
    ensure!(report["design"] == "rounds" && report["rounds"] == 2, "design {}", report["design"]);
    let left_out = expect::texts(&report["left_out"], "subject");
    ensure!(left_out == [BROKEN, NEVER_PUBLISHED], "left out are {left_out:?}");
    let failed = report["trials"]["failed"].as_u64().unwrap_or(0);
    ensure!(failed == 2, "{failed} trials failed, not the step that never settles in each of two rounds");
    let columns = report["columns"].as_array().context("columns is no array")?;
    for release in RELEASES {
        for step in STEPS {
            let rows: Vec<&Value> =
                columns.iter().filter(|row| row["subject"] == release && row["step"] == step).collect();
            let set_aside = disturbed(&report, release, step);
            ensure!(
                rows.len() + set_aside == 2,
                "{release} has {} rows of {step}, not one of each round",
                rows.len()
            );
            for row in rows {
                columns_of(row, step)
                    .with_context(|| format!("{release}, {step}, round {}", row["round"]))?;
            }
        }
    }
    shown_in_every_format(scratch)?;
    Ok(Ending::Passed)
}

/// Trials that others disturbed.
fn disturbed(report: &Value, subject: &str, step: &str) -> usize {
    let all = report["disturbed"].as_array().into_iter().flatten();
    all.filter(|one| one["subject"] == subject && one["step"] == step).count()
}

/// What every release must have told of a step.
fn columns_of(row: &Value, step: &str) -> anyhow::Result<()> {
    let value = |metric: &str| row["values"][metric].as_f64();
    let positive = |metric: &str| -> anyhow::Result<f64> {
        let found = value(metric).with_context(|| format!("{metric} is {}", row["values"][metric]))?;
        ensure!(found > 0.0 && found.is_finite(), "{metric} is {found}");
        Ok(found)
    };
    for metric in ["ops_per_s", "cpu_us_per_op", "resident_peak_bytes", "lsm_bytes"] {
        positive(metric)?;
    }
    let p50 = positive("latency_us_p50")?;
    ensure!(positive("latency_us_max")? >= p50, "the largest latency is below the median");
    if matches!(step, "overwritesome" | "overwriteandwait") {
        let amplification = positive("write_amplification")?;
        ensure!((0.5..100.0).contains(&amplification), "write amplification is {amplification}");
    }
    Ok(())
}

fn shown_in_every_format(scratch: &Scratch) -> anyhow::Result<()> {
    let shown = |arguments: &[&str]| -> anyhow::Result<String> {
        Ok(Call::new(scratch, ["report", "last"]).and(arguments).succeeds()?.stdout)
    };
    for width in ["80", "120"] {
        let text = shown(&["--width", width, "--detail"])?;
        for part in [BROKEN, STUCK, NEVER_PUBLISHED, "overwriteandwait", "8.7.3", "w_amp"] {
            ensure!(text.contains(part), "the text at {width} columns does not show `{part}`:\n{text}");
        }
        let limit: usize = width.parse()?;
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        ensure!(widest <= limit, "a line has {widest} columns where there are {width}");
    }
    let markdown = shown(&["--format", "markdown"])?;
    ensure!(markdown.lines().any(|line| line.starts_with('|')), "no table in the Markdown:\n{markdown}");
    let tsv = shown(&["--format", "tsv"])?;
    let widths: BTreeSet<usize> = tsv.lines().map(|line| line.split('\t').count()).collect();
    ensure!(widths.len() == 1 && tsv.contains("w_amp"), "the table has rows of {widths:?} cells:\n{tsv}");
    let part: Value = serde_json::from_str(&shown(&["--subject", RELEASES[2], "--format", "json"])?)
        .context("not JSON with --subject")?;
    let subjects: BTreeSet<&str> = expect::texts(&part["columns"], "subject").into_iter().collect();
    ensure!(subjects == BTreeSet::from([RELEASES[0], RELEASES[2]]), "--subject leaves {subjects:?}");
    let warned = expect::texts(&part["notes"], "id");
    ensure!(warned.contains(&"selection"), "only {warned:?} is said of a selection");
    Call::new(scratch, ["report", "last", "--subject", "rocksdb@8.7"])
        .fails(&[2], &["has no subject `rocksdb@8.7`", RELEASES[2]])?;
    Ok(())
}

/// One after another keeps the order, and its verdicts are no more than suspicions; the same by `compare --design`.
fn sequential(scratch: &Scratch) -> anyhow::Result<Ending> {
    let workload = scratch.write("sequence.toml", SEQUENCE)?;
    let report = Call::new(scratch, ["compare", "rocksdb@8.5.4", "rocksdb@8.7.3", "--design", "sequential"])
        .and(["--rounds", "2", "--json", "--step", "readrandom", "--workload"])
        .and([&workload])
        .succeeds()?
        .json()?;
    ensure!(report["design"] == "sequential", "design is {}", report["design"]);
    let rows = report["comparisons"].as_array().context("comparisons is no array")?;
    ensure!(!rows.is_empty(), "nothing was compared");
    for row in rows {
        ensure!(row["step"] == "readrandom", "step {} was judged", row["step"]);
        let verdict = row["verdict"].as_str().unwrap_or_default();
        ensure!(
            !matches!(verdict, "regression" | "improvement"),
            "one after another cannot tell drift from a difference, and yet: {verdict}"
        );
    }
    Ok(Ending::Passed)
}

/// Workers of more than one visit: eight processes each.
const WORKERS_OF_A_VISIT: usize = 10;

/// A controller that is killed is gone on with: each trial is there once in the end.
fn resume(scratch: &Scratch) -> anyhow::Result<Ending> {
    let subjects = ["rocksdb@8.5.4", "rocksdb@8.7.3"];
    let plan = plan(scratch, &subjects, "rounds = 2")?;
    let mut controller = Call::new(scratch, ["run".as_ref(), plan.as_os_str()]).start()?;
    Watch::default().until_seen(WORKERS_OF_A_VISIT, &scratch.shared.binary, &mut controller)?;
    controller.signal(libc::SIGKILL)?;
    while controller.is_running()? {
        std::thread::yield_now();
    }
    processes::all_gone(&scratch.shared.binary).context("workers outlived their controller")?;

    let finished = Call::new(scratch, ["run", "--resume", "last", "--json"]).succeeds()?;
    let report = finished.json()?;
    let mut seen = BTreeSet::new();
    let measured = ["columns", "disturbed"].into_iter().filter_map(|key| report[key].as_array()).flatten();
    for row in measured {
        let key = (row["subject"].to_string(), row["step"].to_string(), row["round"].to_string());
        ensure!(seen.insert(key.clone()), "{key:?} is there twice");
    }
    let expected = subjects.len() * STEPS.len() * 2;
    ensure!(seen.len() == expected, "{} trials in the end, not {expected}", seen.len());
    ensure!(report["trials"]["failed"] == 0, "{} trials failed", report["trials"]["failed"]);
    Call::new(scratch, ["run", "--resume", "last"]).fails(&[2], &["is done"])?;
    Ok(Ending::Passed)
}

/// What was planned is what is measured: a library that was rebuilt meanwhile is refused until it is put back.
fn resume_of_a_rebuilt_library(scratch: &Scratch) -> anyhow::Result<Ending> {
    let libraries = [library_of(scratch, "rocksdb@8.5.4")?, library_of(scratch, "rocksdb@8.7.3")?];
    let own = scratch.path("librocksdb.so");
    std::fs::copy(&libraries[0], &own)?;
    Call::new(scratch, ["engine".as_ref(), "add".as_ref(), "mine".as_ref(), own.as_os_str()])
        .own_cache()
        .succeeds()?;
    let plan = plan(scratch, &["rocksdb@mine"], "rounds = 2")?;
    let mut controller = Call::new(scratch, ["run".as_ref(), plan.as_os_str()]).own_cache().start()?;
    Watch::default().until_seen(WORKERS_OF_A_VISIT, &scratch.shared.binary, &mut controller)?;
    controller.signal(libc::SIGKILL)?;
    while controller.is_running()? {
        std::thread::yield_now();
    }
    processes::all_gone(&scratch.shared.binary)?;

    std::fs::copy(&libraries[1], &own)?;
    let resume = || Call::new(scratch, ["run", "--resume", "last"]).own_cache();
    resume()
        .fails(&[2], &["librocksdb.so", "no longer the file that was planned as rocksdb@mine", "SHA-256"])?;
    std::fs::copy(&libraries[0], &own)?;
    resume().succeeds()?;
    Ok(Ending::Passed)
}

/// The collapse of RocksDB issue 12038, small: the requests of one cold compaction on a device whose largest request is
/// below the readahead.
fn loop_device(scratch: &Scratch) -> anyhow::Result<Ending> {
    let plan = scratch.write(
        "plan.toml",
        "name = \"12038\"\nworkloads = [\"rocksdb.12038\"]\nrounds = 2\nseed = 7\n\
         subjects = [\"rocksdb@8.5.4\", \"rocksdb@8.6.7\"]\nconfigs = [\"defaults\", \"readahead-96k\"]\n\
         scale = { keys = 100000, write_seconds = 0.5 }\nmemory_limit = \"200 MB\"\n\
         [loop_device]\nsize = \"1 GB\"\nmax_sectors_kb = 128\nread_ahead_kb = 128\n",
    )?;
    let finished = Call::new(scratch, ["run".as_ref(), plan.as_os_str(), "--json".as_ref()]).run()?;
    if let Some(reason) = finished.not_here()? {
        return Ok(Ending::NotHere { reason });
    }
    let report = finished.expect_code(&[0])?.json()?;
    // A trial that others disturbed is in no number.
    let read_kb = |subject: &str| -> anyhow::Result<f64> {
        let rows = report["columns"].as_array().context("columns is no array")?;
        let sizes: Vec<f64> = rows
            .iter()
            .filter(|row| row["subject"] == subject && row["step"] == "coldcompact")
            .filter_map(|row| row["values"]["disk_read_bytes_mean"].as_f64())
            .collect();
        ensure!(!sizes.is_empty(), "{subject} has no read size of coldcompact");
        Ok(sizes.iter().sum::<f64>() / sizes.len() as f64 / 1024.0)
    };
    let before = read_kb("rocksdb@8.5.4+defaults")?;
    let collapsed = read_kb("rocksdb@8.6.7+defaults")?;
    let restored = read_kb("rocksdb@8.6.7+readahead-96k")?;
    ensure!(before > 60.0, "8.5.4 read {before:.1} KB at a time, not about 120");
    ensure!(collapsed < 12.0, "8.6.7 read {collapsed:.1} KB at a time, not about 4");
    ensure!(restored > 40.0, "8.6.7 with 96 KiB of readahead read {restored:.1} KB at a time");
    Ok(Ending::Passed)
}

/// A worker that dies costs its visit and nobody else's; the campaign is done all the same, and what failed can be measured again.
fn killed_worker(scratch: &Scratch) -> anyhow::Result<Ending> {
    let plan = plan(scratch, &["rocksdb@8.5.4", "rocksdb@8.7.3"], "rounds = 2")?;
    let call = Call::new(scratch, ["run".as_ref(), plan.as_os_str(), "--json".as_ref()]);
    let mut controller = call.start()?;
    let mut watch = Watch::default();
    // Some workers try options while the plan is made. One that has just given its last answer is missed by nobody;
    // three in a row are not all so.
    for seen in [12, 18, 24] {
        let victim = watch.until_seen(seen, &scratch.shared.binary, &mut controller)?;
        processes::signal(victim, libc::SIGKILL)?;
    }
    let report = controller.finish(std::time::Duration::from_secs(120))?.expect_code(&[0])?.json()?;
    let failed = report["trials"]["failed"].as_u64().unwrap_or(0);
    ensure!((1..=3).contains(&failed), "{failed} trials failed of three workers that were killed");
    let columns = report["columns"].as_array().map_or(0, Vec::len);
    ensure!(columns >= STEPS.len(), "{columns} trials were measured: the campaign did not go on");

    Call::new(scratch, ["run", "--resume", "last"]).fails(&[2], &["is done", "--retry-failed"])?;
    let again =
        Call::new(scratch, ["run", "--resume", "last", "--retry-failed", "--json"]).succeeds()?.json()?;
    let measured = |key: &str| again[key].as_array().map_or(0, Vec::len);
    let all = measured("columns") + measured("disturbed");
    ensure!(all == 2 * 2 * STEPS.len(), "{all} trials after what failed was measured again");
    ensure!(again["trials"]["failed"] == 0, "{} trials failed again", again["trials"]["failed"]);
    Ok(Ending::Passed)
}

/// Debian's package rocksdb-tools.
pub const DB_BENCH: &str = "/usr/bin/db_bench";

/// A step by the user's own db_bench stands beside those by our worker; one that is none is a failed trial.
fn db_bench(scratch: &Scratch) -> anyhow::Result<Ending> {
    if !std::path::Path::new(DB_BENCH).exists() {
        return Ok(Ending::NotHere { reason: format!("no `{DB_BENCH}` (package rocksdb-tools)") });
    }
    let plan = plan(
        scratch,
        &["rocksdb@8.5.4", "rocksdb@7.8.3", "rocksdb@8.7.3"],
        "rounds = 1\nsteps = [\"fillseq\", \"readrandom\"]",
    )?;
    let report = Call::new(scratch, ["run".as_ref(), plan.as_os_str()])
        .and(["--json", "--db-bench", &format!("rocksdb@7.8.3={DB_BENCH}")])
        .and(["--db-bench", "rocksdb@8.7.3=/bin/echo"])
        .succeeds()?
        .json()?;
    let rate = |subject: &str, step: &str| {
        let rows = report["columns"].as_array().into_iter().flatten();
        let mut found = rows.filter(|row| row["subject"] == subject && row["step"] == step);
        found.find_map(|row| row["values"]["ops_per_s"].as_f64())
    };
    let sides = ["rocksdb@8.5.4", "rocksdb@7.8.3"];
    for step in ["fillseq", "readrandom"] {
        // The only round of a step has no row if another process took the CPUs meanwhile: it is set aside.
        if sides.iter().any(|subject| disturbed(&report, subject, step) > 0) {
            continue;
        }
        let (ours, theirs) = (rate(sides[0], step), rate(sides[1], step));
        let both = ours.zip(theirs).with_context(|| format!("{step}: {ours:?} and {theirs:?}"))?;
        let ratio = both.1 / both.0;
        ensure!((0.05..20.0).contains(&ratio), "db_bench's rate of {step} is {ratio} of ours");
    }
    ensure!(rate("rocksdb@8.7.3", "fillseq").is_none(), "`echo` measured something");
    let failed = &report["trials"]["failed"];
    ensure!(*failed == 2, "{failed} trials failed, not the two of `echo` for db_bench");
    Ok(Ending::Passed)
}

/// Formats of other programs, a fixture of each, and what its report has to show.
const IMPORTS: [(&str, &str, &str); 8] = [
    ("sysbench", "sysbench/1.0.20.read_write.txt", "oltp_read_write.t2"),
    ("pgbench", "pgbench/15.18.tpcb.txt", "TPC-B (sort of).s1.c2"),
    ("pgbench-log", "pgbench/15.18.log", "script 0"),
    ("fio-json", "fio/3.33.mixed.txt", "mixed.read"),
    ("iostat", "iostat/12.6.1.xk.txt", "rareqsz"),
    ("vmstat", "vmstat/4.0.2.txt", "3273.4"),
    ("otava-csv", "otava/sample.csv", "aaa3"),
    ("go-bench", "go_bench/1.26.8.txt", "Repeat/size=16-2"),
];

/// What other programs wrote is stored and shown.
fn import(scratch: &Scratch) -> anyhow::Result<Ending> {
    let fixture = workspace::root()?.join("crates/formats/fixtures/benchmark_sh/summary.tsv");
    let imported = Call::new(scratch, ["import", "db_bench-report"])
        .and([&fixture])
        .and(["--name", "posts"])
        .succeeds()?
        .stdout;
    for part in ["ops_sec", "w_amp", "8.6"] {
        ensure!(imported.contains(part), "the import does not show `{part}`:\n{imported}");
    }
    let again = Call::new(scratch, ["report", "posts", "--format", "json"]).succeeds()?.json()?;
    ensure!(again["schema"] == 1, "schema is {}", again["schema"]);
    let broken = scratch.write("broken.tsv", "not a report\n")?;
    let formats = IMPORTS.iter().map(|(format, _, _)| *format).chain(["db_bench-report", "db_bench-text"]);
    for format in formats {
        Call::new(scratch, ["import", format]).and([&broken]).fails(&[2], &["broken.tsv", " at line 1: "])?;
    }
    let fixtures = workspace::root()?.join("crates/formats/fixtures");
    for (format, file, part) in IMPORTS {
        let imported = Call::new(scratch, ["import", format]).and([&fixtures.join(file)]).succeeds()?.stdout;
        ensure!(imported.contains(part), "the import of {file} does not show `{part}`:\n{imported}");
    }
    Ok(Ending::Passed)
}

fn bad_plans(scratch: &Scratch) -> anyhow::Result<Ending> {
    let check = |text: &str, parts: &[&str]| -> anyhow::Result<()> {
        let plan = scratch.write("bad.toml", text)?;
        Call::new(scratch, ["run".as_ref(), plan.as_os_str()]).fails(&[2], parts).map(|_| ())
    };
    check("name = 'x'\nworkloads = ['rocksdb.byrx']\nsubjects = ['rocksdb-8.5.4']\n", &["bad.toml", "`@`"])?;
    check("name = 'x'\nworkloads = ['rocksdb.byxr']\nsubjects = ['rocksdb@8.5.4']\n", &["rocksdb.byrx"])?;
    check("name = 'x'\nsubjects = ['rocksdb@8.5.4']\n", &["bad.toml", "workloads"])?;
    check(
        "name = 'x'\nworkloads = ['quick']\nsubjects = ['rocksdb@8.5.4']\nhardware = 'c4r61'\n",
        &["c4r16"],
    )?;
    check(
        "name = 'x'\nworkloads = ['quick']\nsubjects = ['rocksdb@8.5.4']\nclients = [1, 8]\n",
        &["`clients`", "`quick`", "threads"],
    )?;
    check(
        "name = 'x'\nworkloads = ['ibench.quick']\nsubjects = ['postgres@16.3']\nclients = [8]\nsteps = ['l.x']\n",
        &["`l.x`", "leave it out"],
    )?;
    let missing = scratch.path("none.toml");
    Call::new(scratch, ["run".as_ref(), missing.as_os_str()]).fails(&[2], &["none.toml"])?;
    // Nothing of it can be measured: that is a failed run, with the first reason.
    let plan = plan(scratch, &[NEVER_PUBLISHED], "rounds = 1")?;
    Call::new(scratch, ["run".as_ref(), plan.as_os_str()]).fails(&[3], &[NEVER_PUBLISHED])?;
    Ok(Ending::Passed)
}

/// The classic definitions can be seen, with the sizes that they come to.
fn classic_workloads(scratch: &Scratch) -> anyhow::Result<Ending> {
    let byrx = Call::new(scratch, ["workload", "show", "rocksdb.byrx"]).succeeds()?.stdout;
    for part in ["fillseq", "revrangewhilewriting", "overwriteandwait", "block_cache"] {
        ensure!(byrx.contains(part), "rocksdb.byrx does not show `{part}`:\n{byrx}");
    }
    let of_2021 = Call::new(scratch, ["workload", "show", "rocksdb.2021"]).succeeds()?.stdout;
    ensure!(of_2021.contains("seekrandomwhilewriting.nexts-100"), "rocksdb.2021 is cut short:\n{of_2021}");
    let plan = scratch.write(
        "plan.toml",
        "name = 'x'\nworkloads = ['rocksdb.byrx']\nsubjects = ['rocksdb@8.5.4']\nhardware = 'c16r64'\n",
    )?;
    let dry = Call::new(scratch, ["run".as_ref(), plan.as_os_str(), "--dry-run".as_ref()]).succeeds()?.stdout;
    for part in ["16.80 GB", "51.54 GB", "300 s", "40000000 keys"] {
        ensure!(dry.contains(part), "the dry run does not show `{part}`:\n{dry}");
    }
    ensure!(!scratch.data().join("dbdyno/dbdyno.sqlite").exists(), "a dry run made a store");
    Ok(Ending::Passed)
}
