//! Work on servers as data: the tables, the statements of a transaction, and what is put into them.
//!
//! A statement is a template: text with places in braces. `{table}` is the table of the event, `{number}` its number;
//! every other name is a parameter that the file defines: `{id}` one value, `{from+99}` the same value plus 99,
//! `{id*10}` ten fresh values, separated by commas. `{row*10}` are ten fresh rows as the load inserts them.
//!
//! Of MongoDB a table is a collection, a row a document, and a statement a command as JSON, where a place is all of a string: `{"find":
//! "{table}", "filter": {"_id": "{id}"}}`. `{id*10}` becomes an array there.

mod template;

pub use template::{Piece, ROW, Template};

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// What a server speaks: which protocol, which spelling of statements and of placeholders.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, strum::IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Dialect {
    Postgres,
    Mysql,
    /// Commands in place of SQL.
    Mongodb,
}

impl Dialect {
    /// Every one.
    pub const ALL: [Dialect; 3] = [Dialect::Postgres, Dialect::Mysql, Dialect::Mongodb];

    /// The name in workload and engine files.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The tables of a workload: all alike but for their number, which counts from 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tables {
    pub count: u32,
    /// Rows of each after the load.
    pub rows: u64,
    /// The name before the number: `sbtest`.
    pub prefix: String,
    /// The statements that make one table, by dialect; `{storage}` is the storage engine.
    pub create: BTreeMap<Dialect, Vec<Template>>,
    /// The start of a statement that inserts rows: `INSERT INTO {table} (k, c, pad) VALUES`.
    pub insert: Template,
    /// One row of it: `({k}, '{c}', '{pad}')`, always written into the text.
    pub row: Template,
    /// What is built on each table when its rows are in.
    pub index: Vec<Template>,
    /// Rows of one INSERT of the load; as many as 256 KiB hold where absent.
    #[serde(default)]
    pub insert_rows: Option<u64>,
    /// Bytes of a row, keys and values, that figures of size rest on; those of sysbench's rows where absent.
    #[serde(default)]
    pub row_bytes: Option<u32>,
    /// The column whose number is greater in each row than in all rows before it: by it the oldest and the newest row
    /// are known. Absent where no parameter asks.
    #[serde(default)]
    pub id: Option<String>,
    /// Every parameter of rows and statements, by name.
    pub parameters: BTreeMap<String, Parameter>,
}

impl Tables {
    /// The name of table `number`.
    pub fn name(&self, number: u32) -> String {
        format!("{}{number}", self.prefix)
    }

    /// The names of all tables.
    pub fn names(&self) -> Vec<String> {
        (1..=self.count).map(|number| self.name(number)).collect()
    }
}

/// A value that is drawn for a statement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Parameter {
    #[serde(flatten)]
    pub draw: Draw,
    /// How long a value holds.
    #[serde(default)]
    pub per: Holds,
}

/// How a value is drawn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "draw")]
pub enum Draw {
    /// A whole number, each of the range alike.
    Uniform { low: Bound, high: Bound },
    /// A whole number by Zipf's law: the n-th of the range has a weight of 1 / n^exponent.
    Zipfian { low: Bound, high: Bound, exponent: f64 },
    /// Always this number. A list counts up from it.
    Constant { value: Bound },
    /// Groups of random digits joined by `-`, as sysbench fills its columns.
    Digits {
        groups: u32,
        /// Digits of a group.
        of: u32,
    },
    /// Letters `a`, and after them random letters and digits: what the Insert Benchmark fills its column with.
    Text {
        least: u32,
        /// The greatest; each from the least on alike.
        most: u32,
        /// The part of it that is random, in percent, rounded down to whole letters.
        random_percent: f64,
    },
    /// The date and time of this moment to the second, as text: `2026-11-26 05:49:48`, in UTC.
    Now,
    /// The id of the oldest row that is left in the table: where rows are deleted in the order in which they came.
    Oldest,
    /// An id between those of the oldest and of the newest row, each alike; the row may be gone meanwhile.
    Existing,
    /// The id of the next row of the table, from 1 on: for servers that number no rows themselves.
    Next,
    /// The value that another parameter holds, times a number, and a whole number of the range added to it: the price of a customer.
    Near { of: String, times: u32, low: u32, high: u32 },
    /// This moment, in milliseconds since 1970.
    NowMs,
    /// A moment between the client's start and now, each alike, in milliseconds since 1970.
    EarlierMs,
}

impl Draw {
    /// Whether the value is a number, else it is a text.
    pub fn is_number(&self) -> bool {
        match self {
            Draw::Uniform { .. }
            | Draw::Zipfian { .. }
            | Draw::Constant { .. }
            | Draw::Oldest
            | Draw::Existing
            | Draw::Next
            | Draw::Near { .. }
            | Draw::NowMs
            | Draw::EarlierMs => true,
            Draw::Digits { .. } | Draw::Text { .. } | Draw::Now => false,
        }
    }

    /// Whether it depends on which rows there are at that moment.
    pub fn needs_id(&self) -> bool {
        matches!(self, Draw::Oldest | Draw::Existing | Draw::Next)
    }
}

/// How long a drawn value holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Holds {
    /// For one statement: wherever its name stands in it without a count.
    #[default]
    Statement,
    /// For all statements of an event.
    Transaction,
}

/// An end of a range: a number, or one that goes with the rows of a table: `rows`, `rows/2`, `rows/2+1`, `rows-99`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "BoundText", into = "BoundText")]
pub struct Bound {
    /// Whether it goes with the rows, and by what they are divided.
    rows_divided_by: Option<u64>,
    plus: i64,
}

/// A bound as it stands in a file.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum BoundText {
    Number(i64),
    Text(String),
}

impl Bound {
    /// A plain number.
    pub fn number(number: i64) -> Bound {
        Bound { rows_divided_by: None, plus: number }
    }

    /// The number for tables of so many rows, at least 0.
    pub fn resolve(self, rows: u64) -> u64 {
        let base = self.rows_divided_by.map_or(0, |divisor| rows / divisor);
        base.saturating_add_signed(self.plus)
    }
}

impl TryFrom<BoundText> for Bound {
    type Error = String;

    fn try_from(text: BoundText) -> Result<Bound, String> {
        let text = match text {
            BoundText::Number(number) => return Ok(Bound::number(number)),
            BoundText::Text(text) => text,
        };
        let error = || format!("`{text}` is no bound; write a number, \"rows\", \"rows/2\" or \"rows/2+1\"");
        let rest = text.strip_prefix("rows").ok_or_else(error)?;
        let (divisor, rest) = match rest.strip_prefix('/') {
            None => (1, rest),
            Some(rest) => {
                let digits = rest.find(['+', '-']).unwrap_or(rest.len());
                (rest[..digits].parse().map_err(|_| error())?, &rest[digits..])
            }
        };
        if divisor == 0 {
            return Err(error());
        }
        let plus = if rest.is_empty() { 0 } else { rest.parse().map_err(|_| error())? };
        Ok(Bound { rows_divided_by: Some(divisor), plus })
    }
}

impl From<Bound> for BoundText {
    fn from(bound: Bound) -> BoundText {
        let Some(divisor) = bound.rows_divided_by else { return BoundText::Number(bound.plus) };
        let divided = if divisor == 1 { String::new() } else { format!("/{divisor}") };
        let plus = if bound.plus == 0 { String::new() } else { format!("{:+}", bound.plus) };
        BoundText::Text(format!("rows{divided}{plus}"))
    }
}

/// One event of a step: the statements that are sent one after another, each waited for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Transaction {
    /// Whether the statements stand between BEGIN and COMMIT; else each commits for itself.
    #[serde(default)]
    pub begin: bool,
    /// Which table an event is about.
    #[serde(default)]
    pub table: TableChoice,
    /// Whether statements are prepared once by the server and then executed; else their text is sent each time.
    #[serde(default = "crate::yes")]
    pub prepared: bool,
    /// Whether an event sends only one of the statements, each alike; else all.
    #[serde(default)]
    pub one_of: bool,
    /// What one operation is.
    #[serde(default)]
    pub counts: Counts,
    pub statements: Vec<Statement>,
}

/// What the operations of an event are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Counts {
    /// Its statements, BEGIN and COMMIT included: what Small Datum calls queries.
    #[default]
    Statements,
    /// The rows that its statements say they change or return: what the Insert Benchmark counts.
    Rows,
}

impl Transaction {
    /// Operations that one event is in this dialect.
    pub fn operations(&self, dialect: Dialect) -> u64 {
        let of_each = self.statements_in(dialect).map(|statement| match (self.counts, statement.rows) {
            (Counts::Statements, _) => u64::from(statement.repeat),
            (Counts::Rows, Some(RowsExpected::Exactly(rows))) => u64::from(statement.repeat) * rows,
            // Refused when the file is read.
            (Counts::Rows, Some(RowsExpected::Between(_)) | None) => 0,
        });
        if self.one_of {
            return of_each.max().unwrap_or(0);
        }
        let borders = if self.begin && self.counts == Counts::Statements { 2 } else { 0 };
        of_each.sum::<u64>() + borders
    }

    /// The statements that a server of this dialect is sent.
    pub fn statements_in(&self, dialect: Dialect) -> impl Iterator<Item = &Statement> {
        self.statements.iter().filter(move |one| one.only.is_none_or(|only| only == dialect))
    }

    /// Whether a statement changes rows.
    pub fn writes(&self) -> bool {
        self.statements.iter().any(Statement::writes)
    }
}

/// Which table an event is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TableChoice {
    /// Each alike, drawn for each event.
    #[default]
    Any,
    /// Each alike, drawn for each statement that does not say `same_table`.
    Each,
    /// That of the client's own number, from the first again after the last.
    OfClient,
}

/// One statement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    pub sql: Template,
    /// How often it is sent, with fresh values each time.
    #[serde(default = "once")]
    pub repeat: u32,
    /// The dialect that it is for; every one where absent.
    pub only: Option<Dialect>,
    /// Rows that it must return or change; not checked where absent.
    pub rows: Option<RowsExpected>,
    /// Whether it is about the table of the statement before it, where each has its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub same_table: bool,
}

fn once() -> u32 {
    1
}

impl Statement {
    /// Whether it changes rows: it does not begin with SELECT, nor is a command that reads.
    pub fn writes(&self) -> bool {
        !["select", "find", "aggregate", "count", "distinct"].contains(&self.first_word().as_str())
    }

    /// Whether it makes rows, or takes them away.
    pub fn changes(&self) -> Changes {
        match self.first_word().as_str() {
            "insert" => Changes::Inserts,
            "delete" => Changes::Deletes,
            _ => Changes::Nothing,
        }
    }

    /// In lower case; of a command its name, which is its first key.
    fn first_word(&self) -> String {
        let text = match self.sql.0.first() {
            Some(Piece::Text(text)) => {
                text.trim_start_matches(|one: char| one.is_whitespace() || "{\"".contains(one))
            }
            _ => "",
        };
        let end = text.find(|one: char| !one.is_ascii_alphanumeric()).unwrap_or(text.len());
        text[..end].to_ascii_lowercase()
    }
}

/// What a statement does to the number of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changes {
    Nothing,
    /// It grows by the rows of the answer.
    Inserts,
    /// It shrinks by them.
    Deletes,
}

/// How many rows a statement returns or changes: a number, or the least and the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RowsExpected {
    Exactly(u64),
    /// Any number from the first to the second.
    Between([u64; 2]),
}

impl RowsExpected {
    /// Whether so many rows are a right answer.
    pub fn allows(self, rows: u64) -> bool {
        match self {
            RowsExpected::Exactly(expected) => rows == expected,
            RowsExpected::Between([least, most]) => (least..=most).contains(&rows),
        }
    }
}

impl fmt::Display for RowsExpected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RowsExpected::Exactly(rows) => write!(f, "{rows}"),
            RowsExpected::Between([least, most]) => write!(f, "{least} to {most}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(text: &str) -> Template {
        Template::try_from(text.to_owned()).unwrap()
    }

    #[test]
    fn a_bound_goes_with_the_rows() {
        let bound = |text: &str| serde_json::from_str::<Bound>(&format!("\"{text}\"")).unwrap();
        let written = |text: &str| serde_json::to_string(&bound(text)).unwrap();
        for (text, of_1000) in [("rows", 1000), ("rows/2", 500), ("rows/2+1", 501), ("rows-99", 901)] {
            assert_eq!(bound(text).resolve(1000), of_1000, "{text}");
            assert_eq!(written(text), format!("\"{text}\""));
        }
        assert_eq!(bound("rows-99").resolve(10), 0, "never below zero");
        assert_eq!(serde_json::from_str::<Bound>("7").unwrap(), Bound::number(7));
        assert!(serde_json::from_str::<Bound>("\"row\"").is_err());
        assert!(serde_json::from_str::<Bound>("\"rows/0\"").is_err());
    }

    #[test]
    fn what_a_statement_changes_is_told_by_its_first_word() {
        let of = |sql: &str| Statement {
            sql: template(sql),
            repeat: 1,
            only: None,
            rows: None,
            same_table: false,
        };
        let changes =
            ["\tINSERT INTO t", r#"{"insert": "t"}"#, "delete from t", r#"{ "delete": "t"}"#, "selected"];
        use Changes::{Deletes, Inserts, Nothing};
        assert_eq!(changes.map(|sql| of(sql).changes()), [Inserts, Inserts, Deletes, Deletes, Nothing]);
        let writes = [
            "\n SELECT 1",
            r#"{"find": "t"}"#,
            r#"{"findAndModify": "t"}"#,
            r#"{"update": "t"}"#,
            "(SELECT 1)",
        ];
        assert_eq!(writes.map(|sql| of(sql).writes()), [false, false, true, true, true]);
    }

    #[test]
    fn queries_count_as_the_posts_count_them() {
        let statement = |sql: &str, repeat: u32, only: Option<Dialect>| Statement {
            sql: template(sql),
            repeat,
            only,
            rows: None,
            same_table: false,
        };
        let mut read_only = Transaction {
            begin: true,
            table: TableChoice::Any,
            prepared: true,
            one_of: false,
            counts: Counts::Statements,
            statements: vec![
                statement("SELECT c FROM {table} WHERE id = {id}", 10, None),
                statement(" select 1", 4, None),
            ],
        };
        assert_eq!(read_only.operations(Dialect::Postgres), 16);
        assert!(!read_only.writes());
        read_only.statements.push(statement("DELETE FROM {table}", 1, Some(Dialect::Mysql)));
        assert!(read_only.writes());
        assert_eq!((read_only.operations(Dialect::Postgres), read_only.operations(Dialect::Mysql)), (16, 17));
    }
}
