//! The whole path of a verdict: false verdicts, coverage.

use super::{Arguments, Family, mark, proportion, simulate};
use analysis::simulation::{
    self, LARGEST_FALSE_SHARE, LEAST_COVERAGE, Scenario, SimulationPlan, SimulationReport,
};
use model::plan::DecisionRule;
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Comparisons in each scenario: a share of 1 % is then known within 0.2 points.
const REPLICATES: u32 = 20_000;

pub fn names() -> Vec<&'static str> {
    Scenario::ALL.iter().map(|one| one.name()).collect()
}

/// Absent where no scenario of this family is asked for.
pub fn run(arguments: &Arguments) -> anyhow::Result<Option<Family>> {
    let scenarios = arguments.chosen(Scenario::ALL, |scenario| scenario.name());
    if scenarios.is_empty() {
        return Ok(None);
    }
    let work = |scenario: &Scenario| {
        let replicates = arguments.replicates(REPLICATES);
        Ok(simulation::run(SimulationPlan { replicates, seed: arguments.seed, scenario: *scenario }))
    };
    let reports = simulate(&scenarios, |scenario| scenario.name(), work)?;
    let missed = reports.iter().filter(|report| !meets_targets(report)).map(name).collect();
    Ok(Some(Family { table: table(&reports), json: as_json(&reports), missed }))
}

fn name(report: &SimulationReport) -> &'static str {
    report.plan.scenario.name()
}

fn meets_targets(report: &SimulationReport) -> bool {
    report.all.intervals > 0 && report.meets_targets()
}

fn table(reports: &[SimulationReport]) -> String {
    let mut table = format!(
        "comparisons: at most {:.1} % false verdicts, at least {:.0} % coverage\n{:<16} {:>10}  {:>7} {:>24}  {:>8} \
         {:>18}  {:>8}\n",
        100.0 * LARGEST_FALSE_SHARE,
        100.0 * LEAST_COVERAGE,
        "scenario",
        "replicates",
        "false",
        "share (99 % interval)",
        "coverage",
        "(99 % interval)",
        "launches"
    );
    for report in reports {
        let tally = &report.all;
        let wrong = proportion(tally.false_verdicts, tally.replicates);
        let covered = proportion(tally.covered, tally.intervals);
        // Writing to a String cannot fail.
        let _ = writeln!(
            table,
            "{:<16} {:>10}  {:>7} {:>24}  {:>8} {:>18}  {:>8.1}{}",
            name(report),
            tally.replicates,
            tally.false_verdicts,
            wrong,
            format!("{:.2} %", 100.0 * covered.share),
            format!("({:.2}..{:.2})", 100.0 * covered.low, 100.0 * covered.high),
            tally.mean_launches(),
            mark(meets_targets(report)),
        );
    }
    table
}

fn as_json(reports: &[SimulationReport]) -> serde_json::Value {
    let rule = DecisionRule::default();
    let scenario = |report: &SimulationReport| {
        let tally = &report.all;
        let wrong = proportion(tally.false_verdicts, tally.replicates);
        let verdicts: BTreeMap<&str, u32> =
            tally.verdicts.iter().map(|(verdict, count)| (verdict.name(), *count)).collect();
        json!({
            "scenario": name(report),
            "replicates": tally.replicates,
            "seed": report.plan.seed,
            "true_ratio": report.plan.scenario.true_ratio(&rule),
            "false_verdicts": tally.false_verdicts,
            "false_share": wrong.share,
            "false_share_low": wrong.low,
            "false_share_high": wrong.high,
            "intervals": tally.intervals,
            "coverage": tally.coverage(),
            "mean_launches": tally.mean_launches(),
            "verdicts": verdicts,
            "meets_targets": meets_targets(report),
        })
    };
    reports.iter().map(scenario).collect()
}
