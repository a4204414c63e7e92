//! All steps and candidates of a run as one family: which changes hold if all of them are looked at together.
//!
//! Step-down max-T by joint sign flips of whole launches (Westfall and Young 1993; Romano and Wolf 2005). A flip changes
//! the sign of a launch in all steps at once, so it keeps whatever dependence there is between them, and the largest
//! statistic of the family is compared with the largest under each flip. It asks nothing of the noise but that it is the
//! same on both sides, and needs no smaller p value for a larger family. The statistic is Student's t with a variance
//! moderated towards the family's (in the way of Smyth 2004), of values that are cut at three times their own scale.
//! Scales and moderation are functions of sizes alone, which no flip changes, so the test stays exact.
//!
//! Under "same build" the labels of a launch may be swapped, which flips the sign of every step's value in it at once,
//! whatever the noise and however the steps depend on each other. The flips used here are a subgroup of all of them (a
//! linear code over the launches), so a test that compares the launches as they are with their flips is exact for each
//! number of launches, not only nearly so (Hemerik and Goeman 2018). Up to 13 launches the subgroup is all flips.

use crate::flips::{FLIPS, Spending, under_flips};
use crate::student::{SD_OF_MEDIAN, median};

/// The family's variance counts for at most this many launches.
const MOST_PRIOR_LAUNCHES: f64 = 30.0;
/// A scale of the family needs this many members.
const LEAST_MEMBERS: usize = 3;
/// Values further out than this many times their typical size count as if they were there.
const CUT: f64 = 3.0;

/// The values of one member of the family, one for each launch of the run; 0 stands for a launch that it has no part in.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    /// Its number, the same at each look.
    pub(crate) index: usize,
    /// Whether it is still measured: only then can its change be confirmed.
    pub(crate) is_open: bool,
    pub(crate) values: Vec<f64>,
}

/// What is known of the family after some looks.
pub(crate) struct Family {
    looks: Vec<Taken>,
    confirmed: Vec<usize>,
    /// Of the members that are not confirmed, through all looks so far.
    spending: Spending,
}

struct Taken {
    spent: f64,
    statistics: Vec<Statistic>,
}

/// The squared statistic of a member under each flip.
pub(crate) struct Statistic {
    pub(crate) index: usize,
    pub(crate) is_open: bool,
    pub(crate) squared: Vec<f32>,
    /// Standard deviation of its values, moderated.
    pub(crate) deviation: f64,
}

/// What a look found.
pub(crate) struct Found {
    /// Members whose change holds in the family, since this look.
    pub(crate) confirmed: Vec<usize>,
    /// The t that had to be exceeded by the last of them.
    pub(crate) critical: f64,
    /// Standard deviation of each member's values, moderated towards the family's; in the order of the members.
    pub(crate) deviations: Vec<f64>,
}

/// How far from 0 the mean of a member must be in the family.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct InFamily {
    pub(crate) critical_t: f64,
    /// Standard deviation of a launch, moderated: of many steps some have launches that lie close together by chance.
    pub(crate) deviation: f64,
}

impl InFamily {
    /// Half of the interval in the family, from so many launches.
    pub(crate) fn half_width(self, launches: u32) -> f64 {
        self.critical_t * self.deviation / f64::from(launches.max(1)).sqrt()
    }
}

impl Family {
    pub(crate) fn new() -> Family {
        Family { looks: Vec::new(), confirmed: Vec::new(), spending: Spending::new() }
    }

    /// Takes a look at these members, at which `spent` of alpha may be spent in all.
    pub(crate) fn look(&mut self, members: &[Member], spent: f64) -> Found {
        self.take(statistics(members), spent)
    }

    /// As [`Family::look`], with statistics that the caller has computed.
    pub(crate) fn take(&mut self, statistics: Vec<Statistic>, spent: f64) -> Found {
        let taken = Taken { spent, statistics };
        let deviations = taken.statistics.iter().map(|one| one.deviation).collect();
        let mut critical = self.spending.look(&self.largest(&taken), spent);
        self.looks.push(taken);
        let mut found = Vec::new();
        while let Some(Taken { statistics, .. }) = self.looks.last() {
            let exceeds = |one: &&Statistic| {
                one.is_open && one.squared[0] > critical && !self.confirmed.contains(&one.index)
            };
            let newly: Vec<usize> = statistics.iter().filter(exceeds).map(|one| one.index).collect();
            if newly.is_empty() {
                break;
            }
            self.confirmed.extend(&newly);
            found.extend(newly);
            // The family is smaller now: what it may have rejected at the looks before is counted anew without them.
            self.spending = Spending::new();
            for taken in &self.looks {
                let largest = self.largest(taken);
                critical = self.spending.look(&largest, taken.spent);
            }
        }
        Found { confirmed: found, critical: f64::from(critical.max(0.0)).sqrt(), deviations }
    }

    /// Under each flip, the largest statistic of the members that are not confirmed.
    fn largest(&self, taken: &Taken) -> Vec<f32> {
        let mut largest = vec![0.0f32; FLIPS];
        for one in taken.statistics.iter().filter(|one| !self.confirmed.contains(&one.index)) {
            for (largest, value) in largest.iter_mut().zip(&one.squared) {
                *largest = largest.max(*value);
            }
        }
        largest
    }
}

fn statistics(members: &[Member]) -> Vec<Statistic> {
    let cut: Vec<Vec<f64>> = members.iter().map(|member| cut(&member.values)).collect();
    let prior = Prior::of(&cut);
    members
        .iter()
        .zip(&cut)
        .map(|(member, values)| {
            let moderated = Moderated::of(values, &prior);
            Statistic {
                index: member.index,
                is_open: member.is_open,
                squared: moderated.squared_t_of_flips(values),
                deviation: moderated.deviation(values.iter().sum()),
            }
        })
        .collect()
}

/// Values beyond [`CUT`] times their typical size, brought down to it.
pub(crate) fn cut(values: &[f64]) -> Vec<f64> {
    let mut sizes: Vec<f64> = values.iter().filter(|value| **value != 0.0).map(|value| value.abs()).collect();
    let most = CUT * SD_OF_MEDIAN * median(&mut sizes);
    values.iter().map(|value| value.clamp(-most, most)).collect()
}

/// What the family's sizes say of a member's variance: `launches` launches of this variance about 0.
struct Prior {
    launches: f64,
    variance: f64,
}

impl Prior {
    /// The more alike the members' sizes, the more the family's counts.
    fn of(members: &[Vec<f64>]) -> Prior {
        let mut counts: Vec<f64> = members.iter().map(|values| count(values)).collect();
        let means = members.iter().map(|values| squares(values) / count(values)).filter(|mean| *mean > 0.0);
        let mut ln: Vec<f64> = means.map(f64::ln).collect();
        if ln.len() < LEAST_MEMBERS {
            return Prior { launches: 0.0, variance: 0.0 };
        }
        let (center, n) = (median(&mut ln), median(&mut counts));
        let mut apart: Vec<f64> = ln.iter().map(|size| (size - center).abs()).collect();
        let spread = SD_OF_MEDIAN * median(&mut apart);
        // ln of a mean of n squares scatters by trigamma(n / 2); what is beyond that is the members' own, and
        // trigamma(launches / 2). Both by trigamma(x) = 1 / x + 1 / (2 x^2), nearly.
        let own = spread.powi(2) - (2.0 / n + 2.0 / n.powi(2));
        let launches =
            if own > 0.0 { (1.0 + 2.0 / own).min(MOST_PRIOR_LAUNCHES) } else { MOST_PRIOR_LAUNCHES };
        Prior { launches, variance: center.exp() }
    }
}

/// A member's variance, moderated towards the family's.
struct Moderated {
    launches: f64,
    freedom: f64,
    /// Sum of squares about 0.
    squares: f64,
}

impl Moderated {
    fn of(values: &[f64], prior: &Prior) -> Moderated {
        let launches = count(values);
        let squares = prior.launches * prior.variance + squares(values);
        Moderated { launches, freedom: prior.launches + launches - 1.0, squares }
    }

    /// The squares about the mean of values with this sum.
    fn about_mean(&self, sum: f64) -> f64 {
        (self.squares - sum * sum / self.launches).max(f64::MIN_POSITIVE)
    }

    /// The square of the t of these values under each flip.
    fn squared_t_of_flips(&self, values: &[f64]) -> Vec<f32> {
        under_flips(values, |sum| sum * sum / self.launches * self.freedom / self.about_mean(sum))
    }

    fn deviation(&self, sum: f64) -> f64 {
        (self.about_mean(sum) / self.freedom).sqrt()
    }
}

pub(crate) fn count(values: &[f64]) -> f64 {
    values.iter().filter(|value| **value != 0.0).count().max(1) as f64
}

pub(crate) fn squares(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum()
}

/// Which hypotheses Holm (1979) rejects at family-wise level `alpha`: in ascending order of p, each at alpha over
/// the number of those left, until the first that fails.
pub fn holm(p_values: &[f64], alpha: f64) -> Vec<bool> {
    let order = ascending(p_values);
    let passed = order
        .iter()
        .enumerate()
        .take_while(|(place, index)| p_values[**index] <= alpha / (order.len() - place) as f64)
        .count();
    rejected(&order, passed)
}

/// Which hypotheses Benjamini and Hochberg (1995) reject with a share of false ones of at most `rate`.
pub fn benjamini_hochberg(p_values: &[f64], rate: f64) -> Vec<bool> {
    let order = ascending(p_values);
    let passed = (1..=order.len())
        .rev()
        .find(|place| p_values[order[place - 1]] <= rate * *place as f64 / order.len() as f64)
        .unwrap_or(0);
    rejected(&order, passed)
}

fn ascending(p_values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|left, right| p_values[*left].total_cmp(&p_values[*right]));
    order
}

fn rejected(order: &[usize], passed: usize) -> Vec<bool> {
    let mut rejected = vec![false; order.len()];
    for index in &order[..passed] {
        rejected[*index] = true;
    }
    rejected
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(values: &[Vec<f64>]) -> Vec<Member> {
        values
            .iter()
            .cloned()
            .enumerate()
            .map(|(index, values)| Member { index, is_open: true, values })
            .collect()
    }

    /// Noise about 0, of another kind for each step.
    fn noise(step: u32, launch: u32) -> f64 {
        0.01 * (f64::from((launch * 37 + step * 53) % 101) / 50.0 - 1.0)
    }

    fn family(launches: u32, steps: u32, effect: f64) -> Vec<Vec<f64>> {
        let value = |step, launch| noise(step, launch) + if step == 0 { effect } else { 0.0 };
        (0..steps).map(|step| (1..=launches).map(|launch| value(step, launch)).collect()).collect()
    }

    #[test]
    fn a_change_is_confirmed_in_a_family_of_42_after_nine_launches() {
        let mut seen = Family::new();
        let none = seen.look(&members(&family(8, 42, -0.05)), 0.005).confirmed;
        assert!(none.is_empty(), "2 of 256 flips are 0.8 %: {none:?}");
        let found = seen.look(&members(&family(9, 42, -0.05)), 0.01);
        assert_eq!(found.confirmed, [0]);
        assert!(found.critical > 2.0 && found.critical < 8.0, "{}", found.critical);
    }

    #[test]
    fn what_is_confirmed_makes_room_for_the_next() {
        let mut values = family(12, 42, -0.08);
        values[1].iter_mut().for_each(|value| *value += 0.03);
        let found = Family::new().look(&members(&values), 0.01);
        assert_eq!(found.confirmed, [0, 1]);
        let none = Family::new().look(&members(&family(12, 42, 0.0)), 0.01).confirmed;
        assert!(none.is_empty(), "{none:?}");
    }

    #[test]
    fn the_test_of_one_look_is_that_of_all_flips() {
        // By hand: of all 2^9 sign vectors, those whose largest t is as large as that seen.
        let values = family(9, 3, 0.012);
        let prior = Prior { launches: 0.0, variance: 0.0 };
        let t = |values: &[f64], flip: u32| {
            let signed: Vec<f64> =
                values.iter().enumerate().map(|(l, v)| if flip >> l & 1 == 1 { -v } else { *v }).collect();
            let mean = signed.iter().sum::<f64>() / 9.0;
            let variance = signed.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 8.0;
            mean.powi(2) * 9.0 / variance
        };
        let largest = |flip: u32| values.iter().map(|values| t(values, flip)).fold(0.0, f64::max);
        let as_large = (0..512).filter(|flip| largest(*flip) >= largest(0) * (1.0 - 1e-9)).count();
        let squared = |values: &Vec<f64>| Moderated::of(values, &prior).squared_t_of_flips(values);
        let ours: Vec<Vec<f32>> = values.iter().map(squared).collect();
        let of_flip = |flip: usize| ours.iter().map(|one| one[flip]).fold(0.0f32, f32::max);
        let p = (0..FLIPS).filter(|flip| of_flip(*flip) >= of_flip(0)).count() as f64 / FLIPS as f64;
        assert!((p - as_large as f64 / 512.0).abs() < 1e-12, "{p} {as_large}");
    }

    #[test]
    fn holm_steps_down_and_stops_at_the_first_failure() {
        assert_eq!(holm(&[0.004, 0.3, 0.001, 0.0049], 0.01), [false, false, true, false]);
        assert_eq!(holm(&[0.004, 0.9, 0.001], 0.01), [true, false, true]);
        assert_eq!(holm(&[], 0.01), Vec::<bool>::new());
        assert_eq!(holm(&[0.009], 0.01), [true]);
    }

    #[test]
    fn benjamini_hochberg_steps_up() {
        // The example of the 1995 paper: 15 p values, four rejected at 5 %.
        let p_values = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719,
            0.6528, 0.7590, 1.0,
        ];
        let passed = benjamini_hochberg(&p_values, 0.05).into_iter().filter(|passed| *passed).count();
        assert_eq!(passed, 4);
        assert_eq!(benjamini_hochberg(&[0.05, 0.05], 0.05), [true, true]);
    }
}
