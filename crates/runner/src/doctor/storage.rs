//! The device of the work directory: its file system, its queue, what lies under it, its free space.

use super::moment::Disk;
use super::{Patient, Question, mended_by};
use model::doctor::Check;

pub(super) fn checks(patient: &Patient) -> Vec<Check> {
    vec![
        file_system(patient),
        mount_options(patient),
        device(patient),
        scheduler(patient),
        request_size(patient),
        read_ahead(patient),
        free_space(patient),
    ]
}

fn file_system(patient: &Patient) -> Check {
    let question = Question {
        id: "file-system",
        want: "ext4 or xfs on a device of its own",
        why: "device requests can be counted only if the file system has a block device of its own; copy-on-write file systems and tmpfs \
              have other costs than those that users run on",
    };
    match patient.fact("file_system.type") {
        Some(kind @ ("ext4" | "ext3" | "xfs" | "f2fs")) => question.ok(kind),
        Some(kind) => question.warn(kind, "--work-dir on a directory of a disk (ext4, xfs)"),
        None => question.unknown("this host does not say"),
    }
}

fn mount_options(patient: &Patient) -> Check {
    let question = Question {
        id: "mount-options",
        want: "no discard, no sync, noatime or relatime",
        why: "with discard each deleted file becomes requests to the device, with sync each write waits for it, with strictatime each \
              read becomes a write",
    };
    let Some(options) = patient.fact("file_system.options") else {
        return question.unknown("this host does not say");
    };
    let has = |wanted: &str| options.split(',').any(|option| option == wanted);
    let bad: Vec<&str> =
        ["sync", "strictatime", "discard"].into_iter().filter(|option| has(option)).collect();
    match bad[..] {
        [] => question.ok(options),
        ["discard"] => question.warn("discard", "mount -o remount,nodiscard, and fstrim between runs"),
        _ => question.fail(bad.join(", "), format!("mount -o remount without {}", bad.join(", "))),
    }
}

fn device(patient: &Patient) -> Check {
    let question = Question {
        id: "device",
        want: "known",
        why: "rates of IO mean nothing without the device that they were measured on",
    };
    let Some(name) = &patient.host.device else { return question.unknown("no block device of its own") };
    let model = patient.fact("device.model").unwrap_or("model unknown");
    let kind = match patient.fact("device.rotational") {
        Some("0") => ", not rotating",
        Some(_) => ", rotating, or a virtual disk that says so",
        None => "",
    };
    question.ok(format!("{name}, {model}{kind}"))
}

fn scheduler(patient: &Patient) -> Check {
    let question = Question {
        id: "device-scheduler",
        want: "none or mq-deadline, also under a RAID",
        why: "bfq shares a device between processes by weights and delays requests: it costs CPU and decides who waits",
    };
    let of_disks: Vec<(&Disk, &str)> =
        patient.moment.disks.iter().filter_map(|disk| Some((disk, disk.scheduler.as_deref()?))).collect();
    let bad: Vec<&Disk> = of_disks
        .iter()
        .filter(|(_, scheduler)| {
            !matches!(*scheduler, "none" | "noop" | "mq-deadline" | "deadline" | "kyber")
        })
        .map(|(disk, _)| *disk)
        .collect();
    let found: Vec<String> =
        of_disks.iter().map(|(disk, scheduler)| format!("{} {scheduler}", disk.name)).collect();
    if of_disks.is_empty() {
        return question.unknown("this host does not say");
    }
    if bad.is_empty() {
        return question.ok(found.join(", "));
    }
    let check = question.warn(
        found.join(", "),
        "echo none (of a rotating disk mq-deadline) > /sys/block/DEVICE/queue/scheduler",
    );
    let wanted = |disk: &Disk| if disk.rotational { "mq-deadline" } else { "none" };
    mended_by(check, bad.into_iter().map(|disk| (queue_file(disk, "scheduler"), wanted(disk))))
}

fn queue_file(disk: &Disk, attribute: &str) -> String {
    format!("/sys/block/{}/queue/{attribute}", disk.name)
}

/// What RocksDB reads ahead in compactions since 8.6, in kB.
const LARGEST_READ_KB: u64 = 2048;

fn request_size(patient: &Patient) -> Check {
    let question = Question {
        id: "max-sectors",
        want: "max_sectors_kb at least 2048, also under a RAID",
        why: "RocksDB from 8.6 on asks for 2 MiB when it compacts; if the device takes less at once, its read ahead breaks down into \
              reads of 4 kB (RocksDB issue 12038, TiKV issue 19721)",
    };
    let disks: Vec<(&Disk, u64)> =
        patient.moment.disks.iter().filter_map(|disk| Some((disk, disk.max_sectors_kb?))).collect();
    let shown = |(disk, kb): &(&Disk, u64)| format!("{} {kb}", disk.name);
    let found = format!("max_sectors_kb: {}", disks.iter().map(shown).collect::<Vec<_>>().join(", "));
    let small: Vec<&Disk> =
        disks.iter().filter(|(_, kb)| *kb < LARGEST_READ_KB).map(|(disk, _)| *disk).collect();
    if disks.is_empty() {
        return question.unknown("no block device of its own");
    }
    if small.is_empty() {
        return question.ok(found);
    }
    if small.iter().any(|disk| disk.max_hw_sectors_kb.unwrap_or(0) < LARGEST_READ_KB) {
        let fix = "a configuration of the subjects with a compaction_readahead_size of at most that";
        return question.warn(format!("{found}, and the hardware takes no more"), fix);
    }
    let check = question.warn(found, "echo 2048 > /sys/block/DEVICE/queue/max_sectors_kb");
    mended_by(check, small.into_iter().map(|disk| (queue_file(disk, "max_sectors_kb"), "2048")))
}

fn read_ahead(patient: &Patient) -> Check {
    let question = Question {
        id: "read-ahead",
        want: "read_ahead_kb at most max_sectors_kb",
        why: "a read ahead that is longer than a request is cut into several, and reads at random read data that is not needed",
    };
    let most = patient.moment.disks.iter().filter_map(|disk| disk.max_sectors_kb).min();
    let first = patient.moment.disks.first();
    let Some(((disk, ahead), most)) = first.and_then(|disk| Some((disk, disk.read_ahead_kb?))).zip(most)
    else {
        return question.unknown("no block device of its own");
    };
    let found = format!("read_ahead_kb = {ahead}, max_sectors_kb = {most}");
    if ahead <= most {
        return question.ok(found);
    }
    let check = question.warn(found, "echo 128 > /sys/block/DEVICE/queue/read_ahead_kb");
    mended_by(check, [(queue_file(disk, "read_ahead_kb"), "128")])
}

/// Below this share of a file system its blocks are hard to find in one piece, and an SSD has little room to erase.
const LEAST_FREE_PERCENT: u64 = 10;

fn free_space(patient: &Patient) -> Check {
    let question = Question {
        id: "free-space",
        want: "what the plan takes, and a tenth of the file system",
        why: "a full disk ends a run; a nearly full one is slower at each write",
    };
    let Some(space) = patient.moment.space else { return question.unknown("this host does not say") };
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    let found = format!("{:.1} of {:.1} GiB", gib(space.free.0), gib(space.all.0));
    match patient.needs {
        Some(needs) if needs.disk > space.free => question.fail(
            format!("{found}; the plan takes {:.1} GiB", gib(needs.disk.0)),
            "make room, or --work-dir on another disk",
        ),
        Some(_) | None if space.free.0 < space.all.0 / 100 * LEAST_FREE_PERCENT => {
            question.warn(found, "make room, or --work-dir on another disk")
        }
        Some(_) | None => question.ok(found),
    }
}
