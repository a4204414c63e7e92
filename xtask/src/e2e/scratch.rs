//! Directories of the end-to-end cases: one shared cache of builds, one directory of results per case.
//! All of them are below cargo's target directory.

use crate::workspace;
use anyhow::Context;
use std::fs;
use std::path::{Path, PathBuf};

/// The workload of all cases: small enough that a launch takes about a second.
const WORKLOAD: &str = include_str!("tiny.toml");

/// What all cases share.
#[derive(Debug, Clone)]
pub struct Shared {
    /// A copy of the binary under a path of its own, so that its processes are told from any other dbdyno.
    pub binary: PathBuf,
    /// The XDG cache directory: builds are fetched into it once and stay for the next time.
    pub cache: PathBuf,
    cases: PathBuf,
}

impl Shared {
    pub fn prepare(built: &Path) -> anyhow::Result<Shared> {
        let root = workspace::target_directory()?.join("e2e");
        let shared =
            Shared { binary: root.join("bin/dbdyno"), cache: root.join("cache"), cases: root.join("cases") };
        for directory in [&root.join("bin"), &shared.cache, &shared.cases] {
            fs::create_dir_all(directory)
                .with_context(|| format!("failed to create `{}`", directory.display()))?;
        }
        // A new file, not new bytes in the old one: a process of an earlier time may still run from that.
        if shared.binary.exists() {
            fs::remove_file(&shared.binary).context("failed to remove the earlier copy of the binary")?;
        }
        fs::copy(built, &shared.binary).with_context(|| format!("failed to copy `{}`", built.display()))?;
        Ok(shared)
    }
}

/// The directory of one case.
#[derive(Debug)]
pub struct Scratch {
    pub shared: Shared,
    pub directory: PathBuf,
    /// The workload file to give to dbdyno.
    pub workload: PathBuf,
}

impl Scratch {
    /// Makes it empty.
    pub fn new(shared: &Shared, case: &str) -> anyhow::Result<Scratch> {
        let directory = shared.cases.join(case.replace(' ', "-"));
        if directory.exists() {
            fs::remove_dir_all(&directory)
                .with_context(|| format!("failed to empty `{}`", directory.display()))?;
        }
        fs::create_dir_all(&directory)
            .with_context(|| format!("failed to create `{}`", directory.display()))?;
        let workload = directory.join("tiny.toml");
        fs::write(&workload, WORKLOAD).context("failed to write the workload file")?;
        Ok(Scratch { shared: shared.clone(), directory, workload })
    }

    /// A path in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Writes a file in it and gives its path.
    pub fn write(&self, name: &str, text: &str) -> anyhow::Result<PathBuf> {
        let path = self.path(name);
        fs::write(&path, text).with_context(|| format!("failed to write `{}`", path.display()))?;
        Ok(path)
    }

    /// Writes a file of the user's own below the configuration directory of the case.
    pub fn write_config(&self, name: &str, text: &str) -> anyhow::Result<()> {
        let path = self.config().join("dbdyno").join(name);
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)
                .with_context(|| format!("failed to create `{}`", directory.display()))?;
        }
        fs::write(&path, text).with_context(|| format!("failed to write `{}`", path.display()))
    }

    /// The XDG configuration directory of the case.
    pub fn config(&self) -> PathBuf {
        self.path("config")
    }

    /// The XDG data directory of the case.
    pub fn data(&self) -> PathBuf {
        self.path("data")
    }

    /// Deletes it; the case has passed.
    pub fn remove(self) -> anyhow::Result<()> {
        fs::remove_dir_all(&self.directory)
            .with_context(|| format!("failed to remove `{}`", self.directory.display()))
    }
}
