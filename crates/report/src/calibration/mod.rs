//! A calibration as a document, as JSON and as a table.

mod document;
mod phrases;
mod self_test;

pub use document::{document, json};
pub use phrases::table;
