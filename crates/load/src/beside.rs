//! Streams that run beside a step, as long as its block lasts: on a schedule of their own, one event after each
//! event of another stream, or as fast as the server answers.

use crate::clock;
use crate::operation::{Operate, OperationError};
use crate::pace::Schedule;
use crate::sql::Retries;
use model::units::Nanos;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError};

/// A stream is at most this many events behind the one that it follows, which then waits: as the queues of the Insert
/// Benchmark hold.
pub const FARTHEST_BEHIND: usize = 8;

/// What a stream tells the one that follows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// It has done an event.
    Event,
    /// Its block is over.
    End,
}

/// When a thread of a companion has its turns.
#[derive(Debug)]
pub enum Turns {
    /// By a schedule, until it is told that the block is over.
    Paced {
        /// The schedule, over the time of all blocks. An event is in the middle of its interval, so that neither end of the
        /// whole time has one too many.
        schedule: Schedule,
        /// Says that the block is over.
        ended: Receiver<()>,
        /// Operations since the step began.
        operations: u64,
        /// Time of the blocks that are over.
        ran: Nanos,
    },
    /// After each event of another stream's thread.
    Following(Receiver<Told>),
    /// One after another, until it is told that the block is over.
    Free { ended: Receiver<()> },
}

impl Turns {
    /// Waits for the next turn of a block that began at `start`; gives when it was due. None where the block is over.
    pub fn next(&mut self, start: Nanos, per_event: u64) -> Option<Nanos> {
        match self {
            Turns::Paced { schedule, ended, operations, ran } => {
                let due = start + schedule.due(Nanos(0), *operations + per_event / 2).saturating_sub(*ran);
                let now = clock::now();
                let over = if due > now {
                    let wait = std::time::Duration::from_nanos(due.saturating_sub(now).0);
                    !matches!(ended.recv_timeout(wait), Err(RecvTimeoutError::Timeout))
                } else {
                    !matches!(ended.try_recv(), Err(TryRecvError::Empty))
                };
                if over {
                    return None;
                }
                *operations += per_event;
                Some(due)
            }
            // Gone is the leader only with its whole step.
            Turns::Following(leader) => match leader.recv() {
                Ok(Told::Event) => Some(clock::now()),
                Ok(Told::End) | Err(_) => None,
            },
            Turns::Free { ended } => matches!(ended.try_recv(), Err(TryRecvError::Empty)).then(clock::now),
        }
    }

    /// No turn of this block is taken any more, though it may go on: a stream that is followed must not wait for this
    /// one.
    pub fn give_up(&mut self) {
        if let Turns::Following(leader) = self {
            while leader.recv() == Ok(Told::Event) {}
        }
    }

    /// The block that began at `start` is over.
    pub fn block_ended(&mut self, start: Nanos, end: Nanos) {
        match self {
            Turns::Paced { ran, .. } => *ran += end.saturating_sub(start),
            Turns::Following(_) | Turns::Free { .. } => {}
        }
    }
}

/// An operation that others follow.
pub struct Followed<O> {
    pub operation: O,
    /// Threads that follow it.
    pub followers: Vec<SyncSender<Told>>,
}

impl<O> Followed<O> {
    fn tell(&self, told: Told) {
        for follower in &self.followers {
            // A follower that has lost its connection says so itself at the end of the block.
            let _ = follower.send(told);
        }
    }
}

impl<O: Operate> Operate for Followed<O> {
    fn per_call(&self) -> u64 {
        self.operation.per_call()
    }

    #[inline]
    fn once(&mut self) -> Result<u64, OperationError> {
        let result = self.operation.once();
        if result.is_ok() {
            self.tell(Told::Event);
        }
        result
    }

    fn take_retries(&mut self) -> Retries {
        self.operation.take_retries()
    }

    fn block_ended(&mut self) {
        self.operation.block_ended();
        self.tell(Told::End);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn a_schedule_goes_on_over_blocks_that_are_shorter_than_its_interval() {
        let (end, ended) = channel();
        // An event of 50 operations each 20 ms, in blocks of 5 ms.
        let schedule = Schedule::new(2500.0, 1, 0);
        let mut turns = Turns::Paced { schedule, ended, operations: 0, ran: Nanos(0) };
        let mut events = 0;
        let mut ran = Nanos(0);
        for _ in 0..20 {
            let start = clock::now();
            let handle = {
                let end = end.clone();
                std::thread::spawn(move || {
                    clock::sleep_until(start + Nanos::from_millis(5));
                    end.send(()).unwrap();
                })
            };
            while turns.next(start, 50).is_some() {
                events += 1;
            }
            handle.join().unwrap();
            let stop = clock::now();
            turns.block_ended(start, stop);
            ran += stop.saturating_sub(start);
        }
        let expected = ran.0 as f64 / 20e6;
        assert!((f64::from(events) - expected).abs() <= 1.0, "{events} events where {expected} were due");
    }

    #[test]
    fn a_stream_that_is_followed_waits_for_nobody_who_gave_up() {
        let (follower, leader) = std::sync::mpsc::sync_channel(FARTHEST_BEHIND);
        let mut turns = Turns::Following(leader);
        let leading = std::thread::spawn(move || {
            for _ in 0..10 * FARTHEST_BEHIND {
                follower.send(Told::Event).unwrap();
            }
            follower.send(Told::End).unwrap();
            follower
        });
        assert!(turns.next(clock::now(), 1).is_some());
        turns.give_up();
        let follower = leading.join().unwrap();
        // The next block begins with a queue that is empty.
        follower.send(Told::End).unwrap();
        assert_eq!(turns.next(clock::now(), 1), None);
    }

    #[test]
    fn a_schedule_without_its_step_ends() {
        let (end, ended) = channel();
        let schedule = Schedule::new(0.001, 1, 0);
        let mut turns = Turns::Paced { schedule, ended, operations: 1, ran: Nanos(0) };
        drop(end);
        assert_eq!(turns.next(clock::now(), 1), None);
    }
}
