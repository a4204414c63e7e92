//! Whether an error says that a disk takes nothing more: what follows on it would fail too.

/// What is the matter with a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unwritable {
    Full,
    /// What the kernel makes of a file system whose device fails.
    ReadOnly,
}

/// What the system says of a full disk: ENOSPC, EDQUOT.
const FULL: [&str; 2] = ["No space left on device", "Disk quota exceeded"];
/// EROFS.
const READ_ONLY: &str = "Read-only file system";

impl Unwritable {
    pub(super) fn of(message: &str) -> Option<Unwritable> {
        // Postgres says the same of shared memory, in a container that has 64 MB of it: other statements go on.
        if !message.contains("shared memory") && FULL.iter().any(|words| message.contains(words)) {
            return Some(Unwritable::Full);
        }
        message.contains(READ_ONLY).then_some(Unwritable::ReadOnly)
    }

    pub(super) fn state(self) -> &'static str {
        match self {
            Unwritable::Full => "full",
            Unwritable::ReadOnly => "read-only",
        }
    }

    /// What to do with the file system that is named behind it.
    pub(super) fn remedy(self) -> &'static str {
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
        check("failed to make `/w`: Disk quota exceeded (os error 122)", Some(Unwritable::Full));
        check("could not resize shared memory segment: No space left on device", None);
        check(
            "IO error: While open a file for appending: /w/LOG: Read-only file system",
            Some(Unwritable::ReadOnly),
        );
        check("IO error: While appending to file: /w/db/000004.log: Input/output error", None);
    }
}
