//! The self-tests of a host's calibrations, step by step: what one calibration adds, and what all that count say.

use crate::harness::{TestedStep, by_step};
use crate::judge::Case;
use analysis::self_test::{Accumulated, accumulate, gains};
use model::plan::Plan;
use model::record::RunRecord;
use model::self_test::SelfTestRecord;
use std::collections::BTreeMap;

/// What one calibration adds: an entry for each of its steps, without launches where none counts.
pub fn of_run(record: &RunRecord) -> Vec<SelfTestRecord> {
    let plan = &record.plan;
    // A calibration has two sides.
    let Some(candidate) = plan.candidate_sides().next() else { return Vec::new() };
    plan.chosen_steps()
        .map(|step| SelfTestRecord {
            run: record.id.clone(),
            started_at_us: record.started_at_us,
            boot_id: record.host.boot_id.clone(),
            workload: plan.workload.name.clone(),
            workload_sha256: plan.workload_sha256.clone(),
            step: step.name.clone(),
            family: family(plan),
            gains: gains(&Case::of(record, step, candidate).summaries()),
        })
        .collect()
}

/// The steps of a workload that can be tested, whichever of them a calibration measures: the level is fixed beforehand.
fn family(plan: &Plan) -> u32 {
    let steps =
        plan.workload.steps.iter().filter(|step| plan.workload.main_of(step).why_no_blocks().is_none());
    u32::try_from(steps.count()).unwrap_or(u32::MAX)
}

/// The self-test of one step, of the calibrations that are shown and of all that count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepSelfTest {
    /// The e-value of the calibrations that are shown, by themselves.
    pub e_value: f64,
    /// All that count, up to the newest that is shown.
    pub accumulated: Accumulated,
    /// When the oldest of them began, in microseconds since the epoch; absent where none measured the step.
    pub since_us: Option<i64>,
}

/// The self-tests of these calibrations of one workload, by step. `known` are those that count for the newest of them.
pub fn shown(records: &[RunRecord], known: &[SelfTestRecord]) -> BTreeMap<String, StepSelfTest> {
    let Some(newest) = records.iter().map(|record| record.started_at_us).max() else {
        return BTreeMap::new();
    };
    let own: Vec<SelfTestRecord> = records.iter().flat_map(of_run).collect();
    let others = known
        .iter()
        .filter(|test| test.started_at_us <= newest && records.iter().all(|record| record.id != test.run));
    let mut all: Vec<SelfTestRecord> = own.iter().chain(others).cloned().collect();
    all.sort_by(|left, right| (left.started_at_us, &left.run).cmp(&(right.started_at_us, &right.run)));
    let all = by_step(&all);
    let of_step = |(step, tests): (TestedStep<'_>, Vec<&SelfTestRecord>)| {
        if step.workload_sha256 != records[0].plan.workload_sha256 {
            return None;
        }
        let all = all.get(&step)?;
        let since_us = all.iter().filter(|test| test.gains.launches > 0).map(|test| test.started_at_us).min();
        let found =
            StepSelfTest { e_value: accumulate(&tests)?.e_value, accumulated: accumulate(all)?, since_us };
        Some((step.name.to_owned(), found))
    };
    by_step(&own).into_iter().filter_map(of_step).collect()
}
