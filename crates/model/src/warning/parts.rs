//! What warnings are made of.

use serde::{Deserialize, Serialize};

/// A subject and the function of the engine that a step calls it by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiCall {
    pub subject: String,
    pub function: String,
}

/// Who of a comparison, where no subject is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Party {
    Base,
    Candidate,
    /// A candidate among several releases.
    Version,
}

/// Why rounds have no interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
pub enum NoInterval {
    #[strum(serialize = "fewer than two rounds")]
    FewerThanTwoRounds,
    /// Versions lend each other what they know of the noise.
    #[strum(serialize = "two rounds of so few versions are too little to estimate the noise")]
    TwoRoundsOfFewVersions,
    #[strum(serialize = "no round repeats another")]
    NothingRepeats,
}

/// A part of a tree that differs between the sides in most launches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DifferingPart {
    /// `L0 files`
    pub part: String,
    /// In the last launch in which it differs.
    pub base: u64,
    /// In the same launch.
    pub candidate: u64,
    /// In how many it differs.
    pub launches: u64,
}

/// What is shown of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selected {
    pub shown: u64,
    pub all: u64,
    pub names: Vec<String>,
}

/// What an engine said of itself and no parser knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreadTexts {
    pub subject: String,
    pub count: u32,
    /// What is wrong with the first of them.
    pub first: String,
}
