//! Hardware classes: what a host of some size is given: of a tree of levels how much data, block cache and how many
//! background jobs; of SQL servers how much memory, which tables, how many clients and how long a step.

use crate::block_cache;
use crate::config::Options;
use crate::names;
use crate::units::Bytes;
use crate::workload::{Fits, Scale, Workload};
use serde::Deserialize;

/// One class of hosts.
#[derive(Debug, Clone, PartialEq)]
pub struct HardwareClass {
    /// `c16r64`: 16 cores, 64 GB.
    pub name: String,
    pub sizes: Sizes,
}

/// What a class gives to the workloads of a family of engines.
#[derive(Debug, Clone, PartialEq)]
pub enum Sizes {
    /// To those of engines that a worker loads.
    Keys(KeySizes),
    /// To those of SQL servers.
    Tables(TableSizes),
}

/// Data, cache and jobs of an engine that a worker loads.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeySizes {
    name: String,
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

/// Memory, tables, clients and times of SQL servers.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableSizes {
    name: String,
    /// Memory of the server that its configuration sizes its caches by, in GB of 2^30 bytes.
    pub memory_gb: u64,
    pub tables: u32,
    /// Rows of each table of a data set that fits in memory.
    pub rows_in_memory: u64,
    /// Rows of each table of one that does not.
    pub rows_on_device: u64,
    /// Clients of each step that has not just one by its nature.
    pub threads: u32,
    pub read_seconds: f64,
    pub write_seconds: f64,
}

/// The file behind [`HardwareClass`]es: all classes of one family of engines.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct HardwareFile<Class> {
    engine: String,
    /// The sequences that their sizes are of; all workloads of the engine where absent.
    #[serde(default)]
    sequences: Option<Vec<String>>,
    #[serde(rename = "class")]
    classes: Vec<Class>,
}

impl<Class> HardwareFile<Class> {
    fn into_classes(self, named: impl Fn(Class) -> (String, Sizes)) -> HardwareClasses {
        let class = |class| {
            let (name, sizes) = named(class);
            HardwareClass { name, sizes }
        };
        let classes = self.classes.into_iter().map(class).collect();
        HardwareClasses { engine: self.engine, sequences: self.sequences, classes }
    }
}

/// What tells the form of the classes.
#[derive(Debug, Deserialize)]
struct Family {
    engine: String,
}

/// The family of engines that are SQL servers.
const SQL: &str = "sql";

/// Why a hardware class could not be used.
#[derive(Debug, thiserror::Error)]
pub enum HardwareError {
    #[error("failed to parse the hardware classes `{origin}`")]
    Toml { origin: String, source: Box<toml::de::Error> },
    #[error("{engine} has no hardware class `{wanted}`{hint}; there are {}", known.join(", "))]
    Unknown { engine: String, wanted: String, hint: String, known: Vec<String> },
}

/// All classes of one engine.
#[derive(Debug, Clone, PartialEq)]
pub struct HardwareClasses {
    engine: String,
    sequences: Option<Vec<String>>,
    classes: Vec<HardwareClass>,
}

impl HardwareClasses {
    /// Reads all classes of a file; `origin` names it in errors.
    pub fn parse(text: &str, origin: &str) -> Result<HardwareClasses, HardwareError> {
        let error = |source| HardwareError::Toml { origin: origin.to_owned(), source: Box::new(source) };
        let family: Family = toml::from_str(text).map_err(error)?;
        if family.engine == SQL {
            let file: HardwareFile<TableSizes> = toml::from_str(text).map_err(error)?;
            return Ok(file.into_classes(|sizes| (sizes.name.clone(), Sizes::Tables(sizes))));
        }
        let file: HardwareFile<KeySizes> = toml::from_str(text).map_err(error)?;
        Ok(file.into_classes(|sizes| (sizes.name.clone(), Sizes::Keys(sizes))))
    }

    /// Whether their sizes are those of a workload of the engine. Another sequence has other tables, clients and times, and sizes that are not
    /// its own would make it another benchmark under its name.
    pub fn are_for(&self, workload: &Workload) -> bool {
        let is_of = |sequences: &Vec<String>| {
            workload.sequence.as_ref().is_some_and(|sequence| sequences.contains(sequence))
        };
        self.sequences.as_ref().is_none_or(is_of)
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
    /// The workload sized for a class of its family.
    pub fn for_hardware(self, class: &HardwareClass) -> Workload {
        match &class.sizes {
            Sizes::Keys(sizes) => self.with_keys(sizes),
            Sizes::Tables(sizes) => self.with_tables(sizes),
        }
    }

    fn with_tables(mut self, sizes: &TableSizes) -> Workload {
        self.memory = Some(Bytes::from_gib(sizes.memory_gb));
        let rows = match self.fits {
            Fits::Memory => sizes.rows_in_memory,
            Fits::Device => sizes.rows_on_device,
        };
        self.scaled(&Scale {
            tables: Some(sizes.tables),
            rows: Some(rows),
            read_seconds: Some(sizes.read_seconds),
            write_seconds: Some(sizes.write_seconds),
            threads: Some(sizes.threads),
            ..Scale::default()
        })
    }

    /// A block cache that is small on purpose (less than the class's by half, as where the operating system is to cache)
    /// stays.
    fn with_keys(mut self, class: &KeySizes) -> Workload {
        self.data.keys = match self.fits {
            Fits::Memory => class.keys_in_memory,
            Fits::Device => class.keys_on_device,
        };
        if block_cache::size(&self.options).is_none_or(|own| own > SMALL_CACHE) {
            block_cache::resize(&mut self.options, Bytes::from_gib(class.cache_gb));
        }
        self.options.insert("max_background_jobs".to_owned(), class.background_jobs.to_string());
        self.options.extend(class.options.iter().map(|(name, value)| (name.clone(), value.clone())));
        self
    }
}

/// The classes of Small Datum with the ending `bc1g` have this much for the workloads that the operating system caches.
const SMALL_CACHE: Bytes = Bytes(1 << 30);

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
    fn a_class_of_servers_sizes_tables_memory_clients_and_times() {
        let file = "engine = 'sql'\n[[class]]\nname = 'c8r32'\nmemory_gb = 24\ntables = 2\nrows_in_memory = 30\n\
                    rows_on_device = 300\nthreads = 4\nread_seconds = 300\nwrite_seconds = 600\n";
        let classes = HardwareClasses::parse(file, "test").unwrap();
        let text = "name='w'\nengine='sql'\ndescription=''\ntells=''\ndoes_not_tell=''\nmemory='1 GB'\n\
                    tables={count=1,rows=1}\n[schema]\nprefix='t'\ninsert='INSERT INTO {table} (a) VALUES '\nrow='({a})'\n\
                    index=[]\ncreate.mysql=['CREATE TABLE {table} (a INT)']\n\
                    [parameters]\na={draw='uniform',low=1,high='rows'}\n\
                    [[transaction]]\nname='p'\nstatements=[{sql='SELECT a FROM {table} WHERE a = {a}'}]\n\
                    [[step]]\nname='load'\ngroup='writes'\noperation='load-tables'\n\
                    [[step]]\nname='p'\ngroup='point-1'\noperation='transaction'\ntransaction='p'\n";
        let sized = Workload::parse(text, "test").unwrap().for_hardware(classes.class("c8r32").unwrap());
        let tables = sized.tables.as_ref().unwrap();
        assert_eq!((tables.count, tables.rows, sized.data.keys), (2, 30, 60));
        assert_eq!(sized.memory, Some(Bytes(24 << 30)));
        let read = sized.step("p").unwrap();
        assert_eq!(read.threads, 4);
        let wall = crate::units::Nanos::from_secs(300);
        assert_eq!(read.limit(&sized.data), crate::wire::BlockLimit::Time { wall });
    }

    #[test]
    fn classes_of_a_sequence_are_for_no_other() {
        let of = |sequence: Option<&str>| Workload {
            sequence: sequence.map(str::to_owned),
            ..workload("memory", 1 << 30)
        };
        let classes = HardwareClasses::parse(&format!("sequences = ['a', 'b']\n{FILE}"), "test").unwrap();
        assert_eq!(["a", "b", "c"].map(|name| classes.are_for(&of(Some(name)))), [true, true, false]);
        assert!(!classes.are_for(&of(None)), "it has steps of its own");
        assert!(HardwareClasses::parse(FILE, "test").unwrap().are_for(&of(None)));
    }

    #[test]
    fn an_unknown_class_offers_the_nearest() {
        let error = HardwareClasses::parse(FILE, "test").unwrap().class("c4r61").unwrap_err().to_string();
        assert!(error.contains("did you mean `c4r16`?"), "{error}");
    }
}
