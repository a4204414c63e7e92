//! Bisections: the right version, and launches.

use super::{Arguments, Family, mark, percent, simulate};
use analysis::bisect::Rule;
use analysis::change_points::CriticalValues;
use analysis::simulation::bisect::{self, BisectPlan, BisectScenario, BisectTally, LEAST_RIGHT};
use serde_json::json;
use std::fmt::Write;

/// Bisections in each scenario: a share of 95 % is then known within 1.3 points.
const REPLICATES: u32 = 2_000;

pub fn names() -> Vec<&'static str> {
    BisectScenario::ALL.iter().map(BisectScenario::name).collect()
}

/// Absent where no scenario of this family is asked for.
pub fn run(arguments: &Arguments) -> anyhow::Result<Option<Family>> {
    let scenarios = arguments.chosen(&BisectScenario::ALL, BisectScenario::name);
    if scenarios.is_empty() {
        return Ok(None);
    }
    let critical = CriticalValues::new();
    let replicates = arguments.replicates(REPLICATES);
    let work = |scenario: &BisectScenario| {
        let plan =
            BisectPlan { replicates, seed: arguments.seed, scenario: *scenario, rule: Rule::default() };
        Ok(bisect::run(&plan, &critical)?)
    };
    let tallies = simulate(&scenarios, BisectScenario::name, work)?;
    let rows: Vec<Row> =
        scenarios.into_iter().zip(tallies).map(|(scenario, tally)| Row { scenario, tally }).collect();
    let missed = rows.iter().filter(|row| !row.met()).map(|row| row.scenario.name()).collect();
    Ok(Some(Family { table: table(&rows), json: as_json(&rows, arguments.seed), missed }))
}

struct Row {
    scenario: BisectScenario,
    tally: BisectTally,
}

impl Row {
    fn met(&self) -> bool {
        self.tally.meets(&self.scenario)
    }
}

fn table(rows: &[Row]) -> String {
    let mut table = format!(
        "bisect over 24 versions: at least {:.0} % name the right one, in at most so many launches of the search\n\
         {:<26} {:>8} {:>8}  {:>8} {:>8} {:>8} {:>9} {:>9} {:>8}  {:>7} {:>7} {:>8} {:>8} {:>6}\n",
        100.0 * LEAST_RIGHT,
        "scenario",
        "searches",
        "refused",
        "at first",
        "right",
        "of steps",
        "confirmed",
        "and wrong",
        ">1 step",
        "search",
        "at most",
        "of ends",
        "confirm.",
        "all"
    );
    for Row { scenario, tally } in rows {
        let share = |count: u32| percent(tally.share(count));
        // Writing to a String cannot fail.
        let _ = writeln!(
            table,
            "{:<26} {:>8} {:>8}  {:>8} {:>8} {:>8} {:>9} {:>9} {:>8}  {:>7.1} {:>7} {:>8.1} {:>8.1} {:>6.1}{}",
            scenario.name(),
            tally.searches,
            tally.refused,
            share(tally.right_at_first),
            share(tally.right),
            percent(tally.found()),
            share(tally.confirmed),
            share(tally.confirmed_wrong),
            share(tally.more_than_one),
            tally.mean(tally.search_launches),
            scenario.most_launches(),
            tally.mean(tally.ends_launches),
            tally.mean(tally.confirmation_launches),
            tally.mean(tally.all_launches()),
            mark(tally.meets(scenario)),
        );
    }
    table
}

fn as_json(rows: &[Row], seed: u64) -> serde_json::Value {
    let of = |row: &Row| {
        let Row { scenario, tally } = row;
        json!({
            "scenario": scenario.name(),
            "searches": tally.searches,
            "refused": tally.refused,
            "seed": seed,
            "right_at_first_share": tally.share(tally.right_at_first),
            "right_share": tally.share(tally.right),
            "found_share_of_steps": tally.found(),
            "confirmed_share": tally.share(tally.confirmed),
            "confirmed_wrong_share": tally.share(tally.confirmed_wrong),
            "more_than_one_share": tally.share(tally.more_than_one),
            "search_launches_mean": tally.mean(tally.search_launches),
            "search_launches_goal": scenario.most_launches(),
            "ends_launches_mean": tally.mean(tally.ends_launches),
            "confirmation_launches_mean": tally.mean(tally.confirmation_launches),
            "meets_targets": row.met(),
        })
    };
    rows.iter().map(of).collect()
}
