//! A template made ready for a server: with placeholders to be prepared, or as text with the values in it.

use super::connection::{ParameterType, Prepared};
use super::draw::{Parameters, push_number};
use super::error::SqlError;
use super::mongodb::command::Command;
use super::server;
use model::address::ServerAddress;
use model::workload::sql::{Dialect, Piece, ROW, Template};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A table by its name and number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableName {
    /// `sbtest7`
    pub name: String,
    pub number: u32,
}

/// A statement with places for what changes.
#[derive(Debug, Clone)]
pub enum Statement {
    Sql(SqlStatement),
    Command(Box<Command>),
}

/// One of SQL.
#[derive(Debug, Clone)]
pub struct SqlStatement {
    parts: Vec<Part>,
    /// Parameters that are drawn before the statement is sent.
    draws: Vec<usize>,
}

#[derive(Debug, Clone)]
enum Part {
    Text(String),
    Table,
    Number,
    Value {
        parameter: usize,
        plus: i64,
        written: Written,
    },
    List {
        parameter: usize,
        count: u32,
        written: Written,
    },
    /// Rows of the load; only in text.
    Rows {
        row: SqlStatement,
        count: u32,
    },
}

/// What templates are about beside parameters.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    pub dialect: Dialect,
    /// The storage engine of the server, where it has a choice.
    pub storage: Option<&'a str>,
    pub database: &'a str,
    /// One row of the load.
    pub row: Option<&'a Template>,
}

impl<'a> Surroundings<'a> {
    /// Those of a server; `row` where a statement may have rows in it.
    pub fn of(address: &'a ServerAddress, row: Option<&'a Template>) -> Surroundings<'a> {
        let (dialect, storage, database) = (address.dialect, address.storage.as_deref(), &address.database);
        Surroundings { dialect, storage, database, row }
    }
}

/// How a value stands in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    Number,
    /// With quotes that do not stand in the template; a placeholder stands without any in both cases.
    Quoted,
}

impl Statement {
    /// The template for a server, with parameters by their number.
    pub fn new(
        template: &Template,
        parameters: &mut Parameters,
        surroundings: Surroundings<'_>,
    ) -> Result<Statement, SqlError> {
        match surroundings.dialect {
            Dialect::Postgres | Dialect::Mysql => {
                SqlStatement::new(template, parameters, surroundings).map(Statement::Sql)
            }
            Dialect::Mongodb => {
                Ok(Statement::Command(Box::new(Command::of(template, parameters, surroundings)?)))
            }
        }
    }

    /// The text with placeholders of the dialect; of a command the JSON.
    pub fn with_placeholders(&self, dialect: Dialect, table: &TableName) -> String {
        match self {
            Statement::Sql(statement) => statement.with_placeholders(dialect, table),
            Statement::Command(command) => command.text(table),
        }
    }

    /// What its placeholders are given as, in order; a command has none.
    pub fn types(&self) -> Vec<ParameterType> {
        match self {
            Statement::Sql(statement) => statement.types(),
            Statement::Command(_) => Vec::new(),
        }
    }

    /// Draws its values, at the beginning of each execution.
    #[inline]
    pub fn draw(&self, parameters: &mut Parameters, random: &mut Xoshiro256PlusPlus) {
        match self {
            Statement::Sql(statement) => statement.draw(parameters, random),
            Statement::Command(command) => command.draw(parameters, random),
        }
    }

    /// An execution of the statement, which was prepared, at the end of a buffer.
    #[inline]
    pub fn push_execution(
        &self,
        prepared: &Prepared,
        parameters: &Parameters,
        random: &mut Xoshiro256PlusPlus,
        out: &mut Vec<u8>,
    ) {
        match self {
            Statement::Sql(statement) => statement.push_execution(prepared, parameters, random, out),
            Statement::Command(_) => unreachable!("no command is prepared"),
        }
    }

    /// Its values alone, in the order of its placeholders, with commas between them; absent of a command.
    pub fn values(&self) -> Option<Statement> {
        match self {
            Statement::Sql(statement) => Some(Statement::Sql(statement.values())),
            Statement::Command(_) => None,
        }
    }

    /// The statement with its values in it, at the end of a buffer.
    #[inline]
    pub fn push_text(
        &self,
        table: &TableName,
        parameters: &mut Parameters,
        random: &mut Xoshiro256PlusPlus,
        out: &mut Vec<u8>,
    ) {
        match self {
            Statement::Sql(statement) => statement.push_text(table, parameters, random, out),
            Statement::Command(command) => command.push(table, parameters, random, out),
        }
    }

    /// One row of a load, in the same way.
    #[inline]
    pub fn push_row(
        &self,
        table: &TableName,
        parameters: &mut Parameters,
        random: &mut Xoshiro256PlusPlus,
        out: &mut Vec<u8>,
    ) {
        match self {
            Statement::Sql(statement) => statement.push_text(table, parameters, random, out),
            Statement::Command(command) => command.push_document(table, parameters, random, out),
        }
    }
}

impl SqlStatement {
    /// The template with parameters by their number. Quotes around a value belong to it: they stand where it is
    /// written as text, and fall away where it is a placeholder.
    fn new(
        template: &Template,
        parameters: &mut Parameters,
        surroundings: Surroundings<'_>,
    ) -> Result<SqlStatement, SqlError> {
        let mut parts: Vec<Part> = Vec::new();
        let mut draws = Vec::new();
        let pieces = &template.0;
        for (place, piece) in pieces.iter().enumerate() {
            let (name, list, plus) = match piece {
                Piece::Text(text) => {
                    let text = if place > 0 && is_quoted(pieces, place - 1) { &text[1..] } else { text };
                    let text = if is_quoted(pieces, place + 1) { &text[..text.len() - 1] } else { text };
                    parts.push(Part::Text(text.to_owned()));
                    continue;
                }
                Piece::Table => {
                    parts.push(Part::Table);
                    continue;
                }
                Piece::Number => {
                    parts.push(Part::Number);
                    continue;
                }
                Piece::Storage => {
                    let storage = surroundings.storage.ok_or_else(|| {
                        SqlError::Workload(format!(
                            "`{template}` needs a storage engine and the server has none"
                        ))
                    })?;
                    parts.push(Part::Text(storage.to_owned()));
                    continue;
                }
                Piece::Rows { count } => {
                    let row = surroundings.row.ok_or_else(|| {
                        SqlError::Workload(format!("there is no row for `{{{ROW}}}` in `{template}`"))
                    })?;
                    // A row has no rows in it.
                    let row = SqlStatement::new(row, parameters, Surroundings { row: None, ..surroundings })?;
                    parts.push(Part::Rows { row, count: *count });
                    continue;
                }
                Piece::Fraction { .. } => {
                    let problem = format!("only commands have fractions, not `{template}`");
                    return Err(SqlError::Workload(problem));
                }
                Piece::Value { name, plus } => (name, None, *plus),
                Piece::List { name, count } => (name, Some(*count), 0),
            };
            let parameter = match list {
                Some(_) => parameters.using_in_list(name)?,
                None => parameters.using(name)?,
            };
            let written = if parameters.is_number(parameter) { Written::Number } else { Written::Quoted };
            if plus != 0 && written == Written::Quoted {
                let problem = format!("`{name}` is a text, to which nothing can be added, in `{template}`");
                return Err(SqlError::Workload(problem));
            }
            match list {
                Some(count) => parts.push(Part::List { parameter, count, written }),
                None => {
                    parts.push(Part::Value { parameter, plus, written });
                    for parameter in parameters.near(parameter).into_iter().chain([parameter]) {
                        if parameters.is_of_statement(parameter) && !draws.contains(&parameter) {
                            draws.push(parameter);
                        }
                    }
                }
            }
        }
        Ok(SqlStatement { parts, draws })
    }

    /// The text with placeholders of the dialect.
    fn with_placeholders(&self, dialect: Dialect, table: &TableName) -> String {
        let Ok(server) = server::sql_of(dialect) else { unreachable!("its statement is a command") };
        let mut text = String::new();
        let mut index = 0;
        let mut placeholder = |text: &mut String| {
            index += 1;
            text.push_str(&server.placeholder(index));
        };
        for part in &self.parts {
            match part {
                Part::Text(piece) => text.push_str(piece),
                Part::Table => text.push_str(&table.name),
                Part::Number => text.push_str(&table.number.to_string()),
                Part::Value { .. } => placeholder(&mut text),
                Part::List { count, .. } => {
                    for place in 0..*count {
                        if place > 0 {
                            text.push_str(", ");
                        }
                        placeholder(&mut text);
                    }
                }
                Part::Rows { count, .. } => text.push_str(&format!("{{{ROW}*{count}}}")),
            }
        }
        text
    }

    /// What its placeholders are given as, in order.
    fn types(&self) -> Vec<ParameterType> {
        let mut types = Vec::new();
        for part in &self.parts {
            let (count, written) = match *part {
                Part::Text(_) | Part::Table | Part::Number | Part::Rows { .. } => continue,
                Part::Value { written, .. } => (1, written),
                Part::List { count, written, .. } => (count, written),
            };
            let given = match written {
                Written::Quoted => ParameterType::Text,
                Written::Number => ParameterType::Number,
            };
            types.extend(std::iter::repeat_n(given, count as usize));
        }
        types
    }

    /// Draws its values, at the beginning of each execution.
    #[inline]
    fn draw(&self, parameters: &mut Parameters, random: &mut Xoshiro256PlusPlus) {
        for parameter in &self.draws {
            parameters.draw(*parameter, random);
        }
    }

    /// An execution of the statement at the end of a buffer.
    #[inline]
    fn push_execution(
        &self,
        prepared: &Prepared,
        parameters: &Parameters,
        random: &mut Xoshiro256PlusPlus,
        out: &mut Vec<u8>,
    ) {
        let start = out.len();
        prepared.begin(out);
        let mut index = 0;
        for part in &self.parts {
            match *part {
                Part::Text(_) | Part::Table | Part::Number | Part::Rows { .. } => {}
                Part::Value { parameter, plus, written: Written::Number } => {
                    let value = parameters.number(parameter).wrapping_add(plus);
                    prepared.number(out, index, value);
                    index += 1;
                }
                Part::Value { parameter, written: Written::Quoted, .. } => {
                    prepared.text(out, parameters.text(parameter));
                    index += 1;
                }
                Part::List { parameter, count, written: Written::Number } => {
                    for place in 0..count {
                        let value = parameters.fresh(parameter, place, random);
                        prepared.number(out, index, value);
                        index += 1;
                    }
                }
                Part::List { parameter, count, written: Written::Quoted } => {
                    for _ in 0..count {
                        let mut text = Vec::new();
                        parameters.push_fresh_text(parameter, &mut text, random);
                        prepared.text(out, &text);
                        index += 1;
                    }
                }
            }
        }
        prepared.end(out, start);
    }

    /// Its values alone, in the order of its placeholders, with commas between them.
    fn values(&self) -> SqlStatement {
        let mut parts: Vec<Part> = Vec::new();
        for value in self.parts.iter().filter(|part| matches!(part, Part::Value { .. } | Part::List { .. })) {
            if !parts.is_empty() {
                parts.push(Part::Text(", ".to_owned()));
            }
            parts.push(value.clone());
        }
        SqlStatement { parts, draws: Vec::new() }
    }

    /// The statement with its values as text, at the end of a buffer.
    #[inline]
    fn push_text(
        &self,
        table: &TableName,
        parameters: &mut Parameters,
        random: &mut Xoshiro256PlusPlus,
        out: &mut Vec<u8>,
    ) {
        for part in &self.parts {
            match *part {
                Part::Text(ref text) => out.extend_from_slice(text.as_bytes()),
                Part::Table => out.extend_from_slice(table.name.as_bytes()),
                Part::Number => push_number(out, i64::from(table.number)),
                Part::Value { parameter, plus, written: Written::Number } => {
                    push_number(out, parameters.number(parameter).wrapping_add(plus));
                }
                Part::Value { parameter, written: Written::Quoted, .. } => {
                    out.push(b'\'');
                    out.extend_from_slice(parameters.text(parameter));
                    out.push(b'\'');
                }
                Part::List { parameter, count, written } => {
                    for place in 0..count {
                        if place > 0 {
                            out.extend_from_slice(b", ");
                        }
                        match written {
                            Written::Number => push_number(out, parameters.fresh(parameter, place, random)),
                            Written::Quoted => {
                                out.push(b'\'');
                                parameters.push_fresh_text(parameter, out, random);
                                out.push(b'\'');
                            }
                        }
                    }
                }
                Part::Rows { ref row, count } => {
                    for place in 0..count {
                        if place > 0 {
                            out.extend_from_slice(b", ");
                        }
                        row.draw(parameters, random);
                        row.push_text(table, parameters, random, out);
                    }
                }
            }
        }
    }
}

/// Whether the piece at `place` is a value that stands alone between quotes.
fn is_quoted(pieces: &[Piece], place: usize) -> bool {
    let text = |place: usize| match pieces.get(place) {
        Some(Piece::Text(text)) => text.as_str(),
        _ => "",
    };
    let is_value = matches!(pieces.get(place), Some(Piece::Value { .. } | Piece::List { .. }));
    is_value && place > 0 && text(place - 1).ends_with('\'') && text(place + 1).starts_with('\'')
}

#[cfg(test)]
mod tests;
