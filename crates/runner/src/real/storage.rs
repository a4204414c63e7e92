//! Where the files of each side are, and the settings of the device below them, which change with the side that is measured
//! and are set back: at the end, or by the next run if this one was killed.

use super::loop_device::{LoopDeviceError, LoopFileSystem};
use super::run_directory::{self, RunDirectory, RunDirectoryError};
use crate::doctor::settings::{SettingError, Settings};
use crate::marked_dir::{MarkedDirError, create_marked_dir_below};
use crate::proc::facts::chosen;
use crate::proc::host;
use model::block::Side;
use model::doctor::Setting;
use model::plan::Plan;
use model::storage::Storage;
use model::units::Bytes;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// In the directory of a run: what settings were before it changed them.
pub(super) const RECORD: &str = "settings.json";
/// Below the directory that a configuration names: ours.
const OURS: &str = "dbdyno";

/// Why a side cannot have its storage.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    #[error("`{}` of the configuration `{config}` cannot be used", path.display())]
    Directory { path: PathBuf, config: String, source: Box<RunDirectoryError> },
    #[error("`{}` of the configuration `{config}` cannot be used", path.display())]
    Place { path: PathBuf, config: String, source: io::Error },
    #[error(
        "the configuration `{config}` sets the queue of a device, and `{}` lies on none (a container, a pool, a network): name a \
         directory on a disk", path.display()
    )]
    NoQueue { config: String, path: PathBuf },
    #[error("the device {device} has no setting `{name}`{}", if *is_stacked { ": set it on the disks below it" } else { "" })]
    NoSetting {
        device: String,
        name: String,
        /// It is a RAID or a logical volume.
        is_stacked: bool,
    },
    #[error(
        "the kernel did not set `{name}` of {device} to `{wanted}`: it has `{found}`; take one that it knows"
    )]
    Refused { device: String, name: String, wanted: String, found: String },
    #[error(transparent)]
    LoopDevice(#[from] LoopDeviceError),
    #[error(transparent)]
    Marked(#[from] MarkedDirError),
    #[error(transparent)]
    Setting(#[from] SettingError),
    #[error("failed to set `{name}` of {device}; run as root, or leave `queue` out of the configuration")]
    NotPermitted { device: String, name: String, source: Box<SettingError> },
}

/// The storage of all sides of a run.
pub struct SideStorage {
    /// Where sides are whose configuration says nothing.
    root: PathBuf,
    device: Option<String>,
    places: BTreeMap<Side, Place>,
    settings: Settings,
    /// Whose settings the devices have now.
    set_for: Option<Side>,
}

/// The storage of a side that is not where the others are.
struct Place {
    root: PathBuf,
    device: Option<String>,
    queue: BTreeMap<String, String>,
    // Removed with this, in this order.
    file_system: Option<LoopFileSystem>,
    _directory: Option<RunDirectory>,
}

impl SideStorage {
    /// Makes the directories that the plan's configurations name. `root` is where all others are, with its device; `directory` that
    /// of the run.
    pub fn make(
        plan: &Plan,
        (root, device): (PathBuf, Option<String>),
        directory: &Path,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<SideStorage, StorageError> {
        let run = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut places = BTreeMap::new();
        for (side, subject) in plan.subjects.iter().enumerate() {
            let Storage { directory: own, target, loop_device, queue } = &subject.config.storage;
            let config = &subject.config.name;
            check(config, &subject.config.storage, &root)?;
            let mut place = Place {
                root: root.clone(),
                device: device.clone(),
                queue: queue.clone(),
                file_system: None,
                _directory: None,
            };
            if let Some(path) = own {
                let ours = path.join(OURS);
                run_directory::remove_stale(&ours);
                let made = RunDirectory::create(&ours, &format!("{run}-{side}")).map_err(|source| {
                    StorageError::Directory {
                        path: path.clone(),
                        config: config.clone(),
                        source: Box::new(source),
                    }
                })?;
                place.root = made.path().to_owned();
                place.device = host::device_of(&place.root).ok();
                place._directory = Some(made);
            }
            if let Some(spec) = loop_device {
                let base = place._directory.as_ref().map_or(directory, RunDirectory::path);
                let below = create_marked_dir_below(base, &[&format!("side-{side}")])?;
                let made = LoopFileSystem::create(&below, spec, interrupted)?;
                place.root = made.path().to_owned();
                place.device = Some(made.device().to_owned());
                place.file_system = Some(made);
            }
            if let Some(target) = target {
                place.device = device_of_target(target).map_err(|source| StorageError::Place {
                    path: target.clone(),
                    config: config.clone(),
                    source,
                })?;
            }
            places.insert(side, place);
        }
        let settings =
            Settings::of_this_host(directory.join(RECORD), &host::describe(Path::new("/")).boot_id);
        Ok(SideStorage { root, device, places, settings, set_for: None })
    }

    /// Where the directories of a side's workers are.
    pub fn root(&self, side: Side) -> &Path {
        self.places.get(&side).map_or(&self.root, |place| &place.root)
    }

    /// The block device below it, if it has one of its own.
    pub fn device(&self, side: Side) -> Option<&str> {
        self.places.get(&side).map_or(self.device.as_deref(), |place| place.device.as_deref())
    }

    /// The file system that the side has for itself.
    pub fn file_system(&mut self, side: Side) -> Option<&mut LoopFileSystem> {
        self.places.get_mut(&side)?.file_system.as_mut()
    }

    /// The device of all sides, if it is the same.
    pub fn common_device(&self) -> Option<&str> {
        let same = self.places.values().all(|place| place.device == self.device);
        self.device.as_deref().filter(|_| same)
    }

    /// Sets the devices as this side wants them, and what another side has set back.
    ///
    /// # Errors
    /// The kernel does not take a value, or we may not set it. Then nothing is set.
    pub fn set_for(&mut self, side: Side) -> Result<(), StorageError> {
        if self.set_for == Some(side) {
            return Ok(());
        }
        self.set_back()?;
        let Some(Place { device: Some(device), queue, .. }) = self.places.get(&side) else { return Ok(()) };
        if queue.is_empty() {
            return Ok(());
        }
        let wanted: Vec<Setting> = queue
            .iter()
            .map(|(name, value)| Setting { path: queue_file(device, name), value: value.clone() })
            .collect();
        let done = self.settings.apply(&wanted)?;
        let failed = done.errors.into_iter().find_map(|error| match &error {
            SettingError::Write { path, source, .. } if may_not(source) => Some(StorageError::NotPermitted {
                device: device.clone(),
                name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
                source: Box::new(error),
            }),
            // A value that the kernel does not know shows below, with those that it knows.
            _ => None,
        });
        let refused = queue.iter().find_map(|(name, wanted)| {
            let found = read(&queue_file(device, name));
            (chosen(&found) != *wanted).then(|| StorageError::Refused {
                device: device.clone(),
                name: name.clone(),
                wanted: wanted.clone(),
                found,
            })
        });
        match failed.or(refused) {
            Some(error) => {
                self.settings.undo()?;
                Err(error)
            }
            None => {
                self.set_for = Some(side);
                Ok(())
            }
        }
    }

    /// Sets everything back as it was before the run.
    fn set_back(&mut self) -> Result<(), SettingError> {
        if self.set_for.take().is_some() {
            self.settings.undo()?;
        }
        Ok(())
    }
}

impl Drop for SideStorage {
    fn drop(&mut self) {
        // What cannot be set back now is by the next run: the record stays in the directory of the run.
        let _ = self.set_back();
    }
}

/// Sets back what a killed run has left set, by the record in its directory.
pub(super) fn set_back_left(run_directory: &Path) {
    let record = run_directory.join(RECORD);
    if record.is_file() {
        // Best effort: after a reboot there is nothing to set back, and what somebody has set since stays.
        let _ = Settings::of_this_host(record, &host::describe(Path::new("/")).boot_id).undo();
    }
}

/// Whether this host has what a configuration names. `root` is where its files are if it names no other place.
///
/// # Errors
/// There is no such directory, file or device; the device has no such setting.
pub fn check(config: &str, storage: &Storage, root: &Path) -> Result<(), StorageError> {
    let Storage { directory, target, loop_device, queue } = storage;
    if let Some(path) = directory.iter().chain(target).next() {
        let failed = |source| StorageError::Place { path: path.clone(), config: config.to_owned(), source };
        if directory.is_some() {
            fs::read_dir(path).map_err(failed)?;
        } else {
            File::open(path).map_err(failed)?;
        }
    }
    // The device of a loop device is not there yet; its own settings are read back when it is.
    if queue.is_empty() || loop_device.is_some() {
        return Ok(());
    }
    let path = directory.as_deref().or(target.as_deref()).unwrap_or(root);
    let no_queue = || StorageError::NoQueue { config: config.to_owned(), path: path.to_owned() };
    check_settings(&device_of_target(path).ok().flatten().ok_or_else(no_queue)?, queue)
}

/// What is free on the file system of a directory; absent if it does not say.
pub fn free_space(directory: &Path) -> Option<Bytes> {
    let space = rustix::fs::statvfs(directory).ok()?;
    Some(Bytes(space.f_bavail.saturating_mul(space.f_frsize)))
}

/// The device of a file, or the block device that it is.
fn device_of_target(target: &Path) -> io::Result<Option<String>> {
    let metadata = fs::metadata(target)?;
    if metadata.file_type().is_block_device() {
        let (major, minor) = (libc::major(metadata.rdev()), libc::minor(metadata.rdev()));
        let link = fs::read_link(format!("/sys/dev/block/{major}:{minor}"))?;
        return Ok(link.file_name().map(|name| name.to_string_lossy().into_owned()));
    }
    Ok(host::device_of(target).ok())
}

fn may_not(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

fn check_settings(device: &str, queue: &BTreeMap<String, String>) -> Result<(), StorageError> {
    let missing = queue.keys().find(|name| !queue_file(device, name).is_file());
    missing.map_or(Ok(()), |name| {
        let is_stacked = fs::read_dir(format!("/sys/class/block/{device}/slaves"))
            .is_ok_and(|mut below| below.next().is_some());
        Err(StorageError::NoSetting { device: device.to_owned(), name: name.clone(), is_stacked })
    })
}

/// A partition has the queue of its disk.
fn queue_file(device: &str, name: &str) -> PathBuf {
    let own = Path::new("/sys/class/block").join(device);
    let own = fs::canonicalize(&own).unwrap_or(own);
    let disk = if own.join("partition").is_file() { own.parent().unwrap_or(&own) } else { &own };
    disk.join("queue").join(name)
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn storage(queue: &[(&str, &str)]) -> Storage {
        let queue = queue.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Storage { queue, ..Storage::default() }
    }

    #[test]
    fn what_this_host_has_not_is_named() {
        let refused = |storage: &Storage| check("odd", storage, Path::new("/proc")).unwrap_err().to_string();
        let gone = Storage { directory: Some("/no/such/place".into()), ..Storage::default() };
        assert!(refused(&gone).contains("`/no/such/place` of the configuration `odd`"));
        let target = Storage { target: Some("/dev/no-such-device".into()), ..Storage::default() };
        assert!(refused(&target).contains("/dev/no-such-device"));
        assert!(refused(&storage(&[("scheduler", "none")])).contains("`/proc` lies on none"));
        check("plain", &Storage::default(), Path::new("/proc")).unwrap();
    }

    /// A plan of two sides, of which the second has the device read ahead by another amount.
    fn plan(value: &str) -> Plan {
        let mut plan = testing::plan(testing::SMALL_WORKLOAD, &["rocksdb@8.5.4", "rocksdb@8.7.3"]);
        plan.subjects[1].config.storage = storage(&[("read_ahead_kb", value)]);
        plan
    }

    #[test]
    fn a_setting_holds_while_its_side_is_measured_and_is_set_back_also_after_a_kill() {
        let scratch = tempfile::tempdir().unwrap();
        let run = scratch.path().join("run");
        fs::create_dir(&run).unwrap();
        let Some(file) = host::device_of(&run).ok().map(|device| queue_file(&device, "read_ahead_kb")) else {
            eprintln!("skipped: `{}` is on no block device", run.display());
            return;
        };
        if !rustix::process::geteuid().is_root() || !file.is_file() {
            eprintln!("skipped: `{}` cannot be set", file.display());
            return;
        }
        let before = read(&file);
        let other = if before == "256" { "512" } else { "256" };
        let make = || {
            SideStorage::make(&plan(other), (run.clone(), host::device_of(&run).ok()), &run, &|| false)
                .unwrap()
        };
        let mut storage = make();
        storage.set_for(0).unwrap();
        assert_eq!(read(&file), before);
        storage.set_for(1).unwrap();
        assert_eq!(read(&file), other);
        storage.set_for(0).unwrap();
        assert_eq!(read(&file), before);
        storage.set_for(1).unwrap();
        drop(storage);
        assert_eq!(read(&file), before);

        let mut killed = make();
        killed.set_for(1).unwrap();
        std::mem::forget(killed);
        assert_eq!(read(&file), other);
        set_back_left(&run);
        assert_eq!(read(&file), before);

        let refused =
            SideStorage::make(&plan("none at all"), (run.clone(), host::device_of(&run).ok()), &run, &|| {
                false
            })
            .unwrap()
            .set_for(1);
        let said = refused.unwrap_err().to_string();
        assert!(said.contains("none at all") && said.contains(&before), "{said}");
        assert_eq!(read(&file), before);
    }
}
