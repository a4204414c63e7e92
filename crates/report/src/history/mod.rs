//! The history of releases as a document, as JSON and as a table.

mod document;
mod phrases;
mod sparkline;

#[cfg(test)]
pub(crate) mod tests;

pub use document::{document, table};

use crate::contract::{self, SCHEMA};
use findings::history::HistoryView;
use model::warning::Warning;
use serde_json::{Value, json};

/// The keys of scripts.
pub fn json(view: &HistoryView) -> Value {
    json!({
        "schema": SCHEMA,
        "series": view.series,
        "warnings": view.warnings.iter().map(Warning::id).collect::<Vec<_>>(),
        // Added to the contract; these may grow.
        "origin": view.origin,
        "alpha": view.alpha,
        "least_change": view.least_change,
        "remeasure": view.remeasure,
        "commands": view.commands,
        "notes": view.warnings.iter().map(|one| contract::note(one, None, None)).collect::<Vec<_>>(),
    })
}
