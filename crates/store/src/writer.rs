//! The one writer: turns events into rows and commits them in batches. A batch stays in memory until it ends, so that the
//! file is locked for no longer than it takes to write. It knows no statement and no clock: time comes with the events.

use crate::check;
use crate::error::Error;
use crate::file::Store;
use crate::insert::{self, CurrentRun};
use crate::lock::Lock;
use model::block::Side;
use model::event::RunEvent;
use rusqlite::OptionalExtension;
use std::collections::BTreeSet;
use std::path::Path;

/// A batch is committed with the first event that is this much later than the last commit. The sampler sends
/// one event a second, so nothing waits for two seconds.
const BATCH_BOUND_US: u64 = 1_000_000;

/// Events that are kept while they cannot be written, of some kB each: more than two hours of a host's samples and a step's
/// seconds.
const MOST_HELD_BACK: usize = 20_000;

/// Writes the events of runs. No other process can write to the same store while this lives; any can read.
/// What was written is committed when it is dropped; call [`Writer::flush`] before, to see what went wrong.
#[derive(Debug)]
pub struct Writer {
    store: Store,
    /// None in memory.
    lock: Option<Lock>,
    current: Option<CurrentRun>,
    /// The run that is gone on with, and its visits that are measured again.
    again: Option<(String, BTreeSet<(u32, Side)>)>,
    /// The run that was last seen to be in the store or in the batch.
    begun: Option<String>,
    /// Events that are not committed yet, each with its run.
    batch: Vec<(String, RunEvent)>,
    /// Why the batch is still there although it should have been committed.
    held_back: Option<String>,
    committed_at_us: i64,
}

impl Writer {
    /// Opens a store for writing, making it if there is none, and brings an older one up to date. One that is damaged is refused.
    pub fn open(path: &Path) -> Result<Writer, Error> {
        let mut store = Store::connect(path)?;
        let lock = Lock::of_writer(path)?;
        check::before_writing(&store)?;
        store.migrate()?;
        store.no_checkpoints_by_itself()?;
        Ok(Writer::of(store, Some(lock)))
    }

    /// A writer to an empty store in memory, for tests and trials.
    pub fn in_memory() -> Result<Writer, Error> {
        Ok(Writer::of(Store::in_memory()?, None))
    }

    fn of(store: Store, lock: Option<Lock>) -> Writer {
        let (current, begun, held_back) = (None, None, None);
        Writer { store, lock, current, again: None, begun, batch: Vec::new(), held_back, committed_at_us: 0 }
    }

    /// The store: what is committed.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Writes one event of the run `run`. It is committed with its batch: at the latest with the first event
    /// one second later, at the end of a trial, a launch or a run, or by [`Writer::flush`].
    ///
    /// That the store is locked or its disk full is no error yet: the events are kept, [`Writer::held_back`] says why, and
    /// each later event tries again. It is one when they have become too many to be kept. Of an event that cannot be
    /// written for another reason nothing is written; those before it are.
    pub fn write(&mut self, run: &str, event: &RunEvent) -> Result<(), Error> {
        self.check_begun(run, event)?;
        self.batch.push((run.to_owned(), event.clone()));
        match batch_end(event, self.committed_at_us) {
            BatchEnd::No if self.lock.is_some() => return Ok(()),
            // In memory there is nobody to wait for.
            BatchEnd::No | BatchEnd::Now => {}
            BatchEnd::At(at_us) => self.committed_at_us = at_us,
        }
        match self.write_batch(true) {
            Ok(()) if nothing_is_measured_after(event) => match self.store.checkpoint() {
                Err(error) if error.may_pass() => Ok(()), // the log only gets longer
                ended => ended,
            },
            Err(error) if error.may_pass() && self.batch.len() < MOST_HELD_BACK => Ok(()),
            ended => ended,
        }
    }

    /// Why events are kept that should have been committed.
    pub fn held_back(&self) -> Option<&str> {
        self.held_back.as_deref()
    }

    /// Commits what was written. After an error that [may pass](Error::may_pass) all of it is kept, and can be tried again.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.write_batch(false)
    }

    /// `brief` is not to wait long for others.
    fn write_batch(&mut self, brief: bool) -> Result<(), Error> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let batch = std::mem::take(&mut self.batch);
        let (written, failed) = self.commit(&batch, brief);
        self.batch = batch.into_iter().skip(written).collect();
        self.held_back = failed.as_ref().filter(|error| error.may_pass()).map(Error::to_string);
        failed.map_or(Ok(()), Err)
    }

    /// Writes and commits a batch, up to an event that cannot be written. How many events are done with, that one
    /// included, and why it was not all.
    fn commit(&mut self, batch: &[(String, RunEvent)], brief: bool) -> (usize, Option<Error>) {
        if let Err(error) = self.store.begin(brief) {
            return (0, Some(error));
        }
        let mut failed = None;
        let written = batch
            .iter()
            .take_while(|(run, event)| {
                failed = self.write_whole(run, event).err();
                failed.is_none()
            })
            .count();
        let committed = match &failed {
            Some(error) if error.may_pass() => false,
            _ => match self.store.commit() {
                Ok(()) => true,
                Err(error) => {
                    failed = failed.or(Some(error));
                    false
                }
            },
        };
        if committed {
            return (written + usize::from(failed.is_some()), failed);
        }
        self.store.roll_back();
        // Keys of rows that were rolled back must not be used again.
        self.current = None;
        (0, failed)
    }

    /// Gives a run a name that `find_run` knows it by.
    pub fn name_run(&mut self, run: &str, name: &str) -> Result<(), Error> {
        self.flush()?;
        let changed = self.store.sql(format!("name run {run}"), |connection| {
            connection.execute("UPDATE runs SET name = ? WHERE id = ?", [name, run])
        })?;
        if changed == 0 {
            return Err(self.not_begun(run));
        }
        Ok(())
    }

    /// Keeps with a run what its report found, as JSON, so that a list of runs need not judge it anew. What was kept
    /// before goes; so it does when the run is gone on with.
    ///
    /// # Errors
    /// A run that was not begun, a text that is no JSON, and what SQLite says.
    pub fn set_found(&mut self, run: &str, json: &str) -> Result<(), Error> {
        self.flush()?;
        let changed = self.store.sql(format!("keep what was found in run {run}"), |connection| {
            connection.execute("UPDATE runs SET found_json = ? WHERE id = ?", [json, run])
        })?;
        if changed == 0 {
            return Err(self.not_begun(run));
        }
        Ok(())
    }

    /// An event of a run that nobody began is refused at once.
    fn check_begun(&mut self, run: &str, event: &RunEvent) -> Result<(), Error> {
        let begins = matches!(event, RunEvent::Started { .. });
        if !begins && self.begun.as_deref() != Some(run) {
            self.run_key(run)?.ok_or_else(|| self.not_begun(run))?;
        }
        self.begun = Some(run.to_owned());
        Ok(())
    }

    fn write_whole(&mut self, run: &str, event: &RunEvent) -> Result<(), Error> {
        let doing = || format!("write run {run}");
        self.store.sql(doing(), |connection| connection.execute_batch("SAVEPOINT event"))?;
        let written = self.write_rows(run, event);
        let end = match &written {
            Ok(()) => "RELEASE event",
            Err(_) => "ROLLBACK TO event; RELEASE event",
        };
        let ended = self.store.sql(doing(), |connection| connection.execute_batch(end));
        if written.is_err() {
            self.current = None;
        }
        // The first error is the cause: after some, SQLite has rolled everything back and knows no savepoint.
        written.and(ended)
    }

    fn write_rows(&mut self, run: &str, event: &RunEvent) -> Result<(), Error> {
        if let RunEvent::Started { run: id, at_us, plan, host } = event {
            if self.run_key(id)?.is_some() {
                return Err(Error::DuplicateRun { path: self.store.path().to_path_buf(), run: id.clone() });
            }
            let key = self.store.sql(format!("write run {id}"), |connection| {
                insert::run(connection, id, *at_us, plan, host)
            })?;
            self.current = Some(CurrentRun::new(id, key, BTreeSet::new()));
            return Ok(());
        }
        if self.current.as_ref().is_none_or(|current| current.id != run) {
            let key = self.run_key(run)?.ok_or_else(|| self.not_begun(run))?;
            self.current = Some(CurrentRun::new(run, key, self.again_of(run)));
        }
        let Some(current) = self.current.as_mut() else { return Ok(()) };
        self.store.sql(format!("write run {run}"), |connection| insert::event(connection, current, event))
    }

    /// A run is gone on with: keys that were read before its rows were changed must not be used again.
    pub(crate) fn go_on(&mut self, run: &str, again: BTreeSet<(u32, Side)>) {
        self.current = None;
        self.again = Some((run.to_owned(), again));
    }

    /// Rows of runs were replaced: keys that were read before must not be used again.
    pub(crate) fn forget_current(&mut self) {
        self.current = None;
        self.begun = None;
    }

    fn again_of(&self, run: &str) -> BTreeSet<(u32, Side)> {
        self.again.as_ref().filter(|(of, _)| of == run).map(|(_, again)| again.clone()).unwrap_or_default()
    }

    pub(crate) fn run_key(&self, run: &str) -> Result<Option<i64>, Error> {
        self.store.sql(format!("look for run {run}"), |connection| {
            connection
                .prepare_cached("SELECT run_key FROM runs WHERE id = ?")?
                .query_row([run], |row| row.get(0))
                .optional()
        })
    }

    pub(crate) fn not_begun(&self, run: &str) -> Error {
        Error::RunNotBegun { path: self.store.path().to_path_buf(), run: run.to_owned() }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // What was measured outlives the writer, whatever made it go; there is nobody left to tell an error.
        let _ = self.flush();
    }
}

/// Whether it is a moment at which no engine runs.
fn nothing_is_measured_after(event: &RunEvent) -> bool {
    matches!(event, RunEvent::LaunchStarted { .. } | RunEvent::VisitStarted { .. } | RunEvent::Ended { .. })
}

enum BatchEnd {
    No,
    Now,
    At(i64),
}

/// Whether the batch ends with this event.
fn batch_end(event: &RunEvent, committed_at_us: i64) -> BatchEnd {
    match event {
        RunEvent::Started { at_us, .. }
        | RunEvent::LaunchStarted { at_us, .. }
        | RunEvent::Ended { at_us, .. } => BatchEnd::At(*at_us),
        RunEvent::HostSampled(sample) if sample.at_us.abs_diff(committed_at_us) >= BATCH_BOUND_US => {
            BatchEnd::At(sample.at_us)
        }
        RunEvent::HostSampled(_)
        | RunEvent::HostMeasured(_)
        | RunEvent::Announced { .. }
        | RunEvent::DroppingTables { .. }
        | RunEvent::TablesLeft { .. }
        | RunEvent::BlockMeasured(_)
        | RunEvent::SecondMeasured { .. }
        | RunEvent::ShapeRead { .. }
        | RunEvent::RawOutput { .. } => BatchEnd::No,
        RunEvent::VisitStarted { .. }
        | RunEvent::ImageBuilt { .. }
        | RunEvent::TrialEnded { .. }
        | RunEvent::LaunchEnded { .. }
        | RunEvent::StepLeft { .. }
        | RunEvent::MaxLaunchesFixed { .. }
        | RunEvent::Profiled(_)
        | RunEvent::Warned { .. } => BatchEnd::Now,
    }
}
