//! Opening a store while others write to it, and files of other programs.

use super::{RUN, events};
use crate::lock::Lock;
use crate::{Error, Filter, Store, Writer, back_up, check};
use std::os::unix::fs::symlink;
use std::path::Path;

/// A store as the version before this one left it.
fn older(path: &Path) {
    drop(Writer::open(path).unwrap());
    let other = rusqlite::Connection::open(path).unwrap();
    let known: i64 = other.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    other.pragma_update(None, "user_version", known - 1).unwrap();
}

#[test]
fn a_store_is_not_brought_up_to_date_while_another_process_writes_to_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s.sqlite");
    older(&path);
    let before = std::fs::read(&path).unwrap();
    let held = Lock::of_writer(&path).unwrap();
    let error = Store::open_existing(&path).unwrap_err();
    let holder = format!("process {}", std::process::id());
    assert!(matches!(error, Error::OlderInUse { .. }) && error.to_string().contains(&holder), "{error}");
    let error = Writer::open(&path).unwrap_err();
    assert!(matches!(error, Error::OtherWriter { .. }), "{error}");
    assert!(std::fs::read(&path).unwrap() == before, "the file was changed");
    drop(held);
    // What the last migration made is there already, so that it cannot be applied again: that it was tried is what is seen.
    let error = Store::open_existing(&path).unwrap_err();
    assert!(matches!(error, Error::Sql { .. }), "{error}");
}

#[test]
fn a_store_of_another_program_is_refused_and_stays_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bookmarks.sqlite");
    rusqlite::Connection::open(&path).unwrap().execute_batch("CREATE TABLE bookmarks (url TEXT)").unwrap();
    let before = std::fs::read(&path).unwrap();
    for error in [
        Store::open(&path).unwrap_err(),
        Store::open_existing(&path).unwrap_err(),
        Writer::open(&path).unwrap_err(),
    ] {
        assert!(matches!(error, Error::NotAStore { .. }), "{error}");
    }
    assert!(std::fs::read(&path).unwrap() == before, "the file was changed");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "something was left beside the file");
}

#[test]
fn a_link_in_the_place_of_the_lock_file_is_not_written_through() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s.sqlite");
    drop(Writer::open(&path).unwrap());
    let lock = directory.path().join("s.sqlite.writer");
    let precious = directory.path().join("precious");
    std::fs::write(&precious, "of somebody").unwrap();
    let refused = || {
        let error = Writer::open(&path).unwrap_err();
        assert!(matches!(error, Error::NotALockFile { .. }), "{error}");
        assert!(error.to_string().contains("s.sqlite.writer` is no lock file"), "{error}");
        assert_eq!(std::fs::read_to_string(&precious).unwrap(), "of somebody");
        std::fs::remove_file(&lock).unwrap();
    };
    std::fs::remove_file(&lock).unwrap();
    symlink(&precious, &lock).unwrap();
    refused();
    std::fs::hard_link(&precious, &lock).unwrap();
    refused();
    symlink(directory.path().join("not-there"), &lock).unwrap();
    refused();
    assert!(!directory.path().join("not-there").exists(), "a file was made where a link led");
    drop(Writer::open(&path).unwrap());
}

#[test]
fn readers_leave_every_byte_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s.sqlite");
    let mut writer = Writer::open(&path).unwrap();
    events(1_000).iter().for_each(|event| writer.write(RUN, event).unwrap());
    drop(writer);
    let before = std::fs::read(&path).unwrap();
    for store in [Store::open_existing(&path).unwrap(), Store::open_to_browse(&path).unwrap()] {
        let head = store.run_head(RUN).unwrap().unwrap();
        store.live(&head).unwrap();
        store.load_run(RUN).unwrap();
        store.host_samples(RUN).unwrap();
        store.entries(&Filter::default(), 0, 9).unwrap();
    }
    check(&path).unwrap();
    let copy = directory.path().join("copy");
    std::fs::write(&copy, "").unwrap();
    back_up(&path, &copy).unwrap();
    assert!(std::fs::read(&path).unwrap() == before, "the file was changed");
    let log = std::fs::metadata(directory.path().join("s.sqlite-wal")).map_or(0, |log| log.len());
    assert_eq!(log, 0, "something was written to the log");
}

#[test]
fn a_reader_that_cannot_see_what_is_written_keeps_writers_away() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s.sqlite");
    drop(Writer::open(&path).unwrap());
    let reader = Lock::of_reader(&path).unwrap();
    assert!(reader.is_some());
    assert!(matches!(Writer::open(&path).unwrap_err(), Error::OtherWriter { .. }));
    assert!(Lock::of_reader(&path).unwrap().is_some(), "readers exclude each other");
    drop(reader);
    let _writer = Writer::open(&path).unwrap();
    assert!(matches!(Lock::of_reader(&path).unwrap_err(), Error::Busy { .. }));
}
