//! `cargo xtask bench sql`: the worker against Debian's sysbench on the same server, with the same statements on the
//! same table: client CPU per query, and queries per second.
//!
//! CPU per query is (CPU of a long run - CPU of a short one) / (queries of the long one - of the short one), of the
//! whole process, both taking turns of 5 ms: what connecting and preparing cost falls out, and what the machine does
//! meanwhile meets both alike. Queries per second are of runs alone, one after the other in random order, because a
//! server answers another one at once where both clients keep it busy. How late operations of an open loop begin is taken once in
//! each pair, for the same reason that there are several: what a machine's timers do changes from minute to minute.

mod cases;
mod sides;
pub mod table;

use super::own_server::{BUILDS, OwnServer};
use super::race::{self, Used};
use super::ratios::Ratios;
use super::{Ending, Here, chosen, difference_ns, on_search_path, scrambled};
use anyhow::{Context, ensure};
use cases::{CASES, Case};
use model::address::ServerAddress;
use model::wire::Lag;
use model::workload::sql::Dialect;
use serde_json::json;
pub use sides::sysbench_connection;
use sides::{Amount, OpenLoop, Sides};
use std::path::Path;

/// No median of CPU per query may be above: for point queries on Postgres, and for all else.
const GOAL_CPU_POINT: f64 = 0.87;
const GOAL_CPU: f64 = 1.0;
/// No median of queries per second may be below.
const GOAL_QUERIES: f64 = 0.95;
/// In this open loop the median of what operations begin after they are due may not be above.
const GOAL_LAG_US: f64 = 50.0;
const OPEN_LOOP: OpenLoop = OpenLoop { rate: 2000.0, connections: 8, seconds: 5 };

#[derive(clap::Args)]
pub struct Arguments {
    /// One JSON object instead of a table
    #[arg(long)]
    json: bool,
    /// A server that runs, as the JSON that `dbdyno engine start --json` prints; once for each. Its database must have
    /// no table sbtest1, which is made and dropped [default: a Postgres and a MariaDB that are fetched and started]
    #[arg(long)]
    server: Vec<String>,
    /// Pairs of each case
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pairs: u32,
    /// Seconds of each run of which queries per second are counted
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=600))]
    seconds: u32,
    #[command(flatten)]
    here: Here,
    /// Only these cases: point-query-1, update-index-8, ..
    cases: Vec<String>,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let chosen = chosen(&CASES, Case::name, &arguments.cases)?;
    let Some(sysbench) = on_search_path("sysbench") else {
        let message = "sysbench is not on the search path; apt-get install sysbench";
        return Ok(Ending::NotInstalled(message.to_owned()));
    };
    let dbdyno = arguments.here.dbdyno.path()?;
    let scratch = arguments.here.scratch()?;
    let own = if arguments.server.is_empty() { own_servers(&dbdyno)? } else { Vec::new() };
    let mut addresses: Vec<ServerAddress> = own.iter().map(|server| server.address.clone()).collect();
    for server in &arguments.server {
        let address = serde_json::from_str(server);
        addresses.push(address.with_context(|| format!("`{server}` is no address of a server"))?);
    }
    let mut results = Vec::new();
    let mut lags = Vec::new();
    for (address, number) in addresses.into_iter().zip(0..) {
        let sides = Sides {
            sysbench: sysbench.clone(),
            dbdyno: dbdyno.clone(),
            address,
            directory: scratch.empty_directory(&format!("server-{number}"))?,
        };
        race::run_alone(sides.load()?)?;
        sides.worker_queries_per_s().context("failed to load the table")?;
        let measured = measure(&sides, &chosen, arguments);
        // Also where measuring failed: the next run needs the name.
        race::run_alone(sides.unload()?)?;
        let (of_cases, lag) = measured?;
        results.extend(of_cases);
        lags.push(lag);
    }
    if arguments.json {
        println!("{}", as_json(&results, &lags, arguments));
    } else {
        print_table(&results);
        print_lags(&lags);
    }
    let met = results.iter().all(CaseResult::meets_goals) && lags.iter().all(LagResult::meets_goal);
    Ok(Ending::of(met))
}

/// One of each dialect.
fn own_servers(dbdyno: &Path) -> anyhow::Result<Vec<OwnServer>> {
    let start = |build: &&str| OwnServer::start(dbdyno, build).with_context(|| (*build).to_owned());
    BUILDS.iter().map(start).collect()
}

/// What one pair gave, the worker's over sysbench's.
#[derive(Debug, Clone, Copy)]
struct Pair {
    cpu: f64,
    queries: f64,
    sysbench_ns: f64,
    worker_ns: f64,
}

/// What is known of a case on a server.
struct CaseResult {
    case: Case,
    dialect: Dialect,
    cpu: Ratios,
    queries: Ratios,
    sysbench_ns: f64,
    worker_ns: f64,
}

impl CaseResult {
    fn goal_cpu(&self) -> f64 {
        match (self.dialect, self.case.test) {
            (Dialect::Postgres, "point-query") => GOAL_CPU_POINT,
            _ => GOAL_CPU,
        }
    }

    fn meets_goals(&self) -> bool {
        self.cpu.median <= self.goal_cpu() && self.queries.median >= GOAL_QUERIES
    }

    fn name(&self) -> String {
        format!("{}-{}", self.dialect.name(), self.case.name())
    }
}

/// How late operations of the open loop begin on a server, in microseconds; the medians of several runs.
struct LagResult {
    dialect: Dialect,
    p50_us: Ratios,
    p99_us: Ratios,
    largest_us: f64,
}

impl LagResult {
    fn of(dialect: Dialect, runs: &[Lag]) -> anyhow::Result<LagResult> {
        let over_runs = |of: fn(&Lag) -> f64| Ratios::over(runs, of);
        Ok(LagResult {
            dialect,
            p50_us: over_runs(|lag| lag.p50.as_micros_f64())?,
            p99_us: over_runs(|lag| lag.p99.as_micros_f64())?,
            largest_us: over_runs(|lag| lag.max.as_micros_f64())?.max,
        })
    }

    fn meets_goal(&self) -> bool {
        self.p50_us.median <= GOAL_LAG_US
    }
}

/// The cases take turns too, so that a busy minute of the machine does not fall on one of them.
fn measure(
    sides: &Sides,
    cases: &[Case],
    arguments: &Arguments,
) -> anyhow::Result<(Vec<CaseResult>, LagResult)> {
    let mut measured: Vec<Vec<Pair>> = vec![Vec::new(); cases.len()];
    let mut lags = Vec::new();
    for number in 0..arguments.pairs {
        for (case, measured) in cases.iter().zip(&mut measured) {
            let seed = scrambled(arguments.here.seed, u64::from(number));
            let found = pair(sides, case, seed, arguments.seconds).with_context(|| case.name())?;
            eprintln!(
                "pair {} of {}, {} {}: sysbench {:.0} ns, worker {:.0} ns, ratio {:.3}; queries {:.3}",
                number + 1,
                arguments.pairs,
                sides.address.dialect.name(),
                case.name(),
                found.sysbench_ns,
                found.worker_ns,
                found.cpu,
                found.queries
            );
            measured.push(found);
        }
        lags.push(lag(sides, scrambled(arguments.here.seed, u64::from(number)))?);
    }
    let of_cases: Vec<CaseResult> = cases
        .iter()
        .zip(measured)
        .map(|(case, pairs)| {
            let ratios = |of: fn(&Pair) -> f64| Ratios::over(&pairs, of);
            Ok(CaseResult {
                case: *case,
                dialect: sides.address.dialect,
                cpu: ratios(|pair| pair.cpu)?,
                queries: ratios(|pair| pair.queries)?,
                sysbench_ns: ratios(|pair| pair.sysbench_ns)?.median,
                worker_ns: ratios(|pair| pair.worker_ns)?.median,
            })
        })
        .collect::<anyhow::Result<_>>()?;
    Ok((of_cases, LagResult::of(sides.address.dialect, &lags)?))
}

fn pair(sides: &Sides, case: &Case, seed: u64, seconds: u32) -> anyhow::Result<Pair> {
    let worker_first = scrambled(seed, 1) & 1 == 0;
    let short = case.events / 10;
    let used_long = race_of(sides, case, case.events, seed, worker_first)?;
    let used_short = race_of(sides, case, short, seed, worker_first)?;
    let queries = ((case.events - short) * case.queries) as f64;
    let [sysbench_ns, worker_ns] =
        [0, 1].map(|side| difference_ns(used_long[side].cpu, used_short[side].cpu) / queries);
    ensure!(sysbench_ns > 0.0 && worker_ns > 0.0, "a long run took less CPU than a short one");
    let alone = Amount::Seconds(seconds);
    let worker = || {
        race::run_alone(sides.worker(case, alone, seed)?)?;
        sides.worker_queries_per_s()
    };
    let sysbench = || {
        race::run_alone(sides.sysbench(case, alone, seed)?)?;
        sides.sysbench_queries_per_s()
    };
    let (worker_per_s, sysbench_per_s) = if worker_first {
        let first = worker()?;
        (first, sysbench()?)
    } else {
        let first = sysbench()?;
        (worker()?, first)
    };
    Ok(Pair { cpu: worker_ns / sysbench_ns, queries: worker_per_s / sysbench_per_s, sysbench_ns, worker_ns })
}

/// What sysbench and the worker used.
fn race_of(
    sides: &Sides,
    case: &Case,
    events: u64,
    seed: u64,
    worker_first: bool,
) -> anyhow::Result<[Used; 2]> {
    let amount = Amount::Events(events);
    let (worker, sysbench) = (sides.worker(case, amount, seed)?, sides.sysbench(case, amount, seed)?);
    let used = race::against(sysbench, worker, worker_first)?;
    sides.worker_queries_per_s()?;
    sides.sysbench_queries_per_s()?;
    Ok(used)
}

/// By how much operations of an open loop begin late on this server.
fn lag(sides: &Sides, seed: u64) -> anyhow::Result<Lag> {
    let point = CASES.first().context("there is no case")?;
    race::run_alone(sides.open_loop(point, OPEN_LOOP, seed)?)?;
    sides.worker_block()?.lag.context("the worker told no lag of an open loop")
}

fn print_lags(lags: &[LagResult]) {
    let OpenLoop { rate, connections, seconds } = OPEN_LOOP;
    for lag in lags {
        println!(
            "{}: {rate} point queries a second over {connections} connections begin {:.1} us ({:.1}..{:.1}) after they \
             are due (median of {} runs of {seconds} s; p99 {:.0} us, largest {:.0} us; goal {GOAL_LAG_US} us){}",
            lag.dialect.name(),
            lag.p50_us.median,
            lag.p50_us.min,
            lag.p50_us.max,
            lag.p50_us.pairs,
            lag.p99_us.median,
            lag.largest_us,
            if lag.meets_goal() { "" } else { "  MISSED" },
        );
    }
}

fn print_table(results: &[CaseResult]) {
    println!(
        "{:<26} {:>5}  {:>8} {:>15}  {:>8} {:>15}  {:>11} {:>9}",
        "case", "pairs", "CPU", "(min..max)", "queries", "(min..max)", "sysbench/ns", "worker/ns"
    );
    for result in results {
        let range = |ratios: &Ratios| format!("({:.3}..{:.3})", ratios.min, ratios.max);
        println!(
            "{:<26} {:>5}  {:>8.3} {:>15}  {:>8.3} {:>15}  {:>11.0} {:>9.0}{}",
            result.name(),
            result.cpu.pairs,
            result.cpu.median,
            range(&result.cpu),
            result.queries.median,
            range(&result.queries),
            result.sysbench_ns,
            result.worker_ns,
            if result.meets_goals() { "" } else { "  MISSED" },
        );
    }
    println!(
        "goals: median of CPU per query at most {GOAL_CPU_POINT:.2} for point queries on Postgres and {GOAL_CPU:.2} \
         else, of queries per second at least {GOAL_QUERIES:.2}"
    );
}

fn as_json(results: &[CaseResult], lags: &[LagResult], arguments: &Arguments) -> serde_json::Value {
    let row = |result: &CaseResult, of: &str, ratios: &Ratios, goal: f64| {
        let more = json!({ "sysbench_ns": result.sysbench_ns, "worker_ns": result.worker_ns });
        ratios.row(&format!("{} {of}", result.name()), goal, more)
    };
    let ratios: Vec<serde_json::Value> = results
        .iter()
        .flat_map(|result| {
            let cpu = row(result, "cpu", &result.cpu, result.goal_cpu());
            [cpu, row(result, "queries", &result.queries, GOAL_QUERIES)]
        })
        .collect();
    let lags: Vec<serde_json::Value> = lags
        .iter()
        .map(|lag| {
            json!({ "case": lag.dialect.name(), "lag_us_p50": lag.p50_us.median, "lag_us_p50_min": lag.p50_us.min,
                    "lag_us_p50_max": lag.p50_us.max, "lag_us_p99": lag.p99_us.median, "runs": lag.p50_us.pairs,
                    "goal": GOAL_LAG_US })
        })
        .collect();
    json!({ "bench": "sql", "seed": arguments.here.seed, "ratios": ratios, "lags": lags })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_case_offers_the_nearest() {
        let message =
            format!("{:#}", chosen(&CASES, Case::name, &["point-qery-8".to_owned()]).err().unwrap());
        assert!(message.contains("did you mean `point-query-8`"), "{message}");
        assert_eq!(chosen(&CASES, Case::name, &[]).unwrap().len(), CASES.len());
    }
}
