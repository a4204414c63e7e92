//! What is drawn for a fault: from the seed and its number alone, so that it can be made again.

use crate::bench::scrambled;
use std::ops::Range;
use std::time::Duration;

pub struct Draws {
    state: u64,
    drawn: u64,
}

impl Draws {
    pub fn of(seed: u64, fault: u64) -> Draws {
        Draws { state: scrambled(seed, fault), drawn: 0 }
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.drawn += 1;
        scrambled(self.state, self.drawn) % bound
    }

    pub fn millis(&mut self, range: Range<u64>) -> Duration {
        Duration::from_millis(range.start + self.below(range.end - range.start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_drawn_from_the_seed_and_its_number() {
        let drawn = |seed, fault| {
            let mut draws = Draws::of(seed, fault);
            [draws.below(1000), draws.below(1000), draws.below(1000)]
        };
        assert_eq!(drawn(7, 3), drawn(7, 3));
        assert_ne!(drawn(7, 3), drawn(7, 4));
        assert_ne!(drawn(7, 3), drawn(8, 3));
        let time = Draws::of(7, 3).millis(100..200);
        assert!((100..200).contains(&time.as_millis()));
    }
}
