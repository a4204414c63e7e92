//! Change points: what is found in series whose truth is plain, and laws that hold for all.

use crate::made::{CRITICAL, LAYOUT_NOISE, Wobble, found, rounds, series, step};
use analysis::Error;
use analysis::change_points::{
    Change, CriticalValues, ErrorFloor, Findings, Kind, Law, Mean, Reading, Rule, Series, Shape, Standing,
    TrendKind, find,
};
use analysis::rounds::{RoundValues, fit};
use proptest::prelude::*;

fn single(values: &[f64]) -> Series {
    let values: Vec<Option<f64>> = values.iter().copied().map(Some).collect();
    Series::of_single_runs(&values, ErrorFloor::default()).expect("finite values")
}

fn kinds(findings: &Findings) -> Vec<(usize, Kind)> {
    findings.changes.iter().map(|change| (change.version, change.kind())).collect()
}

fn only(findings: &Findings) -> &Change {
    assert_eq!(findings.changes.len(), 1, "{:?}", findings.changes);
    &findings.changes[0]
}

#[test]
fn a_step_has_its_first_version_size_and_interval() {
    let findings = found(&series(&rounds(&step(10, 14, -0.05), 0.01, 1)));
    let change = only(&findings);
    assert_eq!((change.version, change.kind(), change.at_edge), (10, Kind::Step, false));
    assert!(change.low < 0.95_f64 && (-0.05f64).exp() < change.high && change.high < 1.0);
    assert_eq!(change.window, 0..24);
    assert_eq!(change.location, [10]);
    assert_eq!(findings.segments.len(), 2);
    assert_eq!((findings.segments[1].versions.clone(), findings.segments[1].points), (10..24, 14));
    assert!(findings.remeasure().is_empty());
}

#[test]
fn opposite_steps_soon_after_one_another_are_both_found() {
    let levels = [vec![0.0; 10], vec![-0.04; 3], vec![0.0; 11]].concat();
    let findings = found(&series(&rounds(&levels, 0.01, 2)));
    assert_eq!(kinds(&findings), [(10, Kind::Step), (13, Kind::Step)]);
    assert!(findings.changes[0].ratio < 1.0 && findings.changes[1].ratio > 1.0);
    assert_eq!((findings.changes[0].window.clone(), findings.changes[1].window.clone()), (0..13, 10..24));
}

#[test]
fn one_bad_release_is_a_glitch_and_not_two_steps() {
    for place in [1, 7, 12, 22] {
        let mut levels = vec![0.0; 24];
        levels[place] = -0.06;
        let findings = found(&series(&rounds(&levels, 0.01, place as u64)));
        let change = only(&findings);
        assert_eq!((change.version, change.kind()), (place, Kind::Glitch));
        assert!((change.ratio.ln() + 0.06).abs() < 0.025 && change.high < 1.0, "{change:?}");
        assert_eq!(findings.segments.len(), 1);
        assert_eq!(findings.segments[0].points, 23);
    }
}

#[test]
fn a_release_between_two_levels_is_no_glitch() {
    // 0, 0, ..., -0.1 once, then -0.2: its neighbours do not agree.
    let mut levels = step(8, 12, -0.2);
    levels[8] = -0.1;
    let findings = found(&series(&rounds(&levels, 0.004, 4)));
    assert_eq!(kinds(&findings), [(8, Kind::Step), (9, Kind::Step)]);
    // A release far below either of two levels, where one ends and the other begins.
    let mut levels = step(8, 12, -0.2);
    levels[8] = -0.6;
    let findings = found(&series(&rounds(&levels, 0.004, 5)));
    assert_eq!(kinds(&findings), [(8, Kind::Step), (9, Kind::Step)]);
}

#[test]
fn a_change_of_the_first_or_last_release_is_marked() {
    for (levels, version) in [(step(11, 1, -0.1), 11), (step(1, 11, 0.1), 1)] {
        let findings = found(&series(&rounds(&levels, 0.01, 6)));
        let change = only(&findings);
        assert_eq!((change.version, change.shape, change.at_edge), (version, Shape::Step, true));
        assert!(findings.remeasure().contains(&version) && findings.remeasure().contains(&(version - 1)));
    }
}

#[test]
fn a_change_below_one_percent_is_dropped_however_sure() {
    let values = rounds(&step(12, 12, -0.008), 0.0002, 7);
    let precise = Series::of_rounds(&fit(&values), 0.0).unwrap();
    assert!(found(&precise).changes.is_empty());
    let finer = Rule { least_change: 0.005, ..Rule::default() };
    assert_eq!(only(&find(&precise, &finer, &CRITICAL)).version, 12);
}

#[test]
fn single_runs_give_candidates_and_the_versions_to_measure_again() {
    // Reads per second and their mean size in KB, RocksDB 8.0 to 9.3: Small Datum, 2024-07-18, iostat averages.
    let reads = [
        1486.0, 1500.0, 1415.0, 1486.0, 1474.0, 1489.0, 18854.0, 18543.0, 18527.0, 18328.0, 18386.0, 17998.0,
        18429.0, 18483.0, 17761.0, 16394.0,
    ];
    let sizes = [100.5, 100.5, 103.6, 101.2, 100.1, 100.5, 4.3, 4.6, 4.6, 4.6, 4.6, 4.6, 4.6, 4.6, 4.6, 4.6];
    let ln = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<f64>>();
    let findings = found(&single(&ln(&reads)));
    let change = &findings.changes[0];
    assert_eq!((change.version, change.kind()), (6, Kind::Candidate));
    assert!((change.ratio - 12.4).abs() < 0.2, "reads a second up by about 1,140 %: {}", change.ratio);
    assert!(findings.remeasure().contains(&5) && findings.remeasure().contains(&6));
    assert!(findings.changes[1..].iter().all(|change| change.at_edge && change.version == 15));
    assert!(findings.warnings.iter().any(|warning| warning.id() == "single-runs"));
    let floor = ErrorFloor { resolution: 0.1, ..ErrorFloor::default() };
    let sizes: Vec<Option<f64>> = ln(&sizes).into_iter().map(Some).collect();
    let changes = found(&Series::of_single_runs(&sizes, floor).unwrap()).changes;
    let step = changes.iter().find(|change| change.version == 6).unwrap();
    assert_eq!((step.shape, step.standing), (Shape::Step, Standing::Candidate));
    assert!((step.ratio - 0.0425).abs() < 0.001, "read size down by 96 %: {}", step.ratio);
    // Small beside it, and more than the printed digits leave open: 4.3 to 4.6 KB at 8.7. The 103.6 KB of 8.2 alone
    // would be a candidate by themselves, and are not enough beside a change that was found.
    let found: Vec<(usize, Shape)> = changes.iter().map(|change| (change.version, change.shape)).collect();
    assert_eq!(found, [(6, Shape::Step), (7, Shape::Step)]);
}

#[test]
fn a_spike_among_commits_is_an_outlier_and_no_change() {
    let mut wobble = Wobble::new(8);
    let mut values: Vec<f64> = (0..100).map(|_| 0.02 * wobble.normal()).collect();
    let quiet = found(&single(&values));
    assert_eq!((quiet.changes.len(), quiet.outliers.len()), (0, 0));
    for place in [0, 1, 40, 99] {
        let before = std::mem::replace(&mut values[place], 3.0);
        let findings = found(&single(&values));
        assert_eq!((findings.changes.len(), findings.outliers.clone()), (0, vec![place]));
        assert_eq!(findings.remeasure(), [place]);
        values[place] = before;
    }
}

#[test]
fn a_regression_among_commits_and_its_repair_are_found() {
    let mut wobble = Wobble::new(9);
    let level = |commit: usize| if (60..80).contains(&commit) { -0.08 } else { 0.0 };
    let values: Vec<f64> = (0..200).map(|commit| level(commit) + 0.02 * wobble.normal()).collect();
    let findings = found(&single(&values));
    let near: Vec<usize> = findings.changes.iter().map(|change| change.version).collect();
    assert_eq!(near.len(), 2, "{near:?}");
    assert!(near[0].abs_diff(60) <= 1 && near[1].abs_diff(80) <= 1, "{near:?}");
    assert!(findings.changes.iter().all(|change| change.standing == Standing::Candidate));
    assert!(findings.autocorrelation < 0.2);
}

#[test]
fn correlated_neighbours_are_told() {
    let mut wobble = Wobble::new(10);
    let mut last = 0.0;
    let values: Vec<f64> = (0..300)
        .map(|_| {
            last = 0.7 * last + 0.02 * wobble.normal();
            last
        })
        .collect();
    let findings = found(&single(&values));
    assert!((findings.autocorrelation - 0.7).abs() < 0.15, "{}", findings.autocorrelation);
    assert!(findings.warnings.iter().any(|warning| warning.id() == "autocorrelated"));
    assert!(findings.changes.is_empty());
}

#[test]
fn gaps_keep_the_indexes_of_the_versions() {
    let levels = step(8, 8, -0.1);
    let complete = rounds(&levels, 0.005, 11);
    let cells = complete.rounds().iter().map(|cells| {
        let mut cells = cells.clone();
        (cells[3], cells[7]) = (None, None);
        cells
    });
    let findings = found(&series(&RoundValues::new(16, cells.collect()).unwrap()));
    assert_eq!(only(&findings).version, 8);
    assert_eq!(findings.segments[0].versions, 0..8);
    assert_eq!(findings.segments[0].points, 6);
    assert!(findings.warnings.iter().any(|warning| warning.id() == "versions-missing"));
}

#[test]
fn nothing_and_little_have_no_change() {
    for count in 0..4 {
        let findings = found(&single(&step(count / 2, count - count / 2, 1.0)));
        assert!(findings.changes.is_empty());
        assert_eq!(findings.segments.len(), usize::from(count > 0));
        assert!(findings.warnings.iter().any(|warning| warning.id() == "too-few-versions"));
    }
    // With repeats, two versions can be told apart, and both are at the edge.
    let findings = found(&series(&rounds(&step(1, 1, -0.2), 0.005, 12)));
    assert!(only(&findings).at_edge);
    assert!(found(&series(&rounds(&[0.0], 0.005, 12))).changes.is_empty());
    assert!(found(&series(&RoundValues::new(0, Vec::new()).unwrap())).segments.is_empty());
}

#[test]
fn ties_have_no_change_and_hide_none() {
    assert!(found(&single(&[1.5; 10])).changes.is_empty());
    assert!(found(&single(&[1.5; 200])).changes.is_empty());
    assert_eq!(only(&found(&single(&step(60, 40, 0.25)))).version, 60);
    assert_eq!(only(&found(&single(&step(6, 6, 0.25)))).version, 6);
    // Rounds that repeat to the last bit, and no layout noise.
    let exact = RoundValues::new(6, vec![step(3, 3, 0.25).into_iter().map(Some).collect(); 3]).unwrap();
    assert_eq!(only(&found(&Series::of_rounds(&fit(&exact), 0.0).unwrap())).version, 3);
}

#[test]
fn numbers_that_are_none_are_errors() {
    let of = |value| Series::of_single_runs(&[Some(0.0), None, Some(value)], ErrorFloor::default());
    assert_eq!(of(f64::NAN).unwrap_err(), Error::PointNotFinite { index: 2 });
    assert_eq!(of(f64::INFINITY).unwrap_err(), Error::PointNotFinite { index: 2 });
    let floor = ErrorFloor { share: -1.0, ..ErrorFloor::default() };
    assert!(matches!(Series::of_single_runs(&[], floor), Err(Error::BadSpread { .. })));
    let fitted = fit(&rounds(&[0.0, 0.0], 0.01, 1));
    assert!(matches!(Series::of_rounds(&fitted, f64::NAN), Err(Error::BadSpread { .. })));
}

#[test]
fn critical_values_of_two_points_are_those_of_student_and_normal() {
    let critical = CriticalValues::new();
    // One place for a step: |t| with df degrees of freedom, tables of R.
    for (df, alpha, expected) in
        [(4, 0.01, 4.604), (4, 0.05, 2.776), (92, 0.01, 2.630), (30, 0.05, 2.042), (100_000, 0.01, 2.576)]
    {
        let found = critical.of_step(Law::Repeats { df }, 2, alpha);
        assert!((found / expected - 1.0).abs() < 0.04, "df {df}, alpha {alpha}: {found}, not {expected}");
    }
    assert_eq!(critical.simulated(), 4);
    assert!(critical.of_step(Law::Repeats { df: 4 }, 1, 0.01).is_infinite());
    assert!(critical.of_bump(Law::Repeats { df: 4 }, 2, 0.01).is_infinite());
}

#[test]
fn a_little_more_alpha_is_a_little_less_critical() {
    for law in
        [Law::Repeats { df: 20 }, Law::SingleRuns(Reading::Values), Law::Autocorrelated(Reading::Values)]
    {
        let values: Vec<f64> =
            (2..200).map(|step| CRITICAL.of_step(law, 16, f64::from(step) * 0.001)).collect();
        for pair in values.windows(2) {
            assert!(pair[1] <= pair[0] && pair[1] > 0.93 * pair[0], "{law:?}: {pair:?}");
        }
    }
}

#[test]
fn a_thousand_series_of_one_length_need_few_simulations() {
    let critical = CriticalValues::new();
    let all = analysis::simulation::series::change_free(1000, 100, 13).unwrap();
    let alarms = all.iter().filter(|series| !find(series, &Rule::default(), &critical).changes.is_empty());
    let alarms = alarms.count();
    // One for the whole series, and at most three for the parts of each that raised an alarm.
    assert!(critical.simulated() <= 1 + 3 * alarms, "{} for {alarms}", critical.simulated());
}

/// Levels of a series with up to three changes.
fn any_levels() -> impl Strategy<Value = Vec<f64>> {
    (prop::collection::vec((-0.1f64..0.1, 1usize..8), 1..5))
        .prop_map(|parts| parts.into_iter().flat_map(|(level, length)| vec![level; length]).collect())
}

fn near(left: f64, right: f64) -> bool {
    (left - right).abs() < 1e-7 * (1.0 + left.abs())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_mirrored_series_has_mirrored_changes(levels in any_levels(), seed in 1u64..1000) {
        let values = rounds(&levels, 0.01, seed);
        let negated = values.rounds().iter().map(|cells| cells.iter().map(|cell| cell.map(|cell| -cell)).collect());
        let there = found(&series(&values));
        let here = found(&series(&RoundValues::new(levels.len(), negated.collect()).unwrap()));
        prop_assert_eq!(kinds(&there), kinds(&here));
        for (there, here) in there.changes.iter().zip(&here.changes) {
            prop_assert!(near(there.ratio * here.ratio, 1.0) && near(there.low * here.high, 1.0));
            prop_assert_eq!(&there.location, &here.location);
        }
    }

    #[test]
    fn the_unit_of_a_metric_is_of_no_consequence(
        levels in any_levels(), seed in 1u64..1000, shift in -8.0f64..8.0,
    ) {
        let mut wobble = Wobble::new(seed);
        let values: Vec<f64> = levels.iter().map(|level| level + 0.01 * wobble.normal()).collect();
        let shifted: Vec<f64> = values.iter().map(|value| value + shift).collect();
        let (there, here) = (found(&single(&values)), found(&single(&shifted)));
        prop_assert_eq!(kinds(&there), kinds(&here));
        for (there, here) in there.changes.iter().zip(&here.changes) {
            prop_assert!(near(there.ratio, here.ratio));
        }
    }

    #[test]
    fn what_is_reported_hangs_together(levels in any_levels(), seed in 1u64..1000) {
        let findings = found(&series(&rounds(&levels, 0.01, seed)));
        let steps = findings.changes.iter().filter(|change| change.shape == Shape::Step).count();
        prop_assert_eq!(findings.segments.len(), steps + 1);
        prop_assert_eq!(findings.segments.iter().map(|segment| segment.versions.len()).sum::<usize>(), levels.len());
        for change in &findings.changes {
            prop_assert!(change.low <= change.ratio && change.ratio <= change.high);
            prop_assert!(change.location.contains(&change.version) && change.location.is_sorted());
            prop_assert!(change.location.iter().all(|version| change.window.contains(version)));
            prop_assert!(change.ratio.ln().abs() >= 0.01f64.ln_1p());
        }
    }

    #[test]
    fn a_step_alone_scores_its_t_statistic(before in 2usize..12, after in 2usize..12, seed in 1u64..1000) {
        let values = rounds(&step(before, after, -0.3), 0.005, seed);
        let findings = found(&series(&values));
        let step = findings.changes.iter().find(|change| change.version == before).unwrap();
        if findings.changes.len() == 1 {
            prop_assert!(near(step.score, step.ratio.ln().abs() / step.ln_error));
            let fitted = fit(&values);
            let point = fitted.variance.unwrap() / 5.0 + LAYOUT_NOISE.powi(2);
            // Versions that are noisier than all together have larger errors.
            prop_assert!(step.ln_error.powi(2) >= point / before as f64 + point / after as f64 - 1e-12);
        }
    }
}

/// The covariance of versions with a variance of 1 each, and in each half of them a variance of `shared` in common, as if each
/// half were measured in launches of its own.
fn of_two_halves(count: usize, shared: f64) -> Vec<Vec<f64>> {
    let of = |row: usize, column: usize| match (row == column, row * 2 / count == column * 2 / count) {
        (true, _) => 1.0 + shared,
        (false, true) => shared,
        (false, false) => 0.0,
    };
    (0..count).map(|row| (0..count).map(|column| of(row, column)).collect()).collect()
}

fn is_alarm(found: &Findings) -> bool {
    !found.changes.is_empty() || found.trend.is_some_and(|trend| trend.kind != TrendKind::None)
}

#[test]
fn what_a_half_of_the_versions_shares_is_no_step() {
    const COUNT: usize = 24;
    const SERIES: u64 = 1_500;
    let covariance = of_two_halves(COUNT, 4.0);
    let rule = Rule { least_change: 0.0, ..Rule::default() };
    let (mut joint, mut independent, mut steps) = (0, 0, 0);
    for seed in 0..SERIES {
        let mut wobble = Wobble::new(seed);
        let halves = [2.0 * wobble.normal(), 2.0 * wobble.normal()];
        let values: Vec<f64> = (0..COUNT).map(|at| halves[at * 2 / COUNT] + wobble.normal()).collect();
        let in_covariance = |values: &[f64]| {
            let means: Vec<Option<f64>> = values.iter().copied().map(Some).collect();
            let series = Series::of_joint_means(&means, covariance.clone(), 1_000).expect("a covariance");
            find(&series, &rule, &CRITICAL)
        };
        joint += u64::from(is_alarm(&in_covariance(&values)));
        let alone: Vec<Option<Mean>> =
            values.iter().map(|value| Some(Mean { value: *value, error: 5f64.sqrt() })).collect();
        let alone = Series::of_means(&alone, 1_000).expect("finite");
        independent += u64::from(is_alarm(&find(&alone, &rule, &CRITICAL)));
        let with_step: Vec<f64> =
            values.iter().enumerate().map(|(at, value)| value + if at >= 18 { 5.0 } else { 0.0 }).collect();
        let found = in_covariance(&with_step);
        steps += u64::from(found.changes.iter().any(|change| change.version.abs_diff(18) <= 1));
    }
    println!("{joint} and {independent} alarms, {steps} steps of {SERIES}");
    // 1 % asked for, and three standard errors.
    assert!(joint <= 26, "{joint} of {SERIES}");
    assert!(independent > SERIES / 5, "{independent} of {SERIES}");
    assert!(steps > SERIES * 95 / 100, "{steps} of {SERIES}");
}

#[test]
fn what_is_no_covariance_is_refused() {
    let means = [Some(0.0), None, Some(1.0)];
    let series = |covariance: Vec<Vec<f64>>| Series::of_joint_means(&means, covariance, 9);
    assert!(series(vec![vec![1.0, 0.3], vec![0.3, 1.0]]).is_ok_and(|series| series.len() == 2));
    for wrong in [
        vec![vec![1.0]],
        vec![vec![1.0, 0.3], vec![0.2, 1.0]],
        vec![vec![1.0, 2.0], vec![2.0, 1.0]],
        vec![vec![1.0, 0.0], vec![0.0, 0.0]],
        vec![vec![1.0, f64::NAN], vec![f64::NAN, 1.0]],
        vec![vec![1.0], vec![0.0, 1.0]],
    ] {
        assert!(matches!(series(wrong), Err(Error::BadSpread { .. })));
    }
}
