//! Two processes that take turns, and what each used from its start to its end, or what a server used for it.
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
/// One turn of two clients of a server. Between turns the server is waited for, so that they are longer.
const TURN_AT_SERVER: Duration = Duration::from_millis(25);
/// A server that used less than a twentieth of such a time is at rest. The kernel counts the time of a thread that runs once a tick of 4 ms.
const REST: Duration = Duration::from_millis(5);
/// Then the next turn begins though the server is not at rest.
const REST_TIMEOUT: Duration = Duration::from_secs(1);
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
    in_order([reference, ours], ours_first, race)
}

/// Runs the second before the first if that is told; what came of each, in the order of the commands.
pub fn in_order<T>(
    [first, second]: [Command; 2],
    second_first: bool,
    run: impl FnOnce([Command; 2]) -> anyhow::Result<[T; 2]>,
) -> anyhow::Result<[T; 2]> {
    if second_first {
        let [of_second, of_first] = run([second, first])?;
        return Ok([of_first, of_second]);
    }
    run([first, second])
}

/// Runs two clients of one server to their ends, in turns from the first to the last: one whose other has ended is stopped as often as before. What the
/// server used for each by the meter, which tells its CPU time: in the client's turns and until it was at rest after them.
pub fn at_server(
    clients: [Command; 2],
    meter: impl Fn() -> anyhow::Result<Duration>,
) -> anyhow::Result<[Duration; 2]> {
    let [first, second] = clients;
    let mut racers = [Racer::start(first)?, Racer::start(second)?];
    let mut used_for = [Duration::ZERO; 2];
    let began = Instant::now();
    let mut used = meter()?;
    while racers.iter().any(Racer::runs) {
        for (racer, used_for) in racers.iter_mut().zip(&mut used_for) {
            if !racer.runs() {
                std::thread::sleep(TURN_AT_SERVER);
                continue;
            }
            racer.turn(TURN_AT_SERVER, false)?;
            let used_then = at_rest(&meter)?;
            *used_for += used_then.saturating_sub(used);
            used = used_then;
        }
        ensure!(began.elapsed() < TIMEOUT, "a run did not end within {} s", TIMEOUT.as_secs());
    }
    Ok(used_for)
}

/// Runs clients of one server to their ends, one after the other; what it used for each.
pub fn at_server_alone(
    clients: [Command; 2],
    meter: impl Fn() -> anyhow::Result<Duration>,
) -> anyhow::Result<[Duration; 2]> {
    let used = |client: Command| {
        let before = meter()?;
        run_alone(client)?;
        anyhow::Ok(at_rest(&meter)?.saturating_sub(before))
    };
    let [first, second] = clients;
    Ok([used(first)?, used(second)?])
}

/// What the meter tells once the server has done what it was asked for.
fn at_rest(meter: impl Fn() -> anyhow::Result<Duration>) -> anyhow::Result<Duration> {
    let began = Instant::now();
    let mut used = meter()?;
    loop {
        std::thread::sleep(REST);
        let used_then = meter()?;
        if used_then.saturating_sub(used) * 20 < REST || began.elapsed() > REST_TIMEOUT {
            return Ok(used_then);
        }
        used = used_then;
    }
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
    use std::cell::Cell;

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
    fn what_a_server_used_is_told_for_each_of_its_clients() {
        let told = Cell::new(0_u32);
        // A server that uses a microsecond from one look to the next, until it has used forty.
        let meter = || {
            told.set(told.get() + 1);
            Ok(Duration::from_micros(u64::from(told.get().min(40))))
        };
        let [first, second] = at_server([shell("sleep 0.12"), shell(":")], meter).unwrap();
        assert!(second > Duration::ZERO && first > second, "{first:?} {second:?}");
        assert!(first + second < Duration::from_micros(40), "{first:?} {second:?}");
    }

    #[test]
    fn a_failed_process_is_an_error() {
        let error = race([shell("exit 3"), shell(COUNT)]).unwrap_err().to_string();
        assert!(error.contains("`sh` failed"), "{error}");
        assert!(run_alone(shell("kill -9 $$")).is_err());
    }
}
