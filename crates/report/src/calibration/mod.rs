//! A calibration as a document, as JSON and as a table.

mod document;
mod json;
mod phrases;

pub use document::document;
pub use json::json;
pub use phrases::table;
