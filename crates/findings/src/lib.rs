//! What a stored run says: a record in, a [`Finding`] out, before any layout.
//!
//! The order of reading: [`judge`] says what may be said of one step and candidate, and is what a running comparison,
//! `bisect` and every report ask, and `sides` of all of many that are there at once; [`comparison`] makes one view of a run, whatever its design; [`calibration`],
//! [`build_noise`], [`history`], [`hosts`], [`bisection`] and [`import`] make the other kinds. Nothing in here does IO, reads a clock
//! or knows a format.

pub mod again;
pub mod background_rates;
pub mod bisection;
pub mod build_noise;
pub mod calibration;
pub mod change;
pub mod comparison;
pub mod conditions;
pub mod counterfactual;
pub mod differs;
pub mod elsewhere;
pub mod explanation;
mod finding;
pub mod gate;
pub mod harness;
pub mod history;
pub mod hosts;
pub mod import;
pub mod judge;
pub mod labels;
pub mod profile;
pub mod query_plans;
pub mod selection;
pub mod self_test;
pub mod sides;
#[cfg(test)]
mod tests;
pub mod toolchain;
mod trend;
pub mod watch;

/// Version of the contract that JSON keeps.
pub const SCHEMA: u32 = 1;

pub use comparison::{Comparison, Conditions};
pub use finding::{ComparedRun, Finding};
pub use trend::TrendView;

/// Serializes a variant by its name.
fn by_name<T, S>(variant: &T, serializer: S) -> Result<S::Ok, S::Error>
where
    T: Copy + Into<&'static str>,
    S: serde::Serializer,
{
    serializer.serialize_str((*variant).into())
}
