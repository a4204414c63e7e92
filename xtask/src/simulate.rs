//! `cargo xtask simulate`: the whole path of a verdict on made data whose truth is known, many times.
//!
//! Runs and prints what `analysis::simulation` counts; the method and the noise are there, the targets here.

use analysis::simulation::{self, Scenario, SimulationPlan, SimulationReport};
use anyhow::{Context, ensure};
use model::plan::DecisionRule;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Instant;

/// At most this share of verdicts may be false, at a nominal 1 %.
const MAX_FALSE_SHARE: f64 = 0.015;
/// At least this share of intervals must hold the true ratio, at a nominal 99 %.
const MIN_COVERAGE: f64 = 0.98;
/// The normal quantile of a two-sided 99 % interval.
const Z_99: f64 = 2.575_829;

#[derive(clap::Args)]
pub struct Arguments {
    /// Comparisons in each scenario
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..))]
    replicates: u32,
    /// Seed of all of them
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// One JSON object instead of a table
    #[arg(long)]
    json: bool,
    /// Only these scenarios
    scenarios: Vec<String>,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let reports = simulate(arguments, &chosen(&arguments.scenarios)?)?;
    if arguments.json {
        println!("{}", as_json(&reports));
    } else {
        print_table(&reports);
    }
    let missed: Vec<&str> = reports.iter().filter(|report| !meets_targets(report)).map(name).collect();
    ensure!(
        missed.is_empty(),
        "missed the targets (at most {:.1} % false verdicts, at least {:.0} % coverage): {}",
        MAX_FALSE_SHARE * 100.0,
        MIN_COVERAGE * 100.0,
        missed.join(", ")
    );
    Ok(())
}

fn chosen(names: &[String]) -> anyhow::Result<Vec<Scenario>> {
    if names.is_empty() {
        return Ok(Scenario::ALL.to_vec());
    }
    let known = Scenario::ALL.map(Scenario::name);
    let find = |name: &String| {
        let found = Scenario::ALL.into_iter().find(|scenario| scenario.name() == name);
        found.with_context(|| {
            let hint = model::names::hint(name, known);
            format!("unknown scenario `{name}`{hint}; there are {}", known.join(", "))
        })
    };
    names.iter().map(find).collect()
}

/// One thread per CPU takes scenario after scenario; each is seeded by itself, so the order does not matter.
fn simulate(arguments: &Arguments, scenarios: &[Scenario]) -> anyhow::Result<Vec<SimulationReport>> {
    let waiting = Mutex::new(scenarios.iter().copied());
    let reports = Mutex::new(BTreeMap::new());
    let threads = std::thread::available_parallelism().context("failed to count the CPUs")?;
    let work = || {
        while let Some(scenario) = take_next(&waiting) {
            let began = Instant::now();
            let plan = SimulationPlan { replicates: arguments.replicates, seed: arguments.seed, scenario };
            let report = simulation::run(plan);
            eprintln!("simulate: {} done in {:.0} s", scenario.name(), began.elapsed().as_secs_f64());
            if let Ok(mut reports) = reports.lock() {
                reports.insert(scenario, report);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.get().min(scenarios.len()) {
            scope.spawn(work);
        }
    });
    let mut reports = reports.into_inner().ok().context("a simulation panicked")?;
    let in_order = scenarios.iter().map(|scenario| {
        reports.remove(scenario).with_context(|| format!("scenario `{}` gave no report", scenario.name()))
    });
    in_order.collect()
}

fn take_next(waiting: &Mutex<impl Iterator<Item = Scenario>>) -> Option<Scenario> {
    waiting.lock().ok()?.next()
}

fn name(report: &SimulationReport) -> &'static str {
    report.plan.scenario.name()
}

fn meets_targets(report: &SimulationReport) -> bool {
    report.all.intervals > 0
        && report.all.false_share() <= MAX_FALSE_SHARE
        && report.all.coverage() >= MIN_COVERAGE
}

fn print_table(reports: &[SimulationReport]) {
    println!(
        "{:<16} {:>10}  {:>7} {:>24}  {:>8} {:>18}  {:>8}",
        "scenario", "replicates", "false", "share (99 % interval)", "coverage", "(99 % interval)", "launches"
    );
    for report in reports {
        let tally = &report.all;
        let wrong = proportion(tally.false_verdicts, tally.replicates);
        let covered = proportion(tally.covered, tally.intervals);
        println!(
            "{:<16} {:>10}  {:>7} {:>24}  {:>8} {:>18}  {:>8.1}{}",
            name(report),
            tally.replicates,
            tally.false_verdicts,
            format!("{:.2} % ({:.2}..{:.2})", 100.0 * wrong.share, 100.0 * wrong.low, 100.0 * wrong.high),
            format!("{:.2} %", 100.0 * covered.share),
            format!("({:.2}..{:.2})", 100.0 * covered.low, 100.0 * covered.high),
            tally.mean_launches(),
            if meets_targets(report) { "" } else { "  MISSED" },
        );
    }
}

fn as_json(reports: &[SimulationReport]) -> serde_json::Value {
    let rule = DecisionRule::default();
    let scenarios: Vec<serde_json::Value> = reports
        .iter()
        .map(|report| {
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
        })
        .collect();
    json!({ "simulate": scenarios })
}

/// A share with its 99 % interval.
struct Proportion {
    share: f64,
    low: f64,
    high: f64,
}

/// Wilson's score interval (Wilson 1927): holds its level down to counts of 0, where the usual one has no width.
/// With no trials at all nothing is known: 0 to 1.
fn proportion(count: u32, trials: u32) -> Proportion {
    if trials == 0 {
        return Proportion { share: 0.0, low: 0.0, high: 1.0 };
    }
    let n = f64::from(trials);
    let share = f64::from(count) / n;
    let z2 = Z_99 * Z_99;
    let centre = (share + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = Z_99 / (1.0 + z2 / n) * (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt();
    Proportion { share, low: (centre - half).max(0.0), high: (centre + half).min(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proportion_has_wilsons_interval() {
        // The same formula, evaluated in Python: 0.0083433 and 0.0119817.
        let found = proportion(200, 20_000);
        assert!((found.share - 0.01).abs() < 1e-12);
        assert!((found.low - 0.008_343_3).abs() < 1e-6, "{}", found.low);
        assert!((found.high - 0.011_981_7).abs() < 1e-6, "{}", found.high);
        let none = proportion(0, 100);
        assert!(none.low < 1e-9 && none.high > 0.05 && none.high < 0.07, "{}", none.high);
        assert!(proportion(0, 0).high >= 1.0);
    }

    #[test]
    fn an_unknown_scenario_offers_the_nearest() {
        let message = format!("{:#}", chosen(&["drfit".to_owned()]).unwrap_err());
        assert!(message.contains("did you mean `drift`?"), "{message}");
        assert_eq!(chosen(&[]).unwrap().len(), Scenario::ALL.len());
    }
}
