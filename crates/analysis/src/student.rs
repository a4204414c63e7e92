//! Student's t distribution for whole degrees of freedom, and the moments of a few values.
//!
//! The distribution function is the finite trigonometric sum of Abramowitz and Stegun, 26.7.3 and 26.7.4,
//! exact for whole degrees of freedom; a quantile is found by bisection. It is never used for pairs or
//! seconds: its unit is the launch.

/// p values below this are not told apart: the sum above cancels to about the precision of a double.
pub const LEAST_P: f64 = 1e-15;

/// The median size of normal values about 0, times this, is their standard deviation: `1 / 0.6745`.
pub(crate) const SD_OF_MEDIAN: f64 = 1.4826;

/// Mean; absent where there are no values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Standard deviation with n - 1; absent below two values.
pub fn standard_deviation(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let center = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - center).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// The median; 0 of none. The values change their order.
pub fn median(values: &mut [f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let (middle, odd) = (values.len() / 2, values.len() % 2 == 1);
    let (below, upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let upper = *upper;
    if odd {
        return upper;
    }
    let lower = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    0.5 * (lower + upper)
}

/// P(|T| >= |t|) for `df` degrees of freedom, at least [`LEAST_P`]. `df` must not be 0.
pub fn two_sided_p(t: f64, df: usize) -> f64 {
    assert!(df > 0, "Student's t needs at least one degree of freedom");
    if t.is_infinite() {
        return LEAST_P;
    }
    let theta = (t.abs() / (df as f64).sqrt()).atan();
    let (sin, cos) = theta.sin_cos();
    let odd = df % 2 == 1;
    // The sum starts with cos (odd) or 1 (even); each term is the one before times cos^2 k / (k + 1).
    let (mut term, mut k) = if odd { (cos, 2.0) } else { (1.0, 1.0) };
    let terms = if odd { (df - 1) / 2 } else { df / 2 };
    let mut sum = 0.0;
    for _ in 0..terms {
        sum += term;
        term *= cos * cos * k / (k + 1.0);
        k += 2.0;
    }
    let inside = if odd { std::f64::consts::FRAC_2_PI * (theta + sin * sum) } else { sin * sum };
    (1.0 - inside).clamp(LEAST_P, 1.0)
}

/// The t with P(|T| >= t) = `p`, for p in (0, 1).
pub fn two_sided_quantile(p: f64, df: usize) -> f64 {
    assert!(p > 0.0 && p < 1.0, "a two-sided level lies between 0 and 1, not {p}");
    let mut high = 1.0;
    while two_sided_p(high, df) > p && high < 1e300 {
        high *= 2.0;
    }
    let mut low = 0.0;
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break; // neighbours: no number lies between them
        }
        if two_sided_p(middle, df) > p {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// p of "the mean is zero", two-sided; assumes normal values. Absent below three values: with two, one
/// degree of freedom bears no verdict (statistics 1.4). Equal values give 1 at zero and [`LEAST_P`] elsewhere.
pub fn mean_is_zero_p(values: &[f64]) -> Option<f64> {
    if values.len() < 3 {
        return None;
    }
    let center = mean(values)?;
    let error = standard_deviation(values)? / (values.len() as f64).sqrt();
    if error > 0.0 {
        return Some(two_sided_p(center / error, values.len() - 1));
    }
    Some(if center.abs() > 0.0 { LEAST_P } else { 1.0 })
}

/// The interval of the mean at two-sided level `alpha`; absent below three values.
pub fn interval(values: &[f64], alpha: f64) -> Option<(f64, f64)> {
    if values.len() < 3 {
        return None;
    }
    let center = mean(values)?;
    let error = standard_deviation(values)? / (values.len() as f64).sqrt();
    let half = two_sided_quantile(alpha, values.len() - 1) * error;
    Some((center - half, center + half))
}

#[cfg(test)]
mod tests {
    use super::*;
    use statrs::distribution::{ContinuousCDF, StudentsT};

    #[test]
    fn p_and_quantile_agree_with_statrs() {
        for df in 1..=60 {
            let oracle = StudentsT::new(0.0, 1.0, df as f64).unwrap();
            for t in [0.0, 0.1, 0.7, 1.3, 2.6, 4.0, 9.0] {
                let expected = 2.0 * oracle.cdf(-t);
                assert!((two_sided_p(t, df) - expected).abs() < 1e-9, "df {df}, t {t}");
            }
            for p in [0.5, 0.2, 0.05, 0.01, 0.005, 0.001, 1e-5] {
                let expected = oracle.inverse_cdf(1.0 - p / 2.0);
                let found = two_sided_quantile(p, df);
                assert!((found / expected - 1.0).abs() < 1e-5, "df {df}, p {p}: {found} {expected}");
            }
        }
    }

    #[test]
    fn few_or_equal_values_have_an_answer() {
        assert_eq!(mean_is_zero_p(&[0.1, 0.2]), None);
        assert_eq!(mean_is_zero_p(&[0.0, 0.0, 0.0]), Some(1.0));
        assert_eq!(mean_is_zero_p(&[0.5, 0.5, 0.5]), Some(LEAST_P));
        assert_eq!(interval(&[0.25, 0.25, 0.25], 0.01), Some((0.25, 0.25)));
        assert_eq!(standard_deviation(&[1.0]), None);
        assert_eq!(mean(&[]), None);
    }
}
