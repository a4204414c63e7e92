//! Which release of an engine knows which option: data, found by trying.

use crate::subject::compare_versions;
use serde::Deserialize;
use std::cmp::Ordering;

/// What was found out about the options of one engine.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OptionHistory {
    pub engine: String,
    /// The releases that were tried, oldest first.
    pub tried: Vec<String>,
    #[serde(rename = "option")]
    options: Vec<OptionEntry>,
    #[serde(default, rename = "default")]
    pub defaults: Vec<ChangedDefault>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct OptionEntry {
    name: String,
    value: Option<String>,
    since: Option<String>,
    until: Option<String>,
    #[serde(rename = "note")]
    _note: Option<String>,
}

/// What a release does where an option is not given.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangedDefault {
    pub name: String,
    /// The first release tried that does the new.
    pub from: String,
    /// What the releases before it did.
    pub before: String,
    pub after: String,
    #[serde(default, rename = "note")]
    _note: Option<String>,
}

/// Why the history could not be read.
#[derive(Debug, thiserror::Error)]
#[error("failed to parse the options of an engine's releases `{origin}`")]
pub struct OptionHistoryError {
    origin: String,
    source: Box<toml::de::Error>,
}

/// Whether a release knows an option, with the words for a user where it does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Known {
    Yes,
    /// It does not: `rocksdb knows enable_blob_files from 6.15.5 on`.
    No(String),
    Unknown,
}

impl OptionHistory {
    /// Reads the history; `origin` names the file in errors.
    pub fn parse(text: &str, origin: &str) -> Result<OptionHistory, OptionHistoryError> {
        toml::from_str(text)
            .map_err(|source| OptionHistoryError { origin: origin.to_owned(), source: Box::new(source) })
    }

    /// Whether a release of this engine knows an option with this value. A release between the last one tried
    /// without and the first one tried with it is not judged, nor is one that is older or newer than all tried.
    pub fn knows(&self, release: &str, option: &str, value: &str) -> Known {
        let of_name = || self.options.iter().filter(|entry| entry.name == option);
        let of_value = of_name().find(|entry| entry.value.as_deref() == Some(value));
        let Some(entry) = of_value.or_else(|| of_name().find(|entry| entry.value.is_none())) else {
            return Known::Unknown;
        };
        let before = |one: &str, other: &str| compare_versions(one, other) == Ordering::Less;
        if let Some(since) = &entry.since {
            let last_without = self.tried.iter().rfind(|tried| before(tried, since));
            if last_without.is_some_and(|last| !before(last, release)) {
                return Known::No(format!("{} knows {option} from {since} on", self.engine));
            }
            if before(release, since) {
                return Known::Unknown;
            }
        }
        if let Some(until) = &entry.until {
            let first_without = self.tried.iter().find(|tried| before(until, tried));
            if first_without.is_some_and(|first| !before(release, first)) {
                return Known::No(format!("{} knows {option} up to {until}", self.engine));
            }
            if before(until, release) {
                return Known::Unknown;
            }
        }
        Known::Yes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HISTORY: &str = "engine = 'rocksdb'\ntried = ['6.0.2', '6.11.4', '6.15.5', '8.0.0', '8.10.0']\n\
        [[option]]\nname = 'enable_blob_files'\nsince = '6.15.5'\n\
        [[option]]\nname = 'old'\nuntil = '8.0.0'\n\
        [[default]]\nname = 'ttl'\nfrom = '6.15.5'\nbefore = '0'\nafter = '1'\n";

    #[test]
    fn a_release_is_judged_by_those_that_were_tried() {
        let history = OptionHistory::parse(HISTORY, "test").unwrap();
        let known = |release, option| history.knows(release, option, "true");
        assert_eq!(
            known("6.11.4", "enable_blob_files"),
            Known::No("rocksdb knows enable_blob_files from 6.15.5 on".to_owned())
        );
        assert_eq!(known("6.12.7", "enable_blob_files"), Known::Unknown, "between two that were tried");
        assert_eq!(known("8.9.1", "enable_blob_files"), Known::Yes);
        assert_eq!(known("8.9.1", "old"), Known::Unknown);
        assert!(matches!(known("8.10.0", "old"), Known::No(_)), "numbers, not texts");
        assert_eq!(known("8.0.0", "other"), Known::Unknown);
    }

    #[test]
    fn the_built_in_history_is_sound() {
        let text = include_str!("../../../engines/options/rocksdb.toml");
        let history = OptionHistory::parse(text, "engines/options/rocksdb.toml").unwrap();
        assert!(matches!(history.knows("6.0.2", "enable_blob_files", "true"), Known::No(_)));
        assert_eq!(history.knows("8.7.3", "allow_concurrent_memtable_write", "false"), Known::Yes);
        assert!(
            history.defaults.iter().any(|one| one.name == "compaction_readahead_size" && one.from == "8.6.7")
        );
    }
}
