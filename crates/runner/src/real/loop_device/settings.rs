//! What a block device is set to by files of the kernel: set and read back, and put on record, because it outlives the file
//! that was attached: the next user of the device would have it.

use super::{LoopDeviceError, RECORD, io_error, read_line, sysfs};
use crate::proc::facts;
use crate::real::queue::{self, MAX_SECTORS, NR_REQUESTS, ORDER, SCHEDULER};
use model::loop_device::LoopDevice;
use std::fs;
use std::path::Path;

/// Sets what a plan names.
///
/// # Errors
/// A value that the kernel did not take.
pub(super) fn set_all(device: &str, spec: &LoopDevice) -> Result<(), LoopDeviceError> {
    for setting in ORDER {
        let wanted = match setting {
            SCHEDULER => spec.scheduler.clone(),
            NR_REQUESTS => spec.nr_requests.map(|value| value.to_string()),
            MAX_SECTORS => spec.max_sectors_kb.map(|value| value.to_string()),
            _ => spec.read_ahead_kb.map(|value| value.to_string()),
        };
        if let Some(wanted) = wanted {
            set(device, setting, wanted)?;
        }
    }
    Ok(())
}

fn set(device: &str, setting: &'static str, wanted: String) -> Result<(), LoopDeviceError> {
    let file = sysfs(device, &format!("queue/{setting}"));
    // A value that the kernel does not like is an error here or another value there: one look tells of both.
    let _ = queue::write(&file, &wanted);
    let found = read_line(&file).unwrap_or_else(|| "unknown".to_owned());
    if facts::chosen(&found) == wanted {
        return Ok(());
    }
    Err(LoopDeviceError::SettingRefused { device: device.to_owned(), setting, wanted, found })
}

/// The record: the device, then a line for each setting that we may change.
pub(super) fn write_record(directory: &Path, device: &str) -> Result<(), LoopDeviceError> {
    let mut text = format!("{device}\n");
    for setting in ORDER {
        if let Some(value) = read_line(&sysfs(device, &format!("queue/{setting}"))) {
            text.push_str(&format!("{setting} {}\n", facts::chosen(&value)));
        }
    }
    let record = directory.join(RECORD);
    fs::write(&record, text).map_err(io_error("write", &record))
}

/// What the record in a directory says of a device is what it is set to again.
pub(super) fn restore(directory: &Path, device: &str) {
    let Ok(record) = fs::read_to_string(directory.join(RECORD)) else { return };
    let mut lines = record.lines();
    if lines.next() != Some(device) {
        return;
    }
    for (setting, value) in
        lines.filter_map(|line| line.split_once(' ')).filter(|(name, _)| ORDER.contains(name))
    {
        let file = sysfs(device, &format!("queue/{setting}"));
        // Newer kernels take 0 for "your own choice", which is more than the value that we found.
        let chosen_by_kernel = setting == MAX_SECTORS && queue::write(&file, "0").is_ok();
        if !chosen_by_kernel {
            // Best effort: the device works, with another limit than before.
            let _ = queue::write(&file, value);
        }
    }
}
