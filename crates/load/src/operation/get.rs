//! Gets of single keys.

use super::{NextKey, Operate, OperationError, missing, wrong_length};
use crate::keys::KeyBytes;
use crate::rocksdb::api::Handle;
use crate::rocksdb::database::{Database, checked};
use model::wire::StepSetup;
use std::sync::Arc;

/// Gets one key, which must be there where all keys exist, with a value of the right length.
pub struct Get {
    database: Arc<Database>,
    options: Handle,
    next_key: NextKey,
    key_bytes: KeyBytes,
    value_bytes: usize,
    all_keys_exist: bool,
}

// SAFETY: the options are used by the owning thread only.
unsafe impl Send for Get {}

impl Get {
    pub(super) fn new(database: &Arc<Database>, setup: &StepSetup, next_key: NextKey) -> Get {
        // SAFETY: destroyed in `drop`.
        let options = unsafe { (database.functions().readoptions_create)() };
        Get {
            database: Arc::clone(database),
            options,
            next_key,
            key_bytes: KeyBytes::new(setup.data.key_bytes),
            value_bytes: setup.data.value_bytes,
            all_keys_exist: setup.all_keys_exist,
        }
    }
}

impl Operate for Get {
    #[inline]
    fn once(&mut self) -> Result<u64, OperationError> {
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
                return if self.all_keys_exist { Err(missing(number)) } else { Ok(0) };
            }
            let mut length = 0;
            (functions.pinnableslice_value)(found, &mut length);
            (functions.pinnableslice_destroy)(found);
            if length != self.value_bytes {
                return Err(wrong_length(number, length, self.value_bytes));
            }
        }
        Ok(1)
    }
}

impl Drop for Get {
    fn drop(&mut self) {
        // SAFETY: made in `new`, destroyed once.
        unsafe { (self.database.functions().readoptions_destroy)(self.options) };
    }
}
