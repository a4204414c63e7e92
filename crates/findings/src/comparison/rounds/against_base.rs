//! Candidates against the base in complete rounds: step by step and metric by metric (statistics 1.6), and steps summarised
//! by group (statistics 1.5).

use super::values::{Cells, judged, mean_of_side};
use crate::background_rates;
use crate::comparison::group::{self, GroupRow, Interval, Summary, Worst};
use crate::comparison::visible::{self, OfCandidate, VisibleChanges};
use crate::comparison::{ComparedMetric, ComparedStep, LnError, StepView, Values, facts};
use crate::elsewhere;
use analysis::Ceiling;
use analysis::rounds::{self, BaseRule, Contrast, Difference, RoundValues, RoundsFit, VersionComparison};
use model::block::{BASE, Side};
use model::metric::Metric;
use model::plan::{DecisionRule, Design, Plan};
use model::record::RunRecord;
use model::verdict::Verdict;
use model::warning::Warning;
use model::workload::{Group, Step};
use std::collections::{BTreeMap, BTreeSet};

/// Stalls of a release that has hardly any must not look like a change by a factor: half a percent of the time
/// counts for nothing.
const STALL_PERCENT_RESOLUTION: f64 = 0.5;

/// A metric of a step as the natural logarithms of rounds by subjects, for the subjects in the order of `sides`;
/// absent where no trial has it.
///
/// Where a value is 0, half of the resolution is added throughout (statistics 1.8, rule 2); where the resolution is not
/// known, half of the smallest value that is not 0.
pub(super) fn logarithms(
    cells: &Cells,
    step: &str,
    sides: &[Side],
    value: &dyn Fn(&Values) -> Option<f64>,
    resolution: Option<f64>,
) -> Option<RoundValues> {
    let of_side = |side: Side| cells.get(&(step.to_owned(), side));
    let rounds: BTreeSet<u32> =
        sides.iter().filter_map(|side| of_side(*side)).flat_map(|rounds| rounds.keys().copied()).collect();
    let cell = |round: u32, side: Side| value(of_side(side)?.get(&round)?);
    let matrix: Vec<Vec<Option<f64>>> =
        rounds.iter().map(|round| sides.iter().map(|side| cell(*round, *side)).collect()).collect();
    let known = || matrix.iter().flatten().flatten().copied();
    let least_positive = known().filter(|value| *value > 0.0).min_by(f64::total_cmp)?;
    let added = match resolution {
        _ if known().any(|value| value < 0.0) => return None,
        Some(resolution) => 0.5 * resolution,
        None if known().any(|value| value <= 0.0) => 0.5 * least_positive,
        None => 0.0,
    };
    let logarithms = matrix
        .into_iter()
        .map(|round| round.into_iter().map(|cell| cell.map(|cell| (cell + added).ln())).collect());
    RoundValues::new(sides.len(), logarithms.collect()).ok()
}

/// [`logarithms`] of a metric.
pub(super) fn of_metric(cells: &Cells, step: &str, sides: &[Side], metric: Metric) -> Option<RoundValues> {
    let resolution = (metric == Metric::StallPercent).then_some(STALL_PERCENT_RESOLUTION);
    logarithms(cells, step, sides, &|values| judged(values, metric), resolution)
}

/// p of each comparison by itself, by step and candidate: what is looked at together must not be corrected already.
pub(super) type PValues = BTreeMap<(String, Side), f64>;

/// Of the comparisons of all steps, what is judged or shown of them together.
#[derive(Debug, Default)]
pub(super) struct Together {
    pub alone: PValues,
    pub visible: VisibleChanges,
}

/// Every candidate against the base in a step; what is looked at together goes to `together`.
pub(super) fn cases(
    cells: &Cells,
    step: &Step,
    record: &RunRecord,
    seconds: &BTreeMap<(String, Side), f64>,
    together: &mut Together,
) -> Vec<ComparedStep> {
    let plan = &record.plan;
    let sides: Vec<Side> = (0..plan.subjects.len()).collect();
    let compared: Vec<(Metric, Vec<VersionComparison>)> = Metric::columns()
        .into_iter()
        .filter(|metric| *metric != Metric::OtherCpuPercent)
        .filter_map(|metric| {
            let fit = rounds::fit(&of_metric(cells, &step.name, &sides, metric)?);
            Some((metric, against_base(&fit, &plan.rule, metric)))
        })
        .collect();
    let took = |side: Side| seconds.get(&(step.name.clone(), side)).copied().unwrap_or(0.0);
    let mean =
        |side: Side, metric: Metric| mean_of_side(cells, &step.name, side, &|values| values.get(metric));
    let mut visible: Vec<OfCandidate> = Vec::new();
    let mut case = |side: Side| {
        let metrics = compared.iter().filter_map(|(metric, versions)| {
            let version = versions.iter().find(|version| version.version == side)?;
            let one = of_version(*metric, version, mean(BASE, *metric), mean(side, *metric));
            one.base.or(one.candidate).map(|_| one)
        });
        let metrics: Vec<ComparedMetric> = metrics.collect();
        // Where a step has no rate nothing of it decides. A helper step only brings the tree into a state: a script that
        // counts verdicts must not count it.
        let rate = compared.first().filter(|(metric, _)| *metric == Metric::OpsPerSecond && !step.helper);
        let rate = rate.and_then(|(_, versions)| versions.iter().find(|version| version.version == side));
        let rate = rate.filter(|_| metrics.first().is_some_and(|one| one.metric == Metric::OpsPerSecond));
        let (verdict, warnings) = said(record, step, side, rate);
        let difference = rate.and_then(|rate| rate.difference);
        if let Some(p) = difference.and_then(|difference| difference.p).filter(|p| p.is_finite()) {
            together.alone.insert((step.name.clone(), side), p);
        }
        visible.extend(difference.and_then(|one| OfCandidate::of_rounds(&one, plan.rule.tau)));
        ComparedStep {
            side,
            verdict,
            decides: rate.map(|_| Metric::OpsPerSecond),
            layout: None,
            confirmed: false,
            discovered: false,
            p_value: rate.and_then(|rate| rate.p_family).filter(|p| p.is_finite()),
            repeats: metrics.first().map_or(0, |one| one.repeats),
            seconds: took(BASE) + took(side),
            metrics,
            time: None,
            visible_change: difference.and_then(|difference| difference.visible()).map(f64::exp_m1),
            warnings,
        }
    };
    let cases = plan.candidate_sides().map(&mut case).collect();
    together.visible.insert(step.name.clone(), visible::of_candidates(&visible));
    cases
}

/// What the rate says, and how much of it the design and the record let stand.
fn said(
    record: &RunRecord,
    step: &Step,
    side: Side,
    rate: Option<&VersionComparison>,
) -> (Verdict, Vec<Warning>) {
    let Some(rate) = rate else { return (Verdict::RatioOnly, Vec::new()) };
    let mut verdict = rate.verdict;
    let mut warnings = rate.warnings.clone();
    if record.plan.layout.design == Design::Sequential && verdict != Verdict::RatioOnly {
        verdict = Ceiling::Suspect.lower(verdict);
        warnings.push(Warning::Sequential);
    }
    if let Some(warning) = other_call(record, step, side) {
        verdict = Verdict::RatioOnly;
        warnings.push(warning.clone());
    }
    let plan = &record.plan;
    let caps = [elsewhere::cap(plan, side), background_rates::cap(plan, &record.blocks, step, side)];
    for cap in caps.into_iter().flatten() {
        verdict = cap.ceiling.lower(verdict);
        warnings.push(cap.warning);
    }
    (verdict, warnings)
}

/// The warning that a step calls another function of the engine on a side than on the base: no verdict about code.
fn other_call<'a>(record: &'a RunRecord, step: &Step, side: Side) -> Option<&'a Warning> {
    let candidate = record.plan.subjects[side].reference.to_string();
    let mut of_step = record.warnings.iter().filter(|one| one.step.as_ref() == Some(&step.name));
    of_step.find(|one| one.warning.is_other_call_of(&candidate)).map(|one| &one.warning)
}

fn of_version(
    metric: Metric,
    version: &VersionComparison,
    base: Option<f64>,
    candidate: Option<f64>,
) -> ComparedMetric {
    let difference = version.difference.as_ref();
    let finite = |value: Option<f64>| value.filter(|value| value.is_finite());
    let low = finite(difference.and_then(|difference| difference.low));
    ComparedMetric {
        metric,
        base,
        candidate,
        ratio: finite(difference.map(|difference| difference.ratio)),
        low,
        high: finite(difference.and_then(|difference| difference.high)),
        confidence: low.and(difference.map(|difference| difference.confidence)),
        error: difference
            .and_then(|of| Some(LnError { deviation: of.ln_error?, freedom: of.df }))
            .filter(|error| error.freedom > 0),
        repeats: difference
            .map_or(0, |of| u32::try_from(of.base_rounds.min(of.candidate_rounds)).unwrap_or(u32::MAX)),
        moved: None,
    }
}

/// Share of false ones among what a report says stands out (statistics 1.5).
const FALSE_DISCOVERY_RATE: f64 = 0.05;

/// Looks at all decisions of a run together, over steps and candidates: the more there are, the more stand out by chance.
/// Marks those that do and could have a verdict (Benjamini-Hochberg), and the verdicts that hold for all together (Holm, as
/// with launches).
pub(super) fn judge_together(steps: &mut [StepView], plan: &Plan, alone: &PValues) {
    let judged = || plan.chosen_steps().filter(|step| !step.helper).count();
    let family = judged() * plan.candidate_sides().count();
    let mut all: Vec<(f64, &mut ComparedStep)> = Vec::new();
    for step in steps.iter_mut().filter(|step| !step.helper) {
        let name = &step.name;
        all.extend(
            step.cases.iter_mut().filter_map(|case| Some((*alone.get(&(name.clone(), case.side))?, case))),
        );
    }
    let mut p_values: Vec<f64> = all.iter().map(|(p, _)| *p).collect();
    let discovered = analysis::family::benjamini_hochberg(&p_values, FALSE_DISCOVERY_RATE);
    // What has no p is in this family too: it could have had one.
    p_values.resize(family.max(p_values.len()), 1.0);
    let confirmed = analysis::family::holm(&p_values, plan.rule.alpha);
    for ((_, case), (discovered, confirmed)) in all.iter_mut().zip(discovered.into_iter().zip(confirmed)) {
        let could = !matches!(case.verdict, Verdict::RatioOnly | Verdict::Suspect | Verdict::NoChange);
        case.discovered = discovered && could;
        case.confirmed = confirmed && matches!(case.verdict, Verdict::Regression | Verdict::Improvement);
    }
}

/// Candidates that share the alpha of a step.
pub(super) fn bonferroni(plan: &Plan) -> f64 {
    plan.candidate_sides().count().max(1) as f64
}

pub(super) fn against_base(fit: &RoundsFit, rule: &DecisionRule, metric: Metric) -> Vec<VersionComparison> {
    let rule = BaseRule {
        base: BASE,
        alpha: rule.alpha,
        margin: rule.margin,
        layout_noise: rule.tau,
        direction: metric.direction(),
    };
    fit.against_base(&rule).unwrap_or_default()
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Comparison;

    /// Benjamini and Hochberg count from the p of each comparison alone: one that was corrected and cut off at 1 would be
    /// at most one over the number of candidates, which from twenty on is less than what they let pass.
    #[test]
    fn none_of_many_candidates_stands_out_by_their_number_alone() {
        let mut record = testing::rounds::record();
        let candidate = record.plan.subjects[1].clone();
        let step = Comparison::of(&record, &crate::judge::Evidence::default())
            .steps
            .into_iter()
            .find(|step| !step.helper)
            .unwrap();
        record.plan.subjects.resize(22, candidate);
        let case = ComparedStep {
            verdict: Verdict::Inconclusive,
            discovered: false,
            confirmed: false,
            ..step.cases[0].clone()
        };
        let cases = (1..22).map(|side| ComparedStep { side, ..case.clone() }).collect();
        let mut steps = vec![StepView { cases, ..step }];
        let name = steps[0].name.clone();
        let mut alone: PValues =
            (1..22).map(|side| ((name.clone(), side), 0.06 + 0.04 * side as f64)).collect();
        judge_together(&mut steps, &record.plan, &alone);
        assert!(steps[0].cases.iter().all(|case| !case.discovered));
        alone.insert((name, 7), 1e-5);
        judge_together(&mut steps, &record.plan, &alone);
        let discovered = steps[0].cases.iter().filter(|case| case.discovered).map(|case| case.side);
        assert_eq!(discovered.collect::<Vec<_>>(), [7]);
    }
}
