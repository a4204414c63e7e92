//! `cargo xtask bench counters`: how often is a counter marked as moved although nothing differs? The sides of a stored run are relabelled within each
//! launch by a coin, many times: whatever is marked then is marked falsely.

use super::{Ending, Here, Scratch, printed, scrambled};
use anyhow::{Context, ensure};
use findings::Comparison;
use findings::judge::Evidence;
use model::block::TrialKey;
use model::counter::Counter;
use model::metric::Metric;
use model::record::RunRecord;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use store::Store;

#[derive(clap::Args)]
pub struct Arguments {
    /// A store that has the run [default: a build is compared with itself first]
    #[arg(long, requires = "run")]
    store: Option<PathBuf>,
    /// A comparison of two sides in it
    #[arg(long, requires = "store")]
    run: Option<String>,
    /// The build that is compared with itself
    #[arg(long, default_value = "rocksdb@8.5.4")]
    build: String,
    /// Relabellings
    #[arg(long, default_value_t = 1000)]
    relabellings: u64,
    #[command(flatten)]
    here: Here,
    /// One JSON object instead of a table
    #[arg(long)]
    json: bool,
}

/// Share of relabellings that may mark a counter.
const GOAL: f64 = 0.01;
/// Of so many, chance alone goes above the goal: the bound is three standard deviations above it.
const DEVIATIONS: f64 = 3.0;

pub fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let scratch = arguments.here.scratch()?;
    let (path, run) = match (&arguments.store, &arguments.run) {
        (Some(store), Some(run)) => (store.clone(), run.clone()),
        _ => measured(arguments, &scratch)?,
    };
    let store = Store::open_existing(&path)?;
    let record = store.load_run(&store.find_run(&run)?)?;
    ensure!(record.plan.subjects.len() == 2, "run {run} has more than two sides");
    let mut marked: BTreeMap<(String, Counter), u64> = BTreeMap::new();
    for number in 0..arguments.relabellings {
        let relabelled = relabelled(&record, scrambled(arguments.here.seed, number));
        for (key, moved) in counters(&relabelled) {
            *marked.entry(key).or_default() += u64::from(moved);
        }
    }
    ensure!(!marked.is_empty(), "run {run} has no counters");
    let number = arguments.relabellings as f64;
    let bound = GOAL + DEVIATIONS * (GOAL * (1.0 - GOAL) / number).sqrt();
    let share = |count: &u64| *count as f64 / number;
    let above: Vec<String> = marked
        .iter()
        .filter(|(_, count)| share(count) > bound)
        .map(|((step, counter), count)| {
            format!("{} of {step} {:.1} %", counter.metric_name(), 100.0 * share(count))
        })
        .collect();
    let mean = marked.values().map(share).sum::<f64>() / marked.len() as f64;
    if arguments.json {
        let row = |((step, counter), count): (&(String, Counter), &u64)| json!({ "step": step, "counter": counter.metric_name(), "marked": share(count) });
        let rows: Vec<Value> = marked.iter().map(row).collect();
        println!("{}", json!({ "bench": "counters", "counters": rows, "mean": mean, "bound": bound }));
    } else {
        println!(
            "{} counters of {} steps, {} relabellings of {} launches: marked falsely {:.2} % in the mean (goal at most {:.0} % each, {:.1} % with chance)",
            marked.len(),
            record.plan.steps.len(),
            arguments.relabellings,
            record.launches.len(),
            100.0 * mean,
            100.0 * GOAL,
            100.0 * bound
        );
        above.iter().for_each(|line| println!("above it: {line}"));
    }
    Ok(Ending::of(above.is_empty()))
}

/// A run of the build against itself, and the store that has it.
fn measured(arguments: &Arguments, scratch: &Scratch) -> anyhow::Result<(PathBuf, String)> {
    let store = scratch.path("counters.sqlite");
    let mut compare = Command::new(arguments.here.dbdyno.path()?);
    compare
        .args(["compare", &arguments.build, &arguments.build, "--budget", "5m", "--json", "--store"])
        .arg(&store);
    let report: Value = serde_json::from_str(&printed(&mut compare)?).context("dbdyno printed no JSON")?;
    Ok((store, report["run"].as_str().context("the report has no run")?.to_owned()))
}

/// The run with its sides exchanged in those launches in which a coin says so.
fn relabelled(record: &RunRecord, seed: u64) -> RunRecord {
    let mut record = record.clone();
    let exchange = |trial: &mut TrialKey| {
        if scrambled(seed, u64::from(trial.launch)) & 1 == 1 {
            trial.side = 1 - trial.side;
        }
    };
    record.blocks.iter_mut().for_each(|block| exchange(&mut block.trial));
    record.trials.iter_mut().for_each(|ended| exchange(&mut ended.trial));
    record.shapes.iter_mut().for_each(|read| exchange(&mut read.trial));
    record
}

/// Whether each counter of each step is marked as moved.
fn counters(record: &RunRecord) -> Vec<((String, Counter), bool)> {
    let view = Comparison::of(record, &Evidence::default());
    let mut all = Vec::new();
    for step in &view.steps {
        for metric in step.cases.iter().flat_map(|case| &case.metrics) {
            if let (Metric::Counter(counter), Some(moved)) = (metric.metric, metric.moved) {
                all.push(((step.name.clone(), counter), moved.moved));
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use testing::compared::{EQUAL, record};

    #[test]
    fn relabelling_exchanges_whole_launches_and_loses_nothing() {
        let record = record(&EQUAL);
        let other = relabelled(&record, 7);
        assert_eq!(record.blocks.len(), other.blocks.len());
        let exchanged: Vec<u32> = record
            .blocks
            .iter()
            .zip(&other.blocks)
            .filter(|(one, other)| one.trial.side != other.trial.side)
            .map(|(one, _)| one.trial.launch)
            .collect();
        let is_whole = |launch: u32| {
            let of = |launches: &mut dyn Iterator<Item = u32>| launches.filter(|one| *one == launch).count();
            let all = of(&mut record.blocks.iter().map(|block| block.trial.launch));
            let some = of(&mut exchanged.iter().copied());
            some == 0 || some == all
        };
        assert!(!exchanged.is_empty() && exchanged.len() < record.blocks.len());
        assert!(record.launches.iter().all(|launch| is_whole(launch.launch)));
    }
}
