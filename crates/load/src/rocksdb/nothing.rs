//! An engine that does nothing and answers as expected, behind the same table of functions: what a step
//! costs against it is the client's own cost.

use super::api::{Api, ErrorOut, Functions, Handle};
use std::cell::Cell;
use std::ffi::{c_char, c_int, c_uchar, c_void};

/// The engine. `value_bytes` is the length that it claims for every value.
pub fn api(value_bytes: usize) -> Api {
    VALUE_BYTES.store(value_bytes, std::sync::atomic::Ordering::Relaxed);
    Api {
        functions: Functions {
            options_create: create,
            options_destroy: take,
            get_options_from_string: parse,
            open,
            close: take,
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
            create_iterator,
            iter_destroy: take,
            iter_seek: remember,
            iter_seek_to_first: take,
            iter_next: take,
            iter_valid: valid,
            iter_key,
            iter_value: value,
            iter_get_error: no_error,
            flushoptions_create: create,
            flushoptions_destroy: take,
            flush: write_nothing,
            compact_range,
            property_int,
            livefiles: itself,
            livefiles_count: zero,
            livefiles_level: zero_of,
            livefiles_size: size_of_none,
            livefiles_destroy: take,
            envoptions_create: create,
            envoptions_destroy: take,
            sstfilewriter_create: create_iterator,
            sstfilewriter_open: file_open,
            sstfilewriter_put: file_put,
            sstfilewriter_finish: no_error,
            sstfilewriter_destroy: take,
            ingestoptions_create: create,
            ingestoptions_set_move_files: set_char,
            ingestoptions_destroy: take,
            ingest_external_file: ingest,
        },
    }
}

static VALUE_BYTES: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

thread_local! {
    /// The key of this thread's last seek: what its iterator stands on.
    static SOUGHT: Cell<(*const c_char, usize)> = const { Cell::new((std::ptr::null(), 0)) };
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
unsafe extern "C" fn open(_: Handle, _: *const c_char, _: ErrorOut) -> Handle {
    some_handle()
}
unsafe extern "C" fn set_int(_: Handle, _: c_int) {}
unsafe extern "C" fn set_char(_: Handle, _: c_uchar) {}
unsafe extern "C" fn writebatch_put(_: Handle, _: *const c_char, _: usize, _: *const c_char, _: usize) {}
unsafe extern "C" fn write(_: Handle, _: Handle, _: Handle, _: ErrorOut) {}
unsafe extern "C" fn get_pinned(_: Handle, _: Handle, _: *const c_char, _: usize, _: ErrorOut) -> Handle {
    some_handle()
}
unsafe extern "C" fn value(_: Handle, length: *mut usize) -> *const c_char {
    // SAFETY: the caller gives a place for the length.
    unsafe { *length = VALUE_BYTES.load(std::sync::atomic::Ordering::Relaxed) };
    std::ptr::null()
}
unsafe extern "C" fn create_iterator(_: Handle, _: Handle) -> Handle {
    some_handle()
}
unsafe extern "C" fn remember(_: Handle, key: *const c_char, length: usize) {
    SOUGHT.set((key, length));
}
unsafe extern "C" fn valid(_: Handle) -> c_uchar {
    1
}
unsafe extern "C" fn iter_key(_: Handle, length: *mut usize) -> *const c_char {
    let (key, key_length) = SOUGHT.get();
    // SAFETY: the caller gives a place for the length.
    unsafe { *length = key_length };
    key
}
unsafe extern "C" fn no_error(_: Handle, _: ErrorOut) {}
unsafe extern "C" fn write_nothing(_: Handle, _: Handle, _: ErrorOut) {}
unsafe extern "C" fn compact_range(_: Handle, _: *const c_char, _: usize, _: *const c_char, _: usize) {}
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
