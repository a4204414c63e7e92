//! What a bisection found, as a document, as JSON and as a table.

mod document;
mod phrases;

pub use document::document;
pub use phrases::{refusal, table};

#[cfg(test)]
pub(crate) mod tests;
