//! EXPLAIN of MySQL and MariaDB. Plans are compared by the rows that every release returns; the tree and the JSON, which differ from release to
//! release if nothing else does, are kept for readers.

use crate::sql::connection::{Connection, Rows};
use crate::sql::error::SqlError;
use crate::sql::explain::{Asked, Told, lines};
use crate::sql::facts::if_there;
use model::query_plan::{PlanForm, PlanText};

/// Each execution of a prepared statement is planned anew here, for its values. The form is named, for a server may have another one set.
const TABLE: &str = "EXPLAIN FORMAT=TRADITIONAL ";
/// Of servers that know no forms.
const PLAIN_TABLE: &str = "EXPLAIN ";
const FORMS: [(PlanForm, &str); 2] =
    [(PlanForm::Tree, "EXPLAIN FORMAT=TREE "), (PlanForm::Json, "EXPLAIN FORMAT=JSON ")];

/// What FORMAT=TREE says of a statement that it has no tree of.
const NO_TREE: &str = "<not executable by iterator executor>";

/// What releases before MySQL 5.7, and MariaDB, write for a statement that changes rows.
const PLAIN: &str = "SIMPLE";

/// Explains a statement by its text, in each form that the release knows.
pub fn explain(connection: &mut Connection, asked: &Asked) -> Result<Told, SqlError> {
    let rows = match connection.read(&format!("{TABLE}{}", asked.text)) {
        Err(error) if error.server_message().is_some() => {
            connection.read(&format!("{PLAIN_TABLE}{}", asked.text))?
        }
        other => other?,
    };
    let mut texts = vec![PlanText { form: PlanForm::Table, text: table(&rows) }];
    for (form, explain) in FORMS {
        // A release that does not know a form refuses it.
        let rows = if_there(connection.read(&format!("{explain}{}", asked.text)))?;
        let text = lines(&rows).join("\n");
        if !text.is_empty() && !text.contains(NO_TREE) {
            texts.push(PlanText { form, text });
        }
    }
    Ok(Told { nodes: nodes(&rows), texts })
}

/// A line for each table that is read: "SIMPLE sbtest1: range of PRIMARY (4 bytes) by const; Using where".
fn nodes(rows: &Rows) -> Vec<String> {
    let node = |row: &Vec<Option<String>>| {
        let of = |name: &str| value(rows, row, name);
        let kind = match of("select_type")? {
            // Rows that are only added: nothing is looked for.
            "INSERT" | "REPLACE" => return None,
            "UPDATE" | "DELETE" => PLAIN,
            kind => kind,
        };
        let mut line = format!("{kind} {}: {}", of("table")?, of("type").unwrap_or("no access"));
        if let Some(key) = of("key") {
            line.push_str(&format!(" of {key}"));
        }
        if let Some(bytes) = of("key_len") {
            line.push_str(&format!(" ({bytes} bytes)"));
        }
        if let Some(by) = of("ref") {
            line.push_str(&format!(" by {by}"));
        }
        if let Some(more) = of("Extra").filter(|more| !more.is_empty()) {
            line.push_str(&format!("; {more}"));
        }
        Some(line)
    };
    rows.rows.iter().filter_map(node).collect()
}

fn value<'a>(rows: &Rows, row: &'a [Option<String>], name: &str) -> Option<&'a str> {
    let place = rows.names.iter().position(|column| column == name)?;
    row.get(place)?.as_deref()
}

/// The rows as they are, `name: value` of what is not NULL.
fn table(rows: &Rows) -> String {
    let line = |row: &Vec<Option<String>>| {
        let cells = rows.names.iter().zip(row);
        let cells = cells.filter_map(|(name, value)| Some(format!("{name}: {}", value.as_ref()?)));
        cells.collect::<Vec<_>>().join(", ")
    };
    rows.rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(names: &str, values: &[&str]) -> Rows {
        let row = |line: &&str| line.split('|').map(|one| (one != "NULL").then(|| one.to_owned())).collect();
        Rows { names: names.split('|').map(str::to_owned).collect(), rows: values.iter().map(row).collect() }
    }

    #[test]
    fn one_plan_is_one_whatever_the_release_prints() {
        // As 5.6 and 8.0 print the same update.
        let old = rows(
            "id|select_type|table|type|possible_keys|key|key_len|ref|rows|Extra",
            &["1|SIMPLE|sbtest1|range|PRIMARY|PRIMARY|4|const|1|Using where"],
        );
        let new = rows(
            "id|select_type|table|partitions|type|possible_keys|key|key_len|ref|rows|filtered|Extra",
            &["1|UPDATE|sbtest1|NULL|range|PRIMARY|PRIMARY|4|const|1|100.00|Using where"],
        );
        assert_eq!(nodes(&new), ["SIMPLE sbtest1: range of PRIMARY (4 bytes) by const; Using where"]);
        assert_eq!(nodes(&old), nodes(&new));
        let insert = rows("id|select_type|table|type|Extra", &["1|INSERT|sbtest1|ALL|NULL"]);
        let insert_of_old = rows("id|select_type|table|type|Extra", &["1|SIMPLE|NULL|NULL|No tables used"]);
        assert!(nodes(&insert).is_empty() && nodes(&insert_of_old).is_empty());
        assert_eq!(table(&insert), "id: 1, select_type: INSERT, table: sbtest1, type: ALL");
    }
}
