//! Reports: a recorded run in, a typed view out, and from the view text, Markdown and JSON.
//!
//! [`build`] makes the [`view::ReportView`] of a comparison, [`calibration::build`] that of A/A runs. The
//! formats only lay out what is in the view: a number that is in one of them is in all of them. Nothing in
//! here does IO, reads a clock, starts a process or speaks SQL.

pub mod bisect;
pub mod build_noise;
pub mod calibration;
pub mod campaign;
pub mod differs;
pub mod elsewhere;
pub mod evidence;
pub mod history;
pub mod import;
pub mod json;
pub mod markdown;
pub mod options_file;
pub mod text;
pub mod view;

mod assemble;
mod figures;
mod grids;
mod group_rows;
pub mod groups;
mod json_groups;
mod layout;
mod phrases;
mod split_tables;
mod summary;
mod tiny;

pub use assemble::build;

#[cfg(test)]
mod tests;
