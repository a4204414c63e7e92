//! What settling asks of an engine and in which order, against one whose tree is a few numbers.

use super::super::api::{Api, ErrorOut, Handle, OptionalFunctions};
use super::super::database::{Database, Options};
use super::super::nothing;
use super::*;
use std::cell::RefCell;
use std::ffi::{c_char, c_int};
use std::path::Path;

/// The tree, and what was asked of it.
#[derive(Debug, Default)]
struct Tree {
    calls: Vec<String>,
    level0_files: u64,
    /// Polls that still find a compaction running.
    busy_polls: u32,
    /// Whether level 0 empties once its trigger is 1.
    compacts: bool,
    background_errors: u64,
    wait_fails: bool,
}

thread_local! {
    static TREE: RefCell<Tree> = RefCell::new(Tree::default());
}

fn call(text: &str) {
    TREE.with_borrow_mut(|tree| tree.calls.push(text.to_owned()));
}

unsafe extern "C" fn flush(_: Handle, _: Handle, _: ErrorOut) {
    call("flush");
}

unsafe extern "C" fn compact_range(_: Handle, _: *const c_char, _: usize, _: *const c_char, _: usize) {
    call("compact");
}

unsafe extern "C" fn property_int(_: Handle, name: *const c_char, out: *mut u64) -> c_int {
    // SAFETY: the name is terminated, and the caller gives a place for the value.
    let (name, out) = unsafe { (CStr::from_ptr(name), &mut *out) };
    *out = TREE.with_borrow_mut(|tree| match name.to_bytes() {
        b"rocksdb.background-errors" => tree.background_errors,
        b"rocksdb.num-running-compactions" if tree.busy_polls > 0 => {
            tree.busy_polls -= 1;
            if tree.busy_polls == 0 && tree.compacts {
                tree.level0_files = 0;
            }
            1
        }
        _ => 0,
    });
    0
}

unsafe extern "C" fn property_value(_: Handle, name: *const c_char) -> *mut c_char {
    // SAFETY: the name is terminated.
    assert_eq!(unsafe { CStr::from_ptr(name) }, c"rocksdb.num-files-at-level0");
    // Lives as long as the test; the engine that does nothing frees nothing either.
    let text = std::ffi::CString::new(TREE.with_borrow(|tree| tree.level0_files.to_string()));
    text.unwrap().into_raw()
}

unsafe extern "C" fn set_options(
    _: Handle,
    count: c_int,
    names: *const *const c_char,
    values: *const *const c_char,
    _: ErrorOut,
) {
    assert_eq!(count, 1);
    // SAFETY: both lists have one terminated text.
    let (name, value) = unsafe { (CStr::from_ptr(*names), CStr::from_ptr(*values)) };
    call(&format!("{}={}", name.to_string_lossy(), value.to_string_lossy()));
    TREE.with_borrow_mut(|tree| {
        if value == c"1" && tree.compacts {
            tree.busy_polls = 4;
        }
    });
}

unsafe extern "C" fn set_timeout(_: Handle, micros: u64) {
    assert!(micros > 0, "0 would be without end");
    call("timeout");
}

unsafe extern "C" fn wait_for_compact(_: Handle, _: Handle, error: ErrorOut) {
    call("wait");
    if TREE.with_borrow(|tree| tree.wait_fails) {
        // SAFETY: the caller gives a place for the error; nobody frees it.
        unsafe { *error = c"IO error: no space".as_ptr().cast_mut() };
    }
}

/// An engine with that tree, as old releases are or as newer ones.
fn engine(newer: bool) -> Api {
    let mut api = nothing::api();
    api.functions.flush = flush;
    api.functions.compact_range = compact_range;
    api.functions.property_int = property_int;
    api.functions.property_value = property_value;
    api.functions.set_options = set_options;
    api.optional = if newer {
        OptionalFunctions {
            wait_for_compact: Some(wait_for_compact),
            wait_for_compact_options_set_timeout: Some(set_timeout),
            ..api.optional
        }
    } else {
        OptionalFunctions::default()
    };
    api
}

/// Settles a tree; gives the result and all calls in their order.
fn run(
    tree: Tree,
    newer: bool,
    options: &str,
    to: Settle,
    timeout: Nanos,
) -> (Result<Nanos, SettleError>, Vec<String>) {
    TREE.set(tree);
    let api = engine(newer);
    let options = Options::parse(&api, options, false).unwrap();
    let database = Database::open(&api, Path::new("none"), &options).unwrap();
    let result = settle(&database, to, timeout);
    drop(database);
    (result, TREE.take().calls)
}

const TIMEOUT: Nanos = Nanos::from_secs(20);

fn check(tree: Tree, options: &str, to: Settle, older_calls: &[&str], newer_calls: &[&str]) {
    let Tree { level0_files, compacts, busy_polls, .. } = tree;
    let same = || Tree { level0_files, compacts, busy_polls, ..Tree::default() };
    for (newer, expected) in [(false, older_calls), (true, newer_calls)] {
        let (result, calls) = run(same(), newer, options, to, TIMEOUT);
        assert!(result.is_ok(), "{result:?}");
        assert_eq!(calls, expected, "{to:?}, newer: {newer}");
    }
}

#[test]
fn old_and_new_releases_are_asked_for_the_same_shape() {
    check(Tree::default(), "", Settle::None, &[], &[]);
    check(Tree::default(), "", Settle::Flushed, &["flush"], &["flush"]);
    let busy = Tree { busy_polls: 3, ..Tree::default() };
    check(busy, "", Settle::Drained, &["flush"], &["flush", "timeout", "wait"]);
    let all = Settle::FullyCompacted;
    check(Tree::default(), "", all, &["flush", "compact"], &["flush", "compact", "timeout", "wait"]);
}

#[test]
fn level_0_is_emptied_by_its_trigger_which_is_set_back() {
    let tree = Tree { level0_files: 3, compacts: true, ..Tree::default() };
    let trigger = |value: &str| format!("level0_file_num_compaction_trigger={value}");
    let (lower, former) = (trigger("1"), trigger("8"));
    check(
        tree,
        &former,
        Settle::Level0Compacted,
        &["flush", &lower, &former],
        &["flush", "timeout", "wait", &lower, &former, "timeout", "wait"],
    );
}

#[test]
fn level_0_is_left_alone_where_it_is_empty_or_the_style_has_no_levels() {
    let only_drained = (["flush"], ["flush", "timeout", "wait"]);
    let to = Settle::Level0Compacted;
    check(Tree::default(), "", to, &only_drained.0, &only_drained.1);
    let universal = "compaction_style=kCompactionStyleUniversal";
    check(Tree { level0_files: 3, ..Tree::default() }, universal, to, &only_drained.0, &only_drained.1);
}

#[test]
fn a_level_0_that_nothing_empties_is_not_waited_for_for_ever() {
    let tree = Tree { level0_files: 3, ..Tree::default() };
    let (result, calls) = run(tree, false, "", Settle::Level0Compacted, TIMEOUT);
    assert!(result.is_ok(), "{result:?}");
    assert_eq!(calls.last().map(String::as_str), Some("level0_file_num_compaction_trigger=4"));
}

#[test]
fn the_bound_holds_and_the_trigger_is_set_back_all_the_same() {
    for newer in [false, true] {
        let tree = Tree { busy_polls: u32::MAX, ..Tree::default() };
        let (result, _) = run(tree, newer, "", Settle::Drained, Nanos::from_millis(12));
        assert!(matches!(result, Err(SettleError::TimedOut { pending: 1, .. })), "{result:?}");
    }
    // Three quiet polls, and then a level 0 that would need more than what is left of the timeout.
    let tree = Tree { level0_files: 3, ..Tree::default() };
    let (result, calls) = run(tree, false, "", Settle::Level0Compacted, Nanos::from_millis(40));
    assert!(matches!(result, Err(SettleError::TimedOut { pending: 0, .. })), "{result:?}");
    assert_eq!(calls.last().map(String::as_str), Some("level0_file_num_compaction_trigger=4"));
}

#[test]
fn what_failed_in_the_engine_is_told_in_its_words() {
    let tree = Tree { wait_fails: true, ..Tree::default() };
    let (result, _) = run(tree, true, "", Settle::Drained, TIMEOUT);
    let Err(SettleError::Engine(error)) = result else { panic!("{result:?}") };
    assert_eq!(error.0, "IO error: no space");
}
