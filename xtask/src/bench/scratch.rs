//! The directory that the bench works in and the databases in it. It is deleted in the end, come what may.

use anyhow::Context;
use std::fs;
use std::path::{Path, PathBuf};

/// The directory.
#[derive(Debug)]
pub struct Scratch {
    directory: PathBuf,
}

impl Scratch {
    /// A new one below `parent`.
    pub fn new(parent: &Path) -> anyhow::Result<Scratch> {
        let directory = parent.join(format!("dbdyno-bench-{}", std::process::id()));
        fs::create_dir_all(parent).with_context(|| format!("failed to create `{}`", parent.display()))?;
        // Not `create_dir_all`: what is there already is not ours to delete.
        fs::create_dir(&directory).with_context(|| format!("failed to create `{}`", directory.display()))?;
        Ok(Scratch { directory })
    }

    /// A path in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// A new directory in it.
    pub fn empty_directory(&self, name: &str) -> anyhow::Result<PathBuf> {
        let path = self.path(name);
        fs::create_dir(&path).with_context(|| format!("failed to create `{}`", path.display()))?;
        Ok(path)
    }

    /// An own copy of a database, or an empty place for one. Sorted files never change and are linked.
    pub fn database(&self, name: &str, template: Option<&Path>) -> anyhow::Result<PathBuf> {
        let directory = self.path(name);
        if directory.exists() {
            fs::remove_dir_all(&directory)
                .with_context(|| format!("failed to remove `{}`", directory.display()))?;
        }
        if let Some(template) = template {
            copy_database(template, &directory)
                .with_context(|| format!("failed to copy the database `{}`", template.display()))?;
        }
        Ok(directory)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.directory) {
            eprintln!("warning: failed to remove `{}`: {error}", self.directory.display());
        }
    }
}

fn copy_database(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
        let is_log = name.to_string_lossy().starts_with("LOG") || name == "LOCK";
        if path.extension().is_some_and(|extension| extension == "sst") {
            fs::hard_link(&path, to.join(&name))?;
        } else if !is_log {
            fs::copy(&path, to.join(&name))?;
        }
    }
    Ok(())
}
