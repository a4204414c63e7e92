//! The RocksDB client: its C API by dlopen, and what a worker does with a database through it.

pub mod api;
pub mod database;
pub mod image;
pub mod nothing;
pub mod settle;
pub mod tuning;
