//! Settings of the queue of a device: set for a side, read back, and set back as they were. What was there before is on record first, so
//! that the next run sets it back if this one is killed. One run at a time sets the queue of a device.

use crate::proc::facts::chosen;
use crate::proc::host;
use crate::process::file_lock::FileLock;
use crate::rights::as_root;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// In the order in which they are set, and set back; each resets those behind it: a new scheduler has the kernel's own depth of queue, a new limit of requests another readahead.
pub(super) const ORDER: [&str; 4] = [SCHEDULER, NR_REQUESTS, MAX_SECTORS, READ_AHEAD];
/// What orders requests; the file lists all that can be had, the one that does in brackets.
pub(super) const SCHEDULER: &str = "scheduler";
/// Requests that may wait at a time.
pub(super) const NR_REQUESTS: &str = "nr_requests";
/// Largest request, in KiB (kernel documentation, ABI/stable/sysfs-block).
pub(super) const MAX_SECTORS: &str = "max_sectors_kb";
/// Readahead, in KiB.
pub(super) const READ_AHEAD: &str = "read_ahead_kb";
/// Settings that a scheduler has for itself.
const OF_SCHEDULER: &str = "iosched";
/// Where the kernel has all of these, in the directory of the device.
const QUEUE: &str = "queue";

/// Why a queue is not set as it should be.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    #[error("the device {device} has no setting `{name}`{}", if *is_stacked { ": set it on the disks below it" } else { "" })]
    NoSetting {
        device: String,
        name: String,
        /// It is a RAID or a logical volume.
        is_stacked: bool,
    },
    #[error("another run sets the queue of {device}: wait until it has ended")]
    InUse { device: String },
    #[error(
        "the kernel did not set `{name}` of {device} to `{wanted}`: it has `{found}`; take one that it knows"
    )]
    Refused { device: String, name: String, wanted: String, found: String },
    #[error("failed to set `{name}` of {device}; run as root, or leave `queue` out of the configuration")]
    NotPermitted { device: String, name: String, source: io::Error },
    #[error("failed to keep in `{}` what was set before; nothing was changed", path.display())]
    Record { path: PathBuf, source: io::Error },
    #[error("failed to set `{}` back to `{value}`; set it by hand", path.display())]
    NotSetBack { path: PathBuf, value: String, source: io::Error },
}

/// What was set before.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    boot_id: String,
    changes: Vec<Change>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Change {
    path: PathBuf,
    before: String,
    /// What we have set; absent of what may have changed with it.
    set: Option<String>,
}

/// Keeps other runs from setting this queue as long as it is held.
///
/// # Errors
/// Another run does.
pub(super) fn lock(device: &str) -> Result<Option<FileLock>, QueueError> {
    // A lock on the kernel's own file holds for the whole host and leaves nothing behind.
    let Ok(file) = File::open(queue_file(device, SCHEDULER)) else { return Ok(None) };
    match FileLock::attempt(file) {
        Ok(lock) => Ok(Some(lock)),
        Err(TryLockError::WouldBlock) => Err(QueueError::InUse { device: device.to_owned() }),
        Err(TryLockError::Error(_)) => Ok(None),
    }
}

/// Whether the device has all of these settings.
pub(super) fn check(device: &str, wanted: &BTreeMap<String, String>) -> Result<(), QueueError> {
    let missing = wanted.keys().find(|name| !queue_file(device, name).is_file());
    missing.map_or(Ok(()), |name| {
        let is_stacked = fs::read_dir(format!("/sys/class/block/{device}/slaves"))
            .is_ok_and(|mut below| below.next().is_some());
        Err(QueueError::NoSetting { device: device.to_owned(), name: name.clone(), is_stacked })
    })
}

/// Sets the queue; what was there before goes into `record`.
///
/// # Errors
/// The kernel does not take a value, or we may not set it. Then nothing is set.
pub(super) fn set(record: &Path, device: &str, wanted: &BTreeMap<String, String>) -> Result<(), QueueError> {
    let mut names: Vec<&String> = wanted.keys().collect();
    names.sort_by_key(|name| ORDER.iter().position(|other| other == name).unwrap_or(ORDER.len()));
    let mut changes = Vec::new();
    for name in names {
        let (path, value) = (queue_file(device, name), &wanted[name]);
        let before = chosen(&read(&path));
        if before == *value {
            continue;
        }
        if name == SCHEDULER {
            changes.extend(reset_by_scheduler(device));
        }
        changes.push(Change { path: path.clone(), before, set: Some(value.clone()) });
        write_record(record, &changes)?;
        let written = write(&path, value);
        let found = read(&path);
        if chosen(&found) == *value {
            continue;
        }
        // The error of the setting is the one to tell; what cannot be set back stays on record.
        let _ = set_back(record);
        let (device, name) = (device.to_owned(), name.clone());
        return Err(match written {
            Err(source) if may_not(&source) => QueueError::NotPermitted { device, name, source },
            _ => QueueError::Refused { device, name, wanted: value.clone(), found },
        });
    }
    Ok(())
}

/// Sets back what is on record; what somebody has set to something else since stays. Fine if there is no record.
///
/// # Errors
/// Something could not be set back; it stays on record.
pub(super) fn set_back(record: &Path) -> Result<(), QueueError> {
    let Ok(text) = fs::read_to_string(record) else { return Ok(()) };
    // A record that was cut off was not followed by a change.
    let changes = match serde_json::from_str::<Record>(&text) {
        Ok(Record { boot_id, changes }) if boot_id == this_boot() => changes,
        Ok(_) | Err(_) => Vec::new(),
    };
    let (ours, resets): (Vec<&Change>, Vec<&Change>) =
        changes.iter().partition(|change| change.set.is_some());
    for Change { path, before, set } in ours {
        if let Some(path) = of_queue(path)
            && set.as_ref().is_some_and(|set| chosen(&read(&path)) == *set)
        {
            write_back(&path, before)?;
        }
    }
    // The scheduler of before is there again, and with it its own settings.
    for Change { path, before, .. } in resets {
        if let Some(path) = of_queue(path)
            && chosen(&read(&path)) != *before
        {
            write_back(&path, before)?;
        }
    }
    let _ = fs::remove_file(record);
    Ok(())
}

/// The real path of a file, if it is a setting of a block device. What runs as this user can write to the record, and can change a link between two
/// looks at it: only the returned path is written to.
fn of_queue(path: &Path) -> Option<PathBuf> {
    let real = fs::canonicalize(path).ok()?;
    let is_setting =
        real.starts_with("/sys/devices") && real.components().any(|part| part.as_os_str() == QUEUE);
    is_setting.then_some(real)
}

fn write_back(path: &Path, value: &str) -> Result<(), QueueError> {
    write(path, value).map_err(|source| QueueError::NotSetBack {
        path: path.to_owned(),
        value: value.to_owned(),
        source,
    })
}

/// A file of the kernel, which is there.
pub(super) fn write(path: &Path, value: &str) -> io::Result<()> {
    let _root = as_root();
    File::options().write(true).open(path)?.write_all(value.as_bytes())
}

/// What a change of the scheduler resets, as it is now.
fn reset_by_scheduler(device: &str) -> Vec<Change> {
    let own = fs::read_dir(queue_file(device, OF_SCHEDULER)).into_iter().flatten().flatten();
    let files = ORDER[1..].iter().map(|name| queue_file(device, name)).chain(own.map(|entry| entry.path()));
    files
        .filter(|path| path.is_file())
        .map(|path| Change { before: chosen(&read(&path)), path, set: None })
        .collect()
}

fn write_record(record: &Path, changes: &[Change]) -> Result<(), QueueError> {
    let failed = |source| QueueError::Record { path: record.to_owned(), source };
    let changes: Vec<&Change> = changes.iter().collect();
    let text = serde_json::json!({ "boot_id": this_boot(), "changes": changes }).to_string();
    let mut file = File::create(record).map_err(failed)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)
}

fn this_boot() -> String {
    host::describe(Path::new("/")).boot_id
}

fn may_not(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

/// A partition has the queue of its disk.
pub(super) fn queue_file(device: &str, name: &str) -> PathBuf {
    let own = Path::new("/sys/class/block").join(device);
    let own = fs::canonicalize(&own).unwrap_or(own);
    let disk = if own.join("partition").is_file() { own.parent().unwrap_or(&own) } else { &own };
    disk.join(QUEUE).join(name)
}

pub(super) fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_names_another_file_changes_nothing() {
        let scratch = tempfile::tempdir().unwrap();
        let (record, other) = (scratch.path().join("queue.json"), scratch.path().join("other"));
        fs::write(&other, "ours").unwrap();
        let by_sys = Path::new("/sys/..").join(other.strip_prefix("/").unwrap());
        for path in [other.clone(), by_sys] {
            let change = Change { path, before: "theirs".to_owned(), set: Some("ours".to_owned()) };
            let reset = Change { set: None, ..change.clone() };
            write_record(&record, &[change, reset]).unwrap();
            set_back(&record).unwrap();
            assert_eq!(read(&other), "ours");
            assert!(!record.exists());
        }
        let gone = scratch.path().join("gone");
        assert!(
            write(&gone, "x").is_err() && !gone.exists(),
            "a file that is not there is none of the kernel"
        );
    }
}
