//! Making tables and inserting their rows in key order, and building their indexes: all of it in one block, one thread
//! at a table, whatever the block's limit.

use super::connection::Connection;
use super::draw::Parameters;
use super::error::{Retries, SqlError};
use super::server;
use super::statement::{Statement, Surroundings, TableName};
use crate::clock;
use crate::foreground::{BlockRunner, Manner, TellSecond, ThreadBlock};
use crate::keys::{Stream, generator};
use crate::latency::Recorder;
use crate::operation::OperationError;
use crate::seconds::Seconds;
use model::address::ServerAddress;
use model::units::Nanos;
use model::wire::{BlockLimit, StepSetup};
use model::workload::sql::{Tables, Template};
use rand_xoshiro::Xoshiro256PlusPlus;

/// An INSERT ends with the row that makes it this long. Below what every release takes as a packet by default (1 MiB
/// in MySQL 5.5), and more than enough rows that their number does not matter.
const INSERT_BYTES: usize = 256 << 10;

/// What is done to tables.
enum Work {
    Load {
        create: Vec<Statement>,
        /// Whether the tables have to say that they are ours.
        marked: bool,
        insert: Statement,
        row: Statement,
    },
    Index(Vec<Statement>),
}

/// Makes a statement of a template.
type MakeStatement<'a> = dyn FnMut(&Template) -> Result<Statement, SqlError> + 'a;

/// One thread's tables, with its connection.
pub struct TableWork {
    connection: Connection,
    parameters: Parameters,
    seed: u64,
    rows: u64,
    /// Rows of one INSERT, where its length is not all that bounds it.
    insert_rows: u64,
    /// Those that are still to be done.
    tables: Vec<TableName>,
    work: Work,
}

impl TableWork {
    /// Makes tables and loads them.
    pub fn load(
        address: &ServerAddress,
        tables: &Tables,
        setup: &StepSetup,
        thread: u32,
    ) -> Result<TableWork, SqlError> {
        let create = tables.create.get(&address.dialect).ok_or_else(|| {
            let dialect = address.dialect.name();
            SqlError::Workload(format!("the schema does not say how to make a table on {dialect}"))
        })?;
        TableWork::new(address, tables, setup, thread, |statements| {
            Ok(Work::Load {
                create: create.iter().map(&mut *statements).collect::<Result<_, _>>()?,
                marked: !setup.server_is_ours,
                insert: statements(&tables.insert)?,
                row: statements(&tables.row)?,
            })
        })
    }

    /// Builds the indexes.
    pub fn index(
        address: &ServerAddress,
        tables: &Tables,
        setup: &StepSetup,
        thread: u32,
    ) -> Result<TableWork, SqlError> {
        TableWork::new(address, tables, setup, thread, |statements| {
            Ok(Work::Index(tables.index.iter().map(&mut *statements).collect::<Result<_, _>>()?))
        })
    }

    fn new(
        address: &ServerAddress,
        tables: &Tables,
        setup: &StepSetup,
        thread: u32,
        work: impl FnOnce(&mut MakeStatement<'_>) -> Result<Work, SqlError>,
    ) -> Result<TableWork, SqlError> {
        let mut parameters = Parameters::new(&tables.parameters, tables.rows);
        let surroundings = Surroundings::of(address, None);
        let work = work(&mut |template| Statement::new(template, &mut parameters, surroundings))?;
        Ok(TableWork {
            connection: Connection::open(address)?,
            parameters,
            seed: setup.seed,
            rows: tables.rows,
            insert_rows: tables.insert_rows.unwrap_or(u64::MAX),
            // From the last to the first, as they are taken from the end.
            tables: (1..=tables.count)
                .rev()
                .filter(|number| (number - 1) % setup.threads == thread)
                .map(|number| TableName { name: tables.name(number), number })
                .collect(),
            work,
        })
    }

    fn run(&mut self, sql: &str) -> Result<(), OperationError> {
        self.connection.run(sql).map_err(Box::new)?;
        Ok(())
    }

    fn table(&mut self, table: &TableName, progress: &mut Progress<'_, '_>) -> Result<(), OperationError> {
        let dialect = self.connection.dialect();
        let texts = |statements: &[Statement]| -> Vec<String> {
            statements.iter().map(|statement| statement.with_placeholders(dialect, table)).collect()
        };
        match &self.work {
            Work::Load { create, marked, .. } => {
                let (create, marked) = (texts(create), *marked);
                if marked {
                    let server = server::sql_of(dialect).map_err(Box::new)?;
                    server.make_marked(&mut self.connection, &table.name, &create).map_err(Box::new)?;
                } else {
                    for text in create {
                        self.run(&text)?;
                    }
                }
                self.insert_all(table, progress)
            }
            Work::Index(indexes) => {
                for text in texts(indexes) {
                    self.run(&text)?;
                }
                progress.done(self.rows);
                Ok(())
            }
        }
    }

    /// The rows of a table go with the seed and its number, however many threads there are.
    fn insert_all(
        &mut self,
        table: &TableName,
        progress: &mut Progress<'_, '_>,
    ) -> Result<(), OperationError> {
        let mut random = generator(self.seed, Stream::Rows(table.number));
        self.parameters.count_ids_from(1);
        let mut message = Vec::with_capacity(INSERT_BYTES + 4096);
        let mut left = self.rows;
        while left > 0 {
            let rows = self.push_insert(table, left.min(self.insert_rows), &mut random, &mut message);
            let answer = self.connection.send(&message).map_err(|error| {
                let statement = format!("INSERT of {rows} rows into {}", table.name);
                Box::new(self.connection.failed(&statement, error))
            })?;
            if answer.rows != rows {
                let problem =
                    format!("an INSERT of {rows} rows into {} inserted {}", table.name, answer.rows);
                return Err(OperationError::WrongAnswer(problem));
            }
            left -= rows;
            progress.done(rows);
        }
        Ok(())
    }

    /// Encodes one INSERT of at most `left` rows; gives how many it has.
    fn push_insert(
        &mut self,
        table: &TableName,
        left: u64,
        random: &mut Xoshiro256PlusPlus,
        message: &mut Vec<u8>,
    ) -> u64 {
        let Work::Load { insert, row, .. } = &self.work else { unreachable!("only a load inserts") };
        message.clear();
        self.connection.begin_text(message);
        insert.push_text(table, &mut self.parameters, random, message);
        let mut rows = 0;
        while rows < left && message.len() < INSERT_BYTES {
            self.connection.begin_row(rows == 0, message);
            self.parameters.begin_event(random);
            row.draw(&mut self.parameters, random);
            row.push_row(table, &mut self.parameters, random, message);
            rows += 1;
        }
        self.connection.end_text(message, 0);
        rows
    }
}

/// Reads every row of tables, so that their pages are in the caches; an error where there are not so many rows in all.
pub fn scan(address: &ServerAddress, tables: &[String], rows: u64) -> Result<u64, OperationError> {
    let mut connection = Connection::open(address).map_err(Box::new)?;
    let mut found = 0;
    for table in tables {
        found += server::of(address.dialect).read_all(&mut connection, table).map_err(Box::new)?;
    }
    if found != rows {
        return Err(OperationError::WrongAnswer(format!("{found} rows were loaded and not {rows}")));
    }
    Ok(found)
}

/// Counts and times what is done, and tells seconds.
struct Progress<'a, 'b> {
    recorder: &'a mut Recorder,
    seconds: Seconds<'b>,
    operations: u64,
    /// When the last thing was done.
    last: Nanos,
}

impl Progress<'_, '_> {
    fn done(&mut self, rows: u64) {
        let now = clock::now();
        if now >= self.seconds.end() {
            self.seconds.tell_until(now, self.operations, self.recorder);
        }
        self.operations += rows;
        self.recorder.record(now.saturating_sub(self.last));
        self.last = now;
    }
}

impl BlockRunner for TableWork {
    /// One latency is that of one INSERT, or of all indexes of one table. After an error the thread's other tables are
    /// left alone.
    fn run(
        &mut self,
        _limit: BlockLimit,
        _manner: &mut Manner,
        recorder: &mut Recorder,
        tell: TellSecond<'_>,
    ) -> ThreadBlock {
        let mut seconds = Seconds::new(recorder, tell);
        let start = clock::now();
        seconds.begin(start, BlockLimit::Operations { count: u64::MAX });
        let mut progress = Progress { recorder, seconds, operations: 0, last: start };
        let mut error = None;
        while let Some(table) = self.tables.pop() {
            if let Err(failure) = self.table(&table, &mut progress) {
                error = Some(failure);
                self.tables.clear();
            }
        }
        progress.seconds.tell_rest(progress.operations, progress.recorder);
        ThreadBlock {
            start,
            end: clock::now(),
            operations: progress.operations,
            failed_operations: u64::from(error.is_some()),
            found: 0,
            first_error: error.as_ref().map(OperationError::with_causes),
            lost: error.as_ref().is_some_and(OperationError::ends_block),
            retries: Retries::default(),
            lags: None,
        }
    }
}
