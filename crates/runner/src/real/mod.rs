//! The real world of a run: processes, directories and time of this host.

pub mod client_cost;
pub mod code_files;
mod data_size;
mod db_bench;
mod engine_work;
pub mod image;
pub mod library_copy;
pub mod loop_device;
pub mod memory_limit;
pub mod page_cache;
pub mod pauses;
pub mod probe;
pub mod probe_fio;
pub mod probe_server;
pub mod profile;
pub mod queue;
pub mod reflink;
pub mod run_directory;
pub mod sampler;
pub mod slow_device;
pub mod storage;
pub mod world;
