//! The rates that the method was chosen for, on fewer series than `cargo xtask simulate` makes.

use crate::made::CRITICAL;
use analysis::change_points::Rule;
use analysis::rounds::{BaseRule, RoundValues, fit};
use analysis::simulation::campaigns::{self, CampaignPlan, CampaignScenario};
use analysis::simulation::histories::{self, HistoryPlan, HistoryScenario};
use analysis::simulation::series::{SeriesPlan, SeriesScenario, SeriesTally, Target, run};
use model::metric::Direction;
use model::verdict::Verdict;

fn tally(scenario: SeriesScenario, replicates: u32) -> SeriesTally {
    run(&SeriesPlan { replicates, seed: 7, scenario, rule: Rule::default() }, &CRITICAL)
        .expect("finite values")
}

fn reaches_its_target(scenario: SeriesScenario) {
    let replicates = match scenario.target() {
        Target::AlarmsAtMost(_) => 600,
        Target::AlarmsAtLeast(_) | Target::F1AtLeast(_) => 400,
    };
    let tally = tally(scenario, replicates);
    assert!(tally.meets(scenario.target()), "{}: {tally:?}", scenario.name());
}

fn is_flat(scenario: SeriesScenario) -> bool {
    matches!(scenario.target(), Target::AlarmsAtMost(_))
}

// Two tests, so that they run at the same time.
#[test]
fn scenarios_without_a_change_are_seldom_marked() {
    SeriesScenario::ALL.iter().copied().filter(|one| is_flat(*one)).for_each(reaches_its_target);
}

#[test]
fn changes_of_scenarios_are_found() {
    SeriesScenario::ALL.iter().copied().filter(|one| !is_flat(*one)).for_each(reaches_its_target);
}

#[test]
fn histories_of_few_runs_reach_their_targets() {
    for (scenario, points) in [
        (HistoryScenario::HistoryFlat, 12),
        (HistoryScenario::HistoryFlat, 30),
        (HistoryScenario::HistoryCorrelated, 16),
        (HistoryScenario::HistoryCorrelated, 24),
        (HistoryScenario::HistoryTwoSteps, 12),
        (HistoryScenario::HistoryThreeSteps, 20),
        (HistoryScenario::HistoryFourSteps, 20),
        (HistoryScenario::HistoryFourSteps, 30),
        (HistoryScenario::HistoryStepOf2, 20),
        (HistoryScenario::HistoryStepOf3, 12),
        (HistoryScenario::HistoryRamp, 12),
        (HistoryScenario::HistoryRamp, 24),
    ] {
        let plan = HistoryPlan { scenario, points, replicates: 600, seed: 7, rival_p: None };
        let tally = histories::run(&plan, &CRITICAL).unwrap();
        let target = scenario.target(points).expect("a length with a target");
        assert!(tally.meets(target), "{} of {points}: {tally:?}", scenario.name());
    }
}

#[test]
fn a_noisy_release_is_not_marked_for_its_noise() {
    for (scenario, rounds) in [
        (CampaignScenario::CampaignEven, 3),
        (CampaignScenario::CampaignNoisyCandidate, 3),
        (CampaignScenario::CampaignNoisyCandidate, 8),
        (CampaignScenario::CampaignJoined, 5),
    ] {
        let tally = campaigns::run(&CampaignPlan { scenario, rounds, replicates: 1500, seed: 7 }).unwrap();
        assert!(tally.meets(scenario.target().unwrap()), "{} of {rounds}: {tally:?}", scenario.name());
    }
}

#[test]
fn location_sets_and_intervals_hold_the_truth() {
    let tally = tally(SeriesScenario::ReleasesWithSteps, 400);
    let share = |part: u32, of: u32| f64::from(part) / f64::from(of);
    assert!(share(tally.located, tally.planted) >= 0.95, "{tally:?}");
    assert!(share(tally.covered, tally.exact) >= 0.97, "{tally:?}");
}

#[test]
fn more_alpha_never_finds_much_more_or_less_at_once() {
    let found = |alpha: f64| {
        let rule = Rule { alpha, ..Rule::default() };
        let plan = SeriesPlan { replicates: 400, seed: 7, scenario: SeriesScenario::FewWithStep, rule };
        run(&plan, &CRITICAL).unwrap().alarm_share()
    };
    let shares: Vec<f64> = [0.002, 0.003, 0.004, 0.006, 0.008, 0.01].into_iter().map(found).collect();
    for pair in shares.windows(2) {
        assert!(pair[1] >= pair[0] && pair[1] - pair[0] < 0.12, "{shares:?}");
    }
}

#[test]
fn versions_without_a_difference_get_a_false_verdict_no_more_often_than_alpha() {
    let mut wobble = crate::made::Wobble::new(5);
    let rule = BaseRule {
        base: 0,
        alpha: 0.05,
        margin: 0.0,
        layout_noise: 0.0,
        direction: Direction::HigherIsBetter,
    };
    let (mut wrong, replicates) = (0, 1000);
    for _ in 0..replicates {
        let rounds = (0..4).map(|_| (0..5).map(|_| Some(0.01 * wobble.normal())).collect());
        let fit = fit(&RoundValues::new(5, rounds.collect()).unwrap());
        let comparisons = fit.against_base(&rule).unwrap();
        let is_false = |verdict: Verdict| matches!(verdict, Verdict::Regression | Verdict::Improvement);
        wrong += u32::from(comparisons.iter().any(|comparison| is_false(comparison.verdict)));
    }
    let share = f64::from(wrong) / f64::from(replicates);
    assert!((0.015..=0.07).contains(&share), "{share}");
}
