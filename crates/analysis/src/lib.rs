//! Numbers in, findings out: what may be said of a base and a candidate, and how sure.
//!
//! The order of reading is the order of a verdict: [`launch`] makes one value of each launch, [`judgement`]
//! tests them by a [`procedure`] that was fixed before any difference was looked at, [`counters`] and
//! [`time_identity`] say what else moved, [`family`] looks at all steps together, [`calibration`] at the
//! harness itself. [`simulation`] runs the whole path on data whose truth is known.
//!
//! Series of versions have an order of their own: [`rounds`] makes one mean of each version, [`change_points`] says
//! which differ from those before, [`moved_with`] which counters changed there, [`drift`] whether the code or a
//! default did it.
//!
//! Where one release of many is looked for, [`bisect`] says which to measure next.
//!
//! Nothing in here does IO, reads a clock or draws an unseeded random number: same input, same bytes out.

pub mod bisect;
pub mod boundaries;
pub mod budget;
pub mod build_noise;
pub mod calibration;
pub mod change_points;
pub mod correlation;
pub mod counters;
pub mod drift;
pub mod error;
pub mod estimate;
pub mod family;
pub mod group;
pub mod judgement;
pub mod launch;
pub mod moved_with;
pub mod procedure;
pub mod refusal;
pub mod rounds;
pub mod signed_rank;
pub mod simulation;
pub mod student;
pub mod time_identity;

mod decision;
mod significance;
mod units;

pub use budget::{least_launches, max_launches};
pub use error::Error;
pub use estimate::{Estimate, Method};
pub use family::holm;
pub use judgement::{Judgement, Stage, StepFacts, conclude, judge};
pub use launch::{LaunchPairs, LaunchSummary, pairs, summarize};
pub use procedure::Procedure;
pub use refusal::{Cap, Ceiling};
pub use significance::Significance;
