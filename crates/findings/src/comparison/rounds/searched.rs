//! One metric of one step over the releases of a configuration, fitted and searched for changes.

use super::against_base::of_metric;
use super::series::ReleaseSeries;
use super::values::{Cells, mean_of_side};
use crate::comparison::Values;
use analysis::change_points::{self, CriticalValues, Findings, Series};
use analysis::rounds::{self, RoundsFit};
use model::metric::Metric;
use model::plan::Plan;
use model::workload::Step;

/// A change of less than this share is not worth a sentence, however sure (statistics 1.6).
pub(super) const LEAST_CHANGE: f64 = 0.01;

/// One series, fitted and searched.
pub(super) struct Searched<'a> {
    pub(super) series: &'a ReleaseSeries,
    pub(super) step: &'a Step,
    pub(super) metric: Metric,
    pub(super) fit: RoundsFit,
    pub(super) points: Series,
    pub(super) findings: Findings,
}

pub(super) fn search<'a>(
    series: &'a ReleaseSeries,
    step: &'a Step,
    metric: Metric,
    cells: &Cells,
    plan: &Plan,
    critical: &CriticalValues,
) -> Option<Searched<'a>> {
    let fit = rounds::fit(&of_metric(cells, &step.name, &series.sides, metric)?);
    let points = Series::of_rounds(&fit, plan.rule.tau).ok()?;
    let rule = change_points::Rule {
        alpha: plan.rule.alpha,
        least_change: LEAST_CHANGE,
        confidence: 1.0 - plan.rule.alpha,
    };
    let findings = change_points::find(&points, &rule, critical);
    Some(Searched { series, step, metric, fit, points, findings })
}

/// The versions with a value before a change and from it on, as far as the neighbouring changes; around a glitch,
/// those before it and the glitch alone.
pub(super) fn around(one: &Searched<'_>, change: &change_points::Change) -> (Vec<usize>, Vec<usize>) {
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
