//! Whether a change is larger than the layout of code can make: two builds of one source differ too, by how functions
//! happen to lie in memory.

use crate::estimate::Estimate;
use crate::student::two_sided_quantile;
use model::verdict::Layout;
use model::warning::Warning;

/// Degrees of freedom at which Student's t is the normal distribution, nearly.
const NORMAL: usize = 1000;
/// Two builds differ by this many times the deviation of one.
const OF_TWO: f64 = std::f64::consts::SQRT_2;

/// How many deviations of one build (tau) the layout of code may account for, in a family of this many steps at level
/// `alpha`.
pub fn quantile(alpha: f64, family: usize) -> f64 {
    OF_TWO * two_sided_quantile(alpha / family.max(1) as f64, NORMAL)
}

/// What a reader must know of a change of this grade: that layout can make as much (`most`, ln), or that it is beyond that and yet wholly within
/// the margin.
pub(crate) fn warning(grade: Layout, most: f64, change: &Estimate, margin: f64) -> Option<Warning> {
    match grade {
        Layout::MayBe => Some(Warning::WithinLayoutNoise { most: most.exp_m1() }),
        Layout::Beyond if change.lies_within(margin.ln_1p()) => Some(Warning::WithinMargin { margin }),
        Layout::Beyond | Layout::Within => None,
    }
}

/// A change with the halves of its interval, ln.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Change {
    center: f64,
    /// Towards no change and beyond; absent where the interval is open.
    halves: [Option<f64>; 2],
}

impl Change {
    /// Neither half is taken to be less than `least`. Absent without a ratio.
    pub(crate) fn of(estimate: &Estimate, least: f64) -> Option<Change> {
        let center = estimate.ratio?.ln();
        let half = |end: Option<f64>| end.map(|end| (end.ln() - center).abs().max(least));
        let [low, high] = [half(estimate.low), half(estimate.high)];
        Some(Change { center, halves: if center > 0.0 { [low, high] } else { [high, low] } })
    }

    /// The interval is widened by what layout may add to or take from the change (`most`, ln): as two independent errors,
    /// in squares.
    pub(crate) fn grade(self, most: f64) -> Layout {
        let is_beyond = self.halves[0].is_some_and(|half| self.center.abs() > half.hypot(most));
        if is_beyond { Layout::Beyond } else { Layout::MayBe }
    }

    /// Whether more launches would not change the grade: it is beyond, or the interval is so narrow that layout is nearly
    /// all of it.
    pub(crate) fn is_settled(self, most: f64) -> bool {
        let is_narrow = self.halves.iter().all(|half| half.is_some_and(|half| half < 0.5 * most));
        self.grade(most) == Layout::Beyond || is_narrow
    }
}
