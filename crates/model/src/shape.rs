//! The shape of an LSM tree: what a read step's speed depends on more than on any regression worth finding.

use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Files and bytes of one level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Level {
    pub files: u64,
    pub bytes: Bytes,
}

/// The shape of a tree at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// Levels from 0 down.
    pub levels: Vec<Level>,
    /// Bytes in memtables, active and immutable.
    pub memtable: Bytes,
    /// Bytes that compaction would have to rewrite.
    pub pending_compaction: Bytes,
}

/// A difference in shape between two sides that is beyond tolerance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShapeDifference {
    /// `L0 files`, `L2 bytes`, `memtable`, `pending compaction`.
    pub part: String,
    pub base: u64,
    pub candidate: u64,
}

/// Two shapes to compare.
#[derive(Debug, Clone, Copy)]
pub struct ShapePair<'a> {
    pub base: &'a Shape,
    pub candidate: &'a Shape,
}

/// Equal within one L0 file (statistics 1.9, rule 17).
const L0_FILES_TOLERANCE: u64 = 1;
/// Equal within 5 % of the bytes of a level (statistics 1.9, rule 17).
const LEVEL_BYTES_TOLERANCE: f64 = 0.05;
/// Equal within a quarter of a memtable (statistics 1.9, rule 17).
const MEMTABLE_TOLERANCE: f64 = 0.25;
/// Background debt is equal within 5 % of the bytes that the step ingested (statistics 1.9, rule 17).
const DEBT_TOLERANCE: f64 = 0.05;

/// What differs beyond the tolerances of statistics 1.9, rule 17.
///
/// `write_buffer` is the configured size of a memtable and `ingested` the bytes that the step wrote. Levels
/// below one file's worth (`write_buffer`) are not compared by bytes: there one file is more than 5 %.
pub fn differences(pair: ShapePair<'_>, write_buffer: Bytes, ingested: Bytes) -> Vec<ShapeDifference> {
    let mut found = Vec::new();
    let mut note = |part: String, base: u64, candidate: u64| {
        found.push(ShapeDifference { part, base, candidate });
    };
    let none = Level::default();
    for index in 0..pair.base.levels.len().max(pair.candidate.levels.len()) {
        let base = pair.base.levels.get(index).unwrap_or(&none);
        let candidate = pair.candidate.levels.get(index).unwrap_or(&none);
        if index == 0 && base.files.abs_diff(candidate.files) > L0_FILES_TOLERANCE {
            note("L0 files".to_owned(), base.files, candidate.files);
        }
        let larger = base.bytes.max(candidate.bytes).0;
        let tolerated = (larger as f64 * LEVEL_BYTES_TOLERANCE).max(write_buffer.0 as f64);
        if index > 0 && base.bytes.0.abs_diff(candidate.bytes.0) as f64 > tolerated {
            note(format!("L{index} bytes"), base.bytes.0, candidate.bytes.0);
        }
    }
    let memtable = (pair.base.memtable.0, pair.candidate.memtable.0);
    if memtable.0.abs_diff(memtable.1) as f64 > write_buffer.0 as f64 * MEMTABLE_TOLERANCE {
        note("memtable bytes".to_owned(), memtable.0, memtable.1);
    }
    let debt = (pair.base.pending_compaction.0, pair.candidate.pending_compaction.0);
    if debt.0.abs_diff(debt.1) as f64 > (ingested.0 as f64 * DEBT_TOLERANCE).max(write_buffer.0 as f64) {
        note("pending compaction bytes".to_owned(), debt.0, debt.1);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(l0_files: u64, l1: u64, memtable: u64) -> Shape {
        Shape {
            levels: vec![
                Level { files: l0_files, bytes: Bytes(l0_files << 24) },
                Level { files: 4, bytes: Bytes(l1) },
            ],
            memtable: Bytes(memtable),
            pending_compaction: Bytes(0),
        }
    }

    #[test]
    fn small_differences_pass_and_large_ones_are_named() {
        let write_buffer = Bytes::from_mib(16);
        let base = tree(1, 640 << 20, 1 << 20);
        let near = tree(2, 660 << 20, 3 << 20);
        let far = tree(5, 800 << 20, 15 << 20);
        let check = |candidate: &Shape| {
            differences(ShapePair { base: &base, candidate }, write_buffer, Bytes::from_mib(100))
                .into_iter()
                .map(|difference| difference.part)
                .collect::<Vec<_>>()
        };
        assert_eq!(check(&near), Vec::<String>::new());
        assert_eq!(check(&far), ["L0 files", "L1 bytes", "memtable bytes"]);
    }
}
