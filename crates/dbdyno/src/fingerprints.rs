//! How fast the host is, measured before a run if nobody has measured it lately. It is no part of the run's budget.

use crate::cli::{HostSpeed, Places};
use crate::progress::Progress;
use crate::there::asking;
use crate::{interrupt, paths};
use anyhow::anyhow;
use model::fingerprint::Fingerprint;
use model::server_host::ServerHost;
use runner::clock;
use runner::doctor::{fingerprint, kept_fingerprint};
use runner::proc::host;
use std::path::Path;

/// The fingerprint that a run begins after, of servers on another host that of their host: the one that is kept in the work directory if it
/// still counts, else a new one, unless the user wants none. What cannot be measured is said, and keeps no run from beginning.
///
/// # Errors
/// The user has interrupted it, or there is no work directory.
pub fn before_run(
    places: &Places,
    server_host: Option<&ServerHost>,
    speed: &HostSpeed,
    progress: &Progress,
) -> anyhow::Result<Option<Fingerprint>> {
    let tell = &mut |text: &str| progress.say(text);
    match server_host {
        Some(server_host) => asking::fingerprint(places, server_host, speed.no_fingerprint, tell),
        None => here(places, speed, tell),
    }
}

/// The same of this host.
///
/// # Errors
/// As those of [`before_run`].
pub fn here(
    places: &Places,
    speed: &HostSpeed,
    say: &mut dyn FnMut(&str),
) -> anyhow::Result<Option<Fingerprint>> {
    let work_dir = paths::work_dir(places)?;
    let kept = kept_fingerprint::read(&work_dir);
    let host = host::describe(&work_dir);
    if let Some(kept) = kept.as_ref().filter(|kept| kept.stands_for(&host, clock::epoch_us())) {
        return Ok(Some(kept.clone()));
    }
    // Its figures would be those of the compiler, and be held against those of a release build.
    if speed.no_fingerprint || cfg!(debug_assertions) {
        return Ok(None);
    }
    say(
        "measuring the host: CPU, memory and device, some three seconds, once in six hours (--no-fingerprint leaves it out)",
    );
    let measured = measure(&work_dir, &mut |text| say(&format!("  {text}")))?;
    let before = kept.filter(|kept| kept.host == measured.host && kept.device == measured.device);
    for change in before.iter().flat_map(|before| before.differences(&measured)) {
        say(&format!("  the host has changed since it was measured last: {change}"));
    }
    Ok(Some(measured))
}

/// Measures this host now, and keeps it in the work directory for the runs of the next hours.
///
/// # Errors
/// The user has interrupted it.
pub fn measure(work_dir: &Path, say: &mut dyn FnMut(&str)) -> anyhow::Result<Fingerprint> {
    let interrupted = interrupt::listen()?;
    let measured = fingerprint::measure(work_dir, &interrupted)
        .ok_or_else(|| anyhow!("the host was being measured; nothing of it is kept"))?;
    for missing in measured.missing {
        say(&format!("{:#}", anyhow::Error::new(missing)));
    }
    let host = host::describe(work_dir);
    let fingerprint = Fingerprint {
        at_us: clock::epoch_us(),
        host: host.name,
        boot_id: host.boot_id,
        device: host.device,
        figures: measured.figures,
    };
    if !cfg!(debug_assertions)
        && let Err(error) = kept_fingerprint::keep(work_dir, &fingerprint)
    {
        say(&format!("the next run measures the host again: {:#}", anyhow::Error::new(error)));
    }
    Ok(fingerprint)
}
