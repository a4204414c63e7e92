//! Sequences: the steps that several workloads share. What several sequences share in turn, they name: a sequence with tables and
//! transactions as their `definitions`, or one whose steps they have with transactions of their own, `steps_of`.

use super::WorkloadError;
use super::file::{StepEntry, read};
use super::sql_file::{SchemaEntry, SqlParts, TransactionEntry};
use crate::names;
use crate::workload::sql::Parameter;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Sequences by their names: the text of each.
pub type Sequences<'a> = &'a [(&'a str, &'a str)];

/// A file of a sequence.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SequenceFile {
    #[serde(rename = "description")]
    _description: String,
    /// The name of the sequence that has the tables and transactions, instead of ones of its own.
    definitions: Option<String>,
    /// The name of the sequence that has the steps, instead of ones of its own.
    steps_of: Option<String>,
    schema: Option<SchemaEntry>,
    #[serde(default)]
    parameters: BTreeMap<String, Parameter>,
    #[serde(default, rename = "transaction")]
    transactions: Vec<TransactionEntry>,
    #[serde(default, rename = "step")]
    steps: Vec<StepEntry>,
}

impl SequenceFile {
    fn sql(self) -> SqlParts {
        SqlParts { schema: self.schema, parameters: self.parameters, transactions: self.transactions }
    }
}

/// What a sequence gives to a workload that names it.
pub(super) struct Sequence {
    pub(super) steps: Vec<StepEntry>,
    pub(super) sql: SqlParts,
    /// Its definitions and steps, as they stand in a workload that names no sequence.
    pub(super) text: String,
}

impl Sequence {
    /// The sequence of this name; `invalid` makes an error of what is wrong with the key that has the name.
    pub(super) fn named(
        name: &str,
        sequences: Sequences<'_>,
        invalid: &dyn Fn(&str, String) -> WorkloadError,
    ) -> Result<Sequence, WorkloadError> {
        let (text, mut file) = file_of("sequence", name, sequences, invalid)?;
        let mut text = ["description", "definitions", "steps_of"]
            .iter()
            .fold(text.to_owned(), |text, key| without(&text, key));
        let mut steps = std::mem::take(&mut file.steps);
        if let Some(other) = file.steps_of.take() {
            if !steps.is_empty() {
                let problem = format!("the sequence `{name}` has steps of its own beside those of `{other}`");
                return Err(invalid("steps_of", problem));
            }
            let (of_steps, other) = file_of("steps_of", &other, sequences, invalid)?;
            steps = other.steps;
            text = format!("{}\n\n{}", text.trim_end(), from_first_step(of_steps));
        }
        let Some(shared) = file.definitions.take() else {
            return Ok(Sequence { steps, sql: file.sql(), text: text.trim_start().to_owned() });
        };
        if !file.sql().is_empty() {
            let problem = format!(
                "the sequence `{name}` has tables or transactions of its own beside those of `{shared}`"
            );
            return Err(invalid("definitions", problem));
        }
        let (definitions, file) = file_of("definitions", &shared, sequences, invalid)?;
        let text = format!("{}\n{}", without(definitions, "description").trim_start(), text.trim_start());
        Ok(Sequence { steps, sql: file.sql(), text })
    }
}

fn file_of<'a>(
    key: &str,
    name: &str,
    sequences: Sequences<'a>,
    invalid: &dyn Fn(&str, String) -> WorkloadError,
) -> Result<(&'a str, SequenceFile), WorkloadError> {
    let known = sequences.iter().map(|(known, _)| *known);
    let (_, text) = sequences
        .iter()
        .find(|(known, _)| *known == name)
        .ok_or_else(|| invalid(key, format!("there is no sequence `{name}`{}", names::hint(name, known))))?;
    Ok((*text, read(text, &format!("sequence {name}"))?))
}

/// The part of a sequence's text that has its steps, which are its last part.
fn from_first_step(text: &str) -> String {
    let lines = text.lines().skip_while(|line| line.trim() != "[[step]]");
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// A text without the line that has this key.
pub(super) fn without(text: &str, key: &str) -> String {
    let is_key = |line: &str| line.split('=').next().is_some_and(|before| before.trim() == key);
    text.lines().filter(|line| !is_key(line)).flat_map(|line| [line, "\n"]).collect()
}
