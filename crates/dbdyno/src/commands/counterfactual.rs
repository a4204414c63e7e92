//! `explain --test` and `--chain`: the comparison of a run once more, with other subjects. Each is a run of its own, whose name begins with the id
//! of the run that it belongs to, so that later explanations find it.

use crate::cli::Places;
use crate::commands::measure::{self, Origin, Ready};
use crate::exit::usage;
use crate::planning::campaign::{self, Campaign};
use crate::progress::Progress;
use crate::{interrupt, paths};
use anyhow::{Context, anyhow};
use findings::ComparedRun;
use findings::again;
use findings::counterfactual::{self, Chain, Test, name_of_chain, names_of_tests, subjects_of_test};
use findings::explanation::Explained;
use model::event::RunOutcome;
use model::plan::{DecisionRule, Design, Plan};
use model::plan_file::{PlanDesign, PlanFile, PlanText, UnknownOptions};
use model::record::RunRecord;
use model::subject::SubjectRef;
use runner::clock::Stopwatch;
use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;
use store::Store;

/// What is measured once more.
pub struct Further<'a> {
    pub places: &'a Places,
    pub run: &'a ComparedRun,
    /// Wall time of each test, or of the chain.
    pub budget: Duration,
}

impl Further<'_> {
    /// Tests these configurations on the cases, or the remedies of their patterns if none is named.
    pub fn test(&self, cases: &[Explained], with: &[String]) -> anyhow::Result<()> {
        let mut wanted: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
        for case in cases {
            let remedies = case.patterns.iter().filter_map(|one| one.pattern.remedy.clone());
            let configs: Vec<String> = if with.is_empty() { remedies.collect() } else { with.to_vec() };
            for config in configs {
                wanted.entry((case.candidate.clone(), config)).or_default().push(case.step.clone());
            }
        }
        if wanted.is_empty() {
            return Err(usage(anyhow!(
                "no pattern with a remedy is seen in run {}: name a configuration with --with, of a step that differs or that --step names",
                self.run.record.id
            )));
        }
        for ((candidate, config), steps) in wanted {
            self.test_one(&candidate, &config, &steps)?;
        }
        Ok(())
    }

    fn test_one(&self, candidate: &str, with: &str, steps: &[String]) -> anyhow::Result<()> {
        let [base, candidate] = [self.run.view.base.as_str(), candidate].map(str::parse::<SubjectRef>);
        let (base, candidate) = (base.map_err(usage)?, candidate.map_err(usage)?);
        let subjects = subjects_of_test(&base, &candidate, with);
        if base.build == candidate.build {
            return Err(usage(anyhow!(
                "base and candidate are the same build, so that with `{with}` they would be one subject: use --chain base,+{with},candidate"
            )));
        }
        if base.config == with || candidate.config == with {
            return Err(usage(anyhow!("{candidate} or {base} has the configuration `{with}` already")));
        }
        let name = format!("{}{}", names_of_tests(&self.run.record.id), subjects[2]);
        self.measure(&subjects, steps, &name, &|plan| {
            let side = |one: &SubjectRef| plan.subjects.iter().position(|subject| subject.reference == *one);
            let sides = side(&subjects[1]).zip(side(&subjects[2]));
            match sides {
                Some((plain, with)) if !counterfactual::has_it(plan, plain, with) => Err(usage(anyhow!(
                    "{candidate} does not know an option of the configuration `{with_name}`: there is nothing to test",
                    with_name = subjects[2].config
                ))),
                _ => Ok(()),
            }
        })
    }

    /// Measures a chain: `base`, `candidate`, `+CONFIG` of the base's build, or subjects in full.
    pub fn chain(&self, links: &[String], steps: &[String]) -> anyhow::Result<()> {
        let subjects = self.subjects(links)?;
        if subjects.len() < 3 {
            return Err(usage(anyhow!("a chain has at least three subjects: base,+CONFIG,candidate")));
        }
        if steps.is_empty() {
            return Err(usage(anyhow!(
                "no step of run {} differs: name those to measure with --step",
                self.run.record.id
            )));
        }
        self.measure(&subjects, steps, &name_of_chain(&self.run.record.id), &|_| Ok(()))
    }

    fn subjects(&self, links: &[String]) -> anyhow::Result<Vec<SubjectRef>> {
        let view = &self.run.view;
        let base: SubjectRef = view.base.parse().map_err(usage)?;
        let candidate = || match view.candidates() {
            [only] => only.subject.parse().map_err(usage),
            several => Err(usage(anyhow!(
                "run {} has {} candidates: write in full which one is meant",
                view.run.id,
                several.len()
            ))),
        };
        let subject = |link: &String| match (link.as_str(), link.strip_prefix('+')) {
            ("base", _) => Ok(base.clone()),
            ("candidate", _) => candidate(),
            (_, Some(_)) => format!("{}{link}", base.build).parse().map_err(usage),
            (full, None) => full.parse().map_err(usage),
        };
        links.iter().map(subject).collect()
    }

    /// Measures these subjects with everything else as in the run, unless one of them cannot be measured or `refuses` says why not.
    fn measure(
        &self,
        subjects: &[SubjectRef],
        steps: &[String],
        name: &str,
        refuses: &dyn Fn(&Plan) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        interrupt::listen()?;
        let mut progress = Progress::new();
        let record = &self.run.record;
        measured_otherwise(record)?;
        // The workload as it was, whatever its file or the one of that name has become.
        let directory = paths::work_dir(self.places)?;
        fs::create_dir_all(&directory)
            .with_context(|| format!("failed to make `{}`", directory.display()))?;
        let workload = directory.join(format!("{}.toml", record.id));
        fs::write(&workload, &record.plan.workload.text)
            .with_context(|| format!("failed to write `{}`", workload.display()))?;
        let mut text = PlanText {
            name: name.to_owned(),
            design: Some(PlanDesign::from(record.plan.layout.design)),
            rounds: (record.plan.layout.design == Design::Rounds).then_some(MOST_ROUNDS),
            workloads: vec![workload.display().to_string()],
            subjects: subjects.iter().map(ToString::to_string).collect(),
            steps: record.plan.workload.named_as(steps),
            unknown_options: UnknownOptions::LeaveOut,
            budget_minutes: None,
            seed: None,
            base_processes: None,
            until: None,
            // Only a launch that has all of them says anything.
            candidates_at_once: (record.plan.layout.design == Design::Interleaved)
                .then_some(subjects.len() - 1),
            ..again::plan_file(&record.plan)
        };
        text.config_files.retain(|config, _| subjects.iter().any(|one| one.config == *config));
        let planned = planned(self.places, &text, self.budget, &mut progress);
        let _ = fs::remove_file(&workload);
        let Campaign { mut plan, written_options } = planned?;
        if let Some(one) = plan.layout.left_out.first() {
            return Err(anyhow!("{} could not be measured: {}", one.reference, one.reason));
        }
        refuses(&plan)?;
        let DecisionRule { alpha, margin, tau, .. } = record.plan.rule;
        plan.rule = DecisionRule { alpha, margin, tau, ..plan.rule };
        plan.own_image = record.plan.own_image;
        let ready = Ready { plan, written_options, fingerprint: None, watch: Stopwatch::start() };
        let mut writer = paths::open_store(self.places)?;
        let measured =
            measure::measure(self.places, &ready, Origin::Named(name), &mut writer, &mut progress)?;
        match measured.outcome {
            RunOutcome::Done => Ok(()),
            RunOutcome::Interrupted => Err(anyhow!(
                "interrupted; `dbdyno run --resume {}` resumes it, and `dbdyno explain {}` shows it then",
                measured.run,
                record.id
            )),
            RunOutcome::Failed => Err(anyhow!("run {} failed: the lines above say why", measured.run)),
        }
    }
}

/// Rounds end with the budget.
const MOST_ROUNDS: u32 = 30;

/// Refuses a run that cannot be measured again with other subjects.
fn measured_otherwise(record: &RunRecord) -> anyhow::Result<()> {
    let layout = &record.plan.layout;
    let why = if layout.design == Design::Sequential {
        "it measured one subject after another, so that the host's changes are in every ratio"
    } else if layout.server_host.is_some() {
        "its servers were on another host than their clients, where that is not possible yet"
    } else if !layout.db_bench.is_empty() {
        "its steps were run by db_bench"
    } else if record.plan.subjects.iter().any(|subject| subject.planted_slowdown_percent > 0.0) {
        "a slowdown was injected into it"
    } else {
        return Ok(());
    };
    Err(usage(anyhow!("run {} cannot be measured again with other subjects: {why}", record.id)))
}

fn planned(
    places: &Places,
    text: &PlanText,
    budget: Duration,
    progress: &mut Progress,
) -> anyhow::Result<Campaign> {
    let toml = text.to_toml().context("failed to write the plan")?;
    let mut file = PlanFile::parse(&toml, &text.name).map_err(usage)?;
    file.budget_seconds = Some(budget.as_secs());
    let mut campaigns = campaign::plans(places, &file, &mut |text| progress.say(text))?;
    campaigns.pop().ok_or_else(|| anyhow!("there is nothing to measure"))
}

/// What further runs of a run have found.
pub struct Found {
    pub tests: Vec<Test>,
    pub chains: Vec<Chain>,
}

/// The tests and chains that were measured of a run; of those of the same the newest.
pub fn found(store: &Store, record: &RunRecord) -> anyhow::Result<Found> {
    let mut tests: Vec<Test> = Vec::new();
    for id in store.runs_named(&names_of_tests(&record.id))? {
        for test in counterfactual::tests(&store.load_run(&id)?) {
            let key = |one: &Test| (one.candidate.clone(), one.with.clone(), one.step.clone());
            tests.retain(|known| key(known) != key(&test));
            tests.push(test);
        }
    }
    let mut chains: Vec<Chain> = Vec::new();
    for id in store.runs_named(&name_of_chain(&record.id))? {
        let chain = counterfactual::chain(&store.load_run(&id)?);
        chains.retain(|known| known.subjects != chain.subjects);
        chains.push(chain);
    }
    Ok(Found { tests, chains })
}
