//! The log of a server: its end for people, and what it says of why the server ended.

use super::kind;
use model::workload::sql::Dialect;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Bytes of a log that an error shows. Not tuned: the messages of one failed start of each engine fit.
const TAIL_BYTES: usize = 1500;
/// The most of a log that is searched for a reason: a server that logs more than this before it dies at its start
/// has been running.
const SEARCHED_BYTES: u64 = 4 << 20;

/// What one run of a server writes into its log file.
#[derive(Debug, Clone)]
pub struct Log {
    path: PathBuf,
    /// Where in the file this run begins.
    begins: u64,
    /// What is behind this has not been searched for a wait.
    searched: u64,
    dialect: Dialect,
}

/// Why a server ended, as its log tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// It does not know this option.
    UnknownOption(String),
    /// It does not take the value of this option.
    BadValue(String),
    /// The data directory is of another version.
    OtherVersion,
    /// This plugin is not there.
    MissingPlugin(String),
    /// It may not use a file.
    NotPermitted,
    /// Another program listens on its port.
    PortTaken,
    /// Its disk is full.
    DiskFull,
}

impl Log {
    /// A log that begins where the file ends now.
    pub fn from_here(path: PathBuf, dialect: Dialect) -> Log {
        let begins = std::fs::metadata(&path).map_or(0, |metadata| metadata.len());
        Log { path, begins, searched: begins, dialect }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The end of what this run wrote, whole lines; before it the line that tells the reason of an end, where that
    /// stands further up. Empty where there is nothing.
    pub fn tail(&self) -> String {
        let text = self.text();
        let tail = tail_of(&text);
        match text.lines().find(|line| kind::of(self.dialect).cause(line).is_some()) {
            Some(reason) if !tail.contains(reason) => format!("{reason}\n..\n{tail}"),
            _ => tail,
        }
    }

    /// Why the server ended.
    pub fn cause(&self) -> Option<Cause> {
        cause(&self.text(), self.dialect)
    }

    /// The plugin that could not be loaded: MariaDB and MySQL log that and go on.
    pub fn missing_plugin(&self) -> Option<String> {
        self.text().lines().find_map(|line| match kind::of(self.dialect).cause(line) {
            Some(Cause::MissingPlugin(plugin)) => Some(plugin),
            _ => None,
        })
    }

    /// The line in which it has said since this was last asked that it waits for free space on its disk. It goes on when there is some, and
    /// until then no statement that writes there ends.
    pub fn waits_for_space(&mut self) -> Option<String> {
        let length = std::fs::metadata(&self.path).map_or(0, |metadata| metadata.len());
        if length <= self.searched {
            return None;
        }
        let bytes = read(&self.path, self.searched).unwrap_or_default();
        // The rest of a line is yet to come.
        let whole_lines = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        self.searched = length - (bytes.len() - whole_lines) as u64;
        let text = String::from_utf8_lossy(&bytes[..whole_lines]);
        text.lines().find(|line| kind::of(self.dialect).waits_for_space(line)).map(str::to_owned)
    }

    fn text(&self) -> String {
        read(&self.path, self.begins)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default()
    }
}

fn read(path: &Path, begins: u64) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(begins.max(length.saturating_sub(SEARCHED_BYTES))))?;
    file.take(SEARCHED_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn tail_of(text: &str) -> String {
    let text = text.trim_end();
    let mut start = text.len().saturating_sub(TAIL_BYTES);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    let tail = &text[start..];
    match tail.split_once('\n') {
        Some((_, whole_lines)) if start > 0 => whole_lines.to_owned(),
        _ => tail.to_owned(),
    }
}

/// The first reason in a log: what comes after it follows from it.
///
/// ```text
/// 2026-11-21 18:50:00.123 UTC [123] FATAL:  unrecognized configuration parameter "no_such"
/// 2026-11-21 18:50:00 0 [ERROR] mariadbd: unknown variable 'no-such=1'
/// 2026-11-21T18:50:00.1Z 0 [ERROR] [MY-000067] [Server] unknown variable 'no-such=1'.
/// ```
fn cause(text: &str, dialect: Dialect) -> Option<Cause> {
    text.lines().find_map(|line| kind::of(dialect).cause(line))
}

/// What stands between `before` and the next `end`.
pub(super) fn quoted(text: &str, before: &str, end: char) -> Option<String> {
    let start = text.find(before)? + before.len();
    let rest = &text[start..];
    Some(rest[..rest.find(end)?].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(dialect: Dialect, line: &str, expected: Option<Cause>) {
        assert_eq!(cause(&format!("something before\n{line}\nand after\n"), dialect), expected, "{line}");
    }

    #[test]
    fn the_reason_of_a_failed_start_is_found_in_the_log() {
        let unknown = |option: &str| Some(Cause::UnknownOption(option.to_owned()));
        let bad = |option: &str| Some(Cause::BadValue(option.to_owned()));
        let plugin = |plugin: &str| Some(Cause::MissingPlugin(plugin.to_owned()));
        check(
            Dialect::Postgres,
            "[7] FATAL:  unrecognized configuration parameter \"no_such\"",
            unknown("no_such"),
        );
        check(Dialect::Postgres, "FATAL:  invalid value for parameter \"fsync\": \"maybe\"", bad("fsync"));
        check(
            Dialect::Postgres,
            "FATAL:  1 kB is outside the valid range for parameter \"shared_buffers\" (128 kB .. 8589934584 kB)",
            bad("shared_buffers"),
        );
        check(
            Dialect::Postgres,
            "FATAL:  could not access file \"no_such\": No such file or directory",
            plugin("no_such"),
        );
        check(
            Dialect::Postgres,
            "FATAL:  database files are incompatible with server",
            Some(Cause::OtherVersion),
        );
        check(Dialect::Postgres, "LOG:  database system is shut down", None);
        check(
            Dialect::Postgres,
            "LOG:  could not bind IPv4 address \"127.0.0.1\": Address already in use",
            Some(Cause::PortTaken),
        );
        check(
            Dialect::Mysql,
            "0 [ERROR] [MY-000067] [Server] unknown variable 'no-such=1'.",
            unknown("no_such"),
        );
        check(Dialect::Mysql, "0 [ERROR] mariadbd: unknown option '--no-such'", unknown("no_such"));
        check(Dialect::Mysql, "0 [Warning] mariadbd: unknown variable 'loose-mysqlx=OFF'", None);
        check(
            Dialect::Mysql,
            "[ERROR] mariadbd: Error while setting value 'x' to 'innodb_flush_method'",
            bad("innodb_flush_method"),
        );
        check(
            Dialect::Mysql,
            "[ERROR] Can't open shared library 'ha_no.so' (errno: 2, cannot open shared object file)",
            plugin("ha_no.so"),
        );
        for line in [
            "[ERROR] [MY-010262] [Server] Can't start server: Bind on TCP/IP port: Address already in use",
            "[ERROR] Can't start server: Bind on TCP/IP port. Got error: 98: Address already in use",
        ] {
            check(Dialect::Mysql, line, Some(Cause::PortTaken));
        }
    }

    #[test]
    fn a_full_disk_is_the_reason_of_an_end_and_of_no_failed_statement() {
        let full = "could not write to file \"pg_wal/xlogtemp.12\": No space left on device";
        check(Dialect::Postgres, &format!("[12] PANIC:  {full}"), Some(Cause::DiskFull));
        check(Dialect::Postgres, &format!("initdb: error: {full}"), Some(Cause::DiskFull));
        check(Dialect::Postgres, &format!("[12] ERROR:  {full}"), None);
        let memory = "FATAL:  could not resize shared memory segment: No space left on device";
        check(Dialect::Postgres, memory, None);
        let innodb = "0 [ERROR] InnoDB: preallocating 12582912 bytes for file ./ibtmp1 failed with error 28";
        check(Dialect::Mysql, innodb, Some(Cause::DiskFull));
    }

    #[test]
    fn a_wait_for_space_is_told_once_and_as_a_whole_line() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let waits = "7 [Warning] mariadbd: Disk is full writing './bench/t.MYD' (Errcode: 28). Waiting for someone to free space...";
        std::fs::write(&path, format!("{waits} of an earlier run\n")).unwrap();
        let mut log = Log::from_here(path.clone(), Dialect::Mysql);
        assert_eq!(log.waits_for_space(), None);
        let mut append = |text: &str| {
            let whole = std::fs::read_to_string(&path).unwrap() + text;
            std::fs::write(&path, whole).unwrap();
            log.waits_for_space()
        };
        assert_eq!(append("ready\n"), None);
        assert_eq!(append(&waits[..100]), None);
        assert_eq!(append(&waits[100..]), None);
        assert_eq!(append("\nmore\n").as_deref(), Some(waits));
        assert_eq!(append("7 [Warning] mariadbd: Retry in 60 secs.\n"), None);
        let postgres = Log {
            dialect: Dialect::Postgres,
            ..Log::from_here(directory.path().join("log"), Dialect::Mysql)
        };
        assert_eq!(Log { searched: 0, ..postgres }.waits_for_space(), None);
    }

    #[test]
    fn a_tail_is_whole_lines_of_this_run_only() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        std::fs::write(&path, "[ERROR] unknown variable 'before=1'\n").unwrap();
        let log = Log::from_here(path.clone(), Dialect::Mysql);
        assert_eq!((log.tail().as_str(), log.cause()), ("", None));
        let mut text = std::fs::read_to_string(&path).unwrap();
        text.push_str(&"a line of this run, ünïcödé\n".repeat(200));
        std::fs::write(&path, text).unwrap();
        let tail = log.tail();
        assert!(tail.len() <= TAIL_BYTES && tail.len() > TAIL_BYTES / 2, "{}", tail.len());
        assert!(tail.lines().all(|line| line == "a line of this run, ünïcödé"), "{tail}");
        let text = std::fs::read_to_string(&path).unwrap();
        let reason = "[ERROR] unknown variable 'x=1'";
        std::fs::write(&path, text.replacen("a line of this run, ünïcödé", reason, 1)).unwrap();
        assert_eq!(log.tail(), format!("{reason}\n..\n{tail}"));
    }
}
