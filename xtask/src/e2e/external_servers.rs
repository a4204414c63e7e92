//! Cases on servers that run already and are not the controller's: servers of builds that another dbdyno keeps, with
//! users and passwords as a real one has them. Logins of every kind, refusals of every kind, and that nothing of
//! somebody else's is touched.

use super::expect;
use super::neighbour::{MARIADB, MYSQL, Neighbour, PASSWORD, POSTGRES};
use super::processes;
use super::scratch::Scratch;
use super::tool::Call;
use super::{Case, Ending};
use anyhow::{Context, ensure};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const WORKLOAD: &str = include_str!("tiny-sql.toml");
/// Servers on which nobody needs a password, and their engines.
const OPEN_SERVERS: [(&str, &str); 2] = [(POSTGRES, "postgres"), (MARIADB, "mariadb")];
/// The table of names of our tables.
const CLAIM: &str =
    "CREATE TABLE dbdyno_claim (name VARCHAR(64) NOT NULL PRIMARY KEY, made_by_dbdyno INTEGER NOT NULL)";
/// The comment of our tables.
const MARK: &str = "dbdyno made this table and drops it";
const POLL: Duration = Duration::from_millis(10);
/// A server knows within this that a client was killed.
const UNLOCK_TIMEOUT: Duration = Duration::from_secs(10);

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("external servers compare", compare).shares_host(),
        Case::new("external servers rounds", rounds).nightly(),
        Case::new("external servers logins of postgres", logins_of_postgres).shares_host(),
        Case::new("external servers logins of mysql", logins_of_mysql).nightly(),
        Case::new("external servers refusals of postgres", refusals_of_postgres).nightly(),
        Case::new("external servers refusals of mysql", refusals_of_mysql).shares_host(),
        Case::new("external servers addresses", addresses).shares_host(),
        Case::new("external servers foreign tables", foreign_tables).shares_host(),
        Case::new("external servers killed", killed).shares_host(),
    ]
}

fn password_file(scratch: &Scratch, name: &str, text: &str, mode: u32) -> anyhow::Result<PathBuf> {
    let path = scratch.write(name, text)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(mode))?;
    Ok(path)
}

fn add(scratch: &Scratch, name: &str, dsn: &str) -> anyhow::Result<()> {
    Call::new(scratch, ["engine", "add", name, dsn]).succeeds()?;
    Ok(())
}

/// A plan of one subject and one step.
fn plan(scratch: &Scratch, subject: &str) -> anyhow::Result<PathBuf> {
    let workload = scratch.write("tiny-sql.toml", WORKLOAD)?;
    let text = format!(
        "name = \"one\"\nworkloads = [\"{}\"]\nrounds = 1\nseed = 7\nsteps = [\"point\"]\nsubjects = [\"{subject}\"]\n",
        workload.display()
    );
    scratch.write("one.toml", &text)
}

/// Measures one step on a subject, with the password in the environment where there is one.
pub(super) fn measure<'a>(
    scratch: &'a Scratch,
    subject: &str,
    password: Option<&str>,
) -> anyhow::Result<Call<'a>> {
    let call = Call::new(scratch, ["run", "--json"]).and([plan(scratch, subject)?]);
    let name = subject.rsplit('@').next().unwrap_or_default().to_ascii_uppercase();
    Ok(match password {
        Some(password) => call.variable(&format!("DBDYNO_PASSWORD_{name}"), password),
        None => call,
    })
}

/// Measures one step on a subject for so many seconds.
pub(super) fn measure_for<'a>(scratch: &'a Scratch, subject: &str, seconds: u32) -> anyhow::Result<Call<'a>> {
    let short = fs::read_to_string(plan(scratch, subject)?)?;
    let long = scratch.write("long.toml", &format!("{short}scale = {{ read_seconds = {seconds} }}\n"))?;
    Ok(Call::new(scratch, ["run"]).and([long]))
}

/// Adds it, and has it refuse us with these words.
fn refused(
    scratch: &Scratch,
    name: &str,
    dsn: &str,
    password: Option<&str>,
    words: &[&str],
) -> anyhow::Result<()> {
    add(scratch, name, dsn)?;
    let engine = dsn.split("://").next().unwrap_or_default();
    let subject = if name.contains('@') { name.to_owned() } else { format!("{engine}@{name}") };
    let finished = measure(scratch, &subject, password)?.run()?.expect_code(&[2, 3])?;
    let finished = finished.expect_stderr(words)?;
    ensure!(!finished.stderr.contains(PASSWORD), "the password is shown: {}", finished.stderr);
    Ok(())
}

/// A private server against one that is not ours: a suspicion at most, with what nobody saw absent; afterwards nothing is
/// left there, and the password is nowhere.
fn compare(scratch: &Scratch) -> anyhow::Result<Ending> {
    let neighbour = Neighbour::guarded_postgres(scratch)?;
    let file = password_file(scratch, "password", &format!("{PASSWORD}\n"), 0o600)?;
    Call::new(scratch, ["engine", "add", "prod", &neighbour.dsn("scram")?, "--password-file"])
        .and([&file])
        .succeeds()?;
    neighbour.run(["CREATE TABLE precious (a INTEGER)"])?;
    let workload = scratch.write("tiny-sql.toml", WORKLOAD)?;
    let arguments = ["compare", POSTGRES, "postgres@prod", "--budget", "40s", "--json", "--workload"];
    let mut controller = Call::new(scratch, arguments).and([&workload]).start()?;
    let mut seen = false;
    while controller.is_running()? {
        seen |= no_argument_has_the_password(scratch)?;
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    ensure!(seen, "no worker was seen");
    let finished = controller.finish(std::time::Duration::from_secs(1))?.expect_code(&[0])?;
    let report = finished.json()?;
    check_report(&report)?;
    ensure!(neighbour.tables()? == ["precious"], "there are {:?}", neighbour.tables()?);
    let call = Call::new(scratch, ["report", "last", "--format", "markdown"]);
    let text = call.succeeds()?.stdout;
    ensure!(
        text.contains("neither freezes it nor reads its counters"),
        "it is not told whose it is:\n{text}"
    );
    let store = fs::read(scratch.data().join("dbdyno/dbdyno.sqlite"))?;
    let shown = [text.as_bytes(), finished.stdout.as_bytes(), finished.stderr.as_bytes(), &store];
    for bytes in shown {
        let found = bytes.windows(PASSWORD.len()).any(|window| window == PASSWORD.as_bytes());
        ensure!(!found, "the password is shown or stored");
    }
    Ok(Ending::Passed)
}

/// Whether there are workers; an error where one of our processes has the password among its arguments.
fn no_argument_has_the_password(scratch: &Scratch) -> anyhow::Result<bool> {
    for pid in processes::alive(&scratch.shared.binary)? {
        let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        ensure!(!String::from_utf8_lossy(&arguments).contains("s3cr"), "process {pid} has the password");
    }
    Ok(!processes::workers(&scratch.shared.binary)?.is_empty())
}

fn check_report(report: &Value) -> anyhow::Result<()> {
    let trials = expect::trials(report)?;
    ensure!(trials.done > 0 && trials.failed == 0, "{} trials done, {} failed", trials.done, trials.failed);
    let rows = report["comparisons"].as_array().context("comparisons is no array")?;
    for row in rows {
        let metric = row["metric"].as_str().unwrap_or_default();
        let has = row.get("candidate_value").is_some();
        let known = ["ops_per_s", "client_cpu_ns_per_op", "retries_per_op"].contains(&metric);
        ensure!(has == known, "{metric} of a server that is not ours: {row}");
    }
    let deciding = || rows.iter().filter(|row| row["decides"] == true);
    ensure!(deciding().count() > 0, "nothing decides");
    for row in deciding() {
        let verdict = row["verdict"].as_str().unwrap_or_default();
        ensure!(["suspect", "inconclusive", "ratio-only"].contains(&verdict), "{verdict} is too much: {row}");
        let warnings = row["warnings"].as_array().context("warnings is no array")?;
        ensure!(warnings.iter().any(|id| id == "not-frozen"), "no warning that it was not frozen: {row}");
    }
    ensure!(expect::texts(report, "id").contains(&"server-elsewhere"), "it is not told that it is not ours");
    Ok(())
}

/// In rounds too, beside a server of the other dialect; the report has the server's own version.
fn rounds(scratch: &Scratch) -> anyhow::Result<Ending> {
    let neighbour = Neighbour::start(scratch, MARIADB)?;
    let socket = format!("mysql://root@/bench?socket={}", neighbour.socket.display());
    add(scratch, "mariadb@near", &socket)?;
    let workload = scratch.write("tiny-sql.toml", WORKLOAD)?;
    let text = format!(
        "name = \"near\"\nworkloads = [\"{}\"]\nrounds = 2\nseed = 7\nsubjects = [\"{MARIADB}\", \"mariadb@near\"]\n",
        workload.display()
    );
    let plan = scratch.write("plan.toml", &text)?;
    let finished = Call::new(scratch, ["run", "--json"]).and([&plan]).succeeds()?;
    let trials = expect::trials(&finished.json()?)?;
    ensure!(trials.failed == 0 && trials.done > 0, "{} done, {} failed", trials.done, trials.failed);
    ensure!(neighbour.tables()?.is_empty(), "there are {:?}", neighbour.tables()?);
    let limited = scratch.write("limited.toml", &format!("memory_limit = \"1 GB\"\n{text}"))?;
    Call::new(scratch, ["run"])
        .and([limited])
        .fails(&[2], &["mariadb@near is an external server", "memory_limit"])?;
    Ok(Ending::Passed)
}

fn logins_of_postgres(scratch: &Scratch) -> anyhow::Result<Ending> {
    let server = Neighbour::guarded_postgres(scratch)?;
    for user in ["scram", "md", "clear", "trusted"] {
        add(scratch, user, &server.dsn(user)?)?;
        let password = (user != "trusted").then_some(PASSWORD);
        measure(scratch, &format!("postgres@{user}"), password)?
            .succeeds()
            .with_context(|| format!("as {user}"))?;
    }
    let by_socket =
        format!("postgres://bench@:{}/bench?host={}", server.port()?, directory_of(&server.socket));
    add(scratch, "by-socket", &by_socket)?;
    measure(scratch, "postgres@by-socket", None)?.succeeds()?;
    Ok(Ending::Passed)
}

fn directory_of(socket: &std::path::Path) -> String {
    socket.parent().unwrap_or(socket).display().to_string()
}

/// Both kinds of MySQL, twice: the server checks a password of the newer kind in full the first time only.
fn logins_of_mysql(scratch: &Scratch) -> anyhow::Result<Ending> {
    let plugins = ["mysql_native_password", "caching_sha2_password"];
    for (subject, plugins) in [(MYSQL, &plugins[..]), (MARIADB, &plugins[..1])] {
        let server = Neighbour::guarded_mysql(scratch, subject, plugins)?;
        for (plugin, name) in plugins.iter().zip(["native", "sha2"]) {
            let build = format!("{}@{name}", subject.split('@').next().unwrap_or_default());
            add(scratch, &build, &server.dsn(plugin)?)?;
            for _ in 0..2 {
                measure(scratch, &build, Some(PASSWORD))?
                    .succeeds()
                    .with_context(|| format!("as {plugin} of {subject}"))?;
            }
            let by_socket = format!("mysql://{plugin}@/bench?socket={}", server.socket.display());
            add(scratch, &build, &by_socket)?;
            measure(scratch, &build, Some(PASSWORD))?.succeeds()?;
        }
    }
    Ok(Ending::Passed)
}

/// A port that nothing listens on.
fn closed_port() -> anyhow::Result<u16> {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
    Ok(listener.local_addr()?.port())
}

fn refusals_of_postgres(scratch: &Scratch) -> anyhow::Result<Ending> {
    let server = Neighbour::guarded_postgres(scratch)?;
    let dsn = |user: &str| server.dsn(user);
    let check =
        |name: &str, dsn: &str, password, words: &[&str]| refused(scratch, name, dsn, password, words);
    check(
        "wrong",
        &dsn("scram")?,
        Some("wrong"),
        &["password of the user `scram`", "DBDYNO_PASSWORD_WRONG"],
    )?;
    check(
        "none",
        &dsn("scram")?,
        None,
        &["asks the user `scram` for a password", "DBDYNO_PASSWORD_NONE is not set"],
    )?;
    check(
        "weak",
        &dsn("weak")?,
        Some(PASSWORD),
        &["`weak` may not make tables in the database `bench`", "grant"],
    )?;
    check("tls", &dsn("tls")?, None, &["only over TLS", "--tls-ca"])?;
    let missing = dsn("trusted")?.replace("/bench", "/nowhere");
    check("missing", &missing, None, &["has no database `nowhere`", "CREATE DATABASE"])?;
    check(
        "closed",
        &format!("postgres://me@127.0.0.1:{}/bench", closed_port()?),
        None,
        &["failed to connect", "refused"],
    )?;
    check(
        "nohost",
        "postgres://me@no-such-host.invalid/bench",
        None,
        &["failed to connect", "no-such-host.invalid"],
    )?;
    let other_dialect = format!("mysql://me@127.0.0.1:{}/bench", server.port()?);
    check("dialect", &other_dialect, None, &["does not answer as a server that speaks mysql"])?;
    // Its settings are its owner's, and one database cannot have the tables of both sides.
    add(scratch, "fine", &dsn("trusted")?)?;
    add(scratch, "again", &dsn("scram")?)?;
    measure(scratch, "postgres@fine+durable", None)?.fails(&[2, 3], &["leave out `+durable`"])?;
    let workload = scratch.write("tiny-sql.toml", WORKLOAD)?;
    Call::new(scratch, ["compare", "postgres@fine", "postgres@again", "--workload"])
        .and([workload])
        .variable("DBDYNO_PASSWORD_AGAIN", PASSWORD)
        .fails(&[2], &["are one database"])?;
    Ok(Ending::Passed)
}

fn refusals_of_mysql(scratch: &Scratch) -> anyhow::Result<Ending> {
    let server = Neighbour::guarded_mysql(scratch, MYSQL, &["mysql_native_password"])?;
    server.run([
        "CREATE USER weak@'%' IDENTIFIED WITH mysql_native_password BY ''",
        "GRANT SELECT ON bench.* TO weak@'%'",
        "CREATE USER ancient@'%' IDENTIFIED WITH sha256_password BY 'x'",
    ])?;
    let native = server.dsn("mysql_native_password")?;
    let check =
        |name: &str, dsn: &str, password, words: &[&str]| refused(scratch, name, dsn, password, words);
    check("wrong", &native, Some("wrong"), &["password of the user `mysql_native_password`"])?;
    check("none", &native, None, &["the user `mysql_native_password`", "DBDYNO_PASSWORD_NONE is not set"])?;
    check("weak", &server.dsn("weak")?, None, &["`weak` may not make tables", "grant"])?;
    check("ancient", &server.dsn("ancient")?, Some("x"), &["sha256_password", "another kind"])?;
    check("missing", &native.replace("/bench", "/nowhere"), Some(PASSWORD), &["nowhere"])?;
    check("closed", &format!("mysql://me@127.0.0.1:{}/bench", closed_port()?), None, &["failed to connect"])?;
    let other_dialect = format!("postgres://me@127.0.0.1:{}/bench", server.port()?);
    check("dialect", &other_dialect, None, &["does not answer as a server that speaks postgres"])?;
    server.run(["SET GLOBAL require_secure_transport = ON"])?;
    check("tls", &native, Some(PASSWORD), &["only over TLS", "--tls-ca"])?;
    Ok(Ending::Passed)
}

/// What is wrong with an address or a password file is found when it is added; no password is repeated or kept.
fn addresses(scratch: &Scratch) -> anyhow::Result<Ending> {
    let add = |arguments: &[&str]| Call::new(scratch, ["engine", "add"]).and(arguments).own_cache();
    let wrong = |arguments: &[&str], words: &[&str]| -> anyhow::Result<()> {
        let finished = add(arguments).fails(&[2], words)?;
        ensure!(!finished.stderr.contains("s3cr"), "the password is repeated: {}", finished.stderr);
        Ok(())
    };
    wrong(&["x", "postgres://me:s3cr@h/b"], &["must not hold a password", "--password-file"])?;
    wrong(&["x", "postgres://h/b"], &["names no user"])?;
    wrong(&["x", "oracle://me@h/b"], &["postgres://USER@HOST:PORT/DATABASE"])?;
    wrong(&["x", "mysql://me@h/b?ssl-mode=REQUIRED"], &["--tls-ca"])?;
    wrong(&["mysql@x", "postgres://me@h/b"], &["mysql@x does not speak postgres"])?;
    wrong(&["rocksdb@x", "postgres://me@h/b"], &["does not speak postgres"])?;
    wrong(&["16.3", "postgres://me@h/b"], &["is a published release"])?;
    let open = password_file(scratch, "open", "s3cr\n", 0o644)?.display().to_string();
    wrong(&["x", "postgres://me@h/b", "--password-file", &open], &["mode 644", "chmod 600"])?;
    wrong(&["x", "postgres://me@h/b", "--password-file", "/no/such/file"], &["/no/such/file"])?;
    wrong(&["x", "/no/such/library", "--insecure-login"], &["--insecure-login", "the address of a server"])?;
    let good = password_file(scratch, "good", "s3cr\n", 0o600)?.display().to_string();
    add(&["my-prod", "postgres://me@db.example/b", "--password-file", &good]).succeeds()?;
    let call = |arguments: &[&str]| Call::new(scratch, arguments).own_cache();
    let list = call(&["engine", "list"]).succeeds()?.stdout;
    ensure!(list.contains("me@db.example:5432/b"), "it is not in the list: {list}");
    let info = call(&["engine", "info", "postgres@my-prod"]).succeeds()?.stdout;
    ensure!(info.contains("DBDYNO_PASSWORD_MY_PROD") && info.contains(&good), "{info}");
    ensure!(!info.contains("insecure"), "{info}");
    add(&["trusting", "postgres://me@db.example/b", "--insecure-login"]).succeeds()?;
    let info = call(&["engine", "info", "postgres@trusting"]).succeeds()?.stdout;
    ensure!(info.contains("insecure: in clear text"), "{info}");
    let json = call(&["engine", "info", "postgres@my-prod", "--json"]).succeeds()?;
    ensure!(json.json()?["build"].get("sha256").is_none(), "{}", json.stdout);
    ensure!(!format!("{list}{info}{}", json.stdout).contains("s3cr"), "the password is shown");
    call(&["engine", "start", "postgres@my-prod"])
        .fails(&[2], &["an external server, which dbdyno does not start"])?;
    Ok(Ending::Passed)
}

/// A server whose owner asks nobody for a password, and the name under which it was added.
fn open_server(scratch: &Scratch, subject: &str, engine: &str) -> anyhow::Result<(Neighbour, String)> {
    let server = Neighbour::start(scratch, subject)?;
    let place = match engine {
        "postgres" => format!("postgres://bench@127.0.0.1:{}/bench", server.port()?),
        _ => format!("mysql://root@/bench?socket={}", server.socket.display()),
    };
    let build = format!("{engine}@theirs");
    add(scratch, &build, &place)?;
    Ok((server, build))
}

/// Tables of somebody else are never dropped, whatever their names, and whatever a claim, a comment or both say of them.
fn foreign_tables(scratch: &Scratch) -> anyhow::Result<Ending> {
    for (subject, engine) in OPEN_SERVERS {
        let (server, build) = open_server(scratch, subject, engine)?;
        server.run(["CREATE TABLE sbtest2 (a INTEGER)", "INSERT INTO sbtest2 VALUES (42)"])?;
        let refused = |words: &[&str]| -> anyhow::Result<()> {
            measure(scratch, &build, None)?.fails(&[2, 3], words)?;
            Ok(())
        };
        let has = |tables: &[&str]| -> anyhow::Result<()> {
            let found = server.tables()?;
            ensure!(found == tables, "there are {found:?}");
            Ok(())
        };
        refused(&["`sbtest2`", "did not make"])?;
        ensure!(
            server.owner("bench")?.read("SELECT a FROM sbtest2")?.first() == Some("42"),
            "it was touched"
        );
        server.run(["DROP TABLE sbtest2", "CREATE TABLE dbdyno_claim (a INTEGER)"])?;
        refused(&["`dbdyno_claim`", "did not make"])?;
        // Somebody planted the claim, or put other tables in the place of ours, or an earlier version left both.
        server.run([
            "DROP TABLE dbdyno_claim",
            CLAIM,
            "INSERT INTO dbdyno_claim VALUES ('sbtest1', 1), ('precious', 1), ('sbtest9', 1)",
            "CREATE TABLE sbtest1 (theirs INTEGER)",
            "CREATE TABLE precious (a INTEGER)",
        ])?;
        refused(&["`precious`, `sbtest1`", "drop `dbdyno_claim`"])?;
        has(&["dbdyno_claim", "precious", "sbtest1"])?;
        server.run(["DROP TABLE sbtest1", "DROP TABLE dbdyno_claim"])?;
        measure(scratch, &build, None)?.succeeds()?;
        has(&["precious"])?;
        if engine == "postgres" {
            server.run([
                "CREATE ROLE stranger",
                CLAIM,
                "INSERT INTO dbdyno_claim VALUES ('precious', 1)",
                "ALTER TABLE dbdyno_claim OWNER TO stranger",
            ])?;
            refused(&["`dbdyno_claim`", "did not make"])?;
            let mark = format!("COMMENT ON TABLE precious IS '{MARK}'");
            let strangers = "ALTER TABLE precious OWNER TO stranger";
            server.run(["ALTER TABLE dbdyno_claim OWNER TO bench", mark.as_str(), strangers])?;
            refused(&["`precious`", "another user"])?;
            has(&["dbdyno_claim", "precious"])?;
            server.run(["DROP TABLE dbdyno_claim"])?;
        }
        // Another run has the database.
        let mut other = server.owner("bench")?;
        other.read(match engine {
            "postgres" => "SELECT pg_try_advisory_lock(1684169849)",
            _ => "SELECT GET_LOCK('dbdyno.bench', 0)",
        })?;
        refused(&["another run of dbdyno"])?;
    }
    Ok(Ending::Passed)
}

/// What a killed run leaves carries our mark, and is all that the next one drops.
fn killed(scratch: &Scratch) -> anyhow::Result<Ending> {
    for (subject, engine) in OPEN_SERVERS {
        let (server, build) = open_server(scratch, subject, engine)?;
        server.run(["CREATE TABLE precious (a INTEGER)"])?;
        let mut run = measure_for(scratch, &build, 60)?.start()?;
        // MySQL marks a table after it has made it, and before it has rows.
        while !(has_rows(&server, "sbtest1")? && has_rows(&server, "sbtest2")?) {
            ensure!(run.is_running()?, "it ended before it was killed: {}", run.stderr_so_far()?);
            std::thread::sleep(POLL);
        }
        run.kill(true)?;
        let (locked, comment) = match engine {
            "postgres" => (
                "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'",
                "SELECT obj_description('sbtest1'::regclass, 'pg_class')",
            ),
            _ => (
                "SELECT 1 - IS_FREE_LOCK('dbdyno.bench')",
                "SELECT TABLE_COMMENT FROM information_schema.TABLES \
                 WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'sbtest1'",
            ),
        };
        let mut owner = server.owner("bench")?;
        let began = Instant::now();
        while owner.read(locked)?.first() != Some("0") {
            ensure!(began.elapsed() < UNLOCK_TIMEOUT, "the run that was killed has its lock still");
            std::thread::sleep(POLL);
        }
        let found = owner.read(comment)?;
        ensure!(found.first() == Some(MARK), "its comment is {:?}", found.first());
        measure(scratch, &build, None)?.succeeds()?;
        ensure!(server.tables()? == ["precious"], "there are {:?}", server.tables()?);
    }
    Ok(Ending::Passed)
}

/// False of a table that is not there.
fn has_rows(server: &Neighbour, table: &str) -> anyhow::Result<bool> {
    let rows = server.owner("bench")?.read(&format!("SELECT 1 FROM {table} LIMIT 1"));
    Ok(rows.is_ok_and(|rows| rows.first().is_some()))
}
