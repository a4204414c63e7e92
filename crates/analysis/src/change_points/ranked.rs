//! Ranks, so that no value counts for more than its place.

/// Mid-ranks from 1.
pub(crate) fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|left, right| values[*left].total_cmp(&values[*right]));
    let mut ranks = vec![0.0; values.len()];
    let mut start = 0;
    while start < order.len() {
        let tied = order[start..].iter().take_while(|index| values[**index] <= values[order[start]]).count();
        let rank = start as f64 + 0.5 * (tied as f64 + 1.0);
        order[start..start + tied].iter().for_each(|index| ranks[*index] = rank);
        start += tied;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_share_their_ranks() {
        assert_eq!(ranks(&[0.3, -1.0, 0.3, 7.0, 0.3]), [3.0, 1.0, 3.0, 5.0, 3.0]);
        assert_eq!(ranks(&[]), [] as [f64; 0]);
    }
}
