//! A bisection carried out: each action of the search becomes a run, stored like any other, and what came of it the
//! next event. What to do next is decided in `analysis`; what was found is laid out in `report`.

mod search;
mod versions;

pub use search::{MeasuredBefore, Search};
pub use versions::Versions;

use crate::cli::{HostSpeed, Measuring, Places};
use crate::commands::measure::{self, Origin, Ready};
use crate::finding::build_noise_of;
use crate::planning::{self, Request};
use crate::progress::Progress;
use crate::{fingerprints, interrupt, paths};
use analysis::bisect::{Action, Bisection, Compared, Event, Rule, Stretch, Why};
use analysis::refusal;
use anyhow::{Context, anyhow};
use findings::bisection::VersionFacts;
use findings::harness::Harness;
use findings::judge::{Case, Evidence, judge_run};
use model::block::{BASE, Outcome};
use model::event::RunOutcome;
use model::fingerprint::Fingerprint;
use model::metric::Metric;
use model::plan::{DecisionRule, Layout, Plan, Purpose, Subject};
use model::planted::PlantedAs;
use model::record::{BisectionRecord, RunRecord};
use model::units::Nanos;
use model::warning::Warning;
use runner::clock::Stopwatch;
use runner::engines::{BuildCache, EngineCatalog};
use runner::proc::host;
use std::collections::BTreeMap;
use std::time::Duration;
use store::Writer;

/// A launch that failed is tried again, so often in all: another process may have been in its way.
const MOST_TRIES: u32 = 2;
/// No comparison takes more than this share of the time that is left: there must be some for what follows.
const COMPARISON_SHARE: u64 = 2;
/// A comparison is begun only where there is time for so many launches: fewer have no interval.
const LEAST_LAUNCHES: u64 = 3;

/// What a session needs to begin.
pub struct Setup<'a> {
    pub places: &'a Places,
    pub catalog: &'a EngineCatalog,
    pub cache: &'a BuildCache,
    pub measuring: &'a Measuring,
    pub versions: Versions,
    pub search: Rule,
    /// Beginning of the names of all runs.
    pub id: String,
    /// Wall time of measuring.
    pub budget: Duration,
    pub planted: Planted,
    /// As it was known when the search began; absent when it begins now.
    pub layout_noise: Option<f64>,
    pub before: MeasuredBefore,
}

/// The test hook: CPU burnt in versions from one on.
pub struct Planted {
    pub percent: f64,
    /// The first version that is slowed down; none where there is none.
    pub from: Option<String>,
}

/// A bisection in progress.
pub struct Session<'a> {
    setup: Setup<'a>,
    writer: Writer,
    progress: Progress,
    /// How fast the host was when the search began; absent if it is not known.
    fingerprint: Option<Fingerprint>,
    /// The plan of the ends: all others differ from it in their subjects, budgets and seeds.
    template: Plan,
    prepared: BTreeMap<usize, Prepared>,
    pub facts: Vec<VersionFacts>,
    /// The rate that decided at the ends.
    pub metric: Metric,
    /// What it said of them; absent until they are compared.
    ends_ratio: Option<f64>,
    pub warnings: Vec<Warning>,
    /// Why it was stopped before its end.
    pub stopped: Option<String>,
    /// Whether the user stopped it.
    pub interrupted: bool,
    /// Whether a comparison failed, which keeps the search from going on.
    pub failed: bool,
    spent: Nanos,
    last_launch: Nanos,
    runs: u64,
}

#[derive(Clone)]
struct Prepared {
    subject: Subject,
    written_options: Option<String>,
    /// Of a server: the checksum of all its code.
    code_sha256: Option<String>,
}

/// What became of a run.
struct Ran {
    record: RunRecord,
    outcome: RunOutcome,
}

impl<'a> Session<'a> {
    /// Makes the ends ready. Whatever is wrong with what the user wrote is found here.
    pub fn begin(mut setup: Setup<'a>, writer: Writer, progress: Progress) -> anyhow::Result<Session<'a>> {
        let last = setup.versions.references.len() - 1;
        let mut tell = |text: &str| progress.say(text);
        for end in [0, last] {
            let made = setup.versions.make(end, setup.catalog, setup.cache, &mut tell);
            made.with_context(|| format!("an end cannot be had: {}", setup.versions.references[end]))?;
        }
        let ends = [0, last].map(|end| setup.versions.references[end].to_string()).to_vec();
        let (template, written) = planning::plan(setup.places, &request(&setup, ends), &mut tell)?;
        let host = host::describe(&paths::work_dir(setup.places)?).name;
        let build_noise = build_noise_of(writer.store(), &template, &host)?;
        let measured = template.steps.first().and_then(|step| build_noise.get(step)).copied();
        setup.search.layout_noise = setup.layout_noise.or(measured).unwrap_or(template.rule.tau);
        let prepared =
            [0, last].into_iter().zip(written).enumerate().map(|(side, (version, written_options))| {
                let subject = template.subjects[side].clone();
                let code_sha256 = template.layout.code_sha256.get(&side).cloned();
                (version, Prepared { subject, written_options, code_sha256 })
            });
        Ok(Session {
            prepared: prepared.collect(),
            facts: setup.versions.facts(),
            setup,
            writer,
            progress,
            fingerprint: None,
            template,
            metric: Metric::OpsPerSecond,
            ends_ratio: None,
            warnings: Vec::new(),
            stopped: None,
            interrupted: false,
            failed: false,
            spent: Nanos(0),
            last_launch: Nanos(0),
            runs: 0,
        })
    }

    /// Measures the host, if nobody has lately: once, and not before each of the many runs.
    ///
    /// # Errors
    /// The user has interrupted it.
    pub fn measure_host(&mut self, speed: &HostSpeed) -> anyhow::Result<()> {
        self.fingerprint = fingerprints::before_run(self.setup.places, None, speed, &self.progress)?;
        Ok(())
    }

    /// How the search goes: as the caller set it, with the layout noise that was measured of this step.
    pub fn search_rule(&self) -> Rule {
        self.setup.search
    }

    /// The seed of the first run; each further one adds 1.
    pub fn seed(&self) -> u64 {
        self.template.seed
    }

    /// Name of the workload.
    pub fn workload(&self) -> &str {
        &self.template.workload.name
    }

    /// Seconds of measuring so far.
    pub fn seconds(&self) -> f64 {
        self.spent.as_secs_f64()
    }

    /// Says something to the user, aside from the report.
    pub fn say(&self, text: &str) {
        self.progress.say(text);
    }

    /// Keeps what is known of the bisection itself.
    pub fn keep(&mut self, record: &BisectionRecord) -> anyhow::Result<()> {
        Ok(self.writer.write_bisection(record)?)
    }

    /// Carries the search out to its end.
    pub fn carry_out(&mut self, search: &mut Bisection<'_>) -> anyhow::Result<()> {
        let mut event = Event::Begin;
        loop {
            let action = search.next(event);
            self.tell_belief(search);
            event = match action {
                Action::End => return Ok(()),
                Action::Compare(stretch, why) => self.compare(stretch, why)?,
                Action::Measure { anchor, version } => {
                    self.measure(Stretch { good: anchor, bad: version })?
                }
            };
            let costs = self.setup.versions.costs(self.last_launch.as_secs_f64());
            for (version, cost) in costs.into_iter().enumerate() {
                search.set_cost(version, cost);
            }
        }
    }

    fn tell_belief(&self, search: &Bisection<'_>) {
        if let Some((between, probability)) = search.likeliest() {
            self.progress.say(&format!(
                "  likeliest so far: {} ({:.0} %)",
                self.facts[between.bad].name,
                100.0 * probability
            ));
        }
    }

    fn compare(&mut self, stretch: Stretch, why: Why) -> anyhow::Result<Event> {
        if let Some(event) = self.cannot_go_on(stretch, LEAST_LAUNCHES)? {
            return Ok(event);
        }
        let rule = match why {
            Why::Ends => self.template.rule,
            Why::Confirmation { most_launches } => self.confirming_rule(most_launches),
        };
        let word = match why {
            Why::Ends => "ends",
            Why::Confirmation { .. } => "confirmation",
        };
        let budget = Nanos(self.left().0 / COMPARISON_SHARE);
        let Ran { record, outcome } = self.run(stretch, word, rule, budget)?;
        match outcome {
            RunOutcome::Interrupted => return Ok(self.stop("by the user")),
            RunOutcome::Failed => {
                self.failed = true;
                return Ok(self.stop(&format!("run {} failed: {}", record.id, first_reason(&record))));
            }
            RunOutcome::Done => {}
        }
        let self_tests = self.writer.store().self_tests(&record.id)?;
        let build_noise = build_noise_of(self.writer.store(), &record.plan, &record.host.name)?;
        let evidence = Evidence { self_tests: &self_tests, build_noise };
        let judged = judge_run(&record, &evidence).pop();
        let judgement = judged.with_context(|| format!("run {} has no step", record.id))?.2.judgement;
        if self.ends_ratio.is_none() {
            (self.metric, self.ends_ratio) = (judgement.decides, judgement.deciding().ratio);
        }
        let of_run = record.warnings.iter().map(|one| &one.warning);
        let of_harness = Harness::of(&record, &self_tests).warning_of_others(&record.plan);
        for warning in judgement.warnings.iter().chain(of_run).chain(&of_harness) {
            // Of those that are about one thing the first is enough: each comparison says it in its own numbers.
            if !self.warnings.iter().any(|known| known.id() == warning.id()) {
                self.warnings.push(warning.clone());
            }
        }
        Ok(Event::Compared(Compared::of(&judgement)))
    }

    /// A step is confirmed against a margin that it is not within, but no finer one than what can be told from layout.
    fn confirming_rule(&self, most_launches: u32) -> DecisionRule {
        let rule = self.template.rule;
        let half = self.ends_ratio.map_or(f64::INFINITY, |ratio| ratio.ln().abs() / 2.0);
        let margin = rule.margin.min(half.max(self.setup.search.least_confirmed()));
        DecisionRule { margin, max_launches: rule.max_launches.min(most_launches), ..rule }
    }

    fn measure(&mut self, pair: Stretch) -> anyhow::Result<Event> {
        let rule = DecisionRule { max_launches: 1, ..self.template.rule };
        let mut reason = String::new();
        for attempt in 1..=MOST_TRIES {
            if let Some(event) = self.cannot_go_on(pair, 1)? {
                return Ok(event);
            }
            let word = format!("{}", self.runs + 1);
            let Ran { record, outcome } = self.run(pair, &word, rule, self.left())?;
            if outcome == RunOutcome::Interrupted {
                return Ok(self.stop("by the user"));
            }
            match self.value(&record)? {
                Some(value) => {
                    let ratio = value.exp();
                    let (good, bad) = (&self.facts[pair.good].name, &self.facts[pair.bad].name);
                    self.progress.say(&format!("  {bad} is {ratio:.3} of {good}"));
                    return Ok(Event::Measured(value));
                }
                None => reason = first_reason(&record),
            }
            self.progress.say(&format!("  launch {attempt} of at most {MOST_TRIES} failed: {reason}"));
        }
        self.facts[pair.bad].not_measurable = Some(reason);
        Ok(Event::NotMeasurable(pair.bad))
    }

    /// The launch value of a run of one launch; absent where it failed on a side.
    fn value(&self, record: &RunRecord) -> anyhow::Result<Option<f64>> {
        let summaries = Case::of(record, self.step(record)?, 1).summaries();
        if !refusal::of_blocks(summaries.iter()).is_empty() {
            return Ok(None);
        }
        let Some(launch) = summaries.first() else { return Ok(None) };
        Ok(match self.metric {
            Metric::OpsPerSecondAdjusted => launch.adjusted,
            _ => launch.wall,
        })
    }

    fn step<'b>(&self, record: &'b RunRecord) -> anyhow::Result<&'b model::workload::Step> {
        record.plan.chosen_steps().next().ok_or_else(|| anyhow!("run {} has no step", record.id))
    }

    /// Makes both versions ready; an event where that cannot be, or where there is no time for so many launches.
    fn cannot_go_on(&mut self, pair: Stretch, launches: u64) -> anyhow::Result<Option<Event>> {
        for version in [pair.good, pair.bad] {
            if interrupt::requested() {
                return Ok(Some(self.stop("by the user")));
            }
            if let Err(error) = self.prepare(version) {
                if interrupt::requested() {
                    return Ok(Some(self.stop("by the user")));
                }
                let reason = format!("{error:#}");
                self.progress.say(&format!("  {} cannot be measured: {reason}", self.facts[version].name));
                self.facts[version].not_measurable = Some(reason);
                return Ok(Some(Event::NotMeasurable(version)));
            }
        }
        if self.left() < Nanos(self.last_launch.0 * launches) || self.left() == Nanos(0) {
            return Ok(Some(self.stop("the time given by --budget is used up")));
        }
        Ok(None)
    }

    fn prepare(&mut self, version: usize) -> anyhow::Result<()> {
        if self.prepared.contains_key(&version) {
            return Ok(());
        }
        let Setup { versions, catalog, cache, .. } = &mut self.setup;
        let progress = &self.progress;
        let mut tell = |text: &str| progress.say(text);
        versions.make(version, catalog, cache, &mut tell)?;
        let subject = self.setup.versions.references[version].to_string();
        let (plan, written) =
            planning::plan(self.setup.places, &request(&self.setup, vec![subject]), &mut tell)?;
        let code_sha256 = plan.layout.code_sha256.get(&BASE).cloned();
        let subject = plan.subjects.into_iter().next().context("the plan has no subject")?;
        let written_options = written.into_iter().flatten().next();
        self.prepared.insert(version, Prepared { subject, written_options, code_sha256 });
        Ok(())
    }

    fn run(&mut self, pair: Stretch, word: &str, rule: DecisionRule, budget: Nanos) -> anyhow::Result<Ran> {
        let sides = [pair.good, pair.bad].map(|version| (version, self.prepared[&version].clone()));
        let planted = |version: usize| match &self.setup.planted.from {
            Some(from) if self.is_from(version, from) => self.setup.planted.percent,
            Some(_) | None => 0.0,
        };
        let subjects = sides.iter().map(|(version, prepared)| Subject {
            planted_slowdown_percent: planted(*version),
            ..prepared.subject.clone()
        });
        // The template has that of the ends.
        let code = sides.iter().enumerate().map(|(side, (_, prepared))| (side, prepared.code_sha256.clone()));
        let code_sha256 = code.filter_map(|(side, sha256)| Some((side, sha256?))).collect();
        let plan = Plan {
            subjects: subjects.collect(),
            layout: Layout { code_sha256, ..self.template.layout.clone() },
            rule,
            budget,
            seed: self.template.seed.wrapping_add(self.runs),
            ..self.template.clone()
        };
        self.runs += 1;
        let version = |place: usize| &self.setup.versions.references[place].build.version;
        let name = format!("{}/{}-{}/{word}", self.setup.id, version(pair.good), version(pair.bad));
        while let Some(run) = self.setup.before.take(&name) {
            if let Some(ran) = self.measured_before(&run, &plan)? {
                return Ok(ran);
            }
        }
        let written_options = sides.into_iter().map(|(_, prepared)| prepared.written_options).collect();
        let fingerprint = self.fingerprint.clone();
        let ready = Ready { plan, written_options, fingerprint, watch: Stopwatch::start() };
        self.progress.brief(rule.max_launches == 1);
        let measured = measure::measure(
            self.setup.places,
            &ready,
            Origin::Named(&name),
            &mut self.writer,
            &mut self.progress,
        )?;
        let took = ready.watch.elapsed();
        let record = self.writer.store().load_run(&measured.run)?;
        Ok(self.ran(record, took, measured.outcome))
    }

    /// A run of before this was stopped, which counts as if it had been measured now; none if its builds have changed since.
    fn measured_before(&mut self, run: &str, plan: &Plan) -> anyhow::Result<Option<Ran>> {
        let record = self.writer.store().load_run(run)?;
        if !search::measures_the_same(&record.plan, plan) {
            self.progress.say(&format!(
                "  run {run} measured something else (a build, the workload or a configuration has changed): it is measured again"
            ));
            return Ok(None);
        }
        let took = record.ended_at_us.map_or(0, |ended| ended.abs_diff(record.started_at_us));
        Ok(Some(self.ran(record, Nanos(took * 1_000), RunOutcome::Done)))
    }

    fn ran(&mut self, record: RunRecord, took: Nanos, outcome: RunOutcome) -> Ran {
        self.spent += took;
        self.last_launch = Nanos(took.0 / (record.launches.len() as u64).max(1));
        Ran { record, outcome }
    }

    fn is_from(&self, version: usize, from: &str) -> bool {
        let versions = &self.setup.versions.references;
        versions
            .iter()
            .position(|reference| reference.build.version == from)
            .is_some_and(|first| version >= first)
    }

    fn left(&self) -> Nanos {
        Nanos::from(self.setup.budget).saturating_sub(self.spent)
    }

    fn stop(&mut self, why: &str) -> Event {
        self.interrupted |= interrupt::requested();
        self.stopped = Some(why.to_owned());
        Event::Stopped
    }
}

fn request<'a>(setup: &Setup<'a>, subjects: Vec<String>) -> Request<'a> {
    Request {
        purpose: Purpose::Compare,
        subjects,
        measuring: setup.measuring,
        budget: Some(setup.budget),
        extendable: false,
        planted_slowdown_percent: 0.0,
        planted_as: PlantedAs::default(),
    }
}

/// Why a trial of a run failed.
fn first_reason(record: &RunRecord) -> String {
    let reasons = record.trials.iter().filter_map(|ended| match &ended.outcome {
        Outcome::Failed { reason } => Some(reason.to_string()),
        Outcome::Done | Outcome::Skipped { .. } => None,
    });
    reasons.into_iter().next().unwrap_or_else(|| "no launch has a rate on both sides".to_owned())
}
