//! What RocksDB says of itself: its statistics, and its tickers.

#![no_main]

use formats::rocksdb_stats::{self, RocksDbStats};
use formats::rocksdb_tickers::{self, Tickers};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    fuzz::import(bytes, |text| {
        for stats in rocksdb_stats::parse_all(text)? {
            let _ = (stats.stall_count(), stats.write_amplification(), stats.since(&RocksDbStats::default()));
        }
        Ok(Vec::new())
    });
    fuzz::import(bytes, |text| {
        let _ = rocksdb_tickers::parse(text)?.since(&Tickers::default());
        Ok(Vec::new())
    });
});
