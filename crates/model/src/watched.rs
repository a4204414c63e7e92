//! What a watch has found, from night to night.

use serde::Serialize;

/// A change that a watch has found. Its identity stays, whatever night it is seen in: that is what makes one message of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Watched {
    /// By which it is accepted; 0 until it is stored.
    pub number: i64,
    #[serde(flatten)]
    pub identity: Identity,
    /// Candidate over base when it was told last.
    pub ratio: f64,
    /// The interval of that.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// The last build without it; absent if no night before measured all subjects of the plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_without: Option<String>,
    /// The first build with it.
    pub first_with: String,
    pub state: WatchState,
    /// Whether its newest message was delivered; if not, the next night sends it again.
    #[serde(skip)]
    pub is_told: bool,
    /// The run in which it was seen first.
    pub first_run: String,
    /// The run in which it was seen last.
    pub last_run: String,
}

/// What makes two changes the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Identity {
    /// The plan's name.
    pub watch: String,
    pub host: String,
    pub workload: String,
    pub step: String,
    /// As the plan writes it.
    pub base: String,
    /// As the plan writes it, `postgres@git:master`: what it means moves on.
    pub candidate: String,
    /// Or faster.
    pub is_slower: bool,
}

/// What becomes of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum WatchState {
    /// Seen for the first time, or larger than when it was told: a message is due.
    New,
    /// Told in an earlier night.
    Known,
    /// Somebody said that it is to stay.
    Accepted,
    /// Ruled out again.
    Gone,
}

impl WatchState {
    /// The name in JSON and in the store.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl Identity {
    /// Whether it is about the same step of the same candidate, in either direction.
    pub fn is_of_same_step(&self, other: &Identity) -> bool {
        *self == Identity { is_slower: self.is_slower, ..other.clone() }
    }
}
