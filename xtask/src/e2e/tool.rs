//! Running dbdyno as a user does: arguments, environment, exit status, output. Every run has a timeout.

use super::processes;
use super::scratch::Scratch;
use anyhow::{Context, bail, ensure};
use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Longer than the slowest thing any case does: fetching a jar of 92 MB over a slow line.
const TIMEOUT: Duration = Duration::from_secs(600);
const POLL: Duration = Duration::from_millis(20);
/// Characters of standard error that a failure shows.
const SHOWN_STDERR: usize = 1500;

/// One call of dbdyno: its arguments and what is special about its environment.
pub struct Call<'a> {
    scratch: &'a Scratch,
    binary: PathBuf,
    arguments: Vec<OsString>,
    cache: PathBuf,
    path: Option<PathBuf>,
    variables: Vec<(String, String)>,
    /// What starts it, with its arguments; empty if we do.
    through: Vec<String>,
    /// Whether it is told something while it runs.
    is_told: bool,
}

impl<'a> Call<'a> {
    pub fn new<S: AsRef<OsStr>>(scratch: &'a Scratch, arguments: impl IntoIterator<Item = S>) -> Call<'a> {
        let arguments = arguments.into_iter().map(|argument| argument.as_ref().to_owned()).collect();
        let cache = scratch.shared.cache.clone();
        let binary = scratch.shared.binary.clone();
        Call {
            scratch,
            binary,
            arguments,
            cache,
            path: None,
            variables: Vec::new(),
            through: Vec::new(),
            is_told: false,
        }
    }

    /// `compare BASE CANDIDATE` on the tiny workload.
    pub fn compare(scratch: &'a Scratch, subjects: [&str; 2], budget: &str) -> Call<'a> {
        let mut call = Call::new(scratch, ["compare", subjects[0], subjects[1]]);
        call.arguments.extend(["--workload".into(), scratch.workload.clone().into_os_string()]);
        call.and(["--budget", budget, "--json"])
    }

    /// With more arguments.
    pub fn and<S: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = S>) -> Call<'a> {
        self.arguments.extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    /// With a cache of the case's own instead of the shared one.
    pub fn own_cache(mut self) -> Call<'a> {
        self.cache = self.scratch.path("cache");
        self
    }

    /// With this cache.
    pub fn cache(mut self, path: &Path) -> Call<'a> {
        path.clone_into(&mut self.cache);
        self
    }

    /// Of another copy of the binary.
    pub fn binary(mut self, path: &Path) -> Call<'a> {
        path.clone_into(&mut self.binary);
        self
    }

    /// With this `PATH`.
    pub fn search_path(mut self, path: PathBuf) -> Call<'a> {
        self.path = Some(path);
        self
    }

    /// With this environment variable.
    pub fn variable(mut self, name: &str, value: &str) -> Call<'a> {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With an input that ends when this process does, or with [`Running::end_input`].
    pub fn with_input(mut self) -> Call<'a> {
        self.is_told = true;
        self
    }

    /// From a shell that may use this CPU only.
    pub fn on_cpu(self, cpu: u32) -> Call<'a> {
        self.through(["taskset", "--cpu-list", &cpu.to_string()])
    }

    /// Started by another program: its name and arguments, to which ours are added.
    pub fn through<'b>(mut self, words: impl IntoIterator<Item = &'b str>) -> Call<'a> {
        self.through = words.into_iter().map(str::to_owned).collect();
        self
    }

    /// Starts it in a process group of its own, as a shell does.
    pub fn start(self) -> anyhow::Result<Running> {
        let shown =
            self.arguments.iter().map(|argument| argument.to_string_lossy()).collect::<Vec<_>>().join(" ");
        let number = fs::read_dir(&self.scratch.directory)?.count();
        let stdout = self.scratch.path(&format!("{number}.stdout"));
        let stderr = self.scratch.path(&format!("{number}.stderr"));
        self.scratch.shared.share_fingerprint(&self.cache)?;
        // A shell starts what runs in its background with Ctrl-C ignored, and children inherit that.
        let mut command = Command::new("/usr/bin/env");
        command
            .arg("--default-signal")
            .args(&self.through)
            .arg(&self.binary)
            .args(&self.arguments)
            .env("XDG_CACHE_HOME", &self.cache)
            .env("XDG_DATA_HOME", self.scratch.data())
            .env("XDG_CONFIG_HOME", self.scratch.config())
            .env_remove("DBDYNO_STORE")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(if self.is_told { Stdio::piped() } else { Stdio::null() })
            .stdout(File::create(&stdout)?)
            .stderr(File::create(&stderr)?)
            .current_dir(&self.scratch.directory)
            .process_group(0);
        if let Some(path) = &self.path {
            command.env("PATH", path);
        }
        let child = command.spawn().with_context(|| format!("failed to start `dbdyno {shown}`"))?;
        Ok(Running { child, shown, stdout, stderr, began: Instant::now(), ended: None })
    }

    /// Runs it to its end.
    pub fn run(self) -> anyhow::Result<Finished> {
        self.start()?.finish(TIMEOUT)
    }

    /// Runs it to its end, which must be a good one.
    pub fn succeeds(self) -> anyhow::Result<Finished> {
        self.run()?.expect_code(&[0])
    }

    /// Runs it to its end, whose status must be one of these; it must say all of these.
    pub fn fails(self, wanted: &[i32], parts: &[&str]) -> anyhow::Result<Finished> {
        self.run()?.expect_code(wanted)?.expect_stderr(parts)
    }
}

/// A dbdyno that runs. Killed with its group when dropped.
pub struct Running {
    child: Child,
    shown: String,
    stdout: PathBuf,
    stderr: PathBuf,
    began: Instant,
    ended: Option<ExitStatus>,
}

impl Running {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal to it alone.
    pub fn signal(&self, signal: i32) -> anyhow::Result<()> {
        processes::signal(self.pid(), signal)
    }

    /// What a terminal does on Ctrl-C: SIGINT to the whole process group.
    pub fn press_ctrl_c(&self) -> anyhow::Result<()> {
        processes::signal_group(self.pid(), libc::SIGINT)
    }

    /// Of a run, the process that measures and stores; none before its supervisor has started it.
    pub fn below_supervisor(&self) -> anyhow::Result<Option<u32>> {
        Ok(processes::all()?.into_iter().find(|pid| processes::parent(*pid) == Some(self.pid())))
    }

    /// Kills the supervisor of a run, or the run itself, and waits until both are gone.
    pub fn kill(&mut self, supervisor: bool) -> anyhow::Result<()> {
        let run = self.below_supervisor()?;
        // Before the run was started there is only one to kill.
        processes::signal(run.filter(|_| !supervisor).unwrap_or(self.pid()), libc::SIGKILL)?;
        while self.is_running()? {
            std::thread::sleep(POLL);
        }
        Ok(())
    }

    /// Writes a line to its input.
    pub fn write_line(&mut self, line: &str) -> anyhow::Result<()> {
        let input = self.child.stdin.as_mut().context("it has no input")?;
        writeln!(input, "{line}")
            .with_context(|| format!("failed to write `{line}` to `dbdyno {}`", self.shown))
    }

    /// Its input ends.
    pub fn end_input(&mut self) {
        self.child.stdin = None;
    }

    /// Whether it still runs.
    pub fn is_running(&mut self) -> anyhow::Result<bool> {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().context("failed to wait for dbdyno")?;
        }
        Ok(self.ended.is_none())
    }

    /// What it has printed so far.
    pub fn stdout_so_far(&self) -> anyhow::Result<String> {
        fs::read_to_string(&self.stdout)
            .with_context(|| format!("failed to read `{}`", self.stdout.display()))
    }

    /// What it has said so far on standard error.
    pub fn stderr_so_far(&self) -> anyhow::Result<String> {
        fs::read_to_string(&self.stderr)
            .with_context(|| format!("failed to read `{}`", self.stderr.display()))
    }

    /// Waits for its end.
    pub fn finish(mut self, timeout: Duration) -> anyhow::Result<Finished> {
        let waiting = Instant::now();
        while self.is_running()? {
            if waiting.elapsed() > timeout {
                bail!("`dbdyno {}` did not end within {} s", self.shown, timeout.as_secs());
            }
            std::thread::sleep(POLL);
        }
        let status = self.ended.context("an ended process has a status")?;
        let text = |path: &PathBuf| -> anyhow::Result<String> {
            let bytes = fs::read(path).with_context(|| format!("failed to read `{}`", path.display()))?;
            String::from_utf8(bytes).with_context(|| format!("`{}` is not UTF-8", path.display()))
        };
        Ok(Finished {
            shown: self.shown.clone(),
            status,
            stdout: text(&self.stdout)?,
            stderr: text(&self.stderr)?,
            took: self.began.elapsed(),
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.ended.is_none() {
            // It failed its case already; that it could not be killed would be seen by the check for leftovers.
            let _ = processes::signal_group(self.child.id(), libc::SIGKILL);
            let _ = self.child.wait();
        }
    }
}

/// A dbdyno that has ended.
#[derive(Debug)]
pub struct Finished {
    shown: String,
    status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
    pub took: Duration,
}

impl Finished {
    /// The exit status; an error if a signal ended it.
    pub fn code(&self) -> anyhow::Result<i32> {
        self.status.code().with_context(|| {
            format!("`dbdyno {}` was ended by signal {}", self.shown, self.status.signal().unwrap_or(0))
        })
    }

    /// Why nothing was measured, if the plan wants what this host cannot have.
    pub fn not_here(&self) -> anyhow::Result<Option<String>> {
        let skipped = self.code()? == 3 && self.stderr.contains("skipped: this host cannot");
        Ok(skipped.then(|| self.stderr.lines().last().unwrap_or_default().to_owned()))
    }

    /// The signal that ended it.
    pub fn signal(&self) -> Option<i32> {
        self.status.signal()
    }

    /// The exit status must be one of these.
    pub fn expect_code(self, wanted: &[i32]) -> anyhow::Result<Finished> {
        let code = self.code()?;
        let skipped = self.stderr.chars().count().saturating_sub(SHOWN_STDERR);
        let stderr: String = self.stderr.chars().skip(skipped).collect();
        ensure!(
            wanted.contains(&code),
            "`dbdyno {}` ended with status {code}, not {wanted:?}; it said: {}",
            self.shown,
            stderr.trim()
        );
        Ok(self)
    }

    /// Standard error must contain all of these.
    pub fn expect_stderr(self, parts: &[&str]) -> anyhow::Result<Finished> {
        for part in parts {
            ensure!(
                self.stderr.contains(part),
                "`dbdyno {}` does not say `{part}`; it said: {}",
                self.shown,
                self.stderr.trim()
            );
        }
        Ok(self)
    }

    /// Standard output as one JSON value.
    pub fn json(&self) -> anyhow::Result<Value> {
        serde_json::from_str(&self.stdout)
            .with_context(|| format!("`dbdyno {}` did not print JSON: {:?}", self.shown, self.stdout))
    }
}
