//! An open database and what is done with it: typed, with errors as text, never a null pointer to a caller.
//!
//! A `Database` lives as long as the worker's process needs it; readers and writers borrow it.

use super::api::{Api, ErrorOut, Functions, Handle};
use model::shape::{Level, Shape};
use model::units::Bytes;
use std::ffi::{CStr, CString, c_char};
use std::path::Path;

/// What the engine said of a failed call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EngineError(pub String);

/// Parsed options of an engine.
pub struct Options {
    functions: Functions,
    handle: Handle,
}

impl Options {
    /// Options from a string in RocksDB's own syntax, over the release's defaults. An unknown name is an
    /// error that names it.
    pub fn parse(api: &Api, text: &str) -> Result<Options, EngineError> {
        let functions = api.functions;
        let text = c_string(text)?;
        // SAFETY: both handles are fresh, the string is terminated, and `options` is destroyed on each path.
        unsafe {
            let defaults = (functions.options_create)();
            let options = Options { functions, handle: (functions.options_create)() };
            let parsed = checked(&functions, |error| {
                (functions.get_options_from_string)(defaults, text.as_ptr(), options.handle, error);
            });
            (functions.options_destroy)(defaults);
            parsed.map(|()| options)
        }
    }

    /// The handle, for calls that take options.
    pub fn handle(&self) -> Handle {
        self.handle
    }
}

impl Drop for Options {
    fn drop(&mut self) {
        // SAFETY: the handle is ours and RocksDB copied what it needs at `open`.
        unsafe { (self.functions.options_destroy)(self.handle) };
    }
}

/// An open database.
pub struct Database {
    functions: Functions,
    handle: Handle,
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
        let mut handle: Handle = std::ptr::null_mut();
        // SAFETY: options and path are valid for the call.
        checked(&functions, |error| unsafe {
            handle = (functions.open)(options.handle(), path.as_ptr(), error);
        })?;
        Ok(Database { functions, handle })
    }

    /// The table of functions, for the callers in this room.
    pub fn functions(&self) -> &Functions {
        &self.functions
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
    pub fn compact_all(&self) {
        // SAFETY: null pointers mean "from the first key to the last".
        unsafe {
            (self.functions.compact_range)(self.handle, std::ptr::null(), 0, std::ptr::null(), 0);
        }
    }

    /// An integer property; absent where the release does not know it.
    pub fn property(&self, name: &CStr) -> Option<u64> {
        let mut value = 0_u64;
        // SAFETY: the name is terminated and `value` outlives the call.
        let status = unsafe { (self.functions.property_int)(self.handle, name.as_ptr(), &mut value) };
        (status == 0).then_some(value)
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
        // SAFETY: nothing borrows the database any more.
        unsafe { (self.functions.close)(self.handle) };
    }
}

/// Runs a call that reports errors by pointer; the text is freed.
#[inline]
pub fn checked(functions: &Functions, call: impl FnOnce(ErrorOut)) -> Result<(), EngineError> {
    let mut error: *mut c_char = std::ptr::null_mut();
    call(&mut error);
    if error.is_null() {
        return Ok(());
    }
    Err(taken(functions, error))
}

#[cold]
fn taken(functions: &Functions, error: *mut c_char) -> EngineError {
    // SAFETY: RocksDB gives a terminated string that the caller must free with `rocksdb_free`.
    unsafe {
        let text = CStr::from_ptr(error).to_string_lossy().into_owned();
        (functions.free)(error.cast());
        EngineError(text)
    }
}

/// A C string; a NUL inside is an error that shows the text.
pub fn c_string(text: &str) -> Result<CString, EngineError> {
    CString::new(text).map_err(|_| EngineError(format!("{text:?} has a NUL character in it")))
}
