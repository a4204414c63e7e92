//! Where the files of each side are, and the settings of the device below them, which change with the side that is measured
//! and are set back: at the end, or by the next run if this one was killed.

use super::loop_device::{LoopDeviceError, LoopFileSystem};
use super::queue::{self, QueueError};
use super::run_directory::{self, RunDirectory, RunDirectoryError};
use crate::marked_dir::{MarkedDirError, create_marked_dir_below};
use crate::proc::host;
use crate::process::file_lock::FileLock;
use model::block::Side;
use model::plan::Plan;
use model::storage::Storage;
use model::units::Bytes;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// In the directory of a run: what settings were before it changed them.
pub(super) const RECORD: &str = "queue.json";
/// In the directory of a run: where else it has files.
const ELSEWHERE: &str = "elsewhere";
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
    #[error(
        "`{}` of the configuration `{config}` is neither a file nor a block device, or it is shorter than the workload's file ({found} bytes of \
         {wanted}), or it has holes that no device would be asked for", path.display()
    )]
    Unfit { path: PathBuf, config: String, found: u64, wanted: u64 },
    #[error(transparent)]
    Queue(#[from] QueueError),
    #[error(transparent)]
    LoopDevice(#[from] LoopDeviceError),
    #[error(transparent)]
    Marked(#[from] MarkedDirError),
}

/// The storage of all sides of a run.
pub struct SideStorage {
    /// Where sides are whose configuration says nothing.
    root: PathBuf,
    device: Option<String>,
    places: BTreeMap<Side, Place>,
    /// Where it stands what queues were set to before.
    record: PathBuf,
    /// Other runs do not set these queues meanwhile.
    _locks: Vec<FileLock>,
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
            let file = plan.workload.is_fio().then(|| plan.workload.data.size());
            check(config, &subject.config.storage, &root, file)?;
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
                keep_elsewhere(directory, &ours)?;
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
        let mut locks = BTreeMap::new();
        for Place { device, queue, .. } in places.values() {
            if let (Some(device), false) = (device, queue.is_empty())
                && !locks.contains_key(device)
            {
                locks.insert(device.clone(), queue::lock(device)?);
            }
        }
        let record = directory.join(RECORD);
        let _locks = locks.into_values().flatten().collect();
        Ok(SideStorage { root, device, places, record, _locks, set_for: None })
    }

    /// Where the directories of a side's workers are.
    pub fn root(&self, side: Side) -> &Path {
        self.places.get(&side).map_or(&self.root, |place| &place.root)
    }

    /// Whether the side is where no other is, but for those that name the same directory.
    pub fn is_own(&self, side: Side) -> bool {
        self.root(side) != self.root
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
        queue::set(&self.record, device, queue)?;
        self.set_for = Some(side);
        Ok(())
    }

    /// Sets everything back as it was before the run.
    fn set_back(&mut self) -> Result<(), QueueError> {
        if self.set_for.take().is_some() {
            queue::set_back(&self.record)?;
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

/// Undoes what a killed run has left: settings of queues, and files in the directories that configurations name. By the records in its
/// directory.
///
/// # Errors
/// A setting could not be set back: the record stays, and with it the directory.
pub(super) fn undo_left(run_directory: &Path) -> Result<(), QueueError> {
    queue::set_back(&run_directory.join(RECORD))?;
    let elsewhere = fs::read_to_string(run_directory.join(ELSEWHERE)).unwrap_or_default();
    for ours in elsewhere.lines().map(Path::new) {
        run_directory::remove_stale(ours);
    }
    Ok(())
}

/// Whether this host has what a configuration names. `root` is where its files are if it names no other place, `file` the size of the
/// file that is to be read.
///
/// # Errors
/// There is no such directory, file or device; the device has no such setting.
pub fn check(config: &str, storage: &Storage, root: &Path, file: Option<Bytes>) -> Result<(), StorageError> {
    let Storage { directory, target, loop_device, queue } = storage;
    if let Some(path) = directory.iter().chain(target).next() {
        let failed = |source| StorageError::Place { path: path.clone(), config: config.to_owned(), source };
        if directory.is_some() {
            fs::read_dir(path).map_err(failed)?;
        } else {
            File::open(path).map_err(failed)?;
        }
    }
    if let (Some(path), Some(wanted)) = (target, file) {
        check_target(config, path, wanted)?;
    }
    // The device of a loop device is not there yet; its own settings are read back when it is.
    if queue.is_empty() || loop_device.is_some() {
        return Ok(());
    }
    let path = directory.as_deref().or(target.as_deref()).unwrap_or(root);
    let no_queue = || StorageError::NoQueue { config: config.to_owned(), path: path.to_owned() };
    Ok(queue::check(&device_of_target(path).ok().flatten().ok_or_else(no_queue)?, queue)?)
}

/// Reads of a hole never reach a device.
fn check_target(config: &str, path: &Path, wanted: Bytes) -> Result<(), StorageError> {
    const BLOCK: u64 = 512; // of st_blocks, whatever the file system's are
    let failed = |source| StorageError::Place { path: path.to_owned(), config: config.to_owned(), source };
    let metadata = fs::metadata(path).map_err(failed)?;
    let found = if metadata.is_file() {
        metadata.len().min(metadata.blocks() * BLOCK)
    } else if metadata.file_type().is_block_device() {
        File::open(path).and_then(|mut device| device.seek(SeekFrom::End(0))).map_err(failed)?
    } else {
        0
    };
    if found < wanted.0 {
        let (path, config) = (path.to_owned(), config.to_owned());
        return Err(StorageError::Unfit { path, config, found, wanted: wanted.0 });
    }
    Ok(())
}

/// Keeps where else the run has files, before it has any: whoever removes its directory removes these too.
fn keep_elsewhere(run_directory: &Path, ours: &Path) -> Result<(), StorageError> {
    let path = run_directory.join(ELSEWHERE);
    let failed = |source| QueueError::Record { path: path.clone(), source };
    let mut file = File::options().create(true).append(true).open(&path).map_err(failed)?;
    writeln!(file, "{}", ours.display()).and_then(|()| file.sync_all()).map_err(failed)?;
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    fn storage(queue: &[(&str, &str)]) -> Storage {
        let queue = queue.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Storage { queue, ..Storage::default() }
    }

    #[test]
    fn what_this_host_has_not_is_named() {
        let refused =
            |storage: &Storage| check("odd", storage, Path::new("/proc"), None).unwrap_err().to_string();
        let gone = Storage { directory: Some("/no/such/place".into()), ..Storage::default() };
        assert!(refused(&gone).contains("`/no/such/place` of the configuration `odd`"));
        let target = Storage { target: Some("/dev/no-such-device".into()), ..Storage::default() };
        assert!(refused(&target).contains("/dev/no-such-device"));
        assert!(refused(&storage(&[("scheduler", "none")])).contains("`/proc` lies on none"));
        let holes = tempfile::NamedTempFile::new().unwrap();
        holes.as_file().set_len(1 << 20).unwrap();
        let target = Storage { target: Some(holes.path().to_owned()), ..Storage::default() };
        let said = check("odd", &target, Path::new("/proc"), Some(Bytes(4096))).unwrap_err().to_string();
        assert!(said.contains("0 bytes of 4096"), "{said}");
        fs::write(holes.path(), [7; 8192]).unwrap();
        check("odd", &target, Path::new("/proc"), Some(Bytes(8192))).unwrap();
        check("plain", &Storage::default(), Path::new("/proc"), None).unwrap();
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
        let Some(file) = host::device_of(&run).ok().map(|device| queue::queue_file(&device, "read_ahead_kb"))
        else {
            eprintln!("skipped: `{}` is on no block device", run.display());
            return;
        };
        if !rustix::process::geteuid().is_root() || !file.is_file() {
            eprintln!("skipped: `{}` cannot be set", file.display());
            return;
        }
        let before = queue::read(&file);
        let other = if before == "256" { "512" } else { "256" };
        let make = || {
            SideStorage::make(&plan(other), (run.clone(), host::device_of(&run).ok()), &run, &|| false)
                .unwrap()
        };
        let mut storage = make();
        storage.set_for(0).unwrap();
        assert_eq!(queue::read(&file), before);
        storage.set_for(1).unwrap();
        assert_eq!(queue::read(&file), other);
        storage.set_for(0).unwrap();
        assert_eq!(queue::read(&file), before);
        storage.set_for(1).unwrap();
        drop(storage);
        assert_eq!(queue::read(&file), before);

        let mut killed = make();
        killed.set_for(1).unwrap();
        let second =
            SideStorage::make(&plan(other), (run.clone(), host::device_of(&run).ok()), &run, &|| false);
        assert!(second.is_err_and(|error| error.to_string().contains("another run sets the queue")));
        // As if the process had ended: its locks are gone, the setting is not.
        killed._locks.clear();
        std::mem::forget(killed);
        assert_eq!(queue::read(&file), other);
        undo_left(&run).unwrap();
        assert_eq!(queue::read(&file), before);

        let refused =
            SideStorage::make(&plan("none at all"), (run.clone(), host::device_of(&run).ok()), &run, &|| {
                false
            })
            .unwrap()
            .set_for(1);
        let said = refused.unwrap_err().to_string();
        assert!(said.contains("none at all") && said.contains(&before), "{said}");
        assert_eq!(queue::read(&file), before);
    }
}
