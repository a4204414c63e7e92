//! The files of a server that are loaded as code: which they are, and whether they are still those that were fetched.
//!
//! A file that was not touched since its checksum was taken is known by its stamp, so that a server of hundreds of libraries is
//! looked through in a millisecond.

use super::error::EngineError;
use super::sha256;
use model::build::{Initialise, ServerFiles};
use model::subject::BuildRef;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Files of one directory tree that are looked at; a prefix that many programs share has more, of which these are the first.
const MOST_FILES: usize = 5000;

/// A file of a server that is loaded as code, or a link to one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CodeFile {
    /// Below the directory of the build.
    pub path: PathBuf,
    /// Of its content, 64 hexadecimal digits; of a link, of the path that it holds.
    pub sha256: String,
    /// What is another as soon as the file is replaced or written to: its inode, size, times of change. Of this host, and of
    /// this place of the cache.
    pub stamp: String,
}

/// The regular files with code of a server, in a fixed order: its program, what makes its data directory, and all libraries and
/// plugins that it may load.
pub(crate) fn of_server(program: &Path, server: &ServerFiles) -> Vec<PathBuf> {
    let entries = entries_of_server(program, server);
    let kept = entries.into_iter().filter(|(_, kind)| *kind == Kind::File);
    kept.map(|(path, _)| path).collect()
}

/// Notes the code of a server that was just fetched. The program and the files are absolute, and below `directory`.
pub(super) fn noted(
    directory: &Path,
    program: &Path,
    server: &ServerFiles,
) -> Result<Vec<CodeFile>, EngineError> {
    let entries = entries_of_server(program, server);
    entries.into_iter().map(|(path, kind)| CodeFile::of(&path, kind, directory)).collect()
}

/// What came of looking at the code of a server.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Looked {
    /// No file was touched.
    Untouched,
    /// The files are the same to the byte, but have other stamps by now: the cache was copied, or comes from another host.
    Restamped(Vec<CodeFile>),
}

/// Whether the code of a server is what was noted when it was fetched.
///
/// # Errors
/// The first file that has changed, is gone, or was added.
pub(super) fn look(
    build: &BuildRef,
    directory: &Path,
    program: &Path,
    server: &ServerFiles,
    noted: &[CodeFile],
) -> Result<Looked, EngineError> {
    let changed = |path: &Path, found: &str, recorded: &str| EngineError::WrongChecksum {
        build: build.clone(),
        path: directory.join(path),
        found: found.to_owned(),
        recorded: recorded.to_owned(),
    };
    let mut unseen = entries_of_server(program, server);
    let mut now = Vec::new();
    for file in noted {
        let path = directory.join(&file.path);
        let gone = || changed(&file.path, "none, it is gone", &file.sha256);
        let kind = unseen.remove(&path).ok_or_else(gone)?;
        let metadata = match kind.metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(gone()),
            found => found.map_err(EngineError::io("read", &path))?,
        };
        if stamp_of(&metadata) == file.stamp {
            now.push(file.clone());
            continue;
        }
        let found = CodeFile::of(&path, kind, directory)?;
        if found.sha256 != file.sha256 {
            return Err(changed(&file.path, &found.sha256, &file.sha256));
        }
        now.push(found);
    }
    if let Some((added, kind)) = unseen.pop_first() {
        let found = CodeFile::of(&added, kind, directory)?;
        return Err(changed(&found.path, &found.sha256, "none, it was not there"));
    }
    Ok(if now == noted { Looked::Untouched } else { Looked::Restamped(now) })
}

impl CodeFile {
    fn of(path: &Path, kind: Kind, directory: &Path) -> Result<CodeFile, EngineError> {
        let read = EngineError::io("read", path);
        // Before the content: what is written meanwhile has then another stamp.
        let metadata = kind.metadata(path).map_err(&read)?;
        let sha256 = match kind {
            Kind::Link => sha256::of_bytes(fs::read_link(path).map_err(&read)?.as_os_str().as_bytes()),
            Kind::File => sha256::of_file(path)?.0,
        };
        let below = path.strip_prefix(directory).unwrap_or(path).to_owned();
        Ok(CodeFile { path: below, sha256, stamp: stamp_of(&metadata) })
    }
}

/// The time of the last change of the inode is in it, which no program can set back.
fn stamp_of(metadata: &Metadata) -> String {
    format!(
        "{} {} {}.{:09} {}.{:09}",
        metadata.ino(),
        metadata.len(),
        metadata.mtime(),
        metadata.mtime_nsec(),
        metadata.ctime(),
        metadata.ctime_nsec()
    )
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    Link,
}

impl Kind {
    fn metadata(self, path: &Path) -> io::Result<Metadata> {
        match self {
            Kind::File => fs::metadata(path),
            Kind::Link => fs::symlink_metadata(path),
        }
    }
}

fn entries_of_server(program: &Path, server: &ServerFiles) -> BTreeMap<PathBuf, Kind> {
    let mut entries = BTreeMap::from([(program.to_owned(), Kind::File)]);
    match &server.initialise {
        Initialise::Initdb { program } => {
            entries.insert(program.clone(), Kind::File);
        }
        Initialise::Bootstrap { scripts } => {
            entries.extend(scripts.iter().map(|script| (script.clone(), Kind::File)));
        }
        Initialise::InitializeInsecure | Initialise::EmptyDirectory | Initialise::CopyOf { .. } => {}
    }
    let lib = server.root.join("lib");
    for directory in server.libraries.iter().chain(&server.plugins).chain([&lib]) {
        for (path, kind) in libraries_below(directory) {
            entries.entry(path).or_insert(kind);
        }
    }
    entries
}

/// The shared libraries below a directory, and links with the name of one.
fn libraries_below(directory: &Path) -> Vec<(PathBuf, Kind)> {
    let mut found = Vec::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(directory) = waiting.pop() {
        let mut entries: Vec<_> = fs::read_dir(&directory).into_iter().flatten().flatten().collect();
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let Ok(kind) = entry.file_type() else { continue };
            let is_library = entry.file_name().to_string_lossy().contains(".so");
            if kind.is_dir() {
                waiting.push(entry.path());
            } else if kind.is_file() && is_library {
                found.push((entry.path(), Kind::File));
            } else if kind.is_symlink() && is_library {
                found.push((entry.path(), Kind::Link));
            }
        }
        if found.len() > MOST_FILES {
            found.truncate(MOST_FILES);
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::workload::sql::Dialect;
    use std::os::unix::fs::symlink;

    const FILES: [&str; 5] =
        ["bin/server", "share/tables.sql", "lib/libx.so.1", "lib/plugin/engine.so", "more/libz.so"];

    /// Writes the files of a server.
    fn install(root: &Path) {
        for file in FILES {
            fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            fs::write(root.join(file), file).unwrap();
        }
        symlink("libx.so.1", root.join("lib/libx.so")).unwrap();
        fs::write(root.join("lib/notes"), "no code").unwrap();
    }

    fn server(root: &Path) -> ServerFiles {
        ServerFiles {
            dialect: Dialect::Mysql,
            root: root.to_owned(),
            initialise: Initialise::Bootstrap { scripts: vec![root.join("share/tables.sql")] },
            share: root.join("share"),
            character_sets: None,
            plugins: Some(root.join("lib/plugin")),
            libraries: vec![root.join("more")],
            storage: None,
            arguments: Vec::new(),
        }
    }

    fn note(root: &Path) -> Vec<CodeFile> {
        install(root);
        noted(root, &root.join("bin/server"), &server(root)).unwrap()
    }

    fn look_at(root: &Path, noted: &[CodeFile]) -> Result<Looked, EngineError> {
        let build = "mariadb@10.11.19".parse().unwrap();
        look(&build, root, &root.join("bin/server"), &server(root), noted)
    }

    #[test]
    fn each_file_with_code_that_was_changed_added_or_removed_is_named_and_no_other() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path();
        let noted = note(root);
        let paths: Vec<_> = noted.iter().map(|file| file.path.to_str().unwrap()).collect();
        let expected = [
            "bin/server",
            "lib/libx.so",
            "lib/libx.so.1",
            "lib/plugin/engine.so",
            "more/libz.so",
            "share/tables.sql",
        ];
        assert_eq!(paths, expected);
        assert_eq!(
            of_server(&root.join("bin/server"), &server(root)).len(),
            FILES.len(),
            "links are no code"
        );
        assert_eq!(look_at(root, &noted).unwrap(), Looked::Untouched);
        let refused = |name: &str, words: &str| {
            let error = look_at(root, &noted).unwrap_err().to_string();
            assert!(error.contains(&format!("{name}` is not what was fetched")), "{error}");
            assert!(error.contains(words) && error.contains("engine fetch mariadb@10.11.19"), "{error}");
        };
        for file in FILES {
            let path = root.join(file);
            // Of the same size.
            fs::write(&path, file.to_uppercase()).unwrap();
            refused(file, "(its SHA-256 is ");
            fs::remove_file(&path).unwrap();
            refused(file, "none, it is gone");
            fs::write(&path, file).unwrap();
        }
        fs::remove_file(root.join("lib/libx.so")).unwrap();
        symlink("plugin/engine.so", root.join("lib/libx.so")).unwrap();
        refused("lib/libx.so", "(its SHA-256 is ");
        fs::remove_file(root.join("lib/libx.so")).unwrap();
        symlink("libx.so.1", root.join("lib/libx.so")).unwrap();
        fs::write(root.join("more/libc.so.6"), "found before the host's").unwrap();
        refused("more/libc.so.6", "was none, it was not there");
        fs::remove_file(root.join("more/libc.so.6")).unwrap();
        fs::write(root.join("lib/notes"), "other notes").unwrap();
        assert!(matches!(look_at(root, &noted).unwrap(), Looked::Restamped(_)));
    }

    #[test]
    fn the_same_bytes_in_other_files_are_stamped_anew() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path();
        let noted = note(root);
        let plugin = root.join("lib/plugin/engine.so");
        fs::copy(&plugin, root.join("copy")).unwrap();
        fs::rename(root.join("copy"), &plugin).unwrap();
        let Looked::Restamped(again) = look_at(root, &noted).unwrap() else { panic!("another inode") };
        assert_ne!(again, noted);
        assert_eq!(look_at(root, &again).unwrap(), Looked::Untouched);
    }
}
