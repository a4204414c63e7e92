//! An open database and what is done with it: typed, with errors as text, never a null pointer to a caller.
//!
//! A `Database` lives as long as the worker's process needs it; readers and writers borrow it.

use super::api::{Api, ErrorOut, Functions, Handle, OptionalFunctions};
use super::hyper_clock;
use super::tuning::Tuning;
use model::shape::{Level, Shape};
use model::units::Bytes;
use model::workload::PerfLevel;
use std::ffi::{CStr, CString, c_char};
use std::path::Path;
use std::ptr::null_mut;

/// What the engine said of a failed call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EngineError(pub String);

/// Parsed options of an engine.
pub struct Options {
    functions: Functions,
    handle: Handle,
    tuning: Tuning,
    text: String,
}

impl Options {
    /// Options from a string in RocksDB's own syntax, over the release's defaults, and with `cache_type`, which is not of that syntax. An
    /// unknown name is an error that names it. With `tickers` the engine counts them; that must be said before a database is opened.
    pub fn parse(api: &Api, text: &str, tickers: bool) -> Result<Options, EngineError> {
        let functions = api.functions;
        let tuning = Tuning::of(text);
        let (for_engine, cache) =
            hyper_clock::taken_out(text).map_err(|error| EngineError(error.to_string()))?;
        let (text, terminated) = (text.to_owned(), c_string(&for_engine)?);
        // SAFETY: both handles are fresh, the string is terminated, and `options` is destroyed on each path.
        unsafe {
            let defaults = (functions.options_create)();
            let options = Options { functions, handle: (functions.options_create)(), tuning, text };
            let given = cache.map_or(Ok(()), |cache| cache.give(api, defaults));
            let parsed = given.map_err(|error| EngineError(error.to_string())).and_then(|()| {
                checked(&functions, |error| {
                    (functions.get_options_from_string)(defaults, terminated.as_ptr(), options.handle, error);
                })
            });
            (functions.options_destroy)(defaults);
            parsed?;
            if tickers {
                (functions.options_enable_statistics)(options.handle);
            }
            Ok(options)
        }
    }

    /// The handle, for calls that take options.
    pub fn handle(&self) -> Handle {
        self.handle
    }

    /// Tickers and histograms of the database that was opened with these options; absent where they are not
    /// counted.
    pub fn tickers(&self) -> Option<String> {
        // SAFETY: the handle is ours; the text is given back.
        let text = unsafe { (self.functions.options_statistics_get_string)(self.handle) };
        taken(&self.functions, text)
    }
}

impl Drop for Options {
    fn drop(&mut self) {
        // SAFETY: the handle is ours and RocksDB copied what it needs at `open`.
        unsafe { (self.functions.options_destroy)(self.handle) };
    }
}

/// An open database, with its one column family.
///
/// It is opened with a list of families, because that gives the handle that some functions want; the plain
/// `rocksdb_open` makes the same call of the engine, but keeps that handle.
pub struct Database {
    functions: Functions,
    optional: OptionalFunctions,
    handle: Handle,
    column_family: Handle,
    tuning: Tuning,
    options: String,
}

// SAFETY: RocksDB's DB may be used from any thread; `Database` gives out no interior references.
unsafe impl Send for Database {}
// SAFETY: as above, all methods of RocksDB's DB that are called here are thread-safe.
unsafe impl Sync for Database {}

impl Database {
    /// Opens a database.
    pub fn open(api: &Api, directory: &Path, options: &Options) -> Result<Database, EngineError> {
        let functions = api.functions;
        let path = c_string(&directory.to_string_lossy())?;
        let (mut handle, mut column_family): (Handle, Handle) = (null_mut(), null_mut());
        let families = [c"default".as_ptr()];
        let family_options = [options.handle()];
        // SAFETY: options, path and the three lists of one are valid for the call.
        checked(&functions, |error| unsafe {
            handle = (functions.open_column_families)(
                options.handle(),
                path.as_ptr(),
                1,
                families.as_ptr(),
                family_options.as_ptr(),
                &mut column_family,
                error,
            );
        })?;
        let (tuning, options) = (options.tuning.clone(), options.text.clone());
        Ok(Database { functions, optional: api.optional, handle, column_family, tuning, options })
    }

    /// What the engine counts in this thread from now on.
    pub fn set_perf_level(&self, level: PerfLevel) {
        /// `rocksdb_disable` of c.h.
        const DISABLE: std::ffi::c_int = 1;
        match level {
            PerfLevel::EnableCount => {}
            // SAFETY: it sets a variable of this thread.
            PerfLevel::Disable => unsafe { (self.functions.set_perf_level)(DISABLE) },
        }
    }

    /// The table of functions, for the callers in this room.
    pub fn functions(&self) -> &Functions {
        &self.functions
    }

    /// The functions that not every release has, for the callers in this room.
    pub fn optional(&self) -> &OptionalFunctions {
        &self.optional
    }

    /// The library that it was opened with.
    pub fn api(&self) -> Api {
        Api { functions: self.functions, optional: self.optional }
    }

    /// The string of the options that it was opened with, in the engine's own syntax.
    pub fn options(&self) -> &str {
        &self.options
    }

    /// What settling must know of its options.
    pub fn tuning(&self) -> &Tuning {
        &self.tuning
    }

    /// The handle of the one column family, for the callers in this room.
    pub fn column_family(&self) -> Handle {
        self.column_family
    }

    /// The raw handle, for the callers in this room.
    pub fn handle(&self) -> Handle {
        self.handle
    }

    /// Writes all memtables to files and waits for it.
    pub fn flush(&self) -> Result<(), EngineError> {
        // SAFETY: the options live until the call returns.
        unsafe {
            let options = (self.functions.flushoptions_create)();
            let flushed = checked(&self.functions, |error| {
                (self.functions.flush)(self.handle, options, error);
            });
            (self.functions.flushoptions_destroy)(options);
            flushed
        }
    }

    /// Compacts the whole key range and waits for it.
    pub fn compact_all(&self) -> Result<(), EngineError> {
        let errors_before = self.background_errors();
        // SAFETY: null pointers mean "from the first key to the last".
        unsafe {
            (self.functions.compact_range)(self.handle, std::ptr::null(), 0, std::ptr::null(), 0);
        }
        self.no_background_errors_since(errors_before)
    }

    /// Errors of flushes and compactions since the database was opened.
    pub fn background_errors(&self) -> u64 {
        self.property(c"rocksdb.background-errors").unwrap_or(0)
    }

    /// An error where a flush or a compaction failed since `errors_before` was read: neither a compaction by hand
    /// nor a poll says so by itself.
    pub fn no_background_errors_since(&self, errors_before: u64) -> Result<(), EngineError> {
        let errors = self.background_errors().saturating_sub(errors_before);
        if errors == 0 {
            return Ok(());
        }
        Err(EngineError(format!("{errors} flushes or compactions failed; the engine's LOG says why")))
    }

    /// Changes options while the database is open.
    pub fn set_option(&self, name: &CStr, value: &CStr) -> Result<(), EngineError> {
        let (names, values) = ([name.as_ptr()], [value.as_ptr()]);
        // SAFETY: both lists of one are valid for the call.
        checked(&self.functions, |error| unsafe {
            (self.functions.set_options)(self.handle, 1, names.as_ptr(), values.as_ptr(), error);
        })
    }

    /// An integer property; absent where the release does not know it.
    pub fn property(&self, name: &CStr) -> Option<u64> {
        let mut value = 0_u64;
        // SAFETY: the name is terminated and `value` outlives the call.
        let status = unsafe { (self.functions.property_int)(self.handle, name.as_ptr(), &mut value) };
        (status == 0).then_some(value)
    }

    /// A property as text; absent where the release does not know it.
    pub fn property_text(&self, name: &CStr) -> Option<String> {
        // SAFETY: the name is terminated; the text is given back.
        let text = unsafe { (self.functions.property_value)(self.handle, name.as_ptr()) };
        taken(&self.functions, text)
    }

    /// Whether writes are being slowed or stopped because flushes or compactions lag behind.
    pub fn writes_are_delayed(&self) -> bool {
        [c"rocksdb.actual-delayed-write-rate", c"rocksdb.is-write-stopped"]
            .into_iter()
            .any(|name| self.property(name).unwrap_or(0) > 0)
    }

    /// Files and bytes per level, memtable bytes, pending compaction.
    pub fn shape(&self) -> Shape {
        let mut levels: Vec<Level> = Vec::new();
        // SAFETY: the list is ours until destroyed; indexes stay below its count.
        unsafe {
            let files = (self.functions.livefiles)(self.handle);
            for index in 0..(self.functions.livefiles_count)(files) {
                let level = (self.functions.livefiles_level)(files, index);
                let level = usize::try_from(level).unwrap_or(0);
                if levels.len() <= level {
                    levels.resize(level + 1, Level::default());
                }
                levels[level].files += 1;
                levels[level].bytes.0 += (self.functions.livefiles_size)(files, index) as u64;
            }
            (self.functions.livefiles_destroy)(files);
        }
        Shape {
            levels,
            memtable: Bytes(self.property(c"rocksdb.cur-size-all-mem-tables").unwrap_or(0)),
            pending_compaction: Bytes(
                self.property(c"rocksdb.estimate-pending-compaction-bytes").unwrap_or(0),
            ),
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // SAFETY: nothing borrows the database any more; handles of families go before it.
        unsafe {
            (self.functions.column_family_handle_destroy)(self.column_family);
            (self.functions.close)(self.handle);
        }
    }
}

/// Runs a call that reports errors by pointer; the text is freed.
#[inline]
pub fn checked(functions: &Functions, call: impl FnOnce(ErrorOut)) -> Result<(), EngineError> {
    let mut error: *mut c_char = null_mut();
    call(&mut error);
    if error.is_null() {
        return Ok(());
    }
    Err(error_text(functions, error))
}

/// The error behind a pointer that is not null; its text is given back to the engine.
#[cold]
pub fn error_text(functions: &Functions, error: *mut c_char) -> EngineError {
    EngineError(taken(functions, error).unwrap_or_default())
}

/// A text that the engine made for us, given back to it; absent where the pointer is null.
fn taken(functions: &Functions, text: *mut c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: RocksDB gives a terminated string that the caller must free with `rocksdb_free`.
    unsafe {
        let owned = CStr::from_ptr(text).to_string_lossy().into_owned();
        (functions.free)(text.cast());
        Some(owned)
    }
}

/// A C string; a NUL inside is an error that shows the text.
pub fn c_string(text: &str) -> Result<CString, EngineError> {
    CString::new(text).map_err(|_| EngineError(format!("{text:?} has a NUL character in it")))
}
