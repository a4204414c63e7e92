//! Steps through entries in the order of keys: seeks with their nexts, passes from the first key to the last.

use super::{NextKey, Operate, OperationError, missing, wrong_length};
use crate::keys::{KeyBytes, number_of};
use crate::rocksdb::api::{Functions, Handle};
use crate::rocksdb::database::{Database, checked};
use model::wire::StepSetup;
use model::workload::{DataSet, Direction};
use std::ptr::null_mut;
use std::sync::Arc;

/// What every entry must be like.
#[derive(Clone, Copy)]
struct Expected {
    keys: u64,
    key_bytes: usize,
    value_bytes: usize,
    all_exist: bool,
}

impl Expected {
    fn new(setup: &StepSetup) -> Expected {
        Expected {
            keys: setup.data.keys,
            key_bytes: setup.data.key_bytes,
            value_bytes: setup.data.value_bytes,
            all_exist: setup.all_keys_exist,
        }
    }

    /// The key's number of the entry that an iterator stands on, where key and value have their lengths and the
    /// number is the one that comes next: `next` itself where all keys exist, else one that is not before it.
    ///
    /// # Safety
    /// The iterator must be valid.
    #[inline]
    unsafe fn entry(
        &self,
        functions: &Functions,
        iterator: Handle,
        next: u64,
        direction: Direction,
    ) -> Result<u64, OperationError> {
        // SAFETY: the iterator is valid.
        let (number, key_length) = unsafe { key(functions, iterator) };
        if key_length != self.key_bytes {
            return Err(wrong_key(next, key_length, self.key_bytes));
        }
        // SAFETY: as above.
        unsafe { self.value(functions, iterator)? };
        let in_order = match direction {
            _ if number == next => true,
            Direction::Forward => !self.all_exist && number > next,
            Direction::Reverse => !self.all_exist && number < next,
        };
        if in_order { Ok(number) } else { Err(out_of_order(number, next)) }
    }

    /// Reads the value of the entry that an iterator stands on, which must have its length.
    ///
    /// # Safety
    /// The iterator must be valid.
    #[inline]
    unsafe fn value(&self, functions: &Functions, iterator: Handle) -> Result<(), OperationError> {
        let mut length = 0;
        // SAFETY: the iterator is valid.
        unsafe { (functions.iter_value)(iterator, &mut length) };
        if length == self.value_bytes {
            return Ok(());
        }
        // SAFETY: as above.
        let (number, _) = unsafe { key(functions, iterator) };
        Err(wrong_length(number, length, self.value_bytes))
    }
}

/// The number of the key of the entry that an iterator stands on, and the key's length.
///
/// # Safety
/// The iterator must be valid.
#[inline]
unsafe fn key(functions: &Functions, iterator: Handle) -> (u64, usize) {
    let mut length = 0;
    // SAFETY: the pointer of a valid iterator holds until it moves; the key is read within its length.
    let bytes = unsafe {
        let start = (functions.iter_key)(iterator, &mut length);
        std::slice::from_raw_parts(start.cast::<u8>(), length)
    };
    (number_of(bytes), length)
}

/// How far a seek goes.
#[derive(Debug, Clone, Copy)]
pub struct Range {
    /// Steps after the seek.
    pub nexts: u32,
    pub direction: Direction,
}

/// Seeks to a key with a fresh iterator and reads it and the entries after it, or before it.
///
/// Backwards it seeks as forwards, to the first key that is not smaller, and steps back from there, as db_bench
/// does.
pub struct Seek {
    database: Arc<Database>,
    options: Handle,
    next_key: NextKey,
    key_bytes: KeyBytes,
    range: Range,
    expected: Expected,
}

// SAFETY: the options are used by the owning thread only.
unsafe impl Send for Seek {}

impl Seek {
    pub(super) fn new(database: &Arc<Database>, setup: &StepSetup, next_key: NextKey, range: Range) -> Seek {
        Seek {
            database: Arc::clone(database),
            // SAFETY: destroyed in `drop`.
            options: unsafe { (database.functions().readoptions_create)() },
            next_key,
            key_bytes: KeyBytes::new(setup.data.key_bytes),
            range,
            expected: Expected::new(setup),
        }
    }

    /// Entries to read from a key on: where all exist, as many as there are in that direction.
    #[inline]
    fn most(&self, number: u64) -> u64 {
        let wanted = u64::from(self.range.nexts) + 1;
        match self.range.direction {
            _ if !self.expected.all_exist => wanted,
            Direction::Forward => wanted.min(self.expected.keys - number),
            Direction::Reverse => wanted.min(number + 1),
        }
    }

    /// Reads from where an iterator stands; gives whether it stood on the key that was sought.
    ///
    /// Every value is read. Of the keys the first and the last are: where all exist, as many entries as there
    /// are numbers between the two can only be those numbers, each once and in order.
    ///
    /// # Safety
    /// The iterator must be live.
    #[inline]
    unsafe fn walk(&self, iterator: Handle, sought: u64) -> Result<u64, OperationError> {
        let functions = self.database.functions();
        let most = self.most(sought);
        // SAFETY: the iterator is live, and asked for an entry only while it is valid.
        unsafe {
            if (functions.iter_valid)(iterator) == 0 {
                return if self.expected.all_exist { Err(missing(sought)) } else { Ok(0) };
            }
            // A seek ends at a key that is not smaller, whichever way the steps go from there.
            let first = self.expected.entry(functions, iterator, sought, Direction::Forward)?;
            let step = match self.range.direction {
                Direction::Forward => functions.iter_next,
                Direction::Reverse => functions.iter_prev,
            };
            let mut entries = 1;
            while entries < most {
                step(iterator);
                if (functions.iter_valid)(iterator) == 0 {
                    break;
                }
                entries += 1;
                if entries < most {
                    self.expected.value(functions, iterator)?;
                }
            }
            if entries < most {
                return if self.expected.all_exist {
                    Err(ended_early(sought, entries, most))
                } else {
                    Ok(u64::from(first == sought))
                };
            }
            if most > 1 {
                let last = match self.range.direction {
                    Direction::Forward => first + (most - 1),
                    // Below 0 there is no entry.
                    Direction::Reverse => first.saturating_sub(most - 1),
                };
                self.expected.entry(functions, iterator, last, self.range.direction)?;
            }
            // If the keys end before the range does, one more step finds it out, as db_bench's does.
            if most <= u64::from(self.range.nexts) {
                step(iterator);
                if (functions.iter_valid)(iterator) != 0 {
                    let (beyond, _) = key(functions, iterator);
                    return Err(out_of_order(beyond, sought));
                }
            }
            Ok(u64::from(first == sought))
        }
    }
}

impl Operate for Seek {
    #[inline]
    fn once(&mut self) -> Result<u64, OperationError> {
        let number = self.next_key.take().ok_or(OperationError::Exhausted)?;
        let key_bytes = self.key_bytes.of(number);
        let functions = self.database.functions();
        // SAFETY: the key is valid for its length; the iterator is destroyed once.
        unsafe {
            let iterator = (functions.create_iterator)(self.database.handle(), self.options);
            (functions.iter_seek)(iterator, key_bytes.as_ptr().cast(), key_bytes.len());
            let walked = self.walk(iterator, number);
            let status = checked(functions, |error| (functions.iter_get_error)(iterator, error));
            (functions.iter_destroy)(iterator);
            status?;
            walked
        }
    }
}

impl Drop for Seek {
    fn drop(&mut self) {
        // SAFETY: made in `new`, destroyed once.
        unsafe { (self.database.functions().readoptions_destroy)(self.options) };
    }
}

/// Steps from entry to entry, and from the last one to the first again unless it makes one pass. Each pass has a fresh iterator: one that
/// lived longer would keep files alive that compaction has replaced.
pub struct Sequential {
    database: Arc<Database>,
    options: Handle,
    /// Null before the first entry.
    iterator: Handle,
    /// The number that must come next.
    next: u64,
    one_pass: bool,
    expected: Expected,
}

// SAFETY: options and iterator are used by the owning thread only.
unsafe impl Send for Sequential {}

impl Sequential {
    pub(super) fn new(database: &Arc<Database>, setup: &StepSetup, one_pass: bool) -> Sequential {
        Sequential {
            database: Arc::clone(database),
            // SAFETY: destroyed in `drop`.
            options: unsafe { (database.functions().readoptions_create)() },
            iterator: null_mut(),
            next: 0,
            one_pass,
            expected: Expected::new(setup),
        }
    }

    /// Goes to the first entry; there must be one.
    #[cold]
    fn rewind(&mut self) -> Result<(), OperationError> {
        self.let_iterator_go()?;
        let functions = self.database.functions();
        self.next = 0;
        // SAFETY: the handles are live; the iterator is destroyed by `let_iterator_go`.
        let valid = unsafe {
            self.iterator = (functions.create_iterator)(self.database.handle(), self.options);
            (functions.iter_seek_to_first)(self.iterator);
            (functions.iter_valid)(self.iterator)
        };
        if valid == 0 {
            self.let_iterator_go()?;
            return Err(OperationError::WrongAnswer("the database has no entries".to_owned()));
        }
        Ok(())
    }

    /// Destroys the iterator; an error where it had one.
    fn let_iterator_go(&mut self) -> Result<(), OperationError> {
        let iterator = std::mem::replace(&mut self.iterator, null_mut());
        if iterator.is_null() {
            return Ok(());
        }
        let functions = self.database.functions();
        // SAFETY: the iterator was live, and nobody else has it.
        unsafe {
            let status = checked(functions, |error| (functions.iter_get_error)(iterator, error));
            (functions.iter_destroy)(iterator);
            Ok(status?)
        }
    }

    /// The iterator is past its last entry, which must have been that of the last key.
    #[cold]
    fn wrap(&mut self) -> Result<(), OperationError> {
        self.let_iterator_go()?;
        if self.expected.all_exist && self.next != self.expected.keys {
            return Err(ended_early(0, self.next, self.expected.keys));
        }
        if self.one_pass {
            return Err(OperationError::Exhausted);
        }
        self.rewind()
    }
}

impl Operate for Sequential {
    #[inline]
    fn once(&mut self) -> Result<u64, OperationError> {
        if self.iterator.is_null() {
            self.rewind()?;
        } else {
            let functions = self.database.functions();
            // SAFETY: the iterator is live, and was valid before this step.
            let valid = unsafe {
                (functions.iter_next)(self.iterator);
                (functions.iter_valid)(self.iterator)
            };
            if valid == 0 {
                self.wrap()?;
            }
        }
        // SAFETY: the iterator is valid, as was just asked.
        let entry = unsafe {
            self.expected.entry(self.database.functions(), self.iterator, self.next, Direction::Forward)
        };
        match entry {
            Ok(number) => self.next = number + 1,
            Err(error) => {
                // What follows a wrong entry is not looked at: the next pass begins at the first key.
                self.let_iterator_go()?;
                return Err(error);
            }
        }
        Ok(1)
    }
}

impl Drop for Sequential {
    fn drop(&mut self) {
        // An error of an iterator that is not asked any more is nobody's.
        let _ = self.let_iterator_go();
        // SAFETY: made in `new`, destroyed once.
        unsafe { (self.database.functions().readoptions_destroy)(self.options) };
    }
}

#[cold]
fn wrong_key(next: u64, found: usize, expected: usize) -> OperationError {
    OperationError::WrongAnswer(format!(
        "where key {next} should be, a key has {found} bytes, {expected} were written"
    ))
}

#[cold]
fn out_of_order(number: u64, next: u64) -> OperationError {
    OperationError::WrongAnswer(format!("key {number} came where key {next} should be"))
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
