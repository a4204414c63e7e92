//! A configuration: engine options by name, nested ones with a dot (`block_based_table_factory.block_size`). Of a
//! server, some hold for some releases only, and some are a share of the memory that it is given.

use crate::environment::Environment;
use crate::storage::{Storage, StorageText};
use crate::subject::compare_versions;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Options by name. A dot separates the name of a nested object from the name inside it.
pub type Options = BTreeMap<String, String>;

/// A named set of options of one engine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineConfig {
    /// `standard`, `defaults`, `readahead-96k`.
    pub name: String,
    /// What it is for, one line.
    pub description: String,
    /// Options that hold where the workload sets nothing: pins against defaults that changed.
    #[serde(default)]
    pub pins: Options,
    /// Options that are set on top of those of the workload.
    pub options: Options,
    /// Options of a server that are a share of its memory.
    #[serde(default)]
    pub memory: BTreeMap<String, MemoryShare>,
    /// Options of a server that hold for some of its releases only.
    #[serde(default)]
    pub when: Vec<When>,
    /// Where its files are.
    #[serde(default, skip_serializing_if = "Storage::is_default")]
    pub storage: Storage,
    /// How clients reach a server.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub transport: Transport,
    /// What the process of the engine finds in its environment: that of a server of ours, or of the worker that loads a library.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub environment: Environment,
    /// The user's own configuration file that its options are from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
}

/// How clients reach a server of ours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// By its Unix socket.
    #[default]
    Socket,
    /// By TCP on 127.0.0.1.
    Tcp,
}

/// A share of the memory that a server is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryShare {
    /// Percent of it, 1 to 400: logs on the device may be larger than memory.
    pub percent: u16,
    /// How the engine spells an amount.
    #[serde(default)]
    pub unit: MemoryUnit,
}

/// How an engine spells an amount of memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum MemoryUnit {
    /// A plain number of bytes.
    #[default]
    #[serde(rename = "bytes")]
    Bytes,
    /// `262144kB`, of 1024 bytes.
    #[serde(rename = "kB")]
    Kibibytes,
    /// `256MB`, of 1024 * 1024 bytes.
    #[serde(rename = "MB")]
    Mebibytes,
    /// `0.25`, of 1024 * 1024 * 1024 bytes.
    #[serde(rename = "GB")]
    Gibibytes,
}

impl MemoryShare {
    /// The value of the option, rounded down.
    fn of(self, memory: Bytes) -> String {
        let bytes = u128::from(memory.0) * u128::from(self.percent) / 100;
        match self.unit {
            MemoryUnit::Bytes => bytes.to_string(),
            MemoryUnit::Kibibytes => format!("{}kB", bytes >> 10),
            MemoryUnit::Mebibytes => format!("{}MB", bytes >> 20),
            // Rounded down to a thousandth.
            MemoryUnit::Gibibytes => {
                let thousandths = (bytes * 1000) >> 30;
                format!("{}.{:03}", thousandths / 1000, thousandths % 1000)
            }
        }
    }
}

/// Options of some releases, or of servers with much memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct When {
    /// The first release that they hold for; all older ones too where absent.
    #[serde(default)]
    pub since: Option<String>,
    /// The first release after it that they do not hold for; all newer ones too where absent.
    #[serde(default)]
    pub before: Option<String>,
    /// The least memory of a server that they hold for, in GB of 2^30 bytes; any where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_from_gb: Option<u64>,
    #[serde(default)]
    pub options: Options,
    /// Options that are a share of the server's memory.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub memory: BTreeMap<String, MemoryShare>,
}

impl When {
    /// Whether they hold for a release, and for a server with this much memory, if it is one. The name of one's own build that begins with
    /// no number is newer than every release.
    fn holds_for(&self, version: &str, memory: Option<Bytes>) -> bool {
        let not_older = |since: &String| compare_versions(version, since) != Ordering::Less;
        let older = |before: &String| compare_versions(version, before) == Ordering::Less;
        let has = |gb: u64| memory.is_some_and(|memory| memory >= Bytes::from_gib(gb));
        self.since.as_ref().is_none_or(not_older)
            && self.before.as_ref().is_none_or(older)
            && self.memory_from_gb.is_none_or(has)
    }
}

/// The file behind [`EngineConfig`]s: all configurations of one engine.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfigFile {
    engine: String,
    #[serde(rename = "config")]
    configs: Vec<ConfigEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfigEntry {
    name: String,
    description: String,
    /// A configuration that stands before it in the file, or that is known already: its options are taken first.
    extends: Option<String>,
    #[serde(default)]
    pins: Options,
    #[serde(default)]
    options: Options,
    #[serde(default)]
    memory: BTreeMap<String, MemoryShare>,
    #[serde(default)]
    when: Vec<When>,
    storage: Option<StorageText>,
    transport: Option<Transport>,
    #[serde(default)]
    environment: Environment,
}

/// Why a configuration file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("failed to parse the configuration file `{origin}`")]
    Toml {
        /// The file, or `embedded:NAME`.
        origin: String,
        source: Box<toml::de::Error>,
    },
    #[error("`{origin}` names the configuration `{name}` twice")]
    Duplicate { origin: String, name: String },
    #[error(
        "`{origin}`: the configuration `{name}` extends `{extends}`, which is neither above it nor known already"
    )]
    Extends { origin: String, name: String, extends: String },
    #[error("`{origin}`, `storage` of the configuration `{name}`: {problem}")]
    Storage { origin: String, name: String, problem: String },
    #[error(
        "`{origin}`: a `when` of the configuration `{name}` holds for {}: give `since`, `before`, or both in order, or `memory_from_gb`", 
        if *always { "every release" } else { "no release" }
    )]
    When {
        origin: String,
        name: String,
        /// Every release, else none.
        always: bool,
    },
    #[error(
        "`{origin}`: the configuration `{name}` gives `{option}` {percent} percent of the memory: give 1 to {MOST_PERCENT}"
    )]
    Share { origin: String, name: String, option: String, percent: u16 },
}

/// Reads all configurations of a file; `origin` names it in errors. Returns the engine and its configurations.
pub fn parse(text: &str, origin: &str) -> Result<(String, Vec<EngineConfig>), ConfigError> {
    parse_over(text, origin, |_| Some(&[]))
}

/// Like [`parse`]; a configuration may also extend one that `known` gives for the file's engine. Of an engine that is not known the
/// configurations are none: whose engines they are says so.
pub fn parse_over<'a>(
    text: &str,
    origin: &str,
    known: impl Fn(&str) -> Option<&'a [EngineConfig]>,
) -> Result<(String, Vec<EngineConfig>), ConfigError> {
    let file: ConfigFile = toml::from_str(text)
        .map_err(|source| ConfigError::Toml { origin: origin.to_owned(), source: Box::new(source) })?;
    let Some(known) = known(&file.engine) else { return Ok((file.engine, Vec::new())) };
    let mut configs: Vec<EngineConfig> = Vec::new();
    for entry in file.configs {
        if configs.iter().any(|config| config.name == entry.name) {
            return Err(ConfigError::Duplicate { origin: origin.to_owned(), name: entry.name });
        }
        check(&entry, origin)?;
        let extended = match &entry.extends {
            None => None,
            Some(extends) => {
                let mut below = configs.iter().chain(known);
                Some(below.find(|config| config.name == *extends).cloned().ok_or_else(|| {
                    ConfigError::Extends {
                        origin: origin.to_owned(),
                        name: entry.name.clone(),
                        extends: extends.clone(),
                    }
                })?)
            }
        };
        configs.push(extend(extended, entry, origin)?);
    }
    Ok((file.engine, configs))
}

const MOST_PERCENT: u16 = 400;

fn check(entry: &ConfigEntry, origin: &str) -> Result<(), ConfigError> {
    for when in &entry.when {
        let always = when.since.is_none() && when.before.is_none() && when.memory_from_gb.is_none();
        let never = matches!((&when.since, &when.before), (Some(since), Some(before))
            if compare_versions(since, before) != Ordering::Less);
        if always || never {
            return Err(ConfigError::When { origin: origin.to_owned(), name: entry.name.clone(), always });
        }
    }
    let mut shares = entry.memory.iter().chain(entry.when.iter().flat_map(|when| &when.memory));
    match shares.find(|(_, share)| !(1..=MOST_PERCENT).contains(&share.percent)) {
        None => Ok(()),
        Some((option, share)) => Err(ConfigError::Share {
            origin: origin.to_owned(),
            name: entry.name.clone(),
            option: option.clone(),
            percent: share.percent,
        }),
    }
}

/// What an entry says of an option replaces all that the one it extends says of it.
fn extend(
    extended: Option<EngineConfig>,
    entry: ConfigEntry,
    origin: &str,
) -> Result<EngineConfig, ConfigError> {
    let EngineConfig { mut pins, mut options, mut memory, mut when, storage, transport, environment, .. } =
        extended.unwrap_or_default();
    pins.extend(entry.pins);
    options.retain(|name, _| !entry.memory.contains_key(name));
    options.extend(entry.options.clone());
    memory.retain(|name, _| !entry.options.contains_key(name));
    memory.extend(entry.memory.clone());
    for part in &mut when {
        let stays = |name: &String| !entry.options.contains_key(name) && !entry.memory.contains_key(name);
        part.options.retain(|name, _| stays(name));
        part.memory.retain(|name, _| stays(name));
    }
    when.retain(|part| !part.options.is_empty() || !part.memory.is_empty());
    when.extend(entry.when);
    let storage = entry.storage.map_or(Ok(storage), |text| {
        let name = entry.name.clone();
        text.read().map_err(|problem| ConfigError::Storage { origin: origin.to_owned(), name, problem })
    })?;
    Ok(EngineConfig {
        name: entry.name,
        description: entry.description,
        pins,
        options,
        memory,
        when,
        storage,
        transport: entry.transport.unwrap_or(transport),
        environment: environment.overlaid(entry.environment),
        file: None,
    })
}

/// The options that a release of a server is started with, where it is given this much memory: the pins, over them the
/// shares of memory, over them the options, over them those of the release in the order of the file.
pub fn for_server(config: &EngineConfig, version: &str, memory: Bytes) -> Options {
    let shares = |shares: &BTreeMap<String, MemoryShare>| -> Options {
        shares.iter().map(|(name, share)| (name.clone(), share.of(memory))).collect()
    };
    let mut options = overlaid(&overlaid(&config.pins, &shares(&config.memory)), &config.options);
    for when in config.when.iter().filter(|when| when.holds_for(version, Some(memory))) {
        options = overlaid(&overlaid(&options, &shares(&when.memory)), &when.options);
    }
    options
}

/// The options that a build of a release is opened with: the pins of the configuration, over them the workload's options, over
/// them the configuration's, over them those of the release in the order of the file.
pub fn configured(workload: &Options, config: &EngineConfig, version: &str) -> Options {
    let options = overlaid(&overlaid(&config.pins, workload), &config.options);
    let of_release = config.when.iter().filter(|when| when.holds_for(version, None));
    of_release.fold(options, |options, when| overlaid(&options, &when.options))
}

/// `below` with `above` laid over it.
pub fn overlaid(below: &Options, above: &Options) -> Options {
    let mut all = below.clone();
    all.extend(above.iter().map(|(name, value)| (name.clone(), value.clone())));
    all
}

/// The option string of RocksDB: `a=1;table={block_size=8192;checksum=kxxHash64}`, names in order.
pub fn rocksdb_option_string(options: &Options) -> String {
    let mut flat: Vec<String> = Vec::new();
    let mut nested: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (name, value) in options {
        match name.split_once('.') {
            Some((object, inner)) => nested.entry(object).or_default().push(format!("{inner}={value}")),
            None => flat.push(format!("{name}={value}")),
        }
    }
    flat.extend(nested.iter().map(|(object, inner)| format!("{object}={{{}}}", inner.join(";"))));
    flat.join(";")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_options_are_gathered() {
        let (engine, configs) = parse(
            "engine = 'rocksdb'\n[[config]]\nname = 'standard'\ndescription = 'pinned'\n\
             [config.options]\ncompression = 'kNoCompression'\n\
             'block_based_table_factory.checksum' = 'kxxHash64'\n\
             'block_based_table_factory.block_size' = '8192'\n",
            "test",
        )
        .unwrap();
        assert_eq!(engine, "rocksdb");
        assert_eq!(
            rocksdb_option_string(&configs[0].options),
            "compression=kNoCompression;block_based_table_factory={block_size=8192;checksum=kxxHash64}"
        );
    }

    #[test]
    fn a_configuration_takes_the_options_of_the_one_it_extends() {
        let text = |extends: &str| {
            format!(
                "engine = 'e'\n[[config]]\nname = 'a'\ndescription = ''\noptions = {{ x = '1', y = '2' }}\n\
                 [[config]]\nname = 'b'\ndescription = ''\nextends = '{extends}'\noptions = {{ y = '3' }}\n"
            )
        };
        let (_, configs) = parse(&text("a"), "test").unwrap();
        assert_eq!(rocksdb_option_string(&configs[1].options), "x=1;y=3");
        let error = parse(&text("c"), "test").unwrap_err().to_string();
        assert!(error.contains("extends `c`"), "{error}");
    }

    #[test]
    fn an_environment_is_laid_over_that_of_the_configuration_below() {
        let text = |variable: &str| {
            format!(
                "engine = 'e'\n[[config]]\nname = 'a'\ndescription = ''\nenvironment = {{ X = '1', Y = '2' }}\n\
                 [[config]]\nname = 'b'\ndescription = ''\nextends = 'a'\nenvironment = {{ {variable} = '3' }}\n"
            )
        };
        let (_, configs) = parse(&text("Y"), "test").unwrap();
        assert_eq!(configs[1].environment.iter().collect::<Vec<_>>(), [("X", "1"), ("Y", "3")]);
        let error = parse(&text("LD_LIBRARY_PATH"), "test").unwrap_err();
        let said = std::error::Error::source(&error).unwrap().to_string();
        assert!(said.contains("LD_LIBRARY_PATH"), "{said}");
    }

    #[test]
    fn a_workload_overrides_pins_and_a_configuration_overrides_the_workload() {
        let options = |pairs: &[(&str, &str)]| -> Options {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let config = EngineConfig {
            name: "c".to_owned(),
            description: String::new(),
            pins: options(&[("a", "pin"), ("b", "pin")]),
            options: options(&[("c", "config")]),
            ..EngineConfig::default()
        };
        let workload = options(&[("b", "workload"), ("c", "workload")]);
        let when = When {
            since: Some("8.6".to_owned()),
            before: None,
            memory_from_gb: None,
            options: options(&[("b", "release")]),
            memory: BTreeMap::new(),
        };
        let config = EngineConfig { when: vec![when], ..config };
        let of = |version: &str| rocksdb_option_string(&configured(&workload, &config, version));
        assert_eq!(of("8.5.4"), "a=pin;b=workload;c=config");
        assert_eq!(of("8.6.7"), "a=pin;b=release;c=config");
    }

    const LADDER: &str = "engine = 'mysql'
        [[config]]
        name = 'standard'
        description = ''
        options = { flush = '2' }
        memory = { pool = { percent = 60 }, cache = { percent = 25, unit = 'kB' } }
        [[config.when]]
        before = '8.0.30'
        options = { log_file_size = '1', files = '2' }
        [[config.when]]
        since = '8.0.30'
        options = { redo = '3' }
        memory = { log = { percent = 200 } }
        [[config.when]]
        since = '5.7'
        before = '8.0'
        options = { flush = '0' }
        [[config]]
        name = 'durable'
        description = ''
        extends = 'standard'
        options = { flush = '1', pool = '7' }
        transport = 'tcp'";

    #[test]
    fn a_release_gets_the_options_that_it_knows_and_its_share_of_the_memory() {
        let (_, configs) = parse(LADDER, "test").unwrap();
        let text = |index: usize, version: &str| {
            rocksdb_option_string(&for_server(&configs[index], version, Bytes::from_mib(1)))
        };
        let memory = "cache=256kB;";
        let old = format!("{memory}files=2;flush=2;log_file_size=1;pool=629145");
        assert_eq!(text(0, "5.6.24"), old);
        assert_eq!(text(0, "8.0.15"), old);
        assert_eq!(text(0, "5.7.22"), old.replace("flush=2", "flush=0"));
        let new = format!("{memory}flush=2;log=2097152;pool=629145;redo=3");
        for version in ["8.0.30", "9.7.4", "my-build"] {
            assert_eq!(text(0, version), new, "{version}");
        }
        // What it says itself replaces what was said of one release, and a share.
        assert_eq!(text(1, "5.7.22"), format!("{memory}files=2;flush=1;log_file_size=1;pool=7"));
        assert_eq!([0, 1].map(|index| configs[index].transport), [Transport::Socket, Transport::Tcp]);
    }

    #[test]
    fn a_part_for_all_releases_or_none_and_an_odd_share_are_refused() {
        let refused = |entry: &str| {
            let text = format!("engine = 'e'\n[[config]]\nname = 'a'\ndescription = ''\n{entry}\n");
            parse(&text, "test").unwrap_err().to_string()
        };
        assert!(refused("[[config.when]]\noptions = { x = '1' }").contains("every release"));
        let never = refused("[[config.when]]\nsince = '8.0.10'\nbefore = '8.0.9'\noptions = { x = '1' }");
        assert!(never.contains("no release"), "{never}");
        assert!(refused("memory = { x = { percent = 0 } }").contains("0 percent"));
        assert!(refused("memory = { x = { percent = 401 } }").contains("1 to 400"));
    }

    /// The names that differ between two releases, of the configuration `standard` of an embedded file.
    fn names_that_differ(text: &str, older: &str, newer: &str) -> (Vec<String>, Vec<String>) {
        let (_, configs) = parse(text, "test").unwrap();
        let of = |version: &str| for_server(&configs[0], version, Bytes::from_mib(1024));
        let only = |these: &Options, those: &Options| -> Vec<String> {
            these.keys().filter(|name| !those.contains_key(*name)).cloned().collect()
        };
        (only(&of(older), &of(newer)), only(&of(newer), &of(older)))
    }

    #[test]
    fn the_servers_own_files_give_each_release_the_names_that_it_knows() {
        let mysql = include_str!("../../../configs/mysql.toml");
        let (old, new) = names_that_differ(mysql, "8.0.29", "8.0.30");
        assert_eq!(old, ["innodb_log_file_size", "innodb_log_files_in_group"]);
        assert_eq!(new, ["innodb_redo_log_capacity"]);
        let (old, new) = names_that_differ(mysql, "5.7.22", "8.0.12");
        assert_eq!(
            (old, new),
            (
                vec!["query_cache_size".to_owned(), "query_cache_type".to_owned()],
                vec!["skip_log_bin".to_owned()]
            )
        );
        let mariadb = include_str!("../../../configs/mariadb.toml");
        let (old, new) = names_that_differ(mariadb, "10.1.8", "10.11.19");
        assert_eq!(
            (old, new.len()),
            (vec!["innodb_buffer_pool_instances".to_owned(), "innodb_log_files_in_group".to_owned()], 0)
        );
        let postgres = include_str!("../../../configs/postgres.toml");
        let (old, new) = names_that_differ(postgres, "10.23", "18.6");
        assert_eq!(old.len(), 0);
        assert_eq!(new, ["hash_mem_multiplier", "io_method", "jit", "max_parallel_maintenance_workers"]);
        // What the posts' configurations of the small server and of the largest one have.
        let (_, configs) = parse(postgres, "test").unwrap();
        let posts = configs.iter().find(|config| config.name == "posts").unwrap();
        let of = |gb: u64| {
            let options = for_server(posts, "17.11", Bytes::from_gib(gb));
            ["max_wal_size", "min_wal_size", "autovacuum_max_workers"].map(|name| options[name].clone())
        };
        assert_eq!(of(24), ["41041MB", "20398MB", "4"]);
        assert_eq!(of(96), ["96GB", "81592MB", "8"]);
        let (_, myrocks) = parse(include_str!("../../../configs/myrocks.toml"), "test").unwrap();
        let options = for_server(&myrocks[0], "10.11.19", Bytes::from_mib(1000));
        assert_eq!(options["rocksdb_block_cache_size"], (600_u64 << 20).to_string());
    }
}
