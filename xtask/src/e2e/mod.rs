//! `cargo xtask e2e`: tiny real campaigns on real engines with the real binary.
//!
//! Each case has its own results directory; builds are fetched once into a cache that all share. A case passes
//! only if, besides what it checks itself, no process and no database is left behind. Cases that judge what they
//! measure run alone; of the others two run at the same time (`lanes`).

mod awake;
mod bisect;
mod build_files;
mod builds;
mod campaigns;
mod compare;
mod doctor;
mod engines;
mod expect;
mod explain;
mod external_servers;
mod external_servers_tls;
pub mod fake_engine;
mod faults;
mod fio;
mod formats;
mod git_repository;
mod histories;
mod insert_benchmark;
mod interleaved;
mod io_bound;
mod lab;
pub mod lab_to_try;
mod lanes;
mod leftovers;
mod mongodb;
mod neighbour;
mod network;
mod network_cut;
mod pages;
mod places;
mod power_loss;
pub mod processes;
mod resumed_comparisons;
mod same_options;
mod same_settings;
pub mod scratch;
mod serve;
mod server_disks;
mod server_host;
mod servers;
mod signals;
pub mod slow_device;
mod slurm;
mod slurm_cluster;
pub mod small_disk;
pub mod soak;
mod store_file;
mod sudo;
pub mod tool;
mod usage;

use crate::workspace;
use anyhow::{bail, ensure};
use lanes::{Lanes, Record};
use scratch::{Scratch, Shared};
use serde_json::json;

#[derive(clap::Args, Default)]
pub struct Arguments {
    /// Only the cases whose names contain one of these
    cases: Vec<String>,
    /// Every release that is listed as tried, not only those of CI
    #[arg(long)]
    all_releases: bool,
    /// The cases that take longer than CI may, and only those
    #[arg(long)]
    nightly: bool,
    /// One JSON object instead of lines
    #[arg(long)]
    json: bool,
}

/// How a case that did not fail ended.
enum Ending {
    Passed,
    /// Something that can be installed is missing; in CI that is a failure.
    Skipped {
        reason: String,
    },
    /// This host cannot do it, whatever is installed: no root, no loop device. CI too goes on without.
    NotHere {
        reason: String,
    },
}

/// What a case does. An error is its failure.
type Body = Box<dyn Fn(&Scratch) -> anyhow::Result<Ending> + Send + Sync>;

/// When a case is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    /// On every change.
    Always,
    /// By `cargo xtask nightly`: it takes longer than CI may.
    Nightly,
}

/// One case.
struct Case {
    name: String,
    when: When,
    /// Whether another case may run at the same time.
    shares_host: bool,
    body: Body,
}

impl Case {
    /// A case that has the host for itself.
    fn new(
        name: impl Into<String>,
        body: impl Fn(&Scratch) -> anyhow::Result<Ending> + Send + Sync + 'static,
    ) -> Case {
        Case { name: name.into(), when: When::Always, shares_host: false, body: Box::new(body) }
    }

    fn nightly(self) -> Case {
        Case { when: When::Nightly, ..self }
    }

    /// It judges nothing that it measures, so that another case may run at the same time.
    fn shares_host(self) -> Case {
        Case { shares_host: true, ..self }
    }
}

fn cases(arguments: &Arguments, releases: &engines::Releases) -> Vec<Case> {
    let mut cases = Vec::new();
    let compared = if arguments.all_releases { &releases.tried } else { &releases.ci };
    cases.extend(compared.iter().map(|release| compare::of_release(release)));
    cases.extend(compare::cases());
    cases.extend(bisect::cases(releases));
    cases.extend(build_files::cases());
    cases.extend(builds::judging());
    cases.extend(doctor::cases());
    cases.extend(explain::cases());
    cases.extend(fio::cases());
    cases.extend(formats::cases());
    cases.extend(histories::cases());
    cases.extend(insert_benchmark::cases());
    cases.extend(mongodb::cases());
    cases.extend(interleaved::cases());
    cases.extend(io_bound::cases());
    cases.extend(resumed_comparisons::cases());
    cases.extend(servers::cases());
    cases.extend(server_disks::cases());
    cases.extend(server_host::cases());
    cases.extend(external_servers::cases());
    cases.extend(external_servers_tls::cases());
    cases.extend(network_cut::cases());
    cases.extend(pages::judging());
    cases.extend(slow_device::cases());
    cases.extend(soak::cases());
    // These judge nothing that they measure; of the others some cases say so themselves.
    let sharing = [
        engines::cases(releases),
        builds::cases(),
        campaigns::cases(),
        faults::cases(),
        lab::cases(),
        places::cases(),
        power_loss::cases(),
        same_options::cases(),
        same_settings::cases(),
        signals::cases(),
        slurm::cases(),
        serve::cases(),
        store_file::cases(),
        sudo::cases(),
        pages::cases(),
        usage::cases(),
    ];
    cases.extend(sharing.into_iter().flatten().map(Case::shares_host));
    let when = if arguments.nightly { When::Nightly } else { When::Always };
    cases.retain(|case| {
        let named = |wanted: &String| case.name.contains(wanted.as_str());
        case.when == when && (arguments.cases.is_empty() || arguments.cases.iter().any(named))
    });
    cases
}

pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let is_ci = std::env::var_os("CI").is_some_and(|value| value == "true");
    let releases = engines::Releases::read()?;
    let cases = cases(arguments, &releases);
    let which = if arguments.nightly { "nightly case" } else { "case (those of --nightly apart)" };
    ensure!(!cases.is_empty(), "no {which} has {} in its name", arguments.cases.join(" or "));
    let shared = Shared::prepare(&workspace::release_build()?)?;

    let tell = |record: &Record, again: &str| {
        if !arguments.json {
            let reason = record.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
            println!("e2e: {} {} in {:.1} s{again}{reason}", record.name, record.outcome, record.seconds);
        }
    };
    let lanes = Lanes { first: shared, is_ci, tell: &tell };
    let records = lanes.run(&cases)?;
    let again = records.iter().filter(|record| record.was_tried_twice).count();

    let count = |outcome: &str| records.iter().filter(|record| record.outcome == outcome).count();
    let (passed, failed, skipped) = (count("passed"), count("failed"), count("skipped"));
    if arguments.json {
        println!("{}", as_json(&records));
    } else {
        println!("e2e: {passed} passed, {failed} failed, {skipped} skipped; {again} were tried twice");
    }
    if failed > 0 {
        bail!("{failed} of {} end-to-end cases failed", records.len());
    }
    // A fault that shows now and then must not hide behind second tries.
    ensure!(
        again <= MOST_SECOND_TRIES,
        "{again} cases failed at the first try, more than {MOST_SECOND_TRIES}"
    );
    Ok(())
}

/// Of all cases of a run.
const MOST_SECOND_TRIES: usize = 5;

fn as_json(records: &[Record]) -> serde_json::Value {
    let cases: Vec<serde_json::Value> = records
        .iter()
        .map(|record| {
            json!({
                "case": record.name,
                "outcome": record.outcome,
                "seconds": record.seconds,
                "reason": record.reason,
            })
        })
        .collect();
    json!({ "e2e": cases })
}
