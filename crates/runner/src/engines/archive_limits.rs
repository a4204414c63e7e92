//! How much may be unpacked of an archive: one that never ends, or has millions of files, must not fill the disk that results
//! are written to.

use crate::doctor::free_space;
use model::units::Bytes;
use std::cell::Cell;
use std::path::{Path, PathBuf};

/// The most that is unpacked of one archive.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub bytes: Bytes,
    /// Files, directories and links.
    pub entries: u64,
    /// What has to stay free on the disk that it is unpacked to.
    pub left_free: Bytes,
}

/// Chosen, not measured: the largest archive that is fetched has 150 MB. What stays free is for results.
pub(super) const LIMITS: Limits =
    Limits { bytes: Bytes(8 << 30), entries: 200_000, left_free: Bytes::from_mib(256) };

/// Bytes of all that stands in an archive before a file: headers, and names that are too long for them, which are kept in memory. No
/// file system takes a name of a hundredth of it.
const HEADER_BYTES_MAX: u64 = 1 << 20;

/// Why no more of an archive is unpacked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TooMuch {
    #[error("it has more than {0} bytes when unpacked; {NEXT}")]
    Bytes(u64),
    #[error("it has more than {0} files; {NEXT}")]
    Entries(u64),
    #[error(
        "the name of a file in it, or what else stands before one, has more than {HEADER_BYTES_MAX} bytes; {NEXT}"
    )]
    Headers,
    #[error(
        "`{}` has {:.0} MiB free, {:.0} MiB come next, and {:.0} MiB have to stay free; make room or choose another \
         --work-dir",
        path.display(), free.as_mib_f64(), wanted.as_mib_f64(), left_free.as_mib_f64()
    )]
    Disk { path: PathBuf, free: Bytes, wanted: Bytes, left_free: Bytes },
}

const NEXT: &str = "no server has that many: do not use it; take another release (`dbdyno engine list`), or build this one \
                    yourself and use `dbdyno engine add NAME PATH`";

/// What was unpacked of an archive.
#[derive(Debug)]
pub(super) struct UnpackedSoFar {
    limits: Limits,
    bytes: Cell<u64>,
    entries: Cell<u64>,
    /// Bytes since headers began; absent where files follow.
    headers: Cell<Option<u64>>,
}

impl UnpackedSoFar {
    pub fn nothing(limits: Limits) -> UnpackedSoFar {
        UnpackedSoFar { limits, bytes: Cell::new(0), entries: Cell::new(0), headers: Cell::new(None) }
    }

    /// What is unpacked from now on are headers.
    pub fn headers_begin(&self) {
        self.headers.set(Some(0));
    }

    /// Files, from now on.
    pub fn headers_end(&self) {
        self.headers.set(None);
    }

    /// Takes note of a file, directory or link that comes next, and goes to this directory.
    pub fn next_entry(&self, size: Bytes, directory: &Path) -> Result<(), TooMuch> {
        self.entries.set(self.entries.get() + 1);
        self.check()?;
        let left_free = self.limits.left_free;
        match free_space(directory) {
            Some(free) if free.0 < size.0.saturating_add(left_free.0) => {
                Err(TooMuch::Disk { path: directory.to_owned(), free, wanted: size, left_free })
            }
            // A disk that does not tell says itself when it is full.
            Some(_) | None => Ok(()),
        }
    }

    /// Takes note of bytes that were unpacked.
    pub fn more_bytes(&self, bytes: u64) -> Result<(), TooMuch> {
        self.bytes.set(self.bytes.get().saturating_add(bytes));
        self.headers.set(self.headers.get().map(|headers| headers.saturating_add(bytes)));
        self.check()
    }

    /// Whether it is within the limits.
    pub fn check(&self) -> Result<(), TooMuch> {
        let Limits { bytes, entries, .. } = self.limits;
        if self.bytes.get() > bytes.0 {
            return Err(TooMuch::Bytes(bytes.0));
        }
        if self.headers.get().is_some_and(|headers| headers > HEADER_BYTES_MAX) {
            return Err(TooMuch::Headers);
        }
        if self.entries.get() > entries { Err(TooMuch::Entries(entries)) } else { Ok(()) }
    }
}
