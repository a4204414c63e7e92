//! One operation of each kind against RocksDB, with its answer checked: a fast wrong answer is an error.

mod compact;
mod get;
mod iterate;
mod multi_get;
mod put;

pub use crate::foreground::BlockRunner;
pub use iterate::scan;
pub use put::Put;

use crate::keys::{Stream, below, generator};
use crate::rocksdb::database::{Database, EngineError};
use compact::Compact;
use get::Get;
use iterate::{Seek, Sequential};
use model::wire::StepSetup;
use model::workload::Operation;
use multi_get::MultiGet;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::Arc;

/// Why an operation did not complete.
#[derive(Debug, thiserror::Error)]
pub enum OperationError {
    /// Every key of a fill has been written: no error of the engine.
    #[error("all keys are written")]
    Exhausted,
    /// The engine returned an error.
    #[error("{0}")]
    Engine(#[from] EngineError),
    /// The engine returned without an error, and wrongly.
    #[error("wrong answer: {0}")]
    WrongAnswer(String),
}

/// Something that can be done over and over.
pub trait Operate: Send {
    /// Operations that one call counts as, also where it fails.
    fn per_call(&self) -> u64 {
        1
    }

    /// Does it once; gives how many of its operations found their key, which means nothing where it writes.
    fn once(&mut self) -> Result<u64, OperationError>;
}

/// The foreground operation of one thread.
pub fn foreground(database: &Arc<Database>, setup: &StepSetup, thread: u32) -> Box<dyn BlockRunner> {
    let keys = setup.data.keys;
    let random = generator(setup.seed, Stream::Foreground(thread));
    match setup.operation {
        Operation::FillSequential => {
            let next = NextKey::Sequential { next: 0, end: keys };
            Box::new(Put::new(database, setup, next))
        }
        Operation::FillRandom => {
            let left = share_of(keys, u64::from(thread), u64::from(setup.threads));
            Box::new(Put::new(database, setup, NextKey::Limited { random, keys, left }))
        }
        Operation::Overwrite => Box::new(Put::new(database, setup, NextKey::Uniform { random, keys })),
        Operation::ReadRandom => Box::new(Get::new(database, setup, NextKey::Uniform { random, keys })),
        Operation::MultiRead { batch } => {
            Box::new(MultiGet::new(database, setup, NextKey::Uniform { random, keys }, batch))
        }
        Operation::ReadSequential => Box::new(Sequential::new(database, setup)),
        Operation::SeekRandom { nexts, direction } => {
            let next = NextKey::Uniform { random, keys };
            Box::new(Seek::new(database, setup, next, iterate::Range { nexts, direction }))
        }
        Operation::Compact => Box::new(Compact::new(database)),
        Operation::Settle => unreachable!("a step that only settles is refused before it has threads"),
    }
}

/// The function of the engine that an operation calls, where releases differ in it.
pub fn api_of(database: &Database, operation: Operation) -> Option<&'static str> {
    matches!(operation, Operation::MultiRead { .. }).then(|| multi_get::function_name(database))
}

/// The background writer: overwrites of its own key stream.
pub fn background_put(database: &Arc<Database>, setup: &StepSetup) -> Put {
    let random = generator(setup.seed, Stream::BackgroundWriter);
    Put::new(database, setup, NextKey::Uniform { random, keys: setup.data.keys })
}

/// The part of a number that falls to one of `count` threads.
pub fn share_of(number: u64, index: u64, count: u64) -> u64 {
    number / count + u64::from(index < number % count)
}

/// Which key comes next.
enum NextKey {
    Sequential {
        next: u64,
        end: u64,
    },
    Uniform {
        random: Xoshiro256PlusPlus,
        keys: u64,
    },
    /// Uniform, with replacement, and not more than `left` of them.
    Limited {
        random: Xoshiro256PlusPlus,
        keys: u64,
        left: u64,
    },
}

impl NextKey {
    #[inline]
    fn take(&mut self) -> Option<u64> {
        match self {
            NextKey::Sequential { next, end } => {
                let number = *next;
                (number < *end).then(|| {
                    *next += 1;
                    number
                })
            }
            NextKey::Uniform { random, keys } => Some(below(random, *keys)),
            NextKey::Limited { random, keys, left } => {
                *left = left.checked_sub(1)?;
                Some(below(random, *keys))
            }
        }
    }
}

#[cold]
fn missing(number: u64) -> OperationError {
    OperationError::WrongAnswer(format!("key {number} was not found, though it was written"))
}

#[cold]
fn wrong_length(number: u64, found: usize, expected: usize) -> OperationError {
    OperationError::WrongAnswer(format!("at key {number} a value has {found} bytes, {expected} were written"))
}

#[cfg(test)]
mod tests;
