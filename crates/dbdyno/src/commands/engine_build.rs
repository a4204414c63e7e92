//! `dbdyno engine build`: sources become a build of a name.

use crate::building::{Building, MadeNow, as_usage};
use crate::cli::{Places, Recipe};
use crate::commands::print;
use crate::progress::Progress;
use model::units::Nanos;
use runner::builds::Source;
use runner::engines::{BuildCache, EngineCatalog};
use serde_json::json;
use std::path::Path;

/// What to build.
pub struct Wanted<'a> {
    pub engine: &'a str,
    pub from: SourceAt<'a>,
    pub recipe: &'a Recipe,
    pub name: Option<&'a str>,
    pub as_json: bool,
}

/// Where the sources are.
pub enum SourceAt<'a> {
    Commit {
        repository: &'a Path,
        reference: &'a str,
    },
    /// A directory or an archive.
    Tree(&'a Path),
}

/// Builds, registers, prints.
pub fn run(
    places: &Places,
    catalog: &EngineCatalog,
    cache: &BuildCache,
    wanted: &Wanted<'_>,
) -> anyhow::Result<()> {
    let progress = Progress::new();
    let mut tell = |text: &str| progress.say(text);
    let (source, reference) = match wanted.from {
        SourceAt::Commit { repository, reference } => (Source::repository(repository), reference),
        SourceAt::Tree(path) => (Source::tree(path), ""),
    };
    let source = source.map_err(as_usage)?;
    let (building, version) = Building::by_recipe(places, wanted.engine, source, reference, wanted.recipe)?;
    let name = wanted.name.map_or_else(|| building.default_name(&version), str::to_owned);
    let MadeNow { build, took, log } = building.make(catalog, cache, &version, &name, &mut tell)?;
    let seconds = took.map(Nanos::as_secs_f64);
    if wanted.as_json {
        return print::json(&json!({ "schema": 1, "build": build, "seconds": seconds, "log": log }));
    }
    let made = build.made.as_ref().map(|made| made.shown()).unwrap_or_default();
    let when =
        seconds.map_or_else(|| "was here already".to_owned(), |seconds| format!("built in {seconds:.0} s"));
    print::text(&format!(
        "{} is {}\n  {when}, {made}\n  log {}\n",
        build.reference,
        build.library.display(),
        log.display()
    ))
}
