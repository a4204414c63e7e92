//! The event of a transaction step: its statements, one after another, each waited for, and its answers checked.
//!
//! All messages of an event are encoded before the first is sent. So what is drawn stays the same when the server asks
//! for another try, and nothing is allocated once the buffers have grown.

mod reserving;

use super::connection::{Connection, ParameterType, Prepared};
use super::draw::Parameters;
use super::error::{Retries, Retry, SqlError, WireError, shown};
use super::rows::{self, Reservation, TableRows};
use super::server;
use super::statement::{Statement, Surroundings, TableName};
use crate::cpus;
use crate::keys::{Stream, below, generator};
use crate::operation::{Operate, OperationError};
use model::address::ServerAddress;
use model::wire::StepSetup;
use model::workload::sql::{Changes, RowsExpected, TableChoice, Tables, Transaction};
use rand_xoshiro::Xoshiro256PlusPlus;
use reserving::Reserving;
use std::ops::Range;
use std::sync::Arc;

/// An event that the server refuses so often in a row is no longer bad luck. Not tuned: hot rows with 64 clients took
/// less than 20.
const MOST_RETRIES: u32 = 1000;

/// A connection that is lost more often than this in a block is not bad luck either.
const MOST_CONNECTIONS_LOST: u64 = 100;

/// One client with its connection.
pub struct Client {
    connection: Connection,
    /// To make the connection again.
    address: ServerAddress,
    random: Xoshiro256PlusPlus,
    parameters: Parameters,
    tables: Vec<TableName>,
    /// The rows of each table; empty where nobody asks.
    rows: Arc<Vec<TableRows>>,
    /// The column that shows them.
    id: Option<String>,
    /// The table of all events, where it goes with the client.
    own_table: Option<usize>,
    /// Whether each statement has a table of its own, and not each event.
    draws_each: bool,
    statements: Vec<Ready>,
    /// Whether an event sends one of the statements only.
    one_of: bool,
    borders: Option<Borders>,
    per_call: u64,
    buffer: Vec<u8>,
    sends: Vec<Send>,
    /// What an attempt has changed that is not committed yet.
    changed: Vec<Changed>,
    retries: Retries,
    /// The CPU that the server's thread was put on beside the client's.
    shared_cpu: Option<usize>,
}

/// A statement, ready to be sent.
struct Ready {
    statement: Statement,
    repeat: u32,
    rows: Option<RowsExpected>,
    changes: Changes,
    reserving: Option<Reserving>,
    same_table: bool,
    /// One for each table; empty where the text is sent.
    prepared: Vec<Prepared>,
}

/// Messages around the statements of a transaction.
struct Borders {
    begin: Vec<u8>,
    commit: Vec<u8>,
    rollback: Vec<u8>,
}

/// One message of an event.
struct Send {
    bytes: Range<usize>,
    statement: usize,
    table: usize,
    reservation: Option<Reservation>,
}

/// How many rows a table has more, and how many less.
struct Changed {
    table: usize,
    inserted: u64,
    deleted: u64,
}

/// How an attempt at an event ended early.
enum Failed {
    /// At this message; none for BEGIN and COMMIT.
    Wire { send: Option<usize>, error: WireError },
    /// It returned or changed so many rows.
    Wrong { send: usize, rows: u64 },
}

impl Borders {
    fn of(connection: &Connection) -> Result<Borders, SqlError> {
        server::sql_of(connection.dialect())?;
        Ok(Borders {
            begin: connection.encoded("BEGIN")?,
            commit: connection.encoded("COMMIT")?,
            rollback: connection.encoded("ROLLBACK")?,
        })
    }
}

impl Client {
    /// Connects, and prepares every statement for every table.
    pub fn new(
        address: &ServerAddress,
        tables: &Tables,
        transaction: &Transaction,
        setup: &StepSetup,
        thread: u32,
        rows: Arc<Vec<TableRows>>,
    ) -> Result<Client, SqlError> {
        let mut connection = Connection::open(address)?;
        let mut parameters = Parameters::new(&tables.parameters, tables.rows);
        let names: Vec<TableName> =
            (1..=tables.count).map(|number| TableName { name: tables.name(number), number }).collect();
        let surroundings = Surroundings::of(address, Some(&tables.row));
        let mut statements = Vec::new();
        for each in transaction.statements_in(address.dialect) {
            let statement = Statement::new(&each.sql, &mut parameters, surroundings)?;
            let types = statement.types();
            let prepared = match transaction.prepared && connection.prepares() {
                true => prepare(&mut connection, &statement, &types, &names)?,
                false => Vec::new(),
            };
            statements.push(Ready {
                statement,
                repeat: each.repeat,
                rows: each.rows,
                changes: each.changes(),
                // Of tables whose rows nobody reads nothing is reserved.
                reserving: if rows.is_empty() { None } else { Reserving::of(each, tables) },
                same_table: each.same_table,
                prepared,
            });
        }
        if statements.is_empty() {
            let dialect = address.dialect.name();
            return Err(SqlError::Workload(format!("the transaction has no statement for {dialect}")));
        }
        let borders = if transaction.begin { Some(Borders::of(&connection)?) } else { None };
        parameters.share_ids(Arc::clone(&rows));
        Ok(Client {
            own_table: match transaction.table {
                TableChoice::Any | TableChoice::Each => None,
                TableChoice::OfClient => Some(thread as usize % names.len()),
            },
            draws_each: transaction.table == TableChoice::Each && names.len() > 1,
            per_call: transaction.operations(address.dialect),
            random: generator(setup.seed, Stream::Foreground(thread)),
            connection,
            address: address.clone(),
            parameters,
            tables: names,
            rows,
            id: tables.id.clone(),
            statements,
            one_of: transaction.one_of,
            borders,
            buffer: Vec::new(),
            sends: Vec::new(),
            changed: Vec::new(),
            retries: Retries::default(),
            shared_cpu: None,
        })
    }

    /// Keeps the server's thread that serves this connection on a CPU, where it can be found.
    pub fn keep_server_on(&mut self, cpu: usize) -> Result<(), SqlError> {
        if let Some(thread) = server::of(self.connection.dialect()).thread(&mut self.connection)? {
            self.shared_cpu = cpus::keep(thread, cpu).then_some(cpu);
        }
        Ok(())
    }

    /// Makes the connection again, with all that was prepared on it. Once and at once: a server that is gone does not come back within a step.
    #[cold]
    fn reconnect(&mut self) -> Result<(), SqlError> {
        self.connection = Connection::open(&self.address)?;
        for ready in self.statements.iter_mut().filter(|ready| !ready.prepared.is_empty()) {
            let types = ready.statement.types();
            ready.prepared = prepare(&mut self.connection, &ready.statement, &types, &self.tables)?;
        }
        match self.shared_cpu.take() {
            Some(cpu) => self.keep_server_on(cpu),
            None => Ok(()),
        }
    }

    /// Draws an event and encodes it. Nothing of it is reserved after an error.
    #[inline]
    fn draw_event(&mut self) -> Result<(), OperationError> {
        let drawn = self.draw_statements();
        if drawn.is_err() {
            self.hand_back_unsent();
        }
        Ok(drawn.map_err(Box::new)?)
    }

    #[inline]
    fn draw_statements(&mut self) -> Result<(), SqlError> {
        let mut table = self.own_table.unwrap_or_else(|| drawn_table(self.tables.len(), &mut self.random));
        self.buffer.clear();
        self.sends.clear();
        use_table(table, &self.rows, &mut self.parameters);
        self.parameters.begin_event(&mut self.random);
        let only =
            if self.one_of { Some(below(&mut self.random, self.statements.len() as u64)) } else { None };
        for (index, ready) in self.statements.iter().enumerate() {
            if only.is_some_and(|only| only != index as u64) {
                continue;
            }
            if self.draws_each && !self.sends.is_empty() && !ready.same_table {
                table = drawn_table(self.tables.len(), &mut self.random);
                use_table(table, &self.rows, &mut self.parameters);
            }
            for _ in 0..ready.repeat {
                let reservation = match (ready.reserving, self.rows.get(table)) {
                    (Some(reserving), Some(rows)) => {
                        let reservation = match reserving.reserve(rows) {
                            Some(reservation) => reservation,
                            None => {
                                let (name, id) = (&self.tables[table].name, self.id.as_deref());
                                reserving.reserve_again(rows, &mut self.connection, name, id)?
                            }
                        };
                        reserving.give(&reservation, &mut self.parameters);
                        Some(reservation)
                    }
                    (_, _) => None,
                };
                ready.statement.draw(&mut self.parameters, &mut self.random);
                let start = self.buffer.len();
                match ready.prepared.get(table) {
                    Some(prepared) => {
                        ready.statement.push_execution(
                            prepared,
                            &self.parameters,
                            &mut self.random,
                            &mut self.buffer,
                        );
                    }
                    None => {
                        self.connection.begin_text(&mut self.buffer);
                        let table = &self.tables[table];
                        let random = &mut self.random;
                        ready.statement.push_text(table, &mut self.parameters, random, &mut self.buffer);
                        self.connection.end_text(&mut self.buffer, start);
                    }
                }
                if let (Some(_), Some(rows)) = (&reservation, self.rows.get(table)) {
                    self.parameters.set_rows(rows.bounds());
                }
                self.sends.push(Send {
                    bytes: start..self.buffer.len(),
                    statement: index,
                    table,
                    reservation,
                });
            }
        }
        Ok(())
    }

    /// Sends the messages of the event from one of them on.
    #[inline]
    fn attempt(&mut self, first: usize) -> Result<(), Failed> {
        if let Some(borders) = &self.borders {
            self.connection.send(&borders.begin).map_err(|error| Failed::Wire { send: None, error })?;
        }
        self.changed.clear();
        for (index, send) in self.sends.iter().enumerate().skip(first) {
            let message = &self.buffer[send.bytes.clone()];
            let rows = match self.connection.send(message) {
                Ok(answer) => answer.rows,
                Err(error) => match self.inserted_before(send, &error) {
                    Some(rows) => rows,
                    None => return Err(Failed::Wire { send: Some(index), error }),
                },
            };
            let ready = &mut self.statements[send.statement];
            if let Some(prepared) = ready.prepared.get_mut(send.table) {
                prepared.was_executed();
            }
            if let Some(expected) = ready.rows
                && !expected.allows(rows)
                && !send.may_find(rows, ready.changes)
            {
                return Err(Failed::Wrong { send: index, rows });
            }
            if self.rows.is_empty() {
                continue;
            }
            let (inserted, deleted) = match ready.changes {
                Changes::Nothing => continue,
                Changes::Inserts => (rows, 0),
                // What was reserved is gone since then.
                Changes::Deletes if send.reservation.is_some() => continue,
                Changes::Deletes => (0, rows),
            };
            self.changed.push(Changed { table: send.table, inserted, deleted });
            // What commits for itself is there, whatever becomes of the rest.
            if self.borders.is_none() {
                keep_up(&self.rows, &mut self.changed);
            }
        }
        if let Some(borders) = &self.borders {
            self.connection.send(&borders.commit).map_err(|error| Failed::Wire { send: None, error })?;
        }
        keep_up(&self.rows, &mut self.changed);
        Ok(())
    }

    /// Goes on after an attempt that failed, until one succeeds or sending again is no answer.
    #[cold]
    fn again(&mut self, failed: Failed) -> Result<u64, OperationError> {
        let mut failed = failed;
        for _ in 0..MOST_RETRIES {
            let (send, kind) = match &failed {
                Failed::Wire { send, error: WireError::Server(message) } => {
                    (*send, server::of(self.connection.dialect()).retry(&message.code))
                }
                Failed::Wire { .. } | Failed::Wrong { .. } => (None, None),
            };
            // Outside of a transaction nothing else holds the key: it would be there in every try.
            let hopeless = kind == Some(Retry::DuplicateKey) && self.borders.is_none();
            if matches!(&failed, Failed::Wire { error: WireError::Lost(_), .. }) {
                // What was prepared has other names now: another event is sent.
                if self.retries.of(Retry::ConnectionLost) >= MOST_CONNECTIONS_LOST
                    || self.reconnect().is_err()
                {
                    break;
                }
                self.retries.count(Retry::ConnectionLost);
                self.hand_back(&failed);
                self.draw_event()?;
                match self.attempt(0) {
                    Ok(()) => return Ok(0),
                    Err(error) => failed = error,
                }
                continue;
            }
            let is_malformed = matches!(&failed, Failed::Wire { error: WireError::Malformed(_), .. });
            if let (Some(borders), false) = (&self.borders, is_malformed) {
                // MySQL has rolled back after a deadlock, and then this does nothing; else it ends the transaction.
                let rolled_back = self.connection.send(&borders.rollback);
                if let Err(error) = rolled_back {
                    self.hand_back(&failed);
                    return Err(self.error(Failed::Wire { send: None, error }));
                }
            }
            if let Failed::Wrong { send, .. } = failed {
                self.look_again(send);
            }
            let Some(kind) = kind.filter(|_| !hopeless) else { break };
            self.retries.count(kind);
            // What committed for itself before the failure stays; a transaction begins anew.
            let first = if self.borders.is_some() { 0 } else { send.unwrap_or(0) };
            match self.attempt(first) {
                Ok(()) => return Ok(0),
                Err(error) => failed = error,
            }
        }
        self.hand_back(&failed);
        Err(self.error(failed))
    }

    /// A delete by ids that found fewer rows than it should has met ids that no row has: the oldest row is looked for again, or each delete after
    /// it would meet them too.
    fn look_again(&mut self, send: usize) {
        let Send { statement, table, .. } = self.sends[send];
        if self.statements[statement].changes != Changes::Deletes {
            return;
        }
        let (Some(rows), Some(id)) = (self.rows.get(table), &self.id) else { return };
        if let Ok(Some(found)) = rows::bounds(&mut self.connection, &self.tables[table].name, id) {
            rows.found(found);
        }
    }

    fn error(&self, failed: Failed) -> OperationError {
        let text = |send: usize| self.text(self.sends[send].statement, self.sends[send].table);
        match failed {
            Failed::Wire { send, error } => {
                let statement = send.map_or_else(|| "BEGIN or COMMIT".to_owned(), text);
                Box::new(self.connection.failed(&statement, error)).into()
            }
            Failed::Wrong { send, rows } => {
                let statement = self.sends[send].statement;
                let expected =
                    self.statements[statement].rows.map_or_else(String::new, |rows| rows.to_string());
                OperationError::WrongAnswer(format!(
                    "`{}` returned or changed {rows} rows where {expected} were expected",
                    shown(&text(send))
                ))
            }
        }
    }

    fn text(&self, statement: usize, table: usize) -> String {
        self.statements[statement].statement.with_placeholders(self.connection.dialect(), &self.tables[table])
    }
}

impl Operate for Client {
    fn per_call(&self) -> u64 {
        self.per_call
    }

    #[inline]
    fn once(&mut self) -> Result<u64, OperationError> {
        self.draw_event()?;
        match self.attempt(0) {
            Ok(()) => Ok(0),
            Err(failed) => self.again(failed),
        }
    }

    fn take_retries(&mut self) -> Retries {
        std::mem::take(&mut self.retries)
    }

    fn shared_cpu(&self) -> Option<usize> {
        self.shared_cpu
    }
}

/// A statement on each of the tables.
fn prepare(
    connection: &mut Connection,
    statement: &Statement,
    types: &[ParameterType],
    tables: &[TableName],
) -> Result<Vec<Prepared>, SqlError> {
    let dialect = connection.dialect();
    let on = |table: &TableName| connection.prepare(&statement.with_placeholders(dialect, table), types);
    tables.iter().map(on).collect()
}

/// One of so many tables; nothing is drawn where there is one.
#[inline]
fn drawn_table(tables: usize, random: &mut Xoshiro256PlusPlus) -> usize {
    if tables == 1 {
        return 0;
    }
    let drawn = below(random, tables as u64);
    usize::try_from(drawn).unwrap_or_else(|_| unreachable!("it is below a length"))
}

/// What is drawn from now on is for this table.
#[inline]
fn use_table(table: usize, rows: &[TableRows], parameters: &mut Parameters) {
    if let Some(rows) = rows.get(table) {
        parameters.set_rows(rows.bounds());
        parameters.set_table(table);
    }
}

/// Tells the tables what was changed.
#[inline]
fn keep_up(rows: &[TableRows], changed: &mut Vec<Changed>) {
    for Changed { table, inserted, deleted } in changed.drain(..) {
        if let Some(rows) = rows.get(table) {
            rows.changed(inserted, deleted);
        }
    }
}

#[cfg(test)]
mod tests;
