//! The clients of servers, of SQL and of MongoDB: their protocols over blocking sockets, and what a worker does with a server through
//! them: tables and indexes, transactions, settling, and what the server says of itself.

mod channel;
pub mod claim;
pub mod connection;
mod draw;
mod error;
pub mod explain;
pub mod facts;
#[cfg(fuzzing)]
pub mod fuzz;
pub mod mongodb;
mod mysql;
pub mod others;
mod postgres;
mod protection;
pub mod rows;
mod server;
mod serving;
pub mod settle;
mod statement;
pub mod status;
pub mod tables;
mod tls;
pub mod transaction;

pub use error::{Retries, SqlError, WireError};

#[cfg(test)]
mod scripted;
