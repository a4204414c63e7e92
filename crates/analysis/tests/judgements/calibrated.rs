//! The error rates of the whole path, from blocks to verdicts, on seeded data whose truth is known. Small twins
//! of `cargo xtask simulate`: bounds leave room for chance, at about four standard errors.

use crate::made::{READS, procedure};
use analysis::family::family;
use analysis::launch::Totals;
use analysis::simulation::{Scenario, SimulationPlan, SimulationReport, run};
use analysis::{Judgement, LaunchSummary, Procedure, Stage, conclude};
use model::verdict::Verdict;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

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
        let least = if *max_launches < 14 { 0.65 } else { 0.9 };
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

/// One step without a change, measured to its own end.
fn null_step(procedure: &Procedure, random: &mut Xoshiro256PlusPlus) -> Judgement {
    let mut launches: Vec<LaunchSummary> = Vec::new();
    for launch in 1..=24 {
        // The sum of twelve uniforms: normal enough, and symmetric.
        let noise: f64 = (0..12).map(|_| (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64 - 0.5).sum();
        let value = Some(0.015 * noise);
        launches.push(LaunchSummary {
            launch,
            image: launch,
            base: Totals::default(),
            candidate: Totals::default(),
            wall: value,
            adjusted: value,
            cpu: None,
        });
        if procedure.looks().contains(&launches.len()) {
            let judgement = conclude(&READS, &launches, procedure, Stage::Running);
            if judgement.decided {
                return judgement;
            }
        }
    }
    conclude(&READS, &launches, procedure, Stage::Final)
}

#[test]
fn a_family_without_a_change_seldom_has_a_confirmed_one() {
    let procedure = procedure(24);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(9);
    let families = 500;
    let false_families = (0..families)
        .filter(|_| {
            let steps: Vec<Judgement> = (0..5).map(|_| null_step(&procedure, &mut random)).collect();
            let found = family(&steps.iter().collect::<Vec<_>>(), 0.01);
            found.confirmed.contains(&true)
        })
        .count();
    assert!(false_families <= 14, "{false_families} of {families} at 1 %");
}
