//! The releases of one configuration as a series, and the metrics that are searched for changes along it.

use super::values::Cells;
use crate::comparison::Values;
use model::block::Side;
use model::metric::{DeviceMetric, Metric};
use model::plan::Plan;
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

/// p99 is judged only with this many samples above it, in every trial (statistics 1.9).
const SAMPLES_ABOVE_QUANTILE: f64 = 1000.0;
/// The mean size of fewer requests than this is that of a few odd ones.
const LEAST_REQUESTS: f64 = 100.0;

/// One for each configuration that at least two releases have, in the order of the plan. A subject that a user's
/// db_bench ran is measured by another client, and stands in no series with others.
pub(super) fn series(plan: &Plan) -> Vec<ReleaseSeries> {
    let mut found: Vec<(bool, ReleaseSeries)> = Vec::new();
    for (side, subject) in plan.subjects.iter().enumerate() {
        let (build, config) = (&subject.reference.build, &subject.reference.config);
        let db_bench = plan.layout.db_bench.contains_key(&side);
        let place = found.iter_mut().find(|(by_db_bench, series)| {
            *by_db_bench == db_bench && series.engine == build.engine && series.config == *config
        });
        match place {
            Some((_, series)) => series.sides.push(side),
            None => found.push((
                db_bench,
                ReleaseSeries {
                    engine: build.engine.clone(),
                    config: config.clone(),
                    sides: vec![side],
                    versions: Vec::new(),
                },
            )),
        }
    }
    let version = |side: Side| plan.subjects[side].reference.build.version.as_str();
    found
        .into_iter()
        .map(|(_, mut series)| {
            series.sides.sort_by(|left, right| compare_versions(version(*left), version(*right)));
            series.versions = series.sides.iter().map(|side| version(*side).to_owned()).collect();
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

/// The value of a metric, where there is enough behind it to judge it.
pub(super) fn judged(values: &Values, metric: Metric) -> Option<f64> {
    let enough = match metric {
        Metric::LatencyP99 => 0.01 * values.latency_count as f64 >= SAMPLES_ABOVE_QUANTILE,
        Metric::Device { what: DeviceMetric::ReadBytesMean, with_drain } => {
            let of = |what| values.get(Metric::Device { what, with_drain });
            of(DeviceMetric::ReadsPerSecond)? * of(DeviceMetric::Seconds)? >= LEAST_REQUESTS
        }
        _ => true,
    };
    values.get(metric).filter(|_| enough)
}
