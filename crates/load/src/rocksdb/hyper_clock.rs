//! The hyper clock cache, which no option string makes: through the C API, in releases that have it there (from 8.1 on). The option
//! `cache_type` asks for it, with the words of db_bench's flag; size and shards stay those of the block cache in the options.

use super::api::{Api, Handle, OptionalFunctions};
use super::tuning::{outermost, value_of};
use model::block_cache::{self, CACHE_TYPE};
use std::ffi::c_int;

/// What db_bench takes as the charge of an entry if no block size is given.
const DEFAULT_BLOCK_SIZE: usize = 4096;
const TABLE: &str = "block_based_table_factory";
const CACHE: &str = "block_cache";

/// A hyper clock cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HyperClock {
    capacity: usize,
    /// The release's own number if absent.
    shard_bits: Option<c_int>,
    /// Bytes that an entry is taken to have, as db_bench does: those of a block. 0: entries of any size.
    entry_charge: usize,
}

/// Why there is none. Only what the release lacks is told with the name of the option, by which it may be left out.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum HyperClockError {
    #[error(
        "there is no cache `{0}`: say lru_cache, hyper_clock_cache, fixed_hyper_clock_cache or auto_hyper_clock_cache"
    )]
    UnknownType(String),
    #[error("a hyper clock cache is as large as the block cache of the options: state `{TABLE}.block_cache`")]
    NoCapacity,
    #[error(
        "this release has no hyper clock cache in its C API, which is there from 8.1 on: leave `{CACHE_TYPE}` out"
    )]
    NotInRelease,
}

/// The options without `cache_type`, and without their block cache if that is to be a hyper clock cache.
pub fn taken_out(options: &str) -> Result<(String, Option<HyperClock>), HyperClockError> {
    let charges_blocks = match value_of(options, CACHE_TYPE) {
        None => return Ok((options.to_owned(), None)),
        Some("lru_cache") => return Ok((joined(without(options, CACHE_TYPE)), None)),
        Some("hyper_clock_cache" | "fixed_hyper_clock_cache") => true,
        Some("auto_hyper_clock_cache") => false,
        Some(other) => return Err(HyperClockError::UnknownType(other.to_owned())),
    };
    let table = unbraced(value_of(options, TABLE).unwrap_or_default());
    let settings = block_cache::settings(value_of(table, CACHE).ok_or(HyperClockError::NoCapacity)?);
    let setting = |wanted: &str| settings.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value);
    let capacity =
        setting("capacity").and_then(|bytes| bytes.parse().ok()).ok_or(HyperClockError::NoCapacity)?;
    let block_size = value_of(table, "block_size").and_then(|bytes| bytes.parse().ok());
    let cache = HyperClock {
        capacity,
        shard_bits: setting("num_shard_bits").and_then(|bits| bits.parse().ok()),
        entry_charge: if charges_blocks { block_size.unwrap_or(DEFAULT_BLOCK_SIZE) } else { 0 },
    };
    let kept = joined(without(table, CACHE));
    let table = format!("{{{kept}}}");
    let others = without(options, CACHE_TYPE).filter(|(name, _)| *name != TABLE);
    let table = (!kept.is_empty()).then_some((TABLE, table.as_str()));
    Ok((joined(others.chain(table)), Some(cache)))
}

/// The options at the outermost level but one.
fn without<'a>(options: &'a str, name: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    outermost(options).filter(move |(found, _)| *found != name)
}

fn unbraced(value: &str) -> &str {
    value.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(value)
}

fn joined<'a>(options: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    options.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(";")
}

impl HyperClock {
    /// Makes it the block cache of options from which others are yet to be made by a string: these take over what the string does not name.
    ///
    /// # Safety
    /// `options` must be a live handle of options of this library.
    pub unsafe fn give(self, api: &Api, options: Handle) -> Result<(), HyperClockError> {
        let OptionalFunctions {
            hyper_clock_cache_options_create: Some(create_settings),
            hyper_clock_cache_options_set_num_shard_bits: Some(set_num_shard_bits),
            hyper_clock_cache_options_destroy: Some(destroy_settings),
            cache_create_hyper_clock_opts: Some(create_cache),
            cache_destroy: Some(destroy_cache),
            block_based_options_create: Some(create_table),
            block_based_options_set_block_cache: Some(set_block_cache),
            options_set_block_based_table_factory: Some(set_table),
            block_based_options_destroy: Some(destroy_table),
            ..
        } = api.optional
        else {
            return Err(HyperClockError::NotInRelease);
        };
        // SAFETY: the caller vouches for `options`; all other handles are fresh, and what holds a cache or a table shares it.
        unsafe {
            let settings = create_settings(self.capacity, self.entry_charge);
            if let Some(bits) = self.shard_bits {
                set_num_shard_bits(settings, bits);
            }
            let cache = create_cache(settings);
            destroy_settings(settings);
            let table = create_table();
            set_block_cache(table, cache);
            set_table(options, table);
            destroy_table(table);
            destroy_cache(cache);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(options: &str) -> (String, Option<HyperClock>) {
        taken_out(options).unwrap()
    }

    #[test]
    fn without_a_cache_type_options_stay_as_they_are() {
        let options = "a=1;block_based_table_factory={block_cache={capacity=7;};block_size=8192}";
        assert_eq!(of(options), (options.to_owned(), None));
        assert_eq!(of(&format!("cache_type=lru_cache;{options}")), (options.to_owned(), None));
    }

    #[test]
    fn size_and_shards_are_those_of_the_block_cache_and_a_fixed_entry_is_a_block() {
        let options = "a=1;block_based_table_factory={block_cache={capacity=700;num_shard_bits=6;high_pri_pool_ratio=0.5;};block_size=8192};\
                       cache_type=";
        let left = "a=1;block_based_table_factory={block_size=8192}".to_owned();
        let cache = HyperClock { capacity: 700, shard_bits: Some(6), entry_charge: 8192 };
        assert_eq!(of(&format!("{options}hyper_clock_cache")), (left.clone(), Some(cache)));
        let any_size = HyperClock { entry_charge: 0, ..cache };
        assert_eq!(of(&format!("{options}auto_hyper_clock_cache")), (left, Some(any_size)));
        let plain = "cache_type=fixed_hyper_clock_cache;block_based_table_factory={block_cache=900}";
        let of_default_blocks = HyperClock { capacity: 900, shard_bits: None, entry_charge: 4096 };
        assert_eq!(of(plain), (String::new(), Some(of_default_blocks)));
    }

    #[test]
    fn what_cannot_be_made_is_refused() {
        assert_eq!(taken_out("cache_type=best"), Err(HyperClockError::UnknownType("best".to_owned())));
        let no_size =
            "cache_type=hyper_clock_cache;block_based_table_factory={block_cache={num_shard_bits=6;}}";
        for options in ["cache_type=hyper_clock_cache", no_size] {
            assert_eq!(taken_out(options), Err(HyperClockError::NoCapacity));
        }
    }
}
