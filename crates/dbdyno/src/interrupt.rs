//! Ctrl-C: the first asks for an orderly end, the second ends at once (workers die with their controller).

use anyhow::Context;
use runner::proc::signals::Ignored;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Begins to listen, once however often it is called; the flag is set from the first signal on. What was ignored when we
/// began stays so: `nohup` protects a run from a lost session.
pub fn listen() -> anyhow::Result<Arc<AtomicBool>> {
    if let Some(flag) = FLAG.get() {
        return Ok(Arc::clone(flag));
    }
    let flag = Arc::clone(FLAG.get_or_init(Arc::default));
    let ignored = Ignored::now();
    for signal in [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !ignored.contains(*signal)) {
        // In this order: a second signal finds the flag set and ends the process.
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&flag))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&flag)))
            .context("failed to listen for Ctrl-C")?;
    }
    Ok(flag)
}

/// Whether the user has asked to stop.
pub fn requested() -> bool {
    FLAG.get().is_some_and(|flag| flag.load(Ordering::Relaxed))
}
