//! Reports: a [`findings::Finding`] in; text, Markdown, pages, posts, JSON, tables and charts out.
//!
//! Each kind of finding has a room that makes a [`document::Document`], a table and an object of JSON of it:
//! [`comparison`], [`calibration`], [`build_noise`], [`history`], [`hosts`], [`bisection`], [`import`], [`explanation`]. [`render`] makes any format of
//! these; its layouts know documents alone. Nothing in here does IO, reads a clock, starts a process or speaks SQL.

pub mod bisection;
mod build_noise;
mod calibration;
pub mod charts;
mod comparison;
mod contract;
pub mod doctor;
pub mod document;
mod documents;
mod explanation;
pub mod export;
mod history;
mod hosts;
mod import;
mod query_plans;
pub mod render;
pub mod signs;
pub mod site;
mod trends;
pub mod watch;

#[cfg(test)]
mod schema_check;
#[cfg(test)]
mod tests;

pub use comparison::found;
pub use render::layout::{printable, printable_lines};
pub use render::{document, json, kind, table};
