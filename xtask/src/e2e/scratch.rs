//! Directories of the end-to-end cases: one shared cache of builds, one directory of results per case.
//! All of them are below cargo's target directory.

use super::small_disk;
use crate::workspace;
use anyhow::{Context, ensure};
use rusqlite::{Connection, OpenFlags};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

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
        shared.measure_host(&root)?;
        Ok(shared)
    }

    /// For a lane of cases beside this one: its own binary and cache, with the builds and the data directories that this one
    /// has so far.
    pub fn twin(&self) -> anyhow::Result<Shared> {
        let root = self.cases.parent().context("the directory of the cases lies in one")?.join("second");
        if root.exists() {
            fs::remove_dir_all(&root).with_context(|| format!("failed to empty `{}`", root.display()))?;
        }
        let twin =
            Shared { binary: root.join("bin/dbdyno"), cache: root.join("cache"), cases: self.cases.clone() };
        let work = twin.cache.join("dbdyno");
        for directory in [&root.join("bin"), &work] {
            fs::create_dir_all(directory)
                .with_context(|| format!("failed to create `{}`", directory.display()))?;
        }
        fs::copy(&self.binary, &twin.binary).context("failed to copy the binary")?;
        self.copy_kept(&work)?;
        self.share_fingerprint(&twin.cache)?;
        Ok(twin)
    }

    /// Copies builds and data directories that are kept. Builds are never written to, so that links do; what apt-get has, and a data
    /// directory with its lock, is each lane's own.
    pub fn copy_kept(&self, work: &Path) -> anyhow::Result<()> {
        for kept in ["engines", "initialised"] {
            let (from, to) = (self.cache.join("dbdyno").join(kept), work.join(kept));
            if !from.exists() {
                continue;
            }
            fs::create_dir(&to).with_context(|| format!("failed to create `{}`", to.display()))?;
            for entry in
                fs::read_dir(&from).with_context(|| format!("failed to list `{}`", from.display()))?
            {
                let entry = entry?;
                let is_build = kept == "engines" && !entry.file_name().as_encoded_bytes().starts_with(b".");
                let how = if is_build { "--link" } else { "--recursive" };
                let copied = Command::new("cp").args(["--archive", how]).arg(entry.path()).arg(&to).status();
                let copied = copied.context("failed to start cp")?;
                ensure!(copied.success(), "`{}` cannot be copied: {copied}", entry.path().display());
            }
        }
        Ok(())
    }

    /// Every run is preceded by a fingerprint of the host that is younger than six hours. It is measured once for all cases, and not in the
    /// first run of each work directory.
    fn measure_host(&self, root: &Path) -> anyhow::Result<()> {
        let kept = fingerprint(&self.cache);
        let boot_id =
            fs::read_to_string("/proc/sys/kernel/random/boot_id").context("failed to read the boot")?;
        let age = fs::metadata(&kept).and_then(|kept| kept.modified()).ok().and_then(|at| at.elapsed().ok());
        let is_fresh = age.is_some_and(|age| age < FINGERPRINT_COUNTS)
            && fs::read_to_string(&kept).is_ok_and(|text| text.contains(boot_id.trim()));
        if is_fresh {
            return Ok(());
        }
        let measured = Command::new(&self.binary)
            .args(["doctor", "--bench", "--store"])
            .arg(root.join("host.sqlite"))
            .env("XDG_CACHE_HOME", &self.cache)
            .output()
            .context("failed to start dbdyno")?;
        ensure!(
            measured.status.success(),
            "the host cannot be measured: {}",
            String::from_utf8_lossy(&measured.stderr)
        );
        Ok(())
    }

    /// Gives the shared fingerprint to a cache that has none.
    pub fn share_fingerprint(&self, cache: &Path) -> anyhow::Result<()> {
        let (from, to) = (fingerprint(&self.cache), fingerprint(cache));
        if to.exists() || !from.exists() {
            return Ok(());
        }
        // With the marker of its directory.
        for (from, to) in [(from.with_file_name(".dbdyno"), to.with_file_name(".dbdyno")), (from, to)] {
            fs::create_dir_all(to.parent().context("a file has a directory")?)?;
            fs::copy(&from, &to).with_context(|| format!("failed to copy `{}`", from.display()))?;
        }
        Ok(())
    }
}

/// An hour less than it counts: no case takes as long.
const FINGERPRINT_COUNTS: Duration = Duration::from_secs(5 * 3600);

/// Where a work directory keeps the last fingerprint of the host.
pub fn fingerprint(cache: &Path) -> PathBuf {
    cache.join("dbdyno/fingerprint/last.json")
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
            small_disk::unmount_below(&directory)?;
            fs::remove_dir_all(&directory)
                .with_context(|| format!("failed to empty `{}`", directory.display()))?;
        }
        fs::create_dir_all(&directory)
            .with_context(|| format!("failed to create `{}`", directory.display()))?;
        let workload = directory.join("tiny.toml");
        fs::write(&workload, WORKLOAD).context("failed to write the workload file")?;
        Ok(Scratch { shared: shared.clone(), directory, workload })
    }

    /// For a case whose files lie elsewhere: the same binary and no builds.
    pub fn elsewhere(&self, directory: &Path) -> anyhow::Result<Scratch> {
        let binary = directory.join("dbdyno");
        fs::copy(&self.shared.binary, &binary).context("failed to copy the binary")?;
        let shared = Shared { binary, ..self.shared.clone() };
        let workload = directory.join("tiny.toml");
        fs::copy(&self.workload, &workload).context("failed to copy the workload file")?;
        Ok(Scratch { shared, directory: directory.to_owned(), workload })
    }

    /// The store of the case, while dbdyno may write to it.
    pub fn store(&self) -> anyhow::Result<Connection> {
        let path = self.data().join("dbdyno/dbdyno.sqlite");
        let store = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_WRITE)
            .with_context(|| format!("failed to open the store `{}`", path.display()))?;
        store.busy_timeout(Duration::from_secs(5))?;
        Ok(store)
    }

    /// Above the directories of all cases, for work directories of servers: the path of a socket below them has a bound.
    pub fn root(&self) -> anyhow::Result<&Path> {
        self.directory.ancestors().nth(2).context("the directory of a case lies in two others")
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
