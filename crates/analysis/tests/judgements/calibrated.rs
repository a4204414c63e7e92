//! The error rates of the whole path, from blocks to verdicts, on seeded data whose truth is known. Small twins
//! of `cargo xtask simulate`: bounds leave room for chance, at about four standard errors.

use analysis::simulation::families::{self, FamilyNoise, FamilyPlan};
use analysis::simulation::sides::{self, FOURTEEN, SideNoise, SidesPlan, Truth};
use analysis::simulation::{Scenario, SimulationPlan, SimulationReport, run};
use model::verdict::Verdict;
use proptest::prelude::*;

fn simulate(scenario: Scenario) -> SimulationReport {
    run(SimulationPlan { replicates: 600, seed: 20_240_718, scenario })
}

#[test]
fn equal_sides_are_called_different_no_more_often_than_alpha() {
    for scenario in Scenario::ALL.iter().copied() {
        let report = simulate(scenario);
        assert!(report.all.false_share() <= 0.025, "{report:?}");
        assert!(report.all.coverage() >= 0.975, "{report:?}");
        assert!(report.all.intervals >= 590, "an end without an interval is rare: {report:?}");
        assert_eq!(report.all.replicates, 600);
    }
}

#[test]
fn a_planted_five_percent_is_found() {
    let report = simulate(Scenario::Planted);
    for (max_launches, tally) in &report.by_max_launches {
        let least = if *max_launches < 14 { 0.65 } else { 0.85 };
        assert!(tally.share_of(Verdict::Regression) >= least, "{max_launches}: {tally:?}");
        assert_eq!(tally.verdicts.get(&Verdict::Improvement), None);
    }
    let most = &report.by_max_launches[&48];
    assert!(most.mean_launches() < 16.0, "it stops early: {most:?}");
}

#[test]
fn the_same_seed_gives_the_same_report() {
    let plan = SimulationPlan { replicates: 50, seed: 5, scenario: Scenario::HeavyTails };
    assert_eq!(run(plan), run(plan));
}

/// Runs of five and 42 steps as they are measured: looks, steps that leave, their time spent on the others.
#[test]
fn a_family_seldom_has_a_false_change_and_finds_a_true_one() {
    for noise in FamilyNoise::ALL.iter().copied() {
        for (steps, launches) in [(5, 24), (42, 12)] {
            let plan = FamilyPlan {
                steps,
                launches,
                noise,
                launch_sd: 0.02,
                effect: -0.04,
                tau: 0.0,
                extended: false,
            };
            let tally = families::run(&plan, 100, 20_260_718);
            assert!(tally.false_families <= 5, "{noise:?} {steps}: {tally:?}");
            assert!(tally.found >= 90, "{noise:?} {steps}: {tally:?}");
            assert!(tally.falsely_announced <= 5, "{noise:?} {steps}: {tally:?}");
        }
    }
}

/// Fourteen sides, four of them processes of the base: half of the candidates lose 5 %, one is three times as noisy, sides are missing.
#[test]
fn many_sides_seldom_have_a_false_change_and_show_true_ones() {
    for noise in SideNoise::ALL.iter().copied() {
        let hard =
            SidesPlan { noise, missing: 0.1, one_dies: true, truth: Truth::Half(-0.051_293), ..FOURTEEN };
        // Skewed noise of a candidate alone is beyond what the test holds for.
        let noisier = if noise == SideNoise::Skewed || noise == SideNoise::Stalls { 1.0 } else { 3.0 };
        let null = SidesPlan { noise, noisier, two_rates: true, ..FOURTEEN };
        for (plan, least) in [(hard, 0.85), (null, 0.0)] {
            let tally = sides::run(&plan, 60, 20_261_124);
            assert!(tally.false_families <= 4, "{noise:?}: {tally:?}");
            assert!(sides::share(tally.found, tally.changed) >= least, "{noise:?}: {tally:?}");
            assert!(tally.controls_differ <= 1 && tally.controls == 6, "{noise:?}: {tally:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// What a run said when a step left is what its report says.
    #[test]
    fn a_step_that_left_as_changed_is_confirmed_in_the_end(
        seed in any::<u64>(), effect in 0.5f64..2.5, extended in any::<bool>()
    ) {
        let plan = FamilyPlan {
            steps: 6,
            launches: 16,
            noise: FamilyNoise::Normal,
            launch_sd: 0.02,
            effect: 0.02 * effect,
            tau: 0.002,
            extended,
        };
        families::replay(&plan, seed, |left, judgements, replayed| {
            assert_eq!(judgements, replayed, "a report replays the looks");
            for (step, judgement) in left.iter().zip(judgements) {
                if let Some((verdict, launches)) = step {
                    assert_eq!((judgement.verdict, judgement.launches), (*verdict, *launches));
                    assert!(judgement.confirmed || judgement.verdict != Verdict::Improvement);
                }
            }
        });
    }
}
