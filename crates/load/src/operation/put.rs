//! Puts: fills and overwrites.

use super::{NextKey, Operate, OperationError};
use crate::keys::KeyBytes;
use crate::rocksdb::api::Handle;
use crate::rocksdb::database::{Database, checked};
use crate::values::Values;
use model::wire::StepSetup;
use std::sync::Arc;

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
    pub(super) fn new(database: &Arc<Database>, setup: &StepSetup, next_key: NextKey) -> Put {
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
    fn once(&mut self) -> Result<u64, OperationError> {
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
        Ok(1)
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
