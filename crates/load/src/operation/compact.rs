//! A compaction of the whole key range as an operation.

use super::{Operate, OperationError};
use crate::rocksdb::database::Database;
use std::sync::Arc;

/// Compacts everything once.
pub struct Compact {
    database: Arc<Database>,
}

impl Compact {
    pub(super) fn new(database: &Arc<Database>) -> Compact {
        Compact { database: Arc::clone(database) }
    }
}

impl Operate for Compact {
    fn once(&mut self) -> Result<u64, OperationError> {
        self.database.compact_all()?;
        Ok(0)
    }
}
