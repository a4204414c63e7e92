//! Unpacks tar archives that hold a server: gzip (`.tar.gz`, `.tgz`) or xz (`.txz`) by their first bytes.

use super::archive_limits::{LIMITS, Limits, TooMuch, UnpackedSoFar};
use super::error::EngineError;
use crate::passable;
use flate2::read::GzDecoder;
use lzma_rust2::XzReader;
use model::units::Bytes;
use std::fs::{self, File, Permissions};
use std::io::{self, BufReader, Read, Seek};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const XZ_MAGIC: [u8; 6] = [0xfd, b'7', b'z', b'X', b'Z', 0];

/// Memory that an archive may have for unpacking it, in KiB: `xz -9` asks for 65 MiB. It is taken as soon as a header asks for it.
const XZ_KIB_MAX: u32 = 128 << 10;

/// What to unpack.
pub(super) struct Unpacking<'a> {
    pub archive: &'a Path,
    /// Where it came from, for errors.
    pub coordinates: &'a str,
    /// What mends a damaged one.
    pub again: &'static str,
    /// The directory that takes what is in it.
    pub to: &'a Path,
}

/// Writes all files of an archive; names that lead out of the directory are left out.
pub(super) fn unpack(what: &Unpacking<'_>) -> Result<(), EngineError> {
    unpack_within(what, LIMITS)
}

pub(super) fn unpack_within(what: &Unpacking<'_>, limits: Limits) -> Result<(), EngineError> {
    let read = EngineError::io("read", what.archive);
    let mut file = File::open(what.archive).map_err(&read)?;
    let mut magic = Vec::new();
    file.by_ref().take(XZ_MAGIC.len() as u64).read_to_end(&mut magic).map_err(&read)?;
    file.rewind().map_err(&read)?;
    let file = BufReader::new(file);
    let so_far = UnpackedSoFar::nothing(limits);
    if magic.starts_with(&GZIP_MAGIC) {
        what.unpack_tar(GzDecoder::new(file), &so_far)
    } else if magic == XZ_MAGIC {
        what.unpack_tar(XzReader::new_mem_limit(file, true, XZ_KIB_MAX), &so_far)
    } else {
        Err(what.damaged("it is neither gzip nor xz".to_owned()))
    }
}

impl Unpacking<'_> {
    pub(super) fn unpack_tar(&self, content: impl Read, so_far: &UnpackedSoFar) -> Result<(), EngineError> {
        let failed = |error| self.failed(error, so_far);
        fs::create_dir_all(self.to).map_err(failed)?;
        let mut archive = tar::Archive::new(Counted { content, so_far });
        archive.set_preserve_mtime(false);
        let mut directories = Vec::new();
        let mut entries = archive.entries().map_err(failed)?;
        loop {
            so_far.headers_begin();
            let Some(entry) = entries.next() else { break };
            let mut entry = entry.map_err(failed)?;
            so_far.headers_end();
            so_far.next_entry(Bytes(entry.size()), self.to).map_err(|problem| self.not_unpacked(problem))?;
            if entry.header().entry_type().is_dir() {
                directories.push(entry);
            } else {
                entry.unpack_in(self.to).map_err(failed)?;
            }
        }
        so_far.headers_end();
        // Last, as `Archive::unpack` does, and those below another before it: one may be made read-only here.
        directories.sort_by(|one, other| other.path_bytes().cmp(&one.path_bytes()));
        for mut directory in directories {
            directory.unpack_in(self.to).map_err(failed)?;
        }
        // The checksum at the end of the stream, behind what tar reads.
        io::copy(&mut archive.into_inner(), &mut io::sink()).map(|_| ()).map_err(failed)
    }

    fn failed(&self, error: io::Error, so_far: &UnpackedSoFar) -> EngineError {
        // Reading fails where there is too much to read.
        if let Err(problem) = so_far.check() {
            return self.not_unpacked(problem);
        }
        match error.kind() {
            // Those of the place; all others are the archive's.
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::ReadOnlyFilesystem => EngineError::io("write", self.to)(error),
            io::ErrorKind::OutOfMemory => {
                self.damaged(format!("it asks for more than {} MiB of memory", XZ_KIB_MAX >> 10))
            }
            _ => self.damaged(with_sources(&error)),
        }
    }

    fn damaged(&self, problem: String) -> EngineError {
        EngineError::ArchiveDamaged { coordinates: self.coordinates.to_owned(), problem, again: self.again }
    }

    fn not_unpacked(&self, problem: TooMuch) -> EngineError {
        EngineError::NotUnpacked { coordinates: self.coordinates.to_owned(), problem }
    }
}

/// What an archive unpacks to, as long as it is within the limits.
struct Counted<'a, R> {
    content: R,
    so_far: &'a UnpackedSoFar,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.content.read(into)?;
        self.so_far.more_bytes(length as u64).map_err(io::Error::other)?;
        Ok(length)
    }
}

/// Gives all below a directory the modes that it is to have, whatever the archive and the umask say.
pub(super) fn set_modes(directory: &Path) -> Result<(), EngineError> {
    let write = EngineError::io("write", directory);
    for entry in fs::read_dir(directory).map_err(&write)? {
        let path = entry.map_err(&write)?.path();
        let write = EngineError::io("write", &path);
        let metadata = fs::symlink_metadata(&path).map_err(&write)?;
        if metadata.is_symlink() {
            continue; // has no permissions of its own
        }
        let mode = passable::mode_of(&metadata);
        if mode != metadata.permissions().mode() & 0o7777 {
            fs::set_permissions(&path, Permissions::from_mode(mode)).map_err(&write)?;
        }
        if metadata.is_dir() {
            set_modes(&path)?;
        }
    }
    Ok(())
}

/// An error of `tar` says which file, its source why.
fn with_sources(error: &io::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.get_ref().and_then(|inner| inner.source());
    while let Some(error) = source {
        text += &format!(": {error}");
        source = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;

    const FILE_BYTES: u64 = 10_000;

    /// An archive of three files.
    fn make_archive(path: &Path) {
        let file = File::create(path).unwrap();
        let mut tar = tar::Builder::new(GzEncoder::new(file, Compression::fast()));
        for name in ["bin/postgres", "bin/initdb", "share/postgres.bki"] {
            let mut header = tar::Header::new_gnu();
            header.set_size(FILE_BYTES);
            header.set_mode(0o644);
            tar.append_data(&mut header, name, io::repeat(0).take(FILE_BYTES)).unwrap();
        }
        tar.into_inner().unwrap().finish().unwrap();
    }

    #[test]
    fn an_archive_is_unpacked_within_the_limits_and_no_further() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("archive");
        make_archive(&path);
        let unpack = |to: &str, bytes: Bytes, entries: u64, left_free: Bytes| {
            let to = scratch.path().join(to);
            let what = Unpacking { archive: &path, coordinates: "npm:x@1", again: "fetch again", to: &to };
            let done = unpack_within(&what, Limits { bytes, entries, left_free });
            done.map(|()| fs::metadata(to.join("share/postgres.bki")).unwrap().len())
        };
        let (any, none) = (Bytes(1 << 20), Bytes(0));
        assert_eq!(unpack("whole", any, 3, none).unwrap(), FILE_BYTES);
        let check = |bytes: Bytes, entries: u64, left_free: Bytes, expected: &str| {
            let error = unpack("part", bytes, entries, left_free).unwrap_err().to_string();
            assert!(error.starts_with("npm:x@1 was not unpacked: ") && error.contains(expected), "{error}");
            assert!(!scratch.path().join("part/share").exists(), "{expected}");
        };
        // Two files with their headers, and less than a third header.
        check(Bytes(22_000), 3, none, "it has more than 22000 bytes when unpacked");
        check(any, 2, none, "it has more than 2 files");
        check(any, 3, Bytes(u64::MAX), "MiB have to stay free");
    }

    fn unpack_error(bytes: &[u8]) -> String {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("archive");
        fs::write(&path, bytes).unwrap();
        let to = scratch.path().join("to");
        let what = Unpacking { archive: &path, coordinates: "npm:x@1", again: "fetch again", to: &to };
        unpack(&what).unwrap_err().to_string()
    }

    #[test]
    fn a_name_that_would_fill_memory_is_given_up() {
        const NAME_BYTES: u64 = 4 << 20;
        let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::GNULongName);
        header.set_size(NAME_BYTES);
        header.set_cksum();
        tar.append(&header, io::repeat(b'x').take(NAME_BYTES)).unwrap();
        let error = unpack_error(&tar.into_inner().unwrap().finish().unwrap());
        assert!(error.contains("the name of a file in it") && error.contains("1048576 bytes"), "{error}");
    }

    #[test]
    fn an_archive_that_asks_for_memory_that_none_needs_is_refused() {
        let with_crc = |bytes: &[u8]| {
            let mut crc = flate2::Crc::new();
            crc.update(bytes);
            [bytes, &crc.sum().to_le_bytes()].concat()
        };
        // A block of LZMA2 alone; 40 stands for a dictionary of 4 GiB.
        let block = [2, 0, 0x21, 1, 40, 0, 0, 0];
        let error = unpack_error(&[XZ_MAGIC.as_slice(), &with_crc(&[0, 1]), &with_crc(&block)].concat());
        assert!(error.contains("it asks for more than 128 MiB of memory"), "{error}");
    }
}
