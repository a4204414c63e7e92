//! What changed at which release: change points of each series, and what moved at the same place.

use super::columns::{Column, DRAINED_RATE, RATE};
use super::compare::of_column;
use super::drift::Pinned;
use super::moved;
use super::series::{ReleaseSeries, judged, searched, series};
use super::values::{Cells, Values};
use super::view::Finding;
use analysis::change_points::{self, Change, CriticalValues, Findings, Series};
use analysis::rounds::{self, RoundsFit};
use model::block::Side;
use model::plan::{Design, Plan};
use model::workload::Step;

/// A change of less than this share is not worth a sentence, however sure (statistics 1.6).
pub(super) const LEAST_CHANGE: f64 = 0.01;
/// Stalls that changed by less than this many percent of the time say nothing.
const LEAST_STALL_CHANGE_PERCENT: f64 = 1.0;

/// One series, fitted and searched.
pub(super) struct Searched<'a> {
    pub(super) series: &'a ReleaseSeries,
    pub(super) step: &'a Step,
    pub(super) column: &'static Column,
    pub(super) fit: RoundsFit,
    pub(super) points: Series,
    pub(super) findings: Findings,
}

/// The findings of a campaign, and the number of series that were searched.
pub(super) fn findings(plan: &Plan, cells: &Cells) -> (Vec<Finding>, usize) {
    let critical = CriticalValues::shared();
    let all_series = series(plan);
    let steps: Vec<&Step> = plan.chosen_steps().filter(|step| !step.helper).collect();
    let mut all: Vec<Searched<'_>> = Vec::new();
    for series in &all_series {
        for step in &steps {
            let columns = searched(cells, step, series);
            all.extend(
                columns.into_iter().filter_map(|column| search(series, step, column, cells, plan, critical)),
            );
        }
    }
    let mut found: Vec<Finding> = Vec::new();
    for one in &all {
        let pinned = Pinned::of(one, &all_series, cells, plan, critical);
        // Those of the same configuration and step stand together, the rate first.
        let first_of_step = found
            .iter()
            .rposition(|other: &Finding| other.config != one.series.config || other.step != one.step.name);
        let first_of_step = first_of_step.map_or(0, |last| last + 1);
        for change in &one.findings.changes {
            let mut finding = finding(one, change, cells, plan);
            if stalls_hardly(&finding) {
                continue;
            }
            let told_before = found[first_of_step..].iter().any(|other| {
                other.column.metric == RATE && other.version == finding.version && !other.moved.is_empty()
            });
            if matters_to_users(one.column) && !told_before {
                finding.moved = moved::with(one, change, cells);
            }
            let before = around(one, change).0.last().copied().unwrap_or(change.version);
            finding.drift = pinned.as_ref().and_then(|pinned| pinned.drift(one, change, before));
            finding.part_of =
                (first_of_step..found.len()).find(|earlier| explains(&found[*earlier], &finding));
            found.push(finding);
        }
    }
    (found, all.len())
}

pub(super) fn search<'a>(
    series: &'a ReleaseSeries,
    step: &'a Step,
    column: &'static Column,
    cells: &Cells,
    plan: &Plan,
    critical: &CriticalValues,
) -> Option<Searched<'a>> {
    let fit = rounds::fit(&of_column(cells, &step.name, &series.sides, column)?);
    let points = Series::of_rounds(&fit, plan.rule.tau).ok()?;
    let rule = change_points::Rule {
        alpha: plan.rule.alpha,
        least_change: LEAST_CHANGE,
        confidence: 1.0 - plan.rule.alpha,
    };
    let findings = change_points::find(&points, &rule, critical);
    Some(Searched { series, step, column, fit, points, findings })
}

fn finding(one: &Searched<'_>, change: &Change, cells: &Cells, plan: &Plan) -> Finding {
    let version = |index: usize| one.series.versions[index].clone();
    let (before, after) = around(one, change);
    let mean_of = |versions: &[usize]| mean_over(one, versions, cells, &|values| judged(values, one.column));
    Finding {
        config: one.series.config.clone(),
        step: one.step.name.clone(),
        column: one.column,
        kind: change.kind(),
        suspect: plan.layout.design == Design::Sequential,
        version: version(change.version),
        before: version(before.last().copied().unwrap_or(change.version)),
        location: change.location.iter().map(|index| version(*index)).collect(),
        at_edge: change.at_edge,
        ratio: change.ratio,
        low: change.low,
        high: change.high,
        confidence: change.confidence,
        value_before: mean_of(&before),
        value_after: mean_of(&after),
        moved: Vec::new(),
        drift: None,
        part_of: None,
    }
}

/// The versions with a value before a change and from it on, as far as the neighbouring changes; around a glitch,
/// those before it and the glitch alone.
pub(super) fn around(one: &Searched<'_>, change: &Change) -> (Vec<usize>, Vec<usize>) {
    one.findings.around(change, |version| one.fit.versions[version].mean.is_some())
}

/// Mean over versions of their means over rounds.
pub(super) fn mean_over(
    one: &Searched<'_>,
    versions: &[usize],
    cells: &Cells,
    value: &dyn Fn(&Values) -> Option<f64>,
) -> Option<f64> {
    let of_version = |version: &usize| mean_of_side(cells, &one.step.name, one.series.sides[*version], value);
    analysis::student::mean(&versions.iter().filter_map(of_version).collect::<Vec<f64>>())
}

/// Mean over the rounds of one side, as far as they have a value.
pub(super) fn mean_of_side(
    cells: &Cells,
    step: &str,
    side: Side,
    value: &dyn Fn(&Values) -> Option<f64>,
) -> Option<f64> {
    let rounds = cells.get(&(step.to_owned(), side))?;
    analysis::student::mean(&rounds.values().filter_map(value).collect::<Vec<f64>>())
}

fn matters_to_users(column: &Column) -> bool {
    [RATE, DRAINED_RATE].contains(&column.metric)
}

fn stalls_hardly(finding: &Finding) -> bool {
    let change = finding.value_after.zip(finding.value_before).map(|(after, before)| (after - before).abs());
    finding.column.metric == "stall_percent"
        && change.is_some_and(|change| change < LEAST_STALL_CHANGE_PERCENT)
}

/// Whether an earlier finding of the same series lists this one among what moved with it.
fn explains(earlier: &Finding, finding: &Finding) -> bool {
    earlier.version == finding.version
        && earlier.moved.iter().any(|moved| {
            let mut shifts = std::iter::once(&moved.shift).chain(&moved.twins);
            shifts.any(|shift| shift.metric == finding.column.metric)
        })
}
