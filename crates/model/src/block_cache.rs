//! RocksDB's block cache as an option: bytes alone, or settings of an LRU cache in braces,
//! `{capacity=536870912;num_shard_bits=6;high_pri_pool_ratio=0.5;}`. With bytes alone the share of blocks with high priority is the release's own
//! default, which switched from 0 to 0.5 at 6.4; braces are accepted by all releases and pin it.

use crate::config::Options;
use crate::units::Bytes;

/// The name of the option.
pub const BLOCK_CACHE: &str = "block_based_table_factory.block_cache";

/// Which cache it is, in the words of db_bench's flag of this name: `lru_cache` if absent, `hyper_clock_cache`, `auto_hyper_clock_cache`. RocksDB
/// has no option for it that all releases with the cache know; our worker makes it.
pub const CACHE_TYPE: &str = "cache_type";

const CAPACITY: &str = "capacity";

/// The settings of a cache by their names; of bytes alone the capacity. Empty of what is neither.
pub fn settings(value: &str) -> Vec<(&str, &str)> {
    match value.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
        Some(inner) => inner
            .split(';')
            .filter_map(|setting| setting.split_once('='))
            .map(|(name, value)| (name.trim(), value.trim()))
            .collect(),
        None if value.parse::<u64>().is_ok() => vec![(CAPACITY, value)],
        None => Vec::new(),
    }
}

/// How large the cache is; absent where the options do not say.
pub fn size(options: &Options) -> Option<Bytes> {
    let settings = settings(options.get(BLOCK_CACHE)?);
    settings.iter().find(|(name, _)| *name == CAPACITY)?.1.parse().ok().map(Bytes)
}

/// Gives the cache another size and leaves its other settings.
pub fn resize(options: &mut Options, size: Bytes) {
    let before = options.get(BLOCK_CACHE).cloned().unwrap_or_default();
    let others: Vec<String> = settings(&before)
        .into_iter()
        .filter(|(name, _)| *name != CAPACITY)
        .map(|(name, value)| format!("{name}={value};"))
        .collect();
    let value = if others.is_empty() {
        size.0.to_string()
    } else {
        format!("{{{CAPACITY}={};{}}}", size.0, others.concat())
    };
    options.insert(BLOCK_CACHE.to_owned(), value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_read_and_changed_with_or_without_other_settings() {
        let check = |value: &str, bytes: Option<u64>, resized: &str| {
            let mut options = Options::from([(BLOCK_CACHE.to_owned(), value.to_owned())]);
            assert_eq!(size(&options), bytes.map(Bytes), "{value}");
            resize(&mut options, Bytes(7));
            assert_eq!(options[BLOCK_CACHE], resized, "{value}");
        };
        check("536870912", Some(536_870_912), "7");
        check(
            "{capacity=1024;num_shard_bits=6;high_pri_pool_ratio=0.5;}",
            Some(1024),
            "{capacity=7;num_shard_bits=6;high_pri_pool_ratio=0.5;}",
        );
        check("{num_shard_bits=6}", None, "{capacity=7;num_shard_bits=6;}");
        check("hyper_clock_cache://8388608", None, "7");
        let mut none = Options::new();
        assert_eq!(size(&none), None);
        resize(&mut none, Bytes(9));
        assert_eq!(none[BLOCK_CACHE], "9");
    }
}
