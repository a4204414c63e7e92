//! A server that dbdyno fetches and runs for a bench.

use crate::e2e::processes;
use anyhow::{Context, ensure};
use model::address::ServerAddress;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

/// The servers of a bench: one of each dialect, new enough to count the bytes of its log.
pub const BUILDS: [&str; 2] = ["postgres@15.7", "mariadb@10.11.19"];

/// How clients come to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reached {
    Socket,
    Tcp,
}

/// A server that dbdyno runs for us until its input ends. Dropped, it is stopped too.
pub struct OwnServer {
    child: Child,
    input: Option<ChildStdin>,
    pub address: ServerAddress,
    group: Option<Group>,
}

impl OwnServer {
    /// Starts a server of this build, and waits until clients may come by its socket.
    pub fn start(dbdyno: &Path, build: &str) -> anyhow::Result<OwnServer> {
        OwnServer::start_for(dbdyno, build, Reached::Socket)
    }

    /// The same for clients that come as is said.
    pub fn start_for(dbdyno: &Path, build: &str, reached: Reached) -> anyhow::Result<OwnServer> {
        let group = Group::make(build);
        let mut child = match &group {
            Some(group) => group.command(dbdyno),
            None => Command::new(dbdyno),
        };
        let mut child = child
            .args(["engine", "start", build, "--json"])
            .args((reached == Reached::Tcp).then_some("--tcp"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("failed to start dbdyno")?;
        let mut input = child.stdin.take();
        let output = child.stdout.take().context("no output of dbdyno")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).context("failed to read from dbdyno")?;
        let address = serde_json::from_str(&line);
        if address.is_err() {
            input = None;
            child.wait().context("failed to wait for dbdyno")?;
        }
        let address = address.with_context(|| format!("no address: {line:?}"))?;
        Ok(OwnServer { child, input, address, group })
    }

    /// CPU time of all its processes since it was started.
    pub fn cpu_time(&self) -> anyhow::Result<Duration> {
        match &self.group {
            Some(group) => group.cpu_time(),
            None => processes::cpu_time_below(self.child.id()),
        }
    }

    /// Stops it, and waits until dbdyno has removed its data and ended.
    pub fn stop(mut self) -> anyhow::Result<()> {
        self.input = None;
        let status = self.child.wait().context("failed to wait for dbdyno")?;
        ensure!(status.success(), "dbdyno failed to stop the server ({status})");
        Ok(())
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        // The end of its input is its sign to stop the server; it removes the data itself.
        self.input = None;
        let _ = self.child.wait();
    }
}

/// A control group of the kernel (version 2) for the processes of a server. It counts their CPU time in microseconds, that of those that have ended
/// too; the table of processes counts in ticks of 10 ms.
struct Group(PathBuf);

impl Group {
    /// An empty one for the server of this build; none if this host or our rights do not allow it.
    fn make(build: &str) -> Option<Group> {
        let mounted = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map(Path::new);
        let root = mounted.into_iter().find(|root| root.join("cgroup.procs").exists())?;
        let directory = root.join(format!("dbdyno-bench-{}-{build}", std::process::id()));
        fs::create_dir(&directory).ok()?;
        Some(Group(directory))
    }

    /// Of a program that enters the group before it starts another process.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(self.0.join("cgroup.procs")).arg(program);
        command
    }

    fn cpu_time(&self) -> anyhow::Result<Duration> {
        let file = self.0.join("cpu.stat");
        let text = fs::read_to_string(&file).with_context(|| format!("failed to read {}", file.display()))?;
        let used = text.lines().find_map(|line| line.strip_prefix("usage_usec ")?.parse().ok());
        Ok(Duration::from_micros(used.with_context(|| format!("no usage_usec in {}", file.display()))?))
    }
}

impl Drop for Group {
    /// After the server's end; a group with processes stays.
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}
