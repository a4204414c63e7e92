//! Reports: a recorded run in, a typed view out, and from the view text, Markdown and JSON.
//!
//! [`build`] makes the [`view::ReportView`] of a comparison, [`calibration::build`] that of A/A runs. The
//! formats only lay out what is in the view: a number that is in one of them is in all of them. Nothing in
//! here does IO, reads a clock, starts a process or speaks SQL.

pub mod benchstat;
pub mod bisect;
pub mod build_noise;
pub mod calibration;
pub mod campaign;
pub mod charts;
pub mod command;
pub mod comparison_table;
pub mod conditions;
pub mod differs;
pub mod document;
pub mod elsewhere;
pub mod evidence;
pub mod export;
pub mod gate;
pub mod grids;
pub mod history;
pub mod html;
pub mod import;
pub mod json;
pub mod junit;
pub mod labels;
pub mod markdown;
pub mod openmetrics;
pub mod options_file;
pub mod post;
pub mod selection;
pub mod site;
pub mod step_summary;
pub mod text;
pub mod together;
pub mod verdicts;
pub mod view;

mod assemble;
mod comparison_document;
mod documents;

mod group_rows;
pub mod groups;
mod json_groups;
mod layout;
mod phrases;
mod separated;
mod split_tables;
mod summary;
mod tiny;

pub use assemble::build;
pub use comparison_document::comparison_document;

#[cfg(test)]
mod schema_check;
#[cfg(test)]
mod tests;
