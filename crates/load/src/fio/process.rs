//! One run of fio: what it printed, what the kernel counted for it, and what the whole host did meanwhile.

use super::{FioError, io_error};
use crate::clock;
use formats::proc_stat;
use model::counter::{Counter, Counters};
use model::units::Nanos;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

const OUTPUT: &str = "fio.json";
const ERRORS: &str = "fio.stderr";
/// How often it is looked whether fio has ended. Not tuned: a hundred looks a second take a thousandth of a CPU.
const LOOK: Duration = Duration::from_millis(10);
/// How often the host's CPU time is read.
const READ_HOST: Nanos = Nanos::from_millis(100);
/// A tick of the kernel's accounting (USER_HZ is 100 on every Linux).
const TICK: Nanos = Nanos::from_millis(10);
/// Of what fio said an error shows so much.
const SHOWN: usize = 400;
/// What fio, or the system below it, says if a job asks for what is not there.
const NOT_SUPPORTED: [&str; 6] = [
    "not loadable",
    "failed to load engine",
    "No such engine",
    "does not support direct=1",
    "Operation not supported",
    "Function not implemented",
];

/// fio after it has ended well.
pub(super) struct Ended {
    /// Standard output, then standard error.
    pub said: String,
    /// When it was seen to have ended.
    at: Nanos,
    /// Ticks that the host was busy by then, oldest first.
    host: Vec<(Nanos, u64)>,
    pub counters: Counters,
}

/// Runs it to its end. It dies with this worker.
pub(super) fn run(program: &Path, arguments: &[String]) -> Result<Ended, FioError> {
    let (output, errors) = (in_memory(OUTPUT)?, in_memory(ERRORS)?);
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    command.stdout(output.try_clone().map_err(io_error("open", Path::new(OUTPUT)))?);
    command.stderr(errors.try_clone().map_err(io_error("open", Path::new(ERRORS)))?);
    // SAFETY: prctl(2) is async-signal-safe and touches only the child.
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            Ok(())
        });
    }
    let child = command.spawn().map_err(|source| FioError::Start { program: program.to_owned(), source })?;
    let mut host = Vec::new();
    let (status, usage) = loop {
        let now = clock::now();
        if host.last().is_none_or(|(last, _)| now.saturating_sub(*last) >= READ_HOST) {
            host.extend(host_ticks().map(|ticks| (now, ticks)));
        }
        if let Some(ended) = wait4(child.id()) {
            break ended;
        }
        std::thread::sleep(LOOK);
    };
    let at = clock::now();
    host.extend(host_ticks().map(|ticks| (at, ticks)));
    let (output, errors) = (text_of(output, OUTPUT)?, text_of(errors, ERRORS)?);
    let status = ExitStatus::from_raw(status);
    if !status.success() {
        return Err(failed(status, &output, &errors));
    }
    Ok(Ended { said: format!("{output}{errors}"), at, host, counters: counted(&usage) })
}

/// What fio says of a full disk must not be written to that disk.
fn in_memory(name: &str) -> Result<File, FioError> {
    let made = rustix::fs::memfd_create(name, rustix::fs::MemfdFlags::CLOEXEC);
    made.map(File::from).map_err(|errno| io_error("make", Path::new(name))(errno.into()))
}

fn text_of(mut file: File, name: &str) -> Result<String, FioError> {
    let mut bytes = Vec::new();
    let read = file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_end(&mut bytes));
    read.map_err(io_error("read", Path::new(name)))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

impl Ended {
    /// One that said this, and of which nothing else is known.
    #[cfg(test)]
    pub(super) fn of_text(said: &str) -> Ended {
        Ended { said: said.to_owned(), at: Nanos(0), host: Vec::new(), counters: Counters::new() }
    }

    /// CPU time of the host in user mode and in the kernel during the last `wall` before the end: fio starts, and lays out
    /// what it needs, before its jobs run. Absent if the kernel does not tell.
    pub(super) fn host_cpu(&self, wall: Nanos) -> Option<Nanos> {
        let (_, last) = self.host.last()?;
        let ticks = *last as f64 - ticks_at(&self.host, self.at.saturating_sub(wall))?;
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a share of the ticks since the host was started"
        )]
        #[expect(clippy::cast_sign_loss, reason = "the counter only grows")]
        Some(Nanos((ticks.max(0.0) * TICK.0 as f64) as u64))
    }
}

/// The counter at a moment, between two readings in proportion.
fn ticks_at(readings: &[(Nanos, u64)], moment: Nanos) -> Option<f64> {
    let after = readings.iter().position(|(at, _)| *at >= moment)?;
    let (end, after_ticks) = readings[after];
    let Some((begin, before_ticks)) = after.checked_sub(1).map(|before| readings[before]) else {
        return Some(after_ticks as f64);
    };
    let share = (moment.0 - begin.0) as f64 / (end.0 - begin.0).max(1) as f64;
    Some(before_ticks as f64 + share * (after_ticks - before_ticks) as f64)
}

fn host_ticks() -> Option<u64> {
    proc_stat::busy_ticks(&fs::read_to_string("/proc/stat").ok()?)
}

fn failed(status: ExitStatus, output: &str, errors: &str) -> FioError {
    let said = last_words(output, errors);
    if NOT_SUPPORTED.iter().any(|words| said.contains(words)) {
        return FioError::NotSupported(said);
    }
    let how = match (status.code(), status.signal()) {
        (_, Some(signal)) => format!("was killed by signal {signal}"),
        (Some(code), None) => format!("exited with status {code}"),
        (None, None) => "ended".to_owned(),
    };
    FioError::Failed { how, said }
}

/// What people should see: standard error, and what stands before the JSON, which begins with a brace.
pub(super) fn last_words(output: &str, errors: &str) -> String {
    let preamble = output.lines().take_while(|line| !line.starts_with('{'));
    let lines: Vec<&str> =
        preamble.chain(errors.lines()).map(str::trim).filter(|line| !line.is_empty()).collect();
    let text = lines.join(" / ");
    let from = text.char_indices().rev().nth(SHOWN - 1).map_or(0, |(index, _)| index);
    if text.is_empty() { "nothing".to_owned() } else { text[from..].to_owned() }
}

/// The status and the resources of a child that has ended, its own children included.
fn wait4(pid: u32) -> Option<(i32, libc::rusage)> {
    let pid = libc::pid_t::try_from(pid).ok()?;
    let mut status = 0;
    // SAFETY: an rusage of zeros is valid, and both places outlive the call.
    let (ended, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        (libc::wait4(pid, &mut status, libc::WNOHANG, &mut usage), usage)
    };
    (ended == pid).then_some((status, usage))
}

/// What else the kernel keeps of it (getrusage(2)); its start is in this, as it is not in what fio says of its jobs.
fn counted(usage: &libc::rusage) -> Counters {
    Counters::from([
        (Counter::MinorFaults, usage.ru_minflt.unsigned_abs()),
        (Counter::MajorFaults, usage.ru_majflt.unsigned_abs()),
        (Counter::VoluntarySwitches, usage.ru_nvcsw.unsigned_abs()),
        (Counter::InvoluntarySwitches, usage.ru_nivcsw.unsigned_abs()),
        // Blocks of 512 bytes, kilobytes.
        (Counter::StorageReadBytes, usage.ru_inblock.unsigned_abs() * 512),
        (Counter::StorageWriteBytes, usage.ru_oublock.unsigned_abs() * 512),
        (Counter::ResidentPeakBytes, usage.ru_maxrss.unsigned_abs() * 1024),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_time_of_the_jobs_counts_of_the_host() {
        let at = |ms| Nanos::from_millis(ms);
        // It starts within 200 ms, in which the host is busy all the time, and then reads for a second.
        let host = vec![(at(1000), 500), (at(1200), 520), (at(1700), 530), (at(2200), 540)];
        let ended = Ended { said: String::new(), at: at(2200), host, counters: Counters::new() };
        assert_eq!(ended.host_cpu(at(1000)), Some(at(200)));
        assert_eq!(ended.host_cpu(at(250)), Some(at(50)));
        assert_eq!(ended.host_cpu(at(5000)), Some(at(400)));
        assert!(host_ticks().unwrap() > 0);
        let nothing = Ended { host: Vec::new(), ..ended };
        assert_eq!(nothing.host_cpu(at(1000)), None);
    }

    #[test]
    fn what_people_see_is_not_the_json() {
        assert_eq!(last_words("fio: x\nfio: y\n{\n \"a\": 1 }\n", "z\n"), "fio: x / fio: y / z");
        assert_eq!(last_words("{ }", ""), "nothing");
        assert_eq!(last_words(&"a\u{e4}".repeat(1000), "").chars().count(), SHOWN);
    }
}
