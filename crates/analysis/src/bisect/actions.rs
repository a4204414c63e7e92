//! The actions that a bisection asks for, and the events that it takes in.

use super::{Compared, Stretch};

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Compare two versions by the ordinary procedure, the first as the base.
    Compare(Stretch, Why),
    /// Measure one launch of a version against a good one.
    Measure {
        /// The good one: the base.
        anchor: usize,
        version: usize,
    },
    /// Nothing more: see [`super::Bisection::findings`].
    End,
}

/// What a comparison is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The ends of a stretch: is there anything to look for?
    Ends,
    /// The versions on either side of the likeliest place: is the step there?
    Confirmation {
        /// As many as a step of the size that was searched for needs to be shown.
        most_launches: u32,
    },
}

/// What came of the last action.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Event {
    Begin,
    /// A comparison was made.
    Compared(Compared),
    /// The value of the launch: ln(version / anchor).
    Measured(f64),
    /// This version of those that the action names cannot be measured: it cannot be built, or does not run.
    NotMeasurable(usize),
    /// The time is up, or the user stopped it.
    Stopped,
}
