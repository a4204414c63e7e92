//! An engine that does nothing and answers as expected, behind the same table of functions: what a step
//! costs against it is the client's own cost.
//!
//! It has the keys that a step claims, all of them or, after a fill in random order, all but every third. The
//! handle of the database is its claims; all other handles are the database's or are never followed.

use super::api::{Api, ErrorOut, Functions, Handle, OptionalFunctions};
use super::database::Database;
use crate::keys::number_of;
use model::workload::DataSet;
use std::cell::{Cell, UnsafeCell};
use std::ffi::{c_char, c_int, c_uchar, c_void};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// The engine, with the functions of the newest releases.
pub fn api() -> Api {
    let optional = OptionalFunctions {
        batched_multi_get_cf: Some(batched_multi_get_cf),
        wait_for_compact: Some(write_nothing),
        wait_for_compact_options_create: Some(create),
        wait_for_compact_options_destroy: Some(take),
        wait_for_compact_options_set_timeout: Some(set_time),
        ..OptionalFunctions::default()
    };
    Api {
        optional,
        functions: Functions {
            options_create: create,
            options_destroy: take,
            get_options_from_string: parse,
            open_column_families: open,
            column_family_handle_destroy: take,
            close,
            free: take,
            writeoptions_create: create,
            writeoptions_destroy: take,
            writeoptions_disable_wal: set_int,
            writeoptions_set_sync: set_char,
            readoptions_create: create,
            readoptions_destroy: take,
            writebatch_create: create,
            writebatch_destroy: take,
            writebatch_clear: take,
            writebatch_put,
            write,
            get_pinned,
            pinnableslice_value: value,
            pinnableslice_destroy: take,
            multi_get,
            create_iterator,
            iter_destroy: take,
            iter_seek,
            iter_seek_to_first,
            iter_next,
            iter_prev,
            iter_valid,
            iter_key,
            iter_value: value,
            iter_get_error: no_error,
            flushoptions_create: create,
            flushoptions_destroy: take,
            flush: write_nothing,
            compact_range,
            property_int,
            property_value: no_text_of,
            set_options,
            options_enable_statistics: take,
            options_statistics_get_string: no_text,
            livefiles: itself,
            livefiles_count: zero,
            livefiles_level: zero_of,
            livefiles_size: size_of_none,
            livefiles_destroy: take,
            envoptions_create: create,
            envoptions_destroy: take,
            sstfilewriter_create,
            sstfilewriter_open: file_open,
            sstfilewriter_put: file_put,
            sstfilewriter_finish: no_error,
            sstfilewriter_destroy: take,
            ingestoptions_create: create,
            set_perf_level,
            ingestoptions_set_move_files: set_char,
            ingestoptions_destroy: take,
            ingest_external_file: ingest,
        },
    }
}

/// What the database claims to hold.
struct Claims {
    keys: AtomicU64,
    key_bytes: AtomicUsize,
    value_bytes: AtomicUsize,
    all_keys_exist: AtomicBool,
}

/// Lets a database of this engine hold what a step expects.
pub fn claim(database: &Database, data: &DataSet, all_keys_exist: bool) {
    // SAFETY: the caller opened the database by this engine, so that its handle is its claims.
    let claims = unsafe { claims_of(database.handle()) };
    claims.keys.store(data.keys, Ordering::Relaxed);
    claims.key_bytes.store(data.key_bytes.min(LONGEST_KEY), Ordering::Relaxed);
    claims.value_bytes.store(data.value_bytes, Ordering::Relaxed);
    claims.all_keys_exist.store(all_keys_exist, Ordering::Relaxed);
}

impl Claims {
    fn has(&self, number: u64) -> bool {
        number < self.keys.load(Ordering::Relaxed)
            && (self.all_keys_exist.load(Ordering::Relaxed) || number % 3 != 2)
    }
}

/// # Safety
/// The handle must be of a database that [`open`] made and [`close`] did not take yet.
unsafe fn claims_of<'a>(database: Handle) -> &'a Claims {
    // SAFETY: `open` made it of a box.
    unsafe { &*database.cast::<Claims>() }
}

/// The longest key of any data set.
const LONGEST_KEY: usize = 1024;
/// The place of an iterator before the first key or behind the last.
const NOWHERE: u64 = u64::MAX;

thread_local! {
    /// The number of the key that this thread's iterator stands on: a thread has one at a time.
    static PLACE: Cell<u64> = const { Cell::new(NOWHERE) };
    /// That key's bytes, while it is being looked at.
    static KEY: UnsafeCell<[u8; LONGEST_KEY]> = const { UnsafeCell::new([b'0'; LONGEST_KEY]) };
}

/// A handle that is not null and never followed.
fn some_handle() -> Handle {
    std::ptr::without_provenance_mut::<c_void>(8)
}

unsafe extern "C" fn create() -> Handle {
    some_handle()
}
unsafe extern "C" fn take(_: Handle) {}
unsafe extern "C" fn parse(_: Handle, _: *const c_char, _: Handle, _: ErrorOut) {}
unsafe extern "C" fn open(
    _: Handle,
    _: *const c_char,
    _: c_int,
    _: *const *const c_char,
    _: *const Handle,
    families: *mut Handle,
    _: ErrorOut,
) -> Handle {
    // SAFETY: the caller gives a place for the handle of one family.
    unsafe { *families = some_handle() };
    let nothing = Claims {
        keys: AtomicU64::new(0),
        key_bytes: AtomicUsize::new(0),
        value_bytes: AtomicUsize::new(0),
        all_keys_exist: AtomicBool::new(true),
    };
    Box::into_raw(Box::new(nothing)).cast()
}
unsafe extern "C" fn close(database: Handle) {
    // SAFETY: `open` made it of a box, and a database is closed once.
    drop(unsafe { Box::from_raw(database.cast::<Claims>()) });
}
unsafe extern "C" fn set_perf_level(_: c_int) {}
unsafe extern "C" fn set_int(_: Handle, _: c_int) {}
unsafe extern "C" fn set_char(_: Handle, _: c_uchar) {}
unsafe extern "C" fn writebatch_put(_: Handle, _: *const c_char, _: usize, _: *const c_char, _: usize) {}
unsafe extern "C" fn write(_: Handle, _: Handle, _: Handle, _: ErrorOut) {}
unsafe extern "C" fn get_pinned(
    database: Handle,
    _: Handle,
    key: *const c_char,
    length: usize,
    _: ErrorOut,
) -> Handle {
    // SAFETY: the database is open, the key valid for its length.
    unsafe { if has(database, key, length) { database } else { std::ptr::null_mut() } }
}
/// # Safety
/// The database must be open, the key valid for its length.
unsafe fn has(database: Handle, key: *const c_char, length: usize) -> bool {
    // SAFETY: as the caller promises.
    unsafe { claims_of(database).has(number_of(std::slice::from_raw_parts(key.cast::<u8>(), length))) }
}
unsafe extern "C" fn batched_multi_get_cf(
    database: Handle,
    _: Handle,
    _: Handle,
    count: usize,
    keys: *const *const c_char,
    lengths: *const usize,
    values: *mut Handle,
    errors: *mut *mut c_char,
    _: bool,
) {
    for index in 0..count {
        // SAFETY: the caller gives `count` places in each list.
        unsafe {
            let there = has(database, *keys.add(index), *lengths.add(index));
            *values.add(index) = if there { database } else { std::ptr::null_mut() };
            *errors.add(index) = std::ptr::null_mut();
        }
    }
}
unsafe extern "C" fn multi_get(
    database: Handle,
    _: Handle,
    count: usize,
    keys: *const *const c_char,
    lengths: *const usize,
    values: *mut *mut c_char,
    value_lengths: *mut usize,
    errors: *mut *mut c_char,
) {
    for index in 0..count {
        // SAFETY: the caller gives `count` places in each list.
        unsafe {
            let there = has(database, *keys.add(index), *lengths.add(index));
            *values.add(index) = if there { database.cast() } else { std::ptr::null_mut() };
            *value_lengths.add(index) = claims_of(database).value_bytes.load(Ordering::Relaxed);
            *errors.add(index) = std::ptr::null_mut();
        }
    }
}
/// Of a slice or an iterator: both are the handle of their database.
unsafe extern "C" fn value(database: Handle, length: *mut usize) -> *const c_char {
    // SAFETY: the database is open; the caller gives a place for the length.
    unsafe { *length = claims_of(database).value_bytes.load(Ordering::Relaxed) };
    std::ptr::null()
}
unsafe extern "C" fn create_iterator(database: Handle, _: Handle) -> Handle {
    PLACE.set(NOWHERE);
    database
}
unsafe extern "C" fn sstfilewriter_create(_: Handle, _: Handle) -> Handle {
    some_handle()
}
/// Sets the iterator to the first of these numbers that the database has, or nowhere.
fn place(claims: &Claims, mut numbers: impl Iterator<Item = u64>) {
    // Of three in a row one is there, unless all keys are behind us.
    PLACE.set(numbers.find(|number| claims.has(*number)).unwrap_or(NOWHERE));
}
unsafe extern "C" fn iter_seek(database: Handle, key: *const c_char, length: usize) {
    // SAFETY: the database is open, the key valid for its length.
    unsafe {
        let number = number_of(std::slice::from_raw_parts(key.cast::<u8>(), length));
        place(claims_of(database), (number..NOWHERE).take(2));
    }
}
unsafe extern "C" fn iter_seek_to_first(database: Handle) {
    // SAFETY: the database is open.
    place(unsafe { claims_of(database) }, 0..2);
}
unsafe extern "C" fn iter_next(database: Handle) {
    // SAFETY: the database is open.
    place(unsafe { claims_of(database) }, (PLACE.get() + 1..NOWHERE).take(2));
}
unsafe extern "C" fn iter_prev(database: Handle) {
    // SAFETY: the database is open.
    place(unsafe { claims_of(database) }, (0..PLACE.get()).rev().take(2));
}
unsafe extern "C" fn iter_valid(_: Handle) -> c_uchar {
    c_uchar::from(PLACE.get() != NOWHERE)
}
unsafe extern "C" fn iter_key(database: Handle, length: *mut usize) -> *const c_char {
    KEY.with(|key| {
        // SAFETY: the caller gives a place for the length. The bytes are this thread's, and read by it only, before
        // the iterator moves.
        unsafe {
            *length = claims_of(database).key_bytes.load(Ordering::Relaxed);
            key.get().cast::<[u8; 8]>().write(PLACE.get().to_be_bytes());
        }
        key.get().cast::<c_char>().cast_const()
    })
}
unsafe extern "C" fn no_error(_: Handle, _: ErrorOut) {}
unsafe extern "C" fn write_nothing(_: Handle, _: Handle, _: ErrorOut) {}
unsafe extern "C" fn compact_range(_: Handle, _: *const c_char, _: usize, _: *const c_char, _: usize) {}
unsafe extern "C" fn set_options(
    _: Handle,
    _: c_int,
    _: *const *const c_char,
    _: *const *const c_char,
    _: ErrorOut,
) {
}
unsafe extern "C" fn set_time(_: Handle, _: u64) {}
unsafe extern "C" fn no_text(_: Handle) -> *mut c_char {
    std::ptr::null_mut()
}
unsafe extern "C" fn no_text_of(_: Handle, _: *const c_char) -> *mut c_char {
    std::ptr::null_mut()
}
unsafe extern "C" fn property_int(_: Handle, _: *const c_char, out: *mut u64) -> c_int {
    // SAFETY: the caller gives a place for the value.
    unsafe { *out = 0 };
    0
}
unsafe extern "C" fn itself(handle: Handle) -> Handle {
    handle
}
unsafe extern "C" fn zero(_: Handle) -> c_int {
    0
}
unsafe extern "C" fn zero_of(_: Handle, _: c_int) -> c_int {
    0
}
unsafe extern "C" fn size_of_none(_: Handle, _: c_int) -> usize {
    0
}
unsafe extern "C" fn file_open(_: Handle, _: *const c_char, _: ErrorOut) {}
unsafe extern "C" fn file_put(
    _: Handle,
    _: *const c_char,
    _: usize,
    _: *const c_char,
    _: usize,
    _: ErrorOut,
) {
}
unsafe extern "C" fn ingest(_: Handle, _: *const *const c_char, _: usize, _: Handle, _: ErrorOut) {}
