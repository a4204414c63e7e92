//! When a running comparison is looked at, and how much of alpha may be spent by then.

/// Launch counts at which a run is looked at before its end. With fewer than eight launches nothing could be rejected
/// at 1 %: eight that all agree are as rare as 0.8 %.
const LOOKS: [u32; 11] = [8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48];
/// Exponent of the spending function (statistics 2.5: O'Brien-Fleming costs 10 to 30 % more launches).
const SPENDING_EXPONENT: f64 = 1.5;

/// A look at the launches so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// The last launch that it sees.
    pub launch: u32,
    /// The share of the budget that has passed, 0 to 1; of the last look 1, whatever made the run end, as long as that
    /// was not what the launches said.
    pub share: f64,
}

impl Look {
    /// The look after this launch; absent where there is none.
    pub fn after(launch: u32, share: f64, is_last: bool) -> Option<Look> {
        (is_last || LOOKS.contains(&launch))
            .then_some(Look { launch, share: if is_last { 1.0 } else { share } })
    }

    /// Looks of a run of `launches` launches of equal cost.
    pub fn planned(launches: u32) -> Vec<Look> {
        let share = |launch: u32| f64::from(launch) / f64::from(launches.max(1));
        (1..=launches).filter_map(|launch| Look::after(launch, share(launch), launch == launches)).collect()
    }

    pub fn is_last(self) -> bool {
        self.share >= 1.0
    }

    /// The share of alpha that may be spent by now (Lan and DeMets 1983, by elapsed time; the power family of Kim and
    /// DeMets 1987).
    pub fn spent_share(self) -> f64 {
        self.share.clamp(0.0, 1.0).powf(SPENDING_EXPONENT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_looked_at_on_the_way_and_at_its_end() {
        let looks = Look::planned(13);
        assert_eq!(looks.iter().map(|look| look.launch).collect::<Vec<_>>(), [8, 10, 12, 13]);
        assert!(looks[3].is_last() && !looks[2].is_last());
        assert!((looks[3].spent_share() - 1.0).abs() < 1e-12 && looks[0].spent_share() < 8.0 / 13.0);
        assert_eq!(Look::after(9, 0.4, false), None);
        assert!(Look::after(9, 0.4, true).is_some_and(Look::is_last));
        assert_eq!(Look::planned(5), [Look { launch: 5, share: 1.0 }]);
    }
}
