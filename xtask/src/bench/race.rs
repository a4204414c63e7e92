//! Two processes that take turns, and what each used from its start to its end.
//!
//! While one runs the other is stopped: neither takes the other's CPU, and what the machine does meanwhile meets
//! both alike. What they compute and print is not known here.

use anyhow::{Context, bail, ensure};
use load::cpus;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

/// One turn. Long against the refill of the caches after a switch, short against what other processes of the
/// machine do. Hardly tuned: with 20 ms the ratios of two cases scattered a little more over ten pairs.
const TURN: Duration = Duration::from_millis(5);
/// No run takes a tenth of it.
const TIMEOUT: Duration = Duration::from_secs(300);

/// What a process used, all its threads.
#[derive(Debug, Clone, Copy, Default)]
pub struct Used {
    /// CPU time, user and system.
    pub cpu: Duration,
    /// How often a thread slept: waited for another one, mostly.
    pub switches: u64,
}

/// Runs both to their ends, the first named first.
fn race(commands: [Command; 2]) -> anyhow::Result<[Used; 2]> {
    let [first, second] = commands;
    let mut racers = [Racer::start(first)?, Racer::start(second)?];
    let began = Instant::now();
    while racers.iter().any(Racer::runs) {
        let alone = racers.iter().filter(|racer| racer.runs()).count() == 1;
        for racer in &mut racers {
            racer.turn(TURN, alone)?;
        }
        ensure!(began.elapsed() < TIMEOUT, "a run did not end within {} s", TIMEOUT.as_secs());
    }
    let [first, second] = &racers;
    Ok([first.used()?, second.used()?])
}

/// Runs the reference and ours to their ends; what each used, in that order.
pub fn against(reference: Command, ours: Command, ours_first: bool) -> anyhow::Result<[Used; 2]> {
    if ours_first {
        let [of_ours, of_reference] = race([ours, reference])?;
        return Ok([of_reference, of_ours]);
    }
    race([reference, ours])
}

/// Runs one to its end.
pub fn run_alone(command: Command) -> anyhow::Result<Used> {
    let mut racer = Racer::start(command)?;
    let began = Instant::now();
    while racer.runs() {
        racer.turn(TURN, true)?;
        ensure!(began.elapsed() < TIMEOUT, "a run did not end within {} s", TIMEOUT.as_secs());
    }
    racer.used()
}

/// Keeps all threads of a process that is yet to start on one CPU.
pub fn keep_on(command: &mut Command, cpu: usize) {
    // SAFETY: it makes one call to the kernel between fork and exec, allocates nothing and takes no lock.
    unsafe {
        command.pre_exec(move || {
            cpus::stay_on(cpu);
            Ok(())
        });
    }
}

/// A process. Killed when dropped before its end.
struct Racer {
    shown: String,
    pid: libc::pid_t,
    used: Option<Used>,
}

impl Racer {
    /// Starts it and stops it at once.
    fn start(mut command: Command) -> anyhow::Result<Racer> {
        let shown = command.get_program().to_string_lossy().into_owned();
        // SAFETY: prctl is safe between fork and exec; it makes no allocation and takes no lock.
        unsafe {
            command.pre_exec(|| {
                // A stopped process would outlive us if we were killed.
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                Ok(())
            });
        }
        let child = command.spawn().with_context(|| format!("failed to start `{shown}`"))?;
        let pid = libc::pid_t::try_from(child.id()).context("a process id is out of range")?;
        let racer = Racer { shown, pid, used: None };
        racer.signal(libc::SIGSTOP)?;
        Ok(racer)
    }

    fn runs(&self) -> bool {
        self.used.is_none()
    }

    fn used(&self) -> anyhow::Result<Used> {
        self.used.with_context(|| format!("`{}` has not ended", self.shown))
    }

    /// Lets it run for a turn, and go on after it where it is `alone`.
    fn turn(&mut self, length: Duration, alone: bool) -> anyhow::Result<()> {
        if !self.runs() {
            return Ok(());
        }
        self.signal(libc::SIGCONT)?;
        std::thread::sleep(length);
        if !alone {
            self.signal(libc::SIGSTOP)?;
        }
        self.look()
    }

    fn signal(&self, signal: libc::c_int) -> anyhow::Result<()> {
        // SAFETY: kill takes plain numbers; the process is our child and not reaped, so the id is still its own.
        let sent = unsafe { libc::kill(self.pid, signal) };
        ensure!(sent == 0, "failed to signal `{}`: {}", self.shown, io::Error::last_os_error());
        Ok(())
    }

    /// Takes note of its end.
    fn look(&mut self) -> anyhow::Result<()> {
        let mut status = 0;
        // SAFETY: rusage is plain data, for which zero is a value.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: both places outlive the call.
        let found = unsafe { libc::wait4(self.pid, &mut status, libc::WNOHANG, &mut usage) };
        match found {
            0 => return Ok(()),
            -1 => bail!("failed to wait for `{}`: {}", self.shown, io::Error::last_os_error()),
            _ => {
                self.used = Some(Used {
                    cpu: duration(usage.ru_utime) + duration(usage.ru_stime),
                    switches: usage.ru_nvcsw.unsigned_abs(),
                });
            }
        }
        let ended_well = libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0;
        ensure!(ended_well, "`{}` failed with wait status {status:#x}", self.shown);
        Ok(())
    }
}

impl Drop for Racer {
    fn drop(&mut self) {
        if self.runs() {
            // SAFETY: plain numbers, our own child; the null pointer means that no status is wanted.
            unsafe {
                libc::kill(self.pid, libc::SIGKILL);
                libc::waitpid(self.pid, std::ptr::null_mut(), 0);
            }
        }
    }
}

fn duration(time: libc::timeval) -> Duration {
    Duration::from_secs(time.tv_sec.unsigned_abs()) + Duration::from_micros(time.tv_usec.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    const COUNT: &str = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";

    #[test]
    fn the_cpu_time_of_both_is_found_though_they_take_turns() {
        for ours_first in [true, false] {
            let [busy, idle] = against(shell(COUNT), shell(":"), ours_first).unwrap();
            assert!(busy.cpu > Duration::from_millis(20), "{busy:?}");
            assert!(idle.cpu < busy.cpu, "{idle:?} {busy:?}");
        }
    }

    #[test]
    fn a_failed_process_is_an_error() {
        let error = race([shell("exit 3"), shell(COUNT)]).unwrap_err().to_string();
        assert!(error.contains("`sh` failed"), "{error}");
        assert!(run_alone(shell("kill -9 $$")).is_err());
    }
}
