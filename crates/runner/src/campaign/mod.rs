//! A run as a state machine: what happens in which order, decided without a clock or a process, and driven by
//! a [`world::World`] that is real or simulated.

pub mod action;
pub mod drive;
pub mod machine;
pub mod referee;
pub mod script;
pub mod sizes;
pub mod world;

#[cfg(test)]
mod simulated;
#[cfg(test)]
mod tests;
