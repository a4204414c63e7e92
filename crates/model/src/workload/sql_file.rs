//! What workload files and sequences say of servers: schema, parameters, transactions; checked against each other.

use super::Operation;
use super::sql::{
    Counts, Dialect, Draw, Holds, Parameter, ROW, RowsExpected, Statement, TableChoice, Tables, Template,
    Transaction,
};
use crate::limits::{MOST_KEYS, MOST_TABLES};
use crate::names;
use serde::Deserialize;
use std::collections::BTreeMap;

/// How many tables, of how many rows.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TablesEntry {
    count: u32,
    rows: u64,
}

/// What a table looks like.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SchemaEntry {
    prefix: String,
    create: BTreeMap<Dialect, Vec<Template>>,
    insert: Template,
    row: Template,
    #[serde(default)]
    index: Vec<Template>,
    insert_rows: Option<u64>,
    row_bytes: Option<u32>,
    id: Option<String>,
}

/// A transaction with its name. `$NAME` in a statement stands for what a step gives under `with`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TransactionEntry {
    name: String,
    #[serde(default)]
    begin: bool,
    #[serde(default)]
    table: TableChoice,
    #[serde(default = "crate::yes")]
    prepared: bool,
    #[serde(default)]
    one_of: bool,
    #[serde(default)]
    counts: Counts,
    statements: Vec<StatementEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StatementEntry {
    sql: String,
    #[serde(default = "once")]
    repeat: u32,
    only: Option<Dialect>,
    rows: Option<RowsEntry>,
    #[serde(default)]
    same_table: bool,
}

fn once() -> u32 {
    1
}

/// `rows = 1`, `rows = [1, 100]`, `rows = [1, "$points"]`.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum RowsEntry {
    One(Count),
    Between([Count; 2]),
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Count {
    Number(u64),
    Text(String),
}

/// The parts of a workload that are of servers only.
pub(super) struct SqlParts {
    pub schema: Option<SchemaEntry>,
    pub parameters: BTreeMap<String, Parameter>,
    pub transactions: Vec<TransactionEntry>,
}

impl SqlParts {
    pub(super) fn is_empty(&self) -> bool {
        self.schema.is_none() && self.parameters.is_empty() && self.transactions.is_empty()
    }

    /// The tables; the error with its place.
    pub(super) fn tables(&self, entry: &TablesEntry) -> Result<Tables, (String, String)> {
        let Some(schema) = &self.schema else {
            return Err((
                "schema".to_owned(),
                "`tables` need a `schema` that says how to make them".to_owned(),
            ));
        };
        for (key, value, most) in
            [("count", u64::from(entry.count), u64::from(MOST_TABLES)), ("rows", entry.rows, MOST_KEYS)]
        {
            if !(1..=most).contains(&value) {
                return Err(("tables".to_owned(), format!("{key} is {value}, must be 1 to {most}")));
            }
        }
        let templates = schema.create.values().flatten().chain(&schema.index);
        if let Some(name) = templates.flat_map(Template::parameters).next() {
            let problem = format!("`{{{name}}}`: a table is made without parameters");
            return Err(("schema".to_owned(), problem));
        }
        let of_schema = |problem: String| ("schema".to_owned(), problem);
        self.check_names(&schema.row).map_err(of_schema)?;
        let created = schema.create.values().flatten();
        for template in created.chain([&schema.row, &schema.insert]).chain(&schema.index) {
            self.check_json(template).map_err(of_schema)?;
        }
        if schema.row.has_rows() {
            return Err(of_schema(format!("`{{{ROW}}}` refers to itself")));
        }
        if schema.insert_rows == Some(0) || !(9..=1 << 20).contains(&schema.row_bytes.unwrap_or(9)) {
            return Err(of_schema("insert_rows must be at least 1, and row_bytes 9 to 1048576".to_owned()));
        }
        if self.parameters.contains_key(ROW) {
            let problem = format!("no parameter can be called `{ROW}`: that name means a row of the schema");
            return Err(("parameters".to_owned(), problem));
        }
        if let (None, Some((name, _))) =
            (&schema.id, self.parameters.iter().find(|(_, parameter)| parameter.draw.needs_id()))
        {
            let problem = format!(
                "`{name}` depends on which rows exist: the schema must name the column that shows it, as in \
                 `id = \"id\"`"
            );
            return Err(("parameters".to_owned(), problem));
        }
        for (name, parameter) in &self.parameters {
            if parameter.draw == Draw::Next && parameter.per == Holds::Transaction {
                let problem = format!("`{name}` is the id of one row: it cannot hold for a transaction");
                return Err(("parameters".to_owned(), problem));
            }
            if let Draw::Near { of, .. } = &parameter.draw
                && self.parameters.get(of).is_none_or(|of| {
                    !of.draw.is_number() || matches!(of.draw, Draw::Near { .. }) || of.per != parameter.per
                })
            {
                let problem = format!(
                    "`{name}` is near `{of}`, which must be another parameter: a number that holds as long and is near no other"
                );
                return Err(("parameters".to_owned(), problem));
            }
        }
        Ok(Tables {
            count: entry.count,
            rows: entry.rows,
            prefix: schema.prefix.clone(),
            create: schema.create.clone(),
            insert: schema.insert.clone(),
            row: schema.row.clone(),
            index: schema.index.clone(),
            insert_rows: schema.insert_rows,
            row_bytes: schema.row_bytes,
            id: schema.id.clone(),
            parameters: self.parameters.clone(),
        })
    }

    /// The transaction of this name, with what a step puts into it.
    pub(super) fn transaction(
        &self,
        name: Option<&str>,
        with: &BTreeMap<String, u64>,
    ) -> Result<Operation, String> {
        let name = name.ok_or("the operation transaction needs `transaction`, the name of one")?;
        let known = self.transactions.iter().map(|entry| entry.name.as_str());
        let hint = names::hint(name, known);
        let entry = self
            .transactions
            .iter()
            .find(|entry| entry.name == name)
            .ok_or_else(|| format!("there is no transaction `{name}`{hint}"))?;
        let statements: Vec<Statement> = entry
            .statements
            .iter()
            .map(|statement| self.statement(statement, with))
            .collect::<Result<_, _>>()?;
        if statements.is_empty() {
            return Err(format!("the transaction `{name}` has no statement"));
        }
        let transaction = Transaction {
            begin: entry.begin,
            table: entry.table,
            prepared: entry.prepared,
            one_of: entry.one_of,
            counts: entry.counts,
            statements,
        };
        check_transaction(&transaction).map_err(|problem| format!("the transaction `{name}`: {problem}"))?;
        Ok(Operation::Transaction(Box::new(transaction)))
    }

    fn statement(&self, entry: &StatementEntry, with: &BTreeMap<String, u64>) -> Result<Statement, String> {
        let sql = Template::try_from(filled_in(&entry.sql, with)?)?;
        self.check_names(&sql)?;
        self.check_json(&sql)?;
        if entry.repeat == 0 {
            return Err(format!("`{sql}` is repeated 0 times; it must be at least 1"));
        }
        let count = |count: &Count| match count {
            Count::Number(number) => Ok(*number),
            Count::Text(text) => {
                let filled = filled_in(text, with)?;
                filled.parse().map_err(|_| format!("rows: `{filled}` is no whole number"))
            }
        };
        let rows = match &entry.rows {
            None => None,
            Some(RowsEntry::One(one)) => Some(RowsExpected::Exactly(count(one)?)),
            Some(RowsEntry::Between([least, most])) => {
                Some(RowsExpected::Between([count(least)?, count(most)?]))
            }
        };
        Ok(Statement { sql, repeat: entry.repeat, only: entry.only, rows, same_table: entry.same_table })
    }

    /// Of a workload for MongoDB alone each text is a document of JSON.
    fn check_json(&self, template: &Template) -> Result<(), String> {
        let Some(schema) = &self.schema else { return Ok(()) };
        if !schema.create.keys().eq([&Dialect::Mongodb]) {
            return Ok(());
        }
        let text = template.to_string();
        match serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&text) {
            Ok(_) if text.contains("\\u0000") => {
                Err(format!("`{text}` has a zero, which no name or text of BSON can have"))
            }
            Ok(_) => Ok(()),
            Err(error) => Err(format!("`{text}` is no document of JSON: {error}")),
        }
    }

    fn check_names(&self, template: &Template) -> Result<(), String> {
        match template.parameters().find(|name| !self.parameters.contains_key(*name)) {
            None => Ok(()),
            Some(name) => {
                let hint = names::hint(name, self.parameters.keys().map(String::as_str));
                Err(format!("there is no parameter `{name}`{hint}, in `{template}`"))
            }
        }
    }
}

fn check_transaction(transaction: &Transaction) -> Result<(), String> {
    for statement in &transaction.statements {
        if transaction.prepared && statement.sql.has_rows() {
            return Err(format!("`{{{ROW}*..}}` is sent as text only: say `prepared = false`"));
        }
        if transaction.counts == Counts::Rows && !matches!(statement.rows, Some(RowsExpected::Exactly(1..))) {
            return Err("where rows are counted, each statement says how many, as in `rows = 50`".to_owned());
        }
    }
    if !transaction.one_of {
        return Ok(());
    }
    // An event must be as many operations as the next.
    let alike = Dialect::ALL.into_iter().all(|dialect| {
        let mut counts =
            transaction.statements_in(dialect).map(|statement| (statement.repeat, statement.rows));
        counts.next().is_none_or(|first| {
            counts.all(|(repeat, rows)| {
                repeat == first.0 && (transaction.counts == Counts::Statements || rows == first.1)
            })
        })
    });
    match (transaction.begin, alike) {
        (true, _) => Err("`one_of` and `begin` exclude each other".to_owned()),
        (false, false) => {
            Err("with `one_of` all statements must count as the same number of operations".to_owned())
        }
        (false, true) => Ok(()),
    }
}

/// A text with what stands for each `$NAME` in its place. In JSON a name that the step does not give is MongoDB's: `$gte`.
fn filled_in(text: &str, with: &BTreeMap<String, u64>) -> Result<String, String> {
    let is_json = text.trim_start().starts_with('{');
    let mut parts = text.split('$');
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|one: char| !(one.is_ascii_alphanumeric() || one == '_')).unwrap_or(part.len());
        let (name, rest) = part.split_at(end);
        match with.get(name) {
            Some(value) => filled.push_str(&value.to_string()),
            None if is_json => filled.push_str(&format!("${name}")),
            None => {
                return Err(format!("`${name}` in `{text}` has no value: the step gives it under `with`"));
            }
        }
        filled.push_str(rest);
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::super::Workload;
    use super::*;

    const TEXT: &str = r#"
name = "own"
engine = "sql"
description = "d"
tells = "t"
does_not_tell = "n"
memory = "256 MB"

[tables]
count = 2
rows = 1000

[schema]
prefix = "t"
insert = "INSERT INTO {table} (v) VALUES"
row = "({v})"
index = ["CREATE INDEX v_{number} ON {table} (v)"]
create.postgres = ["CREATE TABLE {table} (id SERIAL PRIMARY KEY, v INTEGER)"]
create.mysql = ["CREATE TABLE {table} (id INTEGER AUTO_INCREMENT PRIMARY KEY, v INTEGER) ENGINE = {storage}"]

[parameters]
id = { draw = "uniform", low = 1, high = "rows" }
v = { draw = "uniform", low = 1, high = 9, per = "transaction" }

[[transaction]]
name = "points"
statements = [{ sql = "SELECT v FROM {table} WHERE id IN ({id*$points})", rows = [1, "$points"] }]

[[step]]
name = "load"
group = "writes"
operation = "load-tables"

[[step]]
name = "points_10"
group = "point-2"
operation = "transaction"
transaction = "points"
with = { points = 10 }
"#;

    #[test]
    fn a_users_own_statements_are_a_workload() {
        let workload = Workload::parse(TEXT, "test").unwrap();
        assert_eq!(workload.data.keys, 2000);
        let Operation::Transaction(points) = &workload.steps[1].operation else { panic!("no transaction") };
        assert_eq!(points.statements[0].sql.to_string(), "SELECT v FROM {table} WHERE id IN ({id*10})");
        assert_eq!(points.statements[0].rows, Some(RowsExpected::Between([1, 10])));
        assert!(!workload.steps[1].writes() && workload.steps[0].writes());
        let wire = serde_json::to_string(&workload).unwrap();
        assert_eq!(serde_json::from_str::<Workload>(&wire).unwrap(), workload);
    }

    #[test]
    fn in_json_only_names_that_the_step_gives_are_filled_in() {
        let with = BTreeMap::from([("n".to_owned(), 5)]);
        let filled = |text: &str| filled_in(text, &with);
        assert_eq!(
            filled(r#"{"a": {"$gte": "{id+$n}"}, "limit": $n}"#).unwrap(),
            r#"{"a": {"$gte": "{id+5}"}, "limit": 5}"#
        );
        assert_eq!(filled(r#"{"a": "$$ROOT", "b.$[]": 1}"#).unwrap(), r#"{"a": "$$ROOT", "b.$[]": 1}"#);
        assert!(filled("LIMIT $m").is_err());
    }

    #[test]
    fn mistakes_are_named() {
        let check = |from: &str, to: &str, expected: &str| {
            assert!(TEXT.contains(from), "{from}");
            let error = Workload::parse(&TEXT.replacen(from, to, 1), "test").unwrap_err();
            let shown = format!("{error} {:?}", std::error::Error::source(&error).map(ToString::to_string));
            assert!(shown.contains(expected), "{shown}");
        };
        check("{id*$points}", "{ids}", "there is no parameter `ids`");
        check("with = { points = 10 }", "", "`$points`");
        check("transaction = \"points\"", "transaction = \"point\"", "did you mean `points`?");
        check("transaction = \"points\"", "", "needs `transaction`");
        check("row = \"({v})\"", "row = \"({w})\"", "there is no parameter `w`");
        check("rows = 1000", "rows = 0", "rows is 0, must be 1 to 1000000000000");
        check("rows = 1000", "rows = 1000000000001", "rows is 1000000000001, must be 1 to");
        check("count = 2", "count = 10001", "count is 10001, must be 1 to 10000");
        let many = "count = 3\nrows = 400000000000";
        check("count = 2\nrows = 1000", many, "keys (rows of all tables) is 1200000000000");
        check("operation = \"load-tables\"", "operation = \"fill-random\"", "goes with `tables`");
        check("[tables]\ncount = 2\nrows = 1000", "", "either `data`");
        check("256 MB", "256 XB", "memory");
        check("per = \"transaction\"", "per = \"life\"", "unknown variant");
    }
}
