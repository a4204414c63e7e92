//! Results of another program as a document, as JSON and as a table: one table per test with the columns of the posts.

mod document;
mod json;
mod phrases;

#[cfg(test)]
pub(crate) mod tests;

pub use document::document;
pub use json::json;
pub use phrases::table;
