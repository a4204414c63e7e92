//! Test hook: what a planted slowdown spends its time on, so that explanations can be held against what is known.

use serde::{Deserialize, Serialize};

/// What is done after each operation, for a share of the operation's time.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum PlantedAs {
    /// CPU is burnt in one function.
    #[default]
    Cpu,
    /// A lock is waited for that another thread holds.
    Lock,
    Sleep,
    /// Pages of a file are read from the device.
    Reads,
    /// System calls that do nothing.
    Calls,
}

impl PlantedAs {
    /// The one of this name.
    pub fn named(name: &str) -> Option<PlantedAs> {
        <PlantedAs as strum::VariantArray>::VARIANTS.iter().copied().find(|one| one.name() == name)
    }

    pub fn name(self) -> &'static str {
        self.into()
    }
}
