//! One metric of one step over the releases of a configuration: which series there are, which metrics are searched for changes
//! along them, and the search, of which whoever searches in another way takes the series alone.

use super::against_base::of_metric;
use super::disturbed;
use super::values::{Cells, cells, done_trials, judged, mean_of_side};
use crate::comparison::Values;
use crate::judge::Evidence;
use crate::sides;
use crate::toolchain::Toolchain;
use analysis::change_points::{self, CriticalValues, Findings, Series};
use analysis::rounds::{self, RoundValues, RoundsFit};
use model::block::Side;
use model::build::Made;
use model::metric::{DeviceMetric, Metric};
use model::plan::{Design, Plan};
use model::record::RunRecord;
use model::subject::compare_versions;
use model::workload::Step;
use std::collections::BTreeMap;

/// The subjects of one configuration, in the order of their versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReleaseSeries {
    pub(super) engine: String,
    pub(super) config: String,
    pub(super) sides: Vec<Side>,
    pub(super) versions: Vec<String>,
}

/// What all subjects of a series share, besides engine and configuration: whether the user's db_bench runs them (it is another client), and for
/// builds from source the recipe, the settings and the compiler.
type Common<'a> = (bool, Option<HowMade<'a>>);
/// Recipe, settings, compiler.
type HowMade<'a> = (&'a str, &'a BTreeMap<String, String>, Option<&'a str>);

fn how_made(made: &Made) -> HowMade<'_> {
    (&made.recipe, &made.settings, made.compiler.as_deref())
}

/// One for each configuration that at least two releases have, in the order of the plan. Builds of one release stand in the order of the plan.
pub(super) fn series(plan: &Plan) -> Vec<ReleaseSeries> {
    let mut found: Vec<(Common<'_>, ReleaseSeries)> = Vec::new();
    for (side, subject) in plan.distinct_subjects().iter().enumerate() {
        let (build, config) = (&subject.reference.build, &subject.reference.config);
        let common: Common<'_> =
            (plan.layout.db_bench.contains_key(&side), subject.build.made.as_deref().map(how_made));
        let place = found.iter_mut().find(|(of_series, series)| {
            *of_series == common && series.engine == build.engine && series.config == *config
        });
        match place {
            Some((_, series)) => series.sides.push(side),
            None => found.push((
                common,
                ReleaseSeries {
                    engine: build.engine.clone(),
                    config: config.clone(),
                    sides: vec![side],
                    versions: Vec::new(),
                },
            )),
        }
    }
    let release = |side: &Side| plan.subjects[*side].build.release();
    let version = |side: &Side| plan.subjects[*side].reference.build.version.clone();
    found
        .into_iter()
        .map(|(_, mut series)| {
            series.sides.sort_by(|left, right| compare_versions(release(left), release(right)));
            series.versions = series.sides.iter().map(version).collect();
            series
        })
        .filter(|series| series.sides.len() >= 2)
        .collect()
}

/// The metrics of a step that are series of their own, the rate first: what users see, what the engine pays for it
/// later, and the size of device reads, which can collapse long before a rate shows it.
pub(super) fn searched(cells: &Cells, step: &Step, series: &ReleaseSeries) -> Vec<Metric> {
    let mut of_series = series
        .sides
        .iter()
        .filter_map(|side| cells.get(&(step.name.clone(), *side)))
        .flat_map(BTreeMap::values);
    let has_drain = of_series.any(|values| values.get(Metric::DrainSeconds).is_some());
    let read_size = Metric::Device { what: DeviceMetric::ReadBytesMean, with_drain: has_drain };
    vec![
        Metric::OpsPerSecond,
        Metric::OpsPerSecondDrained,
        Metric::WriteAmplification,
        Metric::StallPercent,
        Metric::LatencyP99,
        read_size,
    ]
}

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

/// What is searched, and by which critical values.
#[derive(Clone, Copy)]
pub(super) struct Campaign<'a> {
    pub(super) plan: &'a Plan,
    pub(super) cells: &'a Cells,
    pub(super) critical: &'a CriticalValues,
}

pub(super) fn search<'a>(
    series: &'a ReleaseSeries,
    step: &'a Step,
    metric: Metric,
    campaign: Campaign<'_>,
) -> Option<Searched<'a>> {
    let rule = &campaign.plan.rule;
    let fit = rounds::fit(&of_metric(campaign.cells, &step.name, &series.sides, metric)?);
    let points = Series::of_rounds(&fit, rule.tau).ok()?;
    let confidence = 1.0 - rule.alpha;
    let rule = change_points::Rule { alpha: rule.alpha, least_change: LEAST_CHANGE, confidence };
    let findings = change_points::find(&points, &rule, campaign.critical);
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

/// One metric of one step over the releases of one configuration.
pub(crate) struct CampaignSeries {
    pub(crate) step: String,
    pub(crate) config: String,
    pub(crate) metric: Metric,
    pub(crate) releases: Vec<String>,
    pub(crate) logarithms: RoundValues,
    /// Means over rounds, as tables show them.
    pub(crate) values: Vec<Option<f64>>,
    /// By release, if its build has other compilers than that of the release before it.
    pub(crate) toolchains: BTreeMap<String, Toolchain>,
}

fn toolchains(plan: &Plan, series: &ReleaseSeries) -> BTreeMap<String, Toolchain> {
    let builds = series.sides.iter().map(|side| &plan.subjects[*side].build);
    let pairs = builds.clone().zip(builds.skip(1)).zip(series.versions.iter().skip(1));
    pairs
        .filter_map(|((before, after), version)| Some((version.clone(), Toolchain::change(before, after)?)))
        .collect()
}

/// The metrics that users see or pay for, and how many trials were set aside.
pub(crate) fn series_of(record: &RunRecord) -> (Vec<CampaignSeries>, usize) {
    if record.plan.layout.design == Design::Interleaved {
        let judged = sides::judge(record, &Evidence::default());
        return (of_cells(record, &sides::cells(record, &judged)), 0);
    }
    let (mut cells, _) = cells(record, &done_trials(record));
    let medians = disturbed::medians(&cells);
    let disturbed = disturbed::set_aside(&mut cells, &medians).len();
    (of_cells(record, &cells), disturbed)
}

fn of_cells(record: &RunRecord, cells: &Cells) -> Vec<CampaignSeries> {
    let mut found = Vec::new();
    for one in series(&record.plan) {
        for step in record.plan.chosen_steps().filter(|step| !step.helper) {
            for metric in searched(cells, step, &one) {
                let Some(logarithms) = of_metric(cells, &step.name, &one.sides, metric) else { continue };
                let judged = |values: &Values| judged(values, metric);
                let mean = |side: &Side| mean_of_side(cells, &step.name, *side, &judged);
                found.push(CampaignSeries {
                    step: step.name.clone(),
                    config: one.config.clone(),
                    metric,
                    releases: one.versions.clone(),
                    logarithms,
                    toolchains: toolchains(&record.plan, &one),
                    values: one.sides.iter().map(|side| Some(mean(side)? / metric.scale())).collect(),
                });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(compiler: &str, version: &str) -> Box<Made> {
        Box::new(Made {
            source: "/sources".into(),
            is_commit: false,
            id: version.to_owned(),
            summary: String::new(),
            recipe: "crate".to_owned(),
            settings: BTreeMap::new(),
            compiler: Some(compiler.to_owned()),
            flags: Vec::new(),
            version: Some(version.to_owned()),
            ignored: Vec::new(),
        })
    }

    #[test]
    fn builds_of_each_compiler_are_a_series_in_the_order_of_their_releases() {
        let builds =
            [("gcc", "8.10.0"), ("clang", "8.1.1"), ("gcc", "8.1.1"), ("clang", "8.10.0"), ("tcc", "8.1.1")];
        let names = ["rocksdb@new", "rocksdb@old-clang", "rocksdb@old", "rocksdb@new-clang", "rocksdb@tcc"];
        let mut plan = testing::plan(testing::SMALL_WORKLOAD, &names);
        for (subject, (compiler, version)) in plan.subjects.iter_mut().zip(builds) {
            subject.build.made = Some(made(compiler, version));
        }
        let found: Vec<Vec<Side>> = series(&plan).into_iter().map(|one| one.sides).collect();
        assert_eq!(found, [vec![2, 0], vec![1, 3]]);
    }
}
