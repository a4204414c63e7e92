//! explain of MongoDB.

use super::bson::{self, Document, Value};
use super::{flattened, message_of, push_database};
use crate::sql::connection::Connection;
use crate::sql::error::{SqlError, WireError};
use crate::sql::explain::{Asked, Told};
use model::query_plan::{PlanForm, PlanText};

/// Commands that have a plan.
const PLANNED: [&str; 6] = ["find", "aggregate", "update", "delete", "count", "distinct"];
/// Parts of an answer that hold plans which are not the one.
const OTHER_PLANS: [&str; 3] = ["rejectedPlans", "slotBasedPlan", "command"];

/// A plan of MongoDB has at most so many documents in documents: 100 are all that it allows anywhere.
const MOST_DEPTH: usize = 100;

/// Explains a command with its values. One that has no plan, as an insert, has none.
pub fn explain(connection: &mut Connection, asked: &Asked) -> Result<Told, SqlError> {
    let failed = |connection: &Connection, source| connection.failed(&asked.statement, source);
    let parsed = Document::split(&asked.sent);
    let (command, _) = parsed.map_err(|source| failed(connection, source))?;
    let name = command.elements().next().transpose().map_err(|source| failed(connection, source))?;
    if !name.is_some_and(|(name, _)| PLANNED.contains(&name)) {
        return Ok(Told::default());
    }
    connection.read_answer(&asked.statement, |database| question(command, database), told)
}

/// The command without its database, which stands at its end, inside one that asks for the plan.
fn question(command: Document<'_>, database: &str) -> Vec<u8> {
    let mut of_database = Vec::new();
    push_database(&mut of_database, database);
    let elements = command.bytes().strip_suffix(of_database.as_slice()).unwrap_or(command.bytes());
    message_of(|out| {
        let inner = bson::open_document(out, "explain");
        out.extend_from_slice(elements);
        bson::close(out, inner);
        bson::push_text(out, "verbosity", |out| out.extend_from_slice(b"queryPlanner"));
        out.extend_from_slice(&of_database);
    })
}

/// What an answer to explain tells.
pub fn told(answer: Document<'_>) -> Result<Told, WireError> {
    let mut nodes = Vec::new();
    add_nodes(answer, [0, 0], &mut nodes)?;
    let lines: Vec<String> =
        flattened(answer)?.into_iter().map(|(name, value)| format!("{name} = {value}")).collect();
    Ok(Told { nodes, texts: vec![PlanText { form: PlanForm::Text, text: lines.join("\n") }] })
}

/// A line for each stage, in the order of the plan: its name and its index. The depth is that of documents, and then that of stages.
fn add_nodes(
    document: Document<'_>,
    [depth, level]: [usize; 2],
    nodes: &mut Vec<String>,
) -> Result<(), WireError> {
    if depth > MOST_DEPTH {
        return Ok(());
    }
    let mut below = level;
    if let Some(stage) = document.get("stage")?.and_then(Value::text) {
        let index = document.get("indexName")?.and_then(Value::text);
        let index = index.map(|index| format!(" {index}")).unwrap_or_default();
        nodes.push(format!("{}{stage}{index}", "  ".repeat(level)));
        below += 1;
    }
    for element in document.elements() {
        match element? {
            (name, _) if OTHER_PLANS.contains(&name) => {}
            (_, Value::Document(inner) | Value::Array(inner)) => {
                add_nodes(inner, [depth + 1, below], nodes)?;
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn stages_are_the_nodes_of_a_plan() {
        let answer = json!({ "explain": 1, "queryPlanner": {
            "winningPlan": { "stage": "LIMIT", "inputStage": {
                "stage": "FETCH", "inputStage": { "stage": "IXSCAN", "indexName": "pc", "keyPattern": { "price": 1 } }
            } },
            "rejectedPlans": [{ "stage": "COLLSCAN" }],
        }, "ok": 1 });
        let mut message = super::super::encoded(&answer, "bench");
        let body = message.split_off(super::super::HEADER + 5);
        let (document, _) = Document::split(&body).unwrap();
        let told = told(document).unwrap();
        assert_eq!(told.nodes, ["LIMIT", "  FETCH", "    IXSCAN pc"]);
        assert!(
            told.texts[0]
                .text
                .contains("queryPlanner.winningPlan.inputStage.inputStage.keyPattern.price = 1")
        );
    }

    #[test]
    fn the_question_has_the_command_without_its_database() {
        let command = super::super::encoded(&json!({ "find": "t", "filter": {} }), "bench");
        let (command, _) = Document::split(&command[super::super::HEADER + 5..]).unwrap();
        let question = question(command, "bench");
        let (question, _) = Document::split(&question[super::super::HEADER + 5..]).unwrap();
        let inner = question.get("explain").unwrap().unwrap().document().unwrap();
        assert_eq!(inner.get("find").unwrap().unwrap().text(), Some("t"));
        assert_eq!(inner.get("$db").unwrap(), None);
        assert_eq!(question.get("$db").unwrap().unwrap().text(), Some("bench"));
    }
}
