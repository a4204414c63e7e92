//! Values of settable compressibility, cut from a pool that is made once per step.

use crate::keys::{Stream, below, generator};
use rand_core::Rng;

/// Bytes of the pool. Values are cut from it one after another, so that making one costs a pointer; 1 MiB is
/// much more than a compressor sees of one block, and as much as db_bench has.
const POOL_BYTES: usize = 1 << 20;
/// The pool is made of pieces of this size: random bytes, then a run of one byte that a compressor removes.
const PIECE_BYTES: usize = 128;

/// A stream of values of one length.
pub struct Values {
    pool: Vec<u8>,
    length: usize,
    position: usize,
}

impl Values {
    /// Values of `length` bytes of which a compressor would remove `compressible_percent`.
    pub fn new(seed: u64, length: usize, compressible_percent: u8) -> Values {
        let mut random = generator(seed, Stream::Values);
        let random_bytes = PIECE_BYTES - PIECE_BYTES * usize::from(compressible_percent.min(100)) / 100;
        let mut pool = vec![0_u8; POOL_BYTES.max(length * 2)];
        for piece in pool.chunks_mut(PIECE_BYTES) {
            let filled = random_bytes.min(piece.len());
            random.fill_bytes(&mut piece[..filled]);
            piece[filled..].fill(b'x');
        }
        let start = below(&mut random, (pool.len() - length) as u64);
        Values { pool, length, position: usize::try_from(start).unwrap_or(0) }
    }

    /// The next value.
    #[inline]
    pub fn next(&mut self) -> &[u8] {
        if self.position + self.length > self.pool.len() {
            self.position = 0;
        }
        let start = self.position;
        self.position += self.length;
        &self.pool[start..self.position]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stated_share_is_compressible() {
        for percent in [0, 50, 100] {
            let values = Values::new(1, 400, percent);
            let runs = values.pool.iter().filter(|byte| **byte == b'x').count();
            let share = runs as f64 / values.pool.len() as f64 * 100.0;
            assert!((share - f64::from(percent)).abs() < 1.0, "{percent}: {share}");
        }
    }

    #[test]
    fn a_seed_gives_its_values_and_the_pool_wraps() {
        let mut left = Values::new(9, 400, 50);
        let mut right = Values::new(9, 400, 50);
        let mut other = Values::new(10, 400, 50);
        for _ in 0..5000 {
            let value = left.next().to_vec();
            assert_eq!(value.len(), 400);
            assert_eq!(value, right.next());
        }
        assert_ne!(left.next(), other.next());
        assert_eq!(Values::new(1, 900_000, 0).next().len(), 900_000);
    }
}
