//! How many operations make a block of a step that writes: learnt on the base, before anything is compared.
//!
//! Such blocks are of a fixed number of operations, so that the faster side does not grow the larger tree
//! (statistics 1.9, rule 8).

use model::units::Nanos;
use model::wire::BlockReport;
use model::workload::{DataSet, Step};
use std::collections::BTreeMap;

/// Block sizes by step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BlockSizes {
    pilot: BTreeMap<String, (u64, Nanos)>,
}

/// No block is smaller: below it the edges of a block weigh more than its content.
const SMALLEST_BLOCK_OPERATIONS: u64 = 200;

impl BlockSizes {
    /// Takes in a block of the pilot.
    pub fn learn(&mut self, step: &str, report: &BlockReport) {
        let (operations, wall) = self.pilot.entry(step.to_owned()).or_default();
        *operations += report.operations;
        *wall += report.wall;
    }

    /// Operations of one block of `step`; absent where the pilot did not see it.
    pub fn operations(&self, step: &Step, data: &DataSet) -> Option<u64> {
        let (operations, wall) = self.pilot.get(&step.name)?;
        if *operations == 0 || wall.0 == 0 {
            return None;
        }
        let fitting = u128::from(*operations) * u128::from(step.block.0) / u128::from(wall.0);
        let fitting = u64::try_from(fitting).unwrap_or(u64::MAX).max(SMALLEST_BLOCK_OPERATIONS);
        // Equal blocks that just make up the whole: the last one must not be a remnant.
        Some(step.stated_operations(data).map_or(fitting, |all| all.div_ceil(all.div_ceil(fitting))))
    }

    /// Blocks of each side in a launch, given the operations of one.
    pub fn cycles(step: &Step, data: &DataSet, operations: u64) -> u32 {
        step.stated_operations(data)
            .map_or(step.cycles, |all| u32::try_from(all.div_ceil(operations.max(1))).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::workload::{Extent, Workload};

    fn report(operations: u64, wall: Nanos) -> BlockReport {
        BlockReport {
            operations,
            failed_operations: 0,
            first_error: None,
            wall,
            thread_cpu: Vec::new(),
            thread_run_delay: None,
            process_cpu: Nanos(0),
            ..BlockReport::default()
        }
    }

    #[test]
    fn a_fill_is_cut_into_equal_blocks_and_others_by_time() {
        let workload = Workload::parse(crate::campaign::samples::WORKLOAD, "test").unwrap();
        let (fill, overwrite) = (&workload.steps[0], &workload.steps[1]);
        let data = DataSet { keys: 1_000_000, ..workload.data };
        let mut sizes = BlockSizes::default();
        assert_eq!(sizes.operations(fill, &data), None);
        sizes.learn(&fill.name, &report(300_000, Nanos(fill.block.0)));
        sizes.learn(&overwrite.name, &report(500, Nanos(fill.block.0)));
        sizes.learn(&overwrite.name, &report(700, Nanos(fill.block.0)));
        let operations = sizes.operations(fill, &data).unwrap();
        assert_eq!((operations, BlockSizes::cycles(fill, &data, operations)), (250_000, 4));
        assert_eq!(sizes.operations(overwrite, &data), Some(600));
        assert_eq!(BlockSizes::cycles(overwrite, &data, 600), overwrite.cycles);
    }

    #[test]
    fn a_stated_number_of_operations_is_done_in_equal_blocks_whatever_the_host_takes_for_it() {
        let mut workload = Workload::parse(crate::campaign::samples::WORKLOAD, "test").unwrap();
        let data = workload.data;
        let overwrite = &mut workload.steps[1];
        overwrite.extent = Extent::PerKey { share: 0.54 };
        for (done, operations, cycles) in [(9_000, 9_000, 6), (14_000, 13_500, 4), (60_000, 54_000, 1)] {
            let mut sizes = BlockSizes::default();
            sizes.learn(&overwrite.name, &report(done, overwrite.block));
            assert_eq!(sizes.operations(overwrite, &data), Some(operations));
            assert_eq!(BlockSizes::cycles(overwrite, &data, operations), cycles);
        }
    }
}
