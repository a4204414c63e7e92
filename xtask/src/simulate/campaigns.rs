//! Campaigns without a difference: false marks where releases are unequally noisy, and where a second campaign confirms.

use super::{Arguments, Family, mark, percent, simulate};
use analysis::simulation::campaigns::{self, CampaignPlan, CampaignScenario, CampaignTally};
use serde_json::json;
use std::fmt::Write;

/// Campaigns of each scenario: a share of 1 % is then known within 0.2 points.
const REPLICATES: u32 = 20_000;

pub fn names() -> Vec<&'static str> {
    CampaignScenario::ALL.iter().map(|one| one.name()).collect()
}

/// Absent where no scenario of this family is asked for.
pub fn run(arguments: &Arguments) -> anyhow::Result<Option<Family>> {
    let scenarios = arguments.chosen(CampaignScenario::ALL, |scenario| scenario.name());
    if scenarios.is_empty() {
        return Ok(None);
    }
    let cases: Vec<(CampaignScenario, usize)> =
        scenarios.iter().flat_map(|one| CampaignScenario::ROUNDS.map(|rounds| (*one, rounds))).collect();
    let replicates = arguments.replicates(REPLICATES);
    let work = |(scenario, rounds): &(CampaignScenario, usize)| {
        let plan = CampaignPlan { scenario: *scenario, rounds: *rounds, replicates, seed: arguments.seed };
        Ok(campaigns::run(&plan)?)
    };
    let tallies = simulate(&cases, |(scenario, _)| scenario.name(), work)?;
    let rows: Vec<Row> = cases
        .into_iter()
        .zip(tallies)
        .map(|((scenario, rounds), tally)| Row { scenario, rounds, tally })
        .collect();
    let missed = rows.iter().filter(|row| !row.met()).map(|row| row.scenario.name()).collect();
    Ok(Some(Family { table: table(&rows), json: as_json(&rows, arguments.seed), missed }))
}

struct Row {
    scenario: CampaignScenario,
    rounds: usize,
    tally: CampaignTally,
}

impl Row {
    fn met(&self) -> bool {
        self.scenario.target().is_none_or(|target| self.tally.meets(target))
    }

    /// As a change: what an interval of this half width reaches above the ratio.
    fn half_width(&self) -> Option<f64> {
        let mean = self.tally.half_widths / f64::from(self.tally.campaigns.max(1));
        (mean > 0.0).then(|| mean.exp_m1())
    }
}

fn table(rows: &[Row]) -> String {
    let mut table = format!(
        "campaigns of 25 candidates without a difference, visits that differ by 15 %\n{:<26} {:>6} {:>8} {:>10} {:>11}  {}\n",
        "scenario", "rounds", "marked", "stands out", "half width", "target"
    );
    for row in rows {
        let tally = &row.tally;
        let target = row
            .scenario
            .target()
            .map_or_else(|| "-".to_owned(), |share| format!("<= {:.0} %", 100.0 * share));
        // Writing to a String cannot fail.
        let _ = writeln!(
            table,
            "{:<26} {:>6} {:>8} {:>10} {:>11}  {target}{}",
            row.scenario.name(),
            row.rounds,
            format!("{:.2} %", 100.0 * tally.share(tally.marked)),
            percent(tally.share(tally.discovered)),
            row.half_width().map_or_else(|| "-".to_owned(), percent),
            mark(row.met()),
        );
    }
    table
}

fn as_json(rows: &[Row], seed: u64) -> serde_json::Value {
    let of = |row: &Row| {
        let tally = &row.tally;
        json!({
            "scenario": row.scenario.name(),
            "rounds": row.rounds,
            "campaigns": tally.campaigns,
            "seed": seed,
            "marked_share": tally.share(tally.marked),
            "discovered_share": tally.share(tally.discovered),
            "half_width": row.half_width(),
            "target": row.scenario.target(),
            "meets_targets": row.met(),
        })
    };
    rows.iter().map(of).collect()
}
