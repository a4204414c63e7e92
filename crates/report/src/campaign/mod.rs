//! The report of a campaign: many subjects, measured in rounds or one after another.
//!
//! [`build`] makes the [`CampaignView`] of a record; the formats lay out what is in the view. The order of reading
//! is that of the numbers: `values` makes the columns of one trial, `compare` holds each candidate against the
//! base, `findings` looks along the releases of each configuration.

mod assemble;
mod charts;
mod columns;
mod compare;
mod disturbed;
mod document;
mod drift;
mod engine;
mod finding_phrases;
mod findings;
mod grids;
mod groups;
mod headers;
mod json;
mod markdown;
mod moved;
mod observed;
mod phrases;
mod series;
mod tables;
mod text;
mod values;
mod view;

#[cfg(test)]
pub(crate) mod tests;

pub use assemble::build;
pub use columns::{COLUMNS, Column, ColumnGroup};
pub use document::document;
pub(crate) use finding_phrases::{finding, finding_with};
pub use json::json;
pub use markdown::markdown;
pub(crate) use observed::series_of;
pub(crate) use phrases::{disturbed as disturbed_lines, headline, run_line};
pub use tables::{csv, tsv};
pub use text::text;
pub use values::Values;
pub use view::{
    CampaignView, ChangedDefault, Comparison, Conditions, Disturbed, Drift, Finding, Moved, OmittedView,
    Shift, StepRow, StepView, SubjectView,
};
