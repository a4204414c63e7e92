//! The measuring loop of one thread: operation after operation until the block ends, each with its latency.

use crate::clock;
use crate::latency::Recorder;
use crate::operation::{Operate, OperationError};
use crate::pace::Schedule;
use model::units::Nanos;
use model::wire::BlockLimit;

/// What one thread did in one block.
#[derive(Debug, Clone)]
pub struct ThreadBlock {
    /// When it began.
    pub start: Nanos,
    /// When it ended.
    pub end: Nanos,
    /// Completed operations.
    pub operations: u64,
    /// Operations with an error or a wrong answer.
    pub failed_operations: u64,
    /// The first of them.
    pub first_error: Option<String>,
}

/// How a thread runs its blocks.
pub struct Manner {
    /// The schedule of an open loop; a closed loop where absent.
    pub schedule: Option<Schedule>,
    /// Test hook: CPU burnt after each operation, in percent of the operation's time.
    pub planted_slowdown_percent: f64,
}

/// An operation with its measuring loop. The loop is compiled once per operation, so that calls inside it
/// are direct.
pub trait BlockRunner: Send {
    /// Runs one block.
    fn run(&mut self, limit: BlockLimit, manner: &Manner, recorder: &mut Recorder) -> ThreadBlock;
}

impl<O: Operate> BlockRunner for O {
    fn run(&mut self, limit: BlockLimit, manner: &Manner, recorder: &mut Recorder) -> ThreadBlock {
        match &manner.schedule {
            None => closed_loop(self, limit, manner, recorder),
            Some(schedule) => open_loop(self, limit, manner, schedule, recorder),
        }
    }
}

/// Each operation starts when the one before it ended, so one clock reading serves both.
fn closed_loop<O: Operate>(
    operation: &mut O,
    limit: BlockLimit,
    manner: &Manner,
    recorder: &mut Recorder,
) -> ThreadBlock {
    let mut tally = Tally::begin();
    let (deadline, most) = bounds(limit, tally.start);
    let mut burner = Burner::new(manner.planted_slowdown_percent);
    let mut now = tally.start;
    while now < deadline && tally.tried < most {
        let result = operation.once();
        let done = clock::now();
        if !tally.count(result) {
            break;
        }
        recorder.record(done.saturating_sub(now));
        now = burner.after(done, done.saturating_sub(now));
    }
    tally.end(now)
}

/// Operations start when they are due, or as soon as possible after; latency counts from when they were due.
fn open_loop<O: Operate>(
    operation: &mut O,
    limit: BlockLimit,
    manner: &Manner,
    schedule: &Schedule,
    recorder: &mut Recorder,
) -> ThreadBlock {
    clock::make_timers_exact();
    let mut tally = Tally::begin();
    let (deadline, most) = bounds(limit, tally.start);
    let mut burner = Burner::new(manner.planted_slowdown_percent);
    let mut now = tally.start;
    loop {
        let due = schedule.due(tally.start, tally.tried);
        if due >= deadline || tally.tried >= most {
            break;
        }
        if due > now {
            clock::sleep_until(due);
        }
        let began = clock::now();
        let result = operation.once();
        let done = clock::now();
        if !tally.count(result) {
            break;
        }
        recorder.record(done.saturating_sub(due));
        now = burner.after(done, done.saturating_sub(began));
    }
    tally.end(now)
}

fn bounds(limit: BlockLimit, start: Nanos) -> (Nanos, u64) {
    match limit {
        BlockLimit::Time { wall } => (start + wall, u64::MAX),
        BlockLimit::Operations { count } => (Nanos(u64::MAX), count),
    }
}

/// The counts of a block while it runs.
struct Tally {
    start: Nanos,
    tried: u64,
    failed: u64,
    first_error: Option<String>,
}

impl Tally {
    fn begin() -> Tally {
        Tally { start: clock::now(), tried: 0, failed: 0, first_error: None }
    }

    /// Counts a result; false where there is nothing left to do.
    #[inline]
    fn count(&mut self, result: Result<(), OperationError>) -> bool {
        match result {
            Ok(()) => {
                self.tried += 1;
                true
            }
            Err(error) => self.count_error(&error),
        }
    }

    #[cold]
    fn count_error(&mut self, error: &OperationError) -> bool {
        if matches!(error, OperationError::Exhausted) {
            return false;
        }
        self.tried += 1;
        self.failed += 1;
        if self.first_error.is_none() {
            self.first_error = Some(error.to_string());
        }
        true
    }

    fn end(self, end: Nanos) -> ThreadBlock {
        ThreadBlock {
            start: self.start,
            end,
            operations: self.tried - self.failed,
            failed_operations: self.failed,
            first_error: self.first_error,
        }
    }
}

/// The planted slowdown: a share of each operation's time, burnt in portions that the clock can measure.
struct Burner {
    share: f64,
    owed_ns: f64,
}

impl Burner {
    /// Below this, reading the clock would itself be most of what is burnt.
    const SMALLEST_PORTION_NS: f64 = 2_000.0;

    fn new(percent: f64) -> Burner {
        Burner { share: percent / 100.0, owed_ns: 0.0 }
    }

    /// Burns what is owed after an operation that ended at `done`; returns the time after that.
    #[inline]
    fn after(&mut self, done: Nanos, operation: Nanos) -> Nanos {
        if self.share <= 0.0 {
            return done;
        }
        self.burn(done, operation)
    }

    #[cold]
    fn burn(&mut self, done: Nanos, operation: Nanos) -> Nanos {
        self.owed_ns += operation.0 as f64 * self.share;
        if self.owed_ns < Self::SMALLEST_PORTION_NS {
            return done;
        }
        let mut now = done;
        while ((now.0 - done.0) as f64) < self.owed_ns {
            std::hint::spin_loop();
            now = clock::now();
        }
        self.owed_ns -= (now.0 - done.0) as f64;
        now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Succeeds, but for every tenth time; has `left` operations.
    struct Countdown {
        left: u64,
        calls: u64,
    }

    impl Operate for Countdown {
        fn once(&mut self) -> Result<(), OperationError> {
            if self.left == 0 {
                return Err(OperationError::Exhausted);
            }
            self.left -= 1;
            self.calls += 1;
            if self.calls.is_multiple_of(10) {
                return Err(OperationError::WrongAnswer("tenth".to_owned()));
            }
            Ok(())
        }
    }

    fn run(left: u64, limit: BlockLimit, schedule: Option<Schedule>) -> (ThreadBlock, u64) {
        let mut recorder = Recorder::new();
        let manner = Manner { schedule, planted_slowdown_percent: 0.0 };
        let block = Countdown { left, calls: 0 }.run(limit, &manner, &mut recorder);
        (block, recorder.summary().count)
    }

    #[test]
    fn a_block_of_operations_has_just_as_many_and_counts_the_wrong_ones() {
        let (block, recorded) = run(1000, BlockLimit::Operations { count: 100 }, None);
        assert_eq!((block.operations, block.failed_operations, recorded), (90, 10, 100));
        assert_eq!(block.first_error.as_deref(), Some("wrong answer: tenth"));
        assert!(block.end >= block.start);
    }

    #[test]
    fn a_fill_that_runs_out_of_keys_ends_its_block() {
        let (block, recorded) = run(5, BlockLimit::Operations { count: 100 }, None);
        assert_eq!((block.operations, recorded), (5, 5));
    }

    #[test]
    fn a_block_of_time_ends_by_the_clock() {
        let wall = Nanos::from_millis(2);
        let (block, _) = run(u64::MAX, BlockLimit::Time { wall }, None);
        assert!(block.end.saturating_sub(block.start) >= wall);
        assert!(block.operations > 0);
    }

    #[test]
    fn an_open_loop_keeps_its_rate() {
        let schedule = Schedule::new(10_000.0, 1, 0);
        let (block, _) = run(u64::MAX, BlockLimit::Time { wall: Nanos::from_millis(20) }, Some(schedule));
        assert_eq!(block.operations + block.failed_operations, 200);
    }

    #[test]
    fn the_planted_slowdown_costs_its_share() {
        let mut burner = Burner::new(50.0);
        let start = clock::now();
        let mut now = start;
        for _ in 0..100 {
            now = burner.after(now, Nanos(10_000));
        }
        let burnt = now.saturating_sub(start).0 as f64;
        assert!((burnt + burner.owed_ns - 500_000.0).abs() < 1.0, "{burnt}, {} owed", burner.owed_ns);
    }
}
