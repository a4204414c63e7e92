//! What is compared: a build of an engine with a configuration, written `engine@version+config`.

use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// The configuration that is meant where none is written.
pub const DEFAULT_CONFIG: &str = "standard";

/// `engine@version`: one published release, or one's own build under the name given to `engine add`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BuildRef {
    /// `rocksdb`
    pub engine: String,
    /// `8.7.3`, or the name given to `engine add`; `git:REF` is a commit of the engine's repository, which is built before it is measured
    pub version: String,
}

/// How a version begins that is a commit.
const COMMIT: &str = "git:";

/// `engine@version+config`: a build with a configuration.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SubjectRef {
    /// The build under test.
    pub build: BuildRef,
    pub config: String,
}

/// Why a text is not a subject.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an engine build: {why}; write it like rocksdb@8.7.3 or rocksdb@8.7.3+defaults")]
pub struct SubjectError {
    text: String,
    why: &'static str,
}

impl FromStr for BuildRef {
    type Err = SubjectError;

    fn from_str(text: &str) -> Result<Self, SubjectError> {
        let error = |why| SubjectError { text: text.to_owned(), why };
        let (engine, version) = text.split_once('@').ok_or_else(|| error("the `@` is missing"))?;
        if engine.is_empty() || version.is_empty() {
            return Err(error("the engine or the version is empty"));
        }
        let is_version = match version.strip_prefix(COMMIT) {
            Some(name) => !name.is_empty() && !name.contains("..") && name.chars().all(is_commit_char),
            None => version.chars().all(is_name_char),
        };
        if !engine.chars().all(is_name_char) || !is_version {
            return Err(error("names hold letters, digits, `.`, `-` and `_` only"));
        }
        Ok(BuildRef { engine: engine.to_owned(), version: version.to_owned() })
    }
}

impl BuildRef {
    /// The commit, tag or branch that is meant; none of a release or a build under a name.
    pub fn commit(&self) -> Option<&str> {
        self.version.strip_prefix(COMMIT)
    }
}

impl FromStr for SubjectRef {
    type Err = SubjectError;

    fn from_str(text: &str) -> Result<Self, SubjectError> {
        let (build, config) = text.rsplit_once('+').unwrap_or((text, DEFAULT_CONFIG));
        if config.is_empty() || !config.chars().all(is_name_char) {
            return Err(SubjectError {
                text: text.to_owned(),
                why: "the configuration after `+` is empty or has odd characters",
            });
        }
        Ok(SubjectRef { build: build.parse()?, config: config.to_owned() })
    }
}

/// Whether a character may stand in the name of an engine, a version, a configuration or a workload: none
/// that could leave a directory or start an option.
fn is_name_char(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '.' | '-' | '_')
}

/// Whether a character may stand in the name of a commit: `origin/main`, `v8.7.3~2`, `HEAD^`.
fn is_commit_char(character: char) -> bool {
    is_name_char(character) || matches!(character, '/' | '~' | '^')
}

impl fmt::Display for BuildRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.engine, self.version)
    }
}

impl fmt::Display for SubjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.config == DEFAULT_CONFIG {
            write!(f, "{}", self.build)
        } else {
            write!(f, "{}+{}", self.build, self.config)
        }
    }
}

impl TryFrom<String> for BuildRef {
    type Error = SubjectError;
    fn try_from(text: String) -> Result<Self, SubjectError> {
        text.parse()
    }
}

impl From<BuildRef> for String {
    fn from(build: BuildRef) -> String {
        build.to_string()
    }
}

impl TryFrom<String> for SubjectRef {
    type Error = SubjectError;
    fn try_from(text: String) -> Result<Self, SubjectError> {
        text.parse()
    }
}

impl From<SubjectRef> for String {
    fn from(subject: SubjectRef) -> String {
        subject.to_string()
    }
}

/// The order of releases: number by number (8.9 before 8.10), a text after every number, a shorter version
/// before its extension.
pub fn compare_versions(left: &str, right: &str) -> Ordering {
    let mut left_parts = left.split(['.', '-', '_']);
    let mut right_parts = right.split(['.', '-', '_']);
    loop {
        let order = match (left_parts.next(), right_parts.next()) {
            (None, None) => return left.cmp(right),
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(left), Some(right)) => match (left.parse::<u64>(), right.parse::<u64>()) {
                (Ok(left), Ok(right)) => left.cmp(&right),
                (Ok(_), Err(_)) => Ordering::Less,
                (Err(_), Ok(_)) => Ordering::Greater,
                (Err(_), Err(_)) => left.cmp(right),
            },
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_read_and_written_back() {
        for text in [
            "rocksdb@8.7.3",
            "rocksdb@8.7.3+defaults",
            "rocksdb@my-build_2",
            "postgres@git:origin/main~2+posts",
        ] {
            assert_eq!(text.parse::<SubjectRef>().unwrap().to_string(), text);
        }
        assert_eq!("rocksdb@8.7.3+standard".parse::<SubjectRef>().unwrap().to_string(), "rocksdb@8.7.3");
    }

    #[test]
    fn what_is_not_a_subject_is_refused_with_an_example() {
        for text in [
            "",
            "rocksdb",
            "@8.7.3",
            "rocksdb@",
            "rocksdb@8.7.3+",
            "rocksdb@../etc",
            "a b@1",
            "a@git:",
            "a@git:../x",
        ] {
            let message = text.parse::<SubjectRef>().unwrap_err().to_string();
            assert!(message.contains("rocksdb@8.7.3"), "{message}");
        }
    }

    #[test]
    fn versions_sort_as_numbers() {
        let mut versions = ["8.10.0", "8.9.1", "10.0.1", "6.22.1.1", "6.22.1", "main"];
        versions.sort_by(|left, right| compare_versions(left, right));
        assert_eq!(versions, ["6.22.1", "6.22.1.1", "8.9.1", "8.10.0", "10.0.1", "main"]);
    }
}
