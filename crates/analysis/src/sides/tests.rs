//! Laws of the test for many sides, a naive oracle of it, and its agreement with the ordinary family.

use super::*;
use crate::family::{Family, Member};
use crate::procedure::Look;
use crate::simulation::noise::Noise;
use model::metric::Metric;
use proptest::prelude::*;
use std::collections::BTreeMap;

const ALPHA: f64 = 0.01;

/// Normal launch values by step, launch and side; candidates differ by `effect` in the first step.
fn made(steps: usize, launches: u32, sides: usize, effects: &[f64], seed: u64) -> Vec<Vec<SideLaunch>> {
    let mut noise = Noise::new(seed);
    let mut launch = |step: usize, launch: u32| {
        let of_launch = noise.normal();
        let value = |side: usize| {
            let effect = if step == 0 { effects.get(side).copied().unwrap_or(0.0) } else { 0.0 };
            let wall = of_launch + effect + 0.02 * noise.normal();
            (side, SideValue { wall, adjusted: wall })
        };
        SideLaunch { launch, values: (0..sides).map(value).collect(), scatter: None }
    };
    (0..steps).map(|step| (1..=launches).map(|number| launch(step, number)).collect()).collect()
}

fn views(steps: &[Vec<SideLaunch>]) -> Vec<StepSides<'_>> {
    steps.iter().map(|launches| StepSides { step: "step", adjusted_may_decide: false, launches }).collect()
}

fn roles(base: usize, sides: usize) -> Roles {
    Roles::new((0..base).collect(), (base..sides).collect()).unwrap()
}

fn last(launch: u32) -> Look {
    Look { launch, share: 1.0 }
}

/// What counts at the end, and the t that was asked for.
fn judged(steps: &[Vec<SideLaunch>], roles: &Roles, looks: &[Look]) -> (Vec<Confirmed>, f64) {
    let mut test = SidesTest::new(roles.clone(), ALPHA);
    let critical = looks.iter().map(|look| test.look(&views(steps), *look).critical_t).last();
    (test.confirmed(), critical.unwrap_or(0.0))
}

/// The same values with other numbers of sides, or moved.
fn mapped(
    steps: &[Vec<SideLaunch>],
    change: impl Fn(u32, Side, SideValue) -> (Side, SideValue),
) -> Vec<Vec<SideLaunch>> {
    let of_launch = |launch: &SideLaunch| {
        let values = launch.values.iter().map(|(side, value)| change(launch.launch, *side, *value));
        SideLaunch { launch: launch.launch, values: values.collect(), scatter: None }
    };
    steps.iter().map(|launches| launches.iter().map(of_launch).collect()).collect()
}

#[test]
fn roles_are_checked() {
    assert!(Roles::new(vec![0, 1], vec![2]).is_ok());
    assert_eq!(Roles::new(vec![], vec![2]), Err(Error::BadRoles { base: 0, candidates: 1 }));
    assert_eq!(Roles::new(vec![0, 1, 2, 3, 4], vec![5]), Err(Error::BadRoles { base: 5, candidates: 1 }));
    assert_eq!(Roles::new(vec![0], vec![]), Err(Error::BadRoles { base: 1, candidates: 0 }));
    assert_eq!(Roles::new(vec![0, 3], vec![3]), Err(Error::TwoRoles { side: 3 }));
}

#[test]
fn one_process_of_the_base_is_judged_as_the_family_of_pairs() {
    let steps = made(3, 12, 6, &[0.0, -0.06, 0.0, 0.04], 11);
    let looks = [Look { launch: 8, share: 8.0 / 12.0 }, last(12)];
    let (confirmed, critical) = judged(&steps, &roles(1, 6), &looks);
    let mut family = Family::new();
    let (mut of_pairs, mut critical_of_pairs) = (Vec::new(), 0.0);
    for look in looks {
        let member = |index: usize| {
            let (step, side) = (index / 5, 1 + index % 5);
            let launches = steps[step].iter().filter(|launch| launch.launch <= look.launch);
            let values = launches.map(|launch| launch.values[&side].wall - launch.values[&0].wall).collect();
            Member { index, is_open: true, values }
        };
        let members: Vec<Member> = (0..15).map(member).collect();
        let found = family.look(&members, ALPHA * look.spent_share());
        of_pairs.extend(found.confirmed);
        critical_of_pairs = found.critical;
    }
    of_pairs.sort_unstable();
    let ours: Vec<usize> = confirmed.iter().map(|one| one.step * 5 + one.candidate - 1).collect();
    assert_eq!(ours, of_pairs);
    assert!(ours.contains(&0), "6 % of noise of 2 % is found: {ours:?}");
    assert!((critical - critical_of_pairs).abs() < 1e-9);
}

#[test]
fn more_processes_of_the_base_ask_for_less() {
    let visible = |base: usize| {
        let steps = made(5, 12, base + 8, &[], 5);
        let known =
            sizes(&views(&steps), &roles(base, base + 8), &[Metric::OpsPerSecond; 40], ALPHA).unwrap();
        let all: Vec<f64> = known.iter().flatten().filter_map(|size| size.visible).collect();
        assert_eq!(all.len(), 40);
        all.iter().sum::<f64>() / 40.0
    };
    let (one, two, four) = (visible(1), visible(2), visible(4));
    assert!(two < 0.95 * one && four < 0.95 * two, "{one} {two} {four}");
}

/// By hand: all 2^8 sign vectors over the contrasts, each with its t by the moderated variance, and the largest of them.
#[test]
fn the_critical_value_is_that_of_all_sign_vectors() {
    let (launches, base, candidates) = (8usize, 3usize, 2usize);
    let steps = made(1, 8, base + candidates, &[], 23);
    let contrast = |launch: usize, candidate: usize| {
        let values = &steps[0][launch].values;
        let of_base: f64 = (0..base).map(|side| values[&side].wall).sum::<f64>() / base as f64;
        values[&(base + candidate)].wall - of_base
    };
    let table: Vec<Vec<f64>> = (0..candidates)
        .map(|candidate| {
            crate::family::cut(&(0..launches).map(|launch| contrast(launch, candidate)).collect::<Vec<f64>>())
        })
        .collect();
    let places = rows::Places::of(&views(&steps), 8);
    let of_base = step_noise::of_base(&views(&steps)[0], &roles(base, 5), Metric::OpsPerSecond, &places);
    let factor = 1.0 + 1.0 / base as f64;
    let sizes = table.iter().map(|values| step_noise::Squares {
        sum: values.iter().map(|value| value * value).sum::<f64>() / factor,
        freedom: launches as f64,
    });
    let noise = step_noise::pooled(of_base.variance(), sizes.chain([of_base]));
    let squared_t = |values: &[f64], signs: usize| {
        let signed = values
            .iter()
            .enumerate()
            .map(|(place, value)| if signs >> place & 1 == 1 { -value } else { *value });
        let (sum, all) = (signed.clone().sum::<f64>(), signed.map(|value| value * value).sum::<f64>());
        let about_mean = all - sum * sum / 8.0;
        let own = about_mean / 7.0;
        let is_noisy = own > step_noise::most_of_chance(7.0) * noise.variance() * factor;
        let variance = if is_noisy { own } else { (noise.sum * factor + about_mean) / (noise.freedom + 7.0) };
        sum * sum / 8.0 / variance
    };
    let mut largest: Vec<f64> = (0..1usize << launches)
        .map(|signs| table.iter().map(|values| squared_t(values, signs)).fold(0.0, f64::max))
        .collect();
    largest.sort_by(|left, right| right.total_cmp(left));
    // 1 % of 256 vectors are two, a vector and its opposite.
    let (_, critical) = judged(&steps, &roles(base, 5), &[last(8)]);
    assert!((critical - largest[2].sqrt()).abs() < 1e-4, "{critical} {}", largest[2].sqrt());
}

#[test]
fn what_other_candidates_are_does_not_change_a_size_nor_the_verdict_of_a_clear_change() {
    let steps = made(2, 12, 8, &[0.0, 0.0, 0.0, -0.08], 31);
    // Others lose a fifth.
    let moved = mapped(&steps, |_, side, value| {
        let shift = if side > 4 { -0.2 } else { 0.0 };
        (side, SideValue { wall: value.wall + shift, adjusted: value.adjusted + shift })
    });
    let of = |steps: &[Vec<SideLaunch>]| {
        sizes(&views(steps), &roles(3, 8), &[Metric::OpsPerSecond; 10], ALPHA).unwrap()[0].clone().unwrap()
    };
    let (before, after) = (of(&steps), of(&moved));
    assert!((before.ln_ratio - after.ln_ratio).abs() < 1e-12);
    assert!((before.half_width.unwrap() - after.half_width.unwrap()).abs() < 1e-12);
    let clear = Confirmed { step: 0, candidate: 3 };
    assert_eq!(judged(&steps, &roles(3, 8), &[last(12)]).0, [clear]);
    let found = judged(&moved, &roles(3, 8), &[last(12)]).0;
    assert!(
        found.contains(&clear) && found.iter().all(|one| *one == clear || one.candidate > 4),
        "{found:?}"
    );
    assert_eq!(found.len(), 1 + 2 * 3);
}

#[test]
fn absent_sides_leave_the_others_what_they_say() {
    let mut steps = made(2, 12, 6, &[0.0, 0.0, 0.0, -0.08], 41);
    for launches in &mut steps {
        launches[2].values.remove(&3);
        launches[5].values.remove(&1);
        launches[7].values.retain(|side, _| *side > 2);
        launches.iter_mut().skip(6).for_each(|launch| launch.values.retain(|side, _| *side != 5));
    }
    let found = judged(&steps, &roles(3, 6), &[last(12)]).0;
    assert_eq!(found, [Confirmed { step: 0, candidate: 3 }]);
    let known = sizes(&views(&steps), &roles(3, 6), &[Metric::OpsPerSecond; 6], ALPHA).unwrap();
    let of = |index: usize| known[index].clone().unwrap();
    assert_eq!((of(0).launches, of(1).launches, of(2).launches), (11, 12, 6));
    assert!(of(2).half_width.unwrap() > 1.2 * of(1).half_width.unwrap(), "half of the launches");
    assert!((of(0).ln_ratio + 0.08).abs() < of(0).half_width.unwrap());
    let nobody = mapped(&steps, |_, side, value| (if side == 4 { 9 } else { side }, value));
    assert_eq!(sizes(&views(&nobody), &roles(3, 6), &[Metric::OpsPerSecond; 6], ALPHA).unwrap()[1], None);
}

#[test]
fn a_noisy_candidate_has_a_wide_interval_of_its_own_and_others_keep_theirs() {
    let steps = made(1, 12, 10, &[], 43);
    let loud = mapped(&steps, |launch, side, value| {
        let shift = if side == 9 { if launch % 2 == 0 { 0.1 } else { -0.1 } } else { 0.0 };
        (side, SideValue { wall: value.wall + shift, ..value })
    });
    let of = |steps: &[Vec<SideLaunch>], index: usize| {
        sizes(&views(steps), &roles(2, 10), &[Metric::OpsPerSecond; 8], ALPHA).unwrap()[index]
            .clone()
            .unwrap()
    };
    assert!(of(&loud, 7).is_noisy && !of(&steps, 7).is_noisy);
    assert!(of(&loud, 7).half_width.unwrap() > 4.0 * of(&steps, 7).half_width.unwrap());
    let (before, after) = (of(&steps, 0).half_width.unwrap(), of(&loud, 0).half_width.unwrap());
    assert!(after < 1.3 * before, "{before} {after}");
}

#[test]
fn few_launches_are_judged_once_at_the_end_by_student() {
    let steps = made(2, 7, 6, &[0.0, 0.0, 0.0, -0.5], 47);
    let mut test = SidesTest::new(roles(3, 6), ALPHA);
    let early = test.look(&views(&steps), Look { launch: 4, share: 0.5 });
    assert_eq!((early.confirmed.len(), early.is_parametric), (0, false));
    let found = test.look(&views(&steps), last(7));
    assert!(found.is_parametric);
    assert_eq!(found.confirmed, [Confirmed { step: 0, candidate: 3 }]);
    let two = made(2, 2, 6, &[0.0, 0.0, 0.0, -0.5], 47);
    assert_eq!(judged(&two, &roles(3, 6), &[last(2)]).0, [], "two launches bear no verdict");
    assert_eq!(judged(&[vec![], vec![]], &roles(3, 6), &[last(1)]).0, []);
}

#[test]
fn the_quieter_rate_decides_where_it_may() {
    let steps = mapped(&made(1, 12, 6, &[], 53), |launch, side, value| {
        let center = f64::from(launch);
        (side, SideValue { adjusted: center + 0.5 * (value.wall - center), ..value })
    });
    let steps = mapped(&steps, |launch, side, value| {
        let effect = if side == 3 { -0.03 } else { 0.0 };
        (
            side,
            SideValue {
                wall: value.wall + effect,
                adjusted: value.adjusted + effect - 0.5 * f64::from(launch),
            },
        )
    });
    for (may, rate) in [(true, Metric::OpsPerSecondAdjusted), (false, Metric::OpsPerSecond)] {
        let view = [StepSides { step: "step", adjusted_may_decide: may, launches: &steps[0] }];
        let mut test = SidesTest::new(roles(3, 6), ALPHA);
        test.look(&view, last(12));
        assert_eq!(test.rates()[1..], [rate; 2]);
    }
}

#[test]
fn the_control_is_the_share_of_all_permutations() {
    // Two processes, eight launches: exchanged or not in each, 2^8 labellings.
    let steps = made(2, 8, 3, &[0.03], 61);
    let roles = roles(2, 3);
    let difference = |step: usize, launch: usize| {
        steps[step][launch].values[&1].wall - steps[step][launch].values[&0].wall
    };
    let largest = |signs: usize| {
        let of_step = |step: usize| {
            let sign = |launch: usize| if signs >> launch & 1 == 1 { -1.0 } else { 1.0 };
            let sum: f64 = (0..8).map(|launch| sign(launch) * difference(step, launch)).sum();
            sum * sum / (0..8).map(|launch| difference(step, launch).powi(2)).sum::<f64>()
        };
        of_step(0).max(of_step(1))
    };
    let as_large = (0..256).filter(|signs| largest(*signs) >= largest(0) * (1.0 - 1e-9)).count();
    let said = control(&views(&steps), &roles, &[Metric::OpsPerSecond; 2], ALPHA);
    let exact = as_large as f64 / 256.0;
    // Ten thousand draws.
    assert!(
        (said.p - exact).abs() < 4.0 * (exact * (1.0 - exact) / 10_000.0).sqrt() + 1e-4,
        "{} {exact}",
        said.p
    );
    assert_eq!(said.step, Some(0));
}

#[test]
fn a_process_that_is_favoured_is_told_by_the_control() {
    let rates = [Metric::OpsPerSecond; 6];
    let of = |effects: &[f64], base: usize, launches: u32| {
        control(&views(&made(2, launches, base + 3, effects, 71)), &roles(base, base + 3), &rates, ALPHA)
    };
    let favoured = of(&[0.05], 3, 12);
    assert_eq!((favoured.verdict, favoured.step), (ControlVerdict::Differ, Some(0)));
    assert!((0.03..0.07).contains(&favoured.range), "{}", favoured.range);
    assert_eq!(of(&[], 3, 12).verdict, ControlVerdict::NoDifference);
    assert_eq!(of(&[0.05], 1, 12).verdict, ControlVerdict::Unknown);
    assert_eq!(of(&[0.05], 2, 5).verdict, ControlVerdict::Unknown, "2^4 labellings are too few");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// What a launch does to all its sides, the unit, and how processes are numbered is of no consequence.
    #[test]
    fn launches_units_and_numbers_do_not_matter(seed in any::<u64>(), scale in 0.1f64..10.0, shift in -3.0f64..3.0) {
        let steps = made(2, 10, 7, &[0.0, 0.0, 0.0, -0.05, 0.03], seed);
        let roles_of = |base: [Side; 3], candidates: [Side; 4]| Roles::new(base.to_vec(), candidates.to_vec()).unwrap();
        let ordinary = roles_of([0, 1, 2], [3, 4, 5, 6]);
        let (found, critical) = judged(&steps, &ordinary, &[last(10)]);
        let moved = mapped(&steps, |launch, side, value| {
            let wall = value.wall * scale + shift * f64::from(launch);
            (side, SideValue { wall, adjusted: wall })
        });
        let (of_moved, critical_of_moved) = judged(&moved, &ordinary, &[last(10)]);
        prop_assert_eq!(&of_moved, &found);
        prop_assert!((critical_of_moved - critical).abs() < 1e-3 * critical, "{} {}", critical_of_moved, critical);
        // Sides are renumbered backwards.
        let renumbered = mapped(&steps, |_, side, value| (6 - side, value));
        let (of_renumbered, critical_of_renumbered) =
            judged(&renumbered, &roles_of([5, 6, 4], [0, 1, 2, 3]), &[last(10)]);
        let mut back: Vec<Confirmed> =
            of_renumbered.iter().map(|one| Confirmed { candidate: 6 - one.candidate, ..*one }).collect();
        back.sort_unstable();
        prop_assert_eq!(&back, &found);
        prop_assert!((critical_of_renumbered - critical).abs() < 1e-3 * critical);
        let values: BTreeMap<usize, f64> = sizes(&views(&steps), &ordinary, &[Metric::OpsPerSecond; 8], ALPHA)
            .unwrap().into_iter().flatten().map(|size| (size.step * 10 + size.candidate, size.ln_ratio)).collect();
        for size in sizes(&views(&moved), &ordinary, &[Metric::OpsPerSecond; 8], ALPHA).unwrap().into_iter().flatten() {
            prop_assert!((size.ln_ratio - scale * values[&(size.step * 10 + size.candidate)]).abs() < 1e-9);
        }
    }
}
