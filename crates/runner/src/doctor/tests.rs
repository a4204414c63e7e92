//! Checks on hosts that are made up: what each finds, and what it would write.

use super::moment::{BusyProcess, Disk, Space};
use super::*;
use std::collections::{BTreeMap, BTreeSet};

/// A host of which nothing is known but this.
fn patient(facts: &[(&str, &str)]) -> Patient {
    let facts = facts.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let host = Host { facts, memory_bytes: 64 << 30, cpus: 8, ..Host::default() };
    Patient { host, moment: Moment::default(), needs: None }
}

fn check(patient: &Patient, id: &str) -> Check {
    let found: Vec<Check> = examine(patient).into_iter().filter(|check| check.id == id).collect();
    let [check] = &found[..] else { panic!("{id}: {found:?}") };
    check.clone()
}

#[track_caller]
fn ends(patient: &Patient, id: &str, status: CheckStatus) -> Check {
    let check = check(patient, id);
    assert_eq!(check.status, status, "{check:?}");
    check
}

#[test]
fn a_host_that_says_nothing_is_unknown_and_never_fit_or_unfit() {
    let checks = examine(&patient(&[]));
    let ids: BTreeSet<&str> = checks.iter().map(|check| check.id.as_str()).collect();
    assert_eq!(ids.len(), checks.len(), "two checks have one id");
    for check in &checks {
        let fits = matches!(check.id.as_str(), "cpu-usable" | "ptrace" | "other-dbdyno");
        let wanted = if fits { CheckStatus::Ok } else { CheckStatus::Unknown };
        assert_eq!(check.status, wanted, "{check:?}");
        assert!(!check.why.is_empty() && !check.want.is_empty() && check.settings.is_empty(), "{check:?}");
    }
}

#[test]
fn what_is_wrong_says_what_to_do_and_what_may_be_written_is_a_setting() {
    let bad = patient(&[
        ("cpu.governor", "performance, schedutil"),
        ("cpu.boost", "1"),
        ("cpu.smt", "1"),
        ("clock.source", "hpet"),
        ("kernel.randomize_va_space", "0"),
        ("numa.nodes", "2"),
        ("kernel.numa_balancing", "1"),
        ("thp.enabled", "always"),
        ("swap.devices", "1"),
        ("vm.swappiness", "60"),
        ("vm.dirty_background_ratio", "10"),
        ("vm.dirty_background_bytes", "0"),
        ("file_system.type", "btrfs"),
        ("file_system.options", "rw,relatime,discard"),
        ("kernel.perf_event_paranoid", "3"),
        ("kernel.yama.ptrace_scope", "1"),
    ]);
    let sda = Disk {
        name: "sda".to_owned(),
        scheduler: Some("bfq".to_owned()),
        rotational: true,
        max_sectors_kb: Some(1280),
        max_hw_sectors_kb: Some(32_767),
        read_ahead_kb: Some(8192),
    };
    let bad = Patient { moment: Moment { disks: vec![sda], ..Moment::default() }, ..bad };
    for check in examine(&bad) {
        let bad = matches!(check.status, CheckStatus::Warn | CheckStatus::Fail);
        assert_eq!(bad, !check.fix.is_empty() && !check.id.starts_with("tool-"), "{check:?}");
        // Threads of a core come back, CPUs of control groups do not.
        assert!((bad && check.id != "cpu-smt") || check.settings.is_empty(), "{check:?}");
    }
    ends(&bad, "cpu-governor", CheckStatus::Fail);
    ends(&bad, "clock-source", CheckStatus::Fail);
    let dirty = ends(&bad, "dirty-limits", CheckStatus::Warn);
    assert_eq!((dirty.found.as_str(), dirty.settings.len()), ("writing begins at 6.4 GiB", 2));
    let sectors = ends(&bad, "max-sectors", CheckStatus::Warn);
    let setting = |attribute: &str, value: &str| Setting {
        path: format!("/sys/block/sda/queue/{attribute}").into(),
        value: value.to_owned(),
    };
    assert_eq!(sectors.settings, [setting("max_sectors_kb", "2048")]);
    let scheduler = ends(&bad, "device-scheduler", CheckStatus::Warn);
    assert_eq!(scheduler.settings, [setting("scheduler", "mq-deadline")]);
}

#[test]
fn what_lies_under_a_raid_is_seen_and_nothing_is_set_to_less() {
    let disk = |name: &str, scheduler: &str, sectors, hardware| Disk {
        name: name.to_owned(),
        scheduler: Some(scheduler.to_owned()),
        max_sectors_kb: Some(sectors),
        max_hw_sectors_kb: Some(hardware),
        read_ahead_kb: Some(1024),
        ..Disk::default()
    };
    let raid = |under| Patient {
        moment: Moment { disks: vec![disk("md0", "none", 4096, 32_767), under], ..Moment::default() },
        ..patient(&[])
    };
    let sectors = ends(&raid(disk("sda", "bfq", 512, 32_767)), "max-sectors", CheckStatus::Warn);
    assert_eq!(sectors.found, "max_sectors_kb: md0 4096, sda 512");
    assert_eq!(sectors.settings.len(), 1, "{sectors:?}");
    let scheduler = ends(&raid(disk("sda", "bfq", 512, 32_767)), "device-scheduler", CheckStatus::Warn);
    assert_eq!(scheduler.settings[0].path.to_str(), Some("/sys/block/sda/queue/scheduler"));
    let small = ends(&raid(disk("nvme0n1", "none", 256, 256)), "max-sectors", CheckStatus::Warn);
    assert!(small.settings.is_empty() && small.found.ends_with("the hardware takes no more"), "{small:?}");
    ends(&raid(disk("nvme0n1", "none", 256, 256)), "read-ahead", CheckStatus::Warn);
    ends(&raid(disk("nvme0n1", "none", 2048, 2048)), "max-sectors", CheckStatus::Ok);
}

#[test]
fn a_plan_that_does_not_fit_fails_and_a_host_without_a_plan_wants_room() {
    let moment = Moment {
        available_bytes: Some(40 << 30),
        space: Some(Space { free: Bytes(90 << 30), all: Bytes(1000 << 30) }),
        ..Moment::default()
    };
    let idle = Patient { moment, ..patient(&[]) };
    ends(&idle, "memory-free", CheckStatus::Ok);
    ends(&idle, "free-space", CheckStatus::Warn);
    let needs = Needs { memory: Bytes(48 << 30), disk: Bytes(100 << 30) };
    let planned = Patient { needs: Some(needs), ..idle };
    let memory = ends(&planned, "memory-free", CheckStatus::Fail);
    assert_eq!(memory.found, "40.0 of 64.0 GiB; the plan takes 48.0 GiB");
    ends(&planned, "free-space", CheckStatus::Fail);
}

#[test]
fn other_work_is_named() {
    let busy = |percent, of_process| Patient {
        moment: Moment {
            busy_percent: Some(percent),
            busiest: vec![BusyProcess { pid: 4711, name: "backup".to_owned(), percent: of_process }],
            pressure: BTreeMap::from([("io".to_owned(), 12.5), ("cpu".to_owned(), 0.4)]),
            steal_percent: Some(17.2),
            other_runs: vec![99],
            ..Moment::default()
        },
        ..patient(&[])
    };
    ends(&busy(2.0, 1.0), "other-load", CheckStatus::Ok);
    let load = ends(&busy(12.0, 90.0), "other-load", CheckStatus::Warn);
    assert_eq!(load.found, "12 % of all CPUs busy: backup (process 4711) 90 % of a CPU");
    ends(&busy(50.0, 90.0), "other-load", CheckStatus::Fail);
    ends(&busy(2.0, 1.0), "pressure-io", CheckStatus::Warn);
    ends(&busy(2.0, 1.0), "pressure-cpu", CheckStatus::Ok);
    ends(&busy(2.0, 1.0), "steal", CheckStatus::Fail);
    ends(&busy(2.0, 1.0), "other-dbdyno", CheckStatus::Fail);
}

#[test]
fn root_may_look_at_what_others_may_not() {
    let facts = [("kernel.perf_event_paranoid", "3"), ("kernel.yama.ptrace_scope", "1")];
    ends(&patient(&facts), "perf", CheckStatus::Warn);
    let root = Patient { moment: Moment { is_root: true, ..Moment::default() }, ..patient(&facts) };
    ends(&root, "perf", CheckStatus::Ok);
    ends(&root, "ptrace", CheckStatus::Ok);
    let never = Patient { moment: root.moment, ..patient(&[("kernel.yama.ptrace_scope", "3")]) };
    ends(&never, "ptrace", CheckStatus::Warn);
}
