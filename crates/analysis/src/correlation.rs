//! Whether two series rise and fall together.

use crate::change_points::ranks;

/// Spearman's rank correlation (1904), ties sharing their ranks; absent where one of the two does not vary, or their
/// lengths differ.
pub fn rank_correlation(left: &[f64], right: &[f64]) -> Option<f64> {
    if left.len() != right.len() || left.is_empty() {
        return None;
    }
    let (left, right) = (ranks(left), ranks(right));
    let middle = 0.5 * (left.len() as f64 + 1.0);
    let (mut products, mut of_left, mut of_right) = (0.0, 0.0, 0.0);
    for (left, right) in left.iter().zip(&right) {
        products += (left - middle) * (right - middle);
        of_left += (left - middle).powi(2);
        of_right += (right - middle).powi(2);
    }
    let scale = (of_left * of_right).sqrt();
    (scale > 0.0).then(|| products / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_alone_counts() {
        let found = rank_correlation(&[1.0, 2.0, 3.0, 4.0], &[10.0, 11.0, 400.0, 401.0]).unwrap();
        assert!((found - 1.0).abs() < 1e-12);
        let found = rank_correlation(&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0]).unwrap();
        assert!((found + 1.0).abs() < 1e-12);
        // 1 - 6 * (1 + 1) / (4 * 15)
        let found = rank_correlation(&[1.0, 2.0, 3.0, 4.0], &[2.0, 1.0, 3.0, 4.0]).unwrap();
        assert!((found - 0.8).abs() < 1e-12);
    }

    #[test]
    fn what_does_not_vary_goes_with_nothing() {
        assert_eq!(rank_correlation(&[1.0, 1.0], &[1.0, 2.0]), None);
        assert_eq!(rank_correlation(&[1.0], &[1.0, 2.0]), None);
        assert_eq!(rank_correlation(&[], &[]), None);
    }
}
