//! Which engines, releases and configurations there are: read from TOML texts that the caller gives, those
//! built in first, the user's own laid over them. Nothing in here reads a file.

use super::error::EngineError;
use super::file::{Checksums, EngineFile, EngineSource};
use model::config::{self, EngineConfig};
use model::names;
use model::subject::{BuildRef, compare_versions};
use model::workload::sql::Dialect;
use std::collections::BTreeMap;

/// Texts of engine files (`engines/*.toml`) and configuration files (`configs/*.toml`), each with the origin
/// that names it in errors, in the order in which they are laid over one another.
#[derive(Debug, Clone, Copy)]
pub struct CatalogFiles<'a> {
    /// A later file of the same engine takes the place of the earlier one.
    pub engines: &'a [(&'a str, &'a str)],
    /// A later configuration of the same engine and name takes the place of the earlier one.
    pub configs: &'a [(&'a str, &'a str)],
}

/// The engines that can be measured.
#[derive(Debug, Clone)]
pub struct EngineCatalog {
    engines: BTreeMap<String, Engine>,
}

#[derive(Debug, Clone)]
struct Engine {
    family: String,
    source: EngineSource,
    releases: Vec<Release>,
    checksums: Checksums,
    configs: Vec<EngineConfig>,
}

/// A published release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    /// `8.7.3`
    pub version: String,
    /// Whether it is known to work.
    pub status: ReleaseStatus,
    /// Whether the end-to-end tests run on it.
    pub in_ci: bool,
}

/// What is known of a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReleaseStatus {
    /// It was loaded and ran the workloads.
    Tried,
    /// It is published, no more is known.
    Untried,
}

impl EngineCatalog {
    /// Reads all files.
    pub fn parse(files: CatalogFiles<'_>) -> Result<EngineCatalog, EngineError> {
        let mut engines = BTreeMap::new();
        for (origin, text) in files.engines {
            let (name, engine) = parse_engine(text, origin)?;
            engines.insert(name, engine);
        }
        let mut catalog = EngineCatalog { engines };
        for (origin, text) in files.configs {
            let (engine, configs) = config::parse_over(text, origin, |engine| catalog.configs(engine).ok())?;
            let hint = names::hint(&engine, catalog.engines());
            let known =
                catalog.engines.get_mut(&engine).ok_or_else(|| EngineError::ConfigOfUnknownEngine {
                    origin: (*origin).to_owned(),
                    engine: engine.clone(),
                    hint,
                })?;
            for config in configs {
                known.configs.retain(|earlier| earlier.name != config.name);
                known.configs.push(config);
            }
        }
        Ok(catalog)
    }

    /// Names of the engines, in order.
    pub fn engines(&self) -> impl Iterator<Item = &str> {
        self.engines.keys().map(String::as_str)
    }

    /// The family of an engine, by whose workloads it can be measured: `rocksdb`, `sql`.
    pub fn family(&self, engine: &str) -> Result<&str, EngineError> {
        Ok(&self.engine(engine)?.family)
    }

    /// Whether it is a program which the host has.
    pub fn is_program(&self, engine: &str) -> Result<bool, EngineError> {
        Ok(matches!(self.source(engine)?, EngineSource::Program(_)))
    }

    /// What an engine that is a server speaks; none for one that is a library.
    pub fn dialect(&self, engine: &str) -> Result<Option<Dialect>, EngineError> {
        Ok(match self.source(engine)? {
            EngineSource::Library(_) | EngineSource::Program(_) => None,
            EngineSource::Server(server) => Some(server.layout.dialect),
        })
    }

    /// Options of an engine that is a server which change nothing on disk.
    pub fn options_not_on_disk(&self, engine: &str) -> Result<&[String], EngineError> {
        Ok(match self.source(engine)? {
            EngineSource::Library(_) | EngineSource::Program(_) => &[],
            EngineSource::Server(server) => &server.layout.not_on_disk,
        })
    }

    /// The published releases of an engine, oldest first.
    pub fn releases(&self, engine: &str) -> Result<&[Release], EngineError> {
        Ok(&self.engine(engine)?.releases)
    }

    /// The published release of this name, if there is one.
    pub fn release(&self, build: &BuildRef) -> Result<Option<&Release>, EngineError> {
        let releases = self.releases(&build.engine)?;
        Ok(releases.iter().find(|release| release.version == build.version))
    }

    /// The tried releases of an engine that come in one archive on this CPU whose checksum its file does not list, oldest first.
    pub fn without_checksum(&self, engine: &str, arch: &str) -> Result<Vec<BuildRef>, EngineError> {
        let source = self.source(engine)?;
        let mut missing = Vec::new();
        for release in self.releases(engine)?.iter().filter(|release| release.status == ReleaseStatus::Tried)
        {
            let build = BuildRef { engine: engine.to_owned(), version: release.version.clone() };
            if source.is_one_archive(&build, arch) && self.listed_sha256(&build, arch)?.is_none() {
                missing.push(build);
            }
        }
        Ok(missing)
    }

    /// The SHA-256 that the engine file lists for the archive of a release on this CPU.
    pub(super) fn listed_sha256(&self, build: &BuildRef, arch: &str) -> Result<Option<&str>, EngineError> {
        let of_cpu = self.engine(&build.engine)?.checksums.get(arch);
        Ok(of_cpu.and_then(|releases| releases.get(&build.version)).map(String::as_str))
    }

    /// The configurations of an engine, in the order of the files.
    pub fn configs(&self, engine: &str) -> Result<&[EngineConfig], EngineError> {
        Ok(&self.engine(engine)?.configs)
    }

    /// The configuration of this name.
    pub fn config(&self, engine: &str, name: &str) -> Result<&EngineConfig, EngineError> {
        let configs = self.configs(engine)?;
        configs.iter().find(|config| config.name == name).ok_or_else(|| {
            let known: Vec<&str> = configs.iter().map(|config| config.name.as_str()).collect();
            EngineError::UnknownConfig {
                engine: engine.to_owned(),
                config: name.to_owned(),
                hint: names::hint(name, known.iter().copied()),
                known: if known.is_empty() { "none".to_owned() } else { known.join(", ") },
            }
        })
    }

    /// Gives an engine a configuration, in place of one of the same name.
    pub fn set_config(&mut self, engine: &str, config: EngineConfig) -> Result<(), EngineError> {
        let hint = names::hint(engine, self.engines());
        let known = self
            .engines
            .get_mut(engine)
            .ok_or_else(|| EngineError::UnknownEngine { engine: engine.to_owned(), hint })?;
        known.configs.retain(|earlier| earlier.name != config.name);
        known.configs.push(config);
        Ok(())
    }

    pub(super) fn source(&self, engine: &str) -> Result<&EngineSource, EngineError> {
        Ok(&self.engine(engine)?.source)
    }

    /// The error for a version that is neither a release nor one of `own`.
    pub(super) fn unknown_release(&self, build: &BuildRef, own: &[String]) -> EngineError {
        let published = self.engines.get(&build.engine).map_or(&[][..], |engine| &engine.releases);
        let known = published.iter().map(|release| &release.version).chain(own).map(String::as_str);
        EngineError::UnknownRelease {
            engine: build.engine.clone(),
            version: build.version.clone(),
            hint: names::hint(&build.version, known),
        }
    }

    fn engine(&self, name: &str) -> Result<&Engine, EngineError> {
        self.engines.get(name).ok_or_else(|| EngineError::UnknownEngine {
            engine: name.to_owned(),
            hint: names::hint(name, self.engines()),
        })
    }
}

fn parse_engine(text: &str, origin: &str) -> Result<(String, Engine), EngineError> {
    let file = EngineFile::parse(text, origin)?;
    let invalid = |problem: String| EngineError::EngineFileInvalid { origin: origin.to_owned(), problem };
    // Both names become directories, and must be such as a user can write.
    let usable = |version: &str| {
        let written = format!("{}@{version}", file.engine);
        written.parse::<BuildRef>().is_ok() && !version.starts_with(['.', '-'])
    };
    if file.engine.starts_with(['.', '-']) || !usable("1") {
        return Err(invalid(format!("`{}` cannot be the name of an engine", file.engine)));
    }
    let tried = file.releases.tried.iter().map(|version| (version, ReleaseStatus::Tried));
    let untried = file.releases.untried.iter().map(|version| (version, ReleaseStatus::Untried));
    let mut releases: Vec<Release> = Vec::new();
    for (version, status) in tried.chain(untried) {
        if !usable(version) {
            return Err(invalid(format!("`{version}` cannot be the name of a release")));
        }
        if releases.iter().any(|release| release.version == *version) {
            return Err(invalid(format!("the release `{version}` is listed twice")));
        }
        let in_ci = file.releases.ci.contains(version);
        releases.push(Release { version: version.clone(), status, in_ci });
    }
    for version in &file.releases.ci {
        let is_tried =
            |release: &Release| release.version == *version && release.status == ReleaseStatus::Tried;
        if !releases.iter().any(is_tried) {
            return Err(invalid(format!("`{version}` is listed under ci, but not under tried")));
        }
    }
    releases.sort_by(|left, right| compare_versions(&left.version, &right.version));
    check_checksums(&file.sha256, &releases).map_err(invalid)?;
    let (name, family, checksums) = (file.engine.clone(), file.family.clone(), file.sha256.clone());
    let source = file.into_source().map_err(invalid)?;
    Ok((name, Engine { family, source, releases, checksums, configs: Vec::new() }))
}

fn check_checksums(checksums: &Checksums, releases: &[Release]) -> Result<(), String> {
    for (version, sha256) in checksums.values().flatten() {
        if !releases.iter().any(|release| release.version == *version) {
            return Err(format!(
                "a checksum is listed of the release `{version}`, which is not in `releases`"
            ));
        }
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if sha256.len() != 64 || !sha256.bytes().all(is_digit) {
            return Err(format!("the checksum of the release `{version}` is not 64 hexadecimal digits"));
        }
    }
    Ok(())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use model::config::rocksdb_option_string;

    pub(in crate::engines) const ENGINE: &str = include_str!("../../../../engines/rocksdb.toml");
    const CONFIGS: &str = include_str!("../../../../configs/rocksdb.toml");

    /// An engine file up to its checksums, which stand at its end.
    fn without_checksums(text: &str) -> &str {
        text.split("[sha256").next().unwrap()
    }

    fn built_in() -> EngineCatalog {
        EngineCatalog::parse(CatalogFiles {
            engines: &[("embedded:rocksdb", ENGINE)],
            configs: &[("embedded:rocksdb", CONFIGS)],
        })
        .unwrap()
    }

    #[test]
    fn the_built_in_files_hold_all_releases_in_order() {
        let catalog = built_in();
        assert_eq!(catalog.engines().collect::<Vec<_>>(), ["rocksdb"]);
        let releases = catalog.releases("rocksdb").unwrap();
        let count = |keep: &dyn Fn(&Release) -> bool| releases.iter().filter(|release| keep(release)).count();
        assert_eq!(releases.len(), 88, "87 from 6.0 on, and 5.18.4");
        assert_eq!(count(&|release| release.status == ReleaseStatus::Tried), 38);
        assert_eq!(count(&|release| release.in_ci), 6);
        assert_eq!(releases.first().unwrap().version, "5.18.4");
        assert_eq!(releases.last().unwrap().version, "11.8.1");
        let position =
            |version: &str| releases.iter().position(|release| release.version == version).unwrap();
        assert!(position("8.9.1") < position("8.10.0"));
    }

    #[test]
    fn the_variants_of_standard_differ_from_it_in_what_they_are_named_for() {
        let catalog = built_in();
        let of_release = |name: &str, version: &str| {
            let config = catalog.config("rocksdb", name).unwrap();
            model::config::configured(&model::config::Options::new(), config, version)
        };
        let options = |name: &str| of_release(name, "8.5.4");
        let cache = |version: &str| of_release("hyper-clock", version).remove("cache_type");
        let [none, fixed, any] = ["8.0.0", "8.5.4", "8.6.7"].map(cache);
        assert_eq!(none, None);
        assert_eq!(
            (fixed.as_deref(), any.as_deref()),
            (Some("hyper_clock_cache"), Some("auto_hyper_clock_cache"))
        );
        assert!(options("defaults").is_empty());
        let mut standard = options("standard");
        let readahead = options("readahead-96k");
        assert!(rocksdb_option_string(&standard).contains("checksum=kxxHash64;format_version=4}"));
        standard.insert("compaction_readahead_size".to_owned(), "98304".to_owned());
        assert_eq!(standard, readahead);
    }

    #[test]
    fn unknown_names_offer_the_nearest() {
        let catalog = built_in();
        let check = |error: EngineError, expected: &str| {
            assert!(error.to_string().contains(expected), "{error}");
        };
        check(catalog.releases("rocksbd").unwrap_err(), "did you mean `rocksdb`?");
        check(catalog.config("rocksdb", "standart").unwrap_err(), "did you mean `standard`?");
        check(catalog.config("rocksdb", "xyz").unwrap_err(), "standard, defaults, readahead-96k");
        let build: BuildRef = "rocksdb@8.5.5".parse().unwrap();
        assert_eq!(catalog.release(&build).unwrap(), None);
        check(catalog.unknown_release(&build, &[]), "`8.5.4`");
        check(catalog.unknown_release(&build, &[]), "dbdyno engine add NAME PATH");
    }

    #[test]
    fn a_users_files_are_laid_over_the_built_in_ones() {
        let own_configs = "engine = 'rocksdb'\n[[config]]\nname = 'defaults'\ndescription = 'mine'\n\
                           [[config]]\nname = 'tiny'\ndescription = 'd'\nextends = 'direct'\noptions = { ttl = '1' }\n";
        let own_engine = without_checksums(ENGINE).replace("\"8.3.2\", ", "");
        let catalog = EngineCatalog::parse(CatalogFiles {
            engines: &[("embedded:rocksdb", ENGINE), ("mine.toml", &own_engine)],
            configs: &[("embedded:rocksdb", CONFIGS), ("my-configs.toml", own_configs)],
        })
        .unwrap();
        assert_eq!(catalog.releases("rocksdb").unwrap().len(), 87);
        assert_eq!(catalog.config("rocksdb", "defaults").unwrap().description, "mine");
        assert_eq!(catalog.configs("rocksdb").unwrap().len(), 10);
        let tiny = &catalog.config("rocksdb", "tiny").unwrap().options;
        assert_eq!((tiny["ttl"].as_str(), tiny["use_direct_reads"].as_str()), ("1", "true"));
    }

    #[test]
    fn mistakes_in_files_name_the_file() {
        let check = |from: &str, to: &str, expected: &str| {
            assert!(ENGINE.contains(from), "{from}");
            let text = without_checksums(ENGINE).replacen(from, to, 1);
            let files = CatalogFiles { engines: &[("e.toml", &text)], configs: &[] };
            let error = EngineCatalog::parse(files).unwrap_err();
            let shown = format!("{error} {:?}", std::error::Error::source(&error).map(ToString::to_string));
            assert!(shown.contains("e.toml") && shown.contains(expected), "{shown}");
        };
        check("\"6.1.1\"", "\"6.0.2\"", "`6.0.2` is listed twice");
        check("\"6.1.1\"", "\"..\"", "cannot be the name of a release");
        check("ci = [\"5.18.4\"", "ci = [\"6.1.1\"", "`6.1.1` is listed under ci, but not under tried");
        check("entry_symbol", "entry_symbols", "unknown field");
        let listed = |line: &str| format!("[sha256.x86_64]\n{line}\n[releases]");
        let of_unknown = listed(&format!("\"1.2.3\" = \"{}\"", "0".repeat(64)));
        check("[releases]", &of_unknown, "the release `1.2.3`, which is not in `releases`");
        let not_hexadecimal = listed(&format!("\"8.5.4\" = \"{}\"", "X".repeat(64)));
        check(
            "[releases]",
            &not_hexadecimal,
            "the checksum of the release `8.5.4` is not 64 hexadecimal digits",
        );
        let files = CatalogFiles {
            engines: &[("e.toml", ENGINE)],
            configs: &[(
                "c.toml",
                "engine = 'rockdb'\n[[config]]\nname = 'a'\ndescription = ''\nextends = 'standard'",
            )],
        };
        let error = EngineCatalog::parse(files).unwrap_err().to_string();
        assert!(error.contains("c.toml") && error.contains("did you mean `rocksdb`?"), "{error}");
    }
}
