//! What the pairs of one case say together. Numbers in, numbers out.

use analysis::signed_rank;
use anyhow::Context;
use serde_json::{Value, json};

/// No median may be above.
pub const GOAL_MEDIAN: f64 = 1.00;
/// The upper bound may not be above.
pub const GOAL_HIGH: f64 = 1.03;
/// Of the interval, two-sided.
const CONFIDENCE: f64 = 0.99;

/// The ratios of one case.
#[derive(Debug, Clone, PartialEq)]
pub struct Ratios {
    /// Median of the ratios.
    pub median: f64,
    pub min: f64,
    pub max: f64,
    pub pairs: usize,
    /// Lower bound of the 99 % interval; absent where so few pairs bound nothing.
    pub low: Option<f64>,
    pub high: Option<f64>,
}

impl Ratios {
    /// Of at least one pair. The interval is that of Hodges and Lehmann for the logarithms: all shifts that the
    /// exact signed-rank test does not reject, assuming independent pairs that scatter symmetrically.
    pub fn of(mut ratios: Vec<f64>) -> Option<Ratios> {
        ratios.sort_unstable_by(f64::total_cmp);
        let (min, max) = (*ratios.first()?, *ratios.last()?);
        let logs: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
        let (low, high) = bounds(&logs);
        Some(Ratios {
            median: median(ratios.iter().copied())?,
            min,
            max,
            pairs: ratios.len(),
            low: low.map(f64::exp),
            high: high.map(f64::exp),
        })
    }

    /// Of one number of each of at least one.
    pub fn over<T>(all: &[T], number: impl Fn(&T) -> f64) -> anyhow::Result<Ratios> {
        Ratios::of(all.iter().map(number).collect()).context("there is nothing to take the median of")
    }

    /// The row of a case in the JSON of a bench, with what else it tells.
    pub fn row(&self, case: &str, goal: f64, mut more: Value) -> Value {
        for (name, value) in [("median", self.median), ("min", self.min), ("max", self.max), ("goal", goal)] {
            more[name] = json!(value);
        }
        more["case"] = json!(case);
        more["pairs"] = json!(self.pairs);
        more
    }

    /// Whether both goals are met; too few pairs meet none.
    pub fn meet_goals(&self) -> bool {
        self.median <= GOAL_MEDIAN && self.high.is_some_and(|high| high <= GOAL_HIGH)
    }
}

fn bounds(logs: &[f64]) -> (Option<f64>, Option<f64>) {
    let pairs = logs.len();
    let rejected = (0..=signed_rank::largest_sum(pairs))
        .find(|sum| signed_rank::exact_p(pairs, *sum) <= 1.0 - CONFIDENCE);
    match rejected {
        Some(sum) => signed_rank::interval(&signed_rank::walsh_averages(logs), sum.saturating_sub(1)),
        None => (None, None),
    }
}

/// The median; absent where there is no value.
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        length if length % 2 == 1 => Some(values[middle]),
        _ => Some(0.5 * (values[middle - 1] + values[middle])),
    }
}

/// The value at a rank, in hundredths; not a number of none.
pub fn rank(values: &[f64], hundredths: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = (sorted.len() * hundredths).div_ceil(100).saturating_sub(1);
    sorted.get(place).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_pairs_are_bounded_by_their_extremes() {
        // At n = 8 only the outermost sums have P <= 0.01 (2/256), so that the interval ends at the extremes.
        let ratios: Vec<f64> = (1..=8).map(|index| 0.9 + 0.02 * f64::from(index)).collect();
        let found = Ratios::of(ratios).unwrap();
        assert!((found.median - 0.99).abs() < 1e-12);
        assert!((found.low.unwrap() - found.min).abs() < 1e-12);
        assert!((found.high.unwrap() - found.max).abs() < 1e-12);
        assert!(!found.meet_goals(), "the largest is 1.06");
    }

    #[test]
    fn too_few_pairs_meet_no_goal() {
        let found = Ratios::of(vec![0.5; 7]).unwrap();
        assert_eq!((found.low, found.high), (None, None));
        assert!(!found.meet_goals());
        assert!(Ratios::of(vec![0.5; 8]).unwrap().meet_goals());
        assert_eq!(Ratios::of(Vec::new()), None);
    }

    #[test]
    fn a_rank_is_that_of_a_value_which_was_measured() {
        let values = [4.0, 1.0, 3.0, 2.0];
        assert_eq!([50, 95, 100].map(|hundredths| rank(&values, hundredths).to_string()), ["2", "4", "4"]);
        assert!(rank(&[], 50).is_nan());
    }
}
