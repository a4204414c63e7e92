//! Key streams: which key comes next, and its bytes.
//!
//! The generator is Xoshiro256++ by name, so that a seed gives the same keys in every version of dbdyno.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Streams of one seed that must not coincide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Keys of a foreground thread.
    Foreground(u32),
    BackgroundWriter,
    /// Bytes of the value pool.
    Values,
    /// Where an image's files are cut.
    FileCuts,
    /// Rows of a table of this number.
    Rows(u32),
    /// Those from one row of a table on, where several threads load it.
    RowsFrom {
        table: u32,
        row: u64,
    },
}

/// The generator of one stream of a seed.
pub fn generator(seed: u64, stream: Stream) -> Xoshiro256PlusPlus {
    let offset = match stream {
        Stream::Values => 1,
        Stream::FileCuts => 2,
        Stream::BackgroundWriter => 3,
        Stream::Foreground(thread) => 16 + u64::from(thread),
        // After all threads.
        Stream::Rows(table) => (1 << 33) + u64::from(table),
        // A table has fewer than 2^40 rows (`MOST_KEYS`), and there are fewer than 2^14 tables.
        Stream::RowsFrom { table, row } => (1 << 63) + (u64::from(table) << 40) + row,
    };
    // `seed_from_u64` runs the number through SplitMix64, so that neighbouring seeds give unrelated streams.
    Xoshiro256PlusPlus::seed_from_u64(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(offset))
}

/// A number drawn uniformly from `0..bound` by multiply and shift (Lemire 2019, without the rejection: the
/// bias is below `bound / 2^64`). `bound` must not be 0.
#[inline]
pub fn below(random: &mut Xoshiro256PlusPlus, bound: u64) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(bound)) >> 64) as u64
}

/// The bytes of one key at a time: its number, big-endian, in the first eight bytes, then `0`s; so the order
/// of bytes is the order of numbers.
pub struct KeyBytes {
    bytes: Vec<u8>,
}

impl KeyBytes {
    /// Keys of this length, at least 8.
    pub fn new(length: usize) -> KeyBytes {
        assert!(length >= 8, "a key holds its number in eight bytes");
        KeyBytes { bytes: vec![b'0'; length] }
    }

    /// The key of this number.
    #[inline]
    pub fn of(&mut self, number: u64) -> &[u8] {
        self.bytes[..8].copy_from_slice(&number.to_be_bytes());
        &self.bytes
    }
}

/// The number of a key; of one that is shorter than eight bytes, that of what there is.
#[inline]
pub fn number_of(key: &[u8]) -> u64 {
    match key.first_chunk() {
        Some(number) => u64::from_be_bytes(*number),
        None => key.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_of_a_seed_never_changes() {
        let mut random = generator(42, Stream::Foreground(0));
        let drawn: Vec<u64> = (0..4).map(|_| below(&mut random, 1000)).collect();
        assert_eq!(drawn, [579, 75, 81, 7], "a changed stream makes stored runs incomparable");
    }

    #[test]
    fn draws_are_uniform_and_streams_differ() {
        let mut counts = [0_u32; 10];
        let mut random = generator(7, Stream::BackgroundWriter);
        for _ in 0..100_000 {
            counts[usize::try_from(below(&mut random, 10)).unwrap()] += 1;
        }
        assert!(counts.iter().all(|count| (9_600..10_400).contains(count)), "{counts:?}");
        let first = |stream| generator(7, stream).next_u64();
        assert_ne!(first(Stream::Foreground(0)), first(Stream::Foreground(1)));
        assert_ne!(first(Stream::Values), first(Stream::FileCuts));
        let of_row = |table, row| first(Stream::RowsFrom { table, row });
        assert!(of_row(1, 1) != of_row(1, 101) && of_row(1, 1) != of_row(2, 1));
    }

    #[test]
    fn key_bytes_sort_as_their_numbers() {
        let mut keys = KeyBytes::new(20);
        let small = keys.of(255).to_vec();
        let large = keys.of(256).to_vec();
        assert!(small < large);
        assert_eq!((number_of(&small), number_of(&large), number_of(&[1, 2])), (255, 256, 258));
        assert_eq!(small, b"\0\0\0\0\0\0\0\xff000000000000");
    }
}
