//! Boundaries of the group-sequential signed-rank test: at which sum, after how many launches, the test may
//! reject, so that all looks together reject a true "no difference" no more often than alpha.
//!
//! Under "same build" the signs of the launch values are fair coins, independent of the ranks of their sizes,
//! and the ranks arrive as a random permutation, whatever the distribution of the sizes (statistics 1.3 and
//! rule 4 of 1.9). So sign-flip paths of random ranks, drawn once from a fixed seed, give boundaries that
//! hold for every continuous symmetric distribution. The cumulative alpha spent by a look at n launches is
//! `alpha (n / Lmax)^1.5` (Kim and DeMets 1987).
//!
//! A boundary is derived for every n, not for the looks alone: at an n between two looks it is what the
//! looks before it and one last look at n may spend. It serves a run that ends before Lmax; as it spends no
//! more than was due at n, it holds whatever made the run end.

use crate::signed_rank::{exact_p, largest_sum, sum_deviation};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Launch counts at which a step may be decided, as far as they are below Lmax; Lmax itself is the last.
const LOOKS: [usize; 8] = [8, 10, 12, 16, 20, 24, 32, 48];
/// No test by ranks below this: with fewer launches nothing at 1 % could be rejected.
const FIRST_LOOK: usize = LOOKS[0];
/// Sign-flip paths. 500 of 100 000 cross at 0.5 %, so the spent alpha is known within 5 % of itself.
const PATHS: usize = 100_000;
/// Any fixed number: it makes the same boundaries on every host.
const SEED: u64 = 0x5eed_b0c5;
/// Exponent of the spending function (chosen in statistics 2.5: O'Brien-Fleming costs 10 to 30 % more).
const SPENDING_EXPONENT: f64 = 1.5;
/// Steps of the grid of p values in a decade: a p value is rounded up by at most 12 %.
const LEVELS_PER_DECADE: f64 = 20.0;
/// Below this share of paths a simulated boundary is too coarse (50 paths): exact tails take over.
const LEAST_SIMULATED_ALPHA: f64 = 5e-4;
/// p values above this are told as 1.
const LARGEST_ALPHA: f64 = 0.5;
/// A path has its signs in one machine word, in the order of ranks.
const MOST_LAUNCHES: usize = 64;

/// The boundaries of one (alpha, Lmax).
#[derive(Debug, Clone)]
pub struct Boundaries {
    alpha: f64,
    max_launches: usize,
    looks: Vec<usize>,
    /// Levels of alpha in ascending order; one of them is `alpha` itself.
    levels: Vec<f64>,
    /// Which level is `alpha`.
    own_level: usize,
    /// The critical sum by launches, then by level.
    critical: Vec<Vec<usize>>,
}

/// The signed-rank sum seen at one look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Launches at the look.
    pub launches: usize,
    /// |sum of sign R| there.
    pub sum: usize,
}

impl Boundaries {
    /// Boundaries that spend `alpha`, two-sided, over the looks up to `max_launches` (at most 64). Takes about
    /// a tenth of a second: make them once per run.
    pub fn new(alpha: f64, max_launches: usize) -> Boundaries {
        assert!(alpha > 0.0 && alpha < LARGEST_ALPHA, "alpha lies between 0 and one half, not {alpha}");
        assert!(
            (1..=MOST_LAUNCHES).contains(&max_launches),
            "1 to {MOST_LAUNCHES} launches, not {max_launches}"
        );
        let mut looks: Vec<usize> = LOOKS.into_iter().filter(|look| *look < max_launches).collect();
        looks.push(max_launches);
        let (levels, own_level) = grid(alpha);
        let critical = simulate(&levels, &looks, max_launches);
        Boundaries { alpha, max_launches, looks, levels, own_level, critical }
    }

    /// The alpha that all looks together spend.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// The most launches.
    pub fn max_launches(&self) -> usize {
        self.max_launches
    }

    /// The launch counts at which a step may be decided, ascending; the last is Lmax.
    pub fn looks(&self) -> &[usize] {
        &self.looks
    }

    /// The sum that must be exceeded after this many launches; absent where none can be.
    pub fn critical_sum(&self, launches: usize) -> Option<usize> {
        let critical = *self.critical.get(launches)?.get(self.own_level)?;
        (critical < largest_sum(launches)).then_some(critical)
    }

    /// The same as a multiple of the sum's standard deviation: c_n of the specification.
    pub fn critical_t(&self, launches: usize) -> Option<f64> {
        Some(self.critical_sum(launches)? as f64 / sum_deviation(launches))
    }

    /// The share of alpha that may be spent by this many launches.
    pub fn spent_share(&self, launches: usize) -> f64 {
        spent_share(launches, self.max_launches)
    }

    /// The share of alpha that a look at this many launches adds to what the looks before it may spend.
    pub fn look_share(&self, launches: usize) -> f64 {
        let before = self.looks.iter().rev().find(|look| **look < launches);
        self.spent_share(launches) - before.map_or(0.0, |look| self.spent_share(*look))
    }

    /// The p value of a sequential test: the smallest alpha at which what was seen crosses.
    ///
    /// `seen` holds every look so far, and the end of the run where it came between two looks. The boundary
    /// of a smaller alpha lies outside that of a larger one, so P(p <= a) <= a for every a. Below 0.05 %
    /// the p value comes from the exact tail at each look over that look's share of alpha (Bonferroni over
    /// looks: valid, a little large). 1 where nothing crosses.
    pub fn p_value(&self, seen: &[Seen]) -> f64 {
        let crossed = seen
            .iter()
            .filter_map(|look| {
                let critical = self.critical.get(look.launches)?;
                critical.iter().position(|critical| look.sum > *critical)
            })
            .min();
        match crossed {
            None => 1.0,
            Some(0) => self.exact_p_value(seen).min(self.levels[0]),
            Some(level) => self.levels[level],
        }
    }

    /// The least p value that could be seen after this many launches: every launch with the same sign.
    pub fn p_floor(&self, launches: usize) -> f64 {
        let looks = self.looks.iter().copied().filter(|look| *look < launches);
        let seen: Vec<Seen> =
            looks.chain([launches]).map(|launches| Seen { launches, sum: largest_sum(launches) }).collect();
        self.p_value(&seen)
    }

    fn exact_p_value(&self, seen: &[Seen]) -> f64 {
        seen.iter()
            .map(|look| exact_p(look.launches, look.sum) / self.look_share(look.launches))
            .fold(1.0, f64::min)
    }
}

/// The share of alpha that may be spent after `launches` of `max_launches`.
pub fn spent_share(launches: usize, max_launches: usize) -> f64 {
    (launches as f64 / max_launches as f64).powf(SPENDING_EXPONENT).min(1.0)
}

/// Levels around alpha in ascending order, and which of them is alpha.
fn grid(alpha: f64) -> (Vec<f64>, usize) {
    let factor = 10f64.powf(1.0 / LEVELS_PER_DECADE);
    let mut below: Vec<f64> = std::iter::successors(Some(alpha / factor), |level| Some(level / factor))
        .take_while(|level| *level >= LEAST_SIMULATED_ALPHA)
        .collect();
    below.reverse();
    let own_level = below.len();
    let above = std::iter::successors(Some(alpha), |level| Some(level * factor));
    below.extend(above.take_while(|level| *level <= LARGEST_ALPHA));
    (below, own_level)
}

/// One random path: signs in the order of ranks, their signed-rank sum, and the smallest level it crossed.
#[derive(Clone, Copy)]
struct Path {
    /// Bit r - 1 is set where the value of rank r is positive.
    signs: u64,
    sum: i32,
    crossed: usize,
}

/// Critical sums by launches, then by level.
fn simulate(levels: &[f64], looks: &[usize], max_launches: usize) -> Vec<Vec<usize>> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let mut paths = vec![Path { signs: 0, sum: 0, crossed: levels.len() }; PATHS];
    let mut critical: Vec<Vec<usize>> = vec![vec![0; levels.len()]];
    for launches in 1..=max_launches {
        for path in &mut paths {
            add_value(path, launches, random.next_u64());
        }
        if launches < FIRST_LOOK {
            critical.push(vec![largest_sum(launches); levels.len()]);
            continue;
        }
        let share = spent_share(launches, max_launches);
        let boundary = boundary_of(&paths, levels, launches, share);
        if looks.contains(&launches) {
            for path in &mut paths {
                let sum = path.sum.unsigned_abs() as usize;
                path.crossed = path.crossed.min(boundary.partition_point(|critical| sum <= *critical));
            }
        }
        critical.push(boundary);
    }
    critical
}

/// Adds one value of random sign and rank to a path that then has `launches` values.
fn add_value(path: &mut Path, launches: usize, random: u64) {
    let positive = random & 1;
    let place = ((random >> 32) * launches as u64) >> 32; // uniform in 0..launches; the rank less one
    let above = path.signs >> place;
    let positive_above = above.count_ones().cast_signed();
    let count_above = (launches as u64 - 1 - place) as i64;
    // Each value above moves up by one rank.
    let shift = 2 * i64::from(positive_above) - count_above;
    let own = if positive == 1 { place as i64 + 1 } else { -(place as i64) - 1 };
    path.sum += i32::try_from(shift + own).expect("sums of 64 ranks are small");
    let below = path.signs & ((1u64 << place) - 1);
    let moved = above.checked_shl(u32::try_from(place).expect("below 64") + 1).unwrap_or(0);
    path.signs = moved | (positive << place) | below;
}

/// For each level the smallest sum that may be exceeded at this look, given what crossed before.
fn boundary_of(paths: &[Path], levels: &[f64], launches: usize, share: f64) -> Vec<usize> {
    let largest = largest_sum(launches);
    // Paths by the smallest level they crossed and by their sum now.
    let mut counts = vec![vec![0u32; largest + 1]; levels.len() + 1];
    for path in paths {
        counts[path.crossed][path.sum.unsigned_abs() as usize] += 1;
    }
    let mut boundary = vec![largest; levels.len()];
    let mut alive = vec![0u32; largest + 1];
    let mut alive_total = 0u32;
    let mut outer = 0; // a smaller alpha never has the smaller critical sum
    for level in (0..levels.len()).rev() {
        for (total, count) in alive.iter_mut().zip(&counts[level + 1]) {
            *total += count;
            alive_total += count;
        }
        let may_cross = levels[level] * share * paths.len() as f64;
        let mut crossed = f64::from(u32::try_from(paths.len()).expect("fits") - alive_total);
        let mut critical = largest;
        while critical > outer && crossed + f64::from(alive[critical]) <= may_cross {
            crossed += f64::from(alive[critical]);
            critical -= 1;
        }
        boundary[level] = critical;
        outer = critical;
    }
    boundary
}

#[cfg(test)]
mod tests {
    use super::*;

    /// c_n by launches; absent where no sum is large enough.
    type Table = &'static [(usize, Option<f64>)];

    /// Statistics 1.3: 40 000 paths of an independent program, alpha 1 %.
    const AT_MOST_24: Table = &[
        (8, None),
        (10, Some(2.701)),
        (12, Some(2.824)),
        (16, Some(2.792)),
        (20, Some(2.763)),
        (24, Some(2.771)),
    ];
    const AT_MOST_48: Table = &[
        (8, None),
        (10, None),
        (12, Some(2.903)),
        (16, Some(3.051)),
        (20, Some(3.024)),
        (24, Some(3.029)),
        (32, Some(2.917)),
        (48, Some(2.728)),
    ];

    #[test]
    fn boundaries_agree_with_the_reference() {
        for (max_launches, expected) in [(24, AT_MOST_24), (48, AT_MOST_48)] {
            let boundaries = Boundaries::new(0.01, max_launches);
            for (look, expected) in expected {
                match (boundaries.critical_t(*look), expected) {
                    (Some(found), Some(expected)) => {
                        assert!((found - expected).abs() < 0.06, "{max_launches} {look}: {found} {expected}");
                    }
                    (found, expected) => assert_eq!(found, *expected, "{max_launches} {look}"),
                }
            }
        }
    }

    #[test]
    fn looks_end_at_the_last_launch() {
        assert_eq!(Boundaries::new(0.005, 48).looks(), [8, 10, 12, 16, 20, 24, 32, 48]);
        assert_eq!(Boundaries::new(0.005, 13).looks(), [8, 10, 12, 13]);
        assert_eq!(Boundaries::new(0.005, 9).looks(), [8, 9]);
        // 2 / 2^9 is below 0.5 %, 2 / 2^8 is not.
        assert!(Boundaries::new(0.005, 9).critical_sum(9).is_some());
        assert!(Boundaries::new(0.005, 8).critical_sum(8).is_none());
        assert!(Boundaries::new(0.01, 8).critical_sum(8).is_some());
    }

    #[test]
    fn a_single_look_has_the_exact_critical_sum() {
        // 2 / 2^8 of the paths reach the largest sum, 36, and twice as many the next, 34: more than 1 %.
        let boundaries = Boundaries::new(0.01, 8);
        assert_eq!(boundaries.critical_sum(8), Some(34));
        assert!((boundaries.p_floor(8) - 2.0 / 256.0).abs() < 0.12 * 2.0 / 256.0);
    }

    #[test]
    fn a_path_follows_the_definition() {
        // Insert values one by one; the sum must be that of the ranks of all so far.
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        let mut path = Path { signs: 0, sum: 0, crossed: 0 };
        let mut naive: Vec<i64> = Vec::new(); // signs in the order of ranks
        for launches in 1..=48usize {
            let draw = random.next_u64();
            add_value(&mut path, launches, draw);
            let place = (((draw >> 32) * launches as u64) >> 32) as usize;
            naive.insert(place, if draw & 1 == 1 { 1 } else { -1 });
            let expected: i64 = (1i64..).zip(&naive).map(|(rank, sign)| rank * sign).sum();
            assert_eq!(i64::from(path.sum), expected, "{launches} launches");
        }
    }

    #[test]
    fn an_independent_stream_crosses_at_its_alpha_and_no_more_at_any_level() {
        let boundaries = Boundaries::new(0.005, 24);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(77);
        let replicates = 40_000u32;
        let mut at_most = [(0.0005, 0u32), (0.005, 0), (0.05, 0), (0.2, 0)];
        for _ in 0..replicates {
            let mut path = Path { signs: 0, sum: 0, crossed: 0 };
            let mut seen = Vec::new();
            for launches in 1..=24 {
                add_value(&mut path, launches, random.next_u64());
                if boundaries.looks().contains(&launches) {
                    seen.push(Seen { launches, sum: path.sum.unsigned_abs() as usize });
                }
            }
            let p = boundaries.p_value(&seen);
            for (level, count) in &mut at_most {
                *count += u32::from(p <= *level);
            }
        }
        for (level, count) in at_most {
            let rate = f64::from(count) / f64::from(replicates);
            let error = (level / f64::from(replicates)).sqrt();
            assert!(rate <= level + 4.0 * error, "P(p <= {level}) = {rate}");
            assert!(rate >= 0.5 * level - 4.0 * error, "P(p <= {level}) = {rate}: the test wastes its alpha");
        }
    }

    #[test]
    fn an_end_between_looks_spends_no_more_than_its_share() {
        let boundaries = Boundaries::new(0.005, 48);
        assert!(boundaries.critical_t(14) > boundaries.critical_t(48));
        assert!((boundaries.spent_share(12) - 0.125).abs() < 1e-12);
        assert!(boundaries.look_share(14) < boundaries.look_share(16));
    }

    #[test]
    fn p_values_fall_with_the_evidence() {
        let boundaries = Boundaries::new(0.005, 24);
        let p = |sum| boundaries.p_value(&[Seen { launches: 24, sum }]);
        assert!(p(300) < 1e-5, "{}", p(300));
        assert!(p(250) < p(190) && p(190) <= p(150), "{} {} {}", p(250), p(190), p(150));
        assert!((p(0) - 1.0).abs() < 1e-12);
    }
}
