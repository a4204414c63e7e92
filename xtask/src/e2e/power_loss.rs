//! Cases of a power failure: the store is taken from a run that is writing to it, and of its log (WAL) that part is damaged which
//! SQLite had not yet asked the disk to keep.
//!
//! No power is cut: what a disk may do to bytes that were never synced is done to a copy. That the disk keeps what it was asked
//! to keep is not tested.

use super::fake_engine::{Fake, POLL, STEPS, TIMEOUT, done, runs, sound};
use super::processes;
use super::scratch::Scratch;
use super::tool::Running;
use super::{Case, Ending};
use crate::bench::scrambled;
use anyhow::{Context, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const SEED: u64 = 1;
/// Visits enough that the store has been checkpointed many times before most moments.
const ROUNDS: u32 = 15;
const TRIALS: u64 = ROUNDS as u64 * STEPS;
/// A visit takes some 50 ms: a moment falls anywhere within one or two.
const MOMENT_MS: u64 = 100;

/// The header of a WAL, and of each of its frames (section 4 of SQLite's file format).
const WAL_HEADER_BYTES: u64 = 32;
const FRAME_HEADER_BYTES: u64 = 24;
const PAGE_SIZE_AT: usize = 8;
/// In the WAL index (sections 2.1 and 2.2 of SQLite's WAL format): the last frame that is committed, and the last one that a
/// checkpoint has synced and may have begun to copy.
const LAST_FRAME_AT: usize = 16;
const LAST_SYNCED_FRAME_AT: usize = 128;
/// What a disk loses, it loses in pages of the page cache.
const LOST_BYTES: u64 = 4096;

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("power loss", |scratch| power_losses(scratch, 3, 4)),
        Case::new("power loss at many moments", |scratch| power_losses(scratch, 10, 50)).nightly(),
    ]
}

/// Copies of a store at several moments, each damaged in several ways: all of them are sound, dbdyno can read them, and one of
/// each moment goes on to all trials.
fn power_losses(scratch: &Scratch, moments: u64, damages: u64) -> anyhow::Result<Ending> {
    let fake = Fake::new(scratch)?;
    fake.order("slow-write 100\n")?;
    let (mut resumed, mut lost) = (0, 0);
    for moment in 0..moments {
        let taken = Taken::at(&fake, moment, moments)?;
        let to_resume = scrambled(SEED, moment) % damages;
        for number in 0..damages {
            let damage = Damage::of(scrambled(SEED + 1, moment * damages + number), &taken);
            let case = || format!("moment {moment}, damage {number}: {damage:?} of {taken}");
            let copy = taken.damaged(&damage)?;
            sound(&copy).with_context(case)?;
            let known = runs(&copy).unwrap_or_default().len();
            // Without a run there is nothing to report: wrong usage.
            let wanted = if known == 0 { 2 } else { 0 };
            fake.call(["report", "last", "--format", "json", "--store"])
                .and([&copy])
                .run()?
                .expect_code(&[wanted])
                .with_context(case)?;
            lost += u64::from(known == 0);
            if known > 0 && number == to_resume {
                fake.call(["run", "--resume", "last", "--store"])
                    .and([&copy])
                    .succeeds()
                    .with_context(case)?;
                let report = fake.call(["report", "last", "--format", "json", "--store"]).and([&copy]);
                let report = report.succeeds()?.json()?;
                ensure!(done(&report) == TRIALS, "{}: trials: {}", case(), report["trials"]);
                sound(&copy).with_context(case)?;
                resumed += 1;
            }
        }
    }
    eprintln!(
        "e2e: {} damaged copies of {moments} moments were sound, {lost} of them without a run; {resumed} went on",
        moments * damages
    );
    ensure!(resumed + 1 >= moments, "only {resumed} runs of {moments} moments could go on");
    Ok(Ending::Passed)
}

/// What of a store was on the disk at a moment, and what of its log may not have been.
struct Taken {
    directory: PathBuf,
    log: Vec<u8>,
    /// Bytes of the log that were synced.
    synced: u64,
    /// Bytes of the log up to the end of the last commit.
    committed: u64,
}

impl std::fmt::Display for Taken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a log of {} bytes, {} committed, {} synced", self.log.len(), self.committed, self.synced)
    }
}

impl Taken {
    /// Stops a run at a moment, takes its store, and kills it. The first moment is when the store is being made.
    fn at(fake: &Fake<'_>, moment: u64, moments: u64) -> anyhow::Result<Taken> {
        let store = fake.store();
        if fake.scratch.data().exists() {
            fs::remove_dir_all(fake.scratch.data())?;
        }
        let mut run = fake.campaign(ROUNDS)?.start()?;
        let process = running(&store, &mut run)?;
        if moment > 0 {
            fake.until_rows("trials", 1 + moment * (TRIALS - 4) / moments, &mut run)?;
        }
        std::thread::sleep(Duration::from_millis(scrambled(SEED + 2, moment) % MOMENT_MS));
        processes::stop(process)?;
        let directory = fake.scratch.path("taken");
        if directory.exists() {
            fs::remove_dir_all(&directory)?;
        }
        fs::create_dir(&directory)?;
        fs::copy(&store, directory.join("undamaged")).context("failed to copy the store")?;
        // Neither is there before the store has become one with a log.
        let log = fs::read(beside(&store, "-wal")).unwrap_or_default();
        let index = fs::read(beside(&store, "-shm")).unwrap_or_default();
        run.kill(false)?;
        processes::all_gone(&fake.scratch.shared.binary)?;
        let end_of = |frames: u32| match (frames, number(&log, PAGE_SIZE_AT, u32::from_be_bytes)) {
            (0, _) | (_, None) => 0,
            (frames, Some(page)) => {
                WAL_HEADER_BYTES + u64::from(frames) * (FRAME_HEADER_BYTES + u64::from(page))
            }
        };
        let frames = |at: usize| number(&index, at, u32::from_ne_bytes).unwrap_or(0);
        let length = log.len() as u64;
        let (synced, committed) = (end_of(frames(LAST_SYNCED_FRAME_AT)), end_of(frames(LAST_FRAME_AT)));
        ensure!(
            synced <= committed && committed <= length,
            "the index of the log is not understood: {synced} of {committed} of {length}"
        );
        Ok(Taken { directory, log, synced, committed })
    }

    /// A copy of the store whose log is damaged.
    fn damaged(&self, damage: &Damage) -> anyhow::Result<PathBuf> {
        let copy = self.directory.join("store.sqlite");
        for ending in ["", "-wal", "-shm", ".writer"] {
            let file = beside(&copy, ending);
            if file.exists() {
                fs::remove_file(&file)?;
            }
        }
        fs::copy(self.directory.join("undamaged"), &copy)?;
        if !self.log.is_empty() {
            fs::write(beside(&copy, "-wal"), damage.done_to(&self.log))?;
        }
        Ok(copy)
    }
}

/// Waits until a run has begun to make its store; its process.
fn running(store: &Path, run: &mut Running) -> anyhow::Result<u32> {
    let began = Instant::now();
    loop {
        if let (true, Some(process)) = (store.exists(), run.below_supervisor()?) {
            return Ok(process);
        }
        ensure!(run.is_running()?, "the run ended: {}", run.stderr_so_far()?);
        ensure!(began.elapsed() < TIMEOUT, "there is no store after {} s", TIMEOUT.as_secs());
        std::thread::sleep(POLL / 10);
    }
}

/// What became of bytes that nobody had asked the disk to keep.
#[derive(Debug)]
enum Damage {
    /// The file ends at this byte.
    Cut { at: usize },
    /// It goes on with zeros: its length was written and what is in it was not.
    Zeros { at: usize },
    /// It goes on with what lay on the disk before.
    Garbage { at: usize, seed: u64 },
    /// Of the pages only this one did not reach the disk.
    Hole { from: usize, to: usize },
}

impl Damage {
    /// Some damage between what was synced and the last commit.
    fn of(random: u64, taken: &Taken) -> Damage {
        let at = taken.synced + scrambled(random, 0) % (taken.committed - taken.synced).max(1);
        let place = |byte: u64| usize::try_from(byte).unwrap_or(usize::MAX).min(taken.log.len());
        match random % 4 {
            0 => Damage::Cut { at: place(at) },
            1 => Damage::Zeros { at: place(at) },
            2 => Damage::Garbage { at: place(at), seed: random },
            _ => {
                let page = at / LOST_BYTES * LOST_BYTES;
                Damage::Hole { from: place(page.max(taken.synced)), to: place(page + LOST_BYTES) }
            }
        }
    }

    fn done_to(&self, log: &[u8]) -> Vec<u8> {
        let mut log = log.to_vec();
        match *self {
            Damage::Cut { at } => log.truncate(at),
            Damage::Zeros { at } => log[at..].fill(0),
            Damage::Garbage { at, seed } => {
                for (chunk, index) in log[at..].chunks_mut(8).zip(0..) {
                    chunk.copy_from_slice(&scrambled(seed, index).to_le_bytes()[..chunk.len()]);
                }
            }
            Damage::Hole { from, to } => log[from..to].fill(0),
        }
        log
    }
}

/// `store.sqlite-wal` for `-wal`.
fn beside(store: &Path, ending: &str) -> PathBuf {
    let mut path = store.as_os_str().to_owned();
    path.push(ending);
    path.into()
}

fn number(bytes: &[u8], at: usize, from: fn([u8; 4]) -> u32) -> Option<u32> {
    Some(from(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_not_synced_is_damaged() {
        let log: Vec<u8> = (0..40_000_u32).map(|byte| (byte % 250 + 1).to_le_bytes()[0]).collect();
        let taken = Taken { directory: PathBuf::new(), log: log.clone(), synced: 5_000, committed: 30_000 };
        let mut kinds = [0; 4];
        for random in 0..400 {
            let random = scrambled(7, random);
            let damaged = Damage::of(random, &taken).done_to(&log);
            assert_eq!(damaged[..5_000], log[..5_000]);
            let changed = damaged.iter().zip(&log).position(|(now, before)| now != before);
            assert!(changed.unwrap_or(damaged.len()) < 30_000, "nothing that was committed is damaged");
            kinds[usize::try_from(random % 4).unwrap()] += 1;
        }
        assert!(kinds.iter().all(|count| *count > 50), "{kinds:?}");
        let none = Taken { directory: PathBuf::new(), log: Vec::new(), synced: 0, committed: 0 };
        for random in 0..4 {
            assert!(Damage::of(random, &none).done_to(&[]).is_empty());
        }
    }
}
