//! Series in time: the seconds of trials that were measured in one go, the blocks of interleaved ones.

use crate::document::{Merge, Timeline, TimelineLine, TimelineMetric};
use crate::documents::ids::Ids;
use model::block::{Block, BlockKind, Second, Side, TrialKey};
use model::record::RunRecord;
use model::units::Nanos;
use std::collections::BTreeMap;

fn metric(name: &str, unit: &str, scale: f64, merge: Merge) -> TimelineMetric {
    TimelineMetric { name: name.to_owned(), unit: unit.to_owned(), scale, merge }
}

/// The seconds of every trial of a step; absent where none was kept.
pub(crate) fn seconds(record: &RunRecord, step: &str, labels: &[String], ids: &mut Ids) -> Option<Timeline> {
    let walls: BTreeMap<&TrialKey, Nanos> = record
        .blocks
        .iter()
        .filter(|block| block.kind == BlockKind::Whole && block.trial.step == step)
        .map(|block| (&block.trial, block.wall))
        .collect();
    let of_step =
        |side: Side| record.seconds.iter().filter(move |(trial, _)| trial.step == step && trial.side == side);
    let lines: Vec<TimelineLine> = labels
        .iter()
        .enumerate()
        .flat_map(|(side, label)| of_step(side).map(move |(trial, seconds)| (label, trial, seconds)))
        .filter_map(|(label, trial, seconds)| {
            let whole = whole(seconds, walls.get(trial).copied());
            (!whole.is_empty()).then(|| line_of_seconds(label, trial.launch, &whole))
        })
        .collect();
    (!lines.is_empty()).then(|| Timeline {
        id: ids.of("seconds", step),
        caption: format!("{step} second by second, a line for each trial."),
        x: "second",
        metrics: vec![
            metric("operations", "1/s", 1.0, Merge::Mean),
            metric("p50 latency", "us", 1e3, Merge::Largest),
            metric("p99 latency", "us", 1e3, Merge::Largest),
            metric("largest latency", "us", 1e3, Merge::Largest),
        ],
        lines,
    })
}

/// Without the last second where it was cut short: its operations are no rate.
fn whole(seconds: &[Second], wall: Option<Nanos>) -> Vec<Second> {
    let ended =
        |second: &&Second| wall.is_none_or(|wall| wall >= Nanos::from_secs(u64::from(second.second) + 1));
    seconds.iter().filter(ended).copied().collect()
}

fn line_of_seconds(label: &str, round: u32, seconds: &[Second]) -> TimelineLine {
    let last = seconds.iter().map(|second| second.second).max().unwrap_or(0) as usize;
    let mut values = vec![vec![None; last + 1]; 4];
    for second in seconds {
        let at = second.second as usize;
        let idle = second.operations == 0;
        values[0][at] = Some(second.operations);
        // Without an operation there is no latency, which is not one of 0.
        for (metric, latency) in [second.p50, second.p99, second.max].into_iter().enumerate() {
            values[metric + 1][at] = (!idle).then_some(latency.0);
        }
    }
    TimelineLine { subject: label.to_owned(), round, values }
}

/// The blocks of a step, launch after launch; absent where it has none.
pub(crate) fn blocks(record: &RunRecord, step: &str, labels: &[String], ids: &mut Ids) -> Option<Timeline> {
    let of_step: Vec<&Block> = record.blocks.iter().filter(|block| block.trial.step == step).collect();
    // Blocks of one cycle stand at one place, so that neighbours in time stand above each other.
    let mut places: Vec<(u32, BlockKind)> =
        of_step.iter().map(|block| (block.trial.launch, block.kind)).collect();
    places.sort_unstable();
    places.dedup();
    let lines: Vec<TimelineLine> = labels
        .iter()
        .enumerate()
        .filter_map(|(side, label)| {
            let mut values = vec![vec![None; places.len()]; 2];
            let of_side = of_step.iter().filter(|block| block.trial.side == side);
            let mut found = false;
            for block in of_side.filter(|block| block.wall.0 > 0 && block.operations > 0) {
                let Ok(at) = places.binary_search(&(block.trial.launch, block.kind)) else { continue };
                values[0][at] = Some(per_second(block.operations, block.wall));
                values[1][at] = block.process_cpu.map(|cpu| cpu.0 / block.operations);
                found = true;
            }
            found.then(|| TimelineLine { subject: label.clone(), round: 0, values })
        })
        .collect();
    (!lines.is_empty()).then(|| Timeline {
        id: ids.of("blocks", step),
        caption: format!(
            "{step} block by block, launch after launch: blocks above each other were neighbours in time."
        ),
        x: "block",
        metrics: vec![
            metric("operations", "1/s", 1.0, Merge::Mean),
            metric("CPU per operation", "us", 1e3, Merge::Mean),
        ],
        lines,
    })
}

/// Operations per second, to the nearest whole one.
fn per_second(operations: u64, wall: Nanos) -> u64 {
    let rate = (u128::from(operations) * 1_000_000_000 + u128::from(wall.0) / 2) / u128::from(wall.0);
    u64::try_from(rate).unwrap_or(u64::MAX)
}
