//! The report of an import: results that another program wrote, one table per test with the columns of the posts.
//!
//! Such a file has one number per test and version. There is no interval and no verdict of that: only the ratio to
//! the first version, and where each number stands.

mod document;
mod json;
mod text;
mod view;

#[cfg(test)]
mod tests;

pub use document::document;
pub use json::json;
pub use text::{csv, markdown, text, tsv};
pub use view::{Compared, ImportView, RowView, StepView, build};
