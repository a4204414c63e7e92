//! What changed at which release: change points of each series, and what moved at the same place.

use super::drift::Pinned;
use super::moved;
use super::series::{Campaign, Searched, around, mean_over, search, searched, series};
use super::values::{Cells, judged};
use crate::comparison::{Change, ReleaseTrend};
use crate::toolchain::Toolchain;
use crate::trend::TrendView;
use analysis::change_points::{self, CriticalValues, Spread};
use model::metric::Metric;
use model::plan::{Design, Plan};
use model::workload::Step;

/// Stalls that changed by less than this many percent of the time say nothing.
const LEAST_STALL_CHANGE_PERCENT: f64 = 1.0;

/// What the releases of a campaign say one after another.
#[derive(Default)]
pub(crate) struct OverReleases {
    pub(crate) changes: Vec<Change>,
    pub(crate) trends: Vec<ReleaseTrend>,
    pub(crate) searched_series: usize,
}

pub(crate) fn over_releases(plan: &Plan, cells: &Cells) -> OverReleases {
    let campaign = Campaign { plan, cells, critical: CriticalValues::shared() };
    let all_series = series(plan);
    let steps: Vec<&Step> = plan.chosen_steps().filter(|step| !step.helper).collect();
    let mut all: Vec<Searched<'_>> = Vec::new();
    for series in &all_series {
        for step in &steps {
            let metrics = searched(cells, step, series);
            all.extend(metrics.into_iter().filter_map(|metric| search(series, step, metric, campaign)));
        }
    }
    let mut found: Vec<Change> = Vec::new();
    for one in &all {
        let pinned = Pinned::of(one, &all_series, campaign);
        // Those of the same configuration and step stand together, the rate first.
        let first_of_step = found
            .iter()
            .rposition(|other: &Change| other.config != one.series.config || other.step != one.step.name);
        let first_of_step = first_of_step.map_or(0, |last| last + 1);
        for change in &one.findings.changes {
            let mut finding = of_change(one, change, cells, plan);
            if stalls_hardly(&finding) {
                continue;
            }
            let told_before = found[first_of_step..].iter().any(|other| {
                other.metric == Metric::OpsPerSecond
                    && other.version == finding.version
                    && !other.moved.is_empty()
            });
            if matters_to_users(one.metric) && !told_before {
                finding.moved = moved::with(one, change, cells);
            }
            let before = around(one, change).0.last().copied().unwrap_or(change.version);
            finding.drift = pinned.as_ref().and_then(|pinned| pinned.drift(one, change, before));
            finding.part_of =
                (first_of_step..found.len()).find(|earlier| explains(&found[*earlier], &finding));
            found.push(finding);
        }
    }
    OverReleases {
        changes: found,
        trends: all.iter().filter_map(|one| trend(one, plan)).collect(),
        searched_series: all.len(),
    }
}

/// The trend of a rate. Counters have none here: a steady loss shows in most of them, and one line says it.
fn trend(one: &Searched<'_>, plan: &Plan) -> Option<ReleaseTrend> {
    let line = one.findings.trend.map(TrendView::from).filter(TrendView::is_told)?;
    matters_to_users(one.metric).then(|| ReleaseTrend {
        config: one.series.config.clone(),
        step: one.step.name.clone(),
        metric: one.metric,
        suspect: is_suspect(plan),
        releases: one.points.len(),
        line,
        candidate: one.points.spread() == Spread::SingleRuns,
        maybe_autocorrelation: one.findings.maybe_autocorrelation,
    })
}

/// Subjects that are measured one after another differ by what the host did meanwhile.
fn is_suspect(plan: &Plan) -> bool {
    plan.layout.design == Design::Sequential
}

fn of_change(one: &Searched<'_>, change: &change_points::Change, cells: &Cells, plan: &Plan) -> Change {
    let version = |index: usize| one.series.versions[index].clone();
    let (before, after) = around(one, change);
    let earlier = before.last().copied().unwrap_or(change.version);
    let build = |version: usize| &plan.subjects[one.series.sides[version]].build;
    let mean_of = |versions: &[usize]| mean_over(one, versions, cells, &|values| judged(values, one.metric));
    Change {
        config: one.series.config.clone(),
        step: one.step.name.clone(),
        metric: one.metric,
        kind: change.kind(),
        suspect: is_suspect(plan),
        version: version(change.version),
        before: version(earlier),
        toolchain: Toolchain::change(build(earlier), build(change.version)),
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

fn matters_to_users(metric: Metric) -> bool {
    [Metric::OpsPerSecond, Metric::OpsPerSecondDrained].contains(&metric)
}

fn stalls_hardly(finding: &Change) -> bool {
    let change = finding.value_after.zip(finding.value_before).map(|(after, before)| (after - before).abs());
    finding.metric == Metric::StallPercent && change.is_some_and(|change| change < LEAST_STALL_CHANGE_PERCENT)
}

/// Whether an earlier finding of the same series lists this one among what moved with it.
fn explains(earlier: &Change, finding: &Change) -> bool {
    earlier.version == finding.version
        && earlier.moved.iter().any(|moved| {
            let mut shifts = std::iter::once(&moved.shift).chain(&moved.twins);
            shifts.any(|shift| shift.metric == Some(finding.metric))
        })
}
