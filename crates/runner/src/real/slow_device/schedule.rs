//! When a request of a slow device is due: a queue that the bandwidth empties, then the latency. Reads no clock.

use super::command::Operation;
use model::loop_device::SlowDevice;
use model::units::{Micros, Nanos};

/// How slow the device is, and until when its queue is busy.
#[derive(Debug, Default)]
pub struct Schedule {
    slow: SlowDevice,
    /// When the last byte of the requests so far has passed the queue.
    busy_until: Nanos,
}

impl Schedule {
    /// From now on. What waits stays due when it was; the bytes that are in the queue are forgotten.
    pub fn set(&mut self, slow: SlowDevice) {
        *self = Schedule { slow, busy_until: Nanos(0) };
    }

    /// When a request that arrives now may be answered. A flush carries no bytes and waits for those that came before it.
    ///
    /// All times are since one moment.
    pub fn due(&mut self, arrival: Nanos, operation: Operation, bytes: u64) -> Nanos {
        let latency = match operation {
            Operation::Read => self.slow.read_latency_us,
            Operation::Write => self.slow.write_latency_us,
            Operation::Fsync => self.slow.fsync_latency_us,
        };
        let passed = match self.slow.bandwidth_bytes_per_s {
            Some(bandwidth) => {
                let takes = u128::from(bytes) * 1_000_000_000 / u128::from(bandwidth.0.max(1));
                let takes = Nanos(u64::try_from(takes).unwrap_or(u64::MAX));
                self.busy_until = self.busy_until.max(arrival) + takes;
                self.busy_until
            }
            None => arrival,
        };
        passed + latency.map(Micros::into).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::units::Bytes;

    fn schedule(slow: SlowDevice) -> Schedule {
        let mut schedule = Schedule::default();
        schedule.set(slow);
        schedule
    }

    fn at(us: u64) -> Nanos {
        Micros(us).into()
    }

    #[test]
    fn requests_wait_at_the_same_time_and_each_from_its_own_arrival() {
        let mut schedule =
            schedule(SlowDevice { read_latency_us: Some(Micros(2000)), ..SlowDevice::default() });
        for arrival in [0, 1, 1, 700] {
            assert_eq!(schedule.due(at(arrival), Operation::Read, 1 << 20), at(arrival + 2000));
        }
        assert_eq!(schedule.due(at(9), Operation::Write, 4096), at(9), "of writes nothing was said");
        assert_eq!(schedule.due(at(9), Operation::Fsync, 0), at(9));
    }

    #[test]
    fn bandwidth_is_a_queue_in_front_of_the_latency_that_all_share() {
        let slow = SlowDevice {
            read_latency_us: Some(Micros(100)),
            fsync_latency_us: Some(Micros(10)),
            bandwidth_bytes_per_s: Some(Bytes(1_000_000)),
            ..SlowDevice::default()
        };
        let mut schedule = schedule(slow);
        assert_eq!(schedule.due(at(50), Operation::Read, 1000), at(50 + 1000 + 100), "an idle device");
        assert_eq!(schedule.due(at(60), Operation::Write, 500), at(1050 + 500));
        assert_eq!(schedule.due(at(70), Operation::Fsync, 0), at(1550 + 10));
        assert_eq!(schedule.due(at(5000), Operation::Read, 1), at(5000 + 1 + 100), "it is idle again");
        assert_eq!(
            schedule.due(at(5000), Operation::Read, u64::MAX),
            Nanos(u64::MAX),
            "and never before others"
        );
    }

    #[test]
    fn what_is_set_holds_from_then_on() {
        let mut schedule =
            schedule(SlowDevice { bandwidth_bytes_per_s: Some(Bytes(1_000_000)), ..SlowDevice::default() });
        assert_eq!(schedule.due(at(0), Operation::Write, 10_000_000), at(10_000_000));
        schedule.set(SlowDevice { write_latency_us: Some(Micros(5)), ..SlowDevice::default() });
        assert_eq!(schedule.due(at(1), Operation::Write, 10_000_000), at(6));
    }
}
