//! One operation of each kind against RocksDB, with its answer checked: a fast wrong answer is an error.

use crate::keys::{KeyBytes, Stream, below, generator};
use crate::rocksdb::api::Handle;
use crate::rocksdb::database::{Database, EngineError, checked};
use crate::values::Values;
use model::wire::StepSetup;
use model::workload::{DataSet, Operation};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::Arc;

/// Why an operation did not complete.
#[derive(Debug, thiserror::Error)]
pub enum OperationError {
    /// Every key of a fill has been written: no error of the engine.
    #[error("all keys are written")]
    Exhausted,
    /// The engine returned an error.
    #[error("{0}")]
    Engine(#[from] EngineError),
    /// The engine returned without an error, and wrongly.
    #[error("wrong answer: {0}")]
    WrongAnswer(String),
}

/// Something that can be done over and over.
pub trait Operate: Send {
    /// Does it once.
    fn once(&mut self) -> Result<(), OperationError>;
}

/// The foreground operation of one thread.
pub fn foreground(database: &Arc<Database>, setup: &StepSetup, thread: u32) -> Box<dyn BlockRunner> {
    let random = generator(setup.seed, Stream::Foreground(thread));
    let uniform = NextKey::Uniform { random, keys: setup.data.keys };
    match setup.operation {
        Operation::FillSequential => {
            let next = NextKey::Sequential { next: 0, end: setup.data.keys };
            Box::new(Put::new(database, setup, next))
        }
        Operation::Overwrite => Box::new(Put::new(database, setup, uniform)),
        Operation::ReadRandom => Box::new(Get::new(database, &setup.data, uniform)),
        Operation::SeekRandom { nexts } => Box::new(Seek::new(database, &setup.data, uniform, nexts)),
    }
}

/// The background writer: overwrites of its own key stream.
pub fn background_put(database: &Arc<Database>, setup: &StepSetup) -> Put {
    let random = generator(setup.seed, Stream::BackgroundWriter);
    Put::new(database, setup, NextKey::Uniform { random, keys: setup.data.keys })
}

pub use crate::foreground::BlockRunner;

/// Which key comes next.
enum NextKey {
    Sequential { next: u64, end: u64 },
    Uniform { random: Xoshiro256PlusPlus, keys: u64 },
}

impl NextKey {
    #[inline]
    fn take(&mut self) -> Option<u64> {
        match self {
            NextKey::Sequential { next, end } => {
                let number = *next;
                (number < *end).then(|| {
                    *next += 1;
                    number
                })
            }
            NextKey::Uniform { random, keys } => Some(below(random, *keys)),
        }
    }
}

/// Puts one key by a batch of one, as db_bench does: a batch that is reused costs no allocation.
pub struct Put {
    database: Arc<Database>,
    batch: Handle,
    options: Handle,
    next_key: NextKey,
    key_bytes: KeyBytes,
    values: Values,
}

// SAFETY: batch and options are used by the owning thread only; they move to it before first use.
unsafe impl Send for Put {}

impl Put {
    fn new(database: &Arc<Database>, setup: &StepSetup, next_key: NextKey) -> Put {
        let functions = database.functions();
        // SAFETY: both handles are destroyed in `drop`.
        let (batch, options) = unsafe {
            let options = (functions.writeoptions_create)();
            (functions.writeoptions_disable_wal)(options, i32::from(!setup.wal));
            (functions.writeoptions_set_sync)(options, u8::from(setup.sync));
            ((functions.writebatch_create)(), options)
        };
        let data = &setup.data;
        Put {
            database: Arc::clone(database),
            batch,
            options,
            next_key,
            key_bytes: KeyBytes::new(data.key_bytes),
            values: Values::new(setup.seed, data.value_bytes, data.value_compressible_percent),
        }
    }
}

impl Operate for Put {
    #[inline]
    fn once(&mut self) -> Result<(), OperationError> {
        let number = self.next_key.take().ok_or(OperationError::Exhausted)?;
        let key = self.key_bytes.of(number);
        let value = self.values.next();
        let functions = self.database.functions();
        // SAFETY: key and value are valid for their lengths; the batch copies them; all handles are live.
        unsafe {
            (functions.writebatch_clear)(self.batch);
            (functions.writebatch_put)(
                self.batch,
                key.as_ptr().cast(),
                key.len(),
                value.as_ptr().cast(),
                value.len(),
            );
            checked(functions, |error| {
                (functions.write)(self.database.handle(), self.options, self.batch, error);
            })?;
        }
        Ok(())
    }
}

impl Drop for Put {
    fn drop(&mut self) {
        let functions = self.database.functions();
        // SAFETY: made in `new`, destroyed once, before the database that `self` keeps open.
        unsafe {
            (functions.writebatch_destroy)(self.batch);
            (functions.writeoptions_destroy)(self.options);
        }
    }
}

/// Gets one key, which must be there with a value of the right length.
struct Get {
    database: Arc<Database>,
    options: Handle,
    next_key: NextKey,
    key_bytes: KeyBytes,
    value_bytes: usize,
}

// SAFETY: the options are used by the owning thread only.
unsafe impl Send for Get {}

impl Get {
    fn new(database: &Arc<Database>, data: &DataSet, next_key: NextKey) -> Get {
        // SAFETY: destroyed in `drop`.
        let options = unsafe { (database.functions().readoptions_create)() };
        Get {
            database: Arc::clone(database),
            options,
            next_key,
            key_bytes: KeyBytes::new(data.key_bytes),
            value_bytes: data.value_bytes,
        }
    }
}

impl Operate for Get {
    #[inline]
    fn once(&mut self) -> Result<(), OperationError> {
        let number = self.next_key.take().ok_or(OperationError::Exhausted)?;
        let key = self.key_bytes.of(number);
        let functions = self.database.functions();
        let mut found: Handle = std::ptr::null_mut();
        // SAFETY: the key is valid for its length; a slice that is not null is destroyed once.
        unsafe {
            checked(functions, |error| {
                found = (functions.get_pinned)(
                    self.database.handle(),
                    self.options,
                    key.as_ptr().cast(),
                    key.len(),
                    error,
                );
            })?;
            if found.is_null() {
                return Err(missing(number));
            }
            let mut length = 0;
            (functions.pinnableslice_value)(found, &mut length);
            (functions.pinnableslice_destroy)(found);
            if length != self.value_bytes {
                return Err(wrong_length(number, length, self.value_bytes));
            }
        }
        Ok(())
    }
}

impl Drop for Get {
    fn drop(&mut self) {
        // SAFETY: made in `new`, destroyed once.
        unsafe { (self.database.functions().readoptions_destroy)(self.options) };
    }
}

/// Seeks to a key with a fresh iterator and reads it and the entries after it.
struct Seek {
    get: Get,
    keys: u64,
    nexts: u64,
}

impl Seek {
    fn new(database: &Arc<Database>, data: &DataSet, next_key: NextKey, nexts: u32) -> Seek {
        Seek { get: Get::new(database, data, next_key), keys: data.keys, nexts: u64::from(nexts) }
    }
}

impl Operate for Seek {
    #[inline]
    fn once(&mut self) -> Result<(), OperationError> {
        let number = self.get.next_key.take().ok_or(OperationError::Exhausted)?;
        let key = self.get.key_bytes.of(number);
        let database = &self.get.database;
        let functions = database.functions();
        let expected = (self.nexts + 1).min(self.keys - number);
        // SAFETY: key and value pointers of an iterator are valid until it moves; it is destroyed once.
        unsafe {
            let iterator = (functions.create_iterator)(database.handle(), self.get.options);
            (functions.iter_seek)(iterator, key.as_ptr().cast(), key.len());
            let mut entries = 0;
            let mut wrong = None;
            while entries < expected && (functions.iter_valid)(iterator) != 0 {
                let mut length = 0;
                let found = (functions.iter_key)(iterator, &mut length);
                let found = std::slice::from_raw_parts(found.cast::<u8>(), length);
                if entries == 0 && found != key {
                    wrong = Some(missing(number));
                    break;
                }
                let mut value_length = 0;
                (functions.iter_value)(iterator, &mut value_length);
                if length != key.len() || value_length != self.get.value_bytes {
                    wrong = Some(wrong_length(number, value_length, self.get.value_bytes));
                    break;
                }
                entries += 1;
                if entries < expected {
                    (functions.iter_next)(iterator);
                }
            }
            let status = checked(functions, |error| (functions.iter_get_error)(iterator, error));
            (functions.iter_destroy)(iterator);
            status?;
            match wrong {
                Some(error) => Err(error),
                None if entries < expected => Err(ended_early(number, entries, expected)),
                None => Ok(()),
            }
        }
    }
}

#[cold]
fn missing(number: u64) -> OperationError {
    OperationError::WrongAnswer(format!("key {number} was not found, though it was written"))
}

#[cold]
fn wrong_length(number: u64, found: usize, expected: usize) -> OperationError {
    OperationError::WrongAnswer(format!("at key {number} a value has {found} bytes, {expected} were written"))
}

#[cold]
fn ended_early(number: u64, entries: u64, expected: u64) -> OperationError {
    OperationError::WrongAnswer(format!(
        "the range from key {number} ended after {entries} of {expected} entries"
    ))
}

/// Reads every entry once; returns how many there were. Fills the block cache on the way.
pub fn scan(database: &Database, data: &DataSet) -> Result<u64, OperationError> {
    let functions = database.functions();
    let mut entries = 0;
    // SAFETY: options and iterator are destroyed once, after their last use.
    unsafe {
        let options = (functions.readoptions_create)();
        let iterator = (functions.create_iterator)(database.handle(), options);
        (functions.iter_seek_to_first)(iterator);
        while entries <= data.keys && (functions.iter_valid)(iterator) != 0 {
            entries += 1;
            (functions.iter_next)(iterator);
        }
        let status = checked(functions, |error| (functions.iter_get_error)(iterator, error));
        (functions.iter_destroy)(iterator);
        (functions.readoptions_destroy)(options);
        status?;
    }
    if entries == data.keys {
        return Ok(entries);
    }
    Err(OperationError::WrongAnswer(format!("a scan found {entries} entries, {} were written", data.keys)))
}
