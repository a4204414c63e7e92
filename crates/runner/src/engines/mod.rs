//! Engine builds: which releases there are, how one is fetched and checked, one's own builds, and the cache
//! of them below the work directory.
//!
//! A build is identified by the checksum of its library. Nothing in here loads a library or runs an engine.

mod cache;
mod catalog;
mod elf;
mod error;
mod fetch;
mod jar;
mod maven;
mod own;
mod record;
mod sha256;

pub use cache::{BuildCache, CachedBuilds};
pub use catalog::{CatalogFiles, EngineCatalog, Release, ReleaseStatus};
pub use error::EngineError;
pub use record::JarRecord;
