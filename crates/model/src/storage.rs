//! Where the files of a subject are, and what the device below them is set to while it is measured.

use crate::loop_device::{LoopDevice, LoopDeviceText};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Where the files of a subject are. Without any of it they are where those of all others are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Storage {
    /// A directory on another device or file system; our files go into one of our own below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<PathBuf>,
    /// A file or a block device that is there already. It is read and never written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<PathBuf>,
    /// A file system of the subject's own, on a loop device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loop_device: Option<LoopDevice>,
    /// Settings of the device's queue by the names of `/sys/block/DEVICE/queue`: `scheduler`, `read_ahead_kb`. They are set
    /// while the subject is measured, and set back.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub queue: BTreeMap<String, String>,
}

/// Storage as a configuration file has it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StorageText {
    directory: Option<PathBuf>,
    target: Option<PathBuf>,
    loop_device: Option<LoopDeviceText>,
    #[serde(default)]
    queue: BTreeMap<String, String>,
}

impl StorageText {
    /// Reads it; the error is what is wrong with it.
    pub(crate) fn read(self) -> Result<Storage, String> {
        let StorageText { directory, target, loop_device, queue } = self;
        let loop_device =
            loop_device.map(|text| text.read()).transpose().map_err(|error| error.to_string())?;
        let storage = Storage { directory, target, loop_device, queue };
        storage.problem().map_or(Ok(storage), Err)
    }
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
        let device = self.loop_device.as_ref().map(|device| {
            let settings = device.further_settings();
            let of = if settings.is_empty() { device.file_system.to_string() } else { settings.join(", ") };
            ("loop_device".to_owned(), of)
        });
        let queue = self.queue.iter().map(|(name, value)| (format!("queue.{name}"), value.clone()));
        places.into_iter().flatten().chain(device).chain(queue).collect()
    }

    /// What is wrong with it, if anything.
    fn problem(&self) -> Option<String> {
        if self.target.is_some() && (self.directory.is_some() || self.loop_device.is_some()) {
            return Some("a `target` excludes `directory` and `loop_device`".to_owned());
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
        let of = |text: &str| toml::from_str::<StorageText>(text).unwrap().read().err();
        assert_eq!(of("directory = '/mnt/a'\nqueue = { scheduler = 'none', read_ahead_kb = '4' }"), None);
        assert!(of("directory = 'mnt'").unwrap().contains("absolute"));
        assert!(of("directory = '/a'\ntarget = '/dev/sda'").unwrap().contains("excludes"));
        assert!(of("queue = { '../rotational' = '1' }").unwrap().contains("../rotational"));
        let slow = of("loop_device = { size = '1 GB', slow = { read_latency = 'never' } }").unwrap();
        assert!(slow.contains("slow.read_latency"), "{slow}");
    }

    #[test]
    fn what_is_stated_is_told_by_name() {
        let text = "loop_device = { size = '1 GB', file_system = 'xfs' }\nqueue = { scheduler = 'none' }";
        let storage = toml::from_str::<StorageText>(text).unwrap().read().unwrap();
        let facts: Vec<(String, String)> = storage.facts().into_iter().collect();
        let expected = [("loop_device", "xfs"), ("queue.scheduler", "none")];
        assert_eq!(facts, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let kept = serde_json::to_string(&storage).unwrap();
        assert_eq!(serde_json::from_str::<Storage>(&kept).unwrap(), storage);
    }
}
