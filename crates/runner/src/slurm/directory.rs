//! The directory of a job in Slurm, on a file system that the nodes share: what is in it decides, whatever Slurm still knows of the job.
//!
//! It has what the directory of a job has that ssh brought to its host: `plan.toml` and the files that it names, `log`, `report`, `store.sqlite`,
//! and `ended`, the status, when it has; also `job`, which one it is, `node`, where it ran last, `earlier`, the stores of nodes before that,
//! and `slurm.out`, what Slurm and the shell say.

use super::SlurmError;
use crate::ownership::{self, OwnershipError};
use crate::process::output;
use crate::remote::job::{Ended, PLAN, how_it_ended};
use crate::remote::program::OwnProgram;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// What Slurm runs on the node.
const SCRIPT: &str = include_str!("job.sh");

/// What the end of a job says of why it failed.
const LAST_LINES: usize = 3;

/// Read of a log at a time.
const MOST_AT_A_TIME: u64 = 1 << 20;

/// The directory of one job.
#[derive(Debug, Clone)]
pub struct JobDirectory {
    path: PathBuf,
}

/// What is heard of a job while it writes its log.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    at: u64,
    /// A line that has no end yet.
    begun: Vec<u8>,
}

/// This program and the script that starts it, where the nodes find them.
#[derive(Debug, Clone)]
pub struct PlacedProgram {
    pub(super) program: PathBuf,
    pub(super) script: PathBuf,
}

impl PlacedProgram {
    /// Puts both into the shared directory, unless they are there.
    ///
    /// # Errors
    /// A directory that cannot be written to, or in which other users can write too: they could put another program there, which nodes would run as
    /// this user.
    pub fn put(jobs_dir: &Path, own: &OwnProgram) -> Result<PlacedProgram, SlurmError> {
        // The name that the user gives may be that of a link.
        check_ours(jobs_dir, fs::metadata(jobs_dir))?;
        let bin = jobs_dir.join("bin");
        let directory = bin.join(&own.sha256[..16]);
        make_directory(&directory)?;
        for made in [&bin, &directory] {
            check_ours(made, fs::symlink_metadata(made))?;
        }
        let placed = PlacedProgram { program: directory.join("dbdyno"), script: directory.join("job.sh") };
        for (path, bytes) in [(&placed.program, own.bytes.as_slice()), (&placed.script, SCRIPT.as_bytes())] {
            let is_ours = |found: Metadata| {
                found.is_file()
                    && found.len() == bytes.len() as u64
                    && ownership::check_ours(path, &found).is_ok()
            };
            if !fs::symlink_metadata(path).is_ok_and(is_ours) {
                write_whole(path, bytes)?;
            }
        }
        Ok(placed)
    }
}

impl JobDirectory {
    /// That of a job of a campaign.
    pub fn of(jobs_dir: &Path, campaign: &str, number: u32) -> JobDirectory {
        JobDirectory { path: jobs_dir.join(format!("{campaign}-{number}")) }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the files of the job are there.
    pub fn has_files(&self) -> bool {
        self.has(PLAN)
    }

    /// Brings the files of the job, [`PLAN`] the last of them; `job` says which one it is.
    ///
    /// # Errors
    /// A directory that cannot be written to.
    pub fn put_files(&self, files: &[(PathBuf, Vec<u8>)], job: &str) -> Result<(), SlurmError> {
        make_directory(&self.path)?;
        write_whole(&self.path.join("job"), job.as_bytes())?;
        for (path, content) in files {
            let path = self.path.join(path);
            if let Some(directory) = path.parent() {
                make_directory(directory)?;
            }
            write_whole(&path, content)?;
        }
        Ok(())
    }

    /// Removes it again if no node has seen it.
    pub fn remove_unbegun(&self) {
        if self.has("job") && !["log", "node", "slurm.out"].iter().any(|name| self.has(name)) {
            // What stays is small, and in nobody's way.
            let _ = fs::remove_dir_all(&self.path);
        }
    }

    /// Whether something of it was measured on the node where it ran last.
    pub fn has_begun(&self) -> bool {
        self.has("store.sqlite")
    }

    /// The node where it ran last.
    pub fn node(&self) -> Option<String> {
        self.text("node")
    }

    /// How it ended; absent if it has not, or was killed.
    pub fn ended(&self) -> Option<Ended> {
        Some(match self.text("ended")?.as_str() {
            "0" => Ended::Done,
            "130" => Ended::Interrupted,
            status => {
                Ended::Failed { message: format!("{}: {}", how_it_ended(status), self.last_lines("log")) }
            }
        })
    }

    /// Forgets how it ended before it is submitted again.
    ///
    /// # Errors
    /// A directory that cannot be written to.
    pub fn forget_end(&self) -> Result<(), SlurmError> {
        let path = self.path.join("ended");
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(SlurmError::of(&path)(error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// What Slurm and the shell said last.
    pub fn said(&self) -> String {
        self.last_lines("slurm.out")
    }

    /// The stores that its nodes have made, the newest last.
    pub fn stores(&self) -> Vec<PathBuf> {
        let mut earlier: Vec<PathBuf> = fs::read_dir(self.path.join("earlier"))
            .map(|entries| entries.flatten().map(|entry| entry.path().join("store.sqlite")).collect())
            .unwrap_or_default();
        earlier.sort();
        earlier.push(self.path.join("store.sqlite"));
        earlier.retain(|store| store.is_file());
        earlier
    }

    /// What it says from now on; of what it has said to others the last lines, if `is_heard_before`.
    pub fn log(&self, is_heard_before: bool) -> Log {
        let path = self.path.join("log");
        let length = fs::metadata(&path).map_or(0, |found| found.len());
        let shown = if is_heard_before { self.last_lines("log").len() as u64 + 1 } else { 0 };
        Log { path, at: length.saturating_sub(shown), begun: Vec::new() }
    }

    fn last_lines(&self, name: &str) -> String {
        let words = output::last_words(&self.path.join(name));
        let lines: Vec<&str> = words.lines().collect();
        lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
    }

    /// By a list of the directory: on NFS a file that was looked for in vain stays away for a while, the list is asked for again.
    fn has(&self, name: &str) -> bool {
        let is_it =
            |entry: io::Result<fs::DirEntry>| entry.is_ok_and(|entry| entry.file_name() == OsStr::new(name));
        fs::read_dir(&self.path).is_ok_and(|mut entries| entries.any(is_it))
    }

    fn text(&self, name: &str) -> Option<String> {
        if !self.has(name) {
            return None;
        }
        let text = fs::read_to_string(self.path.join(name)).ok()?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }
}

impl Log {
    /// Hands on the lines that were written since the last look. A log that cannot be read now may be there at the next one.
    pub fn new_lines(&mut self, mut on_line: impl FnMut(&str)) {
        // Opened each time: only then is NFS asked how long it is.
        let mut bytes = Vec::new();
        let read = File::open(&self.path).and_then(|mut file| {
            file.seek(SeekFrom::Start(self.at))?;
            file.take(MOST_AT_A_TIME).read_to_end(&mut bytes)
        });
        if read.is_err() {
            return;
        }
        self.at += bytes.len() as u64;
        self.begun.append(&mut bytes);
        while let Some(end) = self.begun.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.begun.drain(..=end).collect();
            on_line(&String::from_utf8_lossy(&line[..end]));
        }
    }

    /// Hands on a last line that has no end.
    pub fn rest(mut self, mut on_line: impl FnMut(&str)) {
        self.new_lines(&mut on_line);
        if !self.begun.is_empty() {
            on_line(&String::from_utf8_lossy(&self.begun));
        }
    }
}

/// Of a directory whose owner is not known as it is, as on NFS for root, nobody knows who writes there: it is refused too.
fn check_ours(path: &Path, found: io::Result<Metadata>) -> Result<(), SlurmError> {
    let found = found.map_err(SlurmError::of(path))?;
    ownership::check_ours(path, &found).map_err(|why| {
        let why = match why {
            OwnershipError::OfAnother { owner, us, .. } => {
                let squashed = if rustix::process::geteuid().is_root() {
                    " (on NFS what root makes belongs to nobody, unless it is exported with `no_root_squash`: run dbdyno as another user)"
                } else {
                    ""
                };
                format!("it belongs to {owner}, while you are {us}{squashed}")
            }
            OwnershipError::Writable { owner, mode, .. } => {
                format!("other users can write in it (it belongs to {owner}, its mode is {mode:o})")
            }
            other => other.to_string(),
        };
        SlurmError::NotOurs { path: path.to_owned(), why }
    })
}

fn make_directory(path: &Path) -> Result<(), SlurmError> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(SlurmError::of(path))
}

/// Under its name it is there in whole: a disk or a quota may be full.
fn write_whole(path: &Path, content: &[u8]) -> Result<(), SlurmError> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".new-{}", std::process::id()));
    let new = PathBuf::from(name);
    let written = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o700) // among them may be programs
        .open(&new)
        .and_then(|mut file| file.write_all(content).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&new, path));
    written.map_err(|source| {
        // What could not be written takes no room.
        let _ = fs::remove_file(&new);
        SlurmError::of(path)(source)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    fn directory(root: &Path) -> JobDirectory {
        let directory = JobDirectory::of(root, "c", 3);
        directory
            .put_files(
                &[(PathBuf::from("sub/w.toml"), b"w".to_vec()), (PathBuf::from(PLAN), b"p".to_vec())],
                "c:3:7",
            )
            .unwrap();
        directory
    }

    /// The script as Slurm runs it, with a program of one line in place of dbdyno.
    fn script(root: &Path, program: &str, node: &str) -> Command {
        let path = root.join("program");
        // Written by another process: one that another test starts meanwhile would keep a file open that we write to, and it could not be run.
        let written = Command::new("sh")
            .args(["-c", "printf '#!/bin/sh\\n%s\\n' \"$1\" >\"$2\" && chmod 700 \"$2\"", "sh", program])
            .arg(&path)
            .status();
        assert!(written.unwrap().success());
        write_whole(&root.join("job.sh"), SCRIPT.as_bytes()).unwrap();
        let mut command = Command::new("sh");
        command
            .arg(root.join("job.sh"))
            .args([path.as_os_str(), root.join("c").as_os_str(), OsStr::new("run"), OsStr::new("plan.toml")])
            .envs([("SLURM_ARRAY_TASK_ID", "3"), ("SLURM_JOB_ID", "17"), ("SLURMD_NODENAME", node)]);
        command
    }

    #[test]
    fn a_job_runs_in_its_directory_and_leaves_how_it_ended() {
        let root = tempfile::tempdir().unwrap();
        let job = directory(root.path());
        assert!(job.has_files() && job.ended().is_none() && !job.has_begun());
        let says = "echo \"$@\" >&2; pwd >&2; echo 1 >store.sqlite";
        assert!(script(root.path(), says, "n1").status().unwrap().success());
        assert_eq!((job.ended(), job.node().as_deref()), (Some(Ended::Done), Some("n1")));
        let mut said = Vec::new();
        job.log(true).rest(|line| said.push(line.to_owned()));
        assert_eq!(said[0], "--store store.sqlite run plan.toml --job c:3:7");
        assert!(said[1].ends_with("c-3"), "{said:?}");
        assert_eq!(script(root.path(), "echo no >&2; exit 4", "n1").status().unwrap().code(), Some(4));
        match job.ended() {
            Some(Ended::Failed { message }) => {
                assert!(message.starts_with("exit status 4: ") && message.ends_with("\nno"))
            }
            other => panic!("{other:?}"),
        }
        job.forget_end().unwrap();
        job.forget_end().unwrap();
        assert_eq!(job.ended(), None);
    }

    #[test]
    fn a_job_on_another_node_keeps_what_the_first_has_measured() {
        let root = tempfile::tempdir().unwrap();
        let job = directory(root.path());
        let measures = "echo $SLURMD_NODENAME >>store.sqlite";
        for node in ["n1", "n1", "n2"] {
            assert!(script(root.path(), measures, node).status().unwrap().success());
        }
        let texts: Vec<String> =
            job.stores().iter().map(|store| fs::read_to_string(store).unwrap()).collect();
        assert_eq!(texts, ["n1\nn1\n", "n2\n"]);
    }

    #[test]
    fn a_node_that_was_given_up_does_not_say_that_the_job_has_ended() {
        let root = tempfile::tempdir().unwrap();
        let job = directory(root.path());
        // It begins on another node meanwhile.
        assert!(script(root.path(), "echo n2 >node", "n1").status().unwrap().success());
        assert_eq!((job.ended(), job.node().as_deref()), (None, Some("n2")));
    }

    #[test]
    fn the_signal_that_stops_a_job_reaches_dbdyno_once() {
        let root = tempfile::tempdir().unwrap();
        let job = directory(root.path());
        // It signals the script itself, so that nothing has to be waited for.
        let stops = "trap 'echo told >&2; n=x$n' TERM; kill -USR1 $PPID; kill -USR1 $PPID; \
                     while test -z \"$n\"; do :; done; exit 130";
        assert_eq!(script(root.path(), stops, "n1").status().unwrap().code(), Some(130));
        assert_eq!(job.ended(), Some(Ended::Interrupted));
        let mut said = Vec::new();
        job.log(true).rest(|line| said.push(line.to_owned()));
        assert_eq!(said, ["told"]);
    }

    #[test]
    fn a_log_is_heard_line_by_line_as_it_grows() {
        let root = tempfile::tempdir().unwrap();
        let job = directory(root.path());
        let path = job.path().join("log");
        let mut log = job.log(false);
        let mut said = Vec::new();
        log.new_lines(|line| said.push(line.to_owned()));
        for text in ["a\nb", "b\n", "c"] {
            let mut file = OpenOptions::new().append(true).create(true).open(&path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
            log.new_lines(|line| said.push(line.to_owned()));
        }
        assert_eq!(said, ["a", "bb"]);
        log.rest(|line| said.push(line.to_owned()));
        assert_eq!(said, ["a", "bb", "c"]);
        let mut later = Vec::new();
        job.log(false).rest(|line| later.push(line.to_owned()));
        assert!(later.is_empty(), "{later:?}");
    }

    #[test]
    fn a_program_that_others_could_have_put_there_is_not_run() {
        let root = tempfile::tempdir().unwrap();
        let own = OwnProgram { bytes: b"program".to_vec(), sha256: "ab".repeat(32) };
        let set_mode =
            |path: &Path, mode: u32| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        let placed = PlacedProgram::put(root.path(), &own).unwrap();
        fs::write(&placed.program, "another").unwrap();
        PlacedProgram::put(root.path(), &own).unwrap();
        assert_eq!(
            fs::read(&placed.program).unwrap(),
            b"another",
            "ours alone, and as long: it is taken as it is"
        );
        set_mode(&placed.program, 0o777);
        PlacedProgram::put(root.path(), &own).unwrap();
        assert_eq!(fs::read(&placed.program).unwrap(), b"program");
        let bin = root.path().join("bin");
        let directory = placed.program.parent().unwrap();
        for shared in [root.path(), &bin, directory] {
            set_mode(shared, 0o777);
            match PlacedProgram::put(root.path(), &own) {
                Err(SlurmError::NotOurs { path, why }) => {
                    assert!(path == shared && why.contains("its mode is 777"), "{}: {why}", path.display());
                }
                other => panic!("{}: {other:?}", shared.display()),
            }
            set_mode(shared, 0o700);
        }
        PlacedProgram::put(root.path(), &own).unwrap();
    }

    #[test]
    fn a_directory_that_cannot_be_written_to_is_named() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("c-3"), "").unwrap();
        let error = JobDirectory::of(root.path(), "c", 3).put_files(&[], "c:3:7").unwrap_err().to_string();
        assert!(error.contains("c-3"), "{error}");
    }
}
