//! Building from source: what `engine build`, subjects by commit and `bisect --git` share.

use crate::cli::{Places, Recipe};
use crate::commands::measure::new_run_id;
use crate::exit::usage;
use crate::{interrupt, paths, resources};
use anyhow::anyhow;
use model::build::{EngineBuild, Made};
use model::subject::{BuildRef, SubjectRef};
use model::units::Nanos;
use runner::builds::{BUILD_TIMEOUT, BuildError, Builder, Built, Compiler, Ready, Source, Version};
use runner::clock::Stopwatch;
use runner::engines::{BuildCache, EngineCatalog};
use runner::real::run_directory::RunDirectory;
use std::path::{Path, PathBuf};

/// One engine's sources with the recipe that they are built by.
pub struct Building {
    pub engine: String,
    pub builder: Builder,
    /// Whether something is set that the names of the recipe and its variants do not tell.
    is_set: bool,
}

/// A build that was made, and how long that took; no time if it was there already.
pub struct MadeNow {
    pub build: EngineBuild,
    pub took: Option<Nanos>,
    pub log: PathBuf,
}

impl Building {
    /// By the recipes of the engine, and the state that is meant by `name`, which says whether a recipe fits.
    ///
    /// # Errors
    /// A state, a recipe or a setting that there is not, no recipe that fits, no compiler.
    pub fn by_recipe(
        places: &Places,
        engine: &str,
        source: Source,
        name: &str,
        recipe: &Recipe,
    ) -> anyhow::Result<(Building, Version)> {
        let scratch = scratch(places)?;
        let version = source.version(name, scratch.path(), &interrupt::requested).map_err(as_usage)?;
        let recipes = resources::recipes(engine)?;
        let set = recipe.set.iter().map(|text| setting(text)).collect::<anyhow::Result<Vec<_>>>()?;
        let has = |file: &Path| source.has(&version, file, scratch.path(), &interrupt::requested);
        let ready = recipes.choose(&recipe.names, &set, &has, &Compiler::found).map_err(as_usage)?;
        let building = Building::of(places, engine, source, ready, recipe.timeout.map(Nanos::from))?;
        // With and without ccache it is one build, which has one name.
        let is_set = set.iter().any(|(name, _)| name != "ccache");
        Ok((Building { is_set, ..building }, version))
    }

    /// By a command of the user's.
    pub fn of(
        places: &Places,
        engine: &str,
        source: Source,
        ready: Ready,
        timeout: Option<Nanos>,
    ) -> anyhow::Result<Building> {
        let work_dir = paths::work_dir(places)?;
        let builder =
            Builder::new(&work_dir, source, ready, timeout.unwrap_or(BUILD_TIMEOUT)).map_err(as_usage)?;
        Ok(Building { engine: engine.to_owned(), builder, is_set: false })
    }

    /// The name of a build that is given none: the state, the variants, and if anything else is set the beginning of the key of the build's directory.
    pub fn default_name(&self, version: &Version) -> String {
        const KEY_DIGITS: usize = 6;
        let recipe = &self.builder.recipe().name;
        let mut name = match recipe.split_once(',') {
            Some((_, variants)) => format!("{}-{}", version.short(), variants.replace(',', "-")),
            None => version.short().to_owned(),
        };
        if self.is_set {
            let key = self.builder.directory().file_name().unwrap_or_default().to_string_lossy();
            name.push('-');
            name.extend(key.chars().take(KEY_DIGITS));
        }
        name
    }

    /// Builds a state, unless it is there, and makes it known under a name.
    ///
    /// # Errors
    /// The build failed, or made what is no build of this engine and version.
    pub fn make(
        &self,
        catalog: &EngineCatalog,
        cache: &BuildCache,
        version: &Version,
        name: &str,
        tell: &mut dyn FnMut(&str),
    ) -> anyhow::Result<MadeNow> {
        let reference = format!("{}@{name}", self.engine);
        BuildCache::check_own_name(catalog, &reference).map_err(usage)?;
        let (built, took) = match self.builder.built(version) {
            Some(built) => (built, None),
            None => {
                tell(&format!("building {}: {}", version.short(), version.summary));
                let watch = Stopwatch::start();
                (self.builder.build(version, tell, &interrupt::requested)?, Some(watch.elapsed()))
            }
        };
        let made = self.made(version, &built);
        let build = cache.add_made(catalog, &reference, &built.path, Some(made))?;
        for flag in build.made.iter().flat_map(|made| &made.ignored) {
            tell(&format!("warning: {reference}: not all code was compiled with {flag}"));
        }
        Ok(MadeNow { build, took, log: built.log })
    }

    fn made(&self, version: &Version, built: &Built) -> Made {
        let Ready { name, settings, compiler, flags, .. } = self.builder.recipe();
        let source = self.builder.source();
        Made {
            source: source.path().to_owned(),
            is_commit: matches!(source, Source::Repository(_)),
            id: version.id.clone(),
            summary: version.summary.clone(),
            recipe: name.clone(),
            settings: settings.clone(),
            compiler: compiler.clone(),
            flags: flags.clone(),
            version: built.version.clone(),
            ignored: Vec::new(),
        }
    }
}

/// Whether there are such recipes, variants and settings of an engine; which of them fits shows with the sources.
///
/// # Errors
/// There are not.
pub fn check_recipe(engine: &str, recipe: &Recipe) -> anyhow::Result<()> {
    let set = recipe.set.iter().map(|text| setting(text)).collect::<anyhow::Result<Vec<_>>>()?;
    let recipes = resources::recipes(engine)?;
    recipes.choose(&recipe.names, &set, &|_| Ok(true), &Compiler::found).map(|_| ()).map_err(as_usage)
}

/// Whether a directory is a repository with a commit.
///
/// # Errors
/// It is not.
pub fn check_repository(places: &Places, directory: &Path) -> anyhow::Result<()> {
    let scratch = scratch(places)?;
    let source = Source::repository(directory).map_err(as_usage)?;
    source.version("HEAD", scratch.path(), &interrupt::requested).map(|_| ()).map_err(usage)
}

/// Builds the commit that a subject names, `postgres@git:REF`; the subject with the name of this build. Any other subject as it is.
///
/// # Errors
/// An engine without a repository, a commit that there is not or that cannot be built.
pub fn with_commit_built(
    places: &Places,
    catalog: &EngineCatalog,
    cache: &BuildCache,
    subject: &SubjectRef,
    tell: &mut dyn FnMut(&str),
) -> anyhow::Result<SubjectRef> {
    let Some(reference) = subject.build.commit() else { return Ok(subject.clone()) };
    let engine = &subject.build.engine;
    catalog.family(engine).map_err(usage)?;
    let repository = cache.repository(engine)?.ok_or_else(|| {
        usage(anyhow!(
            "{subject} is a commit, and the repository of {engine} is not known: `dbdyno engine add {engine} --git DIR` makes it known"
        ))
    })?;
    let source = Source::repository(&repository.path).map_err(as_usage)?;
    let recipe = Recipe { names: repository.recipe, set: repository.set, timeout: repository.timeout };
    let (building, version) = Building::by_recipe(places, engine, source, reference, &recipe)?;
    let made = building.make(catalog, cache, &version, &building.default_name(&version), tell)?;
    Ok(SubjectRef { build: made.build.reference, config: subject.config.clone() })
}

/// A build again, of the same state by the same recipe, with its code laid out in another way; known by the name of the first and the number.
///
/// # Errors
/// The sources are not there any more, or they or the compiler are not as they were.
pub fn made_again(
    places: &Places,
    catalog: &EngineCatalog,
    cache: &BuildCache,
    first: &BuildRef,
    made: &Made,
    layout: u32,
    tell: &mut dyn FnMut(&str),
) -> anyhow::Result<BuildRef> {
    let source = if made.is_commit { Source::repository(&made.source) } else { Source::tree(&made.source) };
    let source = source.map_err(as_usage)?;
    if let Source::Tree { version, .. } = &source
        && version.id != made.id
    {
        return Err(usage(anyhow!(
            "`{}` is not as it was when {first} was built of it",
            made.source.display()
        )));
    }
    let mut set: Vec<String> = made.settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
    set.push(format!("layout={layout}"));
    // Variants are among the settings; the first of the names is the recipe.
    let names = made.recipe.split(',').take(1).map(str::to_owned).collect();
    let recipe = Recipe { names, set, timeout: None };
    let (building, version) = Building::by_recipe(places, &first.engine, source, &made.id, &recipe)?;
    if building.builder.recipe().compiler != made.compiler {
        return Err(usage(anyhow!(
            "the compiler is another one than when {first} was built: build that again, too"
        )));
    }
    let name = format!("{}-layout-{layout}", first.version);
    Ok(building.make(catalog, cache, &version, &name, tell)?.build.reference)
}

/// For what git and tar print.
fn scratch(places: &Places) -> anyhow::Result<RunDirectory> {
    Ok(RunDirectory::create(&paths::work_dir(places)?, &format!("build-{}", new_run_id()?))?)
}

/// `lto=yes`
fn setting(text: &str) -> anyhow::Result<(String, String)> {
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| usage(anyhow!("--set is NAME=VALUE, like --set lto=yes, not `{text}`")))?;
    Ok((name.to_owned(), value.to_owned()))
}

/// A name that cannot be is wrong usage; git that fails is a failed run.
pub fn as_usage(error: BuildError) -> anyhow::Error {
    if error.is_usage() { usage(error) } else { error.into() }
}
