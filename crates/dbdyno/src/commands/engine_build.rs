//! `dbdyno engine build`: sources become a build of a name; `dbdyno engine recipes`: how.

use crate::building::{Building, MadeNow, as_usage};
use crate::cli::{Places, Recipe};
use crate::commands::print;
use crate::progress::Progress;
use crate::resources;
use model::units::Nanos;
use runner::builds::{SETTINGS, Source};
use runner::engines::{BuildCache, EngineCatalog};
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write;
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

/// What `--recipe` and `--set` may name.
pub fn print_recipes(engine: &str, as_json: bool) -> anyhow::Result<()> {
    let recipes = resources::recipes(engine)?;
    if as_json {
        let listed: Vec<_> = recipes
            .recipes()
            .iter()
            .map(|recipe| json!({ "name": recipe.name, "description": recipe.description, "needs": recipe.needs }))
            .collect();
        return print::json(&json!({
            "schema": 1,
            "engine": engine,
            "recipes": listed,
            "variants": recipes.variants(),
            "settings": BTreeMap::from(SETTINGS),
        }));
    }
    let mut text = format!("recipes of {engine}; the first whose file is in the sources is taken:\n");
    for recipe in recipes.recipes() {
        writeln!(text, "  {}, for sources with `{}`", recipe.name, recipe.needs.display())?;
        writeln!(text, "    {}", recipe.description)?;
    }
    writeln!(text, "variants, which --recipe names too:")?;
    for (name, settings) in recipes.variants() {
        writeln!(text, "  {name:<18} {}", assignments(settings))?;
    }
    writeln!(text, "settings, which --set changes:")?;
    for (name, what) in SETTINGS {
        writeln!(text, "  {name:<18} {what}")?;
    }
    print::text(&text)
}

fn assignments(settings: &BTreeMap<String, String>) -> String {
    settings.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}
