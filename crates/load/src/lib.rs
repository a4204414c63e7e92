//! The load generator: clients of RocksDB and of SQL servers, fio as it is, key and value generators, pacing and latency. It runs as its own process,
//! `dbdyno worker`, one per engine build and launch.
//!
//! What is never in here: statistics, the store, reports, an async runtime.

mod beside;
mod clock;
pub mod cpus;
mod fio;
mod foreground;
pub mod heap;
mod idle;
mod keys;
mod latency;
mod operation;
mod pace;
mod planted;
mod rocksdb;
mod seconds;
mod sql;
mod step;
mod values;
pub mod worker;

// By it the end-to-end tests make users and tables on servers.
pub use sql::connection::Connection;
#[cfg(fuzzing)]
pub use sql::fuzz;
// By it a bench answers as a server of MongoDB.
pub use sql::mongodb::encoded as mongodb_message;
