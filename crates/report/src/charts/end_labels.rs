//! Names at the ends of lines, moved apart where they would cover each other.

/// Places as near to the wanted ones as can be, in the same order, at least `gap` apart and within `low..=high`.
///
/// `wanted` rises. Less its number of gaps, each place must not be below the one before: that is isotonic regression,
/// done by pooling neighbours that violate it (Ayer et al. 1955), which minimises the squares of the shifts. Where
/// the room is too small for all gaps, these shrink.
pub(super) fn spread(wanted: &[f64], gap: f64, low: f64, high: f64) -> Vec<f64> {
    let count = wanted.len();
    let gap = gap.min((high - low).max(0.0) / count.saturating_sub(1).max(1) as f64);
    let mut pools: Vec<Pool> = Vec::new();
    for (index, place) in wanted.iter().enumerate() {
        let mut pool = Pool { sum: place - gap * index as f64, count: 1 };
        while let Some(before) = pools.pop_if(|before| before.mean() > pool.mean()) {
            pool = Pool { sum: before.sum + pool.sum, count: before.count + pool.count };
        }
        pools.push(pool);
    }
    let last = high - gap * count.saturating_sub(1) as f64;
    let means = pools.iter().flat_map(|pool| std::iter::repeat_n(pool.mean(), pool.count));
    means.enumerate().map(|(index, mean)| mean.min(last).max(low) + gap * index as f64).collect()
}

/// Neighbours that are placed together.
struct Pool {
    sum: f64,
    count: usize,
}

impl Pool {
    fn mean(&self) -> f64 {
        self.sum / self.count as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn labels_with_room_stay_where_they_are() {
        assert_eq!(spread(&[10.0, 40.0, 90.0], 14.0, 0.0, 100.0), [10.0, 40.0, 90.0]);
    }

    #[test]
    fn labels_at_one_place_spread_evenly_around_it() {
        assert_eq!(spread(&[50.0, 50.0, 50.0], 10.0, 0.0, 100.0), [40.0, 50.0, 60.0]);
        assert_eq!(spread(&[99.0, 99.0], 10.0, 0.0, 100.0), [90.0, 100.0]);
    }

    proptest! {
        #[test]
        fn labels_keep_their_order_their_distance_and_the_room(
            mut wanted in prop::collection::vec(0.0..400.0, 0..14),
        ) {
            wanted.sort_by(f64::total_cmp);
            let places = spread(&wanted, 15.0, 0.0, 400.0);
            prop_assert_eq!(places.len(), wanted.len());
            prop_assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= 15.0 - 1e-6), "{:?}", places);
            prop_assert!(places.iter().all(|place| (-1e-6..=400.0 + 1e-6).contains(place)), "{:?}", places);
        }
    }
}
