//! The archives (`.deb`) that builds came in, kept below the cache by their checksum: a mirror drops a version when
//! a later one comes, and what was measured once must be had again.
//!
//! `engines/.archives/SHA256.deb`, and per coordinates a list in the form that `sha256sum` writes.

use crate::engines::disk;
use crate::engines::error::EngineError;
use crate::engines::record::PackageRecord;
use crate::engines::sha256;
use crate::marked_dir::create_marked_dir_below;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The directory of archives in that of engines.
const DIRECTORY: &str = ".archives";

/// Kept archives.
pub(in crate::engines) struct Archives {
    directory: PathBuf,
    arch: String,
}

/// One archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engines) struct Archive {
    pub path: PathBuf,
    /// Its SHA-256, 64 hexadecimal digits.
    pub sha256: String,
    /// The name that the mirror gave it: `libaio1_0.3.113-4_amd64.deb`.
    pub name: String,
}

impl Archive {
    /// What is in it, by its name.
    pub(in crate::engines) fn package(&self) -> PackageRecord {
        let mut parts = self.name.splitn(3, '_');
        let (name, version) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        PackageRecord {
            name: name.to_owned(),
            // The one character of versions that apt escapes in file names.
            version: version.replace("%3a", ":"),
            sha256: self.sha256.clone(),
        }
    }
}

impl Archives {
    /// Those below the directory of engines, for one CPU.
    pub(super) fn new(engines: &Path, arch: &str) -> Result<Archives, EngineError> {
        let directory = create_marked_dir_below(engines, &[DIRECTORY])?;
        Ok(Archives { directory, arch: arch.to_owned() })
    }

    /// Where they are.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The archives of these coordinates; none unless all are there with the checksums of the list.
    pub(super) fn kept(&self, coordinates: &str) -> Result<Option<Vec<Archive>>, EngineError> {
        let list = self.list(coordinates);
        let text = match fs::read_to_string(&list) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(EngineError::io("read", &list)(error)),
        };
        let mut archives = Vec::new();
        for line in text.lines() {
            let Some((sha256, name)) = line.split_once("  ") else { return Ok(None) };
            let path = self.path(sha256);
            let found = match sha256::of_file(&path) {
                Ok((found, _)) => found,
                Err(EngineError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                    return Ok(None);
                }
                Err(error) => return Err(error),
            };
            if found != sha256 {
                return Ok(None); // fetched again and put in its place
            }
            archives.push(Archive { path, sha256: sha256.to_owned(), name: name.to_owned() });
        }
        Ok((!archives.is_empty()).then_some(archives))
    }

    /// Moves files to their places and writes the list.
    pub(super) fn keep(&self, coordinates: &str, files: &[PathBuf]) -> Result<Vec<Archive>, EngineError> {
        let mut archives = Vec::new();
        let mut text = String::new();
        for file in files {
            let (sha256, _) = sha256::of_file(file)?;
            let path = self.path(&sha256);
            fs::rename(file, &path).map_err(EngineError::io("write", &path))?;
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            text += &format!("{sha256}  {name}\n");
            archives.push(Archive { path, sha256, name });
        }
        let list = self.list(coordinates);
        // In one step: half a list would be taken for the whole.
        let fresh = self.directory.join(format!(".list.new-{}", std::process::id()));
        fs::write(&fresh, text)
            .and_then(|()| disk::sync_file_system(&self.directory))
            .and_then(|()| fs::rename(&fresh, &list))
            .and_then(|()| disk::sync_directory(&self.directory))
            .map_err(EngineError::io("write", &list))?;
        Ok(archives)
    }

    fn path(&self, sha256: &str) -> PathBuf {
        self.directory.join(format!("{sha256}.deb"))
    }

    fn list(&self, coordinates: &str) -> PathBuf {
        // Readable, and short enough for a file name.
        let name: String = coordinates
            .chars()
            .map(|character| if matches!(character, '/' | ':') { '_' } else { character })
            .take(220)
            .collect();
        self.directory.join(format!("{name}.{}.sha256", self.arch))
    }
}
