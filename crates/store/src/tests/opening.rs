//! Opening a store while others write to it, and files of other programs.

use crate::lock::Lock;
use crate::{Error, Store, Writer};
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
