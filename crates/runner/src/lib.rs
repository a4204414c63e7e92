//! Everything that touches the world: fetches engines, starts and stops workers, freezes the idle side, reads
//! /proc, and runs the schedule.
//!
//! What is never in here: the SQL store, statistics, HTML.

pub mod builds;
pub mod campaign;
pub mod clock;
pub mod doctor;
pub mod engines;
pub mod marked_dir;
pub mod ownership;
mod passable;
pub mod proc;
pub mod process;
pub mod real;
pub mod remote;
pub mod rights;
pub mod server;
pub mod slurm;
mod unwritable;
