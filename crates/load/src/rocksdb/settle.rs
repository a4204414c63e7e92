//! Waiting until a tree is in a stated shape.
//!
//! Every release ends with the same condition: four properties are 0 in several polls in a row. So two sides of
//! a comparison are never held to different ones. `rocksdb_wait_for_compact`, which is there from 8.7 on, is
//! called before that, because it also knows of work that is due and not yet seen in a property; the polls then
//! only confirm, and the older releases poll until that work shows. What a release without it could end early
//! by is the moment between a flush and the compaction that it causes, which the repeated polls are for.

use super::database::{Database, EngineError};
use crate::clock;
use model::units::Nanos;
use model::workload::Settle;
use std::ffi::CStr;

/// Why a tree did not settle.
#[derive(Debug, thiserror::Error)]
pub enum SettleError {
    #[error("the engine failed while it settled")]
    Engine(#[from] EngineError),
    #[error(
        "compaction did not drain within {:.0} s ({pending} of its four properties above 0); \
         raise the timeout or lower the write load of the step",
        timeout.as_secs_f64()
    )]
    TimedOut { timeout: Nanos, pending: usize },
}

/// What is not zero while background work is running or due.
const BUSY_PROPERTIES: [&CStr; 4] = [
    c"rocksdb.compaction-pending",
    c"rocksdb.num-running-compactions",
    c"rocksdb.num-running-flushes",
    c"rocksdb.mem-table-flush-pending",
];
/// Quiet in this many polls in a row is drained: between a flush and the compaction it causes there is a
/// moment at which all four are zero.
const QUIET_POLLS: u32 = 3;
/// Pause between polls. Not tuned: short against a compaction, long against a property read.
const POLL_PAUSE: Nanos = Nanos::from_millis(5);
/// Where level 0 still has files after this many quiet polls in a row nothing is going to empty it, because
/// automatic compactions are off, say. Not tuned: 100 ms.
const QUIET_POLLS_WITH_LEVEL0: u32 = 20;

const LEVEL0_TRIGGER: &CStr = c"level0_file_num_compaction_trigger";

/// Brings the tree to a shape; returns how long that took. A flush and a compaction of all keys are waited for
/// without the timeout, which no release offers; everything after them within it.
pub fn settle(database: &Database, to: Settle, timeout: Nanos) -> Result<Nanos, SettleError> {
    let wait = Wait { database, start: clock::now(), timeout };
    let errors_before = database.background_errors();
    match to {
        Settle::None => return Ok(Nanos(0)),
        Settle::Flushed => database.flush()?,
        Settle::Drained => {
            database.flush()?;
            wait.until_drained()?;
        }
        // What is left of a server's rest where there are no tables: memtables and level 0 emptied.
        Settle::Level0Compacted | Settle::Postwrite => {
            database.flush()?;
            wait.until_drained()?;
            if database.tuning().leveled && level0_files(database) > 0 {
                wait.until_level0_is_empty()?;
            }
        }
        Settle::FullyCompacted => {
            database.flush()?;
            database.compact_all()?;
            wait.until_drained()?;
        }
    }
    database.no_background_errors_since(errors_before)?;
    Ok(clock::now().saturating_sub(wait.start))
}

/// A wait that has begun.
struct Wait<'a> {
    database: &'a Database,
    start: Nanos,
    timeout: Nanos,
}

impl Wait<'_> {
    fn until_drained(&self) -> Result<(), SettleError> {
        self.ask_engine()?;
        self.poll(|quiet_polls| quiet_polls >= QUIET_POLLS)
    }

    /// Lets one file in level 0 be enough for a compaction, for as long as it takes.
    fn until_level0_is_empty(&self) -> Result<(), SettleError> {
        self.database.set_option(LEVEL0_TRIGGER, c"1")?;
        let emptied = self.poll(|quiet_polls| {
            quiet_polls >= QUIET_POLLS
                && (level0_files(self.database) == 0 || quiet_polls >= QUIET_POLLS_WITH_LEVEL0)
        });
        // Set back in any case: the next step must not run with another option than it says.
        let former = &self.database.tuning().level0_trigger;
        self.database.set_option(LEVEL0_TRIGGER, former)?;
        emptied?;
        self.until_drained()
    }

    /// Lets the engine wait by itself where it can do so within a time.
    fn ask_engine(&self) -> Result<(), SettleError> {
        let functions = self.database.optional();
        let (Some(wait), Some(create), Some(destroy), Some(set_timeout)) = (
            functions.wait_for_compact,
            functions.wait_for_compact_options_create,
            functions.wait_for_compact_options_destroy,
            functions.wait_for_compact_options_set_timeout,
        ) else {
            return Ok(());
        };
        let left = self.timeout.saturating_sub(clock::now().saturating_sub(self.start));
        // Rounded up, so that the timeout has passed when the engine gives up; 0 would mean without end.
        let micros = left.0 / 1000 + 1;
        // SAFETY: the options live until the call has returned.
        let waited = unsafe {
            let options = create();
            set_timeout(options, micros);
            let waited = super::database::checked(self.database.functions(), |error| {
                wait(self.database.handle(), options, error);
            });
            destroy(options);
            waited
        };
        match waited {
            Err(_) if self.is_over() => Err(self.timed_out(busy_properties(self.database))),
            Err(error) => Err(error.into()),
            Ok(()) => Ok(()),
        }
    }

    /// Polls until `enough` says so of the number of quiet polls in a row.
    fn poll(&self, enough: impl Fn(u32) -> bool) -> Result<(), SettleError> {
        let mut quiet_polls = 0;
        while !enough(quiet_polls) {
            let pending = busy_properties(self.database);
            quiet_polls = if pending == 0 { quiet_polls + 1 } else { 0 };
            if self.is_over() {
                return Err(self.timed_out(pending));
            }
            clock::sleep_until(clock::now() + POLL_PAUSE);
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        clock::now().saturating_sub(self.start) > self.timeout
    }

    fn timed_out(&self, pending: usize) -> SettleError {
        SettleError::TimedOut { timeout: self.timeout, pending }
    }
}

fn busy_properties(database: &Database) -> usize {
    BUSY_PROPERTIES.iter().filter(|name| database.property(name).unwrap_or(0) > 0).count()
}

fn level0_files(database: &Database) -> u64 {
    let text = database.property_text(c"rocksdb.num-files-at-level0");
    text.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests;
