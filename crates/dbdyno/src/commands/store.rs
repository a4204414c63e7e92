//! `dbdyno store check|backup|compact|merge`: the file of results as such.

use crate::cli::{Places, StoreAction, StoreFile};
use crate::commands::measure::TOOL_VERSION;
use crate::commands::output_file::PrivateFile;
use crate::commands::print;
use crate::exit::{Ending, usage};
use crate::paths;
use crate::progress::Progress;
use anyhow::{Context, anyhow};
use model::figures::count;
use runner::clock;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use store::{Merged, MergedBy};

/// Dispatches.
pub fn run(places: &Places, arguments: &StoreFile) -> anyhow::Result<Ending> {
    let path = paths::store_file(places)?;
    match &arguments.action {
        StoreAction::Check => check(&path)?,
        StoreAction::Backup { file, force } => back_up(&path, file, *force)?,
        StoreAction::Compact => compact(&path)?,
        StoreAction::Merge { from } => return merge(places, from),
    }
    Ok(Ending::Done)
}

/// Adds stores one after another. One that cannot be read keeps none of the others away.
fn merge(places: &Places, from: &[PathBuf]) -> anyhow::Result<Ending> {
    let stores = store::named(from).map_err(usage)?;
    let mut writer = paths::open_store(places)?;
    let progress = Progress::new();
    let mut ending = Ending::Done;
    let mut last_error = None;
    for from in &stores {
        let origin = from.display().to_string();
        let by = MergedBy { origin: &origin, at_us: clock::epoch_us(), tool_version: TOOL_VERSION };
        match store::merge(&mut writer, from, by) {
            Ok(merged) => {
                print::text(&report::printable_lines(&summary(from, &merged)))?;
                if !merged.diverged.is_empty() {
                    ending = Ending::RunFailed;
                }
            }
            Err(error) => {
                if let Some(before) = last_error.replace(error) {
                    progress.say(&format!("{:#}", anyhow::Error::new(before)));
                }
            }
        }
    }
    match last_error {
        Some(error) => Err(error.into()),
        None => Ok(ending),
    }
}

/// What became of the runs of a store, and what is still to be done.
fn summary(from: &Path, merged: &Merged) -> String {
    let runs = |number: usize| count(number as u64, "run", "runs");
    let mut text = format!("`{}`: {} added", from.display(), runs(merged.added.len()));
    for (number, what) in [
        (merged.continued.len() as u64, "went on there"),
        (merged.known, "known"),
        (merged.others, "imports and bisections"),
        (merged.watched, "states of changes"),
    ] {
        if number > 0 {
            text += &format!(", {number} {what}");
        }
    }
    text.push('\n');
    for run in &merged.diverged {
        text += &format!(
            "  run {run} went on here and there, or is another run of the same id: nothing was taken of it; `dbdyno report {run} \
             --store {}` shows the other\n",
            from.display()
        );
    }
    if merged.queued > 0 {
        text += &format!(
            "  {} still to be measured there: `dbdyno run --resume` on that host continues\n",
            count(merged.queued, "workload is", "workloads are")
        );
    }
    text
}

fn check(path: &Path) -> anyhow::Result<()> {
    let found = store::check(path)?;
    let mut text = format!(
        "`{}`: schema {}, {}\nchecked: pages {}, tables {}, rows {}, JSON values {}, runs {}\n",
        path.display(),
        found.schema,
        megabytes(found.bytes),
        found.pages,
        found.tables,
        found.rows,
        found.json_values,
        found.runs,
    );
    for damage in &found.damage {
        text += &format!("damaged: {damage}\n");
    }
    if found.damage.is_empty() {
        text += "nothing is damaged\n";
    }
    print::text(&report::printable_lines(&text))?;
    match found.damage.first() {
        Some(first) => Err(store::Error::damaged(path, first).into()),
        None => Ok(()),
    }
}

fn back_up(path: &Path, file: &Path, force: bool) -> anyhow::Result<()> {
    let place = |path: &Path| fs::metadata(path).ok().map(|there| (there.dev(), there.ino()));
    if place(file).is_some_and(|of_copy| place(path) == Some(of_copy)) {
        return Err(usage(anyhow!("`{}` is the store itself; name another file", file.display())));
    }
    let copy = PrivateFile::create(file, force)?;
    store::back_up(path, copy.path())
        .with_context(|| format!("nothing was written to `{}`", file.display()))?;
    let bytes = fs::metadata(copy.path()).map_or(0, |copy| copy.len());
    copy.finish()?;
    print::text(&format!("`{}`: {}, checked\n", file.display(), megabytes(bytes)))
}

fn compact(path: &Path) -> anyhow::Result<()> {
    let compacted = store::compact(path)?;
    let left = if compacted.is_read {
        "; a process reads it, so the rest is given back when a later run ends"
    } else {
        ""
    };
    print::text(&format!(
        "`{}`: {} before, {} now{left}\n",
        path.display(),
        megabytes(compacted.bytes_before),
        megabytes(compacted.bytes_after),
    ))
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB ({bytes} bytes)", bytes as f64 / 1e6)
}
