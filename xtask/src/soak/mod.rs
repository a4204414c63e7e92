//! `cargo xtask soak`: campaigns on the fake engine into which faults fall, one after another, for half an hour. After each of them all
//! that was stored is there and as it was, nothing of the run is left, and the store is sound; at the end of each campaign it has the
//! trials that it would have had; and over all of it the runs take no more memory, descriptors and threads than at the beginning.
//!
//! The kinds of faults and their details are drawn from a seed, a number of its own for each fault. When exactly one falls depends on the
//! host as well.

mod chain;
mod contents;
mod draws;
mod faults;
mod flat;
mod kinds;

use crate::e2e::scratch::{Scratch, Shared};
use crate::e2e::small_disk::SmallDisk;
use crate::workspace;
use anyhow::{Context, ensure};
use chain::Chain;
use draws::Draws;
use faults::{Became, Stage};
use kinds::{Kind, Missing, Needed};
use std::collections::BTreeMap;
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub struct Arguments {
    /// For how long faults are made
    #[arg(long, default_value_t = 30)]
    minutes: u64,
    /// Of what is drawn: the same kinds of faults come in the same order; by default another one each time
    #[arg(long)]
    seed: Option<u64>,
    /// End after this many faults
    #[arg(long)]
    faults: Option<u64>,
}

/// Two hundred in half an hour.
const LEAST_FAULTS_PER_MINUTE: u64 = 7;
/// Of workers; the fake engine takes more when it is ordered to.
const MEMORY_LIMIT: &str = "memory_limit = \"100 MB\"\n";
/// What a store and a work directory may take.
const DISK: &str = "64m";
/// The whole of the store is checked by dbdyno itself after so many faults; SQLite's own check is made each time.
const FAULTS_PER_CHECK: u64 = 10;
const MINUTE: Duration = Duration::from_secs(60);

pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let seed = arguments.seed.unwrap_or_else(drawn_seed);
    let shared = Shared::prepare(&workspace::release_build()?)?;
    let scratch = Scratch::new(&shared, "soak")?;
    println!("soak: {} minutes of faults of seed {seed}", arguments.minutes);
    let (stage, missing) = stage(&scratch)?;
    for kind in Kind::all() {
        if let Some(reason) = kind.needs().and_then(|needed| missing.get(&needed)) {
            println!("soak: not on this host: {}: {reason}", kind.name());
        }
    }
    let mut soak = Soak { stage, missing, seed, became: BTreeMap::new() };
    let limit = MINUTE * u32::try_from(arguments.minutes).context("--minutes is too large")?;
    let ended = soak.faults(limit, arguments.faults.unwrap_or(u64::MAX));
    println!("{}", soak.table());
    if ended.is_err() {
        soak.keep_the_store();
    }
    ended.with_context(|| format!("outputs are in `{}`", scratch.directory.display()))?;
    let made = soak.made();
    soak.end()?;
    let wanted = LEAST_FAULTS_PER_MINUTE * arguments.minutes;
    ensure!(
        arguments.faults.is_some() || made >= wanted,
        "only {made} faults in {} minutes, not {wanted}",
        arguments.minutes
    );
    scratch.remove()
}

/// Short, so that it is easily typed again.
fn drawn_seed() -> u64 {
    RandomState::new().build_hasher().finish() % 1_000_000
}

/// What faults are made with, and what this host lacks.
fn stage(scratch: &Scratch) -> anyhow::Result<(Stage<'_>, Missing)> {
    let mut missing = Missing::new();
    let store_disk = SmallDisk::mount(&scratch.data(), DISK)?;
    let work_disk = SmallDisk::mount(&scratch.path("cache"), DISK)?;
    if store_disk.is_none() || work_disk.is_none() {
        missing.insert(Needed::Disk, "no file system of its own can be mounted".to_owned());
    }
    let mut chain = Chain::new(scratch)?;
    if let Some(reason) = chain.use_if_possible(MEMORY_LIMIT)? {
        missing.insert(Needed::MemoryGroup, reason);
    }
    match faults::device(&chain)? {
        Ok(device) => device.taken_apart()?,
        Err(reason) => {
            missing.insert(Needed::SlowDevice, reason);
        }
    }
    let library = fs::read(scratch.path("librocksdb.so")).context("failed to read the fake engine")?;
    Ok((Stage { chain, store_disk, work_disk, library }, missing))
}

struct Soak<'a> {
    stage: Stage<'a>,
    missing: Missing,
    seed: u64,
    /// How many faults of a kind became what.
    became: BTreeMap<(Kind, Became), u64>,
}

impl Soak<'_> {
    /// Makes faults until the time is up or there were so many, and brings the last campaign to its end.
    fn faults(&mut self, limit: Duration, most: u64) -> anyhow::Result<()> {
        let began = Instant::now();
        let mut said = 0;
        for number in 1..=most {
            let minute = began.elapsed().as_secs() / MINUTE.as_secs();
            if minute > said {
                said = minute;
                let chain = &self.stage.chain;
                println!(
                    "soak: minute {minute}: {} faults, {} campaigns with {} trials done",
                    self.made(),
                    chain.campaigns,
                    chain.trials
                );
            }
            if began.elapsed() >= limit {
                break;
            }
            let mut draws = Draws::of(self.seed, number);
            let kind = Kind::drawn(&mut draws, &self.missing);
            self.fault(kind, &mut draws, number).with_context(|| {
                let seed = self.seed;
                let name = kind.name();
                format!("fault {number}, {name}; again: cargo xtask soak --seed {seed} --faults {number}")
            })?;
        }
        self.stage.chain.finish()?;
        self.stage.chain.nothing_is_lost()?;
        self.stage.chain.nothing_is_left()
    }

    fn fault(&mut self, kind: Kind, draws: &mut Draws, number: u64) -> anyhow::Result<()> {
        self.stage.chain.nothing_is_lost()?;
        let became = faults::make(kind, &mut self.stage, draws)?;
        *self.became.entry((kind, became)).or_default() += 1;
        let chain = &mut self.stage.chain;
        chain.nothing_is_lost()?;
        if !chain.is_running()? {
            chain.nothing_is_left()?;
        }
        if number.is_multiple_of(FAULTS_PER_CHECK) { chain.store_check() } else { Ok(()) }
    }

    /// The faults that happened.
    fn made(&self) -> u64 {
        let happened = self.became.iter().filter(|((_, became), _)| *became != Became::Missed);
        happened.map(|(_, count)| count).sum()
    }

    /// How many faults of each kind became what.
    fn table(&self) -> String {
        let columns = [
            (Became::WentOn, "went on"),
            (Became::Ended, "ended"),
            (Became::Killed, "killed"),
            (Became::Refused, "refused"),
            (Became::Missed, "missed"),
        ];
        let row = |name: &str, cells: [String; 5]| {
            let cells: String = cells.iter().map(|cell| format!("{cell:>9}")).collect();
            format!("{name:<38}{cells}\n")
        };
        let mut table = row("fault", columns.map(|(_, name)| name.to_owned()));
        for kind in Kind::all() {
            let count = |became| {
                let count = self.became.get(&(kind, became));
                count.map_or_else(|| "-".to_owned(), u64::to_string)
            };
            table += &row(kind.name(), columns.map(|(became, _)| count(became)));
        }
        table
    }

    /// What a failure leaves of the store is on a disk that is about to go.
    fn keep_the_store(&self) {
        let fake = &self.stage.chain.fake;
        for ending in ["", "-wal"] {
            let name = format!("dbdyno.sqlite{ending}");
            // There may be none.
            let _ = fs::copy(fake.store().with_file_name(&name), fake.scratch.path(&name));
        }
    }

    fn end(self) -> anyhow::Result<()> {
        let made = self.made();
        let Stage { chain, store_disk, work_disk, .. } = self.stage;
        println!("soak: {made} faults, {} campaigns with {} trials done", chain.campaigns, chain.trials);
        println!("soak: {}", chain.watch.end()?);
        [store_disk, work_disk].into_iter().flatten().try_for_each(SmallDisk::unmount)
    }
}
