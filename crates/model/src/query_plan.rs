//! How a SQL server runs a statement: the plan of its optimiser, as the server tells it and without what changes by itself.

use serde::{Deserialize, Serialize};

/// The plan of one statement of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueryPlan {
    /// With placeholders for its values.
    pub statement: String,
    /// A line for each node, without costs, estimated rows and values, so that equal plans are equal whatever the release and the rows drawn.
    /// None if nothing is planned, as of INSERT ... VALUES, and if the server refused.
    pub nodes: Vec<String>,
    /// As the server tells it, in each form that it has.
    pub texts: Vec<PlanText>,
    /// Why the server does not explain the statement; absent if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// A plan as a server tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanText {
    pub form: PlanForm,
    pub text: String,
}

/// A form of EXPLAIN's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum PlanForm {
    /// The lines of Postgres.
    Text,
    /// The rows of MySQL and MariaDB, one a line.
    Table,
    /// FORMAT=TREE of MySQL from 8.0.16 on.
    Tree,
    /// FORMAT=JSON of MySQL and MariaDB.
    Json,
}

impl PlanForm {
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Plans as a text among what engines say of themselves.
pub fn to_text(plans: &[QueryPlan]) -> String {
    serde_json::to_string(plans).unwrap_or_default()
}

/// Those of a text; none if it is of another version.
pub fn of_text(text: &str) -> Vec<QueryPlan> {
    serde_json::from_str(text).unwrap_or_default()
}

/// A line of a plan without its values: numbers and quoted texts are `?`, and so are placeholders. Numbers that are part of a name stay.
pub fn without_values(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line.chars().peekable();
    let mut in_name = false;
    while let Some(character) = rest.next() {
        let starts_value = match character {
            '\'' => true,
            '$' | '0'..='9' => !in_name,
            _ => false,
        };
        if !starts_value {
            in_name = character.is_alphanumeric() || character == '_' || (in_name && character == '$');
            out.push(character);
            continue;
        }
        if character == '\'' {
            // A quote in a text is doubled.
            while let Some(inside) = rest.next() {
                if inside == '\'' && rest.next_if_eq(&'\'').is_none() {
                    break;
                }
            }
        } else {
            while rest.next_if(|next| next.is_ascii_digit() || *next == '.').is_some() {}
        }
        out.push('?');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_fall_away_and_names_stay() {
        let line = "  Index Cond: ((sbtest1.id >= 50101) AND (c = 'it''s 5'::bpchar) AND (k < $2))";
        assert_eq!(without_values(line), "  Index Cond: ((sbtest1.id >= ?) AND (c = ?::bpchar) AND (k < ?))");
        assert_eq!(without_values("(k = ANY ('{1,2}'::integer[]))"), "(k = ANY (?::integer[]))");
        assert_eq!(without_values("Filter: (a > 1.5)"), "Filter: (a > ?)");
        assert_eq!(without_values("'never ends"), "?");
        assert_eq!(without_values(""), "");
    }

    #[test]
    fn plans_are_read_back() {
        let plan = QueryPlan {
            statement: "SELECT 1".to_owned(),
            nodes: vec!["Result".to_owned()],
            texts: vec![PlanText { form: PlanForm::Text, text: "Result  (cost=0.00)".to_owned() }],
            refused: None,
        };
        assert_eq!(of_text(&to_text(std::slice::from_ref(&plan))), [plan]);
        assert_eq!(of_text("text of something else"), []);
    }
}
