//! What people ask of the store of a lab: pages of `dbdyno serve`, and commands. How long each takes, the first time and when it is asked for
//! again.

use super::made::{self, Kind, LabRun};
use crate::bench::ratios::rank;
use crate::bench::serve::made::step_name;
use crate::e2e::processes::peak_resident_bytes;
use crate::http;
use crate::served::Serving;
use anyhow::{Context, ensure};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Addresses of one kind of page.
const MOST_ADDRESSES: usize = 10;

/// What is in the store.
pub struct Lab {
    pub hosts: u32,
    pub nights: u32,
    /// Hosts with a run of all releases.
    pub ladders: u32,
}

/// A kind of page.
pub struct Asked {
    name: &'static str,
    /// Seconds of the first request of each address.
    first_s: Vec<f64>,
    /// And of those that followed.
    again_s: Vec<f64>,
    /// Of the largest answer.
    bytes: usize,
}

impl Asked {
    pub const HEADER: &'static str =
        "page                        addresses  first p50 ms  first max ms   p50 ms   p95 ms      bytes";

    /// Seconds at the 95th percentile, first requests apart.
    pub fn p95_s(&self) -> f64 {
        rank(&self.again_s, 95)
    }

    pub fn print(&self, goal_s: f64) {
        let missed = if self.p95_s() > goal_s { "  MISSED" } else { "" };
        println!(
            "{:<28} {:>8}  {:>12.1}  {:>12.1}  {:>7.1}  {:>7.1}  {:>9}{missed}",
            self.name,
            self.first_s.len(),
            1e3 * rank(&self.first_s, 50),
            1e3 * rank(&self.first_s, 100),
            1e3 * rank(&self.again_s, 50),
            1e3 * self.p95_s(),
            self.bytes,
        );
    }
}

/// Pages of `dbdyno serve`, and the most memory that it took.
pub fn pages(program: &Path, store: &Path, lab: &Lab, requests: u32) -> anyhow::Result<(Vec<Asked>, u64)> {
    let server = Serving::start(program, store, &[])?;
    let kinds = addresses(lab).into_iter().filter(|(_, targets)| !targets.is_empty());
    let asked = kinds.map(|(name, targets)| page(name, &targets, server.address, requests));
    let asked = asked.collect::<anyhow::Result<_>>()?;
    Ok((asked, peak_resident_bytes(server.child.id())?))
}

fn addresses(lab: &Lab) -> Vec<(&'static str, Vec<String>)> {
    let last_night = lab.nights - 1;
    let run = |host, night| LabRun { host, kind: Kind::Night(night) }.id();
    let ladder = |host| LabRun { host, kind: Kind::Ladder };
    let some_hosts = || (0..lab.hosts).take(MOST_ADDRESSES);
    let text = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<String>>();
    let mut campaigns: Vec<String> =
        (0..lab.nights).rev().take(MOST_ADDRESSES).map(made::campaign_of_night).collect();
    if lab.ladders > 0 {
        campaigns.push(ladder(0).campaign());
    }
    let history = |step| format!("/history?workload={}&step={}", made::WORKLOAD, step_name(step));
    vec![
        ("list", text(&["/", "/?page=2"])),
        ("list, search", text(&["/?q=lab-007", "/?host=lab-007", "/?workload=lab.42", "/?q=nowhere"])),
        ("hosts", text(&["/hosts"])),
        ("host", some_hosts().map(|host| format!("/hosts/{}", made::host_name(host))).collect()),
        ("campaign of all hosts", campaigns.iter().map(|id| format!("/campaigns/{id}")).collect()),
        ("report of a night", some_hosts().map(|host| format!("/runs/{}", run(host, last_night))).collect()),
        (
            "report of all releases",
            (0..lab.ladders).map(|host| format!("/runs/{}", ladder(host).id())).collect(),
        ),
        ("history of a step", (0..5).map(|step| history(step * 8)).collect()),
        (
            "two nights side by side",
            some_hosts()
                .map(|host| format!("/compare?a={}&b={}", run(host, last_night - 1), run(host, last_night)))
                .collect(),
        ),
    ]
}

/// Every address once, then all of them as often as it is asked for.
fn page(name: &'static str, targets: &[String], server: SocketAddr, requests: u32) -> anyhow::Result<Asked> {
    let mut bytes = 0;
    let mut ask = |target: &String| -> anyhow::Result<f64> {
        let began = Instant::now();
        let reply = http::get(server, target)?;
        let seconds = began.elapsed().as_secs_f64();
        ensure!(reply.status == 200, "{target} is answered with {}: {:.300}", reply.status, reply.body);
        bytes = bytes.max(reply.body.len());
        Ok(seconds)
    };
    let first_s = targets.iter().map(&mut ask).collect::<anyhow::Result<Vec<f64>>>()?;
    let mut again_s = Vec::new();
    for _ in 0..requests {
        for target in targets {
            again_s.push(ask(target)?);
        }
    }
    Ok(Asked { name, first_s, again_s, bytes })
}

/// A command on the store, and how long it took.
pub struct Ran {
    pub command: String,
    pub seconds: f64,
    /// Of what it wrote, to standard output or to its file.
    pub bytes: u64,
}

/// Reports, exports and a backup, as they are called.
pub fn commands(program: &Path, store: &Path, lab: &Lab, directory: &Path) -> anyhow::Result<Vec<Ran>> {
    let last_night = lab.nights - 1;
    let campaign = made::campaign_of_night(last_night);
    let night = LabRun { host: 0, kind: Kind::Night(last_night) }.id();
    let ladder = LabRun { host: 0, kind: Kind::Ladder }.id();
    let page = directory.join("campaign.html");
    let values = directory.join("values.csv");
    let backup = directory.join("backup.sqlite");
    let mut all = vec![
        ran(program, store, &["report", &campaign], None)?,
        ran(program, store, &["report", &campaign, "--format", "tsv"], None)?,
        ran(program, store, &["report", &campaign, "--format", "html"], Some(&page))?,
        ran(program, store, &["export", &night], Some(&values))?,
    ];
    if lab.ladders > 0 {
        all.push(ran(program, store, &["history", &ladder], None)?);
        all.push(ran(program, store, &["export", &ladder], Some(&values))?);
    }
    let to = backup.to_str().context("the scratch directory is no UTF-8")?;
    let backed_up = ran(program, store, &["store", "backup", to], None)?;
    all.push(Ran { command: "store backup".to_owned(), bytes: bytes_of(&backup)?, ..backed_up });
    Ok(all)
}

fn ran(program: &Path, store: &Path, words: &[&str], into: Option<&Path>) -> anyhow::Result<Ran> {
    let began = Instant::now();
    let mut command = Command::new(program);
    command.args(words).arg("--store").arg(store).stdin(Stdio::null());
    if let Some(file) = into {
        command.arg("-o").arg(file);
    }
    let output = command.output().with_context(|| format!("failed to start {words:?}"))?;
    let seconds = began.elapsed().as_secs_f64();
    ensure!(output.status.success(), "{words:?} failed: {}", String::from_utf8_lossy(&output.stderr));
    let bytes = match into {
        Some(file) => bytes_of(file)?,
        None => output.stdout.len() as u64,
    };
    Ok(Ran { command: words.join(" "), seconds, bytes })
}

pub fn bytes_of(file: &Path) -> anyhow::Result<u64> {
    Ok(std::fs::metadata(file).with_context(|| format!("failed to look at `{}`", file.display()))?.len())
}
