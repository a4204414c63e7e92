//! Servers whose disk fills up while their tables are loaded: each way in which one meets it ends the run with what happened, where and
//! what to do, in seconds, and the run goes on where there is room again.

use super::scratch::Scratch;
use super::servers::WORKLOAD;
use super::small_disk::SmallDisk;
use super::tool::{Call, Finished};
use super::{Case, Ending, expect};
use anyhow::{Context, ensure};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// More than a data directory without tables takes by the options below, and less than with them: Postgres writes its rows twice, into the
/// tables and into its log of changes.
const SIZE: &str = "122m";
const ROOM: &str = "1g";
const ROWS_OF_POSTGRES: &str = "rows = 150_000";
const ROWS_OF_MARIADB: &str = "rows = 400_000";
/// A server that waited for space would do so for minutes.
const TIMEOUT: Duration = Duration::from_secs(60);

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("servers full disk of postgres", |scratch| {
            // Its log of changes, or a table: whichever is extended when nothing is left.
            let says = "No space left on device";
            full(scratch, "postgres@16.3", says, "ENGINE = {storage}", GoesOn::WithRoom)
        })
        .shares_host(),
        Case::new("servers full disk of mariadb", |scratch| {
            full(scratch, "mariadb@10.11.19", "is full (1114)", "ENGINE = {storage}", GoesOn::NotTried)
        })
        .shares_host(),
        Case::new("servers full disk that mariadb waits for", |scratch| {
            let says = "Waiting for someone to free space";
            full(scratch, "mariadb@10.11.19", says, "ENGINE = MyISAM", GoesOn::NotTried)
        })
        .shares_host(),
    ]
}

/// Whether the run is taken up again: a load of MariaDB takes as long as all else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GoesOn {
    WithRoom,
    NotTried,
}

fn full(
    scratch: &Scratch,
    subject: &str,
    says: &str,
    storage: &str,
    goes_on: GoesOn,
) -> anyhow::Result<Ending> {
    // The path of a socket is short.
    let directory = tempfile::Builder::new().prefix("dbdyno-disk-").tempdir_in("/var/tmp")?;
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755))?;
    let work_dir = directory.path();
    let runs = work_dir.join("runs");
    copy_build(scratch, subject, work_dir)?;
    let Some(disk) = SmallDisk::mount(&runs, SIZE)? else {
        return Ok(Ending::NotHere { reason: "no file system of its own can be mounted".to_owned() });
    };
    // What others could write in is not trusted, nor what has no marker.
    fs::set_permissions(&runs, fs::Permissions::from_mode(0o755))?;
    fs::write(runs.join(".dbdyno"), "made by a case\n").context("failed to mark the small disk")?;
    let plan = plan(scratch, subject, storage)?;
    let call = |arguments: &[&str]| Call::new(scratch, arguments).and([Path::new("--work-dir"), work_dir]);
    let run = call(&["run", "--json", "--no-fingerprint"]).and([plan]).start()?;
    let ended = run.finish(TIMEOUT)?.expect_code(&[3])?;
    said(&ended, says, &runs)?;
    ensure!(left(&runs)? == 0, "{} directories of runs are left on the full disk", left(&runs)?);
    if goes_on == GoesOn::WithRoom {
        disk.grow(ROOM)?;
        call(&["run", "--resume", "last", "--no-fingerprint"]).succeeds()?;
        let report = call(&["report", "last", "--format", "json"]).succeeds()?.json()?;
        let trials = expect::trials(&report)?;
        ensure!(
            trials.failed == 0 && trials.done > 0,
            "{} trials done, {} failed",
            trials.done,
            trials.failed
        );
    }
    disk.unmount()?;
    Ok(Ending::Passed)
}

/// Gives the work directory what the shared one has of a build, with the markers on the way to it; if that has none it is fetched.
fn copy_build(scratch: &Scratch, subject: &str, work_dir: &Path) -> anyhow::Result<()> {
    let (engine, version) = subject.split_once('@').context("a subject has a version")?;
    let (from, to) = (scratch.shared.cache.join("dbdyno/engines"), work_dir.join("engines"));
    let build = Path::new(engine).join(version);
    if !from.join(&build).exists() {
        return Ok(());
    }
    fs::create_dir_all(to.join(engine))?;
    for marker in [PathBuf::from(".dbdyno"), Path::new(engine).join(".dbdyno")] {
        fs::copy(from.join(&marker), to.join(&marker)).context("failed to copy a marker")?;
    }
    let copied = Command::new("cp").arg("--archive").args([from.join(&build), to.join(&build)]).status();
    ensure!(copied.context("failed to start cp")?.success(), "the build of {subject} cannot be copied");
    Ok(())
}

/// Once to the user and once in the report, with the directory.
fn said(ended: &Finished, says: &str, runs: &Path) -> anyhow::Result<()> {
    let remedy = format!("its disk is full: free space on the file system of `{}", runs.display());
    let report = ended.json()?;
    let reasons = expect::texts(&report, "reason").join("; ");
    for part in [says, &remedy] {
        ensure!(ended.stderr.contains(part), "standard error does not say `{part}`: {}", ended.stderr);
        ensure!(reasons.contains(part), "the report does not say `{part}`: {reasons}");
    }
    let trials = expect::trials(&report)?;
    ensure!(trials.failed == 1, "{} trials failed: a full disk ends the run", trials.failed);
    Ok(())
}

fn left(runs: &Path) -> anyhow::Result<usize> {
    Ok(fs::read_dir(runs)?.flatten().filter(|entry| entry.path().is_dir()).count())
}

/// One round of a load and a step that reads, on a server whose own files are small.
fn plan(scratch: &Scratch, subject: &str, storage: &str) -> anyhow::Result<PathBuf> {
    let config = |options: &str| {
        format!("[[config]]\nname = \"small\"\ndescription = \"small files\"\n[config.options]\n{options}\n")
    };
    let postgres = config("shared_buffers = \"16MB\"");
    let mariadb = config("innodb_log_file_size = \"8388608\"\ninnodb_buffer_pool_size = \"33554432\"");
    scratch.write_config("configs/postgres.toml", &format!("engine = \"postgres\"\n{postgres}"))?;
    scratch.write_config("configs/mariadb.toml", &format!("engine = \"mariadb\"\n{mariadb}"))?;
    let rows = if subject.starts_with("postgres") { ROWS_OF_POSTGRES } else { ROWS_OF_MARIADB };
    let text = WORKLOAD.replace("rows = 2_000", rows).replace("ENGINE = {storage}", storage);
    let workload = scratch.write("full.toml", &text)?;
    let plan = format!(
        "name = \"full\"\nworkloads = [\"{}\"]\nsteps = [\"load\", \"point\"]\nrounds = 1\nseed = 7\nsubjects = [\"{subject}+small\"]\n",
        workload.display()
    );
    scratch.write("plan.toml", &plan)
}
