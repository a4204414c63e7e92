//! The versions of a bisection: releases between two, or commits that are built on demand.

use super::search::Search;
use crate::building::{Building, as_usage};
use crate::cli::{Places, Recipe};
use crate::exit::usage;
use crate::paths;
use anyhow::{Context, anyhow};
use findings::bisection::VersionFacts;
use model::subject::{BuildRef, DEFAULT_CONFIG, SubjectRef};
use model::units::Nanos;
use runner::builds::{self, Ends, Ready, Source as BuildSource, Version};
use runner::engines::{BuildCache, EngineCatalog, ReleaseStatus};
use runner::real::run_directory::RunDirectory;
use std::path::Path;

/// The versions in their order, the good end first.
pub struct Versions {
    pub references: Vec<SubjectRef>,
    source: Source,
}

enum Source {
    Releases,
    Commits(Box<Commits>),
}

struct Commits {
    commits: Vec<Version>,
    building: Building,
    /// Seconds of each build that was made.
    builds_s: Vec<f64>,
}

impl Versions {
    /// The releases from one to another, both included: those that were tried, or all.
    pub fn of_releases(
        catalog: &EngineCatalog,
        cache: &BuildCache,
        search: &Search,
    ) -> anyhow::Result<Versions> {
        let good: SubjectRef = search.good.parse().map_err(usage)?;
        let bad: SubjectRef = search.bad.parse().map_err(usage)?;
        if good.build.engine != bad.build.engine {
            return Err(usage(anyhow!(
                "{good} and {bad} are two engines: there are no releases between them; `dbdyno compare` compares them"
            )));
        }
        if good.config != bad.config {
            return Err(usage(anyhow!(
                "{good} and {bad} have two configurations: bisect takes one for all releases; `dbdyno compare` tells \
                 configurations apart"
            )));
        }
        let releases = catalog.releases(&good.build.engine).map_err(usage)?;
        let place = |build: &BuildRef| -> anyhow::Result<usize> {
            let found = releases.iter().position(|release| release.version == build.version);
            if let Some(place) = found {
                return Ok(place);
            }
            cache.resolve(catalog, build, &mut |_| {}).map_err(usage)?;
            Err(usage(anyhow!(
                "{build} is your own build, so it has no place in the order of releases; to bisect commits use --git"
            )))
        };
        let (first, last) = (place(&good.build)?, place(&bad.build)?);
        if first >= last {
            return Err(usage(anyhow!("{good} is not older than {bad}: --good names the earlier release")));
        }
        let is_end = |place: usize| place == first || place == last;
        let between = releases.iter().enumerate().skip(first).take(last - first + 1);
        let references: Vec<SubjectRef> = between
            .filter(|(place, release)| {
                search.untried || release.status == ReleaseStatus::Tried || is_end(*place)
            })
            .map(|(_, release)| SubjectRef {
                build: BuildRef { engine: good.build.engine.clone(), version: release.version.clone() },
                config: good.config.clone(),
            })
            .collect();
        if references.len() < 3 {
            let untried = match last - first {
                0 | 1 => String::new(),
                more => format!("; --untried adds {} that are untested", more - 1),
            };
            return Err(usage(anyhow!(
                "there is no tried release between {good} and {bad}: `dbdyno compare {good} {bad}` says whether they \
                 differ{untried}"
            )));
        }
        Ok(Versions { references, source: Source::Releases })
    }

    /// The commits from one to another, both included, along first parents.
    pub fn of_commits(
        places: &Places,
        search: &Search,
        repository: &Path,
        engine: &str,
        id: &str,
    ) -> anyhow::Result<Versions> {
        let work_dir = paths::work_dir(places)?;
        let directory = RunDirectory::create(&work_dir, id)?;
        let command = match (&search.build, &search.library) {
            (Some(command), Some(library)) => Some(Ready::command(command, library).map_err(as_usage)?),
            _ => None,
        };
        let ends = Ends { good: &search.good, bad: &search.bad };
        let commits = builds::between(repository, ends, directory.path(), &crate::interrupt::requested)
            .map_err(as_usage)?;
        let source = BuildSource::repository(repository).map_err(as_usage)?;
        let building = match command {
            Some(ready) => {
                Building::of(places, engine, source, ready, search.build_timeout.map(Nanos::from))?
            }
            None => {
                let recipe = Recipe {
                    names: search.recipe.clone(),
                    set: search.set.clone(),
                    timeout: search.build_timeout,
                };
                // By the older end: what it lacks the search could not build.
                Building::by_recipe(places, engine, source, &commits[0].id, &recipe)?.0
            }
        };
        let reference = |commit: &Version| SubjectRef {
            build: BuildRef { engine: engine.to_owned(), version: commit.short().to_owned() },
            config: DEFAULT_CONFIG.to_owned(),
        };
        if commits.len() < 3 {
            return Err(usage(anyhow!(
                "there is no commit between `{}` and `{}`: build both, `dbdyno engine add` them and compare",
                search.good,
                search.bad
            )));
        }
        Ok(Versions {
            references: commits.iter().map(reference).collect(),
            source: Source::Commits(Box::new(Commits { commits, building, builds_s: Vec::new() })),
        })
    }

    /// The full ids of the ends, which do not move as names of branches do; none of releases.
    pub fn commit_ids(&self) -> Option<[String; 2]> {
        let Source::Commits(of) = &self.source else { return None };
        Some([of.commits.first()?, of.commits.last()?].map(|commit| commit.id.clone()))
    }

    /// Builds the version and makes it known, where it is a commit. Releases are fetched by those who plan.
    pub fn make(
        &mut self,
        version: usize,
        catalog: &EngineCatalog,
        cache: &BuildCache,
        tell: &mut dyn FnMut(&str),
    ) -> anyhow::Result<()> {
        let Source::Commits(of) = &mut self.source else { return Ok(()) };
        let commit = &of.commits[version];
        let name = commit.short();
        let made = of.building.make(catalog, cache, commit, name, tell);
        let made = made.with_context(|| format!("{name} cannot be used"))?;
        of.builds_s.extend(made.took.map(Nanos::as_secs_f64));
        Ok(())
    }

    /// What a launch of each version costs, in launches, where one takes `launch_s`: a commit that is not built yet
    /// costs its build too.
    pub fn costs(&self, launch_s: f64) -> Vec<f64> {
        let Source::Commits(of) = &self.source else { return vec![1.0; self.references.len()] };
        // Until a build was made nothing is known of its cost: all count alike.
        let build_s = of.builds_s.iter().sum::<f64>() / of.builds_s.len().max(1) as f64;
        let cost = |commit: &Version| match of.building.builder.built(commit) {
            Some(_) => 1.0,
            None => 1.0 + build_s / launch_s.max(1e-3),
        };
        of.commits.iter().map(cost).collect()
    }

    /// As reports name them.
    pub fn facts(&self) -> Vec<VersionFacts> {
        let summary = |version: usize| match &self.source {
            Source::Releases => None,
            Source::Commits(of) => Some(of.commits[version].summary.clone()),
        };
        let of = |(version, reference): (usize, &SubjectRef)| VersionFacts {
            name: reference.to_string(),
            summary: summary(version),
            not_measurable: None,
        };
        self.references.iter().enumerate().map(of).collect()
    }
}
