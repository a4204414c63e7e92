//! The device of the work directory: its file system, its queue, what lies under it, its free space.

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
        why: "requests to the device can be counted only of a file system that has one; copying on write and memory have other costs \
              than what users run on",
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
        want: "none or mq-deadline",
        why: "bfq shares a device between processes by weights and delays requests: it costs CPU and decides who waits",
    };
    match patient.fact("device.scheduler") {
        Some(scheduler @ ("none" | "noop" | "mq-deadline" | "deadline" | "kyber")) => question.ok(scheduler),
        Some(other) => {
            let check = question.warn(other, "echo none > /sys/block/DEVICE/queue/scheduler");
            with_queue_file(patient, check, "scheduler", "none")
        }
        None => question.unknown("this host does not say"),
    }
}

/// What RocksDB reads ahead in compactions since 8.6, in kB.
const LARGEST_READ_KB: u64 = 2048;

/// The smallest of the device and of what lies under it, in kB.
fn smallest(patient: &Patient, attribute: &str) -> Option<u64> {
    let of_devices = patient
        .host
        .facts
        .iter()
        .filter(|(name, _)| name.starts_with("device.") && name.rsplit('.').next() == Some(attribute));
    of_devices.filter_map(|(_, value)| value.parse().ok()).min()
}

fn request_size(patient: &Patient) -> Check {
    let question = Question {
        id: "max-sectors",
        want: "max_sectors_kb at least 2048, also under a RAID",
        why: "RocksDB from 8.6 on asks for 2 MiB when it compacts; where the device takes less at once, its read ahead breaks down into \
              reads of 4 kB (RocksDB issue 12038, TiKV issue 19721)",
    };
    let Some(kb) = smallest(patient, "max_sectors_kb") else {
        return question.unknown("no block device of its own");
    };
    let found = format!("max_sectors_kb = {kb}");
    if kb >= LARGEST_READ_KB {
        return question.ok(found);
    }
    let hardware = smallest(patient, "max_hw_sectors_kb").unwrap_or(0);
    if hardware < LARGEST_READ_KB {
        let fix = "compaction_readahead_size of at most that, as configuration of the subjects";
        return question.warn(format!("{found}, of {hardware} at most"), fix);
    }
    let check = question.warn(found, "echo 2048 > /sys/block/DEVICE/queue/max_sectors_kb");
    with_queue_file(patient, check, "max_sectors_kb", "2048")
}

fn read_ahead(patient: &Patient) -> Check {
    let question = Question {
        id: "read-ahead",
        want: "read_ahead_kb at most max_sectors_kb",
        why: "a read ahead that is longer than a request is cut into several, and reads at random bring in much that nobody asked for",
    };
    let numbers = patient.number("device.read_ahead_kb").zip(smallest(patient, "max_sectors_kb"));
    let Some((ahead, most)) = numbers else { return question.unknown("no block device of its own") };
    let found = format!("read_ahead_kb = {ahead}, max_sectors_kb = {most}");
    if ahead <= most {
        return question.ok(found);
    }
    let check = question.warn(found, "echo 128 > /sys/block/DEVICE/queue/read_ahead_kb");
    with_queue_file(patient, check, "read_ahead_kb", "128")
}

/// Of the device and of each that lies under it.
fn with_queue_file(patient: &Patient, check: Check, attribute: &str, value: &'static str) -> Check {
    let devices = patient.moment.disks.iter();
    mended_by(check, devices.map(|disk| (format!("/sys/block/{disk}/queue/{attribute}"), value)))
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
