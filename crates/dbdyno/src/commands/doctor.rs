//! `dbdyno doctor`: is this host fit to measure on, and what is to be changed?

use crate::cli::{Doctor, Places};
use crate::commands::{print, render};
use crate::exit::Ending;
use crate::{fingerprints, paths};
use anyhow::Context;
use model::doctor::{CheckStatus, Examination, Setting};
use model::fingerprint::Fingerprint;
use runner::doctor::settings::{Done, Settings};
use runner::doctor::{Moment, Needs, Patient, examine};
use runner::proc::host;
use runner::rights;
use std::io::Write;
use std::path::Path;

/// Sets or sets back if asked to, then looks and prints.
pub fn run(places: &Places, arguments: &Doctor) -> anyhow::Result<Ending> {
    let work_dir = paths::work_dir(places)?;
    let boot_id = host::describe(Path::new("/")).boot_id;
    let settings = Settings::of_this_host(paths::state_dir()?.join("doctor-undo.json"), &boot_id);
    let mut ending = Ending::Done;
    if arguments.undo {
        ending = say_done(&settings.undo()?, "set back");
    }
    let mut examination = look(&work_dir, None);
    if arguments.fix {
        let wanted: Vec<Setting> =
            examination.checks.iter().flat_map(|check| check.settings.iter().cloned()).collect();
        ending = say_done(&settings.apply(&wanted)?, "set");
        examination = look(&work_dir, None);
    }
    // What it wrote is root's, what it measures the caller's.
    rights::become_caller_of_sudo()?;
    let measured = if arguments.bench { Some(measure_host(places, &work_dir)?) } else { None };
    if arguments.json {
        let mut json = serde_json::to_value(&examination).context("failed to render JSON")?;
        if let Some((fingerprint, _)) = &measured {
            json["fingerprint"] = serde_json::to_value(fingerprint).context("failed to render JSON")?;
        }
        print::json(&json)?;
    } else {
        let mut text = report::doctor::text(&examination, render::width(arguments.width));
        if let Some((fingerprint, before)) = &measured {
            text += &report::doctor::fingerprint(fingerprint, before.as_ref());
        }
        print::text(&text)?;
    }
    Ok(ending)
}

/// So many earlier fingerprints are looked through for one of the same device.
const LOOKED_THROUGH: u32 = 100;

/// Measures the host and keeps it; with the one before of the same device, if there is one. What cannot be measured leaves the rest.
fn measure_host(places: &Places, work_dir: &Path) -> anyhow::Result<(Fingerprint, Option<Fingerprint>)> {
    let mut writer = paths::open_store(places)?;
    let measured = fingerprints::measure(work_dir, &mut |text| say(text))?;
    let earlier = writer.store().fingerprints(&measured.host, LOOKED_THROUGH)?;
    let before = earlier.into_iter().find(|earlier| earlier.device == measured.device);
    writer.keep_fingerprint(&measured)?;
    Ok((measured, before))
}

/// All checks of this host now.
pub fn look(work_dir: &Path, needs: Option<Needs>) -> Examination {
    // It is made by the first run.
    let place = work_dir.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
    let host = host::describe(place);
    let moment = Moment::look(place, host.device.as_deref());
    Examination::of(examine(&Patient { host, moment, needs }))
}

/// The ids of the checks that fail.
pub fn failing(examination: &Examination) -> Vec<String> {
    let fails = examination.checks.iter().filter(|check| check.status == CheckStatus::Fail);
    fails.map(|check| check.id.clone()).collect()
}

fn say_done(done: &Done, word: &str) -> Ending {
    for change in &done.changes {
        say(&format!("{word}: `{}` from {} to {}", change.path.display(), change.before, change.after));
    }
    for path in &done.left {
        say(&format!("left as it is: `{}` was set to something else since", path.display()));
    }
    for error in &done.errors {
        let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
        say(&format!("{error}{cause}"));
    }
    if done.changes.is_empty() && done.errors.is_empty() && done.left.is_empty() {
        say(&format!("nothing is to be {word}"));
    } else if word == "set" && !done.changes.is_empty() {
        say("`dbdyno doctor --undo` sets it back; a reboot does so too");
    }
    if done.errors.is_empty() { Ending::Done } else { Ending::RunFailed }
}

/// If standard error is closed, nobody can be told.
fn say(text: &str) {
    drop(writeln!(std::io::stderr(), "dbdyno doctor: {text}"));
}
