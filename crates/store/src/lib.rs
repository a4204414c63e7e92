//! The store of results: one SQLite file, append-only migrations, one writer, typed readers.
//!
//! The only SQL of results is in here; nothing in here starts a process, reads a clock or formats a report.
//! The schema is described in docs/store.md.

mod backup;
mod bisections;
mod browse;
mod check;
mod columns;
mod compact;
mod error;
mod export;
mod file;
mod find;
mod fingerprints;
mod host_samples;
mod imports;
mod insert;
mod jobs;
mod load;
mod lock;
mod merge;
mod migrations;
mod profiles;
mod queue;
mod resume;
mod self_tests;
mod watched;
mod writer;

pub use backup::back_up;
pub use bisections::NamedRun;
pub use browse::{EntryPage, Filter};
pub use check::{Check, check};
pub use compact::{Compacted, compact};
pub use error::Error;
pub use export::{PlannedRun, TrialRow};
pub use file::{Store, directory_of, log_of};
pub use fingerprints::MeasuredHost;
pub use merge::{Merged, MergedBy, merge, named};
pub use queue::QueuedRun;
pub use resume::{Resumed, ResumedBy, Retry};
pub use writer::Writer;

#[cfg(test)]
mod tests;
