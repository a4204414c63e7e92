//! The series of a campaign, for whoever searches them in another way.

use super::against_base::of_metric;
use super::cells;
use super::disturbed;
use super::series::{judged, searched, series};
use super::values::{done_trials, mean_of_side};
use crate::comparison::Values;
use analysis::rounds::RoundValues;
use model::block::Side;
use model::metric::Metric;
use model::record::RunRecord;

/// One metric of one step over the releases of one configuration.
pub(crate) struct CampaignSeries {
    pub(crate) step: String,
    pub(crate) config: String,
    pub(crate) metric: Metric,
    pub(crate) releases: Vec<String>,
    pub(crate) logarithms: RoundValues,
    /// Means over rounds, as tables show them.
    pub(crate) values: Vec<Option<f64>>,
}

/// The metrics that users see or pay for, and how many trials were set aside.
pub(crate) fn series_of(record: &RunRecord) -> (Vec<CampaignSeries>, usize) {
    let (mut cells, _) = cells(record, &done_trials(record));
    let medians = disturbed::medians(&cells);
    let disturbed = disturbed::set_aside(&mut cells, &medians).len();
    let mut found = Vec::new();
    for one in series(&record.plan) {
        for step in record.plan.chosen_steps().filter(|step| !step.helper) {
            for metric in searched(&cells, step, &one) {
                let Some(logarithms) = of_metric(&cells, &step.name, &one.sides, metric) else { continue };
                let judged = |values: &Values| judged(values, metric);
                let mean = |side: &Side| mean_of_side(&cells, &step.name, *side, &judged);
                found.push(CampaignSeries {
                    step: step.name.clone(),
                    config: one.config.clone(),
                    metric,
                    releases: one.versions.clone(),
                    logarithms,
                    values: one.sides.iter().map(|side| Some(mean(side)? / metric.scale())).collect(),
                });
            }
        }
    }
    (found, disturbed)
}
