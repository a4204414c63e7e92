//! Profiles come back as they were written, and are no part of what is judged.

use super::{ended, started, trial};
use crate::Writer;
use model::event::RunEvent;
use model::plan::Purpose;
use model::profile::{FOREGROUND, Profile, Quality, Stacks, Wait, Waiting};
use model::units::Nanos;
use std::collections::BTreeMap;

const RUN: &str = "1";

fn waiting() -> Waiting {
    let mut stacks = Stacks::default();
    stacks.add(Wait::Lock.name(), ["main", "rocksdb::WriteThread::AwaitState"].into_iter(), 1);
    let (names, stacks) = stacks.finish();
    Waiting { names, stacks }
}

pub(super) fn profile(launch: u32, side: usize) -> Profile {
    let mut stacks = Stacks::default();
    stacks.add(FOREGROUND, ["main", "rocksdb::DBImpl::Get"].into_iter(), 1);
    stacks.add("compaction", ["main"].into_iter(), 1);
    let (names, stacks) = stacks.finish();
    Profile {
        trial: trial(launch, "readrandom", side),
        operations: u64::MAX / 3,
        cpu: Nanos(1_234_567_891),
        unsampled_operations: 7,
        unsampled_cpu: Nanos(987_654_321),
        wall: Nanos(2_345_678_912),
        looks: 199,
        waits: BTreeMap::from([(Wait::Lock, 7), (Wait::Read, 1)]),
        quality: Quality { frequency: 199, broken: 3, lost: 2, user_only: true, threads_left_out: 1 },
        names,
        stacks,
        waiting: waiting(),
        counters: BTreeMap::from([("pg_stat_wal.wal_records".to_owned(), 1.0 / 3.0)]),
    }
}

#[test]
fn profiles_of_a_run_come_back_and_are_no_launches_of_it() {
    let mut writer = Writer::in_memory().unwrap();
    writer.write(RUN, &started(RUN, 1, Purpose::Compare)).unwrap();
    writer.write(RUN, &RunEvent::LaunchStarted { launch: 7, at_us: 2 }).unwrap();
    writer.write(RUN, &ended(3)).unwrap();
    assert_eq!(writer.store().last_launch(RUN).unwrap(), 7);
    let before = writer.store().load_run(RUN).unwrap();
    let all = [profile(8, 0), profile(8, 1), profile(9, 0)];
    for one in &all {
        writer.write(RUN, &RunEvent::Profiled(Box::new(one.clone()))).unwrap();
    }
    assert_eq!(writer.store().profiles(RUN).unwrap(), all);
    assert_eq!(writer.store().last_launch(RUN).unwrap(), 9);
    assert_eq!(writer.store().load_run(RUN).unwrap(), before);
    // One side of one launch has one profile of a step.
    writer.write(RUN, &RunEvent::Profiled(Box::new(profile(9, 0)))).unwrap_err();
    assert!(writer.store().profiles("2").is_err());
}

#[test]
fn what_belongs_to_another_run_is_found_by_its_name_and_is_not_the_last() {
    let mut writer = Writer::in_memory().unwrap();
    let test = format!("{RUN}/test/rocksdb@8.7.3+direct");
    for (at, (id, name)) in (1..).zip([(RUN, None), ("2", Some(&test)), ("3", None), ("4", Some(&test))]) {
        writer.write(id, &started(id, at, Purpose::Compare)).unwrap();
        if let Some(name) = name {
            writer.name_run(id, name).unwrap();
        }
        // The last one has no end.
        if id != "4" {
            writer.write(id, &ended(at + 10)).unwrap();
        }
    }
    let store = writer.store();
    assert_eq!(store.runs_named(&format!("{RUN}/test/")).unwrap(), ["2"]);
    assert_eq!(store.find_run("last").unwrap(), "3");
    assert_eq!(store.find_run("2").unwrap(), "2");
}
