//! Ctrl-C: the first asks for an orderly end, a later one ends at once (what a run started dies with it).

use anyhow::Context;
use runner::proc::signals;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();
/// Whether it was not the user who set the flag.
static OURS: AtomicBool = AtomicBool::new(false);

/// Begins to listen, once however often it is called; the flag is set from the first signal on. What was ignored when we
/// began stays so: `nohup` protects a run from a lost session.
pub fn listen() -> anyhow::Result<Arc<AtomicBool>> {
    if let Some(flag) = FLAG.get() {
        return Ok(Arc::clone(flag));
    }
    let flag = FLAG.get_or_init(Arc::default);
    signals::listen(flag).context("failed to listen for Ctrl-C")?;
    Ok(Arc::clone(flag))
}

/// Whether the user has asked to stop.
pub fn requested() -> bool {
    !OURS.load(Ordering::Relaxed) && FLAG.get().is_some_and(|flag| flag.load(Ordering::Relaxed))
}

/// Takes note of a user who wants to stop and has said so to another process.
pub fn request() {
    FLAG.get_or_init(Arc::default).store(true, Ordering::Relaxed);
}

/// Ends the run as Ctrl-C would, for a reason that is no wish of the user.
pub fn end_the_run() {
    OURS.store(!requested(), Ordering::Relaxed);
    FLAG.get_or_init(Arc::default).store(true, Ordering::Relaxed);
}
