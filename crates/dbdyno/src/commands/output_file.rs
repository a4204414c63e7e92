//! Files that the user names: each appears whole or not at all. One that is named by `-o` never takes the place of a store, one that is a
//! copy of a store takes that of another file only if the user says so.

use crate::exit::usage;
use anyhow::{Context, anyhow};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process;

/// What every SQLite file begins with, such as the store.
const SQLITE_HEADER: &[u8; 16] = b"SQLite format 3\0";

/// A file that is being written. If it is dropped before [`OutputFile::finish`], what was there before is there still.
pub struct OutputFile {
    out: BufWriter<File>,
    /// As the user named it.
    named: PathBuf,
    replaces: Option<Replaces>,
}

/// A file that is written by its path, as SQLite does, and closed to other users. It is there under its own name when it is whole and on
/// its disk.
pub struct PrivateFile {
    named: PathBuf,
    replaces: Replaces,
}

/// The new file and what it is renamed to. If that does not come about, it is removed.
struct Replaces {
    partial: PathBuf,
    target: PathBuf,
}

impl OutputFile {
    /// Begins to write.
    pub fn create(path: &Path) -> anyhow::Result<OutputFile> {
        if is_sqlite(path) {
            return Err(usage(anyhow!(
                "`{}` is a SQLite file, perhaps the store, and is not overwritten; name another file by -o",
                path.display()
            )));
        }
        let (file, replaces) =
            open(path).with_context(|| format!("failed to write to `{}`", path.display()))?;
        Ok(OutputFile { out: BufWriter::new(file), named: path.to_path_buf(), replaces })
    }

    /// Writes a piece.
    pub fn write(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        self.out.write_all(bytes).with_context(|| format!("failed to write to `{}`", self.named.display()))
    }

    /// Writes what is left, and puts the file where it was wanted.
    pub fn finish(mut self) -> anyhow::Result<()> {
        let finished = self.out.flush().and_then(|()| self.replaces.map_or(Ok(()), Replaces::rename));
        finished.with_context(|| format!("failed to write to `{}`", self.named.display()))
    }
}

impl PrivateFile {
    /// Makes it, empty, under a name of its own.
    ///
    /// # Errors
    /// A file that is there already, unless it may be replaced; what is no file, in any case.
    pub fn create(path: &Path, may_replace: bool) -> anyhow::Result<PrivateFile> {
        let named = path.display();
        let target = match fs::symlink_metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(path.to_path_buf()),
            Ok(_) if !may_replace => {
                return Err(usage(anyhow!(
                    "`{named}` is there already; name another file, or replace it by --force"
                )));
            }
            // A link stays: the file that it leads to is replaced.
            Ok(_) if fs::metadata(path).is_ok_and(|there| there.is_file()) => fs::canonicalize(path),
            Ok(_) => return Err(usage(anyhow!("`{named}` is no file and is not replaced; name another"))),
            Err(error) => Err(error),
        };
        let made = target.and_then(|target| partial(target, FOR_OWNER_ONLY));
        let (_, replaces) = made.with_context(|| format!("failed to write to `{named}`"))?;
        Ok(PrivateFile { named: path.to_path_buf(), replaces })
    }

    /// Where it is written.
    pub fn path(&self) -> &Path {
        &self.replaces.partial
    }

    /// Puts it where it was wanted, and that on the disk.
    pub fn finish(self) -> anyhow::Result<()> {
        let directory = directory_of(&self.replaces.target);
        let finished = File::open(&self.replaces.partial)
            .and_then(|file| file.sync_all())
            .and_then(|()| self.replaces.rename())
            .and_then(|()| File::open(directory)?.sync_all());
        finished.with_context(|| format!("failed to write to `{}`", self.named.display()))
    }
}

impl Replaces {
    fn rename(self) -> io::Result<()> {
        fs::rename(&self.partial, &self.target)
    }
}

impl Drop for Replaces {
    fn drop(&mut self) {
        // Where it was renamed there is none. Else the error that was the reason for giving up is told; a file left over harms nobody.
        let _ = fs::remove_file(&self.partial);
    }
}

fn directory_of(file: &Path) -> PathBuf {
    let directory = file.parent().filter(|directory| !directory.as_os_str().is_empty());
    directory.unwrap_or(Path::new(".")).to_path_buf()
}

/// Whether it is a file that begins as SQLite's do. Devices and pipes are not read.
fn is_sqlite(path: &Path) -> bool {
    let mut header = [0; SQLITE_HEADER.len()];
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file())
        && File::open(path).and_then(|mut file| file.read_exact(&mut header)).is_ok()
        && header == *SQLITE_HEADER
}

fn open(path: &Path) -> io::Result<(File, Option<Replaces>)> {
    match fs::metadata(path) {
        // A device, a pipe: nothing can take its place. A directory is an error.
        Ok(metadata) if !metadata.is_file() => Ok((OpenOptions::new().write(true).open(path)?, None)),
        Ok(metadata) => replace(path, &metadata),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let (file, replaces) = partial(path.to_path_buf(), FOR_ALL)?;
            Ok((file, Some(replaces)))
        }
        Err(error) => Err(error),
    }
}

fn replace(path: &Path, metadata: &Metadata) -> io::Result<(File, Option<Replaces>)> {
    // A link stays: the file that it leads to is replaced. One that we may not write is not replaced either.
    let target = fs::canonicalize(path)?;
    OpenOptions::new().write(true).open(&target)?;
    match partial(target, FOR_ALL) {
        Ok((file, replaces)) => {
            file.set_permissions(metadata.permissions())?;
            Ok((file, Some(replaces)))
        }
        // The file may be written, its directory not.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok((File::create(path)?, None)),
        Err(error) => Err(error),
    }
}

/// Modes of new files; the user's umask takes from them.
const FOR_ALL: u32 = 0o666;
const FOR_OWNER_ONLY: u32 = 0o600;

/// A new file in the same directory.
fn partial(target: PathBuf, mode: u32) -> io::Result<(File, Replaces)> {
    let mut name = target.as_os_str().to_owned();
    name.push(format!(".{}.partial", process::id()));
    let partial = PathBuf::from(name);
    let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&partial)?;
    Ok((file, Replaces { partial, target }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn write(path: &Path, text: &str) -> anyhow::Result<()> {
        let mut file = OutputFile::create(path)?;
        file.write(text.as_bytes())?;
        file.finish()
    }

    fn names(directory: &Path) -> Vec<String> {
        let names = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_keeps_what_it_has_until_the_new_one_is_whole() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("report.json");
        write(&path, "the first").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let mut given_up = OutputFile::create(&path).unwrap();
        given_up.write(&[b'x'; 1 << 20]).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "the first");
        drop(given_up);
        assert_eq!(names(directory.path()), ["report.json"]);
        write(&path, "the second").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "the second");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(names(directory.path()), ["report.json"]);
    }

    #[test]
    fn a_store_is_not_overwritten() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("dbdyno.sqlite");
        drop(store::Writer::open(&path).unwrap());
        let before = fs::read(&path).unwrap();
        let error = format!("{:#}", write(&path, "a report").unwrap_err());
        assert!(error.contains("dbdyno.sqlite` is a SQLite file") && error.contains("-o"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), before);
    }

    #[test]
    fn a_private_file_replaces_another_only_if_it_may() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("backup.sqlite");
        let write = |text: &str, may_replace: bool| -> anyhow::Result<()> {
            let file = PrivateFile::create(&path, may_replace)?;
            fs::write(file.path(), text).unwrap();
            file.finish()
        };
        write("the first", false).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let error = format!("{:#}", write("the second", false).unwrap_err());
        assert!(error.contains("backup.sqlite` is there already") && error.contains("--force"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "the first");
        drop(PrivateFile::create(&path, true).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "the first");
        write("the second", true).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "the second");
        assert_eq!(names(directory.path()), ["backup.sqlite"]);
        assert!(PrivateFile::create(directory.path(), true).is_err());
    }

    #[test]
    fn links_stay_and_devices_are_written() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("of-today");
        let link = directory.path().join("latest");
        fs::write(&file, "old").unwrap();
        symlink("of-today", &link).unwrap();
        write(&link, "new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        write(Path::new("/dev/null"), "gone").unwrap();
        let error = format!("{:#}", write(directory.path(), "no file").unwrap_err());
        assert!(error.contains("failed to write to"), "{error}");
    }
}
