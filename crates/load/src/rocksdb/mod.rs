//! The RocksDB client: its C API by dlopen, and what a worker does with a database through it.

pub mod api;
pub mod database;
pub mod file_writer;
mod hyper_clock;
pub mod image;
pub mod memory_file;
pub mod nothing;
pub mod settle;
pub mod tuning;
