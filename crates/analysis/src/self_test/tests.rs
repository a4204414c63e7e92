//! The e-value of the self-test: exact laws, honest hosts over many calibrations, and biases that are found.

use super::*;
use crate::launch::Totals;
use crate::simulation::noise::Noise;
use proptest::prelude::*;

fn launches(values: &[[f64; 2]]) -> Vec<LaunchSummary> {
    (1..)
        .zip(values)
        .map(|(launch, [wall, adjusted])| LaunchSummary {
            launch,
            image: launch,
            base: Totals::default(),
            candidate: Totals::default(),
            wall: Some(*wall),
            adjusted: Some(*adjusted),
            cpu: None,
        })
        .collect()
}

fn calibration(values: &[[f64; 2]]) -> SelfTestRecord {
    SelfTestRecord {
        run: "a".to_owned(),
        started_at_us: 0,
        boot_id: "boot".to_owned(),
        workload: "small".to_owned(),
        workload_sha256: "ab".to_owned(),
        step: "readrandom".to_owned(),
        family: STEPS,
        gains: gains(&launches(values)),
    }
}

fn accumulated(records: &[SelfTestRecord]) -> Accumulated {
    accumulate(&records.iter().collect::<Vec<_>>()).unwrap()
}

/// Steps of the workload in all tests.
const STEPS: u32 = 5;
/// Launches of a calibration in the simulations.
const LAUNCHES: usize = 20;

fn flipped(values: &[[f64; 2]], flips: u32) -> Vec<[f64; 2]> {
    let sign = |launch: usize| if flips >> launch & 1 == 1 { -1.0 } else { 1.0 };
    values
        .iter()
        .enumerate()
        .map(|(launch, [wall, adjusted])| [sign(launch) * wall, sign(launch) * adjusted])
        .collect()
}

/// The mean over all flips of whole launches of what `e_value` makes of them.
fn mean_over_flips(values: &[[f64; 2]], e_value: impl Fn(&[[f64; 2]]) -> f64) -> f64 {
    let flips = 1_u32 << values.len();
    (0..flips).map(|flip| e_value(&flipped(values, flip))).sum::<f64>() / f64::from(flips)
}

fn values(most: usize) -> impl Strategy<Value = Vec<[f64; 2]>> {
    let one = prop_oneof![8 => -0.05..0.05, 1 => -3.0..3.0, 1 => Just(0.0)];
    prop::collection::vec(prop::array::uniform2(one), 1..=most)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_mean_of_the_e_value_over_all_flips_is_one(values in values(9), cut in 0_usize..9) {
        let cut = cut.min(values.len());
        let mean = mean_over_flips(&values, |values| {
            let (first, second) = values.split_at(cut);
            accumulated(&[calibration(first), calibration(second)]).e_value
        });
        prop_assert!((mean - 1.0).abs() < 1e-9, "{mean}");
    }

    #[test]
    fn it_is_one_too_where_the_values_say_when_a_step_leaves(values in values(9)) {
        // Leaves as soon as what was seen favours the candidate.
        let mean = mean_over_flips(&values, |values| {
            let mut sum = 0.0;
            let last = values.iter().position(|[wall, _]| {
                sum += wall;
                sum > 0.02
            });
            let seen = last.map_or(values.len(), |last| last + 1);
            accumulated(&[calibration(&values[..seen])]).e_value
        });
        prop_assert!((mean - 1.0).abs() < 1e-9, "{mean}");
    }

    #[test]
    fn a_bet_is_the_exponential_of_its_sum_over_the_mean_of_those_of_all_flips(values in values(8)) {
        let wall: Vec<f64> = values.iter().map(|[wall, _]| *wall).collect();
        let shown = scaled(&wall);
        let flips = 1_u32 << shown.len();
        for (bet, found) in BETS.iter().zip(ln_gains(&wall)) {
            let sum = |flip: u32| -> f64 {
                let sign = |launch: usize| if flip >> launch & 1 == 1 { -1.0 } else { 1.0 };
                shown.iter().enumerate().map(|(launch, value)| sign(launch) * value).sum()
            };
            let mean = (0..flips).map(|flip| (bet * sum(flip)).exp()).sum::<f64>() / f64::from(flips);
            let naive = bet * sum(0) - mean.ln();
            prop_assert!((found - naive).abs() < 1e-9, "bet {bet}: {found} {naive}");
        }
    }

    #[test]
    fn neither_unit_nor_name_of_a_side_matters(values in values(12), unit in 0.001..1000.0) {
        let e_value = |scale: f64| {
            let scaled: Vec<[f64; 2]> = values.iter().map(|both| both.map(|value| value * scale)).collect();
            accumulated(&[calibration(&scaled)]).e_value.ln()
        };
        prop_assert!((e_value(1.0) - e_value(unit)).abs() < 1e-6);
        prop_assert!((e_value(1.0) - e_value(-1.0)).abs() < 1e-9);
    }
}

#[test]
fn values_that_are_no_numbers_and_launches_without_a_rate_do_not_count() {
    let some = [[0.01, 0.02], [0.03, -0.01], [-0.02, 0.01]];
    let with_gap = [some[0], [f64::NAN, f64::INFINITY], some[1], some[2]];
    let (clean, gap) = (calibration(&some), calibration(&with_gap));
    assert_eq!((&clean.gains.wall, &clean.gains.adjusted), (&gap.gains.wall, &gap.gains.adjusted));
    let nothing = accumulated(&[calibration(&[])]);
    assert_eq!((nothing.e_value.to_bits(), nothing.launches), (1.0_f64.to_bits(), 0));
    assert_eq!(nothing.result(), SelfTestResult::NotEnough);
    assert_eq!(accumulate(&[]), None);
}

#[test]
fn the_fewest_launches_that_fail_a_step_are_those_told() {
    let alike = |launches: u32| accumulated(&[calibration(&vec![[0.01; 2]; launches as usize])]);
    let needed = alike(1).needed;
    assert_eq!(needed, 12);
    assert_eq!(alike(needed - 1).result(), SelfTestResult::NotEnough);
    assert_eq!(alike(needed).result(), SelfTestResult::Failed);
}

#[test]
fn one_wild_launch_does_not_hide_a_bias() {
    let mut values = vec![[0.01, 0.01]; 30];
    values[7] = [-5.0, -5.0];
    assert_eq!(accumulated(&[calibration(&values)]).result(), SelfTestResult::Failed);
}

#[test]
fn what_failed_stays_failed() {
    let biased = calibration(&[[0.01; 2]; 20]);
    let against = calibration(&[[-0.01; 2]; 20]);
    let found = accumulated(&[biased, against]);
    assert!(found.e_value < 1.0, "{found:?}");
    assert_eq!(found.result(), SelfTestResult::Failed);
}

/// Launch values around 0 of one kind of noise, a step's two rates nearly alike.
type Draw = fn(&mut Noise) -> f64;

/// A label is drawn for each launch, which makes any noise symmetric.
fn labelled(random: &mut Noise, size: f64) -> f64 {
    if random.coin() { size } else { -size }
}

const NOISES: [(&str, Draw); 4] = [
    ("normal", |random| random.normal()),
    ("skewed", |random| {
        let size = random.normal().exp() - 1.0;
        labelled(random, size)
    }),
    ("two-point", |random| labelled(random, 1.0)),
    ("student 3", |random| random.student_3()),
];

/// Values of a calibration, shifted by so many standard deviations.
fn drawn(random: &mut Noise, draw: Draw, shift: f64) -> Vec<[f64; 2]> {
    (0..LAUNCHES)
        .map(|_| {
            let wall = draw(random);
            [0.01 * (wall + shift), 0.01 * (wall + 0.3 * draw(random) + shift)]
        })
        .collect()
}

#[test]
fn an_honest_harness_that_is_looked_at_after_each_of_fifty_calibrations_fails_at_most_at_alpha() {
    const HOSTS: u64 = 150;
    for (name, draw) in NOISES {
        let mut failed = 0;
        for host in 0..HOSTS {
            let mut random = Noise::new(host);
            let fails = (0..STEPS).any(|_| {
                let records: Vec<SelfTestRecord> =
                    (0..50).map(|_| calibration(&drawn(&mut random, draw, 0.0))).collect();
                accumulated(&records).result() == SelfTestResult::Failed
            });
            failed += u64::from(fails);
        }
        // 1 % of them are 1.5; five or more come in 2 of 100.
        assert!(failed <= 4, "{name}: {failed} of {HOSTS}");
    }
}

/// The calibrations after which half and nine tenths of harnesses have failed that are biased by this much.
fn found_after(shift: f64, most: u32) -> (Option<u32>, Option<u32>) {
    const HARNESSES: u64 = 60;
    let mut after: Vec<u32> = (0..HARNESSES)
        .map(|seed| {
            let mut random = Noise::new(1000 + seed);
            let mut records = Vec::new();
            for number in 0..most {
                let values = drawn(&mut random, NOISES[0].1, shift);
                records.push(calibration(&values));
                if accumulated(&records).result() == SelfTestResult::Failed {
                    return number + 1;
                }
            }
            u32::MAX
        })
        .collect();
    after.sort_unstable();
    let at = |tenths: usize| Some(after[after.len() * tenths / 10]).filter(|after| *after <= most);
    (at(5), at(9))
}

#[test]
fn a_bias_of_one_launch_sd_is_found_within_a_few_calibrations() {
    let found = found_after(1.0, 8);
    assert!(found.1.is_some_and(|after| after <= 3), "{found:?}");
}

#[test]
fn a_bias_of_one_standard_error_of_a_calibration_is_found_in_time_and_a_negligible_one_is_not() {
    let one_error = 1.0 / (LAUNCHES as f64).sqrt();
    let found: Vec<_> = [1.0, 2.0, 3.0, 5.0].map(|errors| found_after(errors * one_error, 60)).to_vec();
    assert!(found[0].1.is_some_and(|after| after <= 45), "{found:?}");
    assert!(found[1].1.is_some_and(|after| after <= 12), "{found:?}");
    assert!(found[2].1.is_some_and(|after| after <= 6), "{found:?}");
    assert!(found[3].1.is_some_and(|after| after <= 2), "{found:?}");
    // Below half of the smallest bet, in units of the scale, every bet loses.
    assert_eq!(found_after(1.0 / 32.0, 60).0, None);
}
