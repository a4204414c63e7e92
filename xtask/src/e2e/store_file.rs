//! Cases of the file of results as such: checked, copied and compacted, also while a run writes to it; and one that is damaged.

use super::fake_engine::{Fake, STEPS, TIMEOUT, done, runs, sound};
use super::scratch::Scratch;
use super::{Case, Ending};
use anyhow::{Context, ensure};
use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};

pub fn cases() -> Vec<Case> {
    vec![Case::new("store while a run writes", while_a_run_writes), Case::new("store damaged", damaged)]
}

/// A run does not notice that its store is checked and copied, and nobody compacts it under the run.
fn while_a_run_writes(scratch: &Scratch) -> anyhow::Result<Ending> {
    let fake = Fake::new(scratch)?;
    fake.order("slow-write 20000\n")?; // each step takes two seconds
    let copy = scratch.path("copy.sqlite");
    let backup = |more: &[&str]| fake.call(["store", "backup"]).and([&copy]).and(more);
    let mut run = fake.campaign(2)?.start()?;
    fake.until_rows("seconds", 2, &mut run)?;
    let checked = fake.call(["store", "check"]).succeeds()?.stdout;
    ensure!(checked.contains("runs 1\n") && checked.contains("nothing is damaged"), "it found: {checked}");
    backup(&[]).succeeds()?;
    fake.call(["store", "compact"]).fails(&[3], &["another dbdyno (process"])?;
    ensure!(run.is_running()?, "the run has ended before its store was looked at");

    sound(&copy)?;
    ensure!(runs(&copy)? == runs(&fake.store())?, "the run is not in the copy");
    let mode = fs::metadata(&copy)?.permissions().mode() & 0o777;
    ensure!(mode == 0o600, "the mode of the copy is {mode:o}");
    let before = fs::read(&copy)?;
    backup(&[]).fails(&[2], &["copy.sqlite` is there already", "--force"])?;
    ensure!(fs::read(&copy)? == before, "the copy was written over");
    let finished = run.finish(TIMEOUT)?.expect_code(&[0])?.json()?;
    ensure!(done(&finished) == 2 * STEPS, "trials: {}", finished["trials"]);

    backup(&["--force"]).succeeds()?;
    fake.call(["store", "backup", "--force"]).and([fake.store()]).fails(&[2], &["is the store itself"])?;
    fake.call(["store", "compact"]).succeeds()?;
    sound(&fake.store())?;
    for store in [&fake.store(), &copy] {
        let report = fake.call(["report", "last", "--format", "json", "--store"]).and([store]);
        let report = report.succeeds()?.json()?;
        ensure!(done(&report) == 2 * STEPS, "trials in `{}`: {}", store.display(), report["trials"]);
    }
    Ok(Ending::Passed)
}

/// Damage is named, nothing is written beside it, and what the message says mends it.
fn damaged(scratch: &Scratch) -> anyhow::Result<Ending> {
    let fake = Fake::new(scratch)?;
    fake.order("log-bytes 300000\n")?; // LOGs make most of the store
    fake.campaign(8)?.succeeds()?;
    let (store, copy) = (fake.store(), scratch.path("copy.sqlite"));
    fake.call(["store", "backup"]).and([&copy]).succeeds()?;
    let file = OpenOptions::new().write(true).open(&store)?;
    file.write_all_at(&[0; 20_000], file.metadata()?.len() / 2)?;
    drop(file);
    let before = fs::read(&store)?;

    let name = format!("the store `{}` is damaged", store.display());
    let checked = fake.call(["store", "check"]).fails(&[3], &[&name, "dbdyno store backup", ".recover"])?;
    ensure!(checked.stdout.contains("damaged: "), "it lists nothing: {}", checked.stdout);
    fake.campaign(1)?.fails(&[3], &[&name])?;
    let refused = ["nothing was written to", name.as_str()];
    fake.call(["store", "backup", "--force"]).and([&copy]).fails(&[3], &refused)?;
    fake.call(["store", "compact"]).fails(&[3], &[&name])?;
    ensure!(fs::read(&store)? == before, "something was written to a damaged store");

    for suffix in ["", "-wal", "-shm"] {
        let part = beside(&store, suffix);
        if part.exists() {
            fs::rename(&part, beside(&part, ".damaged"))?;
        }
    }
    fs::copy(&copy, &store).context("failed to put the copy in the place of the store")?;
    fake.call(["store", "check"]).succeeds()?;
    fake.campaign(1)?.succeeds()?;
    Ok(Ending::Passed)
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
