//! The measuring loop of one thread: operation after operation until the block ends, each with its latency.

use crate::beside::Turns;
use crate::clock;
use crate::latency::Recorder;
use crate::operation::{Operate, OperationError};
use crate::pace::{Alarm, Schedule};
use crate::planted::Slowdown;
use crate::seconds::{SecondCounts, Seconds};
use crate::sql::Retries;
use model::units::Nanos;
use model::wire::BlockLimit;

/// What one thread did in one block.
#[derive(Debug, Clone)]
pub struct ThreadBlock {
    pub start: Nanos,
    pub end: Nanos,
    pub operations: u64,
    /// Operations with an error or a wrong answer.
    pub failed_operations: u64,
    /// Operations whose key was there.
    pub found: u64,
    pub first_error: Option<String>,
    /// Whether that, or a later one, was the end of a connection, after which nothing can be done.
    pub lost: bool,
    /// How often operations were done again because a server wanted that.
    pub retries: Retries,
    /// By how much operations began after they were due, in an open loop.
    pub lags: Option<Recorder>,
}

/// When operations begin.
pub enum Pace {
    /// When the one before has ended: a closed loop.
    Closed,
    /// When they are due, or as soon as possible after: an open loop.
    Open(Schedule, Alarm),
    /// Beside another step, as long as that one's block lasts.
    Beside(Turns),
}

/// How a thread runs its blocks.
pub struct Manner {
    pub pace: Pace,
    /// Test hook.
    pub planted: Slowdown,
}

/// Who is told of each second of a block, where anybody is.
pub type TellSecond<'a> = Option<&'a mut dyn FnMut(SecondCounts)>;

/// An operation with its measuring loop. The loop is compiled once per operation, so that calls inside it
/// are direct.
pub trait BlockRunner: Send {
    /// Runs one block. One that ends by its number of operations ends with the call that reaches it: a call of
    /// several operations is not cut.
    fn run(
        &mut self,
        limit: BlockLimit,
        manner: &mut Manner,
        recorder: &mut Recorder,
        tell: TellSecond<'_>,
    ) -> ThreadBlock;

    /// The CPU that the thread shares with the server's thread that serves it; none where each is where the kernel
    /// puts it, and where no server is.
    fn shared_cpu(&self) -> Option<usize> {
        None
    }
}

impl<O: Operate> BlockRunner for O {
    fn run(
        &mut self,
        limit: BlockLimit,
        manner: &mut Manner,
        recorder: &mut Recorder,
        tell: TellSecond<'_>,
    ) -> ThreadBlock {
        let seconds = Seconds::new(recorder, tell);
        let planted = &mut manner.planted;
        let block = match &mut manner.pace {
            Pace::Closed => closed_loop(self, limit, planted, recorder, seconds),
            Pace::Open(schedule, alarm) => {
                open_loop(self, limit, planted, (schedule, alarm), recorder, seconds)
            }
            Pace::Beside(turns) => beside(self, turns, recorder, seconds),
        };
        self.block_ended();
        ThreadBlock { retries: self.take_retries(), ..block }
    }

    fn shared_cpu(&self) -> Option<usize> {
        Operate::shared_cpu(self)
    }
}

/// Each operation starts when the one before it ended, so one clock reading serves both; and one comparison
/// serves the end of the block and that of a second.
fn closed_loop<O: Operate>(
    operation: &mut O,
    limit: BlockLimit,
    planted: &mut Slowdown,
    recorder: &mut Recorder,
    mut seconds: Seconds<'_>,
) -> ThreadBlock {
    let mut tally = Tally::begin(operation.per_call());
    seconds.begin(tally.start, limit);
    let (deadline, most) = bounds(limit, tally.start);
    let mut now = tally.start;
    'block: while now < deadline {
        let pause = deadline.min(seconds.end());
        let (result, latency) = loop {
            if tally.tried >= most {
                break 'block;
            }
            let result = operation.once();
            let done = clock::now();
            let latency = done.saturating_sub(now);
            now = planted.after(done, latency);
            if now >= pause {
                break (result, latency);
            }
            if !tally.count(result) {
                break 'block;
            }
            recorder.record(latency);
        };
        // The operation that went over the end of a second is counted in the one in which it ended.
        seconds.tell_until(now, tally.completed(), recorder);
        if !tally.count(result) {
            break;
        }
        recorder.record(latency);
    }
    seconds.tell_rest(tally.completed(), recorder);
    tally.end(now)
}

/// Operations start when they are due, or as soon as possible after; latency counts from when they were due.
fn open_loop<O: Operate>(
    operation: &mut O,
    limit: BlockLimit,
    planted: &mut Slowdown,
    (schedule, alarm): (&Schedule, &mut Alarm),
    recorder: &mut Recorder,
    mut seconds: Seconds<'_>,
) -> ThreadBlock {
    clock::make_timers_exact();
    // Before the block begins: its counts are a quarter of a megabyte to allocate.
    let mut lags = Recorder::new();
    let mut tally = Tally::begin(operation.per_call());
    seconds.begin(tally.start, limit);
    let (deadline, most) = bounds(limit, tally.start);
    let mut now = tally.start;
    loop {
        let due = schedule.due(tally.start, tally.tried);
        if due >= deadline || tally.tried >= most {
            break;
        }
        while due >= seconds.end() {
            // A second in which nothing more is due is told when it is over, not when the next operation is.
            let end = seconds.end();
            clock::sleep_until(end);
            seconds.tell_until(end, tally.completed(), recorder);
        }
        if due > now {
            alarm.wait_until(due);
        }
        let began = clock::now();
        let result = operation.once();
        let done = clock::now();
        now = planted.after(done, done.saturating_sub(began));
        if now >= seconds.end() {
            seconds.tell_until(now, tally.completed(), recorder);
        }
        if !tally.count(result) {
            break;
        }
        recorder.record(done.saturating_sub(due));
        lags.record(began.saturating_sub(due));
    }
    seconds.tell_rest(tally.completed(), recorder);
    ThreadBlock { lags: Some(lags), ..tally.end(now) }
}

/// Operations begin at their turns, until there is none any more; latency counts from the turn.
fn beside<O: Operate>(
    operation: &mut O,
    turns: &mut Turns,
    recorder: &mut Recorder,
    mut seconds: Seconds<'_>,
) -> ThreadBlock {
    clock::make_timers_exact();
    let mut lags = Recorder::new();
    let mut tally = Tally::begin(operation.per_call());
    seconds.begin(tally.start, BlockLimit::Operations { count: u64::MAX });
    while let Some(due) = turns.next(tally.start, tally.per_call) {
        let began = clock::now();
        let result = operation.once();
        let done = clock::now();
        if done >= seconds.end() {
            seconds.tell_until(done, tally.completed(), recorder);
        }
        if !tally.count(result) {
            turns.give_up();
            break;
        }
        recorder.record(done.saturating_sub(due));
        lags.record(began.saturating_sub(due));
    }
    let end = clock::now();
    turns.block_ended(tally.start, end);
    seconds.tell_until(end, tally.completed(), recorder);
    seconds.tell_rest(tally.completed(), recorder);
    ThreadBlock { lags: Some(lags), ..tally.end(end) }
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
    /// Operations that one call counts as.
    per_call: u64,
    tried: u64,
    failed: u64,
    found: u64,
    first_error: Option<String>,
    lost: bool,
}

impl Tally {
    fn begin(per_call: u64) -> Tally {
        Tally { start: clock::now(), per_call, tried: 0, failed: 0, found: 0, first_error: None, lost: false }
    }

    fn completed(&self) -> u64 {
        self.tried - self.failed
    }

    /// Counts a result; false where there is nothing left to do.
    #[inline]
    fn count(&mut self, result: Result<u64, OperationError>) -> bool {
        match result {
            Ok(found) => {
                self.tried += self.per_call;
                self.found += found;
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
        self.tried += self.per_call;
        self.failed += self.per_call;
        if self.first_error.is_none() {
            self.first_error = Some(error.with_causes());
        }
        if error.ends_block() {
            self.lost = true;
            self.first_error = Some(error.with_causes());
        }
        !self.lost
    }

    fn end(self, end: Nanos) -> ThreadBlock {
        ThreadBlock {
            start: self.start,
            end,
            operations: self.completed(),
            failed_operations: self.failed,
            found: self.found,
            first_error: self.first_error,
            lost: self.lost,
            retries: Retries::default(),
            lags: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Succeeds, but for every tenth time; has `left` calls, each of them `per_call` operations. One of them takes
    /// much longer than the others, where it is to.
    struct Countdown {
        left: u64,
        calls: u64,
        per_call: u64,
        long_call: Option<(u64, Nanos)>,
    }

    impl Operate for Countdown {
        fn per_call(&self) -> u64 {
            self.per_call
        }

        fn once(&mut self) -> Result<u64, OperationError> {
            if self.left == 0 {
                return Err(OperationError::Exhausted);
            }
            self.left -= 1;
            self.calls += 1;
            if self.calls.is_multiple_of(10) {
                return Err(OperationError::WrongAnswer("tenth".to_owned()));
            }
            if let Some((call, length)) = self.long_call
                && self.calls == call
            {
                clock::sleep_until(clock::now() + length);
            }
            Ok(self.per_call - 1)
        }
    }

    fn countdown(left: u64) -> Countdown {
        Countdown { left, calls: 0, per_call: 1, long_call: None }
    }

    fn run(left: u64, limit: BlockLimit, schedule: Option<Schedule>) -> (ThreadBlock, u64) {
        let mut recorder = Recorder::new();
        let mut manner = Manner {
            pace: schedule.map_or(Pace::Closed, |schedule| Pace::Open(schedule, Alarm::default())),
            planted: Slowdown::none(),
        };
        let block = countdown(left).run(limit, &mut manner, &mut recorder, None);
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
    fn a_call_of_several_operations_counts_as_them_and_is_recorded_once() {
        let mut recorder = Recorder::new();
        let mut manner = Manner { pace: Pace::Closed, planted: Slowdown::none() };
        let mut batches = Countdown { per_call: 8, ..countdown(100) };
        let block = batches.run(BlockLimit::Operations { count: 90 }, &mut manner, &mut recorder, None);
        assert_eq!((block.operations, block.failed_operations, block.found), (88, 8, 77));
        assert_eq!(recorder.summary().count, 12);
    }

    /// The seconds, of a fifth of their length, that a block told: operations and recorded calls of each.
    fn told(mut operation: Countdown, limit: BlockLimit, rate: Option<f64>) -> Vec<(u64, u64)> {
        let mut recorder = Recorder::new();
        recorder.record(Nanos(1));
        let mut told = Vec::new();
        let mut tell = |second: SecondCounts| told.push((second.operations, second.latency.count()));
        let seconds = Seconds::new(&recorder, Some(&mut tell)).lasting(Nanos::from_millis(200));
        let block = match rate.map(|rate| Schedule::new(rate, 1, 0)) {
            None => closed_loop(&mut operation, limit, &mut Slowdown::none(), &mut recorder, seconds),
            Some(schedule) => open_loop(
                &mut operation,
                limit,
                &mut Slowdown::none(),
                (&schedule, &mut Alarm::default()),
                &mut recorder,
                seconds,
            ),
        };
        assert_eq!(told.iter().map(|(operations, _)| operations).sum::<u64>(), block.operations);
        assert_eq!(told.iter().map(|(_, recorded)| recorded).sum::<u64>(), recorder.summary().count - 1);
        told
    }

    #[test]
    fn the_seconds_of_a_closed_loop_have_all_its_operations() {
        let wall = Nanos::from_millis(210);
        let stalled = Countdown { long_call: Some((5, Nanos::from_millis(205))), ..countdown(u64::MAX) };
        let seconds = told(stalled, BlockLimit::Time { wall }, None);
        assert!(seconds.len() >= 2, "{seconds:?}");
        assert_eq!(seconds[0], (4, 4), "the fifth ended in the next second");
        let seconds = told(countdown(50), BlockLimit::Operations { count: 1000 }, None);
        assert_eq!(seconds, [(45, 50)], "a second that is cut is told");
    }

    #[test]
    fn the_seconds_of_an_open_loop_have_all_its_operations() {
        let wall = Nanos::from_millis(300);
        let seconds = told(countdown(u64::MAX), BlockLimit::Time { wall }, Some(50.0));
        assert_eq!(seconds.iter().map(|(_, recorded)| recorded).sum::<u64>(), 15);
        assert!(seconds.len() >= 2, "{seconds:?}");
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
        let lags = block.lags.unwrap();
        assert!(lags.summary().count == 200 && lags.lag().p50 <= lags.lag().max, "{:?}", lags.lag());
    }
}
