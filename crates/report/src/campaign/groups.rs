//! Steps summarised by group: the geometric mean with its interval and the worst member with its simultaneous one,
//! beside the smallest, largest, mean and median ratio that the posts give (statistics 1.5).

use super::columns::{RATE, column_of};
use super::compare::{against_base, bonferroni, of_column};
use super::values::Cells;
use super::view::{Comparison, StepView};
use crate::groups::{GroupRow, Interval, Quoted};
use analysis::rounds::{self, Contrast, Difference, RoundValues, RoundsFit, VersionComparison};
use model::block::{BASE, Side};
use model::plan::{Design, Plan};
use model::verdict::Verdict;
use model::workload::Group;

/// Every group of every candidate, by group, then by candidate; helpers are in no group.
pub(super) fn groups(steps: &[StepView], cells: &Cells, plan: &Plan) -> Vec<GroupRow> {
    let sides: Vec<Side> = (0..plan.subjects.len()).collect();
    let Some(rate) = column_of(RATE) else { return Vec::new() };
    let mut rows = Vec::new();
    for group in Group::ALL {
        let members: Vec<&StepView> =
            steps.iter().filter(|step| step.group == group && !step.helper).collect();
        let fits: Vec<Option<RoundsFit>> = members
            .iter()
            .map(|step| Some(rounds::fit(&of_column(cells, &step.name, &sides, rate)?)))
            .collect();
        let mean = mean_of_logarithms(&members, cells, plan).map(|values| rounds::fit(&values));
        let means = mean.map(|fit| against_base(&fit, &plan.rule, rate)).unwrap_or_default();
        rows.extend(
            plan.candidate_sides()
                .map(|side| row(&Members { group, steps: &members, fits: &fits, means: &means }, side, plan)),
        );
    }
    rows.retain(|row| row.members > 0);
    rows
}

/// The steps of one group, each with its fit.
struct Members<'a> {
    group: Group,
    steps: &'a [&'a StepView],
    fits: &'a [Option<RoundsFit>],
    /// Their geometric mean, candidate by candidate.
    means: &'a [VersionComparison],
}

fn row(members: &Members<'_>, side: Side, plan: &Plan) -> GroupRow {
    let deciding = |step: &&StepView| -> Option<Comparison> {
        step.comparisons.iter().find(|one| one.side == side && one.decides).cloned()
    };
    let decided: Vec<Comparison> = members.steps.iter().filter_map(deciding).collect();
    let count = |verdicts: &[Verdict]| {
        let found = decided.iter().filter(|one| verdicts.contains(&one.verdict)).count();
        u32::try_from(found).unwrap_or(u32::MAX)
    };
    let ratios: Vec<(&str, f64)> =
        members.steps.iter().filter_map(|step| Some((step.name.as_str(), deciding(step)?.ratio?))).collect();
    let (mean, verdict) = mean_against_base(members, side, plan);
    // A step that can have no verdict, such as one that calls another function, is in the mean all the same.
    let judged = decided.iter().all(|one| one.verdict != Verdict::RatioOnly);
    GroupRow {
        group: members.group,
        side,
        members: u32::try_from(ratios.len()).unwrap_or(u32::MAX),
        slower: count(&[Verdict::Regression]),
        faster: count(&[Verdict::Improvement]),
        unchanged: count(&[Verdict::NoChange]),
        inconclusive: count(&[Verdict::Inconclusive, Verdict::Suspect, Verdict::RatioOnly]),
        mean,
        verdict: if judged { verdict } else { Verdict::RatioOnly },
        worst: worst(members, side, plan),
        quoted: Quoted::of(ratios),
    }
}

fn mean_against_base(members: &Members<'_>, side: Side, plan: &Plan) -> (Option<Interval>, Verdict) {
    let Some(one) = members.means.iter().find(|one| one.version == side) else {
        return (None, Verdict::RatioOnly);
    };
    // One after another, nothing is more than a suspicion.
    let verdict = if plan.layout.design == Design::Sequential { Verdict::RatioOnly } else { one.verdict };
    (one.difference.as_ref().map(interval), verdict)
}

fn interval(of: &Difference) -> Interval {
    Interval { ratio: of.ratio, low: of.low, high: of.high, confidence: of.confidence }
}

/// Bonferroni over the members, and over the candidates as everywhere.
fn worst(members: &Members<'_>, side: Side, plan: &Plan) -> Option<(String, Interval)> {
    let known = members.fits.iter().flatten().count().max(1) as f64;
    let contrast = Contrast {
        base: BASE,
        candidate: side,
        layout_noise: plan.rule.tau,
        confidence: 1.0 - plan.rule.alpha / bonferroni(plan) / known,
    };
    let of_member = |(step, fit): (&&StepView, &Option<RoundsFit>)| {
        Some((step.name.clone(), interval(&fit.as_ref()?.difference(&contrast)?)))
    };
    let all = members.steps.iter().zip(members.fits).filter_map(of_member);
    all.min_by(|left, right| left.1.ratio.total_cmp(&right.1.ratio))
}

/// The mean over the members of the logarithm of the rate, by round and subject; absent where a member has none.
fn mean_of_logarithms(members: &[&StepView], cells: &Cells, plan: &Plan) -> Option<RoundValues> {
    let cell = |round: u32, side: Side| {
        let rates = members.iter().map(|step| {
            let rate = cells.get(&(step.name.clone(), side))?.get(&round)?.get(RATE)?;
            (rate > 0.0).then(|| rate.ln())
        });
        analysis::student::mean(&rates.collect::<Option<Vec<f64>>>()?)
    };
    let sides = 0..plan.subjects.len();
    let rounds = (1..=plan.layout.rounds).map(|round| sides.clone().map(|side| cell(round, side)).collect());
    RoundValues::new(sides.len(), rounds.collect()).ok()
}
