//! `cargo xtask bench lab`: the store of a lab whose hosts measure every night. Made runs lie in a store for each host, as its jobs would have
//! written them, and `dbdyno store merge` brings them together. How large they are, how long a night takes to come in, and how long pages and
//! commands take on what came of it.

mod asked;
mod made;

use super::merge::{GOAL_OF_A_PAGE_S, GOAL_S, merged};
use super::ratios::rank;
use super::{Ending, Here, by_release_build};
use anyhow::{Context, ensure};
use asked::{Asked, Lab, Ran, bytes_of};
use made::{Kind, LabRun, Making};
use model::job::{Job, JobState};
use std::path::Path;
use std::time::Instant;
use store::Writer;

#[derive(clap::Args)]
pub struct Arguments {
    /// Hosts of the lab
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(2..=1000))]
    hosts: u32,
    /// Nights in which each has measured
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(2..))]
    nights: u32,
    /// Hosts that have measured all releases as well
    #[arg(long, default_value_t = 3)]
    ladders: u32,
    /// Seconds between two samples of a host; dbdyno takes one each second
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=60))]
    sample_every: u32,
    /// Requests of each address after its first
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    requests: u32,
    #[command(flatten)]
    here: Here,
}

/// Hosts whose last night is merged by itself, into a store that has all else.
const TIMED_NIGHTS: u32 = 10;

pub fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    if cfg!(debug_assertions) {
        // What is made is millions of rows, and the library that writes them is not the program that is measured.
        return by_release_build();
    }
    let program = arguments.here.dbdyno.path()?;
    let scratch = arguments.here.scratch()?;
    let lab = Lab {
        hosts: arguments.hosts,
        nights: arguments.nights,
        ladders: arguments.ladders.min(arguments.hosts),
    };
    let making = Making {
        seed: arguments.here.seed,
        sample_every: arguments.sample_every,
        histogram: super::serve::made::histogram()?,
    };
    let store = scratch.path("lab.sqlite");
    let grown = brought_together(&program, &scratch.empty_directory("hosts")?, &store, &lab, &making)?;
    write_jobs(&store, &lab)?;
    let rows = rows_of(&store)?;
    println!(
        "{} hosts, {} nights, all releases on {}: {} runs, {rows} rows, {} bytes; made in {:.0} s",
        lab.hosts,
        lab.nights,
        lab.ladders,
        lab.hosts * lab.nights + lab.ladders,
        bytes_of(&store)?,
        grown.making_s
    );
    grown.print();
    let (pages, most_memory) = asked::pages(&program, &store, &lab, arguments.requests)?;
    println!("\n{}", Asked::HEADER);
    pages.iter().for_each(|page| page.print(GOAL_OF_A_PAGE_S));
    println!("dbdyno serve took at most {most_memory} bytes of memory");
    println!("\ncommand                                       seconds      bytes");
    let out = scratch.empty_directory("out")?;
    for Ran { command, seconds, bytes } in asked::commands(&program, &store, &lab, &out)? {
        println!("{command:<44} {seconds:>8.2}  {bytes:>9}");
    }
    print_year(&grown, &lab, arguments.sample_every);
    let met = pages.iter().all(|page| page.p95_s() <= GOAL_OF_A_PAGE_S);
    Ok(Ending::of(met && grown.slowest_merge_s() <= GOAL_S))
}

/// What a run adds to the store of its host.
#[derive(Clone, Copy)]
struct Size {
    bytes: u64,
    rows: u64,
}

/// How the store of the lab came to be.
#[derive(Default)]
struct Grown {
    night: Vec<Size>,
    ladder: Vec<Size>,
    /// Seconds until all that a host had was in the store.
    first_merges_s: Vec<f64>,
    /// Seconds until one more night of a host was in it, beside all others.
    night_merges_s: Vec<f64>,
    making_s: f64,
}

impl Grown {
    fn slowest_merge_s(&self) -> f64 {
        rank(&[self.first_merges_s.clone(), self.night_merges_s.clone()].concat(), 100)
    }

    fn print(&self) {
        let hours = |trials: usize| (trials as u64 * u64::from(made::TRIAL_S)) as f64 / 3600.0;
        let trials_of_a_night = made::NIGHTLY_SUBJECTS.len() * made::STEPS * made::NIGHTLY_ROUNDS as usize;
        let trials_of_a_ladder = made::RELEASES as usize * made::STEPS * made::LADDER_ROUNDS as usize;
        println!("\nrun of one host                          hours     trials       bytes       rows");
        for (name, sizes, trials) in
            [("a night", &self.night, trials_of_a_night), ("all releases", &self.ladder, trials_of_a_ladder)]
        {
            if let Some(Size { bytes, rows }) = mean(sizes) {
                println!("{name:<36} {:>9.1}  {trials:>9}  {bytes:>10}  {rows:>9}", hours(trials));
            }
        }
        println!("\nstore merge                            p50 s    p95 s    max s");
        for (name, seconds) in [
            ("all that a host has", &self.first_merges_s),
            ("one more night of a host", &self.night_merges_s),
        ] {
            println!(
                "{name:<36} {:>7.2}  {:>7.2}  {:>7.2}",
                rank(seconds, 50),
                rank(seconds, 95),
                rank(seconds, 100)
            );
        }
    }
}

fn mean(sizes: &[Size]) -> Option<Size> {
    let number = u64::try_from(sizes.len()).ok().filter(|number| *number > 0)?;
    let of = |part: fn(&Size) -> u64| sizes.iter().map(part).sum::<u64>() / number;
    Some(Size { bytes: of(|size| size.bytes), rows: of(|size| size.rows) })
}

/// Makes the store of each host and merges it; of some of them the last night by itself, when all else is there.
fn brought_together(
    program: &Path,
    directory: &Path,
    lab_store: &Path,
    lab: &Lab,
    making: &Making,
) -> anyhow::Result<Grown> {
    let mut grown = Grown::default();
    let mut late = Vec::new();
    for host in 0..lab.hosts {
        let store = directory.join(format!("{}.sqlite", made::host_name(host)));
        let is_late = host < TIMED_NIGHTS;
        let began = Instant::now();
        if host < lab.ladders {
            grown.ladder.push(written(&store, &LabRun { host, kind: Kind::Ladder }, making)?);
        }
        for night in 0..lab.nights - u32::from(is_late) {
            let size = written(&store, &LabRun { host, kind: Kind::Night(night) }, making)?;
            // The first run brings the schema with it, and what all share.
            if night > 0 {
                grown.night.push(size);
            }
        }
        grown.making_s += began.elapsed().as_secs_f64();
        grown.first_merges_s.push(merge_s(program, &store, lab_store)?);
        match is_late {
            true => late.push((host, store)),
            false => remove(&store)?,
        }
    }
    for (host, store) in late {
        let began = Instant::now();
        let run = LabRun { host, kind: Kind::Night(lab.nights - 1) };
        grown.night.push(written(&store, &run, making)?);
        grown.making_s += began.elapsed().as_secs_f64();
        grown.night_merges_s.push(merge_s(program, &store, lab_store)?);
        remove(&store)?;
    }
    Ok(grown)
}

/// Writes a run; what it added to the store.
fn written(store: &Path, run: &LabRun, making: &Making) -> anyhow::Result<Size> {
    let before = size_of(store)?;
    let mut writer = Writer::open(store)?;
    made::write(&mut writer, run, making)?;
    writer.flush()?;
    drop(writer);
    let after = size_of(store)?;
    Ok(Size { bytes: after.bytes.saturating_sub(before.bytes), rows: after.rows - before.rows })
}

/// Of a store that nobody has open: its log is in the file.
fn size_of(store: &Path) -> anyhow::Result<Size> {
    match store.exists() {
        true => Ok(Size { bytes: bytes_of(store)?, rows: rows_of(store)? }),
        false => Ok(Size { bytes: 0, rows: 0 }),
    }
}

/// Of all tables.
fn rows_of(store: &Path) -> anyhow::Result<u64> {
    let opened = rusqlite::Connection::open_with_flags(store, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY);
    let connection = opened.with_context(|| format!("failed to open `{}`", store.display()))?;
    let mut tables = connection
        .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB 'sqlite_*'")?;
    let tables =
        tables.query_map([], |row| row.get::<_, String>(0))?.collect::<rusqlite::Result<Vec<_>>>()?;
    let mut rows = 0;
    for table in tables {
        let sql = format!("SELECT count(*) FROM {table}");
        rows += connection.query_row(&sql, [], |row| row.get::<_, i64>(0))?.unsigned_abs();
    }
    Ok(rows)
}

/// Seconds until something of a store was in another one.
fn merge_s(program: &Path, from: &Path, into: &Path) -> anyhow::Result<f64> {
    let (seconds, said) = merged(program, from, into)?;
    ensure!(!said.contains(": 0 runs added"), "nothing of `{}` was added: {said}", from.display());
    Ok(seconds)
}

fn remove(store: &Path) -> anyhow::Result<()> {
    std::fs::remove_file(store).with_context(|| format!("failed to remove `{}`", store.display()))
}

/// As `dbdyno run --hosts` leaves them. Those of the last night are not all done.
fn write_jobs(store: &Path, lab: &Lab) -> anyhow::Result<()> {
    let mut jobs = Vec::new();
    for night in 0..lab.nights {
        for host in 0..lab.hosts {
            let is_cut_off = night + 1 == lab.nights && host + 1 == lab.hosts;
            jobs.push(Job {
                campaign: made::campaign_of_night(night),
                number: host + 1,
                host: made::host_name(host),
                state: if is_cut_off { JobState::Unreachable } else { JobState::Done },
                message: is_cut_off.then(|| "the connection was lost".to_owned()),
                seed: u64::from(host),
                plan: "name = \"lab-night\"\n".to_owned(),
                changed_at_us: i64::from(night),
                slurm: None,
            });
        }
    }
    Ok(Writer::open(store)?.write_jobs(&jobs)?)
}

/// What follows for a year, by what a run of each kind takes.
fn print_year(grown: &Grown, lab: &Lab, sample_every: u32) {
    let sampled = match sample_every {
        1 => String::new(),
        some => format!(", with a sample of the host each {some} s instead of each second"),
    };
    println!("\na year of {} hosts{sampled}:", lab.hosts);
    for (name, sizes, runs) in [
        ("nights", &grown.night, u64::from(lab.hosts) * 365),
        ("all releases", &grown.ladder, u64::from(lab.hosts) * made::LADDERS_A_YEAR),
    ] {
        if let Some(Size { bytes, rows }) = mean(sizes) {
            println!("{name:<16} {runs:>8} runs  {:>16} bytes  {:>14} rows", bytes * runs, rows * runs);
        }
    }
}
