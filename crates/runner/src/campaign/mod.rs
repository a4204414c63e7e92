//! A run as a state machine: what happens in which order, decided without a clock or a process, and driven by
//! a [`world::World`] that is real or simulated. One room for each way to lay trials out in time.

pub mod action;
mod charging;
pub mod draws;
pub mod drive;
pub mod interleaved;
pub mod measured;
mod query_plans;
pub mod rounds;
pub mod setup;
pub mod world;

#[cfg(test)]
pub(crate) mod samples;
#[cfg(any(test, feature = "simulated"))]
pub mod simulated;
