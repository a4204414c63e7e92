//! Engine builds: which releases there are, how one is fetched and checked, one's own builds, and the cache
//! of them below the work directory.
//!
//! A build is identified by the checksum of its library, or of the program where it is a server. Nothing in here
//! loads a library or runs an engine.

mod archive_limits;
mod cache;
mod catalog;
mod client;
pub(crate) mod code;
mod debian;
pub(crate) mod disk;
pub(crate) mod elf;
mod error;
mod fetch;
mod file;
#[cfg(fuzzing)]
pub mod fuzz;
mod jar;
mod layout;
mod loader;
mod maven;
mod npm;
mod own;
mod record;
mod repository;
mod server;
pub(crate) mod sha256;
mod unpack;

pub use archive_limits::TooMuch;
pub use cache::{BuildCache, CachedBuilds};
pub use catalog::{CatalogFiles, EngineCatalog, Release, ReleaseStatus};
pub use client::Client;
pub(crate) use client::output_with;
pub use error::EngineError;
pub use fetch::Programs;
pub use record::{JarRecord, PackageRecord};
pub use repository::Repository;
