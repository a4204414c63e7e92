//! What a bisection is asked for, as it is kept with it: `--resume` goes on with the same.

use crate::cli::{Bisect, MAX_BISECT_LAUNCHES, Measuring};
use crate::exit::usage;
use anyhow::{Context, anyhow};
use findings::again::word;
use model::plan::{DecisionRule, Plan};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::time::Duration;
use store::NamedRun;

/// Wall time of measuring, if none is given.
const DEFAULT_BUDGET: Duration = Duration::from_secs(30 * 60);

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Search {
    /// Of commits their full ids, once they are known.
    pub good: String,
    pub bad: String,
    pub step: String,
    /// A name, or an absolute path.
    pub workload: String,
    pub improvement: bool,
    pub untried: bool,
    pub git: Option<PathBuf>,
    /// Of commits: the engine in the repository, if the workload is for several.
    #[serde(default)]
    pub engine: Option<String>,
    /// Of commits: recipes and variants.
    #[serde(default)]
    pub recipe: Vec<String>,
    #[serde(default)]
    pub set: Vec<String>,
    #[serde(default)]
    pub build_timeout: Option<Duration>,
    /// Instead of a recipe: a command, and the library that it makes.
    pub build: Option<String>,
    pub library: Option<PathBuf>,
    pub budget: Duration,
    pub max_launches: u32,
    pub own_image: bool,
    /// In percent, as the two that follow.
    pub margin: f64,
    pub alpha: f64,
    pub plant_slowdown: f64,
    pub plant_from: Option<String>,
    /// Absent until it is drawn.
    pub seed: Option<u64>,
    /// Of the step, as it was known when the search began.
    pub layout_noise: Option<f64>,
}

impl Search {
    pub fn of(arguments: &Bisect) -> anyhow::Result<Search> {
        let named = |value: &Option<String>, option: &str| {
            value.clone().ok_or_else(|| usage(anyhow!("{option} is not given")))
        };
        let absolute = |path: &Path| {
            std::path::absolute(path).with_context(|| format!("failed to resolve `{}`", path.display()))
        };
        if arguments.git.is_none() && arguments.recipe.is_given() {
            return Err(usage(anyhow!(
                "--recipe, --set and --build-timeout are of commits, which --git names"
            )));
        }
        let is_file = arguments.workload.contains('/') || arguments.workload.ends_with(".toml");
        let workload = match is_file {
            true => absolute(Path::new(&arguments.workload))?.display().to_string(),
            false => arguments.workload.clone(),
        };
        Ok(Search {
            good: named(&arguments.good, "--good")?,
            bad: named(&arguments.bad, "--bad")?,
            step: named(&arguments.step, "--step")?,
            workload,
            improvement: arguments.improvement,
            untried: arguments.untried,
            git: arguments.git.as_deref().map(absolute).transpose()?,
            engine: arguments.engine.clone(),
            recipe: arguments.recipe.names.clone(),
            set: arguments.recipe.set.clone(),
            build_timeout: arguments.recipe.timeout,
            build: arguments.build.clone(),
            library: arguments.library.clone(),
            budget: arguments.budget.unwrap_or(DEFAULT_BUDGET),
            max_launches: arguments.max_launches,
            own_image: arguments.own_image,
            margin: arguments.margin,
            alpha: arguments.alpha,
            plant_slowdown: arguments.plant_slowdown,
            plant_from: arguments.plant_from.clone(),
            seed: arguments.seed,
            layout_noise: None,
        })
    }

    /// What makes the same search, for a shell; what is at its default is left out.
    pub fn command(&self, seed: u64) -> String {
        let mut words = vec!["dbdyno".to_owned(), "bisect".to_owned()];
        let mut option = |name: &str, value: String| words.extend([format!("--{name}"), word(&value)]);
        let path = |path: &PathBuf| path.display().to_string();
        self.git.iter().for_each(|git| option("git", path(git)));
        self.engine.iter().for_each(|engine| option("engine", engine.clone()));
        self.recipe.iter().for_each(|name| option("recipe", name.clone()));
        self.set.iter().for_each(|setting| option("set", setting.clone()));
        self.build_timeout
            .iter()
            .for_each(|timeout| option("build-timeout", format!("{}s", timeout.as_secs())));
        self.build.iter().for_each(|command| option("build", command.clone()));
        self.library.iter().for_each(|library| option("library", path(library)));
        option("good", self.good.clone());
        option("bad", self.bad.clone());
        option("workload", self.workload.clone());
        option("step", self.step.clone());
        option("budget", format!("{}s", self.budget.as_secs()));
        option("seed", seed.to_string());
        if self.max_launches != MAX_BISECT_LAUNCHES {
            option("max-launches", self.max_launches.to_string());
        }
        let defaults = DecisionRule::default();
        for (name, percent, default) in
            [("margin", self.margin, defaults.margin), ("alpha", self.alpha, defaults.alpha)]
        {
            if (percent - 100.0 * default).abs() > 1e-9 {
                option(name, percent.to_string());
            }
        }
        let flags = [
            ("--improvement", self.improvement),
            ("--untried", self.untried),
            ("--own-image", self.own_image),
        ];
        words.extend(flags.into_iter().filter(|(_, is_set)| *is_set).map(|(flag, _)| flag.to_owned()));
        words.join(" ")
    }

    /// Only one step is measured, and how many launches a comparison may have is the procedure's business.
    pub fn measuring(&self) -> Measuring {
        Measuring {
            workload: self.workload.clone(),
            steps: vec![self.step.clone()],
            config_files: Vec::new(),
            own_image: self.own_image,
            margin: self.margin,
            alpha: self.alpha,
            build_noise: 100.0 * DecisionRule::default().tau,
            max_launches: analysis::budget::MOST_LAUNCHES,
            seed: self.seed,
            server_host: None,
            server_address: None,
        }
    }
}

/// Whether two plans measure the same of the same: they may differ in how long and how often, in the seed and in the version of dbdyno,
/// which is compared with the host.
pub(super) fn measures_the_same(before: &Plan, now: &Plan) -> bool {
    let what = |plan: &Plan| Plan {
        rule: now.rule,
        budget: now.budget,
        seed: now.seed,
        tool_version: now.tool_version.clone(),
        ..plan.clone()
    };
    what(before) == what(now)
}

/// The runs that a bisection has measured before it was stopped. The search is the same again, so that it asks for them in the
/// order in which they were measured; of commits another may be the cheapest once some are built.
#[derive(Debug, Default)]
pub struct MeasuredBefore {
    /// Ids, by what was measured.
    runs: BTreeMap<String, VecDeque<String>>,
}

impl MeasuredBefore {
    /// `runs` in the order in which they began.
    pub fn of(runs: Vec<NamedRun>) -> MeasuredBefore {
        let mut of_all = MeasuredBefore::default();
        for NamedRun { id, name } in runs {
            of_all.runs.entry(what(&name)).or_default().push_back(id);
        }
        of_all
    }

    /// The next run of what a run of this name would measure.
    pub fn take(&mut self, name: &str) -> Option<String> {
        self.runs.get_mut(&what(name))?.pop_front()
    }
}

/// `bisect-20261121-091500-3fa9/8.5.4-8.7.3/confirmation`: the versions and why; single launches are numbered through the search.
fn what(name: &str) -> String {
    match name.rsplit_once('/') {
        Some((versions, word)) if word.parse::<u64>().is_ok() => format!("{versions}/launch"),
        Some(_) | None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_another_build_workload_or_configuration_does_not_count() {
        let plan = testing::plan(testing::SMALL_WORKLOAD, &["rocksdb@8.5.4", "rocksdb@8.7.3"]);
        let later = Plan { seed: plan.seed + 1, tool_version: "9".to_owned(), ..plan.clone() };
        assert!(measures_the_same(&plan, &later));
        let mut rebuilt = plan.clone();
        rebuilt.subjects[1].build.sha256 = "another".to_owned();
        let mut configured = plan.clone();
        configured.subjects[0].options.insert("write_buffer_size".to_owned(), "1".to_owned());
        let larger = testing::plan(
            &testing::SMALL_WORKLOAD.replace("keys = 1000", "keys = 2000"),
            &["rocksdb@8.5.4", "rocksdb@8.7.3"],
        );
        for other in [rebuilt, configured, larger] {
            assert!(!measures_the_same(&plan, &other));
        }
    }

    #[test]
    fn the_command_makes_the_same_search_and_leaves_out_what_is_at_its_default() {
        let search = Search {
            good: "REL_16_0".to_owned(),
            bad: "REL_17_0".to_owned(),
            step: "scan".to_owned(),
            workload: "sysbench-32.quick".to_owned(),
            improvement: true,
            untried: false,
            git: Some("/home/a b/postgres".into()),
            engine: Some("postgres".to_owned()),
            recipe: vec!["lto".to_owned()],
            set: Vec::new(),
            build_timeout: None,
            build: None,
            library: None,
            budget: DEFAULT_BUDGET,
            max_launches: MAX_BISECT_LAUNCHES,
            own_image: false,
            margin: 2.0,
            alpha: 0.5,
            plant_slowdown: 0.0,
            plant_from: None,
            seed: None,
            layout_noise: None,
        };
        assert_eq!(
            search.command(7),
            "dbdyno bisect --git '/home/a b/postgres' --engine postgres --recipe lto --good REL_16_0 --bad REL_17_0 \
             --workload sysbench-32.quick --step scan --budget 1800s --seed 7 --alpha 0.5 --improvement"
        );
        let limited = Search {
            build_timeout: Some(Duration::from_secs(7200)),
            max_launches: 40,
            set: vec!["optimisation=-O3".to_owned()],
            ..search
        };
        let command = limited.command(7);
        for part in [" --build-timeout 7200s ", " --max-launches 40 ", " --set optimisation=-O3 "] {
            assert!(command.contains(part), "{part} in {command}");
        }
    }

    #[test]
    fn a_run_is_used_once_and_for_what_it_measured() {
        let names = ["b/1-9/ends", "b/1-5/1", "b/1-5/2", "b/4-5/confirmation", "b/4-5/confirmation"];
        let runs = names.iter().zip(["p", "q", "r", "s", "t"]);
        let mut before = MeasuredBefore::of(
            runs.map(|(name, id)| NamedRun { id: id.to_owned(), name: (*name).to_owned() }).collect(),
        );
        let mut take = |name: &str| before.take(name);
        assert_eq!(take("b/1-9/ends").as_deref(), Some("p"));
        assert_eq!(take("b/1-9/ends"), None);
        // It may be another place in the search.
        assert_eq!([take("b/1-5/7").as_deref(), take("b/1-5/8").as_deref()], [Some("q"), Some("r")]);
        assert_eq!((take("b/1-5/9"), take("b/2-5/1")), (None, None));
        assert_eq!(take("b/4-5/confirmation").as_deref(), Some("s"));
    }
}
