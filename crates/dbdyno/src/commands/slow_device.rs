//! `dbdyno slow-device FILE`: the process of a device that is slow on purpose.

use crate::exit::Ending;
use anyhow::Context;
use runner::real::{loop_device, slow_device};
use std::path::Path;

/// Until the input ends; then what lies on the device is unmounted.
pub fn run(file: &Path) -> anyhow::Result<Ending> {
    let directory = file.parent().context("a file without a directory")?;
    let mut released = Ok(());
    slow_device::serve(file, std::io::stdin().lock(), std::io::stdout().lock(), || {
        released = loop_device::release(directory);
    })?;
    released?;
    Ok(Ending::Done)
}
