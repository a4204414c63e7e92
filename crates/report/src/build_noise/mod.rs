//! How much builds of the same source differ, as a document, as JSON and as a table.

mod document;
mod json;

pub use document::{document, table};
pub use json::json;
