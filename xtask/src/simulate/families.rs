//! Families of steps as runs measure them: false changes, changes found, and what the layout of code is called.

use super::{Arguments, Family, mark, proportion, simulate};
use analysis::simulation::families::{self, FamilyScenario, FamilyTally, FamilyTarget};
use serde_json::json;
use std::fmt::Write;

/// Runs in each scenario: a share of 1 % is then known within 0.2 points.
const REPLICATES: u32 = 20_000;

pub fn names() -> Vec<&'static str> {
    FamilyScenario::ALL.iter().map(|one| one.name).collect()
}

/// Absent if no scenario of this family is asked for.
pub fn run(arguments: &Arguments) -> anyhow::Result<Option<Family>> {
    let scenarios = arguments.chosen(FamilyScenario::ALL, |scenario| scenario.name);
    if scenarios.is_empty() {
        return Ok(None);
    }
    let replicates = arguments.replicates(REPLICATES);
    let work = |scenario: &FamilyScenario| Ok(families::run(&scenario.plan, replicates, arguments.seed));
    let tallies = simulate(&scenarios, |scenario| scenario.name, work)?;
    let rows: Vec<(FamilyScenario, FamilyTally)> = scenarios.into_iter().zip(tallies).collect();
    let missed = rows
        .iter()
        .filter(|(scenario, tally)| !tally.meets(scenario.target))
        .map(|(one, _)| one.name)
        .collect();
    Ok(Some(Family { table: table(&rows, arguments.seed), json: as_json(&rows, arguments.seed), missed }))
}

fn target(target: FamilyTarget) -> String {
    match target {
        FamilyTarget::FalseAtMost(most) => format!("false <= {:.1} %", 100.0 * most),
        FamilyTarget::FoundAtLeast(least) => format!("found >= {:.0} %", 100.0 * least),
        FamilyTarget::FalseBeyondAtMost(most) => format!("false beyond layout <= {:.1} %", 100.0 * most),
        FamilyTarget::FoundBeyondAtLeast(least) => format!("found beyond layout >= {:.0} %", 100.0 * least),
    }
}

fn table(rows: &[(FamilyScenario, FamilyTally)], seed: u64) -> String {
    let mut table = format!(
        "families of steps as run, seed {seed}\n{:<20} {:>8}  {:>6} {:>8} {:>6}  {:>22}  {:>8} {:>9}  {:>15}  {}\n",
        "scenario",
        "families",
        "sd",
        "effect",
        "tau",
        "share (99 % interval)",
        "launches",
        "of a step",
        "announced",
        "target"
    );
    for (scenario, tally) in rows {
        let plan = &scenario.plan;
        let counted = proportion(tally.counted(scenario.target), tally.families);
        let families = f64::from(tally.families.max(1));
        // Writing to a String cannot fail.
        let _ = writeln!(
            table,
            "{:<20} {:>8}  {:>4.1} % {:>6.1} % {:>4.1} %  {:>22}  {:>8.1} {:>9.1}  {:>6.2} % {:>4.1} %  {}{}",
            scenario.name,
            tally.families,
            100.0 * plan.launch_sd,
            100.0 * plan.effect.exp_m1(),
            100.0 * plan.tau,
            counted,
            tally.launches as f64 / families,
            tally.step_launches as f64 / families / plan.steps as f64,
            100.0 * f64::from(tally.falsely_announced) / families,
            100.0 * f64::from(tally.announced) / families,
            target(scenario.target),
            mark(tally.meets(scenario.target)),
        );
    }
    table
}

fn as_json(rows: &[(FamilyScenario, FamilyTally)], seed: u64) -> serde_json::Value {
    let row = |(scenario, tally): &(FamilyScenario, FamilyTally)| {
        json!({
            "scenario": scenario.name,
            "seed": seed,
            "steps": scenario.plan.steps,
            "launch_sd": scenario.plan.launch_sd,
            "effect": scenario.plan.effect,
            "tau": scenario.plan.tau,
            "families": tally.families,
            "false_families": tally.false_families,
            "found": tally.found,
            "false_beyond_layout": tally.false_beyond,
            "found_beyond_layout": tally.found_beyond,
            "falsely_announced": tally.falsely_announced,
            "announced": tally.announced,
            "launches": tally.launches,
            "step_launches": tally.step_launches,
            "target": target(scenario.target),
            "met": tally.meets(scenario.target),
        })
    };
    rows.iter().map(row).collect()
}
