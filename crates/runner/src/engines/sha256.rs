//! SHA-256 of files, read in pieces.

use super::error::EngineError;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Read at a time: not chosen by measurement, large enough that the calls do not count.
pub(super) const PIECE_BYTES: usize = 256 << 10;

/// The checksum of a file, as 64 hexadecimal digits, and its size.
pub(crate) fn of_file(path: &Path) -> Result<(String, u64), EngineError> {
    let read = EngineError::io("read", path);
    of_reader(File::open(path).map_err(&read)?).map_err(&read)
}

/// The checksum of bytes.
pub(crate) fn of_bytes(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// One checksum of several files: of their paths and checksums, in this order.
pub(crate) fn of_files(paths: &[PathBuf]) -> Result<String, EngineError> {
    let mut hasher = Sha256::new();
    for path in paths {
        hasher.update(format!("{} {}\n", path.display(), of_file(path)?.0));
    }
    Ok(hexadecimal(&hasher.finalize()))
}

fn of_reader(mut reader: impl Read) -> io::Result<(String, u64)> {
    let mut hasher = Sha256::new();
    let mut size = 0;
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let length = match reader.read(&mut piece) {
            Ok(0) => return Ok((hexadecimal(&hasher.finalize()), size)),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hasher.update(&piece[..length]);
        size += length as u64;
    }
}

/// Bytes as digits.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected values are the examples of FIPS 180-4 for "abc" and a million times "a".
    #[test]
    fn the_examples_of_the_standard_are_met() {
        assert_eq!(
            of_reader(&b"abc"[..]).unwrap(),
            ("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".to_owned(), 3)
        );
        assert_eq!(
            of_reader(io::repeat(b'a').take(1_000_000)).unwrap(),
            ("cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0".to_owned(), 1_000_000)
        );
    }
}
