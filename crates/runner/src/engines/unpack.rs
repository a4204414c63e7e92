//! Unpacks tar archives that hold a server: gzip (`.tar.gz`, `.tgz`) or xz (`.txz`) by their first bytes.

use super::error::EngineError;
use flate2::read::GzDecoder;
use lzma_rust2::XzReader;
use std::fs::{self, File, Permissions};
use std::io::{self, BufReader, Read, Seek};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const XZ_MAGIC: [u8; 6] = [0xfd, b'7', b'z', b'X', b'Z', 0];

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
    let read = EngineError::io("read", what.archive);
    let mut file = File::open(what.archive).map_err(&read)?;
    let mut magic = Vec::new();
    file.by_ref().take(XZ_MAGIC.len() as u64).read_to_end(&mut magic).map_err(&read)?;
    file.rewind().map_err(&read)?;
    let file = BufReader::new(file);
    let unpacked = if magic.starts_with(&GZIP_MAGIC) {
        unpack_tar(GzDecoder::new(file), what.to)
    } else if magic == XZ_MAGIC {
        unpack_tar(XzReader::new(file, true), what.to)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidData, "it is neither gzip nor xz"))
    };
    unpacked.map_err(|error| match error.kind() {
        // Those of the place; all others are the archive's.
        io::ErrorKind::StorageFull
        | io::ErrorKind::QuotaExceeded
        | io::ErrorKind::PermissionDenied
        | io::ErrorKind::ReadOnlyFilesystem => EngineError::io("write", what.to)(error),
        _ => EngineError::ArchiveDamaged {
            coordinates: what.coordinates.to_owned(),
            problem: with_sources(&error),
            again: what.again,
        },
    })
}

/// Sees to it that nothing below a directory can be written by other users, whatever the archive and the umask say.
pub(super) fn take_write_from_others(directory: &Path) -> Result<(), EngineError> {
    let write = EngineError::io("write", directory);
    for entry in fs::read_dir(directory).map_err(&write)? {
        let path = entry.map_err(&write)?.path();
        let write = EngineError::io("write", &path);
        let metadata = fs::symlink_metadata(&path).map_err(&write)?;
        if metadata.is_symlink() {
            continue; // has no permissions of its own
        }
        let mode = metadata.permissions().mode();
        if mode & 0o022 != 0 {
            fs::set_permissions(&path, Permissions::from_mode(mode & 0o7755)).map_err(&write)?;
        }
        if metadata.is_dir() {
            take_write_from_others(&path)?;
        }
    }
    Ok(())
}

fn unpack_tar(content: impl Read, to: &Path) -> io::Result<()> {
    let mut archive = tar::Archive::new(content);
    archive.set_preserve_mtime(false);
    archive.unpack(to)?;
    // The checksum at the end of the stream, behind what tar reads.
    io::copy(&mut archive.into_inner(), &mut io::sink()).map(|_| ())
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
