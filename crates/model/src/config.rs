//! A configuration: engine options by name, nested ones with a dot (`block_based_table_factory.block_size`).

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Options by name. A dot separates the name of a nested object from the name inside it.
pub type Options = BTreeMap<String, String>;

/// A named set of options of one engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    /// A configuration of the same file whose options are taken first.
    extends: Option<String>,
    #[serde(default)]
    pins: Options,
    #[serde(default)]
    options: Options,
}

/// Why a configuration file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// Not TOML, or not of this form.
    #[error("failed to parse the configuration file `{origin}`")]
    Toml {
        /// The file, or `embedded:NAME`.
        origin: String,
        /// Line, column and caret.
        source: Box<toml::de::Error>,
    },
    /// Two entries share a name.
    #[error("`{origin}` names the configuration `{name}` twice")]
    Duplicate {
        /// The file.
        origin: String,
        /// The name.
        name: String,
    },
    /// An entry extends one that does not stand before it.
    #[error("`{origin}`: the configuration `{name}` extends `{extends}`, which does not stand before it")]
    Extends {
        /// The file.
        origin: String,
        /// The entry.
        name: String,
        /// What it extends.
        extends: String,
    },
}

/// Reads all configurations of a file; `origin` names it in errors. Returns the engine and its configurations.
pub fn parse(text: &str, origin: &str) -> Result<(String, Vec<EngineConfig>), ConfigError> {
    let file: ConfigFile = toml::from_str(text)
        .map_err(|source| ConfigError::Toml { origin: origin.to_owned(), source: Box::new(source) })?;
    let mut configs: Vec<EngineConfig> = Vec::new();
    for entry in file.configs {
        if configs.iter().any(|config| config.name == entry.name) {
            return Err(ConfigError::Duplicate { origin: origin.to_owned(), name: entry.name });
        }
        let (mut pins, mut options) = (Options::new(), Options::new());
        if let Some(extends) = entry.extends {
            let Some(extended) = configs.iter().find(|config| config.name == extends) else {
                return Err(ConfigError::Extends { origin: origin.to_owned(), name: entry.name, extends });
            };
            pins = extended.pins.clone();
            options = extended.options.clone();
        }
        pins.extend(entry.pins);
        options.extend(entry.options);
        configs.push(EngineConfig { name: entry.name, description: entry.description, pins, options });
    }
    Ok((file.engine, configs))
}

/// The options that a build is opened with: the pins of the configuration, over them the workload's options, over
/// them the configuration's.
pub fn configured(workload: &Options, config: &EngineConfig) -> Options {
    overlaid(&overlaid(&config.pins, workload), &config.options)
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
    fn a_workload_overrides_pins_and_a_configuration_overrides_the_workload() {
        let options = |pairs: &[(&str, &str)]| -> Options {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let config = EngineConfig {
            name: "c".to_owned(),
            description: String::new(),
            pins: options(&[("a", "pin"), ("b", "pin")]),
            options: options(&[("c", "config")]),
        };
        let workload = options(&[("b", "workload"), ("c", "workload")]);
        assert_eq!(rocksdb_option_string(&configured(&workload, &config)), "a=pin;b=workload;c=config");
    }
}
