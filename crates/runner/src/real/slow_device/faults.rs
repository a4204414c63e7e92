//! Which requests of a slow device get an error in place of an answer. Does no IO.

use super::command::{DeviceError, Fault, Operation};

/// The faults that hold, the oldest first.
#[derive(Debug, Default)]
pub struct Faults(Vec<Fault>);

impl Faults {
    /// One more, from the next request on.
    pub fn add(&mut self, fault: Fault) {
        self.0.push(fault);
    }

    /// None any more.
    pub fn heal(&mut self) {
        self.0.clear();
    }

    /// The error that a request gets, of the oldest fault that it falls under; counts it there.
    pub fn error_of(&mut self, operation: Operation, offset: u64, bytes: u64) -> Option<DeviceError> {
        let touches = |fault: &Fault| {
            fault.operation == operation
                && fault
                    .bytes
                    .as_ref()
                    .is_none_or(|range| offset < range.end && range.start < offset.saturating_add(bytes))
        };
        let index = self.0.iter().position(touches)?;
        let fault = self.0.get_mut(index)?;
        let error = fault.error;
        if let Some(times) = &mut fault.times {
            *times = times.saturating_sub(1);
            if *times == 0 {
                self.0.remove(index);
            }
        }
        Some(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::Range;

    fn fault(
        operation: Operation,
        error: DeviceError,
        times: Option<u64>,
        bytes: Option<Range<u64>>,
    ) -> Fault {
        Fault { operation, error, times, bytes }
    }

    #[test]
    fn a_fault_holds_for_its_operation_until_it_is_healed() {
        let mut faults = Faults::default();
        assert_eq!(faults.error_of(Operation::Read, 0, 4096), None);
        faults.add(fault(Operation::Read, DeviceError::Eio, None, None));
        for offset in [0, 1 << 40] {
            assert_eq!(faults.error_of(Operation::Read, offset, 4096), Some(DeviceError::Eio));
            assert_eq!(faults.error_of(Operation::Write, offset, 4096), None);
            assert_eq!(faults.error_of(Operation::Fsync, 0, 0), None);
        }
        faults.heal();
        assert_eq!(faults.error_of(Operation::Read, 0, 4096), None);
    }

    #[test]
    fn a_fault_of_the_next_requests_is_used_up_and_gives_way_to_the_one_after_it() {
        let mut faults = Faults::default();
        faults.add(fault(Operation::Write, DeviceError::Eio, Some(2), None));
        faults.add(fault(Operation::Write, DeviceError::Enospc, Some(1), None));
        let mut ends = || faults.error_of(Operation::Write, 0, 1);
        let eio = Some(DeviceError::Eio);
        assert_eq!([ends(), ends(), ends(), ends()], [eio, eio, Some(DeviceError::Enospc), None]);
    }

    #[test]
    fn a_fault_of_a_range_is_of_requests_that_touch_it() {
        let mut faults = Faults::default();
        faults.add(fault(Operation::Read, DeviceError::Eio, None, Some(4096..8192)));
        let mut fails = |offset, bytes| faults.error_of(Operation::Read, offset, bytes).is_some();
        assert!(!fails(0, 4096) && !fails(8192, 4096));
        assert!(fails(0, 4097) && fails(8191, 1) && fails(0, 1 << 20) && fails(5000, 1));
    }
}
