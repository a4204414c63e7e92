//! One run of a program that is not ours: its output in a file, its resources from the kernel when it ends. It dies
//! with its controller, and is killed when its time is up.

use super::wait::{Unmet, Wait};
use super::{child, output, tree};
use model::counter::{Counter, Counters};
use model::units::Nanos;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

/// Why a program gave no result.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    #[error("failed to start `{}`", program.display())]
    Start { program: PathBuf, source: io::Error },
    #[error("`{}` did not end within {:.0} s", program.display(), timeout.as_secs_f64())]
    TimedOut { program: PathBuf, timeout: Nanos },
    #[error("`{}` {how}; its last words: {last_words}", program.display())]
    Failed {
        program: PathBuf,
        /// `exited with status 1`, `was killed by signal 9`.
        how: String,
        /// The end of its output.
        last_words: String,
    },
    /// The user stopped the run.
    #[error("interrupted")]
    Interrupted,
}

/// What to run.
#[derive(Debug)]
pub struct Tool<'a> {
    pub program: &'a Path,
    pub arguments: &'a [String],
    pub directory: &'a Path,
    /// File for its standard output and standard error together.
    pub output: &'a Path,
    /// It is killed after this long.
    pub timeout: Nanos,
    /// Variables of the environment that it does not get.
    pub without: &'a [&'a str],
    /// Variables that it gets beside those of this process.
    pub with: &'a BTreeMap<String, String>,
}

/// A program that has ended well.
#[derive(Debug)]
pub struct ToolRun {
    /// Standard output and standard error.
    pub output: String,
    /// CPU time of all its threads.
    pub cpu: Nanos,
    /// What the kernel counted for it.
    pub counters: Counters,
}

/// Of a longer output the beginning and the end are kept. The longest that is read, git's list of commits, has 100 bytes a line.
const MOST_OUTPUT_BYTES: u64 = 64 << 20;

/// How often a waiting controller looks.
const LOOK: Duration = Duration::from_millis(20);
/// Runs it to its end; `started` is told its process id at once.
pub fn run(
    tool: &Tool<'_>,
    started: impl FnOnce(u32) -> io::Result<()>,
    interrupted: &mut dyn FnMut() -> bool,
) -> Result<ToolRun, ToolError> {
    let error = |source| ToolError::Start { program: tool.program.to_owned(), source };
    let into = File::create(tool.output).map_err(error)?;
    let mut command = child::command(tool.program);
    command
        .args(tool.arguments)
        .current_dir(tool.directory)
        .stdin(Stdio::null())
        .stdout(into.try_clone().map_err(error)?)
        .stderr(into)
        .process_group(0);
    for variable in tool.without {
        command.env_remove(variable);
    }
    command.envs(tool.with);
    child::die_with_controller(&mut command);
    let child = command.spawn().map_err(error)?;
    let pid = child.id();
    if let Err(source) = started(pid) {
        end(pid);
        return Err(error(source));
    }
    let wait = Wait { pause: LOOK, timeout: tool.timeout };
    let ended = wait.until(interrupted, || wait4(pid, libc::WNOHANG));
    let (status, usage) = ended.map_err(|unmet| {
        end(pid);
        match unmet {
            Unmet::Interrupted => ToolError::Interrupted,
            Unmet::TimedOut => {
                ToolError::TimedOut { program: tool.program.to_owned(), timeout: tool.timeout }
            }
        }
    })?;
    let status = ExitStatus::from_raw(status);
    if !status.success() {
        let (how, last_words) = (child::how_it_ended(status), output::last_words(tool.output));
        return Err(ToolError::Failed { program: tool.program.to_owned(), how, last_words });
    }
    let output = output::head_and_tail(tool.output, MOST_OUTPUT_BYTES).map_err(error)?;
    let (cpu, counters) = counted(&usage);
    Ok(ToolRun { output, cpu, counters })
}

/// Kills a child and waits until it is gone.
fn end(pid: u32) {
    tree::kill(pid);
    let _ = wait4(pid, 0);
}

/// The status and the resources of a child that has ended.
fn wait4(pid: u32, flags: i32) -> Option<(i32, libc::rusage)> {
    let pid = libc::pid_t::try_from(pid).ok()?;
    let mut status = 0;
    // SAFETY: an rusage of zeros is valid, and both places outlive the call.
    let (ended, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        (libc::wait4(pid, &mut status, flags, &mut usage), usage)
    };
    (ended == pid).then_some((status, usage))
}

/// CPU time and what else the kernel keeps of a process that has ended (getrusage(2)).
fn counted(usage: &libc::rusage) -> (Nanos, Counters) {
    let micros = |time: &libc::timeval| time.tv_sec.unsigned_abs() * 1_000_000 + time.tv_usec.unsigned_abs();
    let (user, system) = (micros(&usage.ru_utime), micros(&usage.ru_stime));
    let counters = Counters::from([
        (Counter::UserCpuMicros, user),
        (Counter::SystemCpuMicros, system),
        (Counter::MinorFaults, usage.ru_minflt.unsigned_abs()),
        (Counter::MajorFaults, usage.ru_majflt.unsigned_abs()),
        (Counter::VoluntarySwitches, usage.ru_nvcsw.unsigned_abs()),
        (Counter::InvoluntarySwitches, usage.ru_nivcsw.unsigned_abs()),
        // Blocks of 512 bytes, kilobytes.
        (Counter::StorageReadBytes, usage.ru_inblock.unsigned_abs() * 512),
        (Counter::StorageWriteBytes, usage.ru_oublock.unsigned_abs() * 512),
        (Counter::ResidentPeakBytes, usage.ru_maxrss.unsigned_abs() * 1024),
    ]);
    (Nanos((user + system) * 1000), counters)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_shell(script: &str, timeout: Nanos) -> Result<ToolRun, ToolError> {
        let directory = tempfile::tempdir().unwrap();
        let arguments = ["-c".to_owned(), script.to_owned()];
        let output = directory.path().join("output");
        let tool = Tool {
            program: Path::new("/bin/sh"),
            arguments: &arguments,
            directory: directory.path(),
            output: &output,
            timeout,
            without: &[],
            with: &BTreeMap::new(),
        };
        run(&tool, |_| Ok(()), &mut || false)
    }

    #[test]
    fn output_and_resources_are_those_of_the_program() {
        let ended =
            run_shell("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo out; echo err >&2", DAY)
                .unwrap();
        assert_eq!(ended.output, "out\nerr\n");
        assert!(ended.cpu > Nanos(0) && ended.counters[&Counter::ResidentPeakBytes] > 1 << 16);
    }

    const DAY: Nanos = Nanos::from_secs(86_400);

    #[test]
    fn a_failure_tells_how_with_the_last_words_and_a_hang_is_ended() {
        let failed = run_shell("echo no such flag; exit 3", DAY).unwrap_err().to_string();
        assert_eq!(failed, "`/bin/sh` exited with status 3; its last words: no such flag");
        let killed = run_shell("kill -SEGV $$", DAY).unwrap_err().to_string();
        assert!(killed.contains("signal 11"), "{killed}");
        assert!(matches!(run_shell("exec tail -f /dev/null", Nanos(1)), Err(ToolError::TimedOut { .. })));
    }
}
