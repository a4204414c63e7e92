//! Series of a campaign of ours.

use super::{Observed, Origin};
use crate::comparison::rounds::series_of;
use analysis::change_points::ErrorFloor;
use model::plan::Design;
use model::record::RunRecord;
use model::warning::Warning;

/// The metrics of each step of a campaign that users see or pay for, over the releases of each configuration.
pub fn of_campaign(record: &RunRecord) -> (Vec<Observed>, Origin) {
    let in_rounds = record.plan.layout.design == Design::Rounds;
    let (series, disturbed) = series_of(record);
    let several_configs = series.iter().any(|other| series.iter().any(|one| one.config != other.config));
    let observed = series.into_iter().map(|one| Observed {
        step: one.step,
        config: if several_configs { one.config } else { String::new() },
        metric: one.metric.header().to_owned(),
        unit: one.metric.table_unit().to_owned(),
        releases: one.releases,
        logarithms: one.logarithms,
        values: one.values,
        first_rounds: None,
        floor: ErrorFloor::default(),
        gaps: Vec::new(),
        in_rounds,
    });
    let mut origin = Origin { names: vec![format!("run {}", record.id)], warnings: Vec::new() };
    if !in_rounds {
        origin.warnings.push(Warning::SequentialReleases);
    }
    if disturbed > 0 {
        origin.warnings.push(Warning::Disturbed { trials: disturbed as u64 });
    }
    (observed.collect(), origin)
}
