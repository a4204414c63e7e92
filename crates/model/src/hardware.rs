//! Hardware classes: how much data, block cache and how many background jobs a host of some size is given.

use crate::config::Options;
use crate::names;
use crate::workload::{Fits, Workload};
use serde::Deserialize;

/// One class of hosts.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HardwareClass {
    /// `c16r64`: 16 cores, 64 GB.
    pub name: String,
    /// Background jobs of the engine.
    pub background_jobs: u32,
    /// Block cache, in GB of 2^30 bytes.
    pub cache_gb: u64,
    /// Keys of a data set that fits in memory.
    pub keys_in_memory: u64,
    /// Keys of a data set that does not.
    pub keys_on_device: u64,
    /// More options of the engine.
    #[serde(default)]
    pub options: Options,
}

/// The file behind [`HardwareClass`]es: all classes of one engine.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct HardwareFile {
    engine: String,
    #[serde(rename = "class")]
    classes: Vec<HardwareClass>,
}

/// Why a hardware class could not be used.
#[derive(Debug, thiserror::Error)]
pub enum HardwareError {
    /// Not TOML, or not of this form.
    #[error("failed to parse the hardware classes `{origin}`")]
    Toml {
        /// The file.
        origin: String,
        /// Line, column and caret.
        source: Box<toml::de::Error>,
    },
    /// There is no such class.
    #[error("{engine} has no hardware class `{wanted}`{hint}; there are {}", known.join(", "))]
    Unknown {
        /// The engine.
        engine: String,
        /// What was asked for.
        wanted: String,
        /// The nearest names.
        hint: String,
        /// All names.
        known: Vec<String>,
    },
}

/// All classes of one engine.
#[derive(Debug, Clone, PartialEq)]
pub struct HardwareClasses {
    engine: String,
    classes: Vec<HardwareClass>,
}

impl HardwareClasses {
    /// Reads all classes of a file; `origin` names it in errors.
    pub fn parse(text: &str, origin: &str) -> Result<HardwareClasses, HardwareError> {
        let file: HardwareFile = toml::from_str(text)
            .map_err(|source| HardwareError::Toml { origin: origin.to_owned(), source: Box::new(source) })?;
        Ok(HardwareClasses { engine: file.engine, classes: file.classes })
    }

    /// The class of this name.
    pub fn class(&self, wanted: &str) -> Result<&HardwareClass, HardwareError> {
        let known = || self.classes.iter().map(|class| class.name.as_str());
        self.classes.iter().find(|class| class.name == wanted).ok_or_else(|| HardwareError::Unknown {
            engine: self.engine.clone(),
            wanted: wanted.to_owned(),
            hint: names::hint(wanted, known()),
            known: known().map(str::to_owned).collect(),
        })
    }
}

impl Workload {
    /// The workload sized for a class. A block cache that is small on purpose (less than the class's by half, as
    /// where the operating system is to cache) stays.
    pub fn for_hardware(mut self, class: &HardwareClass) -> Workload {
        const CACHE: &str = "block_based_table_factory.block_cache";
        let cache_bytes = class.cache_gb << 30;
        self.data.keys = match self.fits {
            Fits::Memory => class.keys_in_memory,
            Fits::Device => class.keys_on_device,
        };
        let own: Option<u64> = self.options.get(CACHE).and_then(|text| text.parse().ok());
        if own.is_none_or(|own| own > SMALL_CACHE_BYTES) {
            self.options.insert(CACHE.to_owned(), cache_bytes.to_string());
        }
        self.options.insert("max_background_jobs".to_owned(), class.background_jobs.to_string());
        self.options.extend(class.options.iter().map(|(name, value)| (name.clone(), value.clone())));
        self
    }
}

/// The classes of the posts with the ending `bc1g` have this much for the workloads that the operating system caches.
const SMALL_CACHE_BYTES: u64 = 1 << 30;

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "engine = 'rocksdb'\n[[class]]\nname = 'c4r16'\nbackground_jobs = 3\ncache_gb = 10\n\
                        keys_in_memory = 8\nkeys_on_device = 500\n";

    fn workload(fits: &str, cache: u64) -> Workload {
        let text = format!(
            "name='w'\nengine='rocksdb'\ndescription=''\ntells=''\ndoes_not_tell=''\nfits='{fits}'\n\
             data={{keys=1,key_bytes=20,value_bytes=4,value_compressible_percent=0}}\n\
             [options]\n'block_based_table_factory.block_cache'='{cache}'\n\
             [[step]]\nname='f'\ngroup='writes'\noperation='fill-sequential'\n"
        );
        Workload::parse(&text, "test").unwrap()
    }

    #[test]
    fn a_class_sizes_data_jobs_and_cache_but_leaves_a_small_cache_alone() {
        let classes = HardwareClasses::parse(FILE, "test").unwrap();
        let class = classes.class("c4r16").unwrap();
        let sized = workload("device", 10 << 30).for_hardware(class);
        assert_eq!(sized.data.keys, 500);
        assert_eq!(sized.options["max_background_jobs"], "3");
        assert_eq!(sized.options["block_based_table_factory.block_cache"], (10_u64 << 30).to_string());
        let small = workload("memory", 1 << 30).for_hardware(class);
        assert_eq!(
            (small.data.keys, small.options["block_based_table_factory.block_cache"].as_str()),
            (8, "1073741824")
        );
    }

    #[test]
    fn an_unknown_class_offers_the_nearest() {
        let error = HardwareClasses::parse(FILE, "test").unwrap().class("c4r61").unwrap_err().to_string();
        assert!(error.contains("did you mean `c4r16`?"), "{error}");
    }
}
