//! Gets of several keys by one call.
//!
//! `rocksdb_batched_multi_get_cf` where the release has it (from 7.3), `rocksdb_multi_get` elsewhere. The two do
//! different work: the older one copies every value into memory of its own. Which one was called is told with
//! each block, so that nobody takes the difference for one of the engine.

use super::{NextKey, Operate, OperationError, missing, wrong_length};
use crate::rocksdb::api::Handle;
use crate::rocksdb::database::{Database, error_text};
use model::wire::StepSetup;
use std::ffi::c_char;
use std::ptr::null_mut;
use std::sync::Arc;

/// The function that [`MultiGet`] calls.
pub fn function_name(database: &Database) -> &'static str {
    match database.optional().batched_multi_get_cf {
        Some(_) => "rocksdb_batched_multi_get_cf",
        None => "rocksdb_multi_get",
    }
}

/// Gets a batch of keys. All must be there where all keys exist, each with a value of the right length.
pub struct MultiGet {
    database: Arc<Database>,
    options: Handle,
    next_key: NextKey,
    value_bytes: usize,
    all_keys_exist: bool,
    numbers: Vec<u64>,
    /// The keys, one after another.
    keys: Vec<u8>,
    key_bytes: usize,
    /// Where each key of the next call begins.
    pointers: Vec<*const c_char>,
    key_lengths: Vec<usize>,
    answers: Answers,
}

/// What a call gives for each key: one of them is null, or both where the key is not there.
enum Answers {
    /// Slices that stay pinned in the engine's memory.
    Pinned { slices: Vec<Handle>, errors: Vec<*mut c_char> },
    /// Copies with their lengths.
    Copied { values: Vec<*mut c_char>, lengths: Vec<usize>, errors: Vec<*mut c_char> },
}

// SAFETY: options and answers are used by the owning thread only.
unsafe impl Send for MultiGet {}

impl MultiGet {
    pub(super) fn new(
        database: &Arc<Database>,
        setup: &StepSetup,
        next_key: NextKey,
        batch: u32,
    ) -> MultiGet {
        let batch = usize::try_from(batch.max(1)).unwrap_or(1);
        let key_bytes = setup.data.key_bytes;
        assert!(key_bytes >= 8, "a key holds its number in eight bytes");
        let errors = vec![null_mut(); batch];
        let answers = match database.optional().batched_multi_get_cf {
            Some(_) => Answers::Pinned { slices: vec![null_mut(); batch], errors },
            None => Answers::Copied { values: vec![null_mut(); batch], lengths: vec![0; batch], errors },
        };
        MultiGet {
            database: Arc::clone(database),
            // SAFETY: destroyed in `drop`.
            options: unsafe { (database.functions().readoptions_create)() },
            next_key,
            value_bytes: setup.data.value_bytes,
            all_keys_exist: setup.all_keys_exist,
            numbers: vec![0; batch],
            keys: vec![b'0'; batch * key_bytes],
            key_bytes,
            pointers: vec![std::ptr::null(); batch],
            key_lengths: vec![key_bytes; batch],
            answers,
        }
    }

    /// Draws the keys of the next call.
    fn draw(&mut self) -> Result<(), OperationError> {
        let keys = self.keys.chunks_exact_mut(self.key_bytes);
        for ((number, pointer), key) in self.numbers.iter_mut().zip(&mut self.pointers).zip(keys) {
            *number = self.next_key.take().ok_or(OperationError::Exhausted)?;
            key[..8].copy_from_slice(&number.to_be_bytes());
            *pointer = key.as_ptr().cast();
        }
        Ok(())
    }

    /// Calls the engine. Every answer must be given back afterwards.
    fn call(&mut self) {
        let functions = self.database.functions();
        let database = self.database.handle();
        let (keys, lengths) = (self.pointers.as_ptr(), self.key_lengths.as_ptr());
        match (&mut self.answers, self.database.optional().batched_multi_get_cf) {
            (Answers::Pinned { slices, errors }, Some(multi_get)) => {
                // SAFETY: all arrays have `batch` places; keys are valid for their lengths, since `draw` made them.
                unsafe {
                    multi_get(
                        database,
                        self.options,
                        self.database.column_family(),
                        self.numbers.len(),
                        keys,
                        lengths,
                        slices.as_mut_ptr(),
                        errors.as_mut_ptr(),
                        false,
                    );
                }
            }
            (Answers::Copied { values, lengths: value_lengths, errors }, _) => {
                // SAFETY: as above.
                unsafe {
                    (functions.multi_get)(
                        database,
                        self.options,
                        self.numbers.len(),
                        keys,
                        lengths,
                        values.as_mut_ptr(),
                        value_lengths.as_mut_ptr(),
                        errors.as_mut_ptr(),
                    );
                }
            }
            (Answers::Pinned { .. }, None) => unreachable!("`new` chose by the same function"),
        }
    }

    /// The length of one value, given back to the engine; absent where the key is not there.
    fn take_answer(&mut self, index: usize) -> Result<Option<usize>, OperationError> {
        let functions = self.database.functions();
        let errors = match &mut self.answers {
            Answers::Pinned { errors, .. } | Answers::Copied { errors, .. } => errors,
        };
        let error = std::mem::replace(&mut errors[index], null_mut());
        if !error.is_null() {
            return Err(error_text(functions, error).into());
        }
        // SAFETY: what is not null came from the last call and is given back once.
        unsafe {
            Ok(match &mut self.answers {
                Answers::Pinned { slices, .. } => {
                    let slice = std::mem::replace(&mut slices[index], null_mut());
                    (!slice.is_null()).then(|| {
                        let mut length = 0;
                        (functions.pinnableslice_value)(slice, &mut length);
                        (functions.pinnableslice_destroy)(slice);
                        length
                    })
                }
                Answers::Copied { values, lengths, .. } => {
                    let value = std::mem::replace(&mut values[index], null_mut());
                    (!value.is_null()).then(|| {
                        (functions.free)(value.cast());
                        lengths[index]
                    })
                }
            })
        }
    }

    /// Whether one key was there, with a right answer.
    fn check_answer(&mut self, index: usize) -> Result<u64, OperationError> {
        let number = self.numbers[index];
        match self.take_answer(index)? {
            Some(length) if length == self.value_bytes => Ok(1),
            Some(length) => Err(wrong_length(number, length, self.value_bytes)),
            None if self.all_keys_exist => Err(missing(number)),
            None => Ok(0),
        }
    }
}

impl Operate for MultiGet {
    fn per_call(&self) -> u64 {
        self.numbers.len() as u64
    }

    #[inline]
    fn once(&mut self) -> Result<u64, OperationError> {
        self.draw()?;
        self.call();
        let mut found = 0;
        let mut wrong = None;
        // To the end also where one is wrong: what is not taken would leak.
        for index in 0..self.numbers.len() {
            match self.check_answer(index) {
                Ok(there) => found += there,
                Err(error) => wrong = wrong.or(Some(error)),
            }
        }
        wrong.map_or(Ok(found), Err)
    }
}

impl Drop for MultiGet {
    fn drop(&mut self) {
        // SAFETY: made in `new`, destroyed once.
        unsafe { (self.database.functions().readoptions_destroy)(self.options) };
    }
}
