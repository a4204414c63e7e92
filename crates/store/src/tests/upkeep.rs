//! Checking, copying and compacting a store; and one that is damaged.

use super::{RUN, events, other_process, started, written};
use crate::{Error, Store, Writer, back_up, check, compact};
use model::block::BASE;
use model::event::RunEvent;
use model::plan::Purpose;
use model::record::RawOutputName;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

const LOG_BYTES: usize = 2 << 20;

/// A store with a run whose LOG fills most of the file.
fn with_a_log(path: &Path) {
    let mut writer = Writer::open(path).unwrap();
    events(1_000).iter().for_each(|event| writer.write(RUN, event).unwrap());
    let text = "x".repeat(LOG_BYTES);
    writer.write(RUN, &RunEvent::RawOutput { launch: 1, side: BASE, name: "LOG".to_owned(), text }).unwrap();
}

/// Zeros in the middle of the file, as a disk may give them in place of what was written.
fn damage(path: &Path) {
    let file = OpenOptions::new().write(true).open(path).unwrap();
    let middle = file.metadata().unwrap().len() / 2;
    file.write_all_at(&[0; 20_000], middle).unwrap();
}

#[test]
fn a_sound_store_is_looked_at_in_whole() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s.sqlite");
    assert!(matches!(check(&path), Err(Error::Missing { .. })));
    with_a_log(&path);
    let found = check(&path).unwrap();
    assert_eq!(found.damage, Vec::<String>::new());
    assert_eq!((found.bytes, found.runs), (fs::metadata(&path).unwrap().len(), 1));
    let rows = "SELECT (SELECT count(*) FROM block_counters) + (SELECT count(*) FROM raw_outputs)";
    let some: i64 = other_process(&path).query_row(rows, [], |row| row.get(0)).unwrap();
    assert!(found.rows > some.unsigned_abs(), "{found:?}");
    // Plan, host, two builds, two lists of options, three shapes and more.
    assert!(found.json_values > 9, "{found:?}");
}

#[test]
fn a_damaged_store_is_named_and_nothing_is_written_to_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s.sqlite");
    with_a_log(&path);
    damage(&path);
    let before = fs::read(&path).unwrap();
    let found = check(&path).unwrap();
    assert!(!found.damage.is_empty(), "{found:?}");

    let copy = directory.path().join("copy.sqlite");
    File::create(&copy).unwrap();
    let log = RawOutputName { launch: 1, side: BASE, name: "LOG".to_owned() };
    for error in [
        Writer::open(&path).unwrap_err(),
        compact(&path).unwrap_err(),
        back_up(&path, &copy).unwrap_err(),
        Store::open_existing(&path).unwrap().raw_output(RUN, &log).unwrap_err(),
    ] {
        assert!(matches!(error, Error::Damaged { .. }), "{error}");
        assert!(error.to_string().contains("s.sqlite` is damaged"), "{error}");
    }
    assert!(fs::read(&path).unwrap() == before, "the file was changed");
}

#[test]
fn rows_that_do_not_fit_together_are_found() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s.sqlite");
    with_a_log(&path);
    other_process(&path)
        .execute_batch(
            "PRAGMA foreign_keys = OFF;
             UPDATE launches SET active_steps_json = '[';
             DELETE FROM hosts;
             DELETE FROM subjects WHERE side = 1;
             UPDATE runs SET ended_at_us = NULL;",
        )
        .unwrap();
    let expected = [
        "launches.active_steps_json: values that are no JSON: 1".to_owned(),
        "runs: references to rows of hosts that are not there: 1".to_owned(),
        format!("run {RUN} has not the subjects of its plan"),
        format!("run {RUN} has an outcome without an end, or the other way round"),
    ];
    assert_eq!(check(&path).unwrap().damage, expected);
}

#[test]
fn a_backup_has_what_is_committed_while_a_run_writes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s.sqlite");
    let copy = directory.path().join("copy.sqlite");
    let all = events(1_000);
    let (first, rest) = all.split_at(all.len() - 1);
    let mut writer = Writer::open(&path).unwrap();
    first.iter().for_each(|event| writer.write(RUN, event).unwrap());
    writer.flush().unwrap();
    File::create(&copy).unwrap();
    back_up(&path, &copy).unwrap();
    rest.iter().for_each(|event| writer.write(RUN, event).unwrap());
    assert_eq!(writer.store().load_run(RUN).unwrap(), written(&all).store().load_run(RUN).unwrap());

    let beside = |suffix: &str| directory.path().join(format!("copy.sqlite{suffix}")).exists();
    assert!(!beside("-wal") && !beside("-journal"), "the copy is not one file");
    assert_eq!(fs::read(&copy).unwrap()[18..20], [1, 1], "the copy needs a log beside it");
    assert_eq!(check(&copy).unwrap().damage, Vec::<String>::new());
    let kept = Store::open_existing(&copy).unwrap().load_run(RUN).unwrap();
    assert_eq!(kept, written(first).store().load_run(RUN).unwrap());
    // It takes the place of the store.
    Writer::open(&copy).unwrap().write("next", &started("next", 2_000, Purpose::Compare)).unwrap();
}

#[test]
fn a_store_is_compacted_while_nobody_writes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s.sqlite");
    assert!(matches!(compact(&path), Err(Error::Missing { .. })));
    with_a_log(&path);
    other_process(&path).execute_batch("DELETE FROM raw_outputs WHERE name = 'LOG'").unwrap();
    let before = Store::open_existing(&path).unwrap().load_run(RUN).unwrap();

    let writer = Writer::open(&path).unwrap();
    assert!(matches!(compact(&path), Err(Error::OtherWriter { .. })));
    drop(writer);
    let compacted = compact(&path).unwrap();
    assert!(compacted.bytes_after + LOG_BYTES as u64 / 10 * 9 < compacted.bytes_before, "{compacted:?}");
    assert!(!compacted.is_read, "{compacted:?}");
    assert_eq!(compacted.bytes_after, fs::metadata(&path).unwrap().len());
    assert_eq!(check(&path).unwrap().damage, Vec::<String>::new());
    assert_eq!(Store::open_existing(&path).unwrap().load_run(RUN).unwrap(), before);
}

#[test]
fn a_long_log_is_cut_when_it_has_been_moved_into_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s.sqlite");
    let mut writer = Writer::open(&path).unwrap();
    let log_bytes = || fs::metadata(directory.path().join("s.sqlite-wal")).unwrap().len();
    writer.write(RUN, &started(RUN, 1_000_000, Purpose::Compare)).unwrap();
    let raw = |bytes: usize| RunEvent::RawOutput {
        launch: 1,
        side: BASE,
        name: "LOG".to_owned(),
        text: "x".repeat(bytes),
    };
    writer.write(RUN, &raw(24 << 20)).unwrap();
    writer.flush().unwrap();
    assert!(log_bytes() > 24 << 20);
    writer.write(RUN, &RunEvent::VisitStarted { launch: 1, side: BASE }).unwrap();
    writer.write(RUN, &raw(1)).unwrap();
    writer.flush().unwrap();
    assert!(log_bytes() <= 17 << 20, "the log has {} bytes", log_bytes());
}
