//! The history of releases: change points of each series, with what changed together, and what to measure again.
//!
//! [`Observed`] is where all begins: the values of one metric of one step over releases, from a campaign of ours
//! ([`of_campaign`]) or from results of others ([`of_values`]). [`build`] searches each and makes the view.

mod build;
mod from_campaign;
mod from_values;
mod joined;
mod order;
mod together;
mod view;

pub use analysis::change_points::TrendKind;
pub use build::{Question, build};
pub use from_campaign::of_campaign;
pub use from_values::of_values;
pub use joined::{Apart, of_campaigns};
pub use view::{ChangeView, EventView, HistoryView, Line, Remeasure, SeriesView};

use analysis::change_points::ErrorFloor;
use analysis::rounds::RoundValues;
use model::warning::Warning;

/// One metric of one step over releases, before it is searched.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    /// The step; what a table is of where it does not say.
    pub step: String,
    /// The configuration; empty where there is only one.
    pub config: String,
    pub metric: String,
    /// Its unit; empty where it has none or nobody says.
    pub unit: String,
    /// The releases in their order.
    pub releases: Vec<String>,
    /// Natural logarithms: a row for each round, a cell for each release. What cannot have one is absent.
    pub logarithms: RoundValues,
    /// Of several campaigns taken together, the rows of the first: what it found the others confirm or do not.
    pub first_rounds: Option<usize>,
    /// Mean of each release in the unit.
    pub values: Vec<Option<f64>>,
    /// How exactly single values are known.
    pub floor: ErrorFloor,
    /// Values that are no use, one for each: `8.6: 0 (line 9)`.
    pub gaps: Vec<String>,
    /// Whether the order of measuring protects against drift of the host: complete rounds of ours.
    pub in_rounds: bool,
}

/// What the series come from.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Origin {
    /// `run 20261121-155551-a768`, a file's name.
    pub names: Vec<String>,
    /// What a reader must know of all of it: `sorted by version`.
    pub warnings: Vec<Warning>,
}
