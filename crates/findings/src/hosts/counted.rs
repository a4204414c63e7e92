//! Which runs count together over hosts, and why the others are in no count.

use crate::comparison::Comparison;
use crate::conditions::{Differing, RunConditions};
use model::record::RunRecord;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A run with what is said of it.
pub type Run<'a> = (&'a RunRecord, &'a Comparison);

/// A run that is in no count over hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UncountedRun {
    pub host: String,
    /// Its id.
    pub run: String,
    pub workload: String,
    /// As plans write it: `rounds`.
    pub design: &'static str,
    pub why: WhyUncounted,
}

/// Why a run is in no count over hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WhyUncounted {
    /// Nothing of another host can be compared with it.
    Alone,
    /// Another run of its host counts.
    SameHost { counted: String },
    /// It differs in more than its host from a run that counts.
    Apart { counted: String, what: Vec<Differing> },
}

/// The runs that count together.
#[derive(Default)]
pub(super) struct Counted<'a> {
    /// Of one workload and design each, by their hosts.
    pub groups: Vec<Vec<Run<'a>>>,
    pub uncounted: Vec<UncountedRun>,
}

/// By workload and design; no group if all runs are of one host and no other was asked. If no two runs can be compared, one counts by itself, and
/// each of the others is listed with the reason.
pub(super) fn counted<'a>(runs: &[Run<'a>], are_several_asked: bool) -> Counted<'a> {
    let hosts: BTreeSet<&str> = runs.iter().map(|(record, _)| record.host.name.as_str()).collect();
    if hosts.len() < 2 && !are_several_asked {
        return Counted::default();
    }
    let mut by_kind: BTreeMap<(&str, &str), Vec<Run<'a>>> = BTreeMap::new();
    for run in runs {
        let plan = &run.0.plan;
        by_kind.entry((&plan.workload.name, plan.layout.design.name())).or_default().push(*run);
    }
    let mut uncounted = Vec::new();
    let groups: Vec<Vec<Run<'a>>> =
        by_kind.into_values().map(|of_kind| together(of_kind, &mut uncounted)).collect();
    let first = groups.iter().position(|group| group.len() > 1).unwrap_or(0);
    let mut counted = Vec::new();
    for (place, group) in groups.into_iter().enumerate() {
        match &group[..] {
            [(alone, _)] if place != first => uncounted.push(UncountedRun::of(alone, WhyUncounted::Alone)),
            _ => counted.push(group),
        }
    }
    uncounted.sort_by(|left, right| (&left.host, &left.run).cmp(&(&right.host, &right.run)));
    Counted { groups: counted, uncounted }
}

/// Of runs of one workload and design the largest set that differs in nothing but hosts, one of each host; of equally large ones that with the
/// first host.
fn together<'a>(mut runs: Vec<Run<'a>>, uncounted: &mut Vec<UncountedRun>) -> Vec<Run<'a>> {
    runs.sort_by(|(left, _), (right, _)| (&left.host.name, &left.id).cmp(&(&right.host.name, &right.id)));
    let mut of_hosts: Vec<Run<'a>> = Vec::new();
    for run in runs {
        match of_hosts.last() {
            Some((last, _)) if last.host.name == run.0.host.name => {
                let why = WhyUncounted::SameHost { counted: last.id.clone() };
                uncounted.push(UncountedRun::of(run.0, why));
            }
            Some(_) | None => of_hosts.push(run),
        }
    }
    let mut sets: Vec<Vec<Run<'a>>> = Vec::new();
    for run in of_hosts {
        match sets.iter_mut().find(|set| apart(set[0].0, run.0).is_empty()) {
            Some(set) => set.push(run),
            None => sets.push(vec![run]),
        }
    }
    // From behind: of several that are largest the last one is taken.
    let Some(largest) = (0..sets.len()).rev().max_by_key(|place| sets[*place].len()) else {
        return Vec::new();
    };
    let counted = sets.remove(largest);
    let first = counted[0].0;
    for (record, _) in sets.into_iter().flatten() {
        let why = WhyUncounted::Apart { counted: first.id.clone(), what: apart(first, record) };
        uncounted.push(UncountedRun::of(record, why));
    }
    counted
}

/// In what two runs differ, other than in their hosts.
fn apart(one: &RunRecord, other: &RunRecord) -> Vec<Differing> {
    let conditions =
        |record: &RunRecord| RunConditions::of(&record.plan, &record.host, record.fingerprint.as_ref());
    conditions(one).apart_but_for_hosts(&conditions(other))
}

impl UncountedRun {
    fn of(record: &RunRecord, why: WhyUncounted) -> UncountedRun {
        UncountedRun {
            host: record.host.name.clone(),
            run: record.id.clone(),
            workload: record.plan.workload.name.clone(),
            design: record.plan.layout.design.name(),
            why,
        }
    }
}

impl WhyUncounted {
    /// The name in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            WhyUncounted::Alone => "alone",
            WhyUncounted::SameHost { .. } => "same-host",
            WhyUncounted::Apart { .. } => "apart",
        }
    }
}

/// The end of a sentence: "it differs from run 20261127-1600a in rows (1000 and 2000)".
impl fmt::Display for WhyUncounted {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WhyUncounted::Alone => {
                out.write_str("no other host has a run of this workload and design to compare it with")
            }
            WhyUncounted::SameHost { counted } => write!(out, "run {counted} of the same host counts"),
            WhyUncounted::Apart { counted, what } => {
                write!(out, "it differs from run {counted} in {}", Listed(what))
            }
        }
    }
}

/// Differences, one after another.
pub(super) struct Listed<'a>(pub &'a [Differing]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> = self.0.iter().map(Differing::to_string).collect();
        out.write_str(&all.join(", "))
    }
}
