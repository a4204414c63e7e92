//! What the self-tests that count for a run mean for its verdicts: which of its steps the harness is biased in.

use analysis::self_test::{SelfTestResult, accumulate};
use model::plan::Plan;
use model::record::RunRecord;
use model::self_test::SelfTestRecord;
use model::warning::Warning;
use std::collections::{BTreeMap, BTreeSet};

/// What calibrations say of the harness that made a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Harness {
    /// Whether there was a calibration since the host booted.
    pub calibrated: bool,
    /// Steps of the run's workload in which the sides are not treated alike.
    pub failed: BTreeSet<String>,
    /// Such steps of other workloads: `readrandom (workload mixed)`.
    pub failed_of_others: BTreeSet<String>,
}

impl Harness {
    /// What these self-tests say of a run; they are those that count for it.
    pub fn of(record: &RunRecord, self_tests: &[SelfTestRecord]) -> Harness {
        let mut harness = Harness {
            calibrated: self_tests.iter().any(|test| test.boot_id == record.host.boot_id),
            ..Harness::default()
        };
        for (step, tests) in by_step(self_tests) {
            let found = accumulate(&tests).map(|found| found.result());
            let Some(newest) = tests.last().filter(|_| found == Some(SelfTestResult::Failed)) else {
                continue;
            };
            if step.workload_sha256 == record.plan.workload_sha256 {
                harness.failed.insert(step.name.to_owned());
            } else {
                harness.failed_of_others.insert(format!("{} (workload {})", step.name, newest.workload));
            }
        }
        harness
    }

    /// What a run of this plan must say of the steps that failed, if it has others.
    pub fn warning_of_others(&self, plan: &Plan) -> Option<Warning> {
        let trusts_some = plan.chosen_steps().any(|step| !self.failed.contains(&step.name));
        let failed: Vec<String> = self.failed.iter().chain(&self.failed_of_others).cloned().collect();
        (trusts_some && !failed.is_empty()).then_some(Warning::HarnessBiasedElsewhere { steps: failed })
    }
}

/// A step of one text of a workload: what is measured under one name in two workloads has little in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TestedStep<'a> {
    pub workload_sha256: &'a str,
    pub name: &'a str,
}

/// The self-tests of each step, in the order given.
pub fn by_step(self_tests: &[SelfTestRecord]) -> BTreeMap<TestedStep<'_>, Vec<&SelfTestRecord>> {
    let mut steps: BTreeMap<TestedStep<'_>, Vec<&SelfTestRecord>> = BTreeMap::new();
    for test in self_tests {
        let step = TestedStep { workload_sha256: &test.workload_sha256, name: &test.step };
        steps.entry(step).or_default().push(test);
    }
    steps
}
