//! A history as JSON: the contract for scripts. Keys stand in a fixed order; an unknown value is absent.

use crate::contract::{self, SCHEMA};
use findings::history::HistoryView;
use model::warning::Warning;
use serde_json::json;

/// The report, as one object with a line break at its end.
///
/// # Errors
/// None that a view can cause.
pub fn json(view: &HistoryView) -> Result<String, serde_json::Error> {
    contract::text(json!({
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
    }))
}
