//! A real loop device, where the host gives one.

use super::release::{DETACH_TIMEOUT, devices_below};
use super::*;
use crate::clock::Stopwatch;
use crate::marked_dir::create_marked_dir;
use crate::proc::{facts, host, parse};
use crate::real::queue::{MAX_SECTORS, READ_AHEAD, SCHEDULER};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

const STATUS: &str = include_str!("../../../fixtures/proc/linux-6.18/status.txt");

fn spec() -> LoopDevice {
    LoopDevice { direct_io: false, ..LoopDevice::new(Bytes::from_mib(64)) }
}

fn marked_directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    create_marked_dir(directory.path()).unwrap();
    directory
}

/// A file system, or none where this host gives none: then the test is skipped and says why.
fn create(directory: &Path, spec: &LoopDevice) -> Option<LoopFileSystem> {
    match LoopFileSystem::create(directory, spec, &|| false) {
        Ok(file_system) => Some(file_system),
        Err(
            error @ (LoopDeviceError::NotPermitted
            | LoopDeviceError::NoLoopSupport
            | LoopDeviceError::ProgramMissing { .. }
            | LoopDeviceError::NoDirectIo { .. }),
        ) => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error:?}"),
    }
}

fn setting(device: &str, name: &str) -> String {
    read_line(&sysfs(device, &format!("queue/{name}"))).unwrap()
}

#[test]
fn a_file_system_has_its_limits_and_leaves_nothing_behind() {
    let directory = marked_directory();
    let limits = LoopDevice { direct_io: true, max_sectors_kb: Some(64), read_ahead_kb: Some(96), ..spec() };
    let Some(file_system) = create(directory.path(), &limits) else { return };
    let device = file_system.device().to_owned();
    assert_eq!(read_line(&sysfs(&device, "loop/dio")).as_deref(), Some("1"));
    assert_eq!(setting(&device, MAX_SECTORS), "64");
    assert_eq!(setting(&device, READ_AHEAD), "96");
    let record = fs::read_to_string(directory.path().join(RECORD)).unwrap();
    let before = parse::pairs(&record).find(|(name, _)| *name == MAX_SECTORS).unwrap().1;
    assert!(before > 64, "{record}");
    fs::write(file_system.path().join("file"), "x").unwrap();
    assert_eq!(host::device_of(file_system.path()).unwrap(), device);
    let mountinfo = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let line = mountinfo.lines().find(|line| line.contains(&*file_system.path().to_string_lossy())).unwrap();
    assert!(line.contains("nosuid,nodev,noatime") && line.contains(" ext4 "), "{line}");
    drop(file_system);
    let left: Vec<_> =
        fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, [MARKER]);
    assert_eq!(devices_below(directory.path()), Vec::<String>::new());
    assert_eq!(setting(&device, MAX_SECTORS), before.to_string(), "the next user has the kernel's choice");
}

#[test]
fn evicted_files_are_read_from_the_device_again_though_the_file_below_was_cached() {
    let directory = marked_directory();
    let Some(file_system) = create(directory.path(), &spec()) else { return };
    let file = file_system.path().join("file");
    fs::write(&file, vec![7; 4 << 20]).unwrap();
    let fetched = || {
        let below = host::device_of(directory.path()).ok();
        let text = fs::read_to_string("/proc/diskstats").unwrap();
        let bytes = |wanted: Option<&str>| {
            parse::diskstats(&text).find(|(name, _)| Some(*name) == wanted).map(|(_, disk)| disk.read_bytes)
        };
        (bytes(Some(file_system.device())).unwrap(), bytes(below.as_deref()))
    };
    file_system.evict().unwrap();
    let before = fetched();
    assert_eq!(fs::read(&file).unwrap().len(), 4 << 20);
    let after = fetched();
    assert!(after.0 - before.0 >= 4 << 20, "{before:?} {after:?}");
    if let (Some(before), Some(after)) = (before.1, after.1) {
        assert!(after - before >= 4 << 20, "{before} {after}");
    }
}

#[test]
fn what_a_killed_controller_left_is_released() {
    let directory = marked_directory();
    let Some(file_system) = create(directory.path(), &spec()) else { return };
    // As after SIGKILL: nobody has dropped it.
    let mount_point = file_system.path().to_owned();
    let device = file_system.device().to_owned();
    std::mem::forget(file_system);
    assert_eq!(devices_below(&directory.path().canonicalize().unwrap()), [device]);
    assert!(mount_point.join("lost+found").exists());
    release(directory.path()).unwrap();
    assert!(!mount_point.join("lost+found").exists());
    assert_eq!(devices_below(directory.path()), Vec::<String>::new());
    assert!(directory.path().join(IMAGE).exists(), "releasing deletes nothing");
    release(directory.path()).unwrap();
}

#[test]
fn a_file_system_in_use_is_unmounted_all_the_same() {
    let directory = marked_directory();
    let Some(file_system) = create(directory.path(), &spec()) else { return };
    let in_use = File::create(file_system.path().join("file")).unwrap();
    let mount_point = file_system.path().to_owned();
    drop(file_system);
    assert!(!mount_point.exists());
    // The last user lets it go.
    drop(in_use);
    let watch = Stopwatch::start();
    while !devices_below(directory.path()).is_empty() && watch.elapsed() < DETACH_TIMEOUT {
        std::thread::yield_now();
    }
    assert_eq!(devices_below(directory.path()), Vec::<String>::new());
}

#[test]
fn what_is_mounted_by_somebody_else_is_left_alone() {
    let directory = marked_directory();
    if let Err(error) = may_mount() {
        eprintln!("skipped: {error}");
        return;
    }
    let theirs = directory.path().join("theirs");
    fs::create_dir(&theirs).unwrap();
    mount("tmpfs", &theirs, "tmpfs", MountFlags::empty(), None).unwrap();
    fs::write(theirs.join("precious"), "x").unwrap();
    let released = release(directory.path());
    let kept = theirs.join("precious").exists();
    unmount(&theirs, UnmountFlags::DETACH).unwrap();
    assert!(matches!(released, Err(LoopDeviceError::ForeignMount { .. })), "{released:?}");
    assert!(kept);
}

#[test]
fn a_setting_that_the_kernel_refuses_leaves_nothing_behind() {
    let directory = marked_directory();
    let too_large = LoopDevice { max_sectors_kb: Some(1 << 30), ..spec() };
    match LoopFileSystem::create(directory.path(), &too_large, &|| false) {
        Err(LoopDeviceError::SettingRefused { setting, .. }) => assert_eq!(setting, MAX_SECTORS),
        Err(error) => {
            eprintln!("skipped: {error}");
            return;
        }
        Ok(_) => panic!("the kernel has no such limit"),
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    assert_eq!(devices_below(directory.path()), Vec::<String>::new());
}

#[test]
fn scheduler_and_queue_are_set_and_what_they_were_is_restored() {
    let directory = marked_directory();
    let Some(plain) = create(directory.path(), &spec()) else { return };
    let device = plain.device().to_owned();
    let before = [setting(&device, SCHEDULER), setting(&device, "nr_requests")];
    drop(plain);
    let wanted = LoopDevice {
        scheduler: Some("mq-deadline".to_owned()),
        nr_requests: Some(64),
        mount_options: "data=writeback,lazytime".to_owned(),
        ..spec()
    };
    let Some(file_system) = create(directory.path(), &wanted) else { return };
    let device = file_system.device().to_owned();
    assert_eq!(facts::chosen(&setting(&device, SCHEDULER)), "mq-deadline");
    assert_eq!(setting(&device, "nr_requests"), "64");
    let mountinfo = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let options = parse::mount_options(&mountinfo, file_system.path()).unwrap();
    assert!(
        ["data=writeback", "lazytime", "noatime"].iter().all(|option| options.contains(option)),
        "{options}"
    );
    drop(file_system);
    assert_eq!([setting(&device, SCHEDULER), setting(&device, "nr_requests")], before);
}

#[test]
fn other_file_systems_are_made_and_those_of_two_sides_are_taken_apart_together() {
    let directory = marked_directory();
    let made: Vec<LoopFileSystem> = [FileSystem::Ext4, FileSystem::Xfs, FileSystem::Btrfs]
        .into_iter()
        .filter_map(|file_system| {
            let side = directory.path().join(file_system.to_string());
            create_marked_dir(&side).unwrap();
            // The smallest xfs has 300 MB.
            let made = create(&side, &LoopDevice { file_system, bytes: Bytes::from_mib(320), ..spec() })?;
            let mountinfo = fs::read_to_string("/proc/self/mountinfo").unwrap();
            let mounted = parse::mounts(&mountinfo).find(|mount| mount.mount_point == made.path()).unwrap();
            assert_eq!(mounted.kind, file_system.to_string());
            fs::write(made.path().join("file"), "x").unwrap();
            Some(made)
        })
        .collect();
    let settings: Vec<_> =
        made.iter().map(|made| (made.device().to_owned(), setting(made.device(), MAX_SECTORS))).collect();
    // As after SIGKILL: nobody has dropped them.
    made.into_iter().for_each(std::mem::forget);
    release(directory.path()).unwrap();
    assert_eq!(devices_below(&directory.path().canonicalize().unwrap()), Vec::<String>::new());
    for (device, before) in settings {
        assert_eq!(setting(&device, MAX_SECTORS), before);
    }
}

#[test]
fn a_scheduler_or_an_option_that_the_kernel_has_not_is_named_and_leaves_nothing_behind() {
    let directory = marked_directory();
    let refused = |spec: &LoopDevice, expected: &[&str]| {
        match LoopFileSystem::create(directory.path(), spec, &|| false) {
            Err(
                error @ (LoopDeviceError::NotPermitted
                | LoopDeviceError::NoLoopSupport
                | LoopDeviceError::ProgramMissing { .. }),
            ) => eprintln!("skipped: {error}"),
            Err(error) => {
                let text = error.to_string();
                assert!(expected.iter().all(|part| text.contains(part)), "{text}");
            }
            Ok(_) => panic!("the kernel has nothing like that"),
        }
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        assert_eq!(devices_below(directory.path()), Vec::<String>::new());
    };
    let scheduler = LoopDevice { scheduler: Some("cfq".to_owned()), ..spec() };
    refused(&scheduler, &["`scheduler`", "to cfq", "mq-deadline", "choose another value"]);
    let options = LoopDevice { mount_options: "data=sideways".to_owned(), ..spec() };
    refused(&options, &["ext4", "`data=sideways`", "change `mount_options`"]);
}

#[test]
fn a_device_larger_than_the_disk_below_is_refused() {
    let directory = marked_directory();
    let error = has_space(directory.path(), Bytes(u64::MAX)).unwrap_err();
    assert!(error.to_string().contains("make the device smaller"), "{error}");
    has_space(directory.path(), Bytes(4096)).unwrap();
}

#[test]
fn capabilities_are_read() {
    assert!(has_capability(STATUS, CAP_SYS_ADMIN), "the fixture is of a process of root");
    assert!(!has_capability("CapEff:\t0000000000000000\n", CAP_SYS_ADMIN));
    assert!(has_capability("CapEff:\t0000000000200000\n", CAP_SYS_ADMIN));
    assert!(!has_capability("CapEff:\n", CAP_SYS_ADMIN));
    assert!(!has_capability("CapPrm:\t000001ffffffffff\n", CAP_SYS_ADMIN));
}
