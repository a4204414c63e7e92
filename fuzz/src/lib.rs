//! What the targets share: a text as `dbdyno import` reads it, and a directory that archives are unpacked to.

use formats::ParseError;
use formats::import::Source;
use model::import::ImportedValue;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// What values are of if the text does not say.
pub const SOURCE: Source<'static> = Source { file: 0, subject: "fuzzed" };

/// Reads a text. It may be refused, at a line that it has and in words that no terminal obeys; what is read of it has a place.
pub fn import(bytes: &[u8], read: impl Fn(&str) -> Result<Vec<ImportedValue>, ParseError>) {
    let text = String::from_utf8_lossy(bytes);
    match read(&text) {
        Ok(values) => assert!(values.iter().all(|value| !value.place.is_empty()), "a value has no place"),
        Err(error) => {
            let lines = text.lines().count().max(1);
            assert!((1..=lines).contains(&error.line), "{error}: there are {lines} lines");
            assert!(!error.to_string().contains(char::is_control), "{error}");
        }
    }
}

/// A directory of this process, in memory.
static DIRECTORY: LazyLock<PathBuf> =
    LazyLock::new(|| PathBuf::from(format!("/dev/shm/dbdyno-fuzz-{}", std::process::id())));

/// Calls with the file of an archive, and a directory below another one that nothing else may get into. Both are gone afterwards.
///
/// # Panics
/// Something was written beside the directory, or the file system in memory fails.
pub fn unpack(archive: &[u8], unpack: impl FnOnce(&Path, &Path)) {
    let outer = DIRECTORY.join("outer");
    let to = outer.join("to");
    let path = DIRECTORY.join("archive");
    fs::create_dir_all(&to).expect("the directory is made");
    fs::write(&path, archive).expect("the archive is written");
    unpack(&path, &to);
    assert_eq!(names(&outer), ["to"], "written outside");
    assert_eq!(names(&DIRECTORY), ["archive", "outer"], "written outside");
    remove(&DIRECTORY);
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("the directory is read");
    let names = entries.map(|entry| entry.expect("it has a name").file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// Also directories that an archive made such that nobody may change them.
fn remove(directory: &Path) {
    if fs::remove_dir_all(directory).is_ok() {
        return;
    }
    make_writable(directory);
    fs::remove_dir_all(directory).expect("the directory is removed");
}

fn make_writable(directory: &Path) {
    fs::set_permissions(directory, fs::Permissions::from_mode(0o700)).expect("the directory is ours");
    for entry in fs::read_dir(directory).expect("the directory is read").flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            make_writable(&entry.path());
        }
    }
}
