//! What a worker is told of a step, whichever way trials are laid out in time.

use model::block::Side;
use model::plan::{Design, Plan};
use model::wire::{CompanionSetup, StepSetup, Stream};
use model::workload::{Operation, Step};

/// The setup of a step on a side with its companions, with the seed of its launch's data; every key exists.
pub fn step_setup(plan: &Plan, step: &Step, side: Side, data_seed: u64) -> StepSetup {
    // Another stream for each step: otherwise `readrandom` would draw the keys of `overwrite` again.
    let position = plan.workload.steps.iter().position(|other| other.name == step.name);
    StepSetup {
        operation: match &step.operation {
            Operation::Fio(job) => {
                let config = &plan.subjects[side].config;
                Operation::Fio(Box::new(job.in_effect(&plan.workload.options, config)))
            }
            // Interleaved blocks of it end by their time.
            Operation::ReadSequential { .. } if plan.layout.design == Design::Interleaved => {
                Operation::ReadSequential { one_pass: false }
            }
            operation => operation.clone(),
        },
        data: plan.workload.data,
        tables: plan.workload.tables.clone(),
        threads: step.threads,
        rate: step.rate,
        in_bursts: step.in_bursts,
        wal: step.wal,
        sync: step.sync,
        perf_level: plan.workload.perf_level,
        background_write_bytes_per_s: step.background_write_bytes_per_s,
        seed: data_seed.wrapping_add(1 + position.unwrap_or(0) as u64),
        planted_slowdown_percent: plan.subjects[side].planted_slowdown_percent,
        planted_as: plan.subjects[side].planted_as,
        all_keys_exist: true,
        server_is_ours: plan.workload.is_sql() && plan.subjects[side].build.elsewhere().is_none(),
        companions: plan
            .workload
            .companions(&step.name)
            .map(|companion| CompanionSetup {
                step: step_setup(plan, companion, side, data_seed),
                follows: companion.follows.as_deref().map(|leader| stream(plan, step, leader)),
            })
            .collect(),
    }
}

/// The stream of this name among a step and its companions.
fn stream(plan: &Plan, step: &Step, name: &str) -> Stream {
    let place = plan.workload.companions(&step.name).position(|companion| companion.name == name);
    place.map_or(Stream::Own, Stream::Companion)
}
