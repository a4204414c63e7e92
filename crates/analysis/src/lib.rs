//! Numbers in, findings out: what may be said of a base and a candidate, and how sure.
//!
//! The order of reading is the order of a verdict: [`launch`] makes one value of each launch, [`judgement`]
//! tests all steps of a run as one [`family`] at the looks that it took ([`procedure`]), [`layout`] says whether the layout of code
//! can account for a change, [`counters`] and [`time_identity`] what else moved, [`calibration`] looks at the harness
//! itself. [`simulation`] runs the whole path on data whose truth is known.
//!
//! Series of versions have an order of their own: [`rounds`] makes one mean of each version, [`change_points`] says
//! which differ from those before, [`moved_with`] which counters changed there, [`drift`] whether the code or a
//! default did it.
//!
//! Many sides in one launch, with several processes of the base, are the business of [`sides`].
//!
//! Where one release of many is looked for, [`bisect`] says which to measure next.
//!
//! Nothing in here does IO, reads a clock or draws an unseeded random number: same input, same bytes out.

pub mod bisect;
pub mod budget;
pub mod build_noise;
pub mod calibration;
pub mod case;
pub mod change_points;
pub mod correlation;
pub mod counters;
pub mod course;
pub mod drift;
pub mod error;
pub mod estimate;
pub mod family;
pub mod group;
pub mod hosts;
pub mod judgement;
pub mod launch;
pub mod layout;
pub mod moved_with;
pub mod procedure;
pub mod refusal;
pub mod rounds;
pub mod self_test;
pub mod sides;
pub mod signed_rank;
pub mod simulation;
pub mod student;
pub mod time_identity;

mod decision;
mod flips;
mod linear;
mod provisional;

pub use budget::{least_launches, max_launches};
pub use error::Error;
pub use estimate::{Estimate, Method};
pub use family::holm;
pub use judgement::{Case, Judgement, Judging, Stage, StepFacts, conclude, judge, judge_family};
pub use launch::{LaunchPairs, LaunchSummary, pairs, summarize};
pub use procedure::{Look, Procedure};
pub use refusal::{Cap, Ceiling};
