//! The cache of builds below the work directory: `engines/ENGINE/VERSION/{library.so, build.json}`, a server's as
//! `{files/, build.json}`, one's own builds as a record without either.

use super::catalog::EngineCatalog;
use super::code::{self, Looked};
use super::error::EngineError;
use super::fetch::{self, Fetch, FetchLock, Programs};
use super::file::EngineSource;
use super::loader;
use super::own;
use super::record::{self, BuildRecord, JarRecord, PackageRecord, SCHEMA};
use super::repository::Repository;
use super::sha256;
use crate::marked_dir::{check_below, create_marked_dir, create_marked_dir_below};
use crate::server::elsewhere::read_password;
use model::build::{BuildProbe, BuildSource, EngineBuild, Made};
use model::elsewhere::ServerElsewhere;
use model::subject::{BuildRef, compare_versions};
use model::units::Bytes;
use std::fs;
use std::io;
use std::path::{self, Path, PathBuf};

/// The directory of the cache in the work directory.
const ENGINES_DIRECTORY: &str = "engines";

/// The engine of an own build whose name does not say.
const DEFAULT_ENGINE: &str = "rocksdb";

/// Builds below a work directory.
#[derive(Debug, Clone)]
pub struct BuildCache {
    /// The work directory, absolute: its paths go to processes that stand elsewhere.
    root: PathBuf,
    /// Programs that fetch: those of the search path unless set.
    pub programs: Programs,
    /// The CPU that builds must be for, as `std::env::consts::ARCH` spells it; this machine's unless set.
    pub arch: String,
}

/// What is in a cache.
#[derive(Debug, Default)]
pub struct CachedBuilds {
    /// Builds by engine and version; their libraries were not read.
    pub builds: Vec<EngineBuild>,
    /// Records that could not be read.
    pub problems: Vec<EngineError>,
}

impl BuildCache {
    /// The cache below a work directory, which need not be there yet.
    pub fn new(root: &Path) -> BuildCache {
        BuildCache {
            // Fails for an empty path only, which the first attempt to write below it reports.
            root: path::absolute(root).unwrap_or_else(|_| root.to_owned()),
            programs: Programs::default(),
            arch: std::env::consts::ARCH.to_owned(),
        }
    }

    /// The build, if it is here: fetched before, or made known by [`BuildCache::add`]. Its library is read
    /// and its checksum compared. A fetched one that differs is an error; one's own was rebuilt, which is
    /// told to `notice` and noted as a new build that was never probed.
    pub fn resolve(
        &self,
        catalog: &EngineCatalog,
        build: &BuildRef,
        notice: &mut dyn FnMut(&str),
    ) -> Result<Option<EngineBuild>, EngineError> {
        let release = catalog.release(build)?;
        if let (EngineSource::Program(program), Some(_)) = (catalog.source(&build.engine)?, release) {
            return own::installed(build, program, &self.arch).map(Some);
        }
        let again = match release {
            Some(_) => format!("fetch {build}"),
            None => format!("add {build} PATH"),
        };
        let directory = self.directory(build);
        let record = self.record(build, &again)?;
        match (record, release) {
            (None, Some(_)) => Ok(None),
            (None, None) => Err(catalog.unknown_release(build, &self.own_names(&build.engine))),
            (Some(record), release) => match &record.source {
                BuildSource::Published { coordinates } => {
                    let listed = catalog.listed_sha256(build, &self.arch)?;
                    if let (Some(jar), Some(listed)) = (&record.jar, listed)
                        && jar.sha256 != listed
                    {
                        // Fetched before the checksum was listed.
                        return Err(EngineError::OtherArchive {
                            build: build.clone(),
                            coordinates: coordinates.as_str().into(),
                            found: jar.sha256.as_str().into(),
                            listed: listed.into(),
                            again: "`dbdyno engine fetch` fetches it again",
                        });
                    }
                    checked(record, &directory, notice).map(Some)
                }
                BuildSource::Own { .. } | BuildSource::Installed { .. } | BuildSource::Elsewhere { .. }
                    if release.is_some() =>
                {
                    Err(EngineError::OwnBuildHidesRelease {
                        build: build.clone(),
                        own: record.shown_source(),
                        directory,
                    })
                }
                BuildSource::Elsewhere { .. } => Ok(Some(record.into_build(&directory))),
                BuildSource::Own { path } | BuildSource::Installed { path } => {
                    let path = path.clone();
                    self.resolve_own(catalog, record, &path, notice).map(Some)
                }
            },
        }
    }

    /// Whether there is a release or an own build of this name; an error that offers the nearest where not. Nothing
    /// of it is read or fetched.
    pub fn knows(&self, catalog: &EngineCatalog, build: &BuildRef) -> Result<(), EngineError> {
        let own = self.own_names(&build.engine);
        match catalog.release(build)? {
            None if !own.contains(&build.version) => Err(catalog.unknown_release(build, &own)),
            Some(_) | None => Ok(()),
        }
    }

    /// The build, fetched if it is not here or not as it was; `progress` is told what is going on.
    pub fn fetch(
        &self,
        catalog: &EngineCatalog,
        build: &BuildRef,
        progress: &mut dyn FnMut(&str),
    ) -> Result<EngineBuild, EngineError> {
        if let Some(found) = self.resolve_or_discard(catalog, build, progress)? {
            return Ok(found);
        }
        let engine_directory = create_marked_dir_below(&self.root, &[ENGINES_DIRECTORY, &build.engine])?;
        fetch::sweep(&engine_directory);
        let lock = FetchLock::acquire(&engine_directory, build, self.programs.lock_bound(), progress)?;
        // Another process may have fetched it while this one waited.
        if let Some(found) = self.resolve_or_discard(catalog, build, progress)? {
            return Ok(found);
        }
        let fetch = Fetch {
            build,
            source: catalog.source(&build.engine)?,
            arch: &self.arch,
            programs: &self.programs,
            listed_sha256: catalog.listed_sha256(build, &self.arch)?,
            engines: &self.root.join(ENGINES_DIRECTORY),
            engine_directory: &engine_directory,
        };
        fetch.run(&lock, progress)?;
        let fetched = self.resolve(catalog, build, progress)?;
        fetched.ok_or_else(|| catalog.unknown_release(build, &[]))
    }

    /// Makes one's own build known: `path` is a library or a build directory that holds exactly one; for a server
    /// its install prefix. `name` is `NAME` (of the engine rocksdb) or `ENGINE@NAME`. All stays where it is. A name that is in
    /// use for another own build is given to this one.
    pub fn add(&self, catalog: &EngineCatalog, name: &str, path: &Path) -> Result<EngineBuild, EngineError> {
        self.add_made(catalog, name, path, None)
    }

    /// The same of a build that `engine build` made, and how.
    pub fn add_made(
        &self,
        catalog: &EngineCatalog,
        name: &str,
        path: &Path,
        made: Option<Made>,
    ) -> Result<EngineBuild, EngineError> {
        let build = own_reference(catalog, name, DEFAULT_ENGINE)?;
        let path = path::absolute(path).map_err(EngineError::io("read", path))?;
        let source = catalog.source(&build.engine)?;
        let record = own::record_of(&build, &path, source, &self.arch, made.map(Box::new))?;
        // What was found out about the very same binary stays.
        let earlier = self.record(&build, "").ok().flatten();
        let probe = earlier.filter(|earlier| earlier.sha256 == record.sha256).and_then(|same| same.probe);
        self.keep(record.with_probe(probe))
    }

    /// Whether a build of one's own can have this name, `ENGINE@NAME`: before minutes are spent on making it.
    ///
    /// # Errors
    /// A published release has it, or it cannot be a directory's.
    pub fn check_own_name(catalog: &EngineCatalog, name: &str) -> Result<(), EngineError> {
        own_reference(catalog, name, DEFAULT_ENGINE).map(|_| ())
    }

    /// Makes a server known that runs already and is not ours; nobody connects to it yet. `name` is `NAME` (of the
    /// engine `postgres` or `mysql`, as its address says) or `ENGINE@NAME`.
    pub fn add_elsewhere(
        &self,
        catalog: &EngineCatalog,
        name: &str,
        server: ServerElsewhere,
    ) -> Result<EngineBuild, EngineError> {
        let build = own_reference(catalog, name, server.dialect.name())?;
        let layout = match catalog.source(&build.engine)? {
            EngineSource::Server(source) if source.layout.dialect == server.dialect => &source.layout,
            EngineSource::Server(_) | EngineSource::Library(_) | EngineSource::Program(_) => {
                return Err(EngineError::OtherDialect { build, dialect: server.dialect.name() });
            }
        };
        let absolute = |path: &Option<PathBuf>| {
            let absolute = |path| path::absolute(path).map_err(EngineError::io("read", path));
            path.as_deref().map(absolute).transpose()
        };
        if let Some(path) = &server.password_file {
            read_password(path)?;
        }
        if let Some(path) = &server.tls_ca {
            fs::File::open(path).map_err(EngineError::io("open", path))?;
        }
        let (password_file, tls_ca) = (absolute(&server.password_file)?, absolute(&server.tls_ca)?);
        let storage = layout.storage.clone();
        let server = ServerElsewhere { storage, password_file, tls_ca, ..server };
        self.keep(BuildRecord {
            schema: SCHEMA,
            reference: build,
            library: PathBuf::new(),
            sha256: String::new(),
            size: Bytes(0),
            server: None,
            loader: None,
            source: BuildSource::Elsewhere { server, statements_of_others: None },
            compilers: Vec::new(),
            jar: None,
            packages: Vec::new(),
            code: None,
            probe: None,
            made: None,
        })
    }

    /// The repository of an engine; none if nobody made one known.
    pub fn repository(&self, engine: &str) -> Result<Option<Repository>, EngineError> {
        check_below(&self.root, &[ENGINES_DIRECTORY, engine])?;
        Repository::read(&self.root.join(ENGINES_DIRECTORY).join(engine))
    }

    /// Makes the repository of an engine known, in place of an earlier one.
    pub fn add_repository(
        &self,
        catalog: &EngineCatalog,
        engine: &str,
        repository: &Repository,
    ) -> Result<(), EngineError> {
        catalog.source(engine)?;
        repository.write(&create_marked_dir_below(&self.root, &[ENGINES_DIRECTORY, engine])?)
    }

    /// Writes the record of an own build or a server elsewhere.
    fn keep(&self, record: BuildRecord) -> Result<EngineBuild, EngineError> {
        let BuildRef { engine, version } = &record.reference;
        let directory = create_marked_dir_below(&self.root, &[ENGINES_DIRECTORY, engine])?.join(version);
        create_marked_dir(&directory)?;
        record.write(&directory)?;
        Ok(record.into_build(&directory))
    }

    /// Notes what `build` said of itself, unless the cache has another binary under its name by now.
    pub fn record_probe(&self, build: &EngineBuild, probe: BuildProbe) -> Result<(), EngineError> {
        let directory = self.directory(&build.reference);
        let again = format!("fetch {}", build.reference);
        match self.record(&build.reference, &again)? {
            Some(record) if record.sha256 == build.sha256 => record.with_probe(Some(probe)).write(&directory),
            Some(_) | None => Err(EngineError::ProbeOfAnother { build: build.reference.clone() }),
        }
    }

    /// All builds that are here; their libraries are not read, so a damaged one shows when it is resolved.
    pub fn list(&self, catalog: &EngineCatalog) -> Result<CachedBuilds, EngineError> {
        let mut cached = CachedBuilds::default();
        check_below(&self.root, &[ENGINES_DIRECTORY])?;
        for engine in catalog.engines() {
            for version in self.versions(engine)? {
                let build = BuildRef { engine: engine.to_owned(), version };
                let directory = self.directory(&build);
                match self.record(&build, &format!("fetch {build}")) {
                    Ok(Some(record)) => cached.builds.push(record.into_build(&directory)),
                    Ok(None) => {}
                    Err(problem) => cached.problems.push(problem),
                }
            }
        }
        Ok(cached)
    }

    /// The jar that a build was fetched in; none for one's own builds and those that are not here.
    pub fn jar(&self, build: &BuildRef) -> Result<Option<JarRecord>, EngineError> {
        let record = self.record(build, &format!("fetch {build}"))?;
        Ok(record.and_then(|record| record.jar))
    }

    /// The Debian packages that a build was fetched in, its C library among them; empty for all others.
    pub fn packages(&self, build: &BuildRef) -> Result<Vec<PackageRecord>, EngineError> {
        let record = self.record(build, &format!("fetch {build}"))?;
        Ok(record.map(|record| record.packages).unwrap_or_default())
    }

    /// As [`BuildCache::resolve`], but what cannot be used is as good as none: it is fetched again.
    fn resolve_or_discard(
        &self,
        catalog: &EngineCatalog,
        build: &BuildRef,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Option<EngineBuild>, EngineError> {
        match self.resolve(catalog, build, progress) {
            Err(
                damage @ (EngineError::WrongChecksum { .. }
                | EngineError::OtherArchive { .. }
                | EngineError::RecordDamaged { .. }),
            ) if catalog.release(build)?.is_some() => {
                progress(&format!("{build}: {damage}"));
                Ok(None)
            }
            other => other,
        }
    }

    fn resolve_own(
        &self,
        catalog: &EngineCatalog,
        record: BuildRecord,
        path: &Path,
        notice: &mut dyn FnMut(&str),
    ) -> Result<EngineBuild, EngineError> {
        let build = record.reference.clone();
        let directory = self.directory(&build);
        let source = catalog.source(&build.engine)?;
        let made = record.made.clone();
        let now = own::record_of(&build, path, source, &self.arch, made).map_err(|error| match error {
            EngineError::NoSuchPath { path }
            | EngineError::NoLibraryInDirectory { path, .. }
            | EngineError::NotAServer { root: path, .. } => {
                EngineError::OwnBuildGone { build: build.clone(), path }
            }
            other => other,
        })?;
        if now.sha256 == record.sha256 && now.library == record.library {
            return Ok(record.into_build(&directory));
        }
        if now.sha256 != record.sha256 {
            notice(&format!(
                "{build}: `{}` was rebuilt (SHA-256 {:.12} was {:.12}); it counts as a new build",
                now.library.display(),
                now.sha256,
                record.sha256
            ));
        }
        let probe = record.probe.filter(|_| now.sha256 == record.sha256);
        let now = now.with_probe(probe);
        now.write(&directory)?;
        Ok(now.into_build(&directory))
    }

    /// The record of a build, if it has one, and if no other user could have written it.
    fn record(&self, build: &BuildRef, again: &str) -> Result<Option<BuildRecord>, EngineError> {
        let BuildRef { engine, version } = build;
        if !is_directory_name(engine) || !is_directory_name(version) {
            return Ok(None);
        }
        check_below(&self.root, &[ENGINES_DIRECTORY, engine, version])?;
        BuildRecord::read(&self.directory(build), again)
    }

    fn directory(&self, build: &BuildRef) -> PathBuf {
        self.root.join(ENGINES_DIRECTORY).join(&build.engine).join(&build.version)
    }

    /// Names of the directories of an engine's builds, in the order of releases.
    fn versions(&self, engine: &str) -> Result<Vec<String>, EngineError> {
        let directory = self.root.join(ENGINES_DIRECTORY).join(engine);
        let read = EngineError::io("read", &directory);
        let entries = match fs::read_dir(&directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(read(error)),
        };
        let mut versions = Vec::new();
        for entry in entries {
            let entry = entry.map_err(&read)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if is_directory_name(&name) && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                versions.push(name);
            }
        }
        versions.sort_by(|left, right| compare_versions(left, right));
        Ok(versions)
    }

    /// Names to offer beside the published ones; what cannot be read is not offered.
    fn own_names(&self, engine: &str) -> Vec<String> {
        self.versions(engine).unwrap_or_default()
    }
}

/// The build of a record whose library, or all code where it is a server, has the checksums that were recorded. Where it is
/// started through a copy, that copy is there afterwards.
fn checked(
    record: BuildRecord,
    directory: &Path,
    notice: &mut dyn FnMut(&str),
) -> Result<EngineBuild, EngineError> {
    let path = directory.join(&record.library);
    let found = match sha256::of_file(&path) {
        Ok((found, _)) => found,
        Err(EngineError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            "none, it is gone".to_owned()
        }
        Err(error) => return Err(error),
    };
    if found != record.sha256 {
        return Err(EngineError::WrongChecksum {
            build: record.reference,
            path,
            found,
            recorded: record.sha256,
        });
    }
    let record = with_code(record, directory, notice)?;
    if let Some(loader) = &record.loader {
        loader::ensure_copy(&record.library, loader, directory)?;
    }
    Ok(record.into_build(directory))
}

/// The record of a fetched server whose code is what was noted of it, brought up to date where need be. Where that cannot be
/// written, as in a cache that is mounted read-only, it only takes longer the next time.
fn with_code(
    record: BuildRecord,
    directory: &Path,
    notice: &mut dyn FnMut(&str),
) -> Result<BuildRecord, EngineError> {
    let Some(server) = record.server.clone() else { return Ok(record) };
    let (server, program) = (record::below(server, directory), directory.join(&record.library));
    let code = match &record.code {
        Some(noted) => match code::look(&record.reference, directory, &program, &server, noted)? {
            Looked::Untouched => return Ok(record),
            Looked::Restamped(code) => code,
        },
        None => {
            let code = code::noted(directory, &program, &server)?;
            notice(&format!(
                "{}: it was fetched by an earlier dbdyno, which took the checksum of its program alone; those of all its {} files \
                 with code are noted from now on (`dbdyno engine fetch` after deleting `{}` makes sure that they are what is \
                 published)",
                record.reference,
                code.len(),
                directory.display()
            ));
            code
        }
    };
    let record = BuildRecord { code: Some(code), ..record };
    let _ = record.write(directory);
    Ok(record)
}

/// The reference of a name that a user gives: one that no release has, and that can be a directory's.
fn own_reference(catalog: &EngineCatalog, name: &str, engine: &str) -> Result<BuildRef, EngineError> {
    let bad_name = |why: &str| EngineError::BadName { name: name.to_owned(), why: why.to_owned() };
    let written = if name.contains('@') { name.to_owned() } else { format!("{engine}@{name}") };
    let build: BuildRef = written
        .parse()
        .map_err(|_| bad_name("write it with letters, digits, `.`, `-` and `_` only, like `my-8.7.3`"))?;
    if build.commit().is_some() {
        return Err(bad_name(
            "`git:` is a commit of the engine's repository (`engine add ENGINE --git DIR`)",
        ));
    }
    if catalog.release(&build)?.is_some() {
        return Err(bad_name(&format!(
            "{build} is a published release; take another one, like `my-{}`",
            build.version
        )));
    }
    if !is_directory_name(&build.version) {
        return Err(bad_name("it begins with a dot or a dash; begin with a letter or a digit"));
    }
    Ok(build)
}

/// Whether a name can be that of a build's directory: those that begin with a dot are `..` or our own
/// scratch, those with a dash would read as options, and a commit (`git:origin/main`) is built under another name.
fn is_directory_name(name: &str) -> bool {
    !name.starts_with(['.', '-']) && !name.contains([':', '/'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::catalog::CatalogFiles;

    #[test]
    fn a_relative_work_directory_gives_absolute_libraries() {
        let cache = BuildCache::new(Path::new("work"));
        let build = BuildRef { engine: "rocksdb".to_owned(), version: "8.5.4".to_owned() };
        let here = std::env::current_dir().unwrap();
        assert_eq!(cache.directory(&build), here.join("work/engines/rocksdb/8.5.4"));
    }

    #[test]
    fn names_are_known_without_fetching() {
        let file = include_str!("../../../../engines/rocksdb.toml");
        let files = CatalogFiles { engines: &[("engines/rocksdb.toml", file)], configs: &[] };
        let catalog = EngineCatalog::parse(files).unwrap();
        let cache = BuildCache::new(Path::new("nowhere"));
        let knows = |version: &str| {
            cache.knows(&catalog, &BuildRef { engine: "rocksdb".to_owned(), version: version.to_owned() })
        };
        knows("8.5.4").unwrap();
        let unknown = knows("8.5.44").unwrap_err();
        assert!(unknown.is_usage() && unknown.to_string().contains("8.5.4"), "{unknown}");
    }
}
