//! Whether an error says that a disk takes nothing more: what follows on it would fail too.

use std::path::Path;

/// What is the matter with a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unwritable {
    Full,
    /// What the kernel makes of a file system whose device fails.
    ReadOnly,
}

/// What the system says of a full disk: ENOSPC, EDQUOT; and how MySQL and MariaDB say ENOSPC where they give its number alone.
const FULL: [&str; 8] = [
    "No space left on device",
    "Disk quota exceeded",
    "Got error 28 ",
    "rrcode: 28",
    "errno: 28",
    "errno 28",
    "rror number 28",
    "failed with error 28",
];
/// What MySQL and MariaDB say of a table that cannot grow: their disk is full, or the table has a limit of its own.
const TABLE_FULL: (&str, &str) = ("The table '", "' is full (1114)");
/// InnoDB wants more at once of a disk than this in no case that is not a configuration's: its innodb_autoextend_increment is 64 MB.
const FULL_BELOW_BYTES: u64 = 64 << 20;
/// EROFS.
const READ_ONLY: &str = "Read-only file system";

impl Unwritable {
    pub(crate) fn of(message: &str) -> Option<Unwritable> {
        // Postgres says the same of shared memory, in a container that has 64 MB of it: other statements go on.
        if !message.contains("shared memory") && FULL.iter().any(|words| message.contains(words)) {
            return Some(Unwritable::Full);
        }
        message.contains(READ_ONLY).then_some(Unwritable::ReadOnly)
    }

    /// The same of what failed on this disk, where a message alone does not tell.
    pub(crate) fn on(message: &str, directory: &Path) -> Option<Unwritable> {
        let (before, behind) = TABLE_FULL;
        let is_table = message.split_once(before).is_some_and(|(_, table)| table.contains(behind));
        let is_full = || {
            rustix::fs::statvfs(directory)
                .is_ok_and(|space| space.f_bavail.saturating_mul(space.f_frsize) < FULL_BELOW_BYTES)
        };
        Unwritable::of(message).or_else(|| (is_table && is_full()).then_some(Unwritable::Full))
    }

    pub(crate) fn state(self) -> &'static str {
        match self {
            Unwritable::Full => "full",
            Unwritable::ReadOnly => "read-only",
        }
    }

    /// What to do with the file system that is named behind it.
    pub(crate) fn remedy(self) -> &'static str {
        match self {
            Unwritable::Full => "free space on",
            Unwritable::ReadOnly => "look into the kernel's log, then mount for writing",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_engines_and_the_system_say_of_a_disk_is_understood() {
        let check = |message: &str, expected: Option<Unwritable>| {
            assert_eq!(Unwritable::of(message), expected, "{message}");
        };
        check(
            "IO error: No space left on device: While appending to file: /w/db/000004.log: No space left on device",
            Some(Unwritable::Full),
        );
        // MariaDB 10.11, MySQL 5.7 and 8.0, in statements and in logs.
        for words in [
            "Got error 28 \"No space left on device\" from storage engine InnoDB (1030)",
            "Got error 28 from storage engine (1030)",
            "7 [Warning] mariadbd: Disk is full writing './bench/sbtest2.MYD' (Errcode: 28 \"No space left on device\"). Waiting for someone to free space...",
            "[ERROR] [MY-012640] [InnoDB] Error number 28 means 'No space left on device'",
            "[ERROR] Disk is full writing './binlog.000001' (Errcode: 15975264 - errno: 28 - ..). Waiting for someone to free space...",
            "[ERROR] InnoDB: preallocating 4194304 bytes for file ./bench/sbtest1.ibd failed with error 28",
        ] {
            check(words, Some(Unwritable::Full));
        }
        check("The table 'sbtest1' is full (1114)", None);
        check("failed to make `/w`: Disk quota exceeded (os error 122)", Some(Unwritable::Full));
        check("could not resize shared memory segment: No space left on device", None);
        check(
            "IO error: While open a file for appending: /w/LOG: Read-only file system",
            Some(Unwritable::ReadOnly),
        );
        check("IO error: While appending to file: /w/db/000004.log: Input/output error", None);
    }

    #[test]
    fn a_full_table_is_a_full_disk_where_the_disk_has_no_room() {
        let says = "`INSERT INTO t` failed on the server at `/w/s`: The table 't' is full (1114)";
        // Of /proc no byte is free; of a directory that tests write to there is more than a table asks for.
        assert_eq!(Unwritable::on(says, Path::new("/proc")), Some(Unwritable::Full));
        assert_eq!(Unwritable::on(says, Path::new("/no such directory")), None);
        assert_eq!(Unwritable::on("The cup is full", Path::new("/proc")), None);
        let written = "write failed: No space left on device";
        assert_eq!(Unwritable::on(written, Path::new("/no such directory")), Some(Unwritable::Full));
    }
}
