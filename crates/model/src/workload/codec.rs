//! What compresses the blocks of a file that a step builds.

use serde::{Deserialize, Serialize};
use strum::VariantArray;

/// A codec, by the name that workload files give it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr, strum::VariantArray,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Codec {
    /// Blocks are written as they are.
    None,
    Snappy,
    Lz4,
    Zstd,
}

impl Codec {
    /// Every codec, by the size of what it leaves, the largest first.
    pub const ALL: &[Codec] = Codec::VARIANTS;

    /// Its name.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The codec of this name.
    pub fn named(name: &str) -> Option<Codec> {
        Codec::ALL.iter().copied().find(|codec| codec.name() == name)
    }
}
