//! A case of sudo: the device and the memory limit are made as root, all else as the user who called it.

use super::fake_engine::{Fake, STEPS, SUBJECT, done};
use super::scratch::Scratch;
use super::{Case, Ending, processes};
use anyhow::{Context, ensure};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;

pub fn cases() -> Vec<Case> {
    vec![Case::new("sudo keeps the rights of its caller", rights_of_the_caller)]
}

/// `nobody`, whom every system has and whom nothing belongs to.
const CALLER: u32 = 65534;

fn rights_of_the_caller(scratch: &Scratch) -> anyhow::Result<Ending> {
    if !processes::is_root() {
        return Ok(Ending::NotHere { reason: "only root can become another user".to_owned() });
    }
    // Where that user may enter, other than below the home of root.
    let directory = tempfile::Builder::new().prefix("dbdyno-sudo-").tempdir_in("/var/tmp")?;
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755))?;
    let scratch = scratch.elsewhere(directory.path())?;
    let fake = Fake::new(&scratch)?;
    fake.order("print 1\n")?;
    let lines = "rounds = 2\nmemory_limit = \"200 MB\"\n[loop_device]\nsize = \"64 MB\"\nread_ahead_kb = 64\n\
                 slow = { read_latency = \"100 us\" }\n";
    let run = fake.campaign_with(&[&scratch.path("fake.toml")], &[SUBJECT], lines)?;
    give(&scratch.directory)?;
    let uid = CALLER.to_string();
    let finished = run.variable("SUDO_UID", &uid).variable("SUDO_GID", &uid).run()?;
    processes::all_gone(&scratch.shared.binary)?;
    if let Some(reason) = finished.not_here()? {
        return Ok(Ending::NotHere { reason });
    }
    let report = finished.expect_code(&[0])?.json()?;
    ensure!(done(&report) == 2 * STEPS, "trials: {}", report["trials"]);
    let raw = fake.call(["report", "last", "--raw", "1/0/write/LOG"]).succeeds()?.stdout;
    let expected = format!("the engine runs as user {CALLER}, effectively {CALLER}\n");
    ensure!(raw.contains(&expected), "the engine ran as another user: {raw}");
    // What this process itself writes down of a call.
    let is_ours = |path: &Path| path.extension().is_some_and(|end| end == "stdout" || end == "stderr");
    for_each(&scratch.directory, &|path| {
        let owner = fs::symlink_metadata(path)?.uid();
        ensure!(owner == CALLER || is_ours(path), "`{}` belongs to uid {owner}", path.display());
        Ok(())
    })?;
    let mounts = fs::read_to_string("/proc/self/mounts").context("failed to read the mounts")?;
    ensure!(!mounts.contains(&*scratch.directory.to_string_lossy()), "still mounted: {mounts}");
    Ok(Ending::Passed)
}

/// Gives a directory to the caller, with all that is in it.
fn give(directory: &Path) -> anyhow::Result<()> {
    for_each(directory, &|path| {
        chown(path, Some(CALLER), Some(CALLER))
            .with_context(|| format!("failed to give `{}`", path.display()))
    })
}

fn for_each(path: &Path, what: &dyn Fn(&Path) -> anyhow::Result<()>) -> anyhow::Result<()> {
    what(path)?;
    if path.is_dir() && !path.is_symlink() {
        for entry in fs::read_dir(path).with_context(|| format!("failed to list `{}`", path.display()))? {
            for_each(&entry?.path(), what)?;
        }
    }
    Ok(())
}
