//! A job on another host: dbdyno is brought there, measures by itself in a session of its own, and its store is fetched. The connection
//! may be lost meanwhile: what was begun goes on, and is found again.
//!
//! All of a job is in one directory there: `plan.toml` and the files that it names, `log`, `report`, `store.sqlite`; `pid` of the dbdyno that
//! measures, in the `boot` in which it does, and `ended`, its status, when it has.

use super::program::{HostThere, OwnProgram};
use super::{RemoteError, RemoteHost, quoted};
use std::path::{Path, PathBuf};

/// The plan in the directory of a job: if it is there, all files are.
pub const PLAN: &str = "plan.toml";

/// How a job ended on its host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    Done,
    Interrupted,
    /// With the end of what it said.
    Failed {
        message: String,
    },
}

/// A job on its host.
pub struct JobOnHost<'a> {
    pub host: RemoteHost,
    pub program: &'a OwnProgram,
    /// Of its directory there: letters, digits and dashes.
    pub name: &'a str,
    /// What begins it, beside `--store`, and resumes it if it has begun.
    pub words: &'a [String],
    /// Whether it is to go on although it was carried out: something in it may have failed.
    pub is_retried: bool,
}

/// What a job has said before it is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    Nothing,
    /// To an earlier follower.
    Something,
}

impl JobOnHost<'_> {
    /// Looks whether this program can run there, and brings it if it is missing.
    ///
    /// # Errors
    /// A host that cannot be reached, another architecture, a program that does not start there.
    pub fn prepare(&self) -> Result<HostThere, RemoteError> {
        self.program.bring(&self.host)
    }

    /// Whether the files of the job are there.
    pub fn has_files(&self) -> Result<bool, RemoteError> {
        self.host.has(&format!("-f {}/{PLAN}", self.directory()))
    }

    /// Brings the files of the job, [`PLAN`] among them: all or none.
    pub fn put_files(&self, files: &[(PathBuf, Vec<u8>)]) -> Result<(), RemoteError> {
        self.host.put(&self.directory(), files)
    }

    /// Begins the job, or resumes what was begun of it. One that still runs, or that is done, is left alone.
    pub fn start(&self) -> Result<Said, RemoteError> {
        let program = self.program();
        let words: Vec<String> = self.words.iter().map(|word| quoted(word)).collect();
        // A session of its own, whose end is written down: neither a lost connection nor a signal to us reaches it. A signal to the
        // session ends the wait, but not what it waits for.
        let session = format!(
            "export XDG_CONFIG_HOME=\"$PWD/config\"; trap : HUP INT TERM; \
             {program} --store store.sqlite \"$@\" >report 2>>log </dev/null & pid=$!; \
             echo $pid >pid.new && mv pid.new pid || kill $pid; \
             while :; do wait $pid; status=$?; kill -0 $pid 2>/dev/null || break; done; \
             echo $status >ended.new && mv ended.new ended"
        );
        let script = format!(
            "umask 077; test -s log && echo said; {RUNS} && exit 0; {is_done} && exit 0; set -- {words}; \
             rm -f ended pid; rmdir stopping 2>/dev/null; cat /proc/sys/kernel/random/boot_id >boot; : >>log; \
             setsid sh -c {session} sh \"$@\" >/dev/null 2>&1 </dev/null & \
             for i in 1 2 3 4 5 6 7 8 9 10; do test -s pid || test -f ended && break; sleep 0.3; done; exit 0",
            is_done = if self.is_retried { "false" } else { "test \"$(cat ended 2>/dev/null)\" = 0" },
            words = words.join(" "),
            session = quoted(&session),
        );
        let output = self.host.text("start the job", &self.there(&script))?;
        Ok(if output.is_empty() { Said::Nothing } else { Said::Something })
    }

    /// Hands on what the job says until it ends; of what it has said to others the last lines.
    pub fn follow(&self, said: Said, on_line: impl FnMut(&str)) -> Result<Ended, RemoteError> {
        let from = match said {
            Said::Nothing => "+1",
            Said::Something => "3",
        };
        let script = format!(
            "if test -f ended; then exec tail -n {from} log; else exec tail -n {from} -f --pid=\"$(cat pid)\" log; fi"
        );
        self.host.follow("follow the job", &self.there(&script), on_line)?;
        // Its status is written a moment after its end is seen.
        let script = "for i in 1 2 3 4 5 6 7 8 9 10; do test -f ended && break; sleep 0.3; done; cat ended 2>/dev/null || echo killed";
        let ended = self.host.text("look how the job ended", &self.there(script))?;
        Ok(match ended.trim() {
            "0" => Ended::Done,
            "130" => Ended::Interrupted,
            status => {
                let said = self.host.text("read what the job said", &self.there("tail -n 3 log"))?;
                Ended::Failed { message: format!("{}: {}", how_it_ended(status), said.trim()) }
            }
        })
    }

    /// Asks the job to end in order, as Ctrl-C does. One that does not run any more is left alone.
    pub fn stop(&self) -> Result<(), RemoteError> {
        // A second signal would end it at once.
        let script = format!("if {RUNS} && mkdir stopping 2>/dev/null; then kill -TERM \"$(cat pid)\"; fi");
        self.host.text("stop the job", &self.there(&script)).map(|_| ())
    }

    /// Writes the store of the job, as of now, into a file here.
    ///
    /// # Errors
    /// [`RemoteError::NoStore`] if it has made none.
    pub fn fetch_store(&self, path: &Path) -> Result<(), RemoteError> {
        let script = format!(
            "test -f store.sqlite || exit 0; \
             {program} --store store.sqlite store backup --force copy.sqlite >/dev/null && cat copy.sqlite; \
             status=$?; rm -f copy.sqlite; exit $status",
            program = self.program()
        );
        match self.host.output_into(path, "fetch the store", &self.there(&script))? {
            0 => Err(RemoteError::NoStore { target: self.target() }),
            _ => Ok(()),
        }
    }

    fn target(&self) -> String {
        self.host.target().to_owned()
    }

    /// Where all of the job is on its host, as a shell there writes it.
    fn directory(&self) -> String {
        format!("\"$HOME\"/.local/share/dbdyno/jobs/{}", self.name)
    }

    fn program(&self) -> String {
        self.program.path_there()
    }

    /// A script that runs in the directory of the job.
    fn there(&self, script: &str) -> String {
        let directory = self.directory();
        format!("mkdir -p {directory} && cd {directory} && {{ {script}; }}")
    }
}

/// Whether the job runs: of another boot, in another directory, or if the job has ended, its process id is that of another process.
const RUNS: &str = "{ test ! -f ended && test \"$(cat boot 2>/dev/null)\" = \"$(cat /proc/sys/kernel/random/boot_id)\" && \
                    test \"$(readlink \"/proc/$(cat pid 2>/dev/null)/cwd\" 2>/dev/null)\" = \"$(pwd -P)\"; }";

/// By the status that a shell has of it; of a job whose session was killed too there is none.
pub(crate) fn how_it_ended(status: &str) -> String {
    match status.parse::<u32>() {
        Ok(status @ 129..) => format!("it was killed by signal {}", status - 128),
        Ok(status) => format!("exit status {status}"),
        Err(_) => "it was killed".to_owned(),
    }
}
