//! Values of settable compressibility, cut from a pool that is made once per step.

use crate::keys::{Stream, below, generator};

/// Bytes of the pool. Values are cut from it one after another, so that making one costs a pointer; 1 MiB is
/// much more than a compressor sees of one block, and as much as db_bench has.
const POOL_BYTES: usize = 1 << 20;
/// The pool is made of pieces of this size, as db_bench's is: random printable characters, and the same again until the piece is full. A
/// compressor finds matches there and not runs, and a few bits in each character.
const PIECE_BYTES: usize = 100;
/// The printable characters of ASCII begin here, and are so many.
const FIRST_PRINTABLE: u8 = b' ';
const PRINTABLE: u64 = 95;

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
        let at_random = at_random(compressible_percent);
        let mut pool = vec![0_u8; POOL_BYTES.max(length * 2)];
        for piece in pool.chunks_mut(PIECE_BYTES) {
            for place in 0..piece.len() {
                piece[place] = match place.checked_sub(at_random) {
                    Some(earlier) => piece[earlier],
                    #[expect(clippy::cast_possible_truncation, reason = "below 95")]
                    None => FIRST_PRINTABLE + below(&mut random, PRINTABLE) as u8,
                };
            }
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

/// Bytes of a piece that are random, one at least.
fn at_random(compressible_percent: u8) -> usize {
    (PIECE_BYTES - PIECE_BYTES * usize::from(compressible_percent.min(100)) / 100).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stated_share_is_compressible() {
        for percent in [0, 50, 80, 100] {
            let values = Values::new(1, 400, percent);
            assert!(values.pool.iter().all(|byte| (b' '..=b'~').contains(byte)));
            let again = |piece: &[u8]| {
                piece.windows(at_random(percent) + 1).filter(|part| part.first() == part.last()).count()
            };
            let repeated: usize = values.pool.chunks(PIECE_BYTES).map(again).sum();
            let share = repeated as f64 / values.pool.len() as f64 * 100.0;
            assert!((share - f64::from(percent)).abs() < 1.5, "{percent}: {share}");
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
