//! The kernel's files: parsed by pure functions, read at the edges of blocks and once a second.

pub mod facts;
pub mod host;
pub mod others;
pub mod parse;
pub mod side;
pub mod signals;
