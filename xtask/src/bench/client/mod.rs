//! `cargo xtask bench client`: CPU per operation of the worker against db_bench, on the same library with the
//! same options, data and kind of operations, and against an engine that does nothing.
//!
//! CPU per operation is (CPU of a long run - CPU of a short one) / (operations of the long one - of the short
//! one), of the whole process: what opening, warming up and closing cost falls out. See docs/performance.md.

pub mod cases;
pub mod same_options;
pub mod sides;

use super::race::{self, Used};
use super::ratios::{GOAL_HIGH, GOAL_MEDIAN, Ratios, median};
use super::scratch::Scratch;
use super::{Ending, Here, chosen, difference_ns, on_search_path, scrambled};
use anyhow::{Context, ensure};
use cases::{CASES, Case, PERF_LEVEL};
use load::cpus;
use serde_json::json;
use sides::{Programs, Run, check_db_bench, check_worker, operations_of_worker};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The client alone costs some tens of nanoseconds; this many operations take a second or so.
const ALONE_SHORT: u64 = 1_000_000;
const ALONE_LONG: u64 = 11_000_000;
/// Odd, so that the median is one of them.
const ALONE_REPEATS: u32 = 3;

#[derive(clap::Args)]
pub struct Arguments {
    /// One JSON object instead of a table
    #[arg(long)]
    json: bool,
    /// Pairs of each case; fewer than 8 bound nothing
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pairs: u32,
    #[command(flatten)]
    here: Here,
    /// Level at which db_bench's threads count; the worker's do at 2, as those of any application, db_bench's
    /// own default is 1
    #[arg(long, default_value_t = PERF_LEVEL, value_parser = clap::value_parser!(u8).range(1..=5))]
    db_bench_perf_level: u8,
    /// Only these cases: readrandom-1, overwrite-2, ..
    cases: Vec<String>,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let chosen = chosen(&CASES, Case::name, &arguments.cases)?;
    let Some(db_bench) = on_search_path("db_bench") else {
        return Ok(Ending::NotInstalled(
            "db_bench is not on the search path; apt-get install rocksdb-tools librocksdb7.8".to_owned(),
        ));
    };
    let library = library_of(&db_bench)?;
    let dbdyno = arguments.here.dbdyno.path()?;
    let bench = Bench {
        programs: Programs { db_bench, library, dbdyno, db_bench_perf_level: arguments.db_bench_perf_level },
        scratch: arguments.here.scratch()?,
        seed: arguments.here.seed,
    };
    let results = bench.measure(&chosen, arguments.pairs)?;
    if arguments.json {
        println!("{}", as_json(&results, arguments));
    } else {
        print_table(&results);
    }
    Ok(Ending::of(results.iter().all(|result| result.ratios.meet_goals())))
}

/// The RocksDB that db_bench is linked with, by a line of `ldd` (glibc 2.36):
///
/// ```text
///     librocksdb.so.7.8 => /lib/x86_64-linux-gnu/librocksdb.so.7.8 (0x00007fb683800000)
/// ```
pub fn library_of(db_bench: &Path) -> anyhow::Result<PathBuf> {
    let output = Command::new("ldd").arg(db_bench).output().context("failed to start ldd")?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines()
        .filter(|line| line.trim_start().starts_with("librocksdb.so"))
        .find_map(|line| line.split_whitespace().nth(2).map(PathBuf::from))
        .with_context(|| {
            format!(
                "`{}` is not linked with a librocksdb.so; a static one cannot be compared",
                db_bench.display()
            )
        })
}

struct Bench {
    programs: Programs,
    scratch: Scratch,
    seed: u64,
}

/// What one pair used per operation.
#[derive(Debug, Clone, Copy)]
struct Pair {
    db_bench: PerOperation,
    worker: PerOperation,
}

#[derive(Debug, Clone, Copy)]
struct PerOperation {
    cpu_ns: f64,
    switches: f64,
}

/// What is known of a case.
struct CaseResult {
    case: Case,
    ratios: Ratios,
    db_bench: PerOperation,
    worker: PerOperation,
    client_only_ns: f64,
}

impl Bench {
    /// The cases take turns too, so that a busy minute of the machine does not fall on one of them.
    fn measure(&self, cases: &[Case], pairs: u32) -> anyhow::Result<Vec<CaseResult>> {
        let template = self.scratch.path("template");
        self.make(&template).context("failed to make the database")?;
        let mut measured: Vec<Vec<Pair>> = vec![Vec::new(); cases.len()];
        for pair in 0..pairs {
            for (case, measured) in cases.iter().zip(&mut measured) {
                let seed = scrambled(self.seed, u64::from(pair));
                let found = self.pair(case, seed, &template).with_context(|| case.name())?;
                eprintln!(
                    "pair {} of {pairs}, {}: db_bench {:.0} ns, worker {:.0} ns, ratio {:.3}; they slept {:.4} and \
                     {:.4} times",
                    pair + 1,
                    case.name(),
                    found.db_bench.cpu_ns,
                    found.worker.cpu_ns,
                    found.ratio(),
                    found.db_bench.switches,
                    found.worker.switches
                );
                measured.push(found);
            }
        }
        cases.iter().zip(measured).map(|(case, pairs)| self.result(case, &pairs)).collect()
    }

    fn make(&self, template: &Path) -> anyhow::Result<()> {
        let files = self.scratch.empty_directory("files")?;
        race::run_alone(self.programs.template(template, &files)?)?;
        operations_of_worker(template)?;
        Ok(())
    }

    fn pair(&self, case: &Case, seed: u64, template: &Path) -> anyhow::Result<Pair> {
        let long_first = scrambled(seed, 1) & 1 == 0;
        let mut by_long = [Used::default(); 2];
        let mut by_short = [Used::default(); 2];
        for long in [long_first, !long_first] {
            let worker_first = scrambled(seed, 2 + u64::from(long)) & 1 == 0;
            let operations = if long { case.long } else { case.short };
            let used = self.race(case, operations, seed, worker_first, template)?;
            *(if long { &mut by_long } else { &mut by_short }) = used;
        }
        let per_operation = |side: usize| {
            let (long, short) = (by_long[side], by_short[side]);
            PerOperation {
                cpu_ns: difference_ns(long.cpu, short.cpu) / case.difference() as f64,
                switches: (long.switches as f64 - short.switches as f64) / case.difference() as f64,
            }
        };
        let pair = Pair { db_bench: per_operation(0), worker: per_operation(1) };
        ensure!(
            pair.db_bench.cpu_ns > 0.0 && pair.worker.cpu_ns > 0.0,
            "a long run took less CPU than a short one: {pair:?}"
        );
        Ok(pair)
    }

    /// What db_bench and the worker used.
    fn race(
        &self,
        case: &Case,
        operations: u64,
        seed: u64,
        worker_first: bool,
        template: &Path,
    ) -> anyhow::Result<[Used; 2]> {
        let template = (!case.fills()).then_some(template);
        let directories =
            [self.scratch.database("db_bench", template)?, self.scratch.database("worker", template)?];
        let seed = seed % (1 << 31); // db_bench keeps it in fewer bits than we do
        let [reference, ours] =
            [&directories[0], &directories[1]].map(|directory| Run { case, operations, seed, directory });
        let mut commands = [self.programs.db_bench(&reference)?, self.programs.worker(&ours)?];
        // On the same CPU as the other, as the sides of a comparison are.
        if let Some(cpu) = cpus::for_step(case.threads, seed, &cpus::allowed()) {
            commands.iter_mut().for_each(|command| race::keep_on(command, cpu));
        }
        let [db_bench, worker] = commands;
        let used = race::against(db_bench, worker, worker_first)?;
        check_db_bench(&reference)?;
        check_worker(&ours)?;
        same_options::check(reference.directory, ours.directory)?;
        Ok(used)
    }

    fn result(&self, case: &Case, pairs: &[Pair]) -> anyhow::Result<CaseResult> {
        Ok(CaseResult {
            case: case.clone(),
            ratios: Ratios::over(pairs, Pair::ratio)?,
            db_bench: medians(pairs.iter().map(|pair| pair.db_bench))?,
            worker: medians(pairs.iter().map(|pair| pair.worker))?,
            client_only_ns: self.client_only_ns(case)?,
        })
    }

    /// CPU per operation of the worker against the engine that does nothing.
    fn client_only_ns(&self, case: &Case) -> anyhow::Result<f64> {
        let directory = self.scratch.path("nothing");
        let cpu = |operations: u64| -> anyhow::Result<Duration> {
            let run = Run { case, operations, seed: self.seed, directory: &directory };
            let used = race::run_alone(self.programs.client_alone(&run)?)?;
            check_worker(&run)?;
            Ok(used.cpu)
        };
        let repeats: Vec<f64> = (0..ALONE_REPEATS)
            .map(|_| Ok(difference_ns(cpu(ALONE_LONG)?, cpu(ALONE_SHORT)?)))
            .collect::<anyhow::Result<_>>()?;
        Ok(median(repeats).context("there is no repeat")? / (ALONE_LONG - ALONE_SHORT) as f64)
    }
}

impl Pair {
    fn ratio(&self) -> f64 {
        self.worker.cpu_ns / self.db_bench.cpu_ns
    }
}

fn medians(values: impl Iterator<Item = PerOperation> + Clone) -> anyhow::Result<PerOperation> {
    let of = |number: fn(PerOperation) -> f64| median(values.clone().map(number)).context("there is no pair");
    Ok(PerOperation { cpu_ns: of(|value| value.cpu_ns)?, switches: of(|value| value.switches)? })
}

fn print_table(results: &[CaseResult]) {
    println!(
        "{:<14} {:>5}  {:>6} {:>16}  {:>6} {:>6}  {:>12} {:>12} {:>12}",
        "case", "pairs", "median", "(99 % interval)", "min", "max", "db_bench/ns", "worker/ns", "client/ns"
    );
    for result in results {
        let ratios = &result.ratios;
        let bound = |value: Option<f64>| value.map_or("?".to_owned(), |value| format!("{value:.3}"));
        println!(
            "{:<14} {:>5}  {:>6.3} {:>16}  {:>6.3} {:>6.3}  {:>12.0} {:>12.0} {:>12.1}{}",
            result.case.name(),
            ratios.pairs,
            ratios.median,
            format!("({}..{})", bound(ratios.low), bound(ratios.high)),
            ratios.min,
            ratios.max,
            result.db_bench.cpu_ns,
            result.worker.cpu_ns,
            result.client_only_ns,
            if ratios.meet_goals() { "" } else { "  MISSED" },
        );
    }
    println!("goals: every median at most {GOAL_MEDIAN:.2}, every upper bound at most {GOAL_HIGH:.2}");
}

fn as_json(results: &[CaseResult], arguments: &Arguments) -> serde_json::Value {
    let ratios: Vec<serde_json::Value> = results
        .iter()
        .map(|result| {
            let ratios = &result.ratios;
            let mut more = json!({
                "goal_high": GOAL_HIGH,
                "meets_goals": ratios.meet_goals(),
                "db_bench_ns": result.db_bench.cpu_ns,
                "worker_ns": result.worker.cpu_ns,
                "db_bench_switches": result.db_bench.switches,
                "worker_switches": result.worker.switches,
                "client_only_ns": result.client_only_ns,
            });
            // A bound that is not known is absent.
            for (name, bound) in [("low", ratios.low), ("high", ratios.high)] {
                if let Some(bound) = bound {
                    more[name] = json!(bound);
                }
            }
            ratios.row(&result.case.name(), GOAL_MEDIAN, more)
        })
        .collect();
    json!({
        "bench": "client",
        "seed": arguments.here.seed,
        "db_bench_perf_level": arguments.db_bench_perf_level,
        "ratios": ratios,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_case_offers_the_nearest() {
        let message = format!("{:#}", chosen(&CASES, Case::name, &["filseq-1".to_owned()]).err().unwrap());
        assert!(message.contains("did you mean `fillseq-1`?"), "{message}");
        assert_eq!(chosen(&CASES, Case::name, &[]).unwrap().len(), CASES.len());
        assert_eq!(chosen(&CASES, Case::name, &["fillseq-1".to_owned()]).unwrap()[0].test, "fillseq");
    }

    #[test]
    fn numbers_of_one_seed_differ_and_stay() {
        assert_ne!(scrambled(1, 0), scrambled(1, 1));
        assert_eq!(scrambled(0, 0), 0xE220_A839_7B1D_CDAF); // the first output of SplitMix64 with seed 0
    }
}
