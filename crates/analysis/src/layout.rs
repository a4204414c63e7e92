//! Whether a change is larger than the layout of code can make: two builds of one source differ too, by how functions
//! happen to lie in memory.

use crate::estimate::Estimate;
use crate::student::two_sided_quantile;
use model::verdict::Layout;

/// Degrees of freedom at which Student's t is the normal distribution, nearly.
const NORMAL: usize = 1000;
/// Two builds differ by this many times the deviation of one.
const OF_TWO: f64 = std::f64::consts::SQRT_2;

/// How many deviations of one build (tau) the layout of code may account for, in a family of this many steps at level
/// `alpha`. It gets seven tenths of that: the noise differs from look to look and the layout does not, so that one of
/// several looks is beyond both more often than a single one would be (simulated at all of `alpha`: in 1.9 % of families
/// of five).
pub fn quantile(alpha: f64, family: usize) -> f64 {
    OF_TWO * two_sided_quantile(0.7 * alpha / family.max(1) as f64, NORMAL)
}

/// Whether more launches would not change the grade: it is beyond, or the interval is so narrow that layout is nearly all
/// of it.
pub(crate) fn is_settled(estimate: &Estimate, most: f64) -> bool {
    let half = |end: Option<f64>| Some((end?.ln() - estimate.ratio?.ln()).abs());
    let widest = half(estimate.low).zip(half(estimate.high)).map(|(low, high)| low.max(high));
    grade(estimate, most) == Layout::Beyond || widest.is_some_and(|widest| widest < 0.5 * most)
}

/// The grade of a change. The interval is widened at both ends by what layout may add to or take from it (`most`, in ln):
/// as two independent errors, in squares.
pub fn grade(estimate: &Estimate, most: f64) -> Layout {
    let Some(center) = estimate.ratio.map(f64::ln) else { return Layout::MayBe };
    let widened = |end: Option<f64>| end.map(|end| (end.ln() - center).hypot(most));
    let beyond = |side: Option<f64>| side.is_some_and(|half| center.abs() > half);
    let end = if center > 0.0 { estimate.low } else { estimate.high };
    if beyond(widened(end)) { Layout::Beyond } else { Layout::MayBe }
}
