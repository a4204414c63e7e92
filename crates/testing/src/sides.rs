//! A campaign whose releases were all there at once: six releases, the first as three processes, the same in every test.

use crate::{SMALL_WORKLOAD, plan};
use model::block::{Block, BlockKind, Outcome, Side, TrialKey};
use model::plan::{Design, Layout, Plan, Purpose};
use model::record::{RunRecord, TrialRecord};
use model::units::Nanos;

/// In the order of their sides; the base's further processes follow them.
pub const RELEASES: [&str; 6] =
    ["rocksdb@6.0.2", "rocksdb@6.11.4", "rocksdb@7.3.1", "rocksdb@8.5.4", "rocksdb@8.7.3", "rocksdb@9.3.1"];
/// Launches of the run.
pub const LAUNCHES: u32 = 10;
/// From this side on a tenth of the rate is lost.
pub const LOST_FROM: Side = 3;
const FURTHER: usize = 2;

/// Blocks scatter by about 1 %, launches of a side by a third of that.
pub fn record() -> RunRecord {
    let mut subjects = RELEASES.to_vec();
    subjects.extend([RELEASES[0]; FURTHER]);
    let layout = Layout { design: Design::Interleaved, further_base_processes: FURTHER, ..Layout::default() };
    let plan = Plan { purpose: Purpose::Campaign, layout, ..plan(SMALL_WORKLOAD, &subjects) };
    let sides = plan.subjects.len();
    let mut record = crate::record(plan, LAUNCHES);
    record.max_launches = Some(LAUNCHES);
    for launch in &mut record.launches {
        launch.look = None;
    }
    for launch in 1..=LAUNCHES {
        for side in 0..sides {
            let trial = TrialKey { launch, step: "readrandom".to_owned(), side };
            record.blocks.extend((0..10).map(|cycle| block(&trial, cycle)));
            record.trials.push(TrialRecord { trial, outcome: Outcome::Done, latency: None });
        }
    }
    record
}

fn block(trial: &TrialKey, cycle: u32) -> Block {
    let is_lost = (LOST_FROM..RELEASES.len()).contains(&trial.side);
    // What the host does to a cycle, and what it does to a block.
    let of_cycle = 1.0 - 0.3 * f64::from(u32::from((trial.launch + cycle).is_multiple_of(4)));
    let place =
        (u64::from(trial.launch) * 7919 + u64::from(cycle) * 104_729 + trial.side as u64 * 1_299_709) % 101;
    let rate = 50_000.0 * of_cycle * if is_lost { 0.9 } else { 1.0 } * (1.0 + 0.0003 * (place as f64 - 50.0));
    let kind = BlockKind::Cycle(cycle);
    Block { kind, ..crate::block(trial.clone(), crate::whole(rate), Nanos::from_millis(25)) }
}
