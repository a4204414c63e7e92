//! Steps summarised by group over complete rounds (statistics 1.5).

use super::against_base::{against_base, bonferroni, of_metric};
use super::values::Cells;
use crate::comparison::group::{self, GroupRow, Interval, Summary, Worst};
use crate::comparison::{ComparedStep, StepView, facts};
use analysis::rounds::{self, Contrast, Difference, RoundValues, RoundsFit};
use model::block::{BASE, Side};
use model::metric::Metric;
use model::plan::{Design, Plan};
use model::record::RunRecord;
use model::verdict::Verdict;
use model::workload::Group;

/// Every group of every candidate, by group, then by candidate; helpers are in no group.
pub(super) fn groups(steps: &[StepView], cells: &Cells, record: &RunRecord) -> Vec<GroupRow> {
    let plan = &record.plan;
    let sides: Vec<Side> = (0..plan.subjects.len()).collect();
    let mut rows = Vec::new();
    for group in Group::ALL.iter().copied() {
        let members: Vec<&StepView> =
            steps.iter().filter(|step| step.group == group && !step.helper).collect();
        let fit = |step: &&StepView| {
            Some(rounds::fit(&of_metric(cells, &step.name, &sides, Metric::OpsPerSecond)?))
        };
        let fits: Vec<Option<RoundsFit>> = members.iter().map(fit).collect();
        let mean = mean_of_logarithms(&members, cells, plan).map(|values| rounds::fit(&values));
        let means = mean.map(|fit| against_base(&fit, &plan.rule, Metric::OpsPerSecond)).unwrap_or_default();
        rows.extend(plan.candidate_sides().filter_map(|side| {
            let mean = means.iter().find(|one| one.version == side);
            let summary = Summary {
                group,
                side,
                candidate: facts::subject(record, side),
                // One after another, nothing is more than a suspicion.
                verdict: match mean {
                    Some(mean) if plan.layout.design != Design::Sequential => mean.verdict,
                    Some(_) | None => Verdict::RatioOnly,
                },
                mean: mean.and_then(|mean| mean.difference.as_ref()).map(interval),
                worst: worst(&members, &fits, side, plan),
            };
            let cases: Vec<(&str, &ComparedStep)> = members
                .iter()
                .filter_map(|step| Some((step.name.as_str(), step.case(side)?)))
                .filter(|(_, case)| case.decides.is_some())
                .collect();
            group::row(summary, &cases)
        }));
    }
    rows
}

fn interval(of: &Difference) -> Interval {
    Interval { ratio: of.ratio, low: of.low, high: of.high, confidence: of.confidence }
}

/// Bonferroni over the members, and over the candidates as everywhere.
fn worst(members: &[&StepView], fits: &[Option<RoundsFit>], side: Side, plan: &Plan) -> Option<Worst> {
    let known = fits.iter().flatten().count().max(1) as f64;
    let contrast = Contrast {
        base: BASE,
        candidate: side,
        layout_noise: plan.rule.tau,
        confidence: 1.0 - plan.rule.alpha / bonferroni(plan) / known,
    };
    let of_member = |(step, fit): (&&StepView, &Option<RoundsFit>)| {
        Some(Worst { step: step.name.clone(), interval: interval(&fit.as_ref()?.difference(&contrast)?) })
    };
    let all = members.iter().zip(fits).filter_map(of_member);
    all.min_by(|left, right| left.interval.ratio.total_cmp(&right.interval.ratio))
}

/// The mean over the members of the logarithm of the rate, by round and subject; absent where a member has none.
fn mean_of_logarithms(members: &[&StepView], cells: &Cells, plan: &Plan) -> Option<RoundValues> {
    let cell = |round: u32, side: Side| {
        let rates = members.iter().map(|step| {
            let rate = cells.get(&(step.name.clone(), side))?.get(&round)?.get(Metric::OpsPerSecond)?;
            (rate > 0.0).then(|| rate.ln())
        });
        analysis::student::mean(&rates.collect::<Option<Vec<f64>>>()?)
    };
    let sides = 0..plan.subjects.len();
    let rounds = (1..=plan.layout.rounds).map(|round| sides.clone().map(|side| cell(round, side)).collect());
    RoundValues::new(sides.len(), rounds.collect()).ok()
}
