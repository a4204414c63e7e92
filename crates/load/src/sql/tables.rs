//! Making tables and inserting their rows in key order, and building their indexes: all of it in one block, whatever the
//! block's limit. A thread has tables of its own; where a load has more threads than tables, several load one together.

use super::connection::Connection;
use super::draw::Parameters;
use super::error::{Retries, SqlError};
use super::rows::Reservations;
use super::server;
use super::statement::{Statement, Surroundings, TableName};
use crate::clock;
use crate::foreground::{BlockRunner, Manner, TellSecond, ThreadBlock};
use crate::keys::{Stream, generator};
use crate::latency::Recorder;
use crate::operation::{OperationError, share_of};
use crate::seconds::Seconds;
use model::address::ServerAddress;
use model::units::Nanos;
use model::wire::{BlockLimit, StepSetup};
use model::workload::sql::{Tables, Template};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// An INSERT ends with the row that makes it this long. Below what every release takes as a packet by default (1 MiB
/// in MySQL 5.5), and more than enough rows that their number does not matter.
const INSERT_BYTES: usize = 256 << 10;

/// Where several threads load a table, each takes so many rows at a time, unless the schema says how many an INSERT has. Not tuned.
const ROWS_AT_A_TIME: u64 = 1000;

/// What the threads that load a table together have to do with each other.
#[derive(Debug)]
pub struct TableLoad {
    /// Whether the table could be made: the first that comes makes it, the others wait for that.
    made: OnceLock<bool>,
    /// The rows by number, from 1 on.
    rows: Reservations,
}

impl Default for TableLoad {
    fn default() -> TableLoad {
        TableLoad { made: OnceLock::new(), rows: Reservations::from(1) }
    }
}

/// What is done to tables.
enum Work {
    Load {
        create: Vec<Statement>,
        /// Whether the tables have to say that they are ours.
        marked: bool,
        insert: Statement,
        row: Statement,
        /// Of each table, the first first.
        loads: Arc<Vec<TableLoad>>,
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
    /// Threads of the step.
    threads: u32,
    /// Tables of the workload.
    count: u32,
    rows: u64,
    /// Rows of one INSERT, where its length is not all that bounds it.
    insert_rows: u64,
    /// Those that are still to be done.
    tables: Vec<TableName>,
    work: Work,
}

impl TableWork {
    /// Makes tables and loads them, with the other threads of the load.
    pub fn load(
        address: &ServerAddress,
        tables: &Tables,
        setup: &StepSetup,
        thread: u32,
        loads: Arc<Vec<TableLoad>>,
    ) -> Result<TableWork, SqlError> {
        let create = tables.create.get(&address.dialect).ok_or_else(|| {
            let dialect = address.dialect.name();
            SqlError::Workload(format!("the schema does not say how to make a table on {dialect}"))
        })?;
        // With more threads than tables each has one table, from the first again after the last.
        let groups = setup.threads.min(tables.count);
        TableWork::new(address, tables, setup, [thread % groups, groups], |statements| {
            Ok(Work::Load {
                create: create.iter().map(&mut *statements).collect::<Result<_, _>>()?,
                marked: !setup.server_is_ours,
                insert: statements(&tables.insert)?,
                row: statements(&tables.row)?,
                loads,
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
        TableWork::new(address, tables, setup, [thread, setup.threads], |statements| {
            Ok(Work::Index(tables.index.iter().map(&mut *statements).collect::<Result<_, _>>()?))
        })
    }

    /// `group` of so many groups of threads has every so manyth table.
    fn new(
        address: &ServerAddress,
        tables: &Tables,
        setup: &StepSetup,
        [group, groups]: [u32; 2],
        work: impl FnOnce(&mut MakeStatement<'_>) -> Result<Work, SqlError>,
    ) -> Result<TableWork, SqlError> {
        let mut parameters = Parameters::new(&tables.parameters, tables.rows);
        let surroundings = Surroundings::of(address, None);
        let work = work(&mut |template| Statement::new(template, &mut parameters, surroundings))?;
        Ok(TableWork {
            connection: Connection::open(address)?,
            parameters,
            seed: setup.seed,
            threads: setup.threads,
            count: tables.count,
            rows: tables.rows,
            insert_rows: tables.insert_rows.unwrap_or(u64::MAX),
            // From the last to the first, as they are taken from the end.
            tables: (1..=tables.count)
                .rev()
                .filter(|number| (number - 1) % groups == group)
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
        match &self.work {
            Work::Load { loads, .. } => {
                let loads = Arc::clone(loads);
                let load = &loads[table.number as usize - 1];
                let mut failure = Ok(());
                let made = *load.made.get_or_init(|| {
                    failure = self.make(table);
                    failure.is_ok()
                });
                // Who could not make it says so; the others have nothing to load.
                failure?;
                if !made {
                    return Ok(());
                }
                let inserted = self.insert_all(table, &load.rows, progress);
                if inserted.is_err() {
                    // A load that is not complete is of no use: nobody goes on with it.
                    load.rows.skip_to(self.rows + 1);
                }
                inserted
            }
            Work::Index(indexes) => {
                let dialect = self.connection.dialect();
                let texts: Vec<String> =
                    indexes.iter().map(|index| index.with_placeholders(dialect, table)).collect();
                for text in texts {
                    self.run(&text)?;
                }
                progress.done(self.rows);
                Ok(())
            }
        }
    }

    fn make(&mut self, table: &TableName) -> Result<(), OperationError> {
        let Work::Load { create, marked, .. } = &self.work else { unreachable!("only a load makes tables") };
        let dialect = self.connection.dialect();
        let texts: Vec<String> =
            create.iter().map(|statement| statement.with_placeholders(dialect, table)).collect();
        if *marked {
            let server = server::sql_of(dialect).map_err(Box::new)?;
            server.make_marked(&mut self.connection, &table.name, &texts).map_err(Box::new)?;
        } else {
            for text in texts {
                self.run(&text)?;
            }
        }
        Ok(())
    }

    /// The rows of a table go with the seed and its number: all of them, where one thread loads it, however many threads there are; those
    /// that are reserved at a time, where several do, whoever reserves them.
    fn insert_all(
        &mut self,
        table: &TableName,
        unloaded: &Reservations,
        progress: &mut Progress<'_, '_>,
    ) -> Result<(), OperationError> {
        let loaders = share_of(self.threads.into(), u64::from(table.number) - 1, self.count.into());
        let at_a_time = if loaders <= 1 { self.rows } else { self.insert_rows.min(ROWS_AT_A_TIME) };
        let mut message = Vec::with_capacity(INSERT_BYTES + 4096);
        while let Some(rows) = unloaded.take_up_to(at_a_time, self.rows + 1) {
            let stream = match loaders {
                0 | 1 => Stream::Rows(table.number),
                _ => Stream::RowsFrom { table: table.number, row: rows.start },
            };
            let mut random = generator(self.seed, stream);
            self.insert(table, rows, &mut random, &mut message, progress)?;
        }
        Ok(())
    }

    fn insert(
        &mut self,
        table: &TableName,
        rows: Range<u64>,
        random: &mut Xoshiro256PlusPlus,
        message: &mut Vec<u8>,
        progress: &mut Progress<'_, '_>,
    ) -> Result<(), OperationError> {
        self.parameters.count_ids_from(rows.start);
        let mut left = rows.end - rows.start;
        while left > 0 {
            let rows = self.push_insert(table, left.min(self.insert_rows), random, message);
            let answer = self.connection.send(message).map_err(|error| {
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

#[cfg(test)]
mod tests;
