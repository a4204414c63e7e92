//! How many launches a budget allows, and how few are worth starting. Fixed before any difference is seen.

use model::units::Nanos;

/// No step has more launches than this (statistics 1.9, rule 6).
pub const MOST_LAUNCHES: u32 = 48;

/// Lmax: how many launches of this cost the budget left after the first launch pays for, at most 48.
///
/// The first launch, which told the cost, is one of them: its place is the reserve for launches that turn
/// out dearer, so that Lmax is reached rather than cut short. At least 1: it has been made.
pub fn max_launches(budget_left: Nanos, launch_cost: Nanos) -> u32 {
    let affordable = budget_left.0 / launch_cost.0.max(1);
    u32::try_from(affordable).unwrap_or(MOST_LAUNCHES).clamp(1, MOST_LAUNCHES)
}

/// How many launches there will be, if these took this share of the time.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "brought down to the most launches"
)]
pub(crate) fn expected_launches(launches: usize, share: f64) -> usize {
    (launches as f64 / share.max(f64::MIN_POSITIVE)).ceil().min(f64::from(MOST_LAUNCHES)) as usize
}

/// The least number of launches at which a signed-rank test at level `alpha` can reject: those at which
/// launches that all agree are rare enough, 2 / 2^n <= alpha. 9 at 0.5 %, 8 at 1 %.
pub fn least_launches(alpha: f64) -> u32 {
    (1..64).find(|launches| 2.0 * 0.5f64.powi(*launches) <= alpha).map_or(64, i32::cast_unsigned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_bounds_the_launches() {
        assert_eq!(max_launches(Nanos::from_secs(100), Nanos::from_secs(7)), 14);
        assert_eq!(max_launches(Nanos::from_secs(10_000), Nanos::from_secs(7)), 48);
        assert_eq!(max_launches(Nanos::from_secs(6), Nanos::from_secs(7)), 1);
        assert_eq!(max_launches(Nanos::from_secs(6), Nanos(0)), 48);
    }

    #[test]
    fn the_least_useful_number_is_where_unanimity_suffices() {
        assert_eq!(least_launches(0.005), 9);
        assert_eq!(least_launches(0.01), 8);
        assert_eq!(least_launches(0.001), 11);
    }
}
