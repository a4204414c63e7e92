//! One comparison on several hosts: on how many of them a change was found, their mean if they are enough, and whether they disagree.
//!
//! Each host's verdicts are its own and stay as they are. Nothing is pooled: a host that is noisier, or of another class, changes the
//! verdict of no other.

mod counted;
pub mod joined;

use crate::comparison::{ComparedStep, Comparison, LnError, Repeats};
use crate::conditions::{Differing, cpus};
use analysis::hosts::{self, OnHost};
use counted::{Counted, Listed, counted};
pub use counted::{Run, UncountedRun, WhyUncounted};
use model::figures::bytes;
use model::job::{Job, JobState};
use model::metric::Metric;
use model::record::RunRecord;
use model::units::Bytes;
use model::verdict::Verdict;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Share of means over hosts whose interval misses the truth, and of runs without any disagreement that show one.
pub const ALPHA: f64 = 0.05;

/// What was found on all hosts.
#[derive(Debug, Clone, PartialEq)]
pub struct HostsView {
    pub workload: String,
    /// As the user named it.
    pub base: String,
    /// The candidates that some host has measured, as the user named them.
    pub candidates: Vec<String>,
    /// A change within plus or minus this share is no change.
    pub margin: f64,
    pub repeats: Repeats,
    /// In the order of their names.
    pub hosts: Vec<HostFacts>,
    /// Every candidate in every step that some host has measured: by candidate, then in the order of the workload.
    pub cases: Vec<HostsCase>,
    /// Runs that were asked for and are in no count, by their hosts. Of several views of one campaign the first has them; so with `unfinished`.
    pub uncounted: Vec<UncountedRun>,
    /// Jobs of the campaign that are not done, by their numbers.
    pub unfinished: Vec<UnfinishedJob>,
}

/// A host that has not measured all of a campaign.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnfinishedJob {
    /// As ssh calls it; in Slurm its node and the number of the job.
    pub host: String,
    pub state: JobState,
    /// Why it is not done; absent if there is no more to say.
    pub message: Option<String>,
}

/// A host, and what it measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HostFacts {
    pub name: String,
    /// `AMD EPYC, 2 CPUs, 24 GB`: hosts of one class have the same.
    pub class: String,
    pub kernel: String,
    /// The run.
    pub run: String,
    /// Other runs of this host whose rounds count with its own.
    pub joined_runs: Vec<String>,
    /// Launches or rounds that ended.
    pub repeats: u32,
}

/// A candidate in a step on all hosts.
#[derive(Debug, Clone, PartialEq)]
pub struct HostsCase {
    pub step: String,
    /// As the user named it.
    pub candidate: String,
    /// Whether all hosts ran the same build, byte for byte. If not there is neither a mean nor a disagreement.
    pub is_one_build: bool,
    /// What each host says, in their order; absent if it has no ratio of it.
    pub by_host: Vec<Option<ByHost>>,
    /// The mean over hosts; absent if fewer than [`hosts::LEAST_HOSTS`] have a ratio.
    pub mean: Option<MeanOverHosts>,
    /// The two hosts that differ most clearly, if any do.
    pub disagreement: Option<Disagreement>,
}

/// What one host says of a candidate in a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ByHost {
    pub verdict: Verdict,
    /// Whether a change holds after correction for all steps of the host's run, beyond the layout of code.
    pub counts: bool,
    pub ratio: f64,
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Of the interval.
    pub confidence: Option<f64>,
    /// Launches or rounds that it rests on.
    pub repeats: u32,
    /// The smallest change that this host would have found with 90 % power (0.02 is 2 %).
    pub visible_change: Option<f64>,
}

/// The mean of a ratio over hosts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MeanOverHosts {
    pub ratio: f64,
    pub low: f64,
    pub high: f64,
    /// How far hosts scatter around it beyond their own errors (0.02 is 2 %).
    pub between: f64,
    /// Hosts that it is of.
    pub hosts: u32,
}

/// Two hosts that differ by more than the margin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Disagreement {
    /// The place of the host on which the candidate does worse.
    pub worse: usize,
    /// The place of that on which it does better.
    pub better: usize,
    /// Corrected for all pairs of hosts and all cases.
    pub p: f64,
}

/// Why runs that were named one by one are no comparison on several hosts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotOverHosts {
    /// Both are of one host.
    #[error("runs {first} and {second} are both of host {host}: name one run of each host")]
    SameHost { host: String, first: String, second: String },
    #[error(
        "runs {first} and {second} cannot be compared: they differ in {}; report them one by one",
        Listed(what)
    )]
    Apart { first: String, second: String, what: Vec<Differing> },
}

/// Whether runs are of more than one host.
pub fn are_of_several(records: &[RunRecord]) -> bool {
    records.iter().any(|record| record.host.name != records[0].host.name)
}

/// What holds over hosts: a view of each workload and design. `jobs` are those of the campaign that the runs are of. None if all runs are of one
/// host and no other was asked.
pub fn build(runs: &[Run<'_>], jobs: &[Job]) -> Vec<HostsView> {
    let Counted { groups, uncounted } = counted(runs, jobs.len() > 1);
    let mut views: Vec<HostsView> = groups.iter().filter_map(|group| over(group)).collect();
    if let Some(first) = views.first_mut() {
        first.uncounted = uncounted;
        first.unfinished =
            jobs.iter().filter(|job| job.state != JobState::Done).map(UnfinishedJob::of).collect();
    }
    views
}

/// Names the runs whose rounds count with those of another run, by that one.
pub fn name_joined(views: &mut [HostsView], joined: &BTreeMap<String, Vec<String>>) {
    for host in views.iter_mut().flat_map(|view| &mut view.hosts) {
        host.joined_runs = joined.get(&host.run).cloned().unwrap_or_default();
    }
}

/// Why runs that somebody named are not what he takes them for: one of each host, that differ in nothing else.
pub fn refusal<'a>(views: impl IntoIterator<Item = &'a HostsView>) -> Option<NotOverHosts> {
    let refused = |run: &UncountedRun| match &run.why {
        WhyUncounted::Alone => None,
        WhyUncounted::SameHost { counted } => Some(NotOverHosts::SameHost {
            host: run.host.clone(),
            first: counted.clone(),
            second: run.run.clone(),
        }),
        WhyUncounted::Apart { counted, what } => {
            Some(NotOverHosts::Apart { first: counted.clone(), second: run.run.clone(), what: what.clone() })
        }
    };
    views.into_iter().flat_map(|view| &view.uncounted).find_map(refused)
}

/// The view of runs that count together, by their hosts; absent without any.
fn over(runs: &[Run<'_>]) -> Option<HostsView> {
    let (_, view) = runs.first().copied()?;
    // What one host could not measure, others may have.
    let mut candidates: Vec<&str> = Vec::new();
    for name in runs.iter().flat_map(|(_, view)| view.candidates()).map(|one| one.subject.as_str()) {
        if !candidates.contains(&name) {
            candidates.push(name);
        }
    }
    let mut steps: Vec<&str> = Vec::new();
    for step in runs.iter().flat_map(|(record, _)| record.plan.chosen_steps()).filter(|step| !step.helper) {
        if !steps.contains(&step.name.as_str()) {
            steps.push(&step.name);
        }
    }
    let mut cases = Vec::new();
    for candidate in &candidates {
        let is_one_build = is_one_build(runs, candidate);
        for step in &steps {
            let by_host: Vec<Option<ByHost>> =
                runs.iter().map(|(_, view)| by_host(view, step, candidate)).collect();
            if by_host.iter().any(Option::is_some) {
                cases.push(HostsCase {
                    step: (*step).to_owned(),
                    candidate: (*candidate).to_owned(),
                    is_one_build,
                    mean: None,
                    by_host,
                    disagreement: None,
                });
            }
        }
    }
    let all = cases.len();
    // Builds that differ are not one effect on several hosts.
    for case in cases.iter_mut().filter(|case| case.is_one_build) {
        let effects = of_one_metric(runs, &case.step, &case.candidate);
        case.mean = mean(&effects);
        case.disagreement = disagreement(&effects, view.margin, all);
    }
    Some(HostsView {
        workload: view.run.workload.clone(),
        base: view.base.clone(),
        candidates: candidates.into_iter().map(str::to_owned).collect(),
        margin: view.margin,
        repeats: view.repeats,
        hosts: runs.iter().map(|(record, view)| facts(record, view)).collect(),
        cases,
        uncounted: Vec::new(),
        unfinished: Vec::new(),
    })
}

impl UnfinishedJob {
    fn of(job: &Job) -> UnfinishedJob {
        UnfinishedJob { host: job.label(), state: job.state, message: job.message.clone() }
    }
}

fn facts(record: &RunRecord, view: &Comparison) -> HostFacts {
    let host = &record.host;
    HostFacts {
        name: host.name.clone(),
        class: format!("{}, {}, {}", host.cpu_model, cpus(host), bytes(Bytes(host.memory_bytes))),
        kernel: host.kernel.clone(),
        run: record.id.clone(),
        joined_runs: Vec::new(),
        repeats: view.run.launches,
    }
}

fn case_of<'a>(view: &'a Comparison, step: &str, candidate: &str) -> Option<&'a ComparedStep> {
    let side = view.candidates().iter().find(|one| one.subject == candidate)?.side;
    view.steps.iter().find(|one| one.name == step)?.case(side)
}

fn by_host(view: &Comparison, step: &str, candidate: &str) -> Option<ByHost> {
    let case = case_of(view, step, candidate)?;
    let (deciding, ratio) = case.deciding_ratio()?;
    Some(ByHost {
        verdict: case.verdict,
        counts: case.counts(),
        ratio,
        low: deciding.low,
        high: deciding.high,
        confidence: deciding.confidence,
        repeats: deciding.repeats,
        visible_change: case.visible_change,
    })
}

/// Whether a candidate is the same binary on all hosts that have it; external servers have none that could differ.
fn is_one_build(runs: &[Run<'_>], candidate: &str) -> bool {
    let of_candidate = |record: &RunRecord| {
        let subject = record.plan.subjects.iter().find(|one| one.reference.to_string() == candidate)?;
        subject.build.checksum().map(str::to_owned)
    };
    let checksums: BTreeSet<String> = runs.iter().filter_map(|(record, _)| of_candidate(record)).collect();
    checksums.len() <= 1
}

/// The effect on each host that has one, by its place: of the contention-adjusted rate if that decides on all of them, else of the wall rate.
fn of_one_metric(runs: &[Run<'_>], step: &str, candidate: &str) -> Vec<(usize, Effect)> {
    let cases: Vec<Option<&ComparedStep>> =
        runs.iter().map(|(_, view)| case_of(view, step, candidate)).collect();
    let is_adjusted = cases.iter().flatten().all(|case| case.is_adjusted());
    let metric = if is_adjusted { Metric::OpsPerSecondAdjusted } else { Metric::OpsPerSecond };
    let effect = |(place, case): (usize, &Option<&ComparedStep>)| {
        let measured = case.as_ref()?.metric(metric)?;
        Some((place, Effect { ln_ratio: measured.ratio?.ln(), error: measured.error }))
    };
    cases.iter().enumerate().filter_map(effect).collect()
}

/// An effect on one host.
#[derive(Debug, Clone, Copy)]
struct Effect {
    ln_ratio: f64,
    error: Option<LnError>,
}

fn mean(effects: &[(usize, Effect)]) -> Option<MeanOverHosts> {
    let ln_ratios: Vec<f64> = effects.iter().map(|(_, effect)| effect.ln_ratio).collect();
    let errors: Vec<f64> = effects.iter().filter_map(|(_, effect)| Some(effect.error?.deviation)).collect();
    let mean = hosts::mean(&ln_ratios, &errors, ALPHA)?;
    Some(MeanOverHosts {
        ratio: mean.effect.exp(),
        low: mean.low.exp(),
        high: mean.high.exp(),
        between: mean.between,
        hosts: u32::try_from(effects.len()).unwrap_or(u32::MAX),
    })
}

/// Of so many cases, at a level that is corrected for all of them and for all pairs of hosts.
fn disagreement(effects: &[(usize, Effect)], margin: f64, cases: usize) -> Option<Disagreement> {
    let known = effects.iter().filter_map(|(place, effect)| {
        let LnError { deviation, freedom } = effect.error?;
        Some((*place, OnHost { effect: effect.ln_ratio, error: deviation, freedom }))
    });
    let (places, effects): (Vec<usize>, Vec<OnHost>) = known.unzip();
    let found = hosts::disagreement(&effects, margin.ln_1p(), ALPHA / cases as f64)?;
    let p = (found.p * cases as f64).min(1.0);
    Some(Disagreement { worse: places[found.smaller], better: places[found.larger], p })
}

impl HostsCase {
    /// On how many hosts it has this verdict, and counts if it is a change.
    pub fn hosts_with(&self, verdict: Verdict) -> usize {
        let is_it = |one: &&ByHost| one.verdict == verdict && (one.counts || !verdict.is_directional());
        self.by_host.iter().flatten().filter(is_it).count()
    }

    /// Hosts that have a ratio of it.
    pub fn measured_on(&self) -> usize {
        self.by_host.iter().flatten().count()
    }

    /// Whether a host found a change that counts, or hosts disagree.
    pub fn is_worth_a_row(&self) -> bool {
        self.hosts_with(Verdict::Regression) + self.hosts_with(Verdict::Improvement) > 0
            || self.disagreement.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::Evidence;
    use testing::compared::{EQUAL, Truth, record};

    fn on(host: &str, truth: &Truth) -> RunRecord {
        let mut run = record(truth);
        run.id = format!("run-{host}");
        run.host.name = host.to_owned();
        run
    }

    fn views(records: &[RunRecord], jobs: &[Job]) -> Vec<HostsView> {
        let views: Vec<Comparison> =
            records.iter().map(|record| Comparison::of(record, &Evidence::default())).collect();
        let runs: Vec<Run<'_>> = records.iter().zip(&views).collect();
        build(&runs, jobs)
    }

    /// The only one, of runs that all count.
    fn view(records: &[RunRecord]) -> HostsView {
        let mut views = views(records, &[]);
        assert_eq!((views.len(), refusal(&views)), (1, None));
        views.remove(0)
    }

    const SLOW: Truth = Truth { write: 1.0, read: 0.93 };

    #[test]
    fn a_change_is_counted_by_host_and_hosts_that_differ_are_named() {
        let records = [on("c", &EQUAL), on("a", &SLOW), on("b", &SLOW)];
        let view = view(&records);
        let names: Vec<&str> = view.hosts.iter().map(|host| host.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c"]);
        let case = view.cases.iter().find(|case| case.step == "readrandom").unwrap();
        assert_eq!((case.hosts_with(Verdict::Regression), case.measured_on()), (2, 3));
        assert_eq!(case.mean, None, "three hosts are too few");
        let apart = case.disagreement.unwrap();
        assert_eq!((apart.better, apart.p < 1e-3), (2, true));
        let other = view.cases.iter().find(|case| case.step == "overwrite-after-fill").unwrap();
        assert!(!other.is_worth_a_row());
    }

    #[test]
    fn from_five_hosts_on_there_is_a_mean_and_its_interval_holds_what_was_planted() {
        let records: Vec<RunRecord> = ["a", "b", "c", "d", "e"].map(|host| on(host, &SLOW)).into();
        let view = view(&records);
        let case = view.cases.iter().find(|case| case.step == "readrandom").unwrap();
        let mean = case.mean.unwrap();
        assert!(mean.low < 0.93 && 0.93 < mean.high && mean.high < 0.94, "{mean:?}");
        assert_eq!((mean.hosts, case.disagreement), (5, None));
    }

    #[test]
    fn builds_that_differ_from_host_to_host_are_no_one_effect() {
        let mut other = on("b", &EQUAL);
        other.plan.subjects[1].build.sha256 = "ef".repeat(32);
        let view = view(&[on("a", &SLOW), other.clone()]);
        let case = view.cases.iter().find(|case| case.step == "readrandom").unwrap();
        assert_eq!(
            (case.is_one_build, case.disagreement, case.hosts_with(Verdict::Regression)),
            (false, None, 1)
        );
        other.plan.subjects[0].build.sha256 = "01".repeat(32);
        let error = refusal(&views(&[on("a", &SLOW), other], &[])).unwrap().to_string();
        assert!(error.contains("differ in build of the base"), "{error}");
    }

    #[test]
    fn two_runs_of_a_host_and_runs_of_other_sizes_are_refused() {
        let error = refusal(&views(&[on("a", &EQUAL), on("a", &SLOW), on("b", &SLOW)], &[])).unwrap();
        assert!(matches!(&error, NotOverHosts::SameHost { host, .. } if host == "a"));
        let mut larger = on("b", &EQUAL);
        larger.plan.workload.data.keys *= 2;
        let error = refusal(&views(&[on("a", &EQUAL), larger], &[])).unwrap().to_string();
        assert!(error.contains("differ in rows (1000 and 2000)"), "{error}");
    }

    fn job(host: &str, state: JobState) -> Job {
        Job {
            campaign: "c".to_owned(),
            number: 1,
            host: host.to_owned(),
            state,
            message: (state == JobState::Failed).then(|| "killed".to_owned()),
            seed: 7,
            plan: String::new(),
            changed_at_us: 1,
            slurm: None,
        }
    }

    #[test]
    fn of_a_campaign_those_count_that_can_be_compared_and_the_others_are_named() {
        let mut larger = on("a", &EQUAL);
        larger.plan.workload.data.keys *= 2;
        let mut again = on("d", &SLOW);
        again.id = "run-e".to_owned();
        let mut other = on("b", &SLOW);
        other.id = "run-b-other".to_owned();
        other.plan.workload.name = "other".to_owned();
        let records = [larger, on("b", &SLOW), on("c", &SLOW), on("d", &SLOW), again, other];
        let jobs = [job("b", JobState::Done), job("e", JobState::Failed), job("f", JobState::Unreachable)];
        let found = views(&records, &jobs);
        let [view] = &found[..] else { panic!("one view: {found:?}") };
        let hosts: Vec<&str> = view.hosts.iter().map(|host| host.name.as_str()).collect();
        assert_eq!(hosts, ["b", "c", "d"]);
        let uncounted: Vec<String> =
            view.uncounted.iter().map(|run| format!("{} {}: {}", run.host, run.run, run.why)).collect();
        assert_eq!(
            uncounted,
            [
                "a run-a: it differs from run run-b in rows (1000 and 2000), data (117 KiB and 234 KiB)",
                "b run-b-other: no other host has a run of this workload and design to compare it with",
                "d run-e: run run-d of the same host counts",
            ]
        );
        let unfinished: Vec<(&str, Option<&str>)> =
            view.unfinished.iter().map(|job| (job.host.as_str(), job.message.as_deref())).collect();
        assert_eq!(unfinished, [("e", Some("killed")), ("f", None)]);
    }

    #[test]
    fn runs_of_one_host_hold_over_none_unless_others_were_asked() {
        let one = [on("a", &SLOW)];
        assert!(views(&one, &[]).is_empty());
        assert!(views(&one, &[job("a", JobState::Failed)]).is_empty(), "its run says how it ended");
        let of_two = views(&one, &[job("a", JobState::Done), job("b", JobState::Unreachable)]);
        assert_eq!((of_two.len(), of_two[0].hosts.len(), of_two[0].unfinished.len()), (1, 1, 1));
        // Two that cannot be compared: one counts, and the other is named.
        let mut larger = on("b", &EQUAL);
        larger.plan.workload.data.keys *= 2;
        let apart = views(&[on("a", &EQUAL), larger], &[]);
        assert_eq!((apart.len(), apart[0].hosts.len(), apart[0].uncounted.len()), (1, 1, 1));
    }
}
