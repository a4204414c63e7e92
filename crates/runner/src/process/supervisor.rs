//! Two processes for every run, so that nothing that it starts outlives it, whatever forks: the run itself, and above it a
//! supervisor that waits. Whichever of them is killed, the other ends all that is left.
//!
//! Both are subreapers (prctl(2)): a process whose parent has ended becomes a child of the run, and if that has ended, of the
//! supervisor. So what a tool or an engine has left behind in a session of its own is found too.

use super::{child, tree};
use crate::clock::Stopwatch;
use crate::proc::signals;
use crate::process::worker::OWN_PROGRAM;
use crate::rights::as_root;
use model::units::Nanos;
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::origin::WithOrigin;
use signal_hook::low_level::siginfo::Cause;
use std::env;
use std::ffi::CStr;
use std::fs;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt, parent_id};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Tells the run which process is its supervisor; what the run starts does not get it.
pub(super) const VARIABLE: &str = "DBDYNO_SUPERVISOR";
/// Whether this process is a run below a supervisor.
static SUPERVISED: AtomicBool = AtomicBool::new(false);
/// What was killed is gone within this, unless it hangs in the kernel, where nothing can end it.
const END_TIMEOUT: Nanos = Nanos::from_secs(5);
/// What ends by itself does within this: to unmount and to detach may take some seconds each while somebody looks into them.
const OWN_END_TIMEOUT: Nanos = Nanos::from_secs(15);
const LOOK: Duration = Duration::from_millis(2);
/// The name of a process, in `/proc/PID/comm`, that ends by itself when its controller has ended; the kernel keeps 15 bytes.
const ENDS_BY_ITSELF: &CStr = c"dbdyno-device";
/// As shells report a death by a signal.
const BY_SIGNAL: i32 = 128;

/// Starts this program again with the same arguments, as the run below this supervisor, and waits until it has ended. Returns
/// its exit status; then no process that it started is left.
pub fn supervise() -> io::Result<i32> {
    adopt_orphans();
    let mut signals = SignalsInfo::<WithOrigin>::new(signals::heeded())?;
    let mut run = Command::new(OWN_PROGRAM)
        .arg0("dbdyno")
        .args(env::args_os().skip(1))
        .env(VARIABLE, std::process::id().to_string())
        .spawn()?;
    let pid = run.id();
    std::thread::spawn(move || {
        for origin in signals.forever() {
            // What a terminal sends, it sends to the run as well.
            if matches!(origin.cause, Cause::Sent(_)) {
                tree::send(pid, origin.signal);
            }
        }
    });
    let status = run.wait()?;
    end_descendants();
    Ok(status.code().or(status.signal().map(|signal| BY_SIGNAL + signal)).unwrap_or(BY_SIGNAL))
}

/// Whether this process was started as the run below a supervisor.
pub fn is_supervised() -> bool {
    env::var_os(VARIABLE).is_some()
}

/// Follows the supervisor from now on: if that is killed, so is everything that this process has started, and then this process. If it
/// has been killed already, this process ends at once. `before` is called first, so that nobody takes that for a failure of an engine.
pub fn follow(before: impl FnOnce() + Send + 'static) {
    adopt_orphans();
    SUPERVISED.store(true, Ordering::Relaxed);
    // Kernels before 5.3 have no such file: there a run goes on without a supervisor that was killed.
    let supervisor = child::pidfd(parent_id());
    if !env::var(VARIABLE).is_ok_and(|pid| pid == parent_id().to_string()) {
        signal_hook::low_level::exit(BY_SIGNAL + libc::SIGKILL);
    }
    if let Some(supervisor) = supervisor {
        std::thread::spawn(move || {
            child::wait_for_end(&supervisor);
            before();
            let _root = as_root();
            // The others see the end of this process.
            end_children(|pid| !ends_by_itself(pid));
            // At once, as if this process had been killed too.
            signal_hook::low_level::exit(BY_SIGNAL + libc::SIGKILL);
        });
    }
}

/// From now on nobody ends this process as long as its controller lives, and then it is given time: it ends when its input ends,
/// and has something to take apart first that it would leave behind if it were killed.
pub fn end_by_myself() {
    // SAFETY: prctl(2) with the address of a string that ends with zero.
    unsafe { libc::prctl(libc::PR_SET_NAME, ENDS_BY_ITSELF.as_ptr()) };
}

fn ends_by_itself(pid: u32) -> bool {
    let name = fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim_ascii_end() == ENDS_BY_ITSELF.to_bytes()
}

/// Ends what a run has adopted: to be called when it has no child of its own. Does nothing in a process without a supervisor,
/// which adopts nobody.
pub fn end_orphans() {
    if SUPERVISED.load(Ordering::Relaxed) {
        let _root = as_root();
        end_children(|pid| !ends_by_itself(pid));
    }
}

/// Ends the children of this process with all below them, those last that end by themselves.
fn end_descendants() {
    end_children(|pid| !ends_by_itself(pid));
    let watch = Stopwatch::start();
    while watch.elapsed() < OWN_END_TIMEOUT {
        let left = tree::children(std::process::id());
        if left.is_empty() {
            return;
        }
        left.into_iter().for_each(child::reap);
        std::thread::sleep(LOOK);
    }
    end_children(|_| true);
}

/// Ends those children of this process with all below them, again until none is left: their orphans come next.
fn end_children(which: impl Fn(u32) -> bool) {
    let watch = Stopwatch::start();
    loop {
        let mut left = tree::children(std::process::id());
        left.retain(|pid| which(*pid));
        if left.is_empty() || watch.elapsed() > END_TIMEOUT {
            return;
        }
        for pid in left {
            tree::kill(pid);
            child::reap(pid);
        }
        std::thread::sleep(LOOK);
    }
}

fn adopt_orphans() {
    // SAFETY: prctl(2) with a flag; kernels that do not know it change nothing.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
}
