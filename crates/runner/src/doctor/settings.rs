//! Writing what a check wants into files of the kernel, and back. What was there before is recorded first, so that it can be undone
//! after a crash too. Nothing of it outlives a reboot.

use model::doctor::Setting;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Why a setting could not be written or undone.
#[derive(Debug, thiserror::Error)]
pub enum SettingError {
    #[error("failed to write `{value}` to `{}`", path.display())]
    Write { path: PathBuf, value: String, source: io::Error },
    #[error("failed to read `{}`", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("failed to keep in `{}` what was set before; nothing was changed", path.display())]
    Record { path: PathBuf, source: io::Error },
    #[error("`{}` cannot be read: {source}; move it away and set by hand what it names", path.display())]
    Damaged { path: PathBuf, source: serde_json::Error },
}

/// One setting that was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    pub path: PathBuf,
    pub before: String,
    pub after: String,
}

/// What was done of a list of settings.
#[derive(Debug, Default)]
pub struct Done {
    pub changes: Vec<Change>,
    pub errors: Vec<SettingError>,
    /// Files that hold another value than the one that was written: somebody has set them since.
    pub left: Vec<PathBuf>,
}

/// Writes the settings, one after another; `record` keeps what was there before, oldest first.
///
/// # Errors
/// The record cannot be read or written: then nothing is changed. That a single setting cannot be written is in [`Done::errors`].
pub fn apply(settings: &[Setting], record: &Path) -> Result<Done, SettingError> {
    let mut recorded = read_record(record)?;
    let mut done = Done::default();
    for Setting { path, value } in settings {
        let before = match current(path) {
            Ok(before) if before == *value => continue,
            Ok(before) => before,
            Err(source) => {
                done.errors.push(SettingError::Read { path: path.clone(), source });
                continue;
            }
        };
        let change = Change { path: path.clone(), before, after: value.clone() };
        recorded.push(undoing(&change));
        write_record(record, &recorded)?;
        match fs::write(path, value) {
            Ok(()) => done.changes.push(change),
            Err(source) => {
                recorded.pop();
                write_record(record, &recorded)?;
                done.errors.push(SettingError::Write { path: path.clone(), value: value.clone(), source });
            }
        }
    }
    Ok(done)
}

/// Writes back what was there before, newest first. What could not be written back stays in the record.
///
/// # Errors
/// As of [`apply`].
pub fn undo(record: &Path) -> Result<Done, SettingError> {
    let mut recorded = read_record(record)?;
    let mut done = Done::default();
    let mut kept = Vec::new();
    while let Some(change) = recorded.pop() {
        let Change { path, before, after } = &change;
        match current(path) {
            Ok(now) if now != *after => done.left.push(path.clone()),
            Ok(_) => match fs::write(path, before) {
                Ok(()) => done.changes.push(Change {
                    path: path.clone(),
                    before: after.clone(),
                    after: before.clone(),
                }),
                Err(source) => {
                    done.errors.push(SettingError::Write {
                        path: path.clone(),
                        value: before.clone(),
                        source,
                    });
                    kept.push(change.clone());
                }
            },
            Err(source) => {
                done.errors.push(SettingError::Read { path: path.clone(), source });
                kept.push(change.clone());
            }
        }
    }
    kept.reverse();
    write_record(record, &kept)?;
    Ok(done)
}

/// What is to be written back. The kernel takes no 0 for `vm.dirty_bytes` and `vm.dirty_background_bytes`: writing one of them sets the
/// ratio of the same name to 0, and writing the ratio takes that back.
fn undoing(change: &Change) -> Change {
    let ratio =
        change.path.to_str().and_then(|path| path.strip_suffix("_bytes")).map(|name| format!("{name}_ratio"));
    let ratio = ratio.filter(|_| change.before == "0").map(PathBuf::from);
    match ratio.and_then(|ratio| Some((current(&ratio).ok()?, ratio))) {
        Some((before, path)) => Change { path, before, after: "0".to_owned() },
        None => change.clone(),
    }
}

/// What a file holds; of a list of choices the one in brackets.
fn current(path: &Path) -> io::Result<String> {
    let text = fs::read_to_string(path)?;
    let text = text.trim();
    let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    Ok(chosen.map_or(text, |(chosen, _)| chosen).to_owned())
}

fn read_record(record: &Path) -> Result<Vec<Change>, SettingError> {
    match fs::read_to_string(record) {
        Ok(text) => serde_json::from_str(&text)
            .map_err(|source| SettingError::Damaged { path: record.to_owned(), source }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(source) => Err(SettingError::Read { path: record.to_owned(), source }),
    }
}

/// In one step, and on the disk before anything is changed; an empty record is no file.
fn write_record(record: &Path, changes: &[Change]) -> Result<(), SettingError> {
    let failed = |source| SettingError::Record { path: record.to_owned(), source };
    if changes.is_empty() {
        return match fs::remove_file(record) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error)),
            Ok(()) | Err(_) => Ok(()),
        };
    }
    let write = || -> io::Result<()> {
        if let Some(directory) = record.parent() {
            fs::create_dir_all(directory)?;
        }
        let fresh = record.with_extension("new");
        let mut file = fs::File::create(&fresh)?;
        file.write_all(serde_json::to_string_pretty(changes)?.as_bytes())?;
        file.sync_all()?;
        fs::rename(&fresh, record)
    };
    write().map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(path: &Path, value: &str) -> Setting {
        Setting { path: path.to_owned(), value: value.to_owned() }
    }

    #[test]
    fn what_was_set_is_set_back_in_reverse_and_what_others_set_since_stays() {
        let scratch = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = scratch.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let (swappiness, thp) = (file("swappiness", "60\n"), file("enabled", "[always] madvise never\n"));
        let (fine, missing) = (file("aslr", "2\n"), scratch.path().join("boost"));
        let record = scratch.path().join("state/undo.json");
        let settings = [
            setting(&swappiness, "1"),
            setting(&thp, "madvise"),
            setting(&fine, "2"),
            setting(&missing, "0"),
        ];
        let done = apply(&settings, &record).unwrap();
        assert_eq!(done.changes.len(), 2, "{done:?}");
        assert_eq!(done.changes[1].before, "always");
        assert!(
            matches!(&done.errors[..], [SettingError::Read { path, .. }] if *path == missing),
            "{done:?}"
        );
        // Again, with another value: both are recorded.
        apply(&[setting(&swappiness, "10")], &record).unwrap();
        fs::write(&thp, "never").unwrap();
        let undone = undo(&record).unwrap();
        assert_eq!(fs::read_to_string(&swappiness).unwrap(), "60");
        assert_eq!((undone.left, fs::read_to_string(&thp).unwrap()), (vec![thp], "never".to_owned()));
        assert!(!record.exists());
        assert!(undo(&record).unwrap().changes.is_empty());
    }

    #[test]
    fn a_limit_in_bytes_is_undone_by_the_ratio_that_it_replaced() {
        let scratch = tempfile::tempdir().unwrap();
        let (bytes, ratio) = (scratch.path().join("dirty_bytes"), scratch.path().join("dirty_ratio"));
        fs::write(&bytes, "0\n").unwrap();
        fs::write(&ratio, "20\n").unwrap();
        let record = scratch.path().join("undo.json");
        let done = apply(&[setting(&bytes, "1073741824")], &record).unwrap();
        assert_eq!((done.changes[0].path.as_path(), done.changes[0].before.as_str()), (bytes.as_path(), "0"));
        fs::write(&ratio, "0\n").unwrap(); // as the kernel does
        undo(&record).unwrap();
        assert_eq!(fs::read_to_string(&ratio).unwrap(), "20");
    }

    #[test]
    fn nothing_is_changed_if_it_cannot_be_recorded() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("swappiness");
        fs::write(&path, "60").unwrap();
        fs::write(scratch.path().join("state"), "a file, no directory").unwrap();
        let record = scratch.path().join("state/undo.json");
        apply(&[setting(&path, "1")], &record).unwrap_err();
        assert_eq!(fs::read_to_string(&path).unwrap(), "60");
        let damaged = scratch.path().join("undo.json");
        fs::write(&damaged, "[{").unwrap();
        assert!(matches!(undo(&damaged), Err(SettingError::Damaged { .. })));
        assert_eq!(fs::read_to_string(&damaged).unwrap(), "[{");
    }
}
