//! EXPLAIN of Postgres.

use crate::sql::connection::Connection;
use crate::sql::error::SqlError;
use crate::sql::explain::{Asked, Told, lines};
use model::query_plan::{PlanForm, PlanText, without_values};

/// A prepared statement is planned for its values five times; from then on Postgres may keep one plan for all values.
const EXECUTIONS: usize = 6;

const NAME: &str = "dbdyno_explained";

/// Lines in which a number is no value of the statement.
const WITH_NUMBERS: [&str; 1] = ["Workers Planned:"];

/// Explains a statement as the step runs it: a prepared one as its sixth execution is planned.
pub fn explain(connection: &mut Connection, asked: &Asked) -> Result<Told, SqlError> {
    if !asked.prepared {
        return Ok(told(lines(&connection.read(&format!("EXPLAIN {}", asked.text))?)));
    }
    connection.run(&format!("PREPARE {NAME} AS {}", asked.statement))?;
    let values = if asked.values.is_empty() { String::new() } else { format!(" ({})", asked.values) };
    let explain = format!("EXPLAIN EXECUTE {NAME}{values}");
    let explained = (0..EXECUTIONS).map(|_| connection.read(&explain)).last().transpose();
    connection.run(&format!("DEALLOCATE {NAME}"))?;
    Ok(explained?.map(|rows| told(lines(&rows))).unwrap_or_default())
}

fn told(lines: Vec<String>) -> Told {
    let nodes = lines.iter().map(|line| node(line)).collect();
    Told { nodes, texts: vec![PlanText { form: PlanForm::Text, text: lines.join("\n") }] }
}

/// A line without costs and values.
fn node(line: &str) -> String {
    let line = line.split("  (cost=").next().unwrap_or_default();
    if WITH_NUMBERS.iter().any(|name| line.contains(name)) { line.to_owned() } else { without_values(line) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_and_values_are_no_part_of_a_plan() {
        let lines = [
            "Limit  (cost=0.29..8.30 rows=1 width=121)",
            "  ->  Index Scan using sbtest1_pkey on sbtest1  (cost=0.29..8.30 rows=1 width=121)",
            "        Index Cond: (id = 5011)",
            "        Workers Planned: 2",
        ];
        let told = told(lines.map(str::to_owned).to_vec());
        assert_eq!(
            told.nodes,
            [
                "Limit",
                "  ->  Index Scan using sbtest1_pkey on sbtest1",
                "        Index Cond: (id = ?)",
                "        Workers Planned: 2"
            ]
        );
        assert_eq!(told.texts[0].text, lines.join("\n"));
    }
}
