//! Pages that only `dbdyno serve` has: the list of runs, a step over runs, a host over time, two runs side by side, a run in progress,
//! raw output, and what is said where there is nothing to show. Typed views in, HTML out; the report of a run is the
//! business of `html`.
//!
//! Nothing in here reads a store or a clock: times come with the views.

pub mod compare;
pub mod history;
pub mod hosts;
pub mod links;
pub mod live;
pub mod message;
pub mod raw;
pub mod runs;
pub mod shell;
pub mod watch;

mod cells;

#[cfg(test)]
mod tests;
