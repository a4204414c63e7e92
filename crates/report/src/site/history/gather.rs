//! Runs of one workload, put together as far as they may be compared.

use super::ALPHA;
use findings::conditions::{Differing, RunConditions, SubjectFacts};
use model::block::Side;
use model::plan::Purpose;
use model::record::RunStatus;
use std::collections::BTreeMap;

/// Runs that may be compared with one another.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparable {
    /// Where they were measured.
    pub host: String,
    /// What keeps them apart from the newest runs; empty for these.
    pub apart: Vec<Differing>,
    pub runs: Vec<RunRates>,
}

/// One step of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRates {
    pub id: String,
    /// The name that the user gave it.
    pub name: Option<String>,
    pub step: String,
    /// What it was for.
    pub purpose: Purpose,
    /// How it ended, or that it did not.
    pub status: RunStatus,
    /// Microseconds since the epoch.
    pub began_at_us: i64,
    /// Those that were measured, by their sides.
    pub subjects: Vec<SubjectRates>,
}

/// One step of one subject in one run.
#[derive(Debug, Clone, PartialEq)]
pub struct SubjectRates {
    /// Its side in the run.
    pub side: Side,
    pub facts: SubjectFacts,
    /// Whether the newest run that has a subject of this name has another binary.
    pub other_binary: bool,
    /// Operations per second of each launch whose trial is done.
    pub rates: Vec<f64>,
    /// Trials that are not done, with the word for each.
    pub not_done: Vec<(u64, &'static str)>,
}

impl SubjectRates {
    /// Mean over launches; absent without any.
    pub fn mean(&self) -> Option<f64> {
        analysis::student::mean(&self.rates)
    }

    /// Its interval by Student's t; absent below three launches.
    pub fn interval(&self) -> Option<(f64, f64)> {
        analysis::student::interval(&self.rates, ALPHA)
    }
}

/// Puts runs together, newest first: each goes to the runs that it may be compared with. A run without a value of the
/// step stays out.
pub fn gathered(mut runs: Vec<(RunConditions, RunRates)>) -> Vec<Comparable> {
    runs.retain(|(_, run)| !run.subjects.is_empty());
    runs.sort_by(|(_, left), (_, right)| {
        right.began_at_us.cmp(&left.began_at_us).then(right.id.cmp(&left.id))
    });
    tell_binaries_apart(&mut runs);
    let newest = runs.first().map(|(conditions, _)| conditions.clone());
    let mut groups: Vec<(RunConditions, Comparable)> = Vec::new();
    for (conditions, run) in runs {
        let goes_with = |(of_group, _): &&mut (RunConditions, Comparable)| {
            of_group.apart(&conditions, &run.step).is_empty()
        };
        if let Some((_, group)) = groups.iter_mut().find(goes_with) {
            group.runs.push(run);
            continue;
        }
        let apart = newest.as_ref().map(|newest| newest.apart(&conditions, &run.step)).unwrap_or_default();
        let host = conditions.facts().find(|(what, _)| *what == "host");
        let host = host.map(|(_, name)| name.clone()).unwrap_or_default();
        groups.push((conditions, Comparable { host, apart, runs: vec![run] }));
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

fn tell_binaries_apart(runs: &mut [(RunConditions, RunRates)]) {
    let mut newest: BTreeMap<String, String> = BTreeMap::new();
    for (_, run) in runs {
        for subject in &mut run.subjects {
            let known =
                newest.entry(subject.facts.reference.clone()).or_insert_with(|| subject.facts.sha256.clone());
            subject.other_binary = *known != subject.facts.sha256;
        }
    }
}
