//! Takes the one wanted library out of a jar (a zip file).

use super::error::EngineError;
use super::sha256::PIECE_BYTES;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use zip::ZipArchive;
use zip::result::ZipError;

/// The largest library that is taken out of a jar; the largest published one is 17 MB.
const LIBRARY_BYTES_MAX: u64 = 1 << 30;

/// What to take out of which jar.
pub(super) struct Extraction<'a> {
    /// The jar.
    pub jar: &'a Path,
    /// Its coordinates, for errors.
    pub coordinates: &'a str,
    /// The file in it.
    pub library: &'a str,
    /// Where to write it.
    pub to: &'a Path,
}

/// Writes the library of a jar to a file; its CRC is checked on the way.
pub(super) fn extract(what: &Extraction<'_>) -> Result<(), EngineError> {
    let damaged =
        |problem: String| EngineError::JarDamaged { coordinates: what.coordinates.to_owned(), problem };
    let jar = File::open(what.jar).map_err(EngineError::io("read", what.jar))?;
    let mut archive = ZipArchive::new(jar).map_err(|error| damaged(error.to_string()))?;
    // For the error only: a name that cannot be read is none that a user could act on.
    let names = archive.file_names().filter_map(Result::ok);
    let found: Vec<String> =
        names.filter(|name| name.contains(".so")).map(std::borrow::Cow::into_owned).collect();
    let mut library = match archive.by_name(what.library) {
        Ok(library) => library.take(LIBRARY_BYTES_MAX + 1),
        Err(ZipError::FileNotFound) => {
            return Err(EngineError::NoLibraryInJar {
                coordinates: what.coordinates.to_owned(),
                wanted: what.library.to_owned(),
                found: if found.is_empty() { "no library at all".to_owned() } else { found.join(", ") },
            });
        }
        Err(error) => return Err(damaged(error.to_string())),
    };
    let write = EngineError::io("write", what.to);
    let mut file = File::create(what.to).map_err(&write)?;
    let mut size = 0;
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let length = match library.read(&mut piece) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(damaged(error.to_string())),
        };
        size += length as u64;
        if size > LIBRARY_BYTES_MAX {
            return Err(damaged(format!("`{}` is larger than {LIBRARY_BYTES_MAX} bytes", what.library)));
        }
        file.write_all(&piece[..length]).map_err(&write)?;
    }
    file.sync_all().map_err(&write)
}
