//! Every operation against the engine that does nothing, and against one that answers wrongly.

use super::*;
use crate::foreground::{Manner, Pace};
use crate::latency::Recorder;
use crate::planted::Slowdown;
use crate::rocksdb::api::{Api, Handle};
use crate::rocksdb::database::Options;
use crate::rocksdb::nothing;
use model::wire::BlockLimit;
use model::workload::{DataSet, Direction};
use std::collections::BTreeSet;
use std::ffi::c_char;
use std::path::Path;

const DATA: DataSet = DataSet { keys: 30, key_bytes: 20, value_bytes: 100, value_compressible_percent: 50 };

fn setup(operation: Operation) -> StepSetup {
    StepSetup { wal: false, ..StepSetup::plain(operation, DATA, 7) }
}

fn with_holes(operation: Operation) -> StepSetup {
    StepSetup { all_keys_exist: false, ..setup(operation) }
}

/// A database that holds what the step expects.
fn database(api: &Api, setup: &StepSetup) -> Arc<Database> {
    let options = Options::parse(api, "", false).unwrap();
    let database = Database::open(api, Path::new("none"), &options).unwrap();
    nothing::claim(&database, &setup.data, setup.all_keys_exist);
    Arc::new(database)
}

fn uniform(setup: &StepSetup) -> NextKey {
    NextKey::Uniform { random: generator(setup.seed, Stream::Foreground(0)), keys: setup.data.keys }
}

/// Keys found by each of so many calls.
fn found(operation: &mut impl Operate, calls: usize) -> Vec<u64> {
    (0..calls).map(|_| operation.once().unwrap()).collect()
}

fn error(result: Result<u64, OperationError>) -> String {
    result.unwrap_err().to_string()
}

/// Of the keys that the engine has where not all exist.
fn has(number: u64) -> bool {
    number % 3 != 2
}

#[test]
fn fills_end_after_as_many_puts_as_there_are_keys() {
    for operation in [Operation::FillSequential, Operation::FillRandom] {
        let setup = setup(operation.clone());
        let database = Target::Database(database(&nothing::api(), &setup));
        let limit = BlockLimit::Operations { count: 1000 };
        let mut manner = Manner { pace: Pace::Closed, planted: Slowdown::none() };
        let mut runner = foreground(&database, &setup, 0, Company::default()).unwrap();
        let block = runner.run(limit, &mut manner, &mut Recorder::new(), None);
        assert_eq!((block.operations, block.failed_operations), (30, 0), "{operation:?}");
    }
}

#[test]
fn threads_share_a_fill_in_random_order_and_draw_with_replacement() {
    let mut drawn = Vec::new();
    for thread in 0..4 {
        let random = generator(7, Stream::Foreground(thread));
        let mut next = NextKey::Limited { random, keys: 1000, left: share_of(1000, u64::from(thread), 4) };
        drawn.extend(std::iter::from_fn(|| next.take()));
    }
    assert_eq!(drawn.len(), 1000);
    assert!(drawn.iter().all(|number| *number < 1000));
    let different: BTreeSet<u64> = drawn.into_iter().collect();
    // 1 - 1/e of them, 632, with a standard deviation of 10.
    assert!((590..=675).contains(&different.len()), "{}", different.len());
}

#[test]
fn a_key_that_is_missing_is_wrong_only_where_all_exist() {
    let setup = with_holes(Operation::ReadRandom);
    let database = database(&nothing::api(), &setup);
    let mut keys = uniform(&setup);
    let expected: Vec<u64> = (0..100).map(|_| u64::from(has(keys.take().unwrap()))).collect();
    assert_eq!(found(&mut Get::new(&database, &setup, uniform(&setup)), 100), expected);
    let strict = StepSetup { all_keys_exist: true, ..setup };
    let mut get = Get::new(&database, &strict, NextKey::Sequential { next: 1, end: 3 });
    assert_eq!(get.once().unwrap(), 1);
    assert_eq!(error(get.once()), "wrong answer: key 2 was not found, though it was written");
}

#[test]
fn a_value_of_another_length_is_wrong() {
    let setup = setup(Operation::ReadRandom);
    let database = database(&nothing::api(), &setup);
    let longer = StepSetup { data: DataSet { value_bytes: 101, ..DATA }, ..setup };
    let sequential = || NextKey::Sequential { next: 4, end: 30 };
    let expected = "wrong answer: at key 4 a value has 100 bytes, 101 were written";
    assert_eq!(error(Get::new(&database, &longer, sequential()).once()), expected);
    assert_eq!(error(MultiGet::new(&database, &longer, sequential(), 3).once()), expected);
    let range = iterate::Range { nexts: 0, direction: Direction::Forward };
    assert_eq!(error(Seek::new(&database, &longer, sequential(), range).once()), expected);
}

/// The same by the newer and by the older function.
#[test]
fn a_batch_is_as_many_operations_as_keys_by_either_function() {
    let older = Api { optional: Default::default(), ..nothing::api() };
    for (api, name) in [(nothing::api(), "rocksdb_batched_multi_get_cf"), (older, "rocksdb_multi_get")] {
        let operation = Operation::MultiRead { batch: 4 };
        let strict = setup(operation.clone());
        let all = database(&api, &strict);
        let target = Target::Database(Arc::clone(&all));
        assert_eq!(api_of(&target, &operation), Some(name));
        assert_eq!(api_of(&target, &Operation::ReadRandom), None);
        let mut batch = MultiGet::new(&all, &strict, uniform(&strict), 4);
        assert_eq!(batch.per_call(), 4);
        assert_eq!(found(&mut batch, 3), [4, 4, 4]);

        let loose = with_holes(operation);
        let some = database(&api, &loose);
        let sequential = || NextKey::Sequential { next: 0, end: 30 };
        assert_eq!(found(&mut MultiGet::new(&some, &loose, sequential(), 4), 2), [3, 3]);
        let mut batch = MultiGet::new(&some, &strict, sequential(), 4);
        assert_eq!(error(batch.once()), "wrong answer: key 2 was not found, though it was written");
        assert!(error(batch.once()).contains("key 5"), "the batch after a wrong one is checked as well");
    }
}

unsafe extern "C" fn multi_get_fails(
    _: Handle,
    _: Handle,
    count: usize,
    _: *const *const c_char,
    _: *const usize,
    values: *mut *mut c_char,
    _: *mut usize,
    errors: *mut *mut c_char,
) {
    for index in 0..count {
        // SAFETY: both lists have `count` places; the engine of the test frees nothing.
        unsafe {
            *values.add(index) = std::ptr::null_mut();
            *errors.add(index) =
                if index == 1 { c"IO error".as_ptr().cast_mut() } else { std::ptr::null_mut() };
        }
    }
}

#[test]
fn an_error_of_one_key_is_the_error_of_the_batch() {
    let mut api = Api { optional: Default::default(), ..nothing::api() };
    api.functions.multi_get = multi_get_fails;
    let setup = with_holes(Operation::MultiRead { batch: 3 });
    let database = database(&api, &setup);
    let mut batch = MultiGet::new(&database, &setup, uniform(&setup), 3);
    assert_eq!(error(batch.once()), "IO error");
}

fn seek(api: &Api, setup: &StepSetup, range: iterate::Range, from: u64) -> Seek {
    let database = database(api, setup);
    Seek::new(&database, setup, NextKey::Sequential { next: from, end: DATA.keys }, range)
}

#[test]
fn a_seek_reads_its_range_in_both_directions_and_stops_at_the_ends() {
    for direction in [Direction::Forward, Direction::Reverse] {
        let operation = Operation::SeekRandom { nexts: 10, direction, among_keys: None };
        let range = iterate::Range { nexts: 10, direction };
        assert_eq!(found(&mut seek(&nothing::api(), &setup(operation.clone()), range, 0), 30), [1; 30]);
        let there: Vec<u64> = (0..30).map(|number| u64::from(has(number))).collect();
        assert_eq!(found(&mut seek(&nothing::api(), &with_holes(operation), range, 0), 30), there);
    }
}

#[test]
fn a_seek_that_finds_less_or_the_wrong_entries_is_wrong() {
    let expect = |direction, from, expected: &str| {
        // The database has holes, and the step does not know of them.
        let range = iterate::Range { nexts: 3, direction };
        let strict = setup(Operation::SeekRandom { nexts: 3, direction, among_keys: None });
        let database = database(&nothing::api(), &StepSetup { all_keys_exist: false, ..strict.clone() });
        let next = NextKey::Sequential { next: from, end: DATA.keys };
        let mut seek = Seek::new(&database, &strict, next, range);
        assert_eq!(error(seek.once()), format!("wrong answer: {expected}"));
    };
    expect(Direction::Forward, 0, "key 4 came where key 3 should be");
    expect(Direction::Reverse, 7, "key 3 came where key 4 should be");
    expect(Direction::Forward, 2, "key 3 came where key 2 should be");
    expect(Direction::Forward, 29, "key 29 was not found, though it was written");
    expect(Direction::Forward, 28, "the range from key 28 ended after 1 of 2 entries");
}

unsafe extern "C" fn stays(_: Handle) {}

#[test]
fn an_iterator_that_does_not_move_is_wrong() {
    let mut api = nothing::api();
    (api.functions.iter_next, api.functions.iter_prev) = (stays, stays);
    for (direction, next) in [(Direction::Forward, 8), (Direction::Reverse, 2)] {
        let operation = Operation::SeekRandom { nexts: 3, direction, among_keys: None };
        for setup in [setup(operation.clone()), with_holes(operation)] {
            let range = iterate::Range { nexts: 3, direction };
            let number = if setup.all_keys_exist { 5 } else { 4 };
            let next = if setup.all_keys_exist { next } else { next - 1 };
            let mut seek = seek(&api, &setup, range, number);
            let expected = format!("wrong answer: key {number} came where key {next} should be");
            assert_eq!(error(seek.once()), expected);
        }
    }
}

#[test]
fn a_pass_over_all_entries_wraps_and_counts_each() {
    let strict = setup(Operation::ReadSequential { one_pass: false });
    let all = database(&nothing::api(), &strict);
    assert_eq!(found(&mut Sequential::new(&all, &strict, false), 75), [1; 75]);
    let loose = with_holes(Operation::ReadSequential { one_pass: false });
    let some = database(&nothing::api(), &loose);
    assert_eq!(found(&mut Sequential::new(&some, &loose, false), 75), [1; 75]);
}

#[test]
fn one_pass_ends_with_the_last_entry_and_the_next_block_begins_with_the_first() {
    let setup = setup(Operation::ReadSequential { one_pass: true });
    let database = database(&nothing::api(), &setup);
    let mut pass = Sequential::new(&database, &setup, true);
    for _ in 0..2 {
        assert_eq!(found(&mut pass, 30), [1; 30]);
        assert!(matches!(pass.once(), Err(OperationError::Exhausted)));
    }
}

#[test]
fn seeks_are_among_the_first_keys() {
    let operation = Operation::SeekRandom { nexts: 0, direction: Direction::Forward, among_keys: Some(3) };
    let setup = setup(operation);
    let database = database(&nothing::api(), &setup);
    // Of an engine that has only those, any other key would be missing.
    nothing::claim(&database, &DataSet { keys: 3, ..DATA }, true);
    let mut runner = of_database(&database, &setup, 0).unwrap();
    let mut manner = Manner { pace: Pace::Closed, planted: Slowdown::none() };
    let limit = BlockLimit::Operations { count: 200 };
    let block = runner.run(limit, &mut manner, &mut Recorder::new(), None);
    assert_eq!((block.operations, block.failed_operations), (200, 0), "{:?}", block.first_error);
}

#[test]
fn a_pass_that_misses_an_entry_is_wrong_and_begins_again() {
    let strict = setup(Operation::ReadSequential { one_pass: false });
    let database = database(&nothing::api(), &strict);
    let mut pass = Sequential::new(&database, &strict, false);
    nothing::claim(&database, &DATA, false);
    assert_eq!(found(&mut pass, 2), [1, 1]);
    assert_eq!(error(pass.once()), "wrong answer: key 3 came where key 2 should be");
    assert_eq!(found(&mut pass, 2), [1, 1]);
    nothing::claim(&database, &DataSet { keys: 20, ..DATA }, true);
    assert_eq!(found(&mut pass, 18).len(), 18);
    assert_eq!(error(pass.once()), "wrong answer: the range from key 0 ended after 20 of 30 entries");
    nothing::claim(&database, &DataSet { keys: 0, ..DATA }, true);
    assert_eq!(error(pass.once()), "wrong answer: the database has no entries");
}

#[test]
fn a_compaction_that_fails_in_the_background_is_an_error() {
    unsafe extern "C" fn more_each_time(_: Handle, _: *const c_char, out: *mut u64) -> std::ffi::c_int {
        thread_local! {
            static ERRORS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
        }
        ERRORS.set(ERRORS.get() + 1);
        // SAFETY: the caller gives a place for the value.
        unsafe { *out = ERRORS.get() };
        0
    }
    let setup = setup(Operation::Compact);
    assert_eq!(Compact::new(&database(&nothing::api(), &setup)).once().unwrap(), 0);
    let mut api = nothing::api();
    api.functions.property_int = more_each_time;
    let failed = error(Compact::new(&database(&api, &setup)).once());
    assert!(failed.contains("1 flushes or compactions failed"), "{failed}");
}
