//! The signed-rank statistic, its exact distribution, and the interval that inverts it.
//!
//! Everything is counted on Walsh averages, the (y_i + y_j) / 2 with i <= j: the signed-rank sum of y - theta
//! is the number of them above theta minus the number below (Tukey 1949; Hollander and Wolfe, section 3).
//! A value of zero, or values equal but for their sign, make Walsh averages of exactly theta. These count
//! against a rejection on both sides, so the test rejects exactly where the closed interval excludes theta.
//! That can only err on the safe side, whatever the ties: move each value by an arbitrarily small symmetric
//! random amount, and the exact interval of the moved values lies in the closed one of the values as they
//! are. It takes the place of sign flips conditional on the ties, and keeps test and interval one procedure.

/// Walsh averages in ascending order: n (n + 1) / 2 of them.
pub fn walsh_averages(values: &[f64]) -> Vec<f64> {
    let mut averages = Vec::with_capacity(values.len() * (values.len() + 1) / 2);
    for (index, left) in values.iter().enumerate() {
        averages.extend(values[index..].iter().map(|right| 0.5 * (left + right)));
    }
    averages.sort_unstable_by(f64::total_cmp);
    averages
}

/// The Hodges-Lehmann estimate: the median of the Walsh averages; absent where there are none.
pub fn hodges_lehmann(walsh: &[f64]) -> Option<f64> {
    let middle = walsh.len() / 2;
    match walsh.len() {
        0 => None,
        length if length % 2 == 1 => Some(walsh[middle]),
        _ => Some(0.5 * (walsh[middle - 1] + walsh[middle])),
    }
}

/// The largest signed-rank sum of n values: all of one sign.
pub fn largest_sum(launches: usize) -> usize {
    launches * (launches + 1) / 2
}

/// |sum of sign R| at theta = 0, with ties and zeros counted against a rejection (see above).
pub fn absolute_sum(walsh: &[f64]) -> usize {
    let below = walsh.partition_point(|average| *average < 0.0);
    let above = walsh.len() - walsh.partition_point(|average| *average <= 0.0);
    (2 * below.max(above)).saturating_sub(walsh.len())
}

/// The standard deviation of the signed-rank sum of n values: what divides it to give T_n.
pub fn sum_deviation(launches: usize) -> f64 {
    let n = launches as f64;
    (n * (n + 1.0) * (2.0 * n + 1.0) / 6.0).sqrt()
}

/// All theta that a test which rejects |sum| > `critical` does not reject; a side that no theta bounds is absent.
pub fn interval(walsh: &[f64], critical: usize) -> (Option<f64>, Option<f64>) {
    // 2 * above - count > critical rejects from below; so as many as (count + critical) / 2 may lie above.
    let may_exceed = (walsh.len() + critical) / 2;
    if may_exceed >= walsh.len() {
        return (None, None);
    }
    (Some(walsh[walsh.len() - may_exceed - 1]), Some(walsh[may_exceed]))
}

/// P(|sum| >= `sum`) under sign symmetry, without ties: exact, by counting the subsets of the ranks.
pub fn exact_p(launches: usize, sum: usize) -> f64 {
    let largest = largest_sum(launches);
    // A parity that cannot occur is met by the next larger sum; 0 is met by every one.
    if sum == 0 || launches == 0 {
        return 1.0;
    }
    let mut probability = vec![0.0; largest + 1];
    probability[0] = 1.0;
    for rank in 1..=launches {
        for total in (0..=largest).rev() {
            let with = if total >= rank { probability[total - rank] } else { 0.0 };
            probability[total] = 0.5 * (probability[total] + with);
        }
    }
    // The sum of positive ranks is P; the signed sum 2 P - largest.
    let least_positive = (largest + sum).div_ceil(2);
    let tail: f64 = probability.iter().skip(least_positive).sum();
    (2.0 * tail).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The textbook form: ranks of |y|, signs of y; no ties, no zeros.
    fn naive_sum(values: &[f64]) -> usize {
        let mut order: Vec<f64> = values.to_vec();
        order.sort_by(|left, right| left.abs().total_cmp(&right.abs()));
        let signs = order.iter().map(|value| if *value > 0.0 { 1 } else { -1 });
        (1isize..).zip(signs).map(|(rank, sign)| rank * sign).sum::<isize>().unsigned_abs()
    }

    fn naive_p(launches: usize, sum: usize) -> f64 {
        let all = 1u32 << launches;
        let reached = (0..all)
            .filter(|signs| {
                let signed: isize = (0..launches)
                    .zip(1isize..)
                    .map(|(bit, rank)| if signs >> bit & 1 == 1 { rank } else { -rank })
                    .sum();
                signed.unsigned_abs() >= sum
            })
            .count();
        reached as f64 / f64::from(all)
    }

    fn distinct(length: std::ops::Range<usize>) -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec(-1.0f64..1.0, length).prop_filter("distinct, not zero", |values| {
            let mut sizes: Vec<f64> = values.iter().map(|value| value.abs()).collect();
            sizes.sort_by(f64::total_cmp);
            sizes[0] > 1e-9 && sizes.windows(2).all(|pair| pair[1] - pair[0] > 1e-9)
        })
    }

    proptest! {
        #[test]
        fn the_sum_is_the_textbook_one(values in distinct(1..20)) {
            let sum = absolute_sum(&walsh_averages(&values));
            prop_assert_eq!(sum, naive_sum(&values));
        }

        #[test]
        fn the_interval_inverts_the_test(values in distinct(3..12), share in 0.0f64..1.0) {
            let walsh = walsh_averages(&values);
            let largest = largest_sum(values.len());
            let critical = (0..=largest).find(|c| *c as f64 >= share * largest as f64).unwrap();
            let (low, high) = interval(&walsh, critical);
            // Brute force: try a theta in each gap between neighbouring Walsh averages and beyond both ends.
            let mut trials: Vec<f64> = walsh.windows(2).map(|pair| 0.5 * (pair[0] + pair[1])).collect();
            trials.extend([walsh[0] - 1.0, walsh[walsh.len() - 1] + 1.0]);
            for theta in trials {
                let moved: Vec<f64> = values.iter().map(|value| value - theta).collect();
                let kept = naive_sum(&moved) <= critical;
                let inside = low.is_none_or(|low| theta >= low) && high.is_none_or(|high| theta <= high);
                prop_assert_eq!(kept, inside, "theta {} of {:?} {:?}", theta, low, high);
            }
        }

        #[test]
        fn the_sum_rejects_exactly_where_the_interval_excludes_zero(
            values in prop::collection::vec(-3i32..=5, 1..14), critical in 0usize..60,
        ) {
            // Small whole numbers: full of ties and zeros.
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let walsh = walsh_averages(&values);
            let (low, high) = interval(&walsh, critical);
            let excludes = low.is_some_and(|low| low > 0.0) || high.is_some_and(|high| high < 0.0);
            prop_assert_eq!(absolute_sum(&walsh) > critical, excludes);
        }
    }

    #[test]
    fn the_exact_distribution_is_that_of_all_sign_flips() {
        for launches in 1..=12 {
            for sum in 0..=largest_sum(launches) {
                let (found, expected) = (exact_p(launches, sum), naive_p(launches, sum));
                assert!((found - expected).abs() < 1e-12, "{launches} {sum}: {found} {expected}");
            }
        }
        assert!((exact_p(8, 36) - 2.0 / 256.0).abs() < 1e-15);
    }

    #[test]
    fn hodges_lehmann_is_the_median_of_walsh_averages() {
        assert_eq!(hodges_lehmann(&walsh_averages(&[1.0, 2.0, 6.0])), Some(2.75));
        assert_eq!(hodges_lehmann(&walsh_averages(&[4.0])), Some(4.0));
        assert_eq!(hodges_lehmann(&[]), None);
    }
}
