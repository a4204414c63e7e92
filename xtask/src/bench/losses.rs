//! `cargo xtask bench losses`: one library under nineteen names, measured interleaved, with losses injected from places on that are drawn at
//! random. Does `history` find them, each at its place or at one beside it, and nothing else?

use super::{Ending, Here, Scratch, burnt_percent, printed, scrambled};
use anyhow::Context;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

#[derive(clap::Args)]
pub struct Arguments {
    /// The build that has all the names
    #[arg(long, default_value = "rocksdb@8.5.4")]
    build: String,
    /// Runs, each with places of its own
    #[arg(long, default_value_t = 5)]
    runs: u64,
    /// Minutes of a run: what the plan of nineteen releases gives two of its five steps
    #[arg(long, default_value_t = 12)]
    minutes: u32,
    /// Steps of the workload `quick`
    #[arg(long = "step", default_values = ["readrandom", "seekrandom"])]
    steps: Vec<String>,
    #[command(flatten)]
    here: Here,
    /// One JSON object instead of a table
    #[arg(long)]
    json: bool,
}

/// As many as the releases of `plans/rocksdb-history.toml`.
const NAMES: usize = 19;
/// Of a run, in percent of the throughput.
const LOSSES: [f64; 3] = [3.0, 2.0, 2.0];
/// Two losses are at least this many names apart: found one name beside its place, a loss is still that loss.
const APART: usize = 3;
/// Share of the injected losses that must be found: 13 of 15.
const GOAL: f64 = 13.0 / 15.0;
/// Changes that were not injected, in all runs together.
const MOST_OTHERS: usize = 1;

/// A name from which on the library is slower than before it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Loss {
    place: usize,
    percent: f64,
}

/// What `history` says of a step.
#[derive(Debug, Default, PartialEq)]
struct Found {
    losses: BTreeSet<usize>,
    /// Changes at none of the places, or to the better: each with its place and size, to tell a loss that was placed wrongly from one
    /// that is not there.
    others: Vec<String>,
}

/// The program with a store and a work directory of its own.
struct Program {
    path: PathBuf,
    scratch: Scratch,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let here = &arguments.here;
    let program = Program { path: here.dbdyno.path()?, scratch: here.scratch()? };
    let names = program.give_names(&arguments.build)?;
    let mut rows = Vec::new();
    // Each run has places and an order of its own.
    for seed in (here.seed..).take(usize::try_from(arguments.runs)?) {
        let losses = drawn(seed);
        let found =
            program.measure(&plan_text(&names, seed, arguments), &names, &losses, &arguments.steps)?;
        rows.push(row(seed, &losses, &found, &arguments.steps));
        eprintln!("{}", rows.last().unwrap_or(&Value::Null));
    }
    let found = rows.iter().filter_map(|row| row["found"].as_u64()).sum::<u64>();
    let others = rows.iter().map(others_of).sum::<usize>();
    let injected = arguments.runs * LOSSES.len() as u64;
    if arguments.json {
        println!("{}", json!({ "bench": "losses", "runs": rows, "found": found, "others": others }));
    } else {
        print_table(&rows, &arguments.steps);
        println!("{found} of {injected} losses found in at least one step, {others} other changes");
    }
    Ok(Ending::of(found as f64 >= GOAL * injected as f64 && others <= MOST_OTHERS))
}

impl Program {
    /// The names under which the library is registered; the build itself is the first.
    fn give_names(&self, build: &str) -> anyhow::Result<Vec<String>> {
        self.call(["engine", "fetch", build])?;
        let info: Value = serde_json::from_str(&self.call(["engine", "info", build, "--json"])?)?;
        let library = info["build"]["library"].as_str().context("the build has no library")?;
        let engine = build.split('@').next().unwrap_or(build);
        let names: Vec<String> = std::iter::once(build.to_owned())
            .chain((1..NAMES).map(|number| format!("{engine}@n{number:02}")))
            .collect();
        for name in &names[1..] {
            self.call(["engine", "add", name, library])?;
        }
        Ok(names)
    }

    /// What is found in each of the steps.
    fn measure(
        &self,
        plan: &str,
        names: &[String],
        losses: &[Loss],
        steps: &[String],
    ) -> anyhow::Result<Vec<Found>> {
        let path = self.scratch.path("losses.toml");
        fs::write(&path, plan).with_context(|| format!("failed to write `{}`", path.display()))?;
        let mut run = vec![OsString::from("run"), path.into_os_string()];
        run.extend(losses.iter().flat_map(|loss| ["--plant".into(), loss.to_inject(names).into()]));
        self.call(run)?;
        let history: Value = serde_json::from_str(&self.call(["history", "last", "--json"])?)?;
        steps.iter().map(|step| found_in(&history, step, names, losses)).collect()
    }

    /// What it prints.
    fn call<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(&self, arguments: I) -> anyhow::Result<String> {
        printed(
            Command::new(&self.path)
                .args(arguments)
                .arg("--store")
                .arg(self.scratch.path("losses.sqlite"))
                .arg("--work-dir")
                .arg(self.scratch.path("work")),
        )
    }
}

impl Loss {
    fn to_inject(self, names: &[String]) -> String {
        format!("{}={}", names[self.place], burnt_percent(self.percent))
    }
}

/// Places of the losses, drawn until they are apart.
fn drawn(seed: u64) -> Vec<Loss> {
    let place = |index| 1 + usize::try_from(scrambled(seed, index) % (NAMES as u64 - 1)).unwrap_or(0);
    let draws =
        (0..).step_by(LOSSES.len()).map(|first| (first..).take(LOSSES.len()).map(place).collect::<Vec<_>>());
    let is_apart = |places: &Vec<usize>| {
        places
            .iter()
            .enumerate()
            .all(|(at, one)| places[..at].iter().all(|other| one.abs_diff(*other) >= APART))
    };
    let places = draws.into_iter().find(is_apart).unwrap_or_default();
    places.into_iter().zip(LOSSES).map(|(place, percent)| Loss { place, percent }).collect()
}

fn plan_text(names: &[String], seed: u64, arguments: &Arguments) -> String {
    format!(
        "name = \"losses\"\ndescription = \"one library under {NAMES} names\"\nworkloads = [\"quick\"]\n\
         design = \"interleaved\"\nbudget_minutes = {}\nseed = {seed}\nsteps = {:?}\nsubjects = {names:?}\n",
        arguments.minutes, arguments.steps,
    )
}

/// Each change of the step's rate is a loss that was injected at its name or at one beside it, or another one.
fn found_in(history: &Value, step: &str, names: &[String], losses: &[Loss]) -> anyhow::Result<Found> {
    let series = history["series"].as_array().context("the history has no series")?;
    let of_step =
        series.iter().find(|one| one["step"] == step).with_context(|| format!("no series of {step}"))?;
    let versions: Vec<&str> = names.iter().filter_map(|name| name.split('@').nth(1)).collect();
    let mut found = Found::default();
    for change in of_step["change_points"].as_array().context("the series has no change points")? {
        let version = change["version"].as_str().context("a change has no version")?;
        let at =
            versions.iter().position(|one| *one == version).with_context(|| format!("unknown {version}"))?;
        let ratio = change["ratio"].as_f64().context("a change has no ratio")?;
        match losses.iter().find(|loss| ratio < 1.0 && loss.place.abs_diff(at) <= 1) {
            Some(loss) => drop(found.losses.insert(loss.place)),
            None => found.others.push(format!("{step} at {at}: {:+.1} %", (ratio - 1.0) * 100.0)),
        }
    }
    Ok(found)
}

fn row(seed: u64, losses: &[Loss], found: &[Found], steps: &[String]) -> Value {
    let in_any: BTreeSet<usize> = found.iter().flat_map(|one| one.losses.iter().copied()).collect();
    let by_step: serde_json::Map<String, Value> =
        steps.iter().zip(found).map(|(step, one)| (step.clone(), json!(one.losses.len()))).collect();
    json!({
        "seed": seed,
        "places": losses.iter().map(|loss| loss.place).collect::<Vec<_>>(),
        "found": in_any.len(),
        "by_step": by_step,
        "others": found.iter().flat_map(|one| &one.others).collect::<Vec<_>>(),
    })
}

fn others_of(row: &Value) -> usize {
    row["others"].as_array().map_or(0, Vec::len)
}

fn print_table(rows: &[Value], steps: &[String]) {
    println!("losses of {LOSSES:?} % among {NAMES} names, and how many of the {} were found", LOSSES.len());
    let heads: String = steps.iter().map(|step| format!("  {step:>16}")).collect();
    println!("{:<6}{:<14}{heads}  {:>9}  {:>6}", "seed", "places", "any step", "others");
    for row in rows {
        let by_step: String =
            steps.iter().map(|step| format!("  {:>16}", row["by_step"][step].to_string())).collect();
        println!(
            "{:<6}{:<14}{by_step}  {:>9}  {:>6}",
            row["seed"].to_string(),
            row["places"].to_string(),
            row["found"].to_string(),
            others_of(row)
        );
        for other in row["others"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            println!("      not injected: {other}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_apart_and_after_the_base() {
        let all: Vec<Vec<Loss>> = (0..200).map(drawn).collect();
        for losses in &all {
            assert_eq!(losses.len(), LOSSES.len());
            let places: Vec<usize> = losses.iter().map(|loss| loss.place).collect();
            assert!(places.iter().all(|place| (1..NAMES).contains(place)), "{places:?}");
            assert!(
                places[0].abs_diff(places[1]) >= APART && places[1].abs_diff(places[2]) >= APART,
                "{places:?}"
            );
        }
        assert!((1..NAMES).all(|place| all.iter().flatten().any(|loss| loss.place == place)));
    }

    #[test]
    fn a_change_counts_once_at_its_place_or_beside_it() {
        let names: Vec<String> =
            ["e@a", "e@b", "e@c", "e@d", "e@e", "e@f", "e@g"].map(str::to_owned).to_vec();
        let losses = [Loss { place: 2, percent: 3.0 }, Loss { place: 5, percent: 2.0 }];
        let change = |version: &str, ratio: f64| json!({ "version": version, "ratio": ratio });
        let history = |changes: Vec<Value>| json!({ "series": [{ "step": "s", "change_points": changes }] });
        let found = |changes| found_in(&history(changes), "s", &names, &losses).unwrap();
        let both = found(vec![change("b", 0.97), change("f", 0.98)]);
        assert_eq!(both, Found { losses: [2, 5].into(), others: Vec::new() });
        let others = found(vec![change("c", 1.03), change("e", 0.98), change("g", 0.98)]);
        assert_eq!(others, Found { losses: [5].into(), others: vec!["s at 2: +3.0 %".to_owned()] });
        assert_eq!(found(Vec::new()), Found::default());
        assert!(found_in(&history(Vec::new()), "t", &names, &losses).is_err());
    }

    #[test]
    fn what_is_burnt_makes_the_rate_lower_by_the_percent() {
        let names = vec!["e@a".to_owned(), "e@b".to_owned()];
        assert_eq!(Loss { place: 1, percent: 50.0 }.to_inject(&names), "e@b=100");
    }
}
