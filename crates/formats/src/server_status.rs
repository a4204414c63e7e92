//! What a server says of its state, as our client writes it down: one `name = value` a line, after the free texts of
//! storage engines. Three lines of a Postgres 16.3 and one of a MariaDB 10.11:
//!
//! ```text
//! pg_database_size = 7598895
//! pg_stat_database.blks_hit = 183345
//! pg_stat_database.blks_read = 612
//! Innodb_buffer_pool_read_requests = 99211
//! ```

use std::collections::BTreeMap;

/// Counters and levels by name; what is no whole number is not among them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerStatus {
    values: BTreeMap<String, u64>,
}

/// Where pages are counted: those asked for, and those of them that were not in the cache.
struct Cache {
    /// Asked for; of some servers without the missed ones.
    asked: &'static str,
    missed: &'static str,
    asked_has_missed: bool,
}

/// Postgres' buffers, InnoDB's buffer pool, the block cache of RocksDB, the cache of WiredTiger.
const CACHES: [Cache; 4] = [
    Cache {
        asked: "pg_stat_database.blks_hit",
        missed: "pg_stat_database.blks_read",
        asked_has_missed: false,
    },
    Cache {
        asked: "innodb_buffer_pool_read_requests",
        missed: "innodb_buffer_pool_reads",
        asked_has_missed: true,
    },
    Cache { asked: "rocksdb_block_cache_hit", missed: "rocksdb_block_cache_miss", asked_has_missed: false },
    Cache {
        asked: "wiredtiger.cache.pages requested from the cache",
        missed: "wiredtiger.cache.pages read into cache",
        asked_has_missed: true,
    },
];

/// Bytes of the database.
const SIZES: [&str; 2] = ["pg_database_size", "database_size"];

/// Reads the lines of counters and passes over everything else.
pub fn parse(text: &str) -> ServerStatus {
    let counter = |line: &str| {
        let (name, value) = line.split_once(" = ")?;
        // Releases differ in how they capitalise.
        Some((name.to_ascii_lowercase(), value.trim().parse().ok()?))
    };
    ServerStatus { values: text.lines().filter_map(counter).collect() }
}

impl ServerStatus {
    /// The counter or level of this name, in lower case.
    pub fn get(&self, name: &str) -> Option<u64> {
        self.values.get(name).copied()
    }

    /// Bytes of the database, by the server's own account.
    pub fn database_bytes(&self) -> Option<u64> {
        SIZES.iter().find_map(|name| self.get(name))
    }

    /// By how much each has risen since `before`, 0 included; what fell is a level, or was reset, and is left out.
    pub fn risen_since(&self, before: &ServerStatus) -> BTreeMap<&str, u64> {
        let risen = |(name, value): (&'_ String, &u64)| value.checked_sub(before.get(name)?);
        self.values.iter().filter_map(|one| Some((one.0.as_str(), risen(one)?))).collect()
    }

    /// The share of pages that were found in the server's own cache since `before`, in percent; absent where none was
    /// asked for, or the server says nothing of it.
    pub fn hit_percent_since(&self, before: &ServerStatus) -> Option<f64> {
        let since = |name: &str| self.get(name)?.checked_sub(before.get(name)?);
        let mut asked: u64 = 0;
        let mut missed: u64 = 0;
        for cache in &CACHES {
            if let (Some(of_cache), Some(missed_here)) = (since(cache.asked), since(cache.missed)) {
                let of_cache =
                    if cache.asked_has_missed { of_cache } else { of_cache.saturating_add(missed_here) };
                asked = asked.saturating_add(of_cache);
                missed = missed.saturating_add(missed_here);
            }
        }
        (asked > 0).then(|| 100.0 * (1.0 - missed as f64 / asked as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_hits_is_that_of_the_time_between() {
        let status = |hit: u64, read: u64| {
            parse(&format!("pg_stat_database.blks_hit = {hit}\npg_stat_database.blks_read = {read}\n"))
        };
        assert_eq!(status(1900, 200).hit_percent_since(&status(1000, 100)), Some(90.0));
        assert_eq!(status(1000, 100).hit_percent_since(&status(1000, 100)), None);
        assert_eq!(status(1, 1).hit_percent_since(&status(2, 2)), None, "a server that was started anew");
        let innodb =
            parse("Innodb_buffer_pool_read_requests = 1000\nInnodb_buffer_pool_reads = 10\nRocksdb_x = 1\n");
        assert_eq!(
            innodb.hit_percent_since(&parse(
                "innodb_buffer_pool_read_requests = 0\ninnodb_buffer_pool_reads = 0\n"
            )),
            Some(99.0)
        );
        let wired_tiger = |requested: u32, read: u32| {
            parse(&format!(
                "wiredTiger.cache.pages read into cache = {read}\nwiredTiger.cache.pages requested from the cache = {requested}\n"
            ))
        };
        assert_eq!(wired_tiger(1200, 60).hit_percent_since(&wired_tiger(200, 10)), Some(95.0));
        let none_hit = status(u64::MAX, u64::MAX).hit_percent_since(&status(0, 0));
        assert_eq!(none_hit, Some(0.0), "no server counts so far, and one that says so ends nothing");
    }

    #[test]
    fn what_has_risen_is_told_and_what_fell_or_is_new_is_not() {
        let before = parse("Handler_read_key = 10\nThreads_running = 3\nQuestions = 5\n");
        let after = parse("Handler_read_key = 25\nThreads_running = 1\nQuestions = 5\nUptime = 7\n");
        assert_eq!(after.risen_since(&before), BTreeMap::from([("handler_read_key", 15), ("questions", 0)]));
    }

    #[test]
    fn texts_of_engines_and_lines_cut_short_are_passed_over() {
        let text = "-- SHOW ENGINE INNODB STATUS\nTrx id counter 1 = not a number\nQueries = 12\nDatabase_size = 4096\nUptime =";
        let status = parse(text);
        assert_eq!((status.get("queries"), status.database_bytes()), (Some(12), Some(4096)));
        assert_eq!(status.values.len(), 2);
    }
}
