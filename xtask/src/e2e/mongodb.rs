//! The client of MongoDB against FerretDB: its plan, its page, two configurations compared, and what goes wrong. What is measured there is
//! FerretDB, which answers slowly: a few hundred documents.

use super::scratch::Scratch;
use super::tool::Call;
use super::{Case, Ending, expect};
use crate::ferretdb;
use anyhow::{Context, bail, ensure};
use load::Connection;
use model::address::{Endpoint, Password, ServerAddress};
use model::workload::sql::Dialect;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const PLAN: &str = include_str!("../../../plans/insert-benchmark-mongodb-small.toml");
/// A second configuration: the garbage collector of its runtime runs four times as often.
const CONFIG: &str = "engine = \"mongodb\"\n[[config]]\nname = \"small-heap\"\ndescription = \"collects garbage often\"\n\
                      environment = { GOGC = \"25\" }\n";

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("mongodb plan", plan).nightly(),
        Case::new("mongodb compare", compare).shares_host(),
        Case::new("mongodb bad input", bad_input).shares_host(),
    ]
}

/// Makes the build known as `mongodb@mine`; absent if it cannot be built here.
fn added(scratch: &Scratch) -> anyhow::Result<Option<PathBuf>> {
    let Some(program) = ferretdb::built()? else { return Ok(None) };
    scratch.write_config("configs/mongodb.toml", CONFIG)?;
    Call::new(scratch, ["engine", "add", "mongodb@mine"]).and([&program]).succeeds()?;
    Ok(Some(program))
}

fn no_go() -> Ending {
    Ending::Skipped { reason: "FerretDB is built with go, which is not on the search path".to_owned() }
}

/// The plan as it is in the repository: streams keep their rate, and the page says that this is no MongoDB.
fn plan(scratch: &Scratch) -> anyhow::Result<Ending> {
    if added(scratch)?.is_none() {
        return Ok(no_go());
    }
    let plan = scratch.write("plan.toml", PLAN)?;
    let report = Call::new(scratch, ["run", "--json"]).and([plan]).succeeds()?.json()?;
    let trials = expect::trials(&report)?;
    ensure!(
        trials.failed == 0 && trials.done == 2 * 2 * 24,
        "{} done, {} failed",
        trials.done,
        trials.failed
    );
    let rows = report["comparisons"].as_array().context("comparisons is no array")?;
    for stream in ["inserts", "deletes"] {
        // The slowest rate is one that FerretDB keeps whatever else this host does: an insert of 50 documents more or less in two seconds.
        let done = value(rows, &format!("qr100.{stream}"), "base_value")?;
        ensure!((done - 100.0).abs() <= 30.0, "qr100.{stream}: {done} documents a second");
        ensure!(
            value(rows, &format!("qp1000.{stream}"), "base_value")? > done,
            "{stream} beside qp1000 have no higher rate"
        );
    }
    let warnings = report["warnings"].to_string();
    ensure!(warnings.contains("other-server"), "nobody says that FerretDB is no MongoDB: {warnings}");
    let page = scratch.path("page.html");
    Call::new(scratch, ["report", "last", "--format", "html", "-o"]).and([&page]).succeeds()?;
    let page = fs::read_to_string(&page).context("failed to read the page")?;
    for part in ["qp1000.inserts", "is FerretDB, which speaks the protocol of MongoDB"] {
        ensure!(page.contains(part), "the page does not show `{part}`");
    }
    Ok(Ending::Passed)
}

fn value(rows: &[Value], step: &str, side: &str) -> anyhow::Result<f64> {
    let row = rows.iter().find(|row| row["step"] == step && row["metric"] == "ops_per_s");
    row.and_then(|row| row[side].as_f64()).with_context(|| format!("{step} has no rate"))
}

/// Two configurations on the microbenchmarks, interleaved, with plans of their commands.
fn compare(scratch: &Scratch) -> anyhow::Result<Ending> {
    if added(scratch)?.is_none() {
        return Ok(no_go());
    }
    let workload = scratch.write("tiny-mongodb.toml", include_str!("tiny-mongodb.toml"))?;
    let mut arguments =
        vec!["compare", "mongodb@mine", "mongodb@mine+small-heap", "--budget", "30s", "--json"];
    arguments.push("--workload");
    let report = Call::new(scratch, arguments).and([workload]).succeeds()?.json()?;
    let trials = expect::trials(&report)?;
    ensure!(trials.done > 0 && trials.failed == 0, "{} done, {} failed", trials.done, trials.failed);
    let rows = report["comparisons"].as_array().context("comparisons is no array")?;
    for step in ["point-query_range=100", "update-nonindex_range=100", "insert_range=100"] {
        ensure!(value(rows, step, "candidate_value")? > 1.0, "{step}");
    }
    let text = Call::new(scratch, ["report", "last", "--detail"]).succeeds()?.stdout;
    ensure!(text.contains("GOGC"), "the report does not say what differs:\n{text}");
    Ok(Ending::Passed)
}

/// A server that asks for a password lets in who knows it, and nobody else.
fn logins(scratch: &Scratch, program: &Path) -> anyhow::Result<()> {
    let socket = scratch.path("s");
    let users = ["--auth-user", "me", "--auth-password", "secret"];
    let _server = ferretdb::Server::start(program, &scratch.path("users"), &socket, &users)?;
    let address = |password: Option<&str>| ServerAddress {
        password: password.map(|password| Password::new(password.to_owned())),
        ..ServerAddress::new(Dialect::Mongodb, Endpoint::Socket { path: socket.clone() }, "me", "bench")
    };
    let insert = r#"{"insert": "t", "documents": [{"_id": 1}]}"#;
    let mut connection = Connection::open(&address(Some("secret"))).context("the right password")?;
    ensure!(connection.run(insert)?.rows == 1, "nothing was inserted");
    let Err(wrong) = Connection::open(&address(Some("secret2"))) else {
        bail!("a wrong password was accepted")
    };
    ensure!(wrong.to_string().contains("does not accept the password of the user `me`"), "{wrong}");
    let Err(none) = Connection::open(&address(None))?.run(insert) else { bail!("nobody was let in") };
    ensure!(format!("{:#}", anyhow::Error::from(none)).contains("Unauthorized"), "not told");
    Ok(())
}

fn bad_input(scratch: &Scratch) -> anyhow::Result<Ending> {
    let Some(program) = added(scratch)? else { return Ok(no_go()) };
    // A statement that is no JSON.
    let workload = include_str!("tiny-mongodb.toml");
    let broken =
        scratch.write("broken.toml", &workload.replace(r#"{"find": "{table}","#, r#"{"find" "{table}","#))?;
    Call::new(scratch, ["compare", "mongodb@mine", "mongodb@mine+small-heap", "--workload"])
        .and([&broken])
        .fails(&[2], &["is no document of JSON"])?;
    // A workload of another family, an external server.
    Call::new(
        scratch,
        ["compare", "mongodb@mine", "mongodb@mine+small-heap", "--workload", "sysbench.quick"],
    )
    .fails(&[2], &["mongodb"])?;
    Call::new(scratch, ["engine", "add", "mongodb@there", "mongodb://me@db:27017/bench"])
        .fails(&[2], &["external servers of MongoDB are not supported", "mongod"])?;
    // A directory without the program.
    let empty = scratch.path("empty");
    fs::create_dir(&empty).context("failed to make a directory")?;
    Call::new(scratch, ["engine", "add", "mongodb@none"]).and([&empty]).fails(&[2], &["mongod"])?;
    // A parameter that the server does not know: its own words.
    let config = format!(
        "{CONFIG}[[config]]\nname = \"wrong\"\ndescription = \"d\"\n[config.options]\n\"setParameter.noSuchThing\" = \"1\"\n"
    );
    scratch.write_config("configs/mongodb.toml", &config)?;
    let workload = scratch.write("tiny-mongodb.toml", workload)?;
    Call::new(scratch, ["compare", "mongodb@mine", "mongodb@mine+wrong", "--workload"])
        .and([&workload])
        .fails(&[1, 2, 3], &["noSuchThing"])?;
    logins(scratch, &program)?;
    Ok(Ending::Passed)
}
