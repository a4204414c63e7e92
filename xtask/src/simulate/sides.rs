//! Runs with many sides in each launch: false changes, changes found, and what pairs with a single base would say of the same launches.

use super::{Arguments, Family, mark, proportion, simulate};
use analysis::simulation::sides::{self, SidesScenario, SidesTally, SidesTarget, share};
use serde_json::json;
use std::fmt::Write;

/// Runs in each scenario: a share of 1 % is then known within 0.2 points.
const REPLICATES: u32 = 20_000;
/// Stands for all scenarios of this family.
const ALL: &str = "sides";

pub fn names() -> Vec<&'static str> {
    SidesScenario::ALL.iter().map(|one| one.name).chain([ALL]).collect()
}

/// Absent if no scenario of this family is asked for.
pub fn run(arguments: &Arguments) -> anyhow::Result<Option<Family>> {
    let scenarios = if arguments.scenarios.iter().any(|name| name == ALL) {
        SidesScenario::ALL.to_vec()
    } else {
        arguments.chosen(SidesScenario::ALL, |scenario| scenario.name)
    };
    if scenarios.is_empty() {
        return Ok(None);
    }
    let replicates = arguments.replicates(REPLICATES);
    let work = |scenario: &SidesScenario| Ok(sides::run(&scenario.plan, replicates, arguments.seed));
    let tallies = simulate(&scenarios, |scenario| scenario.name, work)?;
    let rows: Vec<(SidesScenario, SidesTally)> = scenarios.into_iter().zip(tallies).collect();
    let missed = rows
        .iter()
        .filter(|(scenario, tally)| !tally.meets(scenario.target))
        .map(|(one, _)| one.name)
        .collect();
    Ok(Some(Family { table: table(&rows, arguments.seed), json: as_json(&rows, arguments.seed), missed }))
}

fn target(target: Option<SidesTarget>) -> String {
    match target {
        None => String::new(),
        Some(SidesTarget::FalseAtMost(most)) => format!("false <= {:.1} %", 100.0 * most),
        Some(SidesTarget::FoundAtLeast(least)) => format!("found >= {:.0} %", 100.0 * least),
    }
}

fn table(rows: &[(SidesScenario, SidesTally)], seed: u64) -> String {
    let mut table = format!(
        "many sides in a launch, seed {seed}; of pairs: the same launches with one base process, as they are judged one by one\n\
         {:<24} {:>6}  {:>22} {:>8}  {:>7} {:>8}  {:>9}  {:>7} {:>7} {:>8}  {:>8}  {}\n",
        "scenario",
        "runs",
        "false (99 % interval)",
        "of pairs",
        "found",
        "of pairs",
        "intervals",
        "visible",
        "half",
        "of pairs",
        "controls",
        "target"
    );
    for (scenario, tally) in rows {
        let percent = |share: f64| format!("{:.2} %", 100.0 * share);
        let found = |count, of| if of == 0 { String::new() } else { percent(share(count, of)) };
        let controls = if tally.controls == 0 {
            String::new()
        } else {
            percent(share(tally.controls_differ, tally.controls))
        };
        // Writing to a String cannot fail.
        let _ = writeln!(
            table,
            "{:<24} {:>6}  {:>22} {:>8}  {:>7} {:>8}  {:>9}  {:>7} {:>7} {:>8}  {:>8}  {}{}",
            scenario.name,
            tally.families,
            proportion(tally.false_families, tally.families),
            percent(share(tally.false_families_of_pairs, tally.families_of_pairs)),
            found(tally.found, tally.changed),
            found(tally.found_of_pairs, tally.changed_of_pairs),
            percent(share(tally.missing_truth, tally.families)),
            percent(tally.visible.exp_m1()),
            percent(tally.half_width.exp_m1()),
            percent(tally.half_width_of_pairs.exp_m1()),
            controls,
            target(scenario.target),
            mark(tally.meets(scenario.target)),
        );
    }
    table
}

fn as_json(rows: &[(SidesScenario, SidesTally)], seed: u64) -> serde_json::Value {
    let row = |(scenario, tally): &(SidesScenario, SidesTally)| {
        json!({
            "scenario": scenario.name,
            "seed": seed,
            "sides": scenario.plan.sides,
            "base_processes": scenario.plan.base,
            "steps": scenario.plan.steps,
            "launches": scenario.plan.launches,
            "side_sd": scenario.plan.side_sd,
            "families": tally.families,
            "false_families": tally.false_families,
            "families_of_pairs": tally.families_of_pairs,
            "false_families_of_pairs": tally.false_families_of_pairs,
            "changed": tally.changed,
            "found": tally.found,
            "changed_of_pairs": tally.changed_of_pairs,
            "found_of_pairs": tally.found_of_pairs,
            "intervals_missing_truth": tally.missing_truth,
            "half_width": tally.half_width,
            "visible": tally.visible,
            "half_width_of_pairs": tally.half_width_of_pairs,
            "controls": tally.controls,
            "controls_differ": tally.controls_differ,
            "target": target(scenario.target),
            "met": tally.meets(scenario.target),
        })
    };
    rows.iter().map(row).collect()
}
