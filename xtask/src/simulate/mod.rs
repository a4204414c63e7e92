//! `cargo xtask simulate`: verdicts, many sides, change points and bisections on made data whose truth is known, many times.
//!
//! Runs and prints what `analysis::simulation` counts; the methods, the noise and the targets are there.

mod bisect;
mod campaigns;
mod families;
mod histories;
mod series;
mod sides;
mod verdicts;

use anyhow::{Context, ensure};
use serde_json::json;
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// The normal quantile of a two-sided 99 % interval.
const Z_99: f64 = 2.575_829;

#[derive(clap::Args)]
pub struct Arguments {
    /// Replicates of each scenario [default: 20,000 comparisons, families, runs with many sides and campaigns, 8,000 series,
    /// 4,000 histories, 2,000 bisections]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    replicates: Option<u32>,
    /// Seed of all of them
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// One JSON object instead of tables
    #[arg(long)]
    json: bool,
    /// Names of scenarios; `sides` stands for all with many sides
    scenarios: Vec<String>,
}

/// What one family of scenarios has to show.
struct Family {
    table: String,
    json: serde_json::Value,
    /// Scenarios that miss their targets.
    missed: Vec<&'static str>,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    check_names(&arguments.scenarios)?;
    let families = [
        ("simulate", verdicts::run(arguments)?),
        ("families", families::run(arguments)?),
        ("sides", sides::run(arguments)?),
        ("series", series::run(arguments)?),
        ("histories", histories::run(arguments)?),
        ("campaigns", campaigns::run(arguments)?),
        ("bisect", bisect::run(arguments)?),
    ];
    let families: Vec<_> = families.into_iter().filter_map(|(name, family)| Some((name, family?))).collect();
    if arguments.json {
        let object: serde_json::Map<String, serde_json::Value> =
            families.iter().map(|(name, family)| ((*name).to_owned(), family.json.clone())).collect();
        println!("{}", json!(object));
    } else {
        let tables: Vec<&str> = families.iter().map(|(_, family)| family.table.as_str()).collect();
        print!("{}", tables.join("\n"));
    }
    let mut missed: Vec<&str> =
        families.iter().flat_map(|(_, family)| family.missed.iter().copied()).collect();
    // A scenario of several lengths has a row for each.
    missed.dedup();
    ensure!(missed.is_empty(), "missed their targets: {}", missed.join(", "));
    Ok(())
}

fn known_names() -> Vec<&'static str> {
    [
        verdicts::names(),
        families::names(),
        sides::names(),
        series::names(),
        histories::names(),
        campaigns::names(),
        bisect::names(),
    ]
    .concat()
}

fn check_names(wanted: &[String]) -> anyhow::Result<()> {
    let known = known_names();
    for name in wanted {
        ensure!(
            known.contains(&name.as_str()),
            "unknown scenario `{name}`{}; there are {}",
            model::names::hint(name, known.iter().copied()),
            known.join(", ")
        );
    }
    Ok(())
}

impl Arguments {
    /// The scenarios of a family that are asked for.
    fn chosen<T: Copy>(&self, all: &[T], name: impl Fn(&T) -> &'static str) -> Vec<T> {
        let wanted = |scenario: &&T| {
            self.scenarios.is_empty() || self.scenarios.iter().any(|wanted| wanted == name(scenario))
        };
        all.iter().filter(wanted).copied().collect()
    }

    fn replicates(&self, otherwise: u32) -> u32 {
        self.replicates.unwrap_or(otherwise)
    }
}

/// One thread per CPU takes scenario after scenario; each is seeded by itself, so the order does not matter.
fn simulate<T: Sync, R: Send>(
    scenarios: &[T],
    name: impl Fn(&T) -> &'static str + Sync,
    work: impl Fn(&T) -> anyhow::Result<R> + Sync,
) -> anyhow::Result<Vec<R>> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<anyhow::Result<R>>>> = scenarios.iter().map(|_| Mutex::new(None)).collect();
    let threads = std::thread::available_parallelism().context("failed to count the CPUs")?;
    let take_on = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(scenario) = scenarios.get(index) else { break };
            let began = Instant::now();
            let result = work(scenario);
            eprintln!("simulate: {} done in {:.0} s", name(scenario), began.elapsed().as_secs_f64());
            if let Ok(mut place) = results[index].lock() {
                *place = Some(result);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.get().min(scenarios.len()) {
            scope.spawn(take_on);
        }
    });
    let of = |(place, scenario): (Mutex<Option<anyhow::Result<R>>>, &T)| {
        let result = place.into_inner().ok().flatten();
        result.with_context(|| format!("scenario `{}` gave no result", name(scenario)))?
    };
    results.into_iter().zip(scenarios).map(of).collect()
}

/// `97.1 %`.
fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn mark(met: bool) -> &'static str {
    if met { "" } else { "  MISSED" }
}

/// A share with its 99 % interval.
struct Proportion {
    share: f64,
    low: f64,
    high: f64,
}

impl fmt::Display for Proportion {
    /// `1.05 % (0.88..1.25)`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{:.2} % ({:.2}..{:.2})", 100.0 * self.share, 100.0 * self.low, 100.0 * self.high);
        f.pad(&text)
    }
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
    use std::collections::BTreeSet;

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
        let message = format!("{:#}", check_names(&["drfit".to_owned()]).unwrap_err());
        assert!(message.contains("did you mean `drift`?"), "{message}");
        assert!(check_names(&[]).is_ok());
    }

    #[test]
    fn no_two_scenarios_share_a_name() {
        let names = known_names();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    }
}
