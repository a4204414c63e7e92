//! A stream with a stated rate beside a step of a record that is there already.

use model::block::Block;
use model::record::{RunRecord, TrialRecord};
use model::workload::Step;

/// Adds the stream `STEP.inserts` with a rate of so many operations a second, of which each side did this share; one that is not named all.
pub fn add(record: &mut RunRecord, step: &str, rate: f64, shares: &[f64]) {
    let name = format!("{step}.inserts");
    let main = record.plan.workload.step(step).expect("a step").clone();
    let stream = Step { name: name.clone(), beside: Some(step.to_owned()), rate: Some(rate), ..main };
    let place = record.plan.workload.steps.iter().position(|other| other.name == step).expect("a step");
    record.plan.workload.steps.insert(place + 1, stream);
    record.plan.steps.push(name.clone());
    let of_stream = |block: &Block| {
        let share = shares.get(block.trial.side).copied().unwrap_or(1.0);
        let mut block = block.clone();
        block.operations = crate::whole(rate * share * block.wall.as_secs_f64());
        block.trial.step.clone_from(&name);
        block
    };
    let blocks: Vec<Block> =
        record.blocks.iter().filter(|block| block.trial.step == step).map(of_stream).collect();
    record.blocks.extend(blocks);
    let of_stream = |ended: &TrialRecord| {
        let mut ended = ended.clone();
        ended.trial.step.clone_from(&name);
        ended
    };
    let trials: Vec<TrialRecord> =
        record.trials.iter().filter(|ended| ended.trial.step == step).map(of_stream).collect();
    record.trials.extend(trials);
}
