//! Where the files of a subject are, and what the device below them is set to while it is measured.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Where the files of a subject are. Without any of it they are where those of all others are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Storage {
    /// A directory on another device or file system; our files go into one of our own below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<PathBuf>,
    /// A file or a block device that is there already. It is read and never written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<PathBuf>,
    /// Settings of the device's queue by the names of `/sys/block/DEVICE/queue`: `scheduler`, `read_ahead_kb`. They are set
    /// while the subject is measured, and set back.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub queue: BTreeMap<String, String>,
}

impl Storage {
    pub fn is_default(&self) -> bool {
        *self == Storage::default()
    }

    /// Each of its parts that is stated, by name: `directory`, `queue.scheduler`.
    pub fn facts(&self) -> BTreeMap<String, String> {
        let path = |name: &str, path: &Option<PathBuf>| {
            Some((name.to_owned(), path.as_ref()?.display().to_string()))
        };
        let places = [path("directory", &self.directory), path("target", &self.target)];
        let queue = self.queue.iter().map(|(name, value)| (format!("queue.{name}"), value.clone()));
        places.into_iter().flatten().chain(queue).collect()
    }

    /// What is wrong with it, if anything.
    pub(crate) fn problem(&self) -> Option<String> {
        if self.directory.is_some() && self.target.is_some() {
            return Some("`directory` and `target` exclude each other".to_owned());
        }
        let relative = [&self.directory, &self.target].into_iter().flatten().find(|path| !path.is_absolute());
        if let Some(path) = relative {
            return Some(format!("`{}` must be an absolute path", path.display()));
        }
        let odd = |name: &&String| {
            name.is_empty()
                || !name
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
        };
        let name = self.queue.keys().find(odd)?;
        Some(format!("`{name}` is no setting of a queue; they are the files of /sys/block/DEVICE/queue"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_absolute_and_settings_are_files_of_a_queue() {
        let of = |text: &str| toml::from_str::<Storage>(text).unwrap().problem();
        assert_eq!(of("directory = '/mnt/a'\nqueue = { scheduler = 'none', read_ahead_kb = '4' }"), None);
        assert!(of("directory = 'mnt'").unwrap().contains("absolute"));
        assert!(of("directory = '/a'\ntarget = '/dev/sda'").unwrap().contains("exclude"));
        assert!(of("queue = { '../rotational' = '1' }").unwrap().contains("../rotational"));
    }
}
