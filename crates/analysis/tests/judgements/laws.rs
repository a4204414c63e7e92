//! Laws that every judgement keeps, whatever the numbers.

use crate::made::{READS, Ratios, blocks, judged, procedure};
use analysis::{Estimate, Judgement, Procedure, Stage};
use model::block::Block;
use model::verdict::Verdict;
use proptest::prelude::*;
use std::sync::LazyLock;

static PROCEDURES: LazyLock<Vec<Procedure>> =
    LazyLock::new(|| [5, 9, 14, 24].into_iter().map(procedure).collect());

/// Launches of one comparison: an effect, a noise, and how many there are.
fn any_launches() -> impl Strategy<Value = Vec<Ratios>> {
    (-0.2f64..0.2, prop::sample::select(vec![0.002, 0.02, 0.1]), 1usize..26).prop_flat_map(
        |(effect, noise, count)| {
            let ratio = (-1.0f64..1.0, -1.0f64..1.0).prop_map(move |(first, second)| Ratios {
                wall: (effect + noise * first).exp(),
                adjusted: (effect + noise * (0.3 * first + 0.3 * second)).exp(),
            });
            prop::collection::vec(ratio, count)
        },
    )
}

fn any_stage() -> impl Strategy<Value = Stage> {
    prop::sample::select(vec![Stage::Running, Stage::Final])
}

fn estimates(judgement: &Judgement) -> Vec<&Estimate> {
    [Some(&judgement.wall), judgement.adjusted.as_ref(), Some(&judgement.cpu)].into_iter().flatten().collect()
}

fn same(left: Option<f64>, right: Option<f64>) -> bool {
    match (left, right) {
        (None, None) => true,
        (Some(left), Some(right)) => (left / right - 1.0).abs() < 1e-6,
        (Some(_), None) | (None, Some(_)) => false,
    }
}

fn mirrored(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Regression => Verdict::Improvement,
        Verdict::Improvement => Verdict::Regression,
        Verdict::NoChange | Verdict::Inconclusive | Verdict::Suspect | Verdict::RatioOnly => verdict,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn swapping_the_sides_flips_the_sign_and_nothing_else(
        ratios in any_launches(), plan in 0usize..4, stage in any_stage(),
    ) {
        let blocks = blocks(&ratios);
        let mut swapped = blocks.clone();
        swapped.iter_mut().for_each(|block| block.trial.side = 1 - block.trial.side);
        let there = judged(&READS, &blocks, &PROCEDURES[plan], stage);
        let back = judged(&READS, &swapped, &PROCEDURES[plan], stage);
        prop_assert_eq!(there.verdict, mirrored(back.verdict));
        prop_assert_eq!((there.decided, there.decides), (back.decided, back.decides));
        for (there, back) in estimates(&there).into_iter().zip(estimates(&back)) {
            let inverse = |value: Option<f64>| value.map(f64::recip);
            prop_assert!(same(there.ratio, inverse(back.ratio)), "{there:?} {back:?}");
            prop_assert!(same(there.low, inverse(back.high)) && same(there.high, inverse(back.low)));
            prop_assert!(same(there.base_value, back.candidate_value));
        }
    }

    #[test]
    fn a_host_of_another_speed_changes_no_ratio(
        ratios in any_launches(), plan in 0usize..4, stage in any_stage(), factor in 2u64..9,
    ) {
        let blocks = blocks(&ratios);
        let slower: Vec<Block> = blocks
            .iter()
            .map(|block| {
                let mut block = block.clone();
                let times = [&mut block.wall, &mut block.run_delay, &mut block.foreground_cpu];
                times.into_iter().chain(&mut block.process_cpu).for_each(|time| time.0 *= factor);
                block
            })
            .collect();
        let fast = judged(&READS, &blocks, &PROCEDURES[plan], stage);
        let slow = judged(&READS, &slower, &PROCEDURES[plan], stage);
        prop_assert_eq!(fast.verdict, slow.verdict);
        for (fast, slow) in estimates(&fast).into_iter().zip(estimates(&slow)) {
            prop_assert!(same(fast.ratio, slow.ratio), "{fast:?} {slow:?}");
            prop_assert!(same(fast.low, slow.low) && same(fast.high, slow.high));
        }
    }

    #[test]
    fn the_order_of_blocks_is_of_no_consequence(
        (ratios, order) in any_launches().prop_flat_map(|ratios| {
            let order: Vec<usize> = (0..ratios.len() * 6).collect();
            (Just(ratios), Just(order).prop_shuffle())
        }),
        plan in 0usize..4,
    ) {
        let blocks = blocks(&ratios);
        let shuffled: Vec<Block> = order.iter().map(|index| blocks[*index].clone()).collect();
        let procedure = &PROCEDURES[plan];
        let in_order = judged(&READS, &blocks, procedure, Stage::Final);
        prop_assert_eq!(in_order, judged(&READS, &shuffled, procedure, Stage::Final));
    }

    #[test]
    fn verdict_interval_and_p_value_agree(ratios in any_launches(), plan in 0usize..4) {
        let found = judged(&READS, &blocks(&ratios), &PROCEDURES[plan], Stage::Final);
        let deciding = found.deciding();
        let (low, high) = (deciding.low.unwrap_or(0.0), deciding.high.unwrap_or(f64::INFINITY));
        match found.verdict {
            Verdict::Regression => prop_assert!(high < 1.0),
            Verdict::Improvement => prop_assert!(low > 1.0),
            Verdict::NoChange => prop_assert!(low > 0.98 && high < 1.0201 && low <= 1.0 && high >= 1.0),
            Verdict::RatioOnly => prop_assert!(ratios.len() < 3 && deciding.low.is_none()),
            Verdict::Inconclusive | Verdict::Suspect => prop_assert_eq!(found.verdict, Verdict::Inconclusive),
        }
        if let Some(ratio) = deciding.ratio {
            prop_assert!(low <= ratio && ratio <= high);
        }
        if let (true, Some(p)) = (mirrored(found.verdict) != found.verdict, found.p_value) {
            prop_assert!(p <= 0.01 + 1e-9, "{p}");
        }
    }
}
