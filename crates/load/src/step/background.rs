//! The background writer of a step on RocksDB.

use super::ThreadGone;
use crate::clock;
use crate::operation::{self, Operate, Put};
use crate::rocksdb::database::Database;
use model::units::Nanos;
use model::wire::StepSetup;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// What the background writer did in one block.
#[derive(Debug, Clone, Default)]
pub struct Written {
    pub failed: u64,
    pub first_error: Option<String>,
}

/// A writer of limited rate that runs only while a block runs.
pub struct BackgroundWriter {
    starts: Sender<()>,
    ends: Receiver<Written>,
    running: Arc<AtomicBool>,
    handle: JoinHandle<()>,
}

/// The writer wakes up this often and writes what is due: waking for each put would cost more than the put.
const WRITER_TICK: Nanos = Nanos::from_millis(1);

impl BackgroundWriter {
    /// Starts its thread, which waits for the first block.
    pub fn start(database: &Arc<Database>, setup: &StepSetup, bytes_per_s: u64) -> BackgroundWriter {
        let mut put = operation::background_put(database, setup);
        let row_bytes = (setup.data.key_bytes + setup.data.value_bytes) as f64;
        let puts_per_ns = bytes_per_s as f64 / row_bytes / 1e9;
        let running = Arc::new(AtomicBool::new(false));
        let (starts, to_run) = channel::<()>();
        let (done, ends) = channel();
        let flag = Arc::clone(&running);
        let (database, perf_level) = (Arc::clone(database), setup.perf_level);
        let handle = std::thread::spawn(move || {
            clock::make_timers_exact();
            database.set_perf_level(perf_level);
            // Only the operation holds the database from now on.
            drop(database);
            for () in to_run {
                let written = write_while(&mut put, &flag, puts_per_ns);
                if done.send(written).is_err() {
                    break;
                }
            }
        });
        BackgroundWriter { starts, ends, running, handle }
    }

    /// A block begins.
    pub fn begin(&self) -> Result<(), ThreadGone> {
        self.running.store(true, Ordering::Release);
        self.starts.send(()).map_err(|_| ThreadGone)
    }

    /// The block is over.
    pub fn end(&self) -> Result<Written, ThreadGone> {
        self.running.store(false, Ordering::Release);
        self.ends.recv().map_err(|_| ThreadGone)
    }

    /// Ends its thread.
    pub fn stop(self) -> Result<(), ThreadGone> {
        self.running.store(false, Ordering::Release);
        drop(self.starts);
        self.handle.join().map_err(|_| ThreadGone)
    }
}

/// Writes on an absolute schedule from now on until the flag falls.
fn write_while(put: &mut Put, running: &AtomicBool, puts_per_ns: f64) -> Written {
    let start = clock::now();
    let mut written = Written::default();
    let mut puts = 0_u64;
    let mut tick = start;
    while running.load(Ordering::Acquire) {
        let due = clock::now().saturating_sub(start).0 as f64 * puts_per_ns;
        while (puts as f64) < due && running.load(Ordering::Acquire) {
            if let Err(error) = put.once() {
                written.failed += 1;
                written.first_error.get_or_insert_with(|| error.to_string());
            }
            puts += 1;
        }
        tick += WRITER_TICK;
        clock::sleep_until(tick);
    }
    written
}
