//! Reports: a [`findings::Finding`] in; text, Markdown, pages, posts, JSON, tables and charts out.
//!
//! Each kind of finding has a room that makes a [`document::Document`], a table and an object of JSON of it:
//! [`comparison`], [`calibration`], [`build_noise`], [`history`], [`bisection`], [`import`]. [`render`] makes any format of
//! these; its layouts know documents alone. Nothing in here does IO, reads a clock, starts a process or speaks SQL.

pub mod bisection;
mod build_noise;
mod calibration;
pub mod charts;
mod comparison;
mod contract;
pub mod document;
mod documents;
pub mod export;
mod history;
mod import;
pub mod render;
pub mod signs;
pub mod site;

#[cfg(test)]
mod schema_check;
#[cfg(test)]
mod tests;

pub use comparison::found;
use document::{Document, Table};
use findings::Finding;

/// The word for a kind: `comparison`.
pub fn kind(finding: &Finding) -> &'static str {
    match finding {
        Finding::Comparison(_) => "comparison",
        Finding::Calibration(_) => "calibration",
        Finding::BuildNoise(_) => "build noise",
        Finding::History(_) => "history",
        Finding::Bisection(_) => "bisection",
        Finding::Import(_) => "import",
    }
}

/// A finding before any layout.
pub fn document(finding: &Finding) -> Document {
    match finding {
        Finding::Comparison(run) => comparison::document(run),
        Finding::Calibration(view) => calibration::document(view),
        Finding::BuildNoise(view) => build_noise::document(view),
        Finding::History(view) => history::document(view),
        Finding::Bisection(view) => bisection::document(view),
        Finding::Import(view) => import::document(view),
    }
}

/// A finding as one object with a line break at its end.
///
/// # Errors
/// None that a view can cause: a number that JSON cannot hold is left out.
pub fn json(finding: &Finding) -> Result<String, serde_json::Error> {
    match finding {
        Finding::Comparison(run) => comparison::json(&run.view),
        Finding::Calibration(view) => calibration::json(view),
        Finding::BuildNoise(view) => build_noise::json(view),
        Finding::History(view) => history::json(view),
        Finding::Bisection(view) => bisection::json(view),
        Finding::Import(view) => import::json(view),
    }
}

/// A finding as a table for spreadsheets: all digits, what is absent a dash.
pub fn table(finding: &Finding) -> Table {
    match finding {
        Finding::Comparison(run) => comparison::table(&run.view),
        Finding::Calibration(view) => calibration::table(view),
        Finding::BuildNoise(view) => build_noise::table(view),
        Finding::History(view) => history::table(view),
        Finding::Bisection(view) => bisection::table(view),
        Finding::Import(view) => import::table(view),
    }
}
