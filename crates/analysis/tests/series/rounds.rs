//! Rounds: what is said of few cells, and when it is no verdict.

use analysis::Error;
use analysis::rounds::{BaseRule, Basis, Contrast, RoundValues, RoundsFit, VersionComparison, fit};
use model::metric::Direction;
use model::verdict::Verdict;

fn fitted(versions: usize, rounds: &[&[Option<f64>]]) -> RoundsFit {
    fit(&RoundValues::new(versions, rounds.iter().map(|cells| cells.to_vec()).collect())
        .expect("finite cells"))
}

const RULE: BaseRule =
    BaseRule { base: 0, alpha: 0.01, margin: 0.02, layout_noise: 0.0, direction: Direction::HigherIsBetter };

fn verdicts(fit: &RoundsFit, rule: &BaseRule) -> Vec<Verdict> {
    fit.against_base(rule).expect("a base").into_iter().map(|comparison| comparison.verdict).collect()
}

fn warns(comparison: &VersionComparison, id: &str) -> bool {
    comparison.warnings.iter().any(|warning| warning.id() == id)
}

#[test]
fn a_complete_design_has_the_textbook_numbers() {
    // Rounds as blocks: 3 rounds of 2 versions. Round means 1.5, 3.0, 4.6; differences 1.0, 1.2, 0.8.
    let fit = fitted(2, &[&[Some(1.0), Some(2.0)], &[Some(2.4), Some(3.6)], &[Some(4.2), Some(5.0)]]);
    assert_eq!((fit.basis, fit.df), (Basis::AllVersions, 2));
    assert!((fit.versions[0].mean.unwrap() + 0.5).abs() < 1e-12);
    assert!((fit.versions[1].mean.unwrap() - 0.5).abs() < 1e-12);
    // The paired t test: differences have variance 0.04, their mean an error of sqrt(0.04 / 3).
    assert!((fit.variance.unwrap() - 0.02).abs() < 1e-12);
    let contrast = Contrast { base: 0, candidate: 1, layout_noise: 0.0, confidence: 0.95 };
    let difference = fit.difference(&contrast).unwrap();
    let error = (0.04f64 / 3.0).sqrt();
    assert!((difference.ln_error.unwrap() - error).abs() < 1e-12);
    // t with 2 degrees of freedom: 4.302653 at 95 %.
    assert!((difference.low.unwrap().ln() - (1.0 - 4.302_653 * error)).abs() < 1e-6);
    assert!((difference.high.unwrap().ln() - (1.0 + 4.302_653 * error)).abs() < 1e-6);
    let with_layout = fit.difference(&Contrast { layout_noise: 0.3, ..contrast }).unwrap();
    assert!((with_layout.ln_error.unwrap().powi(2) - (0.04 / 3.0 + 2.0 * 0.09)).abs() < 1e-12);
}

#[test]
fn nothing_and_little_have_an_answer() {
    let nothing = fitted(0, &[]);
    assert!(nothing.versions.is_empty() && nothing.variance.is_none());
    assert_eq!(nothing.against_base(&RULE).unwrap_err(), Error::NoSuchVersion { version: 0, versions: 0 });
    let no_rounds = fitted(2, &[]);
    assert_eq!((no_rounds.versions[0].mean, no_rounds.df), (None, 0));
    assert_eq!(verdicts(&no_rounds, &RULE), [Verdict::RatioOnly]);
    // One round: means and a ratio, no interval.
    let one = fitted(2, &[&[Some(0.0), Some(-0.5)]]);
    let comparison = one.against_base(&RULE).unwrap().remove(0);
    let difference = comparison.difference.unwrap();
    assert_eq!(comparison.verdict, Verdict::RatioOnly);
    assert!((difference.ratio.ln() + 0.5).abs() < 1e-12);
    assert_eq!((difference.low, difference.high, difference.p), (None, None, None));
    assert!(warns(&comparison, "no-interval"));
    let alone = fitted(1, &[&[Some(1.0)], &[Some(1.1)]]);
    assert_eq!(alone.against_base(&RULE).unwrap(), []);
}

#[test]
fn two_rounds_bear_a_verdict_only_where_versions_lend_their_noise() {
    // The two rounds of a version differ by 0.001 of its own.
    let round = |versions: usize, sign: f64| -> Vec<Option<f64>> {
        (0..versions)
            .map(|version| {
                let own = if version % 2 == 0 { sign * 0.001 } else { -sign * 0.001 };
                Some(own - if version == 1 { 0.5 } else { 0.0 })
            })
            .collect()
    };
    for (versions, expected) in [(2, Verdict::RatioOnly), (3, Verdict::RatioOnly), (4, Verdict::Regression)] {
        let values = RoundValues::new(versions, vec![round(versions, 1.0), round(versions, -1.0)]).unwrap();
        let fit = fit(&values);
        assert_eq!(fit.df, versions - 1);
        assert_eq!(verdicts(&fit, &RULE)[0], expected, "{versions} versions");
    }
}

#[test]
fn verdicts_read_the_interval_in_the_direction_of_the_metric() {
    // Version 1 down 10 %, 2 up 10 %, 3 equal, 4 down by just about the margin.
    let levels = [0.0, -0.1, 0.1, 0.0005, -0.019];
    let noise = [[1.0, -1.0, 0.5, -0.5, 0.0], [-1.0, 1.0, -0.5, 0.5, 0.0], [0.5, 0.5, -1.0, 0.0, 0.0]];
    let rounds = noise
        .iter()
        .map(|noise| levels.iter().zip(noise).map(|(level, noise)| Some(level + 0.001 * noise)).collect());
    let fit = fit(&RoundValues::new(5, rounds.collect()).unwrap());
    use Verdict::{Improvement, NoChange, Regression};
    assert_eq!(verdicts(&fit, &RULE), [Regression, Improvement, NoChange, Regression]);
    let lower = BaseRule { direction: Direction::LowerIsBetter, ..RULE };
    assert_eq!(verdicts(&fit, &lower), [Improvement, Regression, NoChange, Improvement]);
    // Layout noise of 5 % hides all of it.
    let noisy = BaseRule { layout_noise: 0.05, ..RULE };
    assert_eq!(verdicts(&fit, &noisy), [Verdict::Inconclusive; 4]);
    // Bonferroni: the p value of the family is four times that of the version.
    let comparison = &fit.against_base(&RULE).unwrap()[3];
    let p = comparison.difference.unwrap().p.unwrap();
    assert!((comparison.p_family.unwrap() - 4.0 * p).abs() < 1e-15);
    assert!((comparison.difference.unwrap().confidence - 0.9975).abs() < 1e-12);
}

#[test]
fn a_version_that_is_noisier_than_the_others_has_its_own_error() {
    let quiet = [0.001, -0.001, 0.0005, -0.0005];
    let noisy = [0.09, -0.08, 0.07, -0.02];
    let rounds = (0..4).map(|round: usize| {
        let of_quiet = |version: usize| Some(quiet[(round + version) % 4]);
        (0..8)
            .map(|version| if version == 7 { Some(0.05 + noisy[round]) } else { of_quiet(version) })
            .collect()
    });
    let fit = fit(&RoundValues::new(8, rounds.collect()).unwrap());
    let comparisons = fit.against_base(&BaseRule { alpha: 0.05, ..RULE }).unwrap();
    let difference = |version: usize| comparisons[version - 1].difference.unwrap();
    // Its own three degrees of freedom, and an error larger than what all versions together would have.
    assert_eq!((difference(7).df, comparisons[6].verdict), (3, Verdict::Inconclusive));
    assert!(difference(7).ln_error > difference(3).ln_error);
    assert!(difference(7).ln_error.unwrap() > (2.0 * fit.variance.unwrap() / 4.0).sqrt());
    assert_eq!(difference(3).df, fit.df);
}

#[test]
fn values_that_repeat_exactly_are_certain() {
    let fit = fitted(2, &[&[Some(0.0), Some(-0.1)], &[Some(0.5), Some(0.4)], &[Some(0.25), Some(0.15)]]);
    assert_eq!(verdicts(&fit, &RULE), [Verdict::Regression]);
    let same = fitted(2, &[&[Some(1.0), Some(1.0)], &[Some(2.0), Some(2.0)], &[Some(0.5), Some(0.5)]]);
    let comparison = same.against_base(&RULE).unwrap().remove(0);
    assert_eq!((comparison.verdict, comparison.p_family), (Verdict::NoChange, Some(1.0)));
}

#[test]
fn failed_trials_leave_the_other_versions_alone() {
    let all = fitted(
        3,
        &[
            &[Some(0.0), Some(0.1), Some(0.30)],
            &[Some(1.0), Some(1.2), Some(1.31)],
            &[Some(2.0), Some(2.15), Some(2.32)],
        ],
    );
    let gap = fitted(
        3,
        &[
            &[Some(0.0), Some(0.1), Some(0.30)],
            &[Some(1.0), Some(1.2), None],
            &[Some(2.0), Some(2.15), Some(2.32)],
        ],
    );
    assert_eq!(gap.basis, Basis::LeastSquares);
    assert_eq!((all.df, gap.df, gap.versions[2].rounds), (4, 3, 2));
    // Versions in the same rounds are compared in these alone.
    let of = |fit: &RoundsFit| fit.versions[1].mean.unwrap() - fit.versions[0].mean.unwrap();
    assert!((of(&all) - of(&gap)).abs() < 1e-12);
    let comparisons = gap.against_base(&RULE).unwrap();
    assert!(warns(&comparisons[1], "rounds-missing") && !warns(&comparisons[0], "rounds-missing"));
    // A round in which everything failed is no gap.
    let empty = fitted(2, &[&[Some(0.0), Some(0.1)], &[None, None], &[Some(1.0), Some(1.2)]]);
    assert_eq!((empty.basis, empty.df), (Basis::AllVersions, 1));
}

#[test]
fn what_no_chain_of_rounds_connects_is_not_compared() {
    let fit = fitted(
        4,
        &[
            &[Some(0.0), Some(0.1), None, None],
            &[Some(0.2), Some(0.3), None, None],
            &[None, None, Some(5.0), Some(5.1)],
            &[None, None, Some(5.2), Some(5.5)],
        ],
    );
    assert_eq!((fit.basis, fit.df), (Basis::LeastSquares, 2));
    let comparisons = fit.against_base(&RULE).unwrap();
    assert!(comparisons[0].difference.is_some());
    assert!(comparisons[1].difference.is_none() && warns(&comparisons[1], "not-connected"));
    assert_eq!(comparisons[1].verdict, Verdict::RatioOnly);
    let same = Contrast { base: 1, candidate: 1, layout_noise: 0.0, confidence: 0.99 };
    assert_eq!(fit.difference(&same), None);
}

#[test]
fn cells_that_are_no_numbers_are_errors() {
    let of = |rounds| RoundValues::new(2, rounds).unwrap_err();
    let nan = of(vec![vec![Some(1.0), Some(2.0)], vec![Some(1.0), Some(f64::NAN)]]);
    assert_eq!(nan, Error::NotFinite { round: 1, version: 1 });
    assert_eq!(of(vec![vec![Some(f64::NEG_INFINITY), None]]), Error::NotFinite { round: 0, version: 0 });
    assert_eq!(of(vec![vec![Some(1.0)]]), Error::RaggedRound { round: 0, cells: 1, versions: 2 });
}
