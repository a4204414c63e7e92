//! Change points of series: false alarms, and changes found at their very version.

use super::{Arguments, Family, mark, percent, simulate};
use analysis::change_points::{CriticalValues, Rule};
use analysis::simulation::series::{self, SeriesPlan, SeriesScenario, SeriesTally, Target};
use serde_json::json;
use std::fmt::Write;

/// Series in each scenario: a share of 1 % is then known within 0.3 points.
const REPLICATES: u32 = 8_000;

pub fn names() -> Vec<&'static str> {
    SeriesScenario::ALL.iter().map(|one| one.name()).collect()
}

/// Absent where no scenario of this family is asked for.
pub fn run(arguments: &Arguments) -> anyhow::Result<Option<Family>> {
    let scenarios = arguments.chosen(SeriesScenario::ALL, |scenario| scenario.name());
    if scenarios.is_empty() {
        return Ok(None);
    }
    let critical = CriticalValues::new();
    let replicates = arguments.replicates(REPLICATES);
    let work = |scenario: &SeriesScenario| {
        let plan =
            SeriesPlan { replicates, seed: arguments.seed, scenario: *scenario, rule: Rule::default() };
        Ok(series::run(&plan, &critical)?)
    };
    let tallies = simulate(&scenarios, |scenario| scenario.name(), work)?;
    let rows: Vec<Row> =
        scenarios.into_iter().zip(tallies).map(|(scenario, tally)| Row { scenario, tally }).collect();
    let missed = rows.iter().filter(|row| !row.met()).map(|row| row.scenario.name()).collect();
    Ok(Some(Family { table: table(&rows), json: as_json(&rows, arguments.seed), missed }))
}

struct Row {
    scenario: SeriesScenario,
    tally: SeriesTally,
}

impl Row {
    fn met(&self) -> bool {
        self.tally.meets(self.scenario.target())
    }
}

fn target(target: Target) -> String {
    match target {
        Target::AlarmsAtMost(share) => format!("alarms <= {:.0} %", 100.0 * share),
        Target::AlarmsAtLeast(share) => format!("alarms >= {:.0} %", 100.0 * share),
        Target::F1AtLeast(share) => format!("F1 >= {share}"),
    }
}

fn table(rows: &[Row]) -> String {
    let mut table = format!(
        "change points: targets hold within three standard errors of what was counted\n{:<24} {:>8}  {:>8} {:>7} \
         {:>7} {:>8} {:>8}  {}\n",
        "scenario", "series", "alarms", "F1", "recall", "located", "covered", "target"
    );
    for row in rows {
        let tally = &row.tally;
        let of_planted = |share: f64| if tally.planted > 0 { format!("{share:.3}") } else { "-".to_owned() };
        // Writing to a String cannot fail.
        let _ = writeln!(
            table,
            "{:<24} {:>8}  {:>8} {:>7} {:>7} {:>8} {:>8}  {}{}",
            row.scenario.name(),
            tally.series,
            percent(tally.alarm_share()),
            of_planted(tally.f1()),
            of_planted(tally.recall()),
            of_planted(share(tally.located, tally.planted)),
            of_planted(share(tally.covered, tally.exact)),
            target(row.scenario.target()),
            mark(row.met()),
        );
    }
    table
}

fn share(part: u32, of: u32) -> f64 {
    f64::from(part) / f64::from(of.max(1))
}

fn as_json(rows: &[Row], seed: u64) -> serde_json::Value {
    let of = |row: &Row| {
        let tally = &row.tally;
        json!({
            "scenario": row.scenario.name(),
            "series": tally.series,
            "seed": seed,
            "alarm_share": tally.alarm_share(),
            "planted": tally.planted,
            "found": tally.found,
            "precision": tally.precision(),
            "recall": tally.recall(),
            "f1": tally.f1(),
            "located_share": share(tally.located, tally.planted),
            "covered_share": share(tally.covered, tally.exact),
            "target": target(row.scenario.target()),
            "meets_targets": row.met(),
        })
    };
    rows.iter().map(of).collect()
}
