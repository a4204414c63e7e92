//! The store in a browser: one process that answers GET and HEAD and changes nothing.
//!
//! `server` knows sockets and threads, `connections` how many may be open, `tls` certificates, `access` who may ask,
//! `router` what an address means, `answers` what is said; the pages themselves are made by `report::site` and
//! `report::html`.

mod access;
mod answers;
mod asked;
mod cache;
mod connections;
mod pages;
mod router;
mod server;
mod tls;

pub use access::{Access, Token};
pub use answers::Site;
pub use server::run;
pub use tls::acceptor;
