//! How much a step does in one go: a time, or a number of operations.

use super::file::StepEntry;
use super::{DataSet, Step};
use crate::limits::{MOST_OPERATIONS, MOST_OPERATIONS_PER_KEY};
use crate::units::Nanos;
use crate::wire::BlockLimit;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How much a step does where it is measured in one go, in rounds or one release after another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "by")]
pub enum Extent {
    /// As long as its interleaved blocks together.
    #[default]
    Blocks,
    Time {
        wall: Nanos,
    },
    /// This many operations over all threads.
    Operations {
        count: u64,
    },
    /// This many operations for each key of the data set, over all threads.
    PerKey {
        /// The share: 0.1 is a tenth of the keys.
        share: f64,
    },
}

impl Extent {
    /// The limit of a block; `blocks` is the time of the step's interleaved blocks together.
    pub(super) fn limit(self, blocks: Nanos, data: &DataSet) -> BlockLimit {
        match self {
            Extent::Blocks => BlockLimit::Time { wall: blocks },
            Extent::Time { wall } => BlockLimit::Time { wall },
            Extent::Operations { count } => BlockLimit::Operations { count },
            Extent::PerKey { share } => {
                #[expect(clippy::cast_possible_truncation, reason = "a share of a number of keys")]
                #[expect(clippy::cast_sign_loss, reason = "the share was checked to be positive")]
                let count = (data.keys as f64 * share).round() as u64;
                BlockLimit::Operations { count: count.clamp(1, MOST_OPERATIONS) }
            }
        }
    }
}

/// What an entry states.
pub(super) fn stated(entry: &StepEntry) -> Result<Extent, String> {
    match (entry.seconds, entry.operations, entry.operations_per_key) {
        (None, None, None) => Ok(Extent::Blocks),
        (Some(seconds), None, None) if (0.001..=1e6).contains(&seconds) => {
            let wall = std::time::Duration::from_secs_f64(seconds);
            Ok(Extent::Time { wall: Nanos::from(wall) })
        }
        (None, Some(count), None) if (1..=MOST_OPERATIONS).contains(&count) => {
            Ok(Extent::Operations { count })
        }
        (None, None, Some(share)) if share > 0.0 && share <= MOST_OPERATIONS_PER_KEY => {
            Ok(Extent::PerKey { share })
        }
        (Some(seconds), None, None) => Err(format!("seconds is {seconds}, must be 0.001 to 1000000")),
        (None, Some(count), None) => Err(format!("operations is {count}, must be 1 to {MOST_OPERATIONS}")),
        (None, None, Some(share)) => Err(format!(
            "operations_per_key is {share}, must be above 0 and at most {MOST_OPERATIONS_PER_KEY}"
        )),
        (_, _, _) => Err("`seconds`, `operations` and `operations_per_key` exclude each other".to_owned()),
    }
}

/// Gives steps the numbers of operations that the workload states for them. They are shares of its keys from then on, so that a scale
/// changes them with the data.
pub(super) fn give_operations(
    steps: &mut [Step],
    operations: &BTreeMap<String, u64>,
    data: &DataSet,
) -> Result<(), String> {
    for (name, count) in operations {
        let Some(step) = steps.iter_mut().find(|step| step.name == *name) else {
            return Err(format!("there is no step `{name}`"));
        };
        if !matches!(step.extent, Extent::Operations { .. } | Extent::PerKey { .. }) {
            return Err(format!("step `{name}` does not end after a number of operations"));
        }
        if !(1..=MOST_OPERATIONS).contains(count) {
            return Err(format!("step `{name}` has {count}, must be 1 to {MOST_OPERATIONS}"));
        }
        step.extent = Extent::PerKey { share: *count as f64 / data.keys as f64 };
    }
    Ok(())
}
