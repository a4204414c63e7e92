//! Cases about the places that are written to: not a directory, not a store, not ours.
//!
//! Missing permission is tried with a file where a directory is wanted, because root may write anywhere.

use super::engines::RELEASE;
use super::expect;
use super::leftovers::{self, MARKER};
use super::processes::{self, Watch};
use super::scratch::Scratch;
use super::tool::{Call, Running};
use super::{Case, Ending};
use anyhow::{Context, ensure};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Workers that are seen before the controller is killed: it is then in its second launch.
const WORKERS_BEFORE_KILL: usize = 6;

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("place store below a file", store_below_a_file),
        Case::new("place store is a text", store_is_a_text),
        Case::new("place store of another user", store_of_another_user),
        Case::new("place work directory is a file", work_directory_is_a_file),
        Case::new("place stale directories", stale_directories),
        Case::new("place unmarked directory", unmarked_directory),
    ]
}

/// Who may read a store but not write in its directory gets reports of it, and leaves nothing there.
fn store_of_another_user(scratch: &Scratch) -> anyhow::Result<Ending> {
    if fs::metadata("/proc/self")?.uid() != 0 {
        return Ok(Ending::NotHere { reason: "only root may act as another user".to_owned() });
    }
    Call::new(scratch, ["doctor", "--bench"]).own_cache().succeeds()?;
    let directory = scratch.path("of-root");
    fs::create_dir(&directory)?;
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o755))?;
    let store = directory.join("results.sqlite");
    fs::copy(scratch.data().join("dbdyno/dbdyno.sqlite"), &store)?;
    fs::set_permissions(&store, fs::Permissions::from_mode(0o644))?;
    let nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"];
    let call = Call::new(scratch, ["report", "--list", "--store"]).and([&store]);
    call.through(nobody).succeeds()?;
    let left = fs::read_dir(&directory)?.count();
    ensure!(left == 1, "{left} files in a directory that was only read");
    Ok(Ending::Passed)
}

fn store_below_a_file(scratch: &Scratch) -> anyhow::Result<Ending> {
    let file = scratch.write("file", "mine\n")?;
    let store = file.join("results.sqlite");
    Call::compare(scratch, [RELEASE, RELEASE], "15s")
        .and(["--store".as_ref(), store.as_os_str()])
        .fails(&[2, 3], &[&file.display().to_string()])?;
    ensure!(fs::read_to_string(&file)? == "mine\n", "the file was changed");
    Ok(Ending::Passed)
}

fn store_is_a_text(scratch: &Scratch) -> anyhow::Result<Ending> {
    let text = "this is not a database, and long enough to have a header of one\n".repeat(100);
    let store = scratch.write("notes.txt", &text)?;
    Call::new(scratch, ["report", "last", "--store"]).and([&store]).fails(&[2, 3], &["notes.txt"])?;
    ensure!(fs::read_to_string(&store)? == text, "the file was changed");
    Ok(Ending::Passed)
}

fn work_directory_is_a_file(scratch: &Scratch) -> anyhow::Result<Ending> {
    let file = scratch.write("file", "mine\n")?;
    Call::compare(scratch, [RELEASE, RELEASE], "15s")
        .and(["--work-dir".as_ref(), file.as_os_str()])
        .fails(&[2, 3], &[&file.display().to_string()])?;
    ensure!(fs::read_to_string(&file)? == "mine\n", "the file was changed");
    Ok(Ending::Passed)
}

/// What a killed controller left is removed by the next run.
fn stale_directories(scratch: &Scratch) -> anyhow::Result<Ending> {
    let stale = kill_controller(scratch)?;
    Call::compare(scratch, [RELEASE, RELEASE], "10s").succeeds()?;
    let left: Vec<PathBuf> = stale.into_iter().filter(|directory| directory.exists()).collect();
    ensure!(left.is_empty(), "the next run left {}", expect::paths(&left));
    Ok(Ending::Passed)
}

/// A directory at the same place without our marker is somebody else's.
fn unmarked_directory(scratch: &Scratch) -> anyhow::Result<Ending> {
    let mut markers = BTreeSet::new();
    for database in kill_controller(scratch)? {
        markers.extend(leftovers::marked_above(&database));
    }
    // Outer directories sort before what is in them.
    let theirs = markers.first().context("the killed controller left no marked directory")?.clone();
    for marked in &markers {
        fs::remove_file(marked.join(MARKER))?;
    }
    fs::write(theirs.join("precious.txt"), "mine\n")?;
    let result = Call::compare(scratch, [RELEASE, RELEASE], "10s").run()?;
    let kept = theirs.join("precious.txt").exists();
    // Removed by us, so that the check for leftovers sees only what dbdyno did.
    let cleaned = fs::remove_dir_all(&theirs);
    ensure!(kept, "`{}` has no marker of ours and was deleted", theirs.display());
    cleaned.with_context(|| format!("failed to remove `{}`", theirs.display()))?;
    result.expect_code(&[0])?;
    Ok(Ending::Passed)
}

/// How long to look for a database of a running compare before giving up.
const OPEN_TIMEOUT: Duration = Duration::from_secs(60);

/// Kills a controller in the middle of a launch; gives the databases that are left. Its workers must be gone.
///
/// A launch of the tiny workload is short and partly without a database, so a controller is stopped when one has
/// been seen, and killed only if the database is still there while nobody can remove it.
fn kill_controller(scratch: &Scratch) -> anyhow::Result<Vec<PathBuf>> {
    let cache = &scratch.shared.cache;
    let found_before = leftovers::databases(cache)?;
    let mut controller = Call::compare(scratch, [RELEASE, RELEASE], "60s").start()?;
    Watch::default().until_seen(WORKERS_BEFORE_KILL, &scratch.shared.binary, &mut controller)?;
    let began = Instant::now();
    while new_databases(cache, &found_before)?.is_empty()
        || !stops_with_one(&controller, cache, &found_before)?
    {
        ensure!(controller.is_running()?, "dbdyno ended before a database of it was seen");
        ensure!(
            began.elapsed() < OPEN_TIMEOUT,
            "no database was seen in {OPEN_TIMEOUT:?}; the case shows nothing"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
    controller.signal(libc::SIGKILL)?;
    while controller.is_running()? {
        std::thread::yield_now();
    }
    processes::all_gone(&scratch.shared.binary).context("workers outlived their controller")?;
    new_databases(cache, &found_before)
}

/// Stops the controller; lets it go on where its database went away in the meantime.
fn stops_with_one(controller: &Running, cache: &Path, found_before: &[PathBuf]) -> anyhow::Result<bool> {
    controller.signal(libc::SIGSTOP)?;
    // A stop takes effect when a thread next leaves the kernel: a removal under way ends first.
    std::thread::sleep(Duration::from_millis(50));
    let has_one = !new_databases(cache, found_before)?.is_empty();
    if !has_one {
        controller.signal(libc::SIGCONT)?;
    }
    Ok(has_one)
}

fn new_databases(cache: &Path, found_before: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut databases = leftovers::databases(cache)?;
    databases.retain(|directory| !found_before.contains(directory));
    Ok(databases)
}
