//! What a statement reserves of its table before it is drawn: ids for the rows that it inserts, or the oldest rows where it deletes those. So clients
//! that share a table never ask for the same. What was reserved and not used is handed back, and the next statement that reserves has it.

use super::{Client, Failed, Send};
use crate::sql::connection::Connection;
use crate::sql::draw::Parameters;
use crate::sql::error::{Retry, SqlError, WireError};
use crate::sql::rows::{self, Reservation, TableRows};
use crate::sql::server;
use model::workload::sql::{self as model_sql, Changes, Draw, Holds, RowsExpected, Tables, Template};

/// What a statement reserves for each execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reserving {
    /// Ids of so many new rows.
    New(u64),
    /// So many of the oldest rows.
    Oldest(u64),
}

impl Reserving {
    /// Of a statement that says how many rows it inserts, with ids of ours, or deletes, beginning with the oldest. Another one draws ids
    /// without reserving them.
    pub(super) fn of(statement: &model_sql::Statement, tables: &Tables) -> Option<Reserving> {
        let Some(RowsExpected::Exactly(count @ 1..)) = statement.rows else { return None };
        let draws = |template: &Template, draw: &Draw| {
            template.parameters().any(|name| {
                let parameter = tables.parameters.get(name);
                parameter.is_some_and(|it| it.draw == *draw && it.per == Holds::Statement)
            })
        };
        let sql = &statement.sql;
        match statement.changes() {
            Changes::Inserts if draws(sql, &Draw::Next) => Some(Reserving::New(count)),
            Changes::Inserts if sql.has_rows() && draws(&tables.row, &Draw::Next) => {
                Some(Reserving::New(count))
            }
            Changes::Deletes if draws(sql, &Draw::Oldest) => Some(Reserving::Oldest(count)),
            Changes::Inserts | Changes::Deletes | Changes::Nothing => None,
        }
    }

    /// Reserves it; none where the table has not so much.
    #[inline]
    pub(super) fn reserve(self, rows: &TableRows) -> Option<Reservation> {
        match self {
            Reserving::New(count) => rows.reserve_new(count),
            Reserving::Oldest(count) => rows.reserve_oldest(count),
        }
    }

    /// Reserves it of a table that seems not to have so much, which is asked first.
    #[cold]
    pub(super) fn reserve_again(
        self,
        rows: &TableRows,
        connection: &mut Connection,
        table: &str,
        id: Option<&str>,
    ) -> Result<Reservation, SqlError> {
        if let Some(id) = id
            && let Some(found) = rows::bounds(connection, table, id)?
        {
            rows.found(found);
        }
        let (Reserving::New(count) | Reserving::Oldest(count)) = self;
        let [oldest, newest] = rows.bounds();
        let left = newest.saturating_add(1).saturating_sub(oldest);
        self.reserve(rows).ok_or_else(|| SqlError::Overtaken { table: table.to_owned(), rows: count, left })
    }

    /// The statement that is drawn next is about this.
    #[inline]
    pub(super) fn give(self, reservation: &Reservation, parameters: &mut Parameters) {
        match self {
            Reserving::New(_) => parameters.give_ids(reservation.numbers.clone()),
            Reserving::Oldest(_) => parameters.set_oldest(reservation.numbers.start),
        }
    }

    fn hand_back(self, rows: &TableRows, reservation: Reservation) {
        match self {
            Reserving::New(_) => rows.give_back_new(reservation),
            Reserving::Oldest(_) => rows.give_back_oldest(reservation),
        }
    }
}

impl Send {
    /// Whether it may have deleted so few rows: an earlier statement, which was lost with its connection, may have deleted the others.
    #[cold]
    pub(super) fn may_find(&self, rows: u64, changes: Changes) -> bool {
        let doubtful = self.reservation.as_ref().filter(|reservation| reservation.in_doubt);
        changes == Changes::Deletes && doubtful.is_some_and(|one| rows < one.numbers.end - one.numbers.start)
    }
}

impl Client {
    /// How many rows a statement has inserted after all that the server refuses: its ids are taken, and an earlier statement with them was lost
    /// with its connection. It had been carried out. In a transaction the refusal has ended that.
    #[cold]
    pub(super) fn inserted_before(&self, send: &Send, error: &WireError) -> Option<u64> {
        let WireError::Server(message) = error else { return None };
        let reservation =
            send.reservation.as_ref().filter(|reservation| reservation.in_doubt && self.borders.is_none())?;
        let is_taken =
            server::of(self.connection.dialect()).retry(&message.code) == Some(Retry::DuplicateKey);
        (is_taken && self.statements[send.statement].changes == Changes::Inserts)
            .then(|| reservation.numbers.end - reservation.numbers.start)
    }

    /// Hands back what the statements of an event that ended early have reserved and not used.
    #[cold]
    pub(super) fn hand_back(&mut self, failed: &Failed) {
        let in_transaction = self.borders.is_some();
        let (send, is_lost) = match failed {
            Failed::Wire { send, error } => (*send, !matches!(error, WireError::Server(_))),
            Failed::Wrong { send, .. } => (Some(*send), false),
        };
        // What committed for itself before the failure stays.
        let first = if in_transaction { 0 } else { send.unwrap_or(0) };
        for index in first..self.sends.len() {
            let Some(reservation) = self.sends[index].reservation.take() else { continue };
            let is_failed = send == Some(index);
            // It has met rows that are not there, and so would the next.
            if is_failed && matches!(failed, Failed::Wrong { .. }) {
                continue;
            }
            // A transaction that was lost before its COMMIT never happened.
            let may_be_done = is_lost && if in_transaction { send.is_none() } else { is_failed };
            self.hand_back_one(
                index,
                Reservation { in_doubt: reservation.in_doubt || may_be_done, ..reservation },
                is_failed,
            );
        }
    }

    /// Hands back what was reserved for an event that was not sent.
    #[cold]
    pub(super) fn hand_back_unsent(&mut self) {
        for index in 0..self.sends.len() {
            if let Some(reservation) = self.sends[index].reservation.take() {
                self.hand_back_one(index, reservation, false);
            }
        }
    }

    fn hand_back_one(&self, index: usize, reservation: Reservation, is_failed: bool) {
        let Send { statement, table, .. } = self.sends[index];
        let (Some(reserving), Some(rows)) = (self.statements[statement].reserving, self.rows.get(table))
        else {
            return;
        };
        if let Reserving::New(_) = reserving {
            // In a transaction a key that is taken after all would fail in every try.
            let is_hopeless = reservation.in_doubt && self.borders.is_some();
            // A command of MongoDB that was refused may have inserted the first of its documents.
            let is_partly_done =
                is_failed && !reservation.in_doubt && server::sql_of(self.connection.dialect()).is_err();
            if is_hopeless || is_partly_done {
                return;
            }
        }
        reserving.hand_back(rows, reservation);
    }
}
