//! Child processes: starting workers, talking to them, freezing and ending them.

pub(crate) mod child;
pub(crate) mod file_lock;
#[cfg(fuzzing)]
pub mod fuzz;
pub(crate) mod lines;
pub mod open_files;
pub mod output;
pub mod preload;
#[cfg(test)]
pub(crate) mod scripted;
pub mod supervisor;
pub mod tool;
pub mod tree;
pub mod wait;
pub mod webhook;
pub mod worker;
pub(crate) mod worker_process;
