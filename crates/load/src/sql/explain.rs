//! How a server would run the statements of a step. It is asked on a connection of its own, between steps: nothing of it is in the way of a
//! statement that is measured.

use super::connection::{Connection, Rows};
use super::draw::Parameters;
use super::error::SqlError;
use super::statement::{Statement, Surroundings, TableName};
use super::{rows, server};
use crate::keys::{Stream, generator};
use model::address::ServerAddress;
use model::query_plan::{PlanText, QueryPlan};
use model::wire::StepSetup;
use model::workload::Operation;
use model::workload::sql::{Tables, Transaction};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A statement that a server is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// With placeholders.
    pub statement: String,
    /// With its values, drawn once.
    pub text: String,
    /// Values for its placeholders, with commas between them; those of lists are drawn once more.
    pub values: String,
    /// As it is sent if it is not prepared: of a command its body.
    pub sent: Vec<u8>,
    /// Whether the step has it prepared.
    pub prepared: bool,
}

/// What the server says of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Told {
    /// See [`QueryPlan::nodes`].
    pub nodes: Vec<String>,
    pub texts: Vec<PlanText>,
}

/// The plans of the statements of a step and of those concurrent with it, each statement once, on the first table. None of a step that is no
/// transaction.
pub fn explain(address: &ServerAddress, setup: &StepSetup) -> Result<Vec<QueryPlan>, SqlError> {
    let mut plans: Vec<QueryPlan> = Vec::new();
    let mut connection = Connection::open(address)?;
    let streams = std::iter::once(setup).chain(setup.companions.iter().map(|companion| &companion.step));
    for stream in streams {
        let (Operation::Transaction(transaction), Some(tables)) = (&stream.operation, &stream.tables) else {
            continue;
        };
        for asked in statements(address, tables, transaction, stream.seed)? {
            if plans.iter().all(|plan| plan.statement != asked.statement) {
                plans.push(plan(&mut connection, asked)?);
            }
        }
    }
    Ok(plans)
}

fn plan(connection: &mut Connection, asked: Asked) -> Result<QueryPlan, SqlError> {
    let told = server::of(connection.dialect()).explain(connection, &asked);
    let (told, refused) = match told {
        Ok(told) => (told, None),
        Err(error) => match error.server_message() {
            Some(message) => (Told::default(), Some(message.to_string())),
            None => return Err(error),
        },
    };
    Ok(QueryPlan { statement: asked.statement, nodes: told.nodes, texts: told.texts, refused })
}

fn statements(
    address: &ServerAddress,
    tables: &Tables,
    transaction: &Transaction,
    seed: u64,
) -> Result<Vec<Asked>, SqlError> {
    let mut random = generator(seed, Stream::Foreground(0));
    let mut parameters = Parameters::new(&tables.parameters, tables.rows);
    let surroundings = Surroundings::of(address, Some(&tables.row));
    let table = TableName { name: tables.name(1), number: 1 };
    let all = transaction.statements_in(address.dialect);
    let all = all.map(|one| Statement::new(&one.sql, &mut parameters, surroundings));
    let all: Vec<Statement> = all.collect::<Result<_, _>>()?;
    // Only the first table is asked about.
    match rows::read(address, &Tables { count: 1, ..tables.clone() }) {
        Ok(rows) => rows.first().into_iter().for_each(|first| parameters.set_rows(first.bounds())),
        Err(error) if error.server_message().is_some() => {}
        Err(error) => return Err(error),
    }
    parameters.begin_event(&mut random);
    let mut asked = |statement: &Statement| {
        statement.draw(&mut parameters, &mut random);
        asked(statement, address, &table, &mut parameters, &mut random, transaction.prepared)
    };
    Ok(all.iter().map(&mut asked).collect())
}

fn asked(
    statement: &Statement,
    address: &ServerAddress,
    table: &TableName,
    parameters: &mut Parameters,
    random: &mut Xoshiro256PlusPlus,
    prepared: bool,
) -> Asked {
    let mut sent = |of: &Statement| {
        let mut sent = Vec::new();
        of.push_text(table, parameters, random, &mut sent);
        sent
    };
    let text = |sent: &[u8]| String::from_utf8_lossy(sent).into_owned();
    let drawn = sent(statement);
    Asked {
        statement: statement.with_placeholders(address.dialect, table),
        text: text(&drawn),
        values: statement.values().map(|values| text(&sent(&values))).unwrap_or_default(),
        sent: drawn,
        prepared,
    }
}

/// The first value of each row: the lines of a text that a server returns as rows.
pub fn lines(rows: &Rows) -> Vec<String> {
    rows.rows.iter().filter_map(|row| row.first()?.clone()).collect()
}
