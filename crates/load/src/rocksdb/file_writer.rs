//! One sorted file, written by the engine outside of any database.

use super::api::{Api, Functions, Handle};
use super::database::{EngineError, Options, c_string, checked};
use std::path::Path;

/// A file that is being written: keys in ascending order, then [`FileWriter::finish`].
pub struct FileWriter {
    functions: Functions,
    environment: Handle,
    handle: Handle,
}

// SAFETY: a writer is used by one thread at a time; the engine ties it to none.
unsafe impl Send for FileWriter {}

impl FileWriter {
    /// Begins a file of this name. What the name had before is lost.
    pub fn open(api: &Api, options: &Options, path: &Path) -> Result<FileWriter, EngineError> {
        let functions = api.functions;
        let name = c_string(&path.to_string_lossy())?;
        // SAFETY: both handles are destroyed in `drop`; the engine copies the options. The name outlives the call.
        unsafe {
            let environment = (functions.envoptions_create)();
            let handle = (functions.sstfilewriter_create)(environment, options.handle());
            let writer = FileWriter { functions, environment, handle };
            checked(&functions, |error| (functions.sstfilewriter_open)(handle, name.as_ptr(), error))?;
            Ok(writer)
        }
    }

    /// Adds a key, which must be above the one before it.
    #[inline]
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), EngineError> {
        // SAFETY: key and value are valid for their lengths; the writer copies them.
        checked(&self.functions, |error| unsafe {
            (self.functions.sstfilewriter_put)(
                self.handle,
                key.as_ptr().cast(),
                key.len(),
                value.as_ptr().cast(),
                value.len(),
                error,
            );
        })
    }

    /// Writes what is left of the file, and syncs it: the engine does so in all releases.
    pub fn finish(self) -> Result<(), EngineError> {
        // SAFETY: the writer is open.
        checked(&self.functions, |error| unsafe {
            (self.functions.sstfilewriter_finish)(self.handle, error);
        })
    }
}

impl Drop for FileWriter {
    fn drop(&mut self) {
        // SAFETY: made in `open`, destroyed once. One that was not finished leaves half a file to its caller.
        unsafe {
            (self.functions.sstfilewriter_destroy)(self.handle);
            (self.functions.envoptions_destroy)(self.environment);
        }
    }
}
