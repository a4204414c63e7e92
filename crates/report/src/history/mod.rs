//! The history of releases as a document, as JSON and as a table.

mod document;
mod json;
mod phrases;
mod sparkline;

#[cfg(test)]
pub(crate) mod tests;

pub use document::{document, table};
pub use json::json;
