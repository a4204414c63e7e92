//! A file system of its own on a loop device, with limits like those of a real disk: what a plan says of it, as text and read.

use crate::units::{Bytes, Micros};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A file system of its own for the databases, on a loop device with limits like those of a real disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopDevice {
    /// Bytes of its file, which is sparse.
    pub bytes: Bytes,
    /// Whether its IO goes past the page cache of the file below.
    pub direct_io: bool,
    /// Largest request, in KiB; the kernel's choice where absent.
    pub max_sectors_kb: Option<u32>,
    /// Readahead of the kernel, in KiB; the kernel's choice where absent.
    pub read_ahead_kb: Option<u32>,
    /// Requests that may wait for the device at a time; the kernel's choice where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nr_requests: Option<u32>,
    /// What orders the requests, by the kernel's name for it (`none`, `mq-deadline`); the kernel's choice where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<String>,
    /// Which file system is made on it.
    #[serde(default, skip_serializing_if = "FileSystem::is_ext4")]
    pub file_system: FileSystem,
    /// Options of the mount, separated by commas; `noatime` holds beside them unless they say otherwise.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mount_options: String,
    /// How slow the device is on purpose; it is as fast as the disk below where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slow: Option<SlowDevice>,
}

/// A file system that can be made on a loop device.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, strum::Display, strum::EnumString,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum FileSystem {
    #[default]
    Ext4,
    Xfs,
    Btrfs,
}

impl FileSystem {
    fn is_ext4(&self) -> bool {
        *self == FileSystem::Ext4
    }
}

/// How slow a device is on purpose. The latencies count from a request's arrival, and requests wait at the same time; what
/// takes longer by itself takes longer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlowDevice {
    /// Of a read, whatever its size; none where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_latency_us: Option<Micros>,
    /// Of a write, whatever its size; none where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_latency_us: Option<Micros>,
    /// Of a flush, which is what an fsync of a file becomes; none where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fsync_latency_us: Option<Micros>,
    /// Bytes per second of reads and writes together: a queue in front of the device, before the latency. No limit where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth_bytes_per_s: Option<Bytes>,
}

impl LoopDevice {
    /// A device with direct IO, an ext4 and nothing else that a plan could say.
    pub fn new(bytes: Bytes) -> LoopDevice {
        LoopDevice {
            bytes,
            direct_io: true,
            max_sectors_kb: None,
            read_ahead_kb: None,
            nr_requests: None,
            scheduler: None,
            file_system: FileSystem::Ext4,
            mount_options: String::new(),
            slow: None,
        }
    }

    /// What else a report has to say of it beside its size and its limits: `xfs`, `scheduler bfq`, `reads 2 ms`. Empty for a
    /// device of which the plan says nothing.
    pub fn further_settings(&self) -> Vec<String> {
        let mut settings = Vec::new();
        if self.file_system != FileSystem::Ext4 {
            settings.push(self.file_system.to_string());
        }
        if !self.mount_options.is_empty() {
            settings.push(format!("mounted with {}", self.mount_options));
        }
        settings.extend(self.scheduler.as_ref().map(|name| format!("scheduler {name}")));
        settings.extend(self.nr_requests.map(|requests| format!("nr_requests {requests}")));
        settings.extend(
            self.slow
                .filter(|slow| *slow != SlowDevice::default())
                .map(|slow| format!("slow on purpose: {slow}")),
        );
        settings
    }
}

impl fmt::Display for SlowDevice {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |name: &str, latency: Option<Micros>| latency.map(|latency| format!("{name} {latency}"));
        let bandwidth = self.bandwidth_bytes_per_s.map(|bytes| format!("{} MB/s", bytes.0 as f64 / 1e6));
        let parts = [
            of("reads", self.read_latency_us),
            of("writes", self.write_latency_us),
            of("flushes", self.fsync_latency_us),
            bandwidth,
        ];
        to.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join(" and "))
    }
}

/// Why what a file says of a loop device cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("loop_device.{place}: {problem}")]
pub struct LoopDeviceTextError {
    /// `size`, `slow.read_latency`.
    pub place: &'static str,
    pub problem: String,
}

/// A loop device as a file has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoopDeviceText {
    #[serde(default = "crate::yes")]
    direct_io: bool,
    max_sectors_kb: Option<u32>,
    read_ahead_kb: Option<u32>,
    nr_requests: Option<u32>,
    scheduler: Option<String>,
    #[serde(default, skip_serializing_if = "FileSystem::is_ext4")]
    file_system: FileSystem,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    mount_options: String,
    size: String,
    slow: Option<SlowDeviceText>,
}

/// How slow a device is, as a file has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SlowDeviceText {
    read_latency: Option<String>,
    write_latency: Option<String>,
    fsync_latency: Option<String>,
    bandwidth: Option<String>,
}

/// A request of a file system that takes longer looks like a device that hangs: the kernel warns after 120 s, and a side that
/// waits for one cannot be frozen.
const LATENCY_MAX: Micros = Micros(5_000_000);
/// Slower than this, one large request would take as long as [`LATENCY_MAX`] and more.
const BANDWIDTH_MIN: Bytes = Bytes(1_000_000);
/// The kernel has no queue that is shorter (`BLKDEV_MIN_RQ`).
const NR_REQUESTS_MIN: u32 = 4;

impl LoopDeviceText {
    /// Reads it.
    ///
    /// # Errors
    /// What is no size, no time, no rate, or none that a device can have: with its place.
    pub fn read(&self) -> Result<LoopDevice, LoopDeviceTextError> {
        let wrong = |place, problem: String| LoopDeviceTextError { place, problem };
        let bytes: Bytes = self.size.parse().map_err(|error| wrong("size", format!("{error}")))?;
        if self.nr_requests.is_some_and(|requests| requests < NR_REQUESTS_MIN) {
            return Err(wrong("nr_requests", format!("must be at least {NR_REQUESTS_MIN}")));
        }
        let is_name = |text: &String| {
            !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
        };
        if let Some(scheduler) = self.scheduler.as_ref().filter(|scheduler| !is_name(scheduler)) {
            return Err(wrong(
                "scheduler",
                format!("`{scheduler}` is no name of a scheduler: write \"none\" or \"mq-deadline\""),
            ));
        }
        if self.mount_options.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(wrong("mount_options", "they are separated by commas, without spaces".to_owned()));
        }
        if self.slow.is_some() && !self.direct_io {
            return Err(wrong(
                "slow",
                "needs direct IO, without which requests wait for each other: leave out `direct_io = false`"
                    .to_owned(),
            ));
        }
        Ok(LoopDevice {
            bytes,
            direct_io: self.direct_io,
            max_sectors_kb: self.max_sectors_kb,
            read_ahead_kb: self.read_ahead_kb,
            nr_requests: self.nr_requests,
            scheduler: self.scheduler.clone(),
            file_system: self.file_system,
            mount_options: self.mount_options.clone(),
            slow: self.slow.as_ref().map(SlowDeviceText::read).transpose()?,
        })
    }
}

impl SlowDeviceText {
    fn read(&self) -> Result<SlowDevice, LoopDeviceTextError> {
        let wrong = |place| move |problem: String| LoopDeviceTextError { place, problem };
        let latency = |place, text: &Option<String>| {
            text.as_deref().map(parse_latency).transpose().map_err(wrong(place))
        };
        Ok(SlowDevice {
            read_latency_us: latency("slow.read_latency", &self.read_latency)?,
            write_latency_us: latency("slow.write_latency", &self.write_latency)?,
            fsync_latency_us: latency("slow.fsync_latency", &self.fsync_latency)?,
            bandwidth_bytes_per_s: self
                .bandwidth
                .as_deref()
                .map(parse_bandwidth)
                .transpose()
                .map_err(wrong("slow.bandwidth"))?,
        })
    }
}

/// A latency of a slow device: `2 ms`, `500us`.
///
/// # Errors
/// It is no time, or longer than 5 s.
pub fn parse_latency(text: &str) -> Result<Micros, String> {
    let latency: Micros = text.parse().map_err(|error| format!("{error}"))?;
    if latency > LATENCY_MAX {
        return Err(format!("`{text}` is more than {LATENCY_MAX}, and would look like a device that hangs"));
    }
    Ok(latency)
}

/// A bandwidth of a slow device, in bytes per second: `100 MB/s`, `100MB`.
///
/// # Errors
/// It is no rate, or less than 1 MB/s.
pub fn parse_bandwidth(text: &str) -> Result<Bytes, String> {
    let bandwidth: Bytes = text
        .trim()
        .trim_end_matches("/s")
        .parse()
        .map_err(|_| format!("`{text}` is not a bandwidth: write it like 100 MB/s or 1GiB/s"))?;
    if bandwidth < BANDWIDTH_MIN {
        return Err(format!("`{text}` is less than 1 MB/s, and would look like a device that hangs"));
    }
    Ok(bandwidth)
}

impl From<&LoopDevice> for LoopDeviceText {
    fn from(device: &LoopDevice) -> LoopDeviceText {
        let exact = |bytes: Bytes| format!("{} B", bytes.0);
        LoopDeviceText {
            direct_io: device.direct_io,
            max_sectors_kb: device.max_sectors_kb,
            read_ahead_kb: device.read_ahead_kb,
            nr_requests: device.nr_requests,
            scheduler: device.scheduler.clone(),
            file_system: device.file_system,
            mount_options: device.mount_options.clone(),
            size: exact(device.bytes),
            slow: device.slow.map(|slow| SlowDeviceText {
                read_latency: slow.read_latency_us.map(|latency| latency.to_string()),
                write_latency: slow.write_latency_us.map(|latency| latency.to_string()),
                fsync_latency: slow.fsync_latency_us.map(|latency| latency.to_string()),
                bandwidth: slow.bandwidth_bytes_per_s.map(|bytes| format!("{}/s", exact(bytes))),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
        size = "4 GB"
        file_system = "xfs"
        mount_options = "lazytime,logbufs=8"
        scheduler = "mq-deadline"
        nr_requests = 64
        slow = { read_latency = "2 ms", fsync_latency = "500us", bandwidth = "100 MB/s" }
    "#;

    fn read(text: &str) -> Result<LoopDevice, String> {
        let text: LoopDeviceText = toml::from_str(text).map_err(|error| error.to_string())?;
        text.read().map_err(|error| error.to_string())
    }

    #[test]
    fn a_device_is_read_and_written_again() {
        let device = read(TEXT).unwrap();
        let slow = SlowDevice {
            read_latency_us: Some(Micros(2000)),
            write_latency_us: None,
            fsync_latency_us: Some(Micros(500)),
            bandwidth_bytes_per_s: Some(Bytes(100_000_000)),
        };
        let expected = LoopDevice {
            file_system: FileSystem::Xfs,
            mount_options: "lazytime,logbufs=8".to_owned(),
            scheduler: Some("mq-deadline".to_owned()),
            nr_requests: Some(64),
            slow: Some(slow),
            ..LoopDevice::new(Bytes(4_000_000_000))
        };
        assert_eq!(device, expected);
        assert_eq!(read(&toml::to_string(&LoopDeviceText::from(&device)).unwrap()).unwrap(), device);
        assert_eq!(
            device.further_settings(),
            [
                "xfs",
                "mounted with lazytime,logbufs=8",
                "scheduler mq-deadline",
                "nr_requests 64",
                "slow on purpose: reads 2 ms and flushes 500 us and 100 MB/s"
            ]
        );
    }

    #[test]
    fn a_device_of_an_older_run_is_read_and_one_without_the_new_settings_is_written_as_then() {
        let older = r#"{"bytes":6000000000,"direct_io":true,"max_sectors_kb":128,"read_ahead_kb":null}"#;
        let device: LoopDevice = serde_json::from_str(older).unwrap();
        assert_eq!(device, LoopDevice { max_sectors_kb: Some(128), ..LoopDevice::new(Bytes(6_000_000_000)) });
        assert_eq!(serde_json::to_string(&device).unwrap(), older);
        assert_eq!(device.further_settings(), [""; 0]);
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        let check = |from: &str, to: &str, expected: &str| {
            let error = read(&TEXT.replace(from, to)).unwrap_err();
            assert!(error.contains(expected), "{error}");
        };
        check("4 GB", "4 gigs", "loop_device.size: `4 gigs` is not a size");
        check("\"xfs\"", "\"zfs\"", "unknown variant `zfs`");
        check("2 ms", "2", "loop_device.slow.read_latency: `2` is not a time");
        check("500us", "6 s", "slow.fsync_latency: `6 s` is more than 5 s");
        check("100 MB/s", "fast", "slow.bandwidth: `fast` is not a bandwidth");
        check("100 MB/s", "4 kB/s", "less than 1 MB/s");
        check("= 64", "= 3", "nr_requests: must be at least 4");
        check("mq-deadline", "../mq", "`../mq` is no name of a scheduler");
        check("lazytime,", "lazytime, ", "separated by commas, without spaces");
        check("size =", "direct_io = false\nsize =", "loop_device.slow: needs direct IO");
        check("read_latency", "raed_latency", "unknown field");
    }
}
