//! The nouns of dbdyno: engine, build, configuration, workload, step, plan, schedule, trial, sample,
//! measurement, metric, host, and the messages between runner and worker.
//!
//! Nothing in here does IO, reads a clock, starts a thread or speaks SQL.

pub mod address;
pub mod block;
pub mod block_cache;
pub mod build;
pub mod causes;
pub mod config;
pub mod counter;
pub mod doctor;
pub mod elsewhere;
pub mod environment;
pub mod event;
pub mod figures;
pub mod fingerprint;
pub mod hardware;
pub mod host;
pub mod import;
pub mod job;
pub mod limits;
pub mod listing;
pub mod loop_device;
pub mod metric;
pub mod names;
pub mod option_history;
pub mod pattern;
pub mod plan;
pub mod plan_file;
pub mod planted;
pub mod profile;
pub mod query_plan;
pub mod reason;
pub mod record;
pub mod self_test;
pub mod server_host;
pub mod shape;
pub mod storage;
pub mod subject;
pub mod units;
pub mod verdict;
pub mod warning;
pub mod watched;
pub mod wire;
pub mod workload;

/// What switches of files and messages are where nothing is said of them.
fn yes() -> bool {
    true
}

/// Whether a value need not be written, because reading nothing gives the same.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
