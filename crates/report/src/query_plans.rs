//! Query plans that differ, side by side: in reports of a comparison and in explanations.

use crate::document::{Block, Kind, Sentence, Table};
use findings::query_plans::{PlanChange, PlanOfSide};
use model::figures::{count, first_of};
use serde_json::{Value, json};

/// Statements that stand in a sentence.
const MOST_NAMED: usize = 3;
/// Characters of a statement in a sentence.
const SHORT: usize = 60;

/// "The plan of 1 statement changed: `SELECT ..` (order-range).": absent if none did.
pub(crate) fn sentence(changes: &[PlanChange]) -> Option<Sentence> {
    let mut named: Vec<String> = changes
        .iter()
        .filter(|one| one.is_known())
        .map(|one| format!("`{}` in {}", shortened(&one.statement), one.step))
        .collect();
    named.sort_unstable();
    named.dedup();
    let number = count(named.len() as u64, "statement", "statements");
    let text =
        format!("{number} ran by another query plan than on the base: {}.", first_of(&named, MOST_NAMED));
    (!named.is_empty()).then_some(Sentence { verdict: None, text })
}

/// What is said of a case in short: "; another query plan of `SELECT ..`".
pub(crate) fn in_short(changes: &[PlanChange]) -> String {
    let mut known = changes.iter().filter(|one| one.is_known());
    known.next().map_or_else(String::new, |first| {
        let more = match known.count() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("; another query plan of `{}`{more}", shortened(&first.statement))
    })
}

/// A statement with its two plans, line by line.
pub(crate) fn block(change: &PlanChange, base: &str, candidate: &str, heading: &str) -> Block {
    let mut table = Table::new(&[(base, Kind::Prose), (candidate, Kind::Prose)]);
    let (left, right) = (lines(&change.base), lines(&change.candidate));
    let of = |lines: &[String], row: usize| lines.get(row).cloned().unwrap_or_default();
    let rows = left.len().max(right.len());
    table.fill((0..rows).map(|row| [of(&left, row), of(&right, row)]));
    Block::Table(table.captioned(format!("{heading}`{}`", change.statement)))
}

/// Its nodes; their indentation stays in every format.
fn lines(plan: &PlanOfSide) -> Vec<String> {
    let mut lines: Vec<String> = match &plan.refused {
        Some(why) => vec![format!("not explained: {why}")],
        None if plan.nodes.is_empty() => vec!["no plan: it only adds rows".to_owned()],
        None => plan.nodes.iter().map(|node| indented(node)).collect(),
    };
    if plan.plans > 1 {
        lines.push(format!("(it had {} plans in this run; this is one)", plan.plans));
    }
    lines
}

fn indented(node: &str) -> String {
    let text = node.trim_start_matches(' ');
    format!("{}{text}", "\u{a0}".repeat(node.len() - text.len()))
}

fn shortened(statement: &str) -> String {
    if statement.chars().count() <= SHORT {
        return statement.to_owned();
    }
    let start: String = statement.chars().take(SHORT - 2).collect();
    format!("{}..", start.trim_end())
}

/// What a script reads of it.
pub(crate) fn json(change: &PlanChange, candidate: &str) -> Value {
    json!({
        "step": change.step,
        "candidate": candidate,
        "statement": change.statement,
        "base_plan": change.base,
        "candidate_plan": change.candidate,
    })
}
