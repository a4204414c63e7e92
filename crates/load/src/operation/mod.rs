//! One operation of each kind, with its answer checked: a fast wrong answer is an error. Those against RocksDB are
//! here, those against SQL servers in `crate::sql`.

mod build_files;
mod compact;
mod get;
mod iterate;
mod multi_get;
mod put;

pub use crate::foreground::BlockRunner;
pub use iterate::scan;
pub use put::Put;

use crate::beside::{Followed, Told};
use crate::keys::{Stream, below, generator};
use crate::rocksdb::database::{Database, EngineError};
use crate::sql::rows::TableRows;
use crate::sql::tables::{TableLoad, TableWork};
use crate::sql::transaction::Client;
use crate::sql::{Retries, SqlError};
use build_files::BuildFiles;
use compact::Compact;
use get::Get;
use iterate::{Seek, Sequential};
use model::address::ServerAddress;
use model::causes::with_causes;
use model::wire::StepSetup;
use model::workload::Operation;
use model::workload::sql::Tables;
use multi_get::MultiGet;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

/// Why an operation did not complete.
#[derive(Debug, thiserror::Error)]
pub enum OperationError {
    /// Every key of a fill has been written, every entry of a pass read: no error of the engine.
    #[error("nothing is left to do")]
    Exhausted,
    /// The engine returned an error.
    #[error("{0}")]
    Engine(#[from] EngineError),
    /// The engine returned without an error, and wrongly.
    #[error("wrong answer: {0}")]
    WrongAnswer(String),
    /// The engine lacks what the operation needs.
    #[error("{0}")]
    NotSupported(String),
    /// A SQL server refused, or is gone.
    #[error(transparent)]
    Sql(#[from] Box<SqlError>),
}

impl OperationError {
    /// Whether no further operation can succeed.
    pub fn ends_block(&self) -> bool {
        match self {
            OperationError::Exhausted => true,
            OperationError::Sql(error) => error.is_lost(),
            OperationError::Engine(_) | OperationError::WrongAnswer(_) | OperationError::NotSupported(_) => {
                false
            }
        }
    }

    /// The error and all that caused it, in one line.
    pub fn with_causes(&self) -> String {
        with_causes(self)
    }
}

/// What a step runs against.
#[derive(Clone)]
pub enum Target {
    /// An open database of RocksDB.
    Database(Arc<Database>),
    /// A SQL server; each thread has its own connection.
    Server(Arc<ServerAddress>),
}

/// Something that can be done over and over.
pub trait Operate: Send {
    /// Operations that one call counts as, also where it fails.
    fn per_call(&self) -> u64 {
        1
    }

    /// Does it once; gives how many of its operations found their key, which means nothing where it writes.
    fn once(&mut self) -> Result<u64, OperationError>;

    /// How often it was done again since this was asked last, because a server wanted that.
    fn take_retries(&mut self) -> Retries {
        Retries::default()
    }

    /// A block is over.
    fn block_ended(&mut self) {}

    /// See [`BlockRunner::shared_cpu`].
    fn shared_cpu(&self) -> Option<usize> {
        None
    }
}

/// What the threads of a step's streams have to do with each other.
#[derive(Default)]
pub struct Company {
    /// The rows of each table; empty where nobody asks.
    pub rows: Arc<Vec<TableRows>>,
    /// What is left to load of each table; empty in every other step.
    pub loads: Arc<Vec<TableLoad>>,
    /// Threads of other streams that follow this one.
    pub followers: Vec<SyncSender<Told>>,
    /// The CPU that the thread stays on, and with it the server's thread that serves it.
    pub cpu: Option<usize>,
}

/// The foreground operation of one thread. An error where it cannot be made ready: a server refuses the connection or a
/// statement, a library lacks a codec.
pub fn foreground(
    target: &Target,
    setup: &StepSetup,
    thread: u32,
    company: Company,
) -> Result<Box<dyn BlockRunner>, OperationError> {
    match target {
        Target::Database(database) => of_database(database, setup, thread),
        Target::Server(address) => of_server(address, setup, thread, company),
    }
}

fn of_server(
    address: &ServerAddress,
    setup: &StepSetup,
    thread: u32,
    company: Company,
) -> Result<Box<dyn BlockRunner>, OperationError> {
    let tables = tables_of(setup).map_err(Box::new)?;
    Ok(match &setup.operation {
        Operation::Transaction(transaction) => {
            let Company { rows, loads: _, followers, cpu } = company;
            let mut client =
                Client::new(address, tables, transaction, setup, thread, rows).map_err(Box::new)?;
            if let Some(cpu) = cpu {
                client.keep_server_on(cpu).map_err(Box::new)?;
            }
            if followers.is_empty() {
                Box::new(client)
            } else {
                Box::new(Followed { operation: client, followers })
            }
        }
        Operation::LoadTables => {
            Box::new(TableWork::load(address, tables, setup, thread, company.loads).map_err(Box::new)?)
        }
        Operation::BuildIndexes => {
            Box::new(TableWork::index(address, tables, setup, thread).map_err(Box::new)?)
        }
        operation => return Err(Box::new(not_on_a_server(operation)).into()),
    })
}

fn tables_of(setup: &StepSetup) -> Result<&Tables, SqlError> {
    setup
        .tables
        .as_ref()
        .ok_or_else(|| SqlError::Workload("the step is for a SQL server and has no tables".to_owned()))
}

fn not_on_a_server(operation: &Operation) -> SqlError {
    SqlError::NotSupported(format!(
        "a SQL server has no operation {operation:?}; its steps are transactions and loads"
    ))
}

fn of_database(
    database: &Arc<Database>,
    setup: &StepSetup,
    thread: u32,
) -> Result<Box<dyn BlockRunner>, OperationError> {
    database.set_perf_level(setup.perf_level);
    let keys = setup.operation.keys_drawn(setup.data.keys);
    let random = generator(setup.seed, Stream::Foreground(thread));
    Ok(match &setup.operation {
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
            Box::new(MultiGet::new(database, setup, NextKey::Uniform { random, keys }, *batch))
        }
        Operation::ReadSequential { one_pass } => Box::new(Sequential::new(database, setup, *one_pass)),
        Operation::SeekRandom { nexts, direction, among_keys: _ } => {
            let next = NextKey::Uniform { random, keys };
            let range = iterate::Range { nexts: *nexts, direction: *direction };
            Box::new(Seek::new(database, setup, next, range))
        }
        Operation::BuildFiles { codec, file } => Box::new(BuildFiles::new(database, setup, *codec, *file)?),
        Operation::Compact => Box::new(Compact::new(database)),
        Operation::Settle => unreachable!("a step that only settles is refused before it has threads"),
        Operation::LoadTables
        | Operation::BuildIndexes
        | Operation::Transaction(_)
        | Operation::LayOutFile
        | Operation::Fio(_) => {
            unreachable!("a step of SQL servers or of fio is refused before it has threads")
        }
    })
}

/// The function of the engine that an operation calls, where releases differ in it.
pub fn api_of(target: &Target, operation: &Operation) -> Option<&'static str> {
    match (target, operation) {
        (Target::Database(database), Operation::MultiRead { .. }) => Some(multi_get::function_name(database)),
        _ => None,
    }
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
