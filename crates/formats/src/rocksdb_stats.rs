//! RocksDB's property `rocksdb.stats`, which is also what db_bench prints for `stats` and what the LOG dumps.
//!
//! Releases 5.18 to 11.8; columns are found by their header, since releases have added some in between:
//!
//! ```text
//! Level    Files   Size     Score Read(GB)  Rn(GB) .. Wr(MB/s) Comp(sec) CompMergeCPU(sec) Comp(cnt) ..
//!  Sum     48/0   12.04 MB   0.0      0.2     0.1  ..     79.6      2.16              0.83       287 ..
//! Cumulative compaction: 0.17 GB write, 67.11 MB/s write, 0.16 GB read, 62.42 MB/s read, 2.2 seconds
//! ```
//!
//! Gigabytes with one or two decimals are coarse: 0.17 GB is off by up to 5 MB. Where the same line also has a rate
//! in MB/s, the rate times the uptime is used if that is known more exactly, by the digits printed. An uptime of `0.0` is
//! taken as 0.025 s there, so that what was written is not nothing.

mod parse;

pub use parse::{parse, parse_all};

use std::collections::BTreeMap;

/// What RocksDB says of itself. Totals are since the database was opened, over all column families in the text.
/// What the text does not have is absent: releases differ.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RocksDbStats {
    /// Seconds since the database was opened.
    pub uptime_s: Option<f64>,
    /// Bytes of all SST files now.
    pub lsm_bytes: Option<u64>,
    pub files: Option<u64>,
    /// Bytes of all blob files now; absent also where there are some and their size is rounded to nothing.
    pub blob_bytes: Option<u64>,
    pub blob_files: Option<u64>,
    /// Bytes that flushes and compactions wrote.
    pub compaction_write_bytes: Option<u64>,
    /// The same per second of the uptime.
    pub compaction_write_bytes_per_s: Option<f64>,
    pub compaction_read_bytes: Option<u64>,
    /// Wall seconds of all flushes and compactions, added up: more than the uptime where several run at once.
    pub compaction_s: Option<f64>,
    /// Their CPU seconds; from 6.0 on.
    pub compaction_cpu_s: Option<f64>,
    /// Bytes that compactions read from blob files; from 6.20 or so on, to a tenth of a GB.
    pub blob_read_bytes: Option<u64>,
    /// Bytes that flushes and compactions wrote to blob files, to a tenth of a GB.
    pub blob_write_bytes: Option<u64>,
    pub flush_bytes: Option<u64>,
    /// Bytes that the user wrote.
    pub ingest_bytes: Option<u64>,
    /// Writes of the user, to four digits or so.
    pub writes: Option<u64>,
    /// Seconds for which writes were held up.
    pub stall_s: Option<f64>,
    /// The same in percent of the uptime.
    pub stall_percent: Option<f64>,
    /// How often writes were held up, by the names that the release has for the causes. Names change with 8.1;
    /// [`RocksDbStats::stall_count`] is the sum for either.
    pub stalls: BTreeMap<String, u64>,
    /// Levels, from 0 down; of the first column family.
    pub levels: Vec<LevelRow>,
}

/// A row of the table of levels.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LevelRow {
    /// `L0`, `Sum`.
    pub level: String,
    pub files: Option<u64>,
    pub bytes: Option<u64>,
    /// Need for compaction; above 1 the level is too large.
    pub score: Option<f64>,
    /// Bytes read, to a tenth of a GB.
    pub read_bytes: Option<u64>,
    /// Bytes written, to a tenth of a GB.
    pub write_bytes: Option<u64>,
    /// Bytes written over bytes that came from the level above.
    pub write_amplification: Option<f64>,
    /// Wall seconds of compactions into this level.
    pub compaction_s: Option<f64>,
    pub compaction_cpu_s: Option<f64>,
    /// How many there were.
    pub compactions: Option<u64>,
    /// Keys that went into them.
    pub keys_in: Option<u64>,
    /// Keys that did not come out.
    pub keys_dropped: Option<u64>,
    /// Bytes read from blob files, to a tenth of a GB.
    pub blob_read_bytes: Option<u64>,
    /// Bytes written to blob files, to a tenth of a GB.
    pub blob_write_bytes: Option<u64>,
}

/// The causes up to 8.0 that do not lie within another one: benchmark.sh adds up these six.
const CAUSES_TO_8_0: [&str; 6] = [
    "level0_slowdown",
    "level0_numfiles",
    "stop for pending_compaction_bytes",
    "slowdown for pending_compaction_bytes",
    "memtable_compaction",
    "memtable_slowdown",
];

/// From 8.1 on: the sums, and the one cause that is none of a column family and so in no sum.
const SUMS_FROM_8_1: [&str; 3] = ["total-delays", "total-stops", "write-buffer-manager-limit-stops"];

impl RocksDbStats {
    /// How often writes were held up, each time counted once; absent where the text does not say.
    pub fn stall_count(&self) -> Option<u64> {
        let sum = |names: &[&str]| -> u64 {
            let counts = names.iter().filter_map(|name| self.stalls.get(*name));
            counts.fold(0, |sum, count| sum.saturating_add(*count))
        };
        if self.stalls.contains_key("total-delays") {
            return Some(sum(&SUMS_FROM_8_1));
        }
        self.stalls.contains_key("level0_slowdown").then(|| sum(&CAUSES_TO_8_0))
    }

    /// Bytes written by flushes and compactions over bytes that the user wrote; absent where nothing was written.
    ///
    /// As benchmark.sh has it: (compaction + flush) / ingest. What compaction wrote contains what flushes wrote, so
    /// that a flush counts twice; posts of many years are written with this number.
    pub fn write_amplification(&self) -> Option<f64> {
        let ingest = self.ingest_bytes.filter(|bytes| *bytes > 0)?;
        let written = self.compaction_write_bytes?.saturating_add(self.flush_bytes?);
        Some(written as f64 / ingest as f64)
    }

    /// What happened between two texts of one process: totals as differences, what is there now (files and sizes)
    /// as it is in the later text, rates over the time between. Rounding can make a difference of two totals
    /// negative; it is 0 then. A rate is absent where no time went by.
    #[must_use]
    pub fn since(&self, before: &RocksDbStats) -> RocksDbStats {
        let uptime_s = seconds_since(self.uptime_s, before.uptime_s);
        let compaction_write_bytes = since(self.compaction_write_bytes, before.compaction_write_bytes);
        let stall_s = seconds_since(self.stall_s, before.stall_s);
        let per_s = |value: Option<f64>| Some(value? / uptime_s.filter(|uptime| *uptime > 0.0)?);
        RocksDbStats {
            uptime_s,
            lsm_bytes: self.lsm_bytes,
            files: self.files,
            blob_bytes: self.blob_bytes,
            blob_files: self.blob_files,
            compaction_write_bytes,
            compaction_write_bytes_per_s: per_s(compaction_write_bytes.map(|bytes| bytes as f64)),
            compaction_read_bytes: since(self.compaction_read_bytes, before.compaction_read_bytes),
            compaction_s: seconds_since(self.compaction_s, before.compaction_s),
            compaction_cpu_s: seconds_since(self.compaction_cpu_s, before.compaction_cpu_s),
            blob_read_bytes: since(self.blob_read_bytes, before.blob_read_bytes),
            blob_write_bytes: since(self.blob_write_bytes, before.blob_write_bytes),
            flush_bytes: since(self.flush_bytes, before.flush_bytes),
            ingest_bytes: since(self.ingest_bytes, before.ingest_bytes),
            writes: since(self.writes, before.writes),
            stall_s,
            stall_percent: per_s(stall_s).map(|share| share * 100.0),
            stalls: self
                .stalls
                .iter()
                .map(|(name, count)| {
                    (name.clone(), count.saturating_sub(before.stalls.get(name).copied().unwrap_or(0)))
                })
                .collect(),
            levels: self
                .levels
                .iter()
                .map(|row| match before.levels.iter().find(|earlier| earlier.level == row.level) {
                    Some(earlier) => row.since(earlier),
                    None => row.clone(), // a level that was empty has no row
                })
                .collect(),
        }
    }
}

impl LevelRow {
    fn since(&self, before: &LevelRow) -> LevelRow {
        LevelRow {
            level: self.level.clone(),
            files: self.files,
            bytes: self.bytes,
            score: self.score,
            read_bytes: since(self.read_bytes, before.read_bytes),
            write_bytes: since(self.write_bytes, before.write_bytes),
            write_amplification: None, // what came from above is not printed by itself
            compaction_s: seconds_since(self.compaction_s, before.compaction_s),
            compaction_cpu_s: seconds_since(self.compaction_cpu_s, before.compaction_cpu_s),
            compactions: since(self.compactions, before.compactions),
            keys_in: since(self.keys_in, before.keys_in),
            keys_dropped: since(self.keys_dropped, before.keys_dropped),
            blob_read_bytes: since(self.blob_read_bytes, before.blob_read_bytes),
            blob_write_bytes: since(self.blob_write_bytes, before.blob_write_bytes),
        }
    }
}

fn since(later: Option<u64>, before: Option<u64>) -> Option<u64> {
    Some(later?.saturating_sub(before?))
}

fn seconds_since(later: Option<f64>, before: Option<f64>) -> Option<f64> {
    Some((later? - before?).max(0.0))
}

#[cfg(test)]
mod tests;
