//! Change points of a series of versions: which release or commit was the first to differ (statistics 1.6).
//!
//! The order of reading: [`Series`] holds one value of each version and says how its noise is known; [`find`]
//! looks for the places at which the mean changes (`segmentation`), by a scan statistic (`scan`) held against
//! simulated [`CriticalValues`]; `report` gives each change its size, its interval and the versions at which it
//! may also have happened.
//!
//! Two kinds of series are treated differently, because they know different things of their noise:
//! - **repeats**: the standard error of each version comes from its rounds and the layout noise of a build, so
//!   even neighbours can be told apart. What is found is a finding.
//! - **single runs**: the noise is what an explanation leaves (`evidence`, `single_runs`). What is found is a candidate,
//!   to be measured again; and it may be a trend, or autocorrelation, where these explain as much.
//!
//! What it reaches is counted by [`crate::simulation::series`] and [`crate::simulation::histories`]; the tables stand in
//! `docs/methodology.md`.

mod at_change;
mod autocorrelation;
mod critical;
mod evidence;
mod gains;
mod ranked;
mod report;
mod scan;
mod segmentation;
mod series;
mod shuffled;
mod single_runs;
mod staircase;
mod trend;

pub(crate) use at_change::AtChange;
pub use critical::{CriticalValues, Law};
pub use evidence::{LEAST_RANKED, Reading};
pub(crate) use ranked::ranks;
pub use series::{ErrorFloor, Mean, Series, Spread};
pub use trend::{Trend, TrendKind};

use model::warning::Warning;
use std::ops::Range;

/// How a series is searched. Fixed before it is looked at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// Share of change-free series in which anything is found. For single runs see [`Rule::alpha_of`].
    pub alpha: f64,
    /// Changes of less than this share (0.01 is 1 %) are dropped, however sure.
    pub least_change: f64,
    /// Of the intervals of the sizes.
    pub confidence: f64,
}

impl Default for Rule {
    fn default() -> Rule {
        Rule { alpha: 0.01, least_change: 0.01, confidence: 0.99 }
    }
}

/// Points from which on single runs are searched at the rule's own alpha.
const POINTS_OF_FULL_ALPHA: f64 = 100.0;
/// No series of single runs is searched at more than this multiple of the rule's alpha.
const LARGEST_ALPHA_FACTOR: f64 = 5.0;

impl Rule {
    /// The alpha for a series: the rule's own, but for short series of single runs up to five times that.
    ///
    /// With 20 points no method finds nine of ten steps of two standard deviations at 1 %: even a t test that is
    /// told the place finds 94 %, and the place must be searched for. A candidate costs one measurement more,
    /// and a person looks at a short series once; so there the scale leans towards finding. At 100 points, the
    /// length of series that machines watch, it is the rule's own. Further changes are searched for at the
    /// geometric mean of this alpha and the rule's.
    pub fn alpha_of(&self, series: &Series) -> f64 {
        match series.spread() {
            Spread::Repeats { .. } => self.alpha,
            Spread::SingleRuns => {
                let factor = POINTS_OF_FULL_ALPHA / series.len().max(1) as f64;
                self.alpha * factor.clamp(1.0, LARGEST_ALPHA_FACTOR)
            }
        }
    }
}

/// What a change looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    /// From this version on the mean is another.
    Step,
    /// One version differs, while those before and after it agree.
    Glitch,
}

/// How much a change may be relied on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// The version was repeated: a finding at the rule's alpha.
    Found,
    /// Single runs: needs repeats before anything is said of it.
    Candidate,
}

/// The words of reports and JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Kind {
    /// A step that was found.
    Step,
    /// A glitch that was found.
    Glitch,
    /// Either, from single runs.
    Candidate,
}

impl Kind {
    /// The word in reports and JSON.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// One change. Indexes count the versions as they were handed in, those without a value too.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The first version that differs: the change point, or the glitch itself.
    pub version: usize,
    /// What it looks like.
    pub shape: Shape,
    /// How much it may be relied on.
    pub standing: Standing,
    /// Whether a single version stands on one side of a step, the first or the last of the series: nothing
    /// but that version's own repeats says that it is no glitch.
    pub at_edge: bool,
    /// Mean from the change on over the mean before; of a glitch, its value over the mean around it.
    pub ratio: f64,
    /// Lower end of the interval of `ratio`, by Student's t.
    pub low: f64,
    pub high: f64,
    /// Of the interval. It holds for a change at this place; that the place was searched for is not in it.
    pub confidence: f64,
    /// Standard error of ln `ratio`.
    pub ln_error: f64,
    /// Degrees of freedom of the interval.
    pub df: usize,
    /// The scan statistic at the change, between its neighbouring changes: standard errors.
    pub score: f64,
    /// The smallest set of versions that holds the first differing one with 95 %, ascending; `version` is one
    /// of them.
    pub location: Vec<usize>,
    /// The versions from the change before (or the first) to the change after (or the end).
    pub window: Range<usize>,
}

impl Change {
    /// The word for it.
    pub fn kind(&self) -> Kind {
        match (self.standing, self.shape) {
            (Standing::Candidate, _) => Kind::Candidate,
            (Standing::Found, Shape::Step) => Kind::Step,
            (Standing::Found, Shape::Glitch) => Kind::Glitch,
        }
    }
}

/// Versions with one mean.
#[derive(Debug, Clone, PartialEq)]
pub struct Segment {
    /// From its first version to the first of the next segment.
    pub versions: Range<usize>,
    /// Versions that have a value and are no glitch.
    pub points: usize,
    /// ln; the mean of those, clipped where there are many single runs.
    pub mean: f64,
}

/// What was found in a series.
#[derive(Debug, Clone, PartialEq)]
pub struct Findings {
    /// In the order of versions.
    pub changes: Vec<Change>,
    /// In the order of versions; one more than there are steps, none where the series is empty.
    pub segments: Vec<Segment>,
    /// Versions of many single runs that lie more than five standard deviations from their segment. No alarm:
    /// heavy-tailed noise has some; worth another run.
    pub outliers: Vec<usize>,
    /// Standard error of a point, in ln (the largest, where they differ); absent where the series is empty.
    pub ln_error: Option<f64>,
    /// Correlation of neighbours that was allowed for; 0 but for many single runs.
    pub autocorrelation: f64,
    /// Whether the changes, or the trend, of a series of single runs may as well be noise whose neighbours are alike.
    pub maybe_autocorrelation: bool,
    /// The straight line through the series; absent where there are too few points.
    pub trend: Option<Trend>,
    /// The alpha that the search was made at.
    pub alpha: f64,
    /// The step in the middle of the series that would be found nine times of ten where there is no other, in ln;
    /// absent where there are too few points to find any.
    pub visible: Option<f64>,
    /// What a reader must know.
    pub warnings: Vec<Warning>,
}

impl Findings {
    /// The versions that count before a change and from it on, as far as the neighbouring changes; around a glitch,
    /// those before it and the glitch alone. Other glitches do not count, nor what the caller says.
    pub fn around(&self, change: &Change, counts: impl Fn(usize) -> bool) -> (Vec<usize>, Vec<usize>) {
        let (before, after): (Vec<usize>, Vec<usize>) = self
            .versions_beside(change)
            .into_iter()
            .filter(|version| counts(*version))
            .partition(|version| *version < change.version);
        match change.shape {
            Shape::Step => (before, after),
            Shape::Glitch => (before, vec![change.version]),
        }
    }

    /// Versions worth measuring again, ascending: of each candidate, and of each step at an edge, the versions
    /// on either side of its possible places; and the outliers.
    pub fn remeasure(&self) -> Vec<usize> {
        let mut versions = self.outliers.clone();
        for change in &self.changes {
            if change.standing == Standing::Candidate || change.at_edge {
                let first = change.location.first().copied().unwrap_or(change.version);
                versions.push(first.saturating_sub(1).max(change.window.start));
                versions.extend(&change.location);
            }
            let beyond = change.version + 1;
            if change.shape == Shape::Glitch && change.standing == Standing::Candidate {
                versions.push(beyond.min(change.window.end.saturating_sub(1)));
            }
        }
        versions.sort_unstable();
        versions.dedup();
        versions
    }
}

/// Finds the changes of a series.
///
/// Nothing is found in a series of fewer than two versions, or of fewer than four single runs. Values that are
/// all equal have no change.
pub fn find(series: &Series, rule: &Rule, critical: &CriticalValues) -> Findings {
    let alpha = rule.alpha_of(series);
    let search = segmentation::Search {
        alpha,
        alpha_beside: (rule.alpha * alpha).sqrt(),
        alpha_of_rule: rule.alpha,
        least_change: rule.least_change.ln_1p(),
        critical,
    };
    let found = segmentation::segment(series, &search);
    let visible = segmentation::visible(series, &found, &search);
    Findings { visible, ..report::findings(series, &found, rule, alpha) }
}
