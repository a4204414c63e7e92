//! What a bisection found, as a document, as JSON and as a table.

mod document;
mod phrases;

pub use document::document;
pub use phrases::{refusal, table};

use crate::contract;
use findings::bisection::BisectView;

/// The contract as JSON.
///
/// # Errors
/// None that a view can cause.
pub fn json(view: &BisectView) -> Result<String, serde_json::Error> {
    contract::text(serde_json::to_value(&view.found)?)
}

#[cfg(test)]
pub(crate) mod tests;
