//! The worker's main loop: one request per line in, one reply per line out, until `exit` or the end of the
//! input. It holds one library and one database at most.

use crate::heap;
use crate::operation::{self, OperationError};
use crate::rocksdb::api::{Api, LoadError};
use crate::rocksdb::database::{Database, EngineError, Options};
use crate::rocksdb::image::{ImagePlan, bulk_load};
use crate::rocksdb::nothing;
use crate::rocksdb::settle::{SettleError, settle};
use crate::step::{BlockOrder, RunningStep, ThreadGone};
use model::block::Second;
use model::units::Bytes;
use model::wire::{EngineText, FailureKind, Library, Reply, Request};
use model::workload::{DataSet, Operation};
use std::error::Error;
use std::io::{self, BufRead, Write};
use std::sync::Arc;

/// Serves requests from `input` until it ends.
pub fn serve(input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let mut worker = Worker::default();
    for line in input.lines() {
        let mut told = Ok(());
        let mut tell = |second| {
            if told.is_ok() {
                told = write(&mut output, &Reply::Second(second));
            }
        };
        let (reply, last) = match serde_json::from_str::<Request>(&line?) {
            Ok(Request::Exit) => (Reply::Bye { heap_peak: Bytes(heap::peak_bytes()) }, true),
            Ok(request) => (worker.answer(request, &mut tell).unwrap_or_else(WorkerError::into_reply), false),
            Err(error) => (failed(FailureKind::Protocol, &format!("not a request: {error}")), false),
        };
        told?;
        write(&mut output, &reply)?;
        if last {
            break;
        }
    }
    Ok(())
}

fn write(output: &mut impl Write, reply: &Reply) -> io::Result<()> {
    serde_json::to_writer(&mut *output, reply)?;
    output.write_all(b"\n")?;
    output.flush()
}

/// What a worker has at a moment.
#[derive(Default)]
struct Worker {
    engine: Option<Engine>,
    step: Option<RunningStep>,
    // After `step`: its threads must be gone before the database closes.
    open: Option<(Arc<Database>, Options)>,
}

/// The engine that was loaded.
enum Engine {
    RocksDb(Box<Api>),
    Nothing,
}

impl Worker {
    fn answer(&mut self, request: Request, tell: &mut dyn FnMut(Second)) -> Result<Reply, WorkerError> {
        match request {
            Request::Load { library } => self.load(library),
            Request::Open { directory, options, create, tickers } => {
                if self.open.is_some() {
                    return Err(WorkerError::Protocol("a database is open already"));
                }
                let api = self.api()?;
                let options = Options::parse(&api, &with_creation(&options, create), tickers)
                    .map_err(WorkerError::BadOption)?;
                let database = Database::open(&api, &directory, &options)?;
                self.open = Some((Arc::new(database), options));
                Ok(Reply::Opened)
            }
            Request::BulkLoad { data, seed, threads, scratch } => {
                let api = self.api()?;
                let (database, options) = self.open()?;
                let plan = ImagePlan { data, seed, threads, scratch: &scratch };
                bulk_load(&api, database, options, &plan)?;
                Ok(Reply::BulkLoaded { keys: data.keys })
            }
            Request::Scan { data } => {
                self.claim(&data, true)?;
                let keys = operation::scan(&self.open()?.0, &data)?;
                Ok(Reply::Scanned { keys })
            }
            Request::Prepare(setup) => {
                if self.step.is_some() {
                    return Err(WorkerError::Protocol("a step is running already"));
                }
                if setup.operation == Operation::Settle {
                    return Err(WorkerError::Protocol("the step has no operation: ask for its `settle`"));
                }
                self.claim(&setup.data, setup.all_keys_exist)?;
                self.step = Some(RunningStep::prepare(&self.open()?.0, &setup));
                Ok(Reply::Prepared)
            }
            Request::RunBlock { limit, warm_up, seconds } => {
                // Taken, because a step whose thread is gone is over; its other threads end here.
                let mut step = self.step.take().ok_or(WorkerError::Protocol("no step is prepared"))?;
                let report = step.run_block(BlockOrder { limit, warm_up, seconds }, tell)?;
                self.step = Some(step);
                Ok(Reply::Block(report))
            }
            Request::FinishStep => {
                let step = self.step.take().ok_or(WorkerError::Protocol("no step is prepared"))?;
                Ok(Reply::StepFinished { latency: step.finish()? })
            }
            Request::Settle { to, bound } => {
                Ok(Reply::Settled { waited: settle(&self.open()?.0, to, bound)? })
            }
            Request::ReadShape => Ok(Reply::Shape(self.open()?.0.shape())),
            Request::ReadText { what } => {
                let (database, options) = self.open()?;
                Ok(Reply::Text {
                    text: match what {
                        EngineText::Stats => database.property_text(c"rocksdb.stats"),
                        EngineText::Tickers => options.tickers(),
                    },
                })
            }
            Request::Close => {
                // A step whose block failed is closed with the rest: nobody asks for its latency any more.
                self.step = None;
                self.open = None;
                Ok(Reply::Closed)
            }
            Request::Exit => unreachable!("`serve` ends at exit"),
        }
    }

    fn load(&mut self, library: Library) -> Result<Reply, WorkerError> {
        if self.engine.is_some() {
            return Err(WorkerError::Protocol("a library is loaded already: one process, one library"));
        }
        let (engine, missing_symbols) = match library {
            Library::RocksDb { path } => {
                let (api, missing) = Api::load(&path)?;
                (Engine::RocksDb(Box::new(api)), missing)
            }
            Library::Nothing => (Engine::Nothing, Vec::new()),
        };
        self.engine = Some(engine);
        Ok(Reply::Loaded { missing_symbols })
    }

    fn api(&self) -> Result<Api, WorkerError> {
        match &self.engine {
            Some(Engine::RocksDb(api)) => Ok(**api),
            Some(Engine::Nothing) => Ok(nothing::api()),
            None => Err(WorkerError::Protocol("no library is loaded")),
        }
    }

    /// The engine that does nothing is told what to answer.
    fn claim(&self, data: &DataSet, all_keys_exist: bool) -> Result<(), WorkerError> {
        if let Some(Engine::Nothing) = self.engine {
            nothing::claim(&self.open()?.0, data, all_keys_exist);
        }
        Ok(())
    }

    fn open(&self) -> Result<&(Arc<Database>, Options), WorkerError> {
        self.open.as_ref().ok_or(WorkerError::Protocol("no database is open"))
    }
}

fn with_creation(options: &str, create: bool) -> String {
    if create { format!("create_if_missing=true;error_if_exists=true;{options}") } else { options.to_owned() }
}

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
enum WorkerError {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error("this release refused the options: {0}")]
    BadOption(EngineError),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Operation(#[from] OperationError),
    #[error(transparent)]
    Settle(#[from] SettleError),
    #[error(transparent)]
    ThreadGone(#[from] ThreadGone),
    #[error("{0}")]
    Protocol(&'static str),
}

impl WorkerError {
    fn into_reply(self) -> Reply {
        let kind = match &self {
            WorkerError::Load(_) => FailureKind::NotAnEngine,
            WorkerError::BadOption(_) => FailureKind::BadOption,
            WorkerError::Operation(OperationError::WrongAnswer(_)) => FailureKind::WrongAnswer,
            WorkerError::Settle(SettleError::TimedOut { .. }) => FailureKind::TimedOut,
            WorkerError::Engine(_)
            | WorkerError::Operation(_)
            | WorkerError::Settle(_)
            | WorkerError::ThreadGone(_) => FailureKind::Engine,
            WorkerError::Protocol(_) => FailureKind::Protocol,
        };
        failed(kind, &with_causes(&self))
    }
}

/// A reply carries one text: the error and all that caused it.
fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

fn failed(kind: FailureKind, message: &str) -> Reply {
    Reply::Failed { kind, message: message.to_owned() }
}

#[cfg(test)]
mod tests;
