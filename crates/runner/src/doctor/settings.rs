//! Writing what a check wants into files of the kernel, and back. What was there before is recorded first, so that it can be undone
//! after a crash too. Nothing of it outlives a reboot.

use crate::ownership::{self, OwnershipError};
use crate::proc::facts::chosen;
use model::doctor::Setting;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

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
    #[error("`{}` is no setting of the kernel, and is not written", path.display())]
    NoSetting { path: PathBuf },
    #[error(transparent)]
    Ownership(#[from] OwnershipError),
}

/// Where the kernel has its settings. A record could name other files, if somebody else could write it.
const OF_KERNEL: [&str; 2] = ["/proc/sys", "/sys"];

/// What may be written, and where it is kept what was there before.
#[derive(Debug)]
pub struct Settings {
    record: PathBuf,
    below: Vec<PathBuf>,
    boot_id: String,
}

/// What was changed since a boot.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Record {
    boot_id: String,
    /// The oldest first.
    changes: Vec<Change>,
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

impl Settings {
    /// Those of this kernel; `record` is a file in a directory of our own.
    pub fn of_this_host(record: PathBuf, boot_id: &str) -> Settings {
        Settings { record, below: OF_KERNEL.map(PathBuf::from).to_vec(), boot_id: boot_id.to_owned() }
    }

    /// Writes the settings, one after another; what was there before is in the record first.
    ///
    /// # Errors
    /// The record cannot be read or written: then nothing is changed. That a single setting cannot be written is in [`Done::errors`].
    pub fn apply(&self, settings: &[Setting]) -> Result<Done, SettingError> {
        let mut recorded = self.read()?;
        let mut done = Done::default();
        for Setting { path, value } in settings {
            let before = match self.current(path) {
                Ok(before) if before == *value => continue,
                Ok(before) => before,
                Err(error) => {
                    done.errors.push(error);
                    continue;
                }
            };
            let change = Change { path: path.clone(), before, after: value.clone() };
            recorded.push(undoing(&change));
            self.write(&recorded)?;
            match fs::write(path, value) {
                Ok(()) => done.changes.push(change),
                Err(source) => {
                    recorded.pop();
                    self.write(&recorded)?;
                    done.errors.push(SettingError::Write {
                        path: path.clone(),
                        value: value.clone(),
                        source,
                    });
                }
            }
        }
        Ok(done)
    }

    /// Writes back what was there before, newest first. What could not be written back stays in the record. After a reboot there is nothing
    /// to write back.
    ///
    /// # Errors
    /// As of [`Settings::apply`].
    pub fn undo(&self) -> Result<Done, SettingError> {
        let mut recorded = self.read()?;
        let mut done = Done::default();
        let mut kept = Vec::new();
        while let Some(change) = recorded.pop() {
            let Change { path, before, after } = &change;
            match self.current(path) {
                Ok(now) if now != *after => done.left.push(path.clone()),
                Ok(now) => match fs::write(path, before) {
                    Ok(()) => {
                        let after = before.clone();
                        done.changes.push(Change { path: path.clone(), before: now, after });
                    }
                    Err(source) => {
                        let (path, value) = (path.clone(), before.clone());
                        done.errors.push(SettingError::Write { path, value, source });
                        kept.push(change);
                    }
                },
                Err(error) => {
                    done.errors.push(error);
                    kept.push(change);
                }
            }
        }
        kept.reverse();
        self.write(&kept)?;
        Ok(done)
    }

    /// What a file of the kernel holds.
    fn current(&self, path: &Path) -> Result<String, SettingError> {
        let is_plain = path.components().all(|part| !matches!(part, Component::ParentDir));
        if !is_plain || !self.below.iter().any(|below| path.starts_with(below)) {
            return Err(SettingError::NoSetting { path: path.to_owned() });
        }
        current(path).map_err(|source| SettingError::Read { path: path.to_owned(), source })
    }

    /// What was changed since this boot.
    fn read(&self) -> Result<Vec<Change>, SettingError> {
        let path = &self.record;
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(SettingError::Read { path: path.clone(), source }),
        };
        let metadata = fs::symlink_metadata(path);
        ownership::check_ours(
            path,
            &metadata.map_err(|source| SettingError::Read { path: path.clone(), source })?,
        )?;
        let record: Record = serde_json::from_str(&text)
            .map_err(|source| SettingError::Damaged { path: path.clone(), source })?;
        Ok(if record.boot_id == self.boot_id { record.changes } else { Vec::new() })
    }

    /// In one step, and on the disk before anything is changed; an empty record is no file.
    fn write(&self, changes: &[Change]) -> Result<(), SettingError> {
        let path = &self.record;
        let failed = |source| SettingError::Record { path: path.clone(), source };
        if changes.is_empty() {
            return match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error)),
                Ok(()) | Err(_) => Ok(()),
            };
        }
        let record = Record { boot_id: self.boot_id.clone(), changes: changes.to_vec() };
        let write = || -> io::Result<()> {
            if let Some(directory) = path.parent() {
                fs::create_dir_all(directory)?;
            }
            let fresh = path.with_extension("new");
            // One of a process that was killed; a link is removed, not followed.
            drop(fs::remove_file(&fresh));
            let mut file = fs::File::create_new(&fresh)?;
            file.write_all(serde_json::to_string_pretty(&record)?.as_bytes())?;
            file.sync_all()?;
            fs::rename(&fresh, path)
        };
        write().map_err(failed)
    }
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
    Ok(chosen(fs::read_to_string(path)?.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a record below a scratch directory, in which files stand for those of the kernel.
    fn settings_below(scratch: &Path, boot_id: &str) -> Settings {
        Settings {
            record: scratch.join("state/undo.json"),
            below: vec![scratch.to_owned()],
            boot_id: boot_id.to_owned(),
        }
    }

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
        let kernel = settings_below(scratch.path(), "a boot");
        let settings = [
            setting(&swappiness, "1"),
            setting(&thp, "madvise"),
            setting(&fine, "2"),
            setting(&missing, "0"),
        ];
        let done = kernel.apply(&settings).unwrap();
        assert_eq!(done.changes.len(), 2, "{done:?}");
        assert_eq!(done.changes[1].before, "always");
        assert!(
            matches!(&done.errors[..], [SettingError::Read { path, .. }] if *path == missing),
            "{done:?}"
        );
        // Again, with another value: both are recorded.
        kernel.apply(&[setting(&swappiness, "10")]).unwrap();
        fs::write(&thp, "never").unwrap();
        let undone = kernel.undo().unwrap();
        assert_eq!(fs::read_to_string(&swappiness).unwrap(), "60");
        assert_eq!((undone.left, fs::read_to_string(&thp).unwrap()), (vec![thp], "never".to_owned()));
        assert!(!kernel.record.exists());
        assert!(kernel.undo().unwrap().changes.is_empty());
    }

    #[test]
    fn a_limit_in_bytes_is_undone_by_the_ratio_that_it_replaced() {
        let scratch = tempfile::tempdir().unwrap();
        let (bytes, ratio) = (scratch.path().join("dirty_bytes"), scratch.path().join("dirty_ratio"));
        fs::write(&bytes, "0\n").unwrap();
        fs::write(&ratio, "20\n").unwrap();
        let kernel = settings_below(scratch.path(), "a boot");
        let done = kernel.apply(&[setting(&bytes, "1073741824")]).unwrap();
        assert_eq!((done.changes[0].path.as_path(), done.changes[0].before.as_str()), (bytes.as_path(), "0"));
        fs::write(&ratio, "0\n").unwrap(); // as the kernel does
        kernel.undo().unwrap();
        assert_eq!(fs::read_to_string(&ratio).unwrap(), "20");
    }

    #[test]
    fn nothing_is_changed_if_it_cannot_be_recorded() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("swappiness");
        fs::write(&path, "60").unwrap();
        fs::write(scratch.path().join("state"), "a file, no directory").unwrap();
        let kernel = settings_below(scratch.path(), "a boot");
        kernel.apply(&[setting(&path, "1")]).unwrap_err();
        assert_eq!(fs::read_to_string(&path).unwrap(), "60");
        fs::remove_file(scratch.path().join("state")).unwrap();
        fs::create_dir(scratch.path().join("state")).unwrap();
        fs::write(&kernel.record, "[{").unwrap();
        assert!(matches!(kernel.undo(), Err(SettingError::Damaged { .. })));
        assert_eq!(fs::read_to_string(&kernel.record).unwrap(), "[{");
    }

    #[test]
    fn only_files_of_the_kernel_are_written_and_after_a_reboot_none() {
        let scratch = tempfile::tempdir().unwrap();
        let kernel = settings_below(&scratch.path().join("sys"), "a boot");
        fs::create_dir(scratch.path().join("sys")).unwrap();
        let other = scratch.path().join("passwd");
        fs::write(&other, "root").unwrap();
        for path in [other.clone(), scratch.path().join("sys/../passwd")] {
            let done = kernel.apply(&[setting(&path, "mine")]).unwrap();
            assert!(matches!(done.errors[..], [SettingError::NoSetting { .. }]), "{done:?}");
        }
        let file = scratch.path().join("sys/swappiness");
        fs::write(&file, "60").unwrap();
        kernel.apply(&[setting(&file, "1")]).unwrap();
        let record = fs::read_to_string(&kernel.record).unwrap();
        fs::write(&kernel.record, record.replace("swappiness", "../passwd").replace("\"1\"", "\"root\""))
            .unwrap();
        assert!(matches!(kernel.undo().unwrap().errors[..], [SettingError::NoSetting { .. }]));
        assert_eq!(fs::read_to_string(&other).unwrap(), "root");
        fs::write(&kernel.record, record).unwrap();
        let later = settings_below(&scratch.path().join("sys"), "the next boot");
        assert!(later.undo().unwrap().changes.is_empty());
        assert_eq!(fs::read_to_string(&file).unwrap(), "1");
    }
}
