//! `cargo xtask bench serve`: how long a page takes with a million measurements in the store.

pub(super) mod made;

use super::Ending;
use super::ratios::rank;
use crate::served::Serving;
use crate::{http, workspace};
use anyhow::{Context, ensure};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Instant;

#[derive(clap::Args)]
pub struct Arguments {
    /// Measurements in the store: numbers of trials
    #[arg(long, default_value_t = 1_000_000)]
    measurements: u64,
    /// Requests of each page
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..))]
    requests: u32,
    /// One JSON object instead of a table
    #[arg(long)]
    json: bool,
}

/// Seconds at the 95th percentile (issue 6).
const GOAL_S: f64 = 0.2;

/// A kind of page and the addresses of it that are asked for in turn.
struct Page {
    name: &'static str,
    targets: Vec<String>,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let program = workspace::release_build()?;
    let directory = workspace::target_directory()?.join("bench-serve");
    std::fs::create_dir_all(&directory)
        .with_context(|| format!("failed to make `{}`", directory.display()))?;
    let path = directory.join(format!("{}.sqlite", arguments.measurements));
    let made = made::store(&path, arguments.measurements)?;
    let pages = Pages::measured(&program, &path, &made, arguments.requests, GOAL_S)?;
    if arguments.json {
        println!("{}", json!({ "bench": "serve", "measurements": made.measurements, "ratios": pages.rows }));
    } else {
        println!("{} measurements, {} runs, {} bytes", made.measurements, made.runs, made.bytes);
        pages.print();
    }
    Ok(Ending::of(pages.met()))
}

/// How long each kind of page took.
pub(super) struct Pages {
    rows: Vec<Value>,
    goal_s: f64,
}

impl Pages {
    /// Of a store as it was made.
    pub(super) fn measured(
        program: &Path,
        store: &Path,
        made: &made::Made,
        requests: u32,
        goal_s: f64,
    ) -> anyhow::Result<Pages> {
        let server = Serving::start(program, store, &[])?;
        let of_each = pages(made).into_iter().map(|page| measured(&page, server.address, requests, goal_s));
        Ok(Pages { rows: of_each.collect::<anyhow::Result<_>>()?, goal_s })
    }

    /// Whether each reaches the goal at the 95th percentile.
    pub(super) fn met(&self) -> bool {
        self.rows.iter().all(|row| row["p95_s"].as_f64().is_some_and(|p95| p95 <= self.goal_s))
    }

    pub(super) fn print(&self) {
        println!("page                          p50 ms   p95 ms   max ms   first ms      bytes");
        for row in &self.rows {
            print_row(row, self.goal_s);
        }
    }
}

fn pages(made: &made::Made) -> Vec<Page> {
    let page = |name, targets: Vec<String>| Page { name, targets };
    let several = |prefix: &str, ids: &[String]| ids.iter().map(|id| format!("{prefix}{id}")).collect();
    let older: Vec<String> = (1..=made.runs / 50).map(|number| format!("/?page={number}")).collect();
    let pairs = made.comparisons.windows(2).map(|pair| format!("/compare?a={}&b={}", pair[1], pair[0]));
    vec![
        page("list", vec!["/".to_owned()]),
        page("list, older pages", older),
        page(
            "list, search",
            vec!["/?q=8.7.3".to_owned(), "/?q=nowhere".to_owned(), "/?engine=rocksdb&q=made".to_owned()],
        ),
        page("report of a comparison", several("/runs/", &made.comparisons)),
        page("report of a campaign", several("/runs/", &made.campaigns)),
        page("report of 42 steps x 10", several("/runs/", &made.largest)),
        page(
            "history of a step",
            made.steps
                .iter()
                .map(|(workload, step)| format!("/history?workload={workload}&step={step}"))
                .collect(),
        ),
        page("two runs side by side", pairs.take(20).collect()),
        page("run in progress", several("/live/", &made.unfinished)),
        page("run in progress, JSON", made.unfinished.iter().map(|id| format!("/live/{id}.json")).collect()),
        page("raw output, list", made.campaigns.iter().map(|id| format!("/runs/{id}/raw")).collect()),
    ]
}

/// Requests in turn over the addresses of a page, so that some find it kept and some do not, as people do.
fn measured(page: &Page, server: SocketAddr, requests: u32, goal_s: f64) -> anyhow::Result<Value> {
    ensure!(!page.targets.is_empty(), "{} has no address", page.name);
    let mut seconds = Vec::new();
    let mut bytes = 0;
    for target in page.targets.iter().cycle().take(requests as usize) {
        let began = Instant::now();
        let reply = http::get(server, target)?;
        seconds.push(began.elapsed().as_secs_f64());
        ensure!(reply.status == 200, "{target} is answered with {}: {:.300}", reply.status, reply.body);
        bytes = bytes.max(reply.body.len());
    }
    let rank = |hundredths| rank(&seconds, hundredths);
    Ok(json!({
        "case": page.name,
        "median": rank(50) / goal_s,
        "min": rank(0) / goal_s,
        "max": rank(100) / goal_s,
        "pairs": seconds.len(),
        "goal": 1.0,
        "p50_s": rank(50),
        "p95_s": rank(95),
        "max_s": rank(100),
        "first_s": seconds[0],
        "bytes": bytes,
    }))
}

fn print_row(row: &Value, goal_s: f64) {
    let millis = |name: &str| 1e3 * row[name].as_f64().unwrap_or(f64::NAN);
    let missed = if millis("p95_s") > 1e3 * goal_s { "  MISSED" } else { "" };
    println!(
        "{:<28} {:>7.1}  {:>7.1}  {:>7.1}    {:>7.1}  {:>9}{missed}",
        row["case"].as_str().unwrap_or(""),
        millis("p50_s"),
        millis("p95_s"),
        millis("max_s"),
        millis("first_s"),
        row["bytes"],
    );
}
