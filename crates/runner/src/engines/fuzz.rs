//! What the fuzz target `archives` calls. Compiled with `--cfg fuzzing` alone.

use super::archive_limits::{Limits, UnpackedSoFar};
use super::error::EngineError;
use super::jar::{Extraction, extract_directory_within};
use super::unpack::{Unpacking, unpack_within};
use model::units::Bytes;
use std::path::Path;

/// So little that a file system in memory holds it.
const LIMITS: Limits = Limits { bytes: Bytes::from_mib(16), entries: 1000, left_free: Bytes(0) };

/// The directory that is taken out of a jar.
const WANTED: &str = "linux";

fn unpacking<'a>(archive: &'a Path, to: &'a Path) -> Unpacking<'a> {
    Unpacking { archive, coordinates: "npm:fuzzed@1", again: "fetch again", to }
}

/// Unpacks an archive, gzip or xz by its first bytes, to below a directory.
pub fn unpack(archive: &Path, to: &Path) -> Result<(), EngineError> {
    unpack_within(&unpacking(archive, to), LIMITS)
}

/// Unpacks a tar archive that is not compressed, so that no checksum has to be met.
pub fn unpack_tar(content: &[u8], archive: &Path, to: &Path) -> Result<(), EngineError> {
    unpacking(archive, to).unpack_tar(content, &UnpackedSoFar::nothing(LIMITS))
}

/// Takes a directory out of a jar, to below another one that is there.
pub fn extract(jar: &Path, to: &Path) -> Result<(), EngineError> {
    let what = Extraction { jar, coordinates: "a:fuzzed:1", wanted: WANTED, to };
    extract_directory_within(&what, LIMITS)
}
