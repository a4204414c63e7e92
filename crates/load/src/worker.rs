//! The worker's main loop: one request per line in, one reply per line out, until `exit` or the end of the
//! input. It holds one library and one database at most, or the address of one SQL server.

use crate::fio::{Fio, FioError, FioStep};
use crate::heap;
use crate::operation::{self, OperationError, Target};
use crate::rocksdb::api::{Api, LoadError};
use crate::rocksdb::database::{Database, EngineError, Options};
use crate::rocksdb::image::{ImagePlan, bulk_load};
use crate::rocksdb::nothing;
use crate::rocksdb::settle::{SettleError, settle};
use crate::sql::claim::Claim;
use crate::sql::connection::Connection;
use crate::sql::{self, SqlError, WireError};
use crate::step::{BlockOrder, RunningStep, StepError, StepLatency, TellStream};
use model::address::ServerAddress;
use model::causes::with_causes;
use model::query_plan;
use model::units::Bytes;
use model::wire::{EngineText, FailureKind, Library, Reply, Request, StepSetup, Stream};
use model::workload::{DataSet, Operation};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, LineWriter, Write};
use std::sync::Arc;

/// Serves requests from standard input until it ends, with replies on standard output. What the engine prints there goes to
/// standard error instead.
pub fn serve_this_process() -> io::Result<()> {
    // The kernel names a process after the path that it was started by, which may tell a reader of `top` nothing.
    let _ = std::fs::write("/proc/self/comm", "dbdyno-worker");
    let replies = File::from(rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?);
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    serve(io::stdin().lock(), LineWriter::new(replies))
}

/// Serves requests from `input` until it ends.
pub fn serve(input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let mut worker = Worker::default();
    for line in input.lines() {
        let mut told = Ok(());
        let mut tell = |stream, second| {
            if told.is_ok() {
                let reply = match stream {
                    Stream::Own => Reply::Second(second),
                    Stream::Companion(companion) => Reply::CompanionSecond { companion, second },
                };
                told = write(&mut output, &reply);
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
    step: Option<Step>,
    // After `step`: its threads must be gone before the database closes.
    open: Option<(Arc<Database>, Options)>,
    /// Our tables in a database that is not ours; with it goes the lock of that database.
    claim: Option<Claim>,
}

/// The engine that was loaded.
enum Engine {
    RocksDb(Box<Api>),
    Server(Arc<ServerAddress>),
    Fio(Box<Fio>),
    Nothing,
}

/// A step between its blocks.
enum Step {
    Threads(RunningStep),
    Fio(Box<FioStep>),
}

impl Worker {
    fn answer(&mut self, request: Request, tell: TellStream<'_>) -> Result<Reply, WorkerError> {
        match request {
            Request::Load { library } => self.load(library),
            Request::Open { directory, options, create, tickers } => {
                if let Some(Engine::Fio(fio)) = &mut self.engine {
                    fio.open(&directory, create)?;
                    return Ok(Reply::Opened);
                }
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
            Request::Scan { data, tables } => {
                if let Some(address) = self.server() {
                    return Ok(Reply::Scanned { keys: sql::tables::scan(address, &tables, data.keys)? });
                }
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
                self.step = Some(match &self.engine {
                    Some(Engine::Fio(fio)) if setup.operation.is_fio() => {
                        Step::Fio(Box::new(fio.prepare(&setup)?))
                    }
                    _ => Step::Threads(RunningStep::prepare(&self.target(&setup)?, &setup)?),
                });
                Ok(Reply::Prepared)
            }
            Request::RunBlock { limit, warm_up, seconds } => {
                // Taken, because a step whose thread is gone is over; its other threads end here.
                let mut step = self.step.take().ok_or(WorkerError::Protocol("no step is prepared"))?;
                let order = BlockOrder { limit, warm_up, seconds };
                let report = match (&mut step, &mut self.engine) {
                    (Step::Threads(step), _) => step.run_block(order, tell)?,
                    (Step::Fio(step), Some(Engine::Fio(fio))) => {
                        fio.run_block(step, order, &mut |second| tell(Stream::Own, second))?
                    }
                    (Step::Fio(_), _) => return Err(WorkerError::Protocol("fio is not loaded")),
                };
                self.step = Some(step);
                Ok(Reply::Block(report))
            }
            Request::FinishStep => {
                let step = self.step.take().ok_or(WorkerError::Protocol("no step is prepared"))?;
                let StepLatency { own, companions } = match step {
                    Step::Threads(step) => step.finish().map_err(StepError::from)?,
                    Step::Fio(step) => StepLatency { own: step.finish(), companions: Vec::new() },
                };
                Ok(Reply::StepFinished { latency: own, companions })
            }
            Request::Settle { to, timeout } => {
                let waited = match self.server() {
                    Some(address) => sql::settle::settle(address, to, timeout, self.claimed())?,
                    None => settle(&self.open()?.0, to, timeout)?,
                };
                Ok(Reply::Settled { waited })
            }
            Request::ClaimTables { names } => {
                let address = Arc::clone(self.server().ok_or(WorkerError::Protocol(NO_SERVER))?);
                // The former one first: it holds the lock.
                self.claim = None;
                self.claim = Some(Claim::take(&address, &names)?);
                Ok(Reply::TablesClaimed)
            }
            Request::DropTables => {
                let claim = self.claim.take().ok_or(WorkerError::Protocol("no tables were claimed"))?;
                claim.release()?;
                Ok(Reply::TablesDropped)
            }
            Request::WatchOthers { wall } => {
                let address = self.server().ok_or(WorkerError::Protocol(NO_SERVER))?;
                Ok(Reply::OthersWatched { statements: sql::others::watch(address, wall)? })
            }
            Request::ReadShape => Ok(Reply::Shape(self.open()?.0.shape())),
            Request::ReadText { what } => Ok(Reply::Text { text: self.text(what)? }),
            Request::ExplainStatements(setup) => {
                let address = self.server().ok_or(WorkerError::Protocol(NO_SERVER))?;
                let plans = sql::explain::explain(address, &setup)?;
                Ok(Reply::Text { text: Some(query_plan::to_text(&plans)) })
            }
            Request::AbandonStep => {
                self.step = None;
                Ok(Reply::Abandoned)
            }
            Request::Close => {
                // A step whose block failed is closed with the rest: nobody asks for its latency any more.
                self.step = None;
                self.open = None;
                if let Some(Engine::Fio(fio)) = &mut self.engine {
                    fio.close();
                }
                Ok(Reply::Closed)
            }
            Request::Exit => unreachable!("`serve` ends at exit"),
        }
    }

    fn load(&mut self, library: Library) -> Result<Reply, WorkerError> {
        if self.engine.is_some() {
            return Err(WorkerError::Protocol("a library is loaded already: one process, one library"));
        }
        let (engine, missing_symbols, facts) = match library {
            Library::RocksDb { path } => {
                let (api, missing) = Api::load(&path)?;
                (Engine::RocksDb(Box::new(api)), missing, BTreeMap::new())
            }
            Library::Server { address } => {
                let facts = sql::facts::read(&mut Connection::open(&address)?, &address)?;
                (Engine::Server(Arc::new(address)), Vec::new(), facts)
            }
            Library::Fio { program, target } => {
                (Engine::Fio(Box::new(Fio::new(program, target))), Vec::new(), BTreeMap::new())
            }
            Library::Nothing => (Engine::Nothing, Vec::new(), BTreeMap::new()),
        };
        self.engine = Some(engine);
        Ok(Reply::Loaded { missing_symbols, facts })
    }

    /// What the step runs against; an error where its operation is of another kind of engine.
    fn target(&self, setup: &StepSetup) -> Result<Target, WorkerError> {
        match self.server() {
            Some(address) if setup.operation.is_sql() => Ok(Target::Server(Arc::clone(address))),
            Some(_) => Err(WorkerError::Protocol("a SQL server has transactions and loads of tables only")),
            None if setup.operation.is_fio() => Err(WorkerError::Protocol("a job of fio needs fio")),
            None if setup.operation.is_sql() => {
                Err(WorkerError::Protocol("transactions and loads of tables need a SQL server"))
            }
            None => {
                self.claim(&setup.data, setup.all_keys_exist)?;
                Ok(Target::Database(Arc::clone(&self.open()?.0)))
            }
        }
    }

    /// The names of our tables, where the database is not ours.
    fn claimed(&self) -> Option<&[String]> {
        self.claim.as_ref().map(Claim::tables)
    }

    fn server(&self) -> Option<&Arc<ServerAddress>> {
        match &self.engine {
            Some(Engine::Server(address)) => Some(address),
            Some(Engine::RocksDb(_) | Engine::Fio(_) | Engine::Nothing) | None => None,
        }
    }

    /// Each question to a server has a connection of its own: none is there, idle, while a block runs.
    fn text(&self, what: EngineText) -> Result<Option<String>, WorkerError> {
        if let Some(address) = self.server() {
            return Ok(match what {
                EngineText::Status => {
                    Some(sql::status::status(&mut Connection::open(address)?, self.claimed())?)
                }
                EngineText::Settings => Some(sql::status::settings(&mut Connection::open(address)?)?),
                EngineText::Stats | EngineText::Tickers | EngineText::QueryPlans => None,
            });
        }
        if let Some(Engine::Fio(fio)) = &self.engine {
            return Ok(if what == EngineText::Stats { fio.said().map(str::to_owned) } else { None });
        }
        let (database, options) = self.open()?;
        Ok(match what {
            EngineText::Stats => database.property_text(c"rocksdb.stats"),
            EngineText::Tickers => options.tickers(),
            EngineText::Status | EngineText::Settings | EngineText::QueryPlans => None,
        })
    }

    fn api(&self) -> Result<Api, WorkerError> {
        match &self.engine {
            Some(Engine::RocksDb(api)) => Ok(**api),
            Some(Engine::Nothing) => Ok(nothing::api()),
            Some(Engine::Server(_) | Engine::Fio(_)) => Err(WorkerError::Protocol(NO_FILES)),
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
        let none = if self.server().is_some() { NO_FILES } else { "no database is open" };
        self.open.as_ref().ok_or(WorkerError::Protocol(none))
    }
}

const NO_SERVER: &str = "only a SQL server has tables and other clients";
const NO_FILES: &str =
    "a SQL server, and fio, have their own files: none is opened, filled or looked at by a worker";

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
    Step(#[from] StepError),
    #[error(transparent)]
    Sql(#[from] SqlError),
    #[error(transparent)]
    Fio(#[from] FioError),
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
            WorkerError::Sql(error) => kind_of(error),
            WorkerError::Step(StepError::NotReady(OperationError::Sql(error))) => kind_of(error),
            WorkerError::Step(StepError::NotReady(OperationError::NotSupported(_)))
            | WorkerError::Fio(FioError::NotSupported(_) | FioError::ReadOnly(_)) => {
                FailureKind::NotSupported
            }
            WorkerError::Engine(_)
            | WorkerError::Fio(_)
            | WorkerError::Operation(_)
            | WorkerError::Settle(_)
            | WorkerError::Step(_) => FailureKind::Engine,
            WorkerError::Protocol(_) => FailureKind::Protocol,
        };
        failed(kind, &with_causes(&self))
    }
}

fn kind_of(error: &SqlError) -> FailureKind {
    match error {
        SqlError::TimedOut { .. } => FailureKind::TimedOut,
        SqlError::NoStorageEngine { .. } | SqlError::NotSupported(_) | SqlError::LoginMethod { .. } => {
            FailureKind::NotSupported
        }
        // This server refuses this statement: other steps have others.
        SqlError::Statement { source: WireError::Server(_), .. } => FailureKind::NotSupported,
        SqlError::Workload(_) => FailureKind::BadOption,
        SqlError::Connect { .. }
        | SqlError::Login { .. }
        | SqlError::OtherProtocol { .. }
        | SqlError::TlsOnly { .. }
        | SqlError::NoTls { .. }
        | SqlError::Tls { .. }
        | SqlError::WrongPassword { .. }
        | SqlError::NoDatabase { .. }
        | SqlError::NoCreateRight { .. }
        | SqlError::ForeignTables { .. }
        | SqlError::UnmarkedTables { .. }
        | SqlError::Claimed { .. }
        | SqlError::NoPassword { .. }
        | SqlError::UnprotectedLogin { .. }
        | SqlError::UnprovenServer { .. }
        | SqlError::Overtaken { .. }
        | SqlError::Statement { .. } => FailureKind::Engine,
    }
}

fn failed(kind: FailureKind, message: &str) -> Reply {
    Reply::Failed { kind, message: message.to_owned() }
}

#[cfg(test)]
mod tests;
