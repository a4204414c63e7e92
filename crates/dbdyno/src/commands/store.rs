//! `dbdyno store check|backup|compact`: the file of results as such.

use crate::cli::{Places, StoreAction, StoreFile};
use crate::commands::output_file::PrivateFile;
use crate::commands::print;
use crate::exit::{Ending, usage};
use crate::paths;
use anyhow::{Context, anyhow};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Dispatches.
pub fn run(places: &Places, arguments: &StoreFile) -> anyhow::Result<Ending> {
    let path = paths::store_file(places)?;
    match &arguments.action {
        StoreAction::Check => check(&path),
        StoreAction::Backup { file, force } => back_up(&path, file, *force),
        StoreAction::Compact => compact(&path),
    }?;
    Ok(Ending::Done)
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
