//! The Insert Benchmark on real servers: queries with paced inserts and deletes beside them, in rounds and interleaved, and with one table for
//! all clients.

use super::scratch::Scratch;
use super::tool::Call;
use super::{Case, Ending, expect};
use anyhow::{Context, ensure};
use serde_json::Value;

/// One of each protocol; the second with its storage engine that is not the default.
const SUBJECTS: [&str; 2] = ["postgres@15.7", "myrocks@10.11.19"];
const STEPS: u64 = 10;
/// Streams beside them: deletes of two, inserts and deletes of six.
const COMPANIONS: u64 = 14;

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("insert benchmark rounds", rounds).nightly(),
        Case::new("insert benchmark interleaved", interleaved).shares_host(),
        Case::new("insert benchmark shared table", shared_table).nightly(),
    ]
}

/// The whole sequence on a small table: each stream has its rate, its latency and its place on the page.
fn rounds(scratch: &Scratch) -> anyhow::Result<Ending> {
    let plan = scratch.write(
        "plan.toml",
        &format!(
            "name = \"streams\"\nworkloads = [\"ibench.quick\"]\nrounds = 1\nseed = 7\n\
             subjects = [\"{}\", \"{}\"]\nscale = {{ rows = 5000, read_seconds = 2 }}\n",
            SUBJECTS[0], SUBJECTS[1],
        ),
    )?;
    let report = Call::new(scratch, ["run", "--json"]).and([plan]).succeeds()?.json()?;
    let trials = expect::trials(&report)?;
    ensure!(trials.failed == 0, "{} trials failed", trials.failed);
    ensure!(trials.done == 2 * (STEPS + COMPANIONS), "{} trials are done", trials.done);
    let rows = report["comparisons"].as_array().context("comparisons is no array")?;
    let disturbed = report["disturbed"].as_array().context("disturbed is no array")?;
    for side in ["base_value", "candidate_value"] {
        for rate in [100.0, 500.0, 1000.0] {
            for query in ["qr", "qp"] {
                let step = format!("{query}{rate}");
                let [queries, inserts, deletes] = ["", ".inserts", ".deletes"]
                    .map(|stream| rate_of(rows, &format!("{step}{stream}"), side));
                let (inserts, deletes) = (inserts?, deletes?);
                // What others on the host disturbed has no value of its own.
                let set_aside = disturbed.iter().any(|trial| trial["step"] == step.as_str());
                ensure!(set_aside || queries? > 10.0, "{step} has no queries, {side}");
                // An insert of 50 rows more or less in two seconds.
                ensure!((inserts - rate).abs() <= 30.0, "{step}: {inserts} rows inserted a second, {side}");
                ensure!(
                    (deletes - inserts).abs() <= 30.0,
                    "{step}: {deletes} rows deleted, {inserts} inserted"
                );
            }
        }
    }
    let text = Call::new(scratch, ["report", "last", "--detail"]).succeeds()?.stdout;
    for part in ["l.i0", "l.x", "l.i1.deletes", "qp1000.inserts"] {
        ensure!(text.contains(part), "the report does not show `{part}`:\n{text}");
    }
    Ok(Ending::Passed)
}

fn rate_of(rows: &[Value], step: &str, side: &str) -> anyhow::Result<f64> {
    let row = rows.iter().find(|row| row["step"] == step && row["metric"] == "ops_per_s");
    row.and_then(|row| row[side].as_f64()).with_context(|| format!("{step} has no rate, {side}"))
}

/// Blocks that are shorter than the time between two inserts: the rate is kept over all of them.
fn interleaved(scratch: &Scratch) -> anyhow::Result<Ending> {
    let mut arguments =
        vec!["compare", "postgres@15.7", "postgres@16.3", "--workload", "ibench.quick", "--json"];
    arguments.extend(["--budget", "90s", "--step", "l.i2", "--step", "qr500", "--step", "qr500.inserts"]);
    let report = Call::new(scratch, arguments).succeeds()?.json()?;
    let trials = expect::trials(&report)?;
    ensure!(trials.done > 0 && trials.failed == 0, "{} trials done, {} failed", trials.done, trials.failed);
    let rows = report["comparisons"].as_array().context("comparisons is no array")?;
    for side in ["base_value", "candidate_value"] {
        let inserts = rate_of(rows, "qr500.inserts", side)?;
        ensure!((inserts - 500.0).abs() < 50.0, "{inserts} rows a second, {side}");
        ensure!(rate_of(rows, "l.i2", side)? > 100.0 && rate_of(rows, "qr500", side)? > 10.0, "{side}");
    }
    ensure!(rows.iter().all(|row| row["step"] != "qr500.deletes"), "what was not asked for is judged");
    Ok(Ending::Passed)
}

/// After the shipped steps four clients insert, four delete, and then all rows are read.
const INSERTED: u64 = 3000;
const DELETED: u64 = 1600;
const ROWS: u64 = 20_000;

/// Beside l.i1, on Postgres: ends the connection of a client in the middle of an INSERT or DELETE.
const LOSSES: &str = r#"[[step]]
name = "l.i1.losses"
group = "beside"
operation = "transaction"
transaction = "end a client"
threads = 1
beside = "l.i1"
rate = 20

"#;
const END_A_CLIENT: &str = r#"
[[transaction]]
name = "end a client"
statements = [
    { sql = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'active' \
      AND (query LIKE 'DELETE FROM%' OR query LIKE 'INSERT INTO%') LIMIT 1""", only = "postgres" },
    { sql = "SELECT 1", only = "mysql" },
]
"#;

/// Four clients load one table, insert into it and delete from it until it has turned over, and lose connections meanwhile: no row is missing or
/// deleted twice, so that there are as many as were inserted less those that were deleted.
fn shared_table(scratch: &Scratch) -> anyhow::Result<Ending> {
    let workload = scratch.write("shared.toml", &shared_workload(scratch)?)?;
    let plan = scratch.write(
        "plan.toml",
        &format!(
            "name = \"shared\"\nworkloads = [\"{}\"]\nrounds = 1\nseed = 7\nsubjects = [\"postgres@15.7\", \"mariadb@10.11.19\"]\n\
             scale = {{ rows = {ROWS}, read_seconds = 1 }}\n",
            workload.display(),
        ),
    )?;
    let report = Call::new(scratch, ["run", "--json"]).and([plan]).succeeds()?.json()?;
    let trials = expect::trials(&report)?;
    // l.i0 to qr100 with the five streams beside them, and the last three.
    let expected = 2 * (5 + 5 + 3);
    ensure!(trials.done == expected && trials.failed == 0, "{} done, {} failed", trials.done, trials.failed);
    let warnings = report["warnings"].to_string();
    ensure!(
        !warnings.contains("failed-operations"),
        "a statement found another number of rows than it should: {warnings}"
    );
    ensure!(warnings.contains("retries"), "no connection was lost: {warnings}");
    let rows = report["comparisons"].as_array().context("comparisons is no array")?;
    for side in ["base_value", "candidate_value"] {
        for step in ["l.i0", "l.i1.deletes", "qr100.deletes", "fewer"] {
            ensure!(rate_of(rows, step, side)? > 10.0, "{step} did nothing, {side}");
        }
    }
    Ok(Ending::Passed)
}

/// The shipped workload up to the first queries, which the others are like, with the steps that show what is in the table.
fn shared_workload(scratch: &Scratch) -> anyhow::Result<String> {
    let shown = Call::new(scratch, ["workload", "show", "ibench-shared.quick"]).succeeds()?.stdout;
    let place = |step: &str| {
        let found = shown.find(&format!("[[step]]\nname = \"{step}\""));
        found.with_context(|| format!("the workload has no {step}"))
    };
    let (losses, end) = (place("l.i2")?, place("qp100")?);
    let step = |name: &str, transaction: &str, more: &str| {
        format!(
            "[[step]]\nname = \"{name}\"\ngroup = \"writes\"\noperation = \"transaction\"\ntransaction = \"{transaction}\"\n\
             same_process = true\n{more}\n"
        )
    };
    let left = ROWS + INSERTED - DELETED;
    let text = [
        &shown[..losses],
        LOSSES,
        &shown[losses..end],
        &step("more", "insert", &format!("with = {{ rows = 50 }}\noperations = {INSERTED}")),
        &step("fewer", "delete", &format!("with = {{ rows = 50 }}\noperations = {DELETED}")),
        &step("all", "all rows", "threads = 1\noperations = 1"),
        "[[transaction]]\nname = \"all rows\"\n",
        &format!("statements = [{{ sql = \"SELECT transactionid FROM {{table}}\", rows = {left} }}]\n"),
        END_A_CLIENT,
    ];
    // More rows than the table has.
    Ok(text.concat().replace("operations_per_key = 0.4", "operations_per_key = 1.5"))
}
