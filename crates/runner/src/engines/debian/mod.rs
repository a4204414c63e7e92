//! Builds that come as packages of Debian, of whatever suite: fetched by the host's apt with a configuration, lists
//! and state of our own, so that the host's are untouched and an ordinary user can do it.
//!
//! The packages come with all that they depend on, the C library too, on every host: a build is then the same
//! wherever it is fetched, and no package has to be installed for it.
//!
//! That they are Debian's is apt's to verify: the lists by the signature of the suite, with the keys that every Debian has, the
//! packages by the SHA-256 in the lists. So engine files list no checksums of them.

mod apt;
mod archives;
mod mirror;

pub(super) use archives::{Archive, Archives};

use super::client::{self, Client, Failure, Reason};
use super::error::EngineError;
use super::fetch::{FetchLock, Programs};
use super::file::{DebianNeeds, DebianPackages};
use crate::marked_dir::create_marked_dir_below;
use apt::PrivateApt;
use mirror::Mirror;
use model::subject::BuildRef;
use std::fs;
use std::path::{Path, PathBuf};

/// What to fetch.
pub(super) struct Request {
    /// Where the packages are: `bookworm`, `bookworm-security`.
    suites: Vec<String>,
    /// `name=version`, with all that they depend on.
    closed: Vec<String>,
    /// `name` of the same, any version.
    closed_any: Vec<String>,
    /// `name=version` or `name`, without what they depend on.
    alone: Vec<String>,
}

/// What fetching needs.
pub(super) struct Debian<'a> {
    /// What it is for.
    pub build: &'a BuildRef,
    /// The CPU, as `std::env::consts::ARCH` spells it.
    pub arch: &'a str,
    /// The clients, and the host's configuration of apt.
    pub programs: &'a Programs,
    /// The cache, where archives and lists are kept.
    pub engines: &'a Path,
    pub scratch: &'a Path,
}

/// What Debian calls a CPU.
pub(super) struct Cpu {
    /// `amd64`
    name: &'static str,
    /// The directory of libraries: `x86_64-linux-gnu`.
    triplet: &'static str,
    loader: &'static str,
}

impl Cpu {
    /// Debian's names for a CPU as `std::env::consts::ARCH` spells it.
    pub(super) fn of(arch: &str) -> Option<Cpu> {
        let cpu = |name, triplet, loader| Some(Cpu { name, triplet, loader });
        match arch {
            "x86_64" => cpu("amd64", "x86_64-linux-gnu", "ld-linux-x86-64.so.2"),
            "aarch64" => cpu("arm64", "aarch64-linux-gnu", "ld-linux-aarch64.so.1"),
            _ => None,
        }
    }

    /// Directories of libraries below the root of packages.
    pub(super) fn libraries(&self) -> [PathBuf; 2] {
        ["lib", "usr/lib"].map(|directory| Path::new(directory).join(self.triplet))
    }

    /// The dynamic loader below the root `root` of packages, if it is there.
    pub(super) fn loader(&self, root: &Path) -> Option<PathBuf> {
        // Not lib64/..: that is a link to an absolute path, which is the host's.
        self.libraries().map(|directory| directory.join(self.loader)).into_iter().find(|loader| {
            let path = root.join(loader);
            fs::canonicalize(&path).is_ok_and(|target| target.is_file())
        })
    }
}

impl Request {
    /// The packages of a server.
    pub(super) fn of_server(packages: &DebianPackages, version: &str) -> Request {
        let exact = |names: &[String]| names.iter().map(|name| format!("{name}={version}")).collect();
        Request {
            suites: packages.suites.clone(),
            closed: exact(&packages.packages),
            closed_any: packages.libraries.clone(),
            alone: exact(&packages.alone),
        }
    }

    /// Libraries that a server lacks.
    pub(super) fn of_needs(needs: &DebianNeeds) -> Request {
        Request {
            suites: needs.suites.clone(),
            closed: Vec::new(),
            closed_any: Vec::new(),
            alone: needs.packages.clone(),
        }
    }

    /// `deb:bookworm/mariadb-server-core=1:10.11.19-0+deb12u1,..`
    pub(super) fn coordinates(&self) -> String {
        let all: Vec<&str> =
            [&self.closed, &self.alone, &self.closed_any].into_iter().flatten().map(String::as_str).collect();
        format!("deb:{}/{}", self.suites.first().map_or("", String::as_str), all.join(","))
    }
}

impl Debian<'_> {
    /// The archives of a request: those that were kept, else fetched and kept.
    pub(super) fn archives(
        &self,
        request: &Request,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Vec<Archive>, EngineError> {
        let coordinates = request.coordinates();
        let archives = Archives::new(self.engines, self.arch)?;
        if let Some(kept) = archives.kept(&coordinates)? {
            progress(&format!("{}: taking {coordinates} from the archives that were kept", self.build));
            return Ok(kept);
        }
        let cpu = Cpu::of(self.arch).ok_or_else(|| EngineError::ReleaseNotForThisCpu {
            build: self.build.clone(),
            arch: self.arch.to_owned(),
        })?;
        let mirror = Mirror::of_host(&self.programs.apt_configuration)?.ok_or_else(|| {
            EngineError::NoDebianMirror {
                build: self.build.clone(),
                directory: self.programs.apt_configuration.clone(),
            }
        })?;
        let first_suite = request.suites.first().map_or("none", String::as_str);
        let state = create_marked_dir_below(self.engines, &[".apt", &format!("{first_suite}-{}", cpu.name)])?;
        let _lock =
            FetchLock::acquire_file(&state.join("lock"), self.build, self.programs.lock_bound(), progress)?;
        let apt = PrivateApt::new(&state, &mirror, &request.suites, cpu.name)?;
        let debs = self.scratch.join("debs");
        apt.ready_archives(&debs)?;

        progress(&format!("{}: reading the package lists of Debian {first_suite}", self.build));
        self.apt(&apt.update(), &coordinates, &archives)?;
        progress(&format!("{}: fetching {coordinates}", self.build));
        if !request.closed.is_empty() || !request.closed_any.is_empty() {
            let packages = request.closed.iter().chain(&request.closed_any);
            self.apt(&apt.download_closed(packages, &debs), &coordinates, &archives)?;
        }
        if !request.alone.is_empty() {
            self.apt_in(&apt.download_alone(&request.alone), &debs, &coordinates, &archives)?;
        }
        archives.keep(&coordinates, &client::files_ending(&debs, ".deb")?)
    }

    /// Unpacks archives below a directory.
    pub(super) fn unpack(&self, archives: &[Archive], to: &Path) -> Result<(), EngineError> {
        let dpkg = self.programs.runner(Client::Dpkg);
        for archive in archives {
            let path = archive.path.display().to_string();
            let arguments = ["-x".to_owned(), path, to.display().to_string()];
            let ended = dpkg.run(self.build, &arguments, self.scratch)?;
            if ended.status.success() {
                continue;
            }
            let reason = match ended.said.contains("No space left on device") {
                true => Reason::DiskFull,
                false => Reason::Other,
            };
            let message = client::or_silent(apt::message(&ended.said), ended.status);
            return Err(
                dpkg.failed(self.build, Failure { reason, message, arguments: &arguments, directory: to })
            );
        }
        Ok(())
    }

    fn apt(&self, arguments: &[String], coordinates: &str, archives: &Archives) -> Result<(), EngineError> {
        self.apt_in(arguments, self.scratch, coordinates, archives)
    }

    fn apt_in(
        &self,
        arguments: &[String],
        directory: &Path,
        coordinates: &str,
        archives: &Archives,
    ) -> Result<(), EngineError> {
        let apt = self.programs.runner(Client::Apt);
        let ended = apt.run(self.build, arguments, directory)?;
        if ended.status.success() {
            return Ok(());
        }
        let message = client::or_silent(apt::message(&ended.said), ended.status);
        Err(match apt::reason(&ended.said) {
            Reason::NotThere => EngineError::LeftMirror {
                build: self.build.clone(),
                coordinates: coordinates.into(),
                message: message.into(),
                archives: archives.directory().to_owned(),
            },
            reason => apt.failed(self.build, Failure { reason, message, arguments, directory }),
        })
    }
}
