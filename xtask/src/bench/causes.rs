//! `cargo xtask bench causes`: does `explain` name what a slowdown spends its time on? The candidate is the base's build, with a slowdown planted
//! that burns CPU, waits for a lock, sleeps, reads or makes system calls: the right part of the time must come first.

use super::{Ending, Here, Scratch, burnt_percent, chosen, printed};
use anyhow::{Context, ensure};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

#[derive(clap::Args)]
pub struct Arguments {
    /// The build that is compared with itself
    #[arg(long, default_value = "rocksdb@8.5.4")]
    build: String,
    /// Runs of each class
    #[arg(long, default_value_t = 12)]
    runs: u64,
    /// By how much the candidate is slower
    #[arg(long, default_value_t = 5.0, value_name = "PERCENT")]
    slower: f64,
    /// Launches in which stacks are sampled
    #[arg(long, default_value_t = 6)]
    launches: u32,
    /// Only these classes; may be given several times
    #[arg(long = "class", value_name = "CLASS")]
    classes: Vec<String>,
    #[command(flatten)]
    here: Here,
    /// One JSON object instead of a table
    #[arg(long)]
    json: bool,
}

/// What a slowdown spends its time on.
#[derive(Clone)]
struct Class {
    /// As `--plant-as` names it.
    name: &'static str,
    /// Parts of the time that say so.
    parts: &'static [&'static str],
}

const CLASSES: [Class; 5] = [
    Class { name: "cpu", parts: &["code"] },
    Class { name: "lock", parts: &["wait lock"] },
    Class { name: "sleep", parts: &["wait sleep"] },
    Class { name: "reads", parts: &["wait read", "kernel pread64"] },
    Class { name: "calls", parts: &["kernel getrusage", "kernel call entry"] },
];
/// The function that burns the CPU of the first class.
const FUNCTION: &str = "planted_burn";
const STEP: &str = "readrandom";

/// `quick` with a tenth of its keys: what is measured is the slowdown, and an image is made in each launch.
const WORKLOAD: &str = include_str!("../../../workloads/quick.toml");
const KEYS: [&str; 2] = ["keys = 500_000", "keys = 50_000"];

/// Share of all runs that must name the class first: 57 of 60.
const GOAL: f64 = 57.0 / 60.0;
/// Share of those that burn CPU that must name the function first: 11 of 12.
const GOAL_OF_FUNCTION: f64 = 11.0 / 12.0;

/// What an explanation said.
struct Said {
    /// The part of the time that changed most.
    part: String,
    /// The function that changed most.
    function: String,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let program = Program { path: arguments.here.dbdyno.path()?, scratch: arguments.here.scratch()? };
    ensure!(WORKLOAD.contains(KEYS[0]), "the workload `quick` has other keys");
    fs::write(program.workload(), WORKLOAD.replace(KEYS[0], KEYS[1]))
        .context("failed to write the workload")?;
    let mut rows = Vec::new();
    for class in &chosen(&CLASSES, |class| class.name.to_owned(), &arguments.classes)? {
        let seeds = (arguments.here.seed..).take(usize::try_from(arguments.runs)?);
        let said: Vec<Said> =
            seeds.map(|seed| program.explain(class, arguments, seed)).collect::<anyhow::Result<_>>()?;
        rows.push(row(class, &said));
    }
    let sum = |key: &str| rows.iter().filter_map(|row| row[key].as_u64()).sum::<u64>();
    let (right, of) = (sum("right"), sum("runs"));
    if arguments.json {
        println!("{}", json!({ "bench": "causes", "classes": rows, "right": right, "runs": of }));
    } else {
        print_table(&rows);
        println!("the right part of the time first in {right} of {of} runs (goal {:.0} %)", 100.0 * GOAL);
    }
    let mut function_is_found = rows.iter().filter_map(|row| {
        Some(row["function"].as_u64()? as f64 >= GOAL_OF_FUNCTION * row["runs"].as_u64()? as f64)
    });
    Ok(Ending::of(right as f64 >= GOAL * of as f64 && function_is_found.all(|found| found)))
}

/// The program with a store and a work directory of its own.
struct Program {
    path: PathBuf,
    scratch: Scratch,
}

impl Program {
    fn explain(&self, class: &Class, arguments: &Arguments, seed: u64) -> anyhow::Result<Said> {
        let build = arguments.build.as_str();
        let (burnt, seed) = (burnt_percent(arguments.slower).to_string(), seed.to_string());
        let workload = self.workload();
        let workload = workload.to_str().context("the temporary directory is not UTF-8")?;
        let compare = ["compare", build, build, "--workload", workload, "--step", STEP, "--budget", "6s"];
        let planted = [
            "--json",
            "--no-fingerprint",
            "--plant-slowdown",
            &burnt,
            "--plant-as",
            class.name,
            "--seed",
            &seed,
        ];
        let report = self.call(&[compare.as_slice(), planted.as_slice()].concat())?;
        let run = report["run"].as_str().context("the report has no run")?;
        let launches = arguments.launches.to_string();
        let explain = ["explain", run, "--step", STEP, "--profile", "--launches", &launches, "--json"];
        let profile = &self.call(&explain)?["cases"][0]["profile"];
        let first = |list: &str, key: &str| profile[list][0][key].as_str().unwrap_or("nothing").to_owned();
        let said = Said { part: first("times", "part"), function: first("functions", "name") };
        eprintln!("{} of seed {seed}: {}, {}", class.name, said.part, said.function);
        Ok(said)
    }

    fn workload(&self) -> PathBuf {
        self.scratch.path("fewer-keys.toml")
    }

    /// What it prints.
    fn call(&self, arguments: &[&str]) -> anyhow::Result<Value> {
        let mut command = Command::new(&self.path);
        command.args(arguments).arg("--store").arg(self.scratch.path("causes.sqlite"));
        serde_json::from_str(&printed(&mut command)?).context("dbdyno printed no JSON")
    }
}

fn row(class: &Class, said: &[Said]) -> Value {
    let right = said.iter().filter(|said| class.parts.contains(&said.part.as_str())).count();
    let mut row = json!({ "class": class.name, "runs": said.len(), "right": right });
    if class.name == "cpu" {
        row["function"] = json!(said.iter().filter(|said| said.function.contains(FUNCTION)).count());
    }
    row
}

fn print_table(rows: &[Value]) {
    println!("class     right part first   right function first");
    for row in rows {
        let function = row["function"].as_u64().map_or_else(|| "-".to_owned(), |found| found.to_string());
        println!(
            "{:<9} {:>5} of {:<9}   {function:>8}",
            row["class"].as_str().unwrap_or(""),
            row["right"].to_string(),
            row["runs"].to_string()
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_right_if_the_part_of_its_class_comes_first() {
        let said = |part: &str, function: &str| Said { part: part.to_owned(), function: function.to_owned() };
        let all = [
            said("code", "load::planted::planted_burn"),
            said("code", "rocksdb::DBImpl::Get"),
            said("wait lock", "load::planted::planted_burn"),
        ];
        let cpu = row(&CLASSES[0], &all);
        assert_eq!((cpu["right"].as_u64(), cpu["function"].as_u64()), (Some(2), Some(2)));
        assert_eq!(row(&CLASSES[1], &all)["right"], 1);
        assert!(row(&CLASSES[1], &all)["function"].is_null());
    }
}
