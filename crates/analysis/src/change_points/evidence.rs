//! What speaks for a change in a series of single runs, where the noise is known from nothing but the series.
//!
//! Three explanations are held against "no change": a step, a stretch that differs from both its sides, and a straight
//! line. The evidence for each is `n ln(S0 / S1)`, twice the logarithm of a likelihood ratio, S0 and S1 being the squares
//! left without and with it; so the noise is what the explanation itself leaves, and a change that is there does not
//! hide itself. From [`LEAST_RANKED`] points on ranks are tested too: heavy tails and spikes do not move them. Values are still
//! tested, with spikes cut down to their neighbours, because ranks do not show how large a step is, nor three points at an
//! end, however far off.

use super::autocorrelation;
use super::gains::Sums;
use super::ranked::ranks;
use super::scan::Weighted;
use super::series::deviation_of_differences;
use super::staircase::Shortest;
use crate::student::median;

/// From this number of single runs on ranks are asked too. Below, they cannot tell a large step from a small one: of eight
/// points no arrangement is rare enough.
pub const LEAST_RANKED: usize = 20;

/// The explanations, in the order of [`Evidence`].
pub(super) const STEP: usize = 0;
pub(super) const BUMP: usize = 1;
pub(super) const TREND: usize = 2;
pub(super) const RANKED_STEP: usize = 3;
pub(super) const RANKED_BUMP: usize = 4;
pub(super) const EXPLANATIONS: usize = 5;

/// Evidence for each explanation; negative infinity for one that is not asked for or has no place.
pub(super) type Evidence = [f64; EXPLANATIONS];

/// What of a series is tested. It depends on the number of its points, and stays the same when further changes are looked
/// for in what the first ones leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reading {
    /// The values as they are, a single one of which may be a glitch: the series is too short for ranks.
    Values,
    /// Ranks, and values without spikes.
    Ranks,
}

impl Reading {
    pub(super) fn of(points: usize) -> Reading {
        if points < LEAST_RANKED { Reading::Values } else { Reading::Ranks }
    }

    /// How alpha is shared out. Chosen on other series than the reported ones: most changes are steps.
    pub(super) fn shares(self) -> [f64; EXPLANATIONS] {
        match self {
            Reading::Values => [0.82, 0.08, 0.1, 0.0, 0.0],
            Reading::Ranks => [0.5, 0.08, 0.08, 0.29, 0.05],
        }
    }

    /// The points as they are read.
    pub(super) fn points(self, points: &[Weighted]) -> Vec<Weighted> {
        match self {
            Reading::Values => points.to_vec(),
            Reading::Ranks => without_spikes(points),
        }
    }

    /// Of many runs two in the middle are no change yet.
    pub(super) fn shortest(self) -> Shortest {
        match self {
            Reading::Values => Shortest { end: 1, inner: 1 },
            Reading::Ranks => Shortest { end: 2, inner: 3 },
        }
    }
}

/// `n ln(before / after)`; no noise is believed to be smaller than `least` for each point.
pub(super) fn evidence(points: usize, before: f64, explained: f64, least: f64) -> f64 {
    let count = points as f64;
    // What rounding of doubles leaves of values that repeat exactly explains nothing.
    if explained <= 1e-12 * before || explained <= 0.0 {
        return 0.0;
    }
    count * (explained / (before - explained).max(least * count).max(1e-12 * before)).ln_1p()
}

/// The evidence in a series that was read like this: `raw`, and its sums as it is read.
pub(super) fn of_series(raw: &[Weighted], sums: &Sums, reading: Reading, least: f64) -> Evidence {
    let mut found = of_values(sums, reading, least);
    if reading == Reading::Ranks {
        let values: Vec<f64> = raw.iter().map(|point| point.value).collect();
        let ranked = Sums::of_equal(&ranks(&values), 0.5 * (raw.len() as f64 + 1.0));
        let ranked = of_values(&ranked, reading, 0.0);
        (found[RANKED_STEP], found[RANKED_BUMP]) = (ranked[STEP], ranked[BUMP]);
        found[TREND] = ranked[TREND];
    }
    found
}

/// The evidence by values alone.
pub(super) fn of_values(sums: &Sums, reading: Reading, least: f64) -> Evidence {
    let (count, shortest) = (sums.len(), reading.shortest());
    let all = 0..count;
    let before = sums.squares(all.clone());
    let of = |explained: f64| evidence(count, before, explained, least);
    let mut found = [f64::NEG_INFINITY; EXPLANATIONS];
    found[STEP] = sums.best_step(&all, shortest.end).map_or(f64::NEG_INFINITY, |step| of(step.squares));
    found[BUMP] = sums.best_bump(&all, shortest.inner).map_or(f64::NEG_INFINITY, |bump| of(bump.squares));
    found[TREND] = if count > 2 { of(sums.trend()) } else { f64::NEG_INFINITY };
    found
}

/// What is left of evidence where autocorrelation is the other explanation, and not independent noise about one mean.
pub(super) fn beyond_autocorrelation(sums: &Sums, evidence: f64) -> f64 {
    let count = sums.len() as f64;
    let independent = count * (sums.squares(0..sums.len()) / count).ln();
    evidence - (independent - autocorrelation::deviance(&sums.standardised()))
}

/// Neighbours on each side that a value is compared with, in short and in long series.
const NEIGHBOURS: (usize, usize) = (3, 5);
/// From this number of points on a series is long.
const LONG: usize = 40;
/// No value lies farther than this many standard deviations beyond the medians of those on either side.
const CUT_BEYOND: f64 = 2.5;

/// The points with spikes cut down to what their neighbours leave open.
pub(super) fn without_spikes(points: &[Weighted]) -> Vec<Weighted> {
    let values: Vec<f64> = points.iter().map(|point| point.value).collect();
    let bound = CUT_BEYOND * deviation_of_differences(&values);
    let neighbours = if values.len() < LONG { NEIGHBOURS.0 } else { NEIGHBOURS.1 };
    let mut scratch = Vec::with_capacity(neighbours);
    let mut middle = |of: &[f64]| {
        scratch.clear();
        scratch.extend_from_slice(of);
        median(&mut scratch)
    };
    let cut = |(at, point): (usize, &Weighted)| {
        let before = &values[at.saturating_sub(neighbours)..at];
        let after = &values[at + 1..(at + 1 + neighbours).min(values.len())];
        let sides = [before, after].into_iter().filter(|side| !side.is_empty());
        let (low, high) = sides
            .map(&mut middle)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), one| (low.min(one), high.max(one)));
        // A series of one point has no sides.
        let value = if low <= high { point.value.clamp(low - bound, high + bound) } else { point.value };
        Weighted { value, error: point.error }
    };
    points.iter().enumerate().map(cut).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(values: &[f64]) -> Vec<Weighted> {
        values.iter().map(|value| Weighted { value: *value, error: 1.0 }).collect()
    }

    #[test]
    fn evidence_is_twice_the_logarithm_of_a_likelihood_ratio() {
        assert!((evidence(10, 8.0, 6.0, 0.0) - 10.0 * 4f64.ln()).abs() < 1e-12);
        // Noise of 0.4 for each point is known to be there.
        assert!((evidence(10, 8.0, 6.0, 0.4) - 10.0 * 2.5f64.ln()).abs() < 1e-12);
        assert!(evidence(10, 0.0, 0.0, 0.0).abs() < 1e-12);
    }

    #[test]
    fn a_step_of_ranks_has_wilcoxons_statistic() {
        // Twenty points, the last four largest: z^2 = n - 1 times the share of the squares that is explained.
        let mixed: Vec<f64> = [3, 1, 6, 2, 5, 4, 8, 7, 10, 9, 12, 11, 14, 13, 16, 15, 18, 17, 20, 19]
            .into_iter()
            .map(f64::from)
            .collect();
        let found = of_series(&points(&mixed), &Sums::of(&points(&mixed)), Reading::Ranks, 0.0)[RANKED_STEP];
        let share = 1.0 - (-found / 20.0).exp();
        // Ten against ten: W = 155, mean 105, variance 10 * 10 * 21 / 12 = 175.
        assert!((19.0 * share - 50f64.powi(2) / 175.0).abs() < 1e-9, "{share}");
    }

    #[test]
    fn a_spike_is_cut_down_and_a_step_is_not() {
        let mut values: Vec<f64> = (0..30).map(|at| f64::from(at * at % 11)).collect();
        values[20..].iter_mut().for_each(|value| *value += 50.0);
        values[9] = 400.0;
        values[29] = -300.0;
        let cut = without_spikes(&points(&values));
        assert!(cut[9].value < 20.0 && cut[29].value > 30.0, "{} {}", cut[9].value, cut[29].value);
        for at in (0..29).filter(|at| *at != 9) {
            assert!((cut[at].value - values[at]).abs() < 1e-12, "{at}");
        }
        assert_eq!(without_spikes(&points(&[2.0])).len(), 1);
    }
}
