//! Builds: checked out and built in a directory of our own, kept by sources and recipe.
//!
//! `builds/KEY/` in the work directory is of one source, one recipe and one compiler: `checkout` and `build` stay, so that the next build compiles
//! only what changed, and `kept/ID` has what was made of each state, with the log of making it.

use super::ccache::{self, Ccache};
use super::git::FOREIGN_VARIABLES;
use super::pgo::{self, Pgo, Phase, Stage, Training};
use super::recipe::{Product, Ready};
use super::settings::{DebugInfo, UseOfCcache};
use super::source::{Source, remove_file, remove_tree};
use super::{BuildError, Version, debug_info, io_error};
use crate::engines::{disk, sha256};
use crate::marked_dir::create_marked_dir_below;
use crate::passable;
use crate::process::file_lock::{FileLock, NotLocked};
use crate::process::tool::{self, Tool, ToolError};
use model::units::Nanos;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::thread;

/// A build that takes longer hangs. A clean build of a large engine on two cores takes about two hours.
pub const BUILD_TIMEOUT: Nanos = Nanos::from_secs(4 * 3600);
/// Where builds are made and kept, in the work directory.
const BUILDS: &str = "builds";
/// Digits of the checksum in the name of its directory.
const KEY_DIGITS: usize = 16;
/// Where a server is installed: below the stage, so that the binary is the same wherever it is kept. No such directory has to be there.
const PREFIX: &str = "/usr/local/dbdyno-build";
/// In a build directory that is configured.
const CONFIGURED: &str = ".dbdyno-configured";
const LOG: &str = "build.log";
/// Beside the log.
const VERSION: &str = "version";
/// A lock is waited for as long as so many builds may take: the other process builds a state twice at most, and others may wait, too.
const MOST_BUILDS_WAITED_FOR: u64 = 4;

/// Builds states of one source by one recipe.
pub struct Builder {
    source: Source,
    recipe: Ready,
    workshop: PathBuf,
    timeout: Nanos,
}

/// What was made of a state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    /// The library, or the directory that the server was installed into.
    pub path: PathBuf,
    pub log: PathBuf,
    /// The version that the sources say they are, if the recipe knows where that stands.
    pub version: Option<String>,
}

impl Builder {
    /// Nothing is checked out or built yet.
    ///
    /// # Errors
    /// Directories that cannot be made, or whose path no build with a profile can have.
    pub fn new(
        work_dir: &Path,
        source: Source,
        recipe: Ready,
        timeout: Nanos,
    ) -> Result<Builder, BuildError> {
        if recipe.pgo.is_some() {
            pgo::check_path(work_dir)?;
        }
        let mut what =
            serde_json::to_string(&recipe).map_err(io::Error::from).map_err(io_error("write", work_dir))?;
        what.push_str(&source.path().to_string_lossy());
        if let Source::Tree { version, .. } = &source {
            what.push_str(&version.id);
        }
        let key = sha256::of_bytes(what.as_bytes());
        let workshop = create_marked_dir_below(work_dir, &[BUILDS, &key[..KEY_DIGITS]])?;
        Ok(Builder { source, recipe, workshop, timeout })
    }

    /// Where all of it is.
    pub fn directory(&self) -> &Path {
        &self.workshop
    }

    /// What the states are of.
    pub fn source(&self) -> &Source {
        &self.source
    }

    pub fn recipe(&self) -> &Ready {
        &self.recipe
    }

    /// What was made of a state before.
    pub fn built(&self, version: &Version) -> Option<Built> {
        let kept = self.kept(version);
        let path = match &self.recipe.product {
            Product::Library(library) => kept.join(library.file_name()?),
            Product::Server => kept.clone(),
        };
        let version = fs::read_to_string(kept.join(VERSION)).ok();
        path.exists().then(|| Built { path, log: kept.join(LOG), version })
    }

    /// What is made of a state, if it is not there yet. `tell` is told what takes long.
    ///
    /// # Errors
    /// The build failed or did not make what it should: the state cannot be measured. git or the system refused: none can.
    pub fn build(
        &self,
        version: &Version,
        tell: &mut dyn FnMut(&str),
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Built, BuildError> {
        if let Some(built) = self.built(version) {
            return Ok(built);
        }
        let is_apart = self.recipe.debug_info == DebugInfo::Apart;
        if is_apart {
            debug_info::check_host()?;
        }
        let _lock = self.lock(tell, interrupted)?;
        // Another process may have built it meanwhile.
        if let Some(built) = self.built(version) {
            return Ok(built);
        }
        let checkout = self.workshop.join("checkout");
        self.source.check_out(version, &checkout, &self.workshop, interrupted)?;
        let build = if self.recipe.in_source { checkout.clone() } else { self.workshop.join("build") };
        match &self.recipe.pgo {
            Some(pgo) => self.make_trained(pgo, version, &checkout, &build, tell, interrupted)?,
            None => {
                let was_used = build.join(CONFIGURED).exists();
                match self.make(&checkout, &build, None, tell, interrupted) {
                    // One that hangs would only take as long again.
                    Err(BuildError::BuildFailed { source: ToolError::Failed { .. }, .. }) if was_used => {
                        tell(
                            "the build failed beside what earlier ones had left: it is made again from nothing",
                        );
                        self.empty(version, &checkout, &build, interrupted)?;
                        self.make(&checkout, &build, None, tell, interrupted)?;
                    }
                    made => made?,
                }
            }
        }
        let fresh = self.made(&build)?;
        if is_apart {
            debug_info::put_apart(&fresh, &self.workshop, interrupted)?;
        }
        self.keep(version, &checkout, &fresh)?;
        self.built(version).ok_or_else(|| BuildError::NothingMade { path: self.kept(version) })
    }

    /// The right to build here, held until dropped.
    fn lock(
        &self,
        tell: &mut dyn FnMut(&str),
        interrupted: &dyn Fn() -> bool,
    ) -> Result<FileLock, BuildError> {
        let path = self.workshop.join("lock");
        let open = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let file = open.map_err(io_error("write", &path))?;
        let timeout = Nanos(self.timeout.0.saturating_mul(MOST_BUILDS_WAITED_FOR));
        let mut waiting = || tell("another process builds the same: waiting for it");
        FileLock::acquire(file, timeout, interrupted, &mut waiting).map_err(|why| match why {
            NotLocked::Failed(error) => io_error("lock", &path)(error),
            NotLocked::Interrupted => BuildError::Interrupted,
            NotLocked::TimedOut => BuildError::StillLocked { path },
        })
    }

    /// Builds twice, each time from nothing, for all code has other flags: what records, and with what that has recorded of a workload.
    fn make_trained(
        &self,
        pgo: &Pgo,
        version: &Version,
        checkout: &Path,
        build: &Path,
        tell: &mut dyn FnMut(&str),
        interrupted: &dyn Fn() -> bool,
    ) -> Result<(), BuildError> {
        let profile = self.workshop.join("profile");
        let stage = |phase| Some(Stage { pgo, phase, profile: &profile });
        self.empty(version, checkout, build, interrupted)?;
        self.make(checkout, build, stage(Phase::Record), tell, interrupted)?;
        let made = self.made(build)?;
        tell("training it for profile-guided optimisation");
        let training = Training {
            product: &self.recipe.product,
            made: &made,
            profile: &profile,
            workshop: &self.workshop,
            timeout: self.timeout,
        };
        pgo.train(&training, interrupted)?;
        tell("building it again with the profile");
        self.empty(version, checkout, build, interrupted)?;
        self.make(checkout, build, stage(Phase::Use), tell, interrupted)
    }

    /// Configures, builds, installs: one run of the shell, whose output is the log.
    fn make(
        &self,
        checkout: &Path,
        build: &Path,
        stage_of_pgo: Option<Stage<'_>>,
        tell: &mut dyn FnMut(&str),
        interrupted: &dyn Fn() -> bool,
    ) -> Result<(), BuildError> {
        fs::create_dir_all(build).map_err(io_error("create", build))?;
        for (name, text) in &self.recipe.files {
            let path = build.join(name);
            // One that is as it should be keeps its time: make would build all again.
            if fs::read_to_string(&path).is_ok_and(|found| found == *text) {
                continue;
            }
            fs::write(&path, text).map_err(io_error("write", &path))?;
        }
        if let Product::Library(library) = &self.recipe.product {
            remove_file(&build.join(library))?; // of another state
        }
        let stage = self.stage();
        remove_tree(&stage)?;
        let jobs = thread::available_parallelism().map_or(1, usize::from);
        let mut environment: BTreeMap<String, String> = self.recipe.environment.clone();
        let shown = |path: &Path| path.display().to_string();
        environment.extend(
            [
                ("source", shown(checkout)),
                ("build", shown(build)),
                ("stage", shown(&stage)),
                ("prefix", PREFIX.to_owned()),
                ("jobs", jobs.to_string()),
            ]
            .map(|(name, value)| (name.to_owned(), value)),
        );
        let mut wanted = self.recipe.ccache;
        if let Some(stage) = stage_of_pgo {
            stage.add_to(&mut environment);
            // It would have to know what is in a profile.
            wanted = UseOfCcache::No;
        }
        let ccache = ccache::prepare(&self.workshop, wanted, &mut environment)?;
        let arguments = ["-c".to_owned(), self.script()];
        let log = self.workshop.join(LOG);
        let tool = Tool {
            program: Path::new("/bin/sh"),
            arguments: &arguments,
            directory: build,
            output: &log,
            timeout: self.timeout,
            without: &FOREIGN_VARIABLES,
            with: &environment,
        };
        tool::run(&tool, |_| Ok(()), &mut || interrupted()).map_err(|source| match source {
            ToolError::Interrupted => BuildError::Interrupted,
            source => BuildError::BuildFailed { log: log.clone(), source },
        })?;
        if let Some(told) = ccache.as_ref().and_then(Ccache::told) {
            tell(&told);
            let appended = OpenOptions::new().append(true).open(&log);
            appended.and_then(|mut file| writeln!(file, "{told}")).map_err(io_error("write", &log))?;
        }
        Ok(())
    }

    /// Each command in a shell of its own: what fails in the middle of `a && b` ends such a shell, and would not end the script.
    fn script(&self) -> String {
        // If dbdyno is root, servers run as another user, who must be able to read what is installed. With a umask of 077 that user could not.
        let mut script = String::from("umask 022\nset -e\n");
        // A build directory that is configured stays so; one whose configuring failed does not count.
        let configure = self.recipe.configure.as_deref().unwrap_or(":");
        let _ = writeln!(script, "if [ ! -e {CONFIGURED} ]; then\n(\n{configure}\n)\ntouch {CONFIGURED}\nfi");
        for command in [Some(&self.recipe.build), self.recipe.install.as_ref()].into_iter().flatten() {
            let _ = writeln!(script, "(\n{command}\n)");
        }
        script
    }

    /// Removes what earlier builds left.
    fn empty(
        &self,
        version: &Version,
        checkout: &Path,
        build: &Path,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<(), BuildError> {
        remove_tree(build)?;
        if build == checkout {
            self.source.check_out(version, checkout, &self.workshop, interrupted)?;
        }
        Ok(())
    }

    /// A directory with what was made.
    fn made(&self, build: &Path) -> Result<PathBuf, BuildError> {
        let fresh = self.workshop.join("kept.new");
        remove_tree(&fresh)?;
        match &self.recipe.product {
            Product::Library(library) => {
                let made = build.join(library);
                if !made.is_file() {
                    return Err(BuildError::NothingMade { path: library.clone() });
                }
                fs::create_dir(&fresh).map_err(io_error("create", &fresh))?;
                let to = fresh.join(library.file_name().unwrap_or(library.as_os_str()));
                fs::copy(&made, &to).map_err(io_error("copy", &made))?;
            }
            Product::Server => {
                let installed = self.stage().join(PREFIX.trim_start_matches('/'));
                if !installed.is_dir() {
                    return Err(BuildError::NothingMade { path: installed });
                }
                fs::rename(&installed, &fresh).map_err(io_error("rename", &installed))?;
                remove_tree(&self.stage())?;
            }
        }
        Ok(fresh)
    }

    /// Puts what was made where it is kept, in one step: a reader sees all of it or nothing.
    fn keep(&self, version: &Version, checkout: &Path, fresh: &Path) -> Result<(), BuildError> {
        let log = self.workshop.join(LOG);
        fs::rename(&log, fresh.join(LOG)).map_err(io_error("rename", &log))?;
        let of_tree = self
            .recipe
            .version
            .as_ref()
            .and_then(|place| place.read(&fs::read_to_string(checkout.join(&place.file)).ok()?));
        if let Some(of_tree) = of_tree {
            let path = fresh.join(VERSION);
            fs::write(&path, of_tree).map_err(io_error("write", &path))?;
        }
        let kept = self.kept(version);
        let above = kept.parent().unwrap_or(&self.workshop);
        passable::create_dir_all(above).map_err(io_error("create", above))?;
        remove_tree(&kept)?;
        // What has that name is taken for whole: after a power cut too.
        disk::sync_file_system(fresh)
            .and_then(|()| fs::rename(fresh, &kept))
            .and_then(|()| disk::sync_directory(above))
            .map_err(io_error("rename", fresh))
    }

    fn stage(&self) -> PathBuf {
        self.workshop.join("stage")
    }

    fn kept(&self, version: &Version) -> PathBuf {
        self.workshop.join("kept").join(&version.id)
    }
}
