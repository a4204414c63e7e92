//! Campaigns on the fake engine, each measured by a chain of processes: what one leaves, `--resume last` goes on with. When a campaign
//! is done it must have the trials that it would have had, and another one begins.

use super::contents::Contents;
use super::flat::Watch;
use crate::e2e::fake_engine::{Fake, POLL, STEPS, SUBJECT, TIMEOUT, WORKLOAD, opened, runs, sound};
use crate::e2e::processes;
use crate::e2e::scratch::Scratch;
use crate::e2e::tool::{Call, Finished, Running};
use anyhow::{Context, ensure};
use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A step of 100 writes takes a tenth of a second: a turn is long enough to be hit in the middle.
pub const NORMAL: &str = "slow-write 1000\n";
/// Another name of the fake engine.
const TWIN: &str = "twin";
const ROUNDS: u32 = 40;
/// Of both names.
const TRIALS: i64 = ROUNDS as i64 * 2 * STEPS as i64;
/// An engine that hangs is killed after this long.
const GRACE: &str = "grace_seconds = 2\noperation = ";
/// A turn in which something failed is measured again, which may fail too if the host is slow.
const MOST_RETRIES: u32 = 5;
/// About ten times what a campaign takes that nothing disturbs.
const CAMPAIGN_TIMEOUT: Duration = Duration::from_secs(300);
/// A larger store is left, and the next campaign begins another: all of it is read after each fault.
const MOST_STORE_BYTES: u64 = 12 << 20;

/// How long something was waited for that a run does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waited {
    /// It is so.
    Done,
    /// The run has ended before.
    RunEnded,
}

pub struct Chain<'a> {
    pub fake: Fake<'a>,
    workload: PathBuf,
    /// Of the plan, which some faults need.
    lines: String,
    run: Option<Running>,
    /// The run's id in the store; none before it has begun, and after its campaign is done.
    campaign: Option<String>,
    /// The ids of the campaigns before.
    earlier: BTreeSet<String>,
    /// What the store held when it was last looked at.
    known: Contents,
    pub campaigns: u64,
    pub trials: u64,
    pub watch: Watch,
}

impl<'a> Chain<'a> {
    pub fn new(scratch: &'a Scratch) -> anyhow::Result<Chain<'a>> {
        let fake = Fake::new(scratch)?;
        fake.call(["engine", "add", TWIN]).and([scratch.path("librocksdb.so")]).succeeds()?;
        fake.order(NORMAL)?;
        let workload = scratch.write("soak.toml", &WORKLOAD.replace("operation = ", GRACE))?;
        Ok(Chain {
            fake,
            workload,
            lines: String::new(),
            run: None,
            campaign: None,
            earlier: BTreeSet::new(),
            known: Contents::default(),
            campaigns: 0,
            trials: 0,
            watch: Watch::start(),
        })
    }

    /// Tries a short campaign with these lines in its plan, and uses them from now on; the reason where this host cannot.
    pub fn use_if_possible(&mut self, lines: &str) -> anyhow::Result<Option<String>> {
        let lines = format!("{}{lines}", self.lines);
        let finished = self.campaign(1, &lines)?.run()?;
        self.earlier = runs(&self.fake.store())?;
        if let Some(reason) = finished.not_here()? {
            return Ok(Some(reason));
        }
        finished.expect_code(&[0])?;
        self.lines = lines;
        Ok(None)
    }

    fn campaign(&self, rounds: u32, lines: &str) -> anyhow::Result<Call<'a>> {
        let subjects = [SUBJECT.to_owned(), format!("rocksdb@{TWIN}")];
        let subjects: Vec<&str> = subjects.iter().map(String::as_str).collect();
        let lines = format!("rounds = {rounds}\n{lines}");
        self.fake.campaign_with(&[&self.workload], &subjects, &lines)
    }

    pub fn binary(&self) -> &Path {
        &self.fake.scratch.shared.binary
    }

    /// Whether a campaign has begun that is not done.
    pub fn has_campaign(&self) -> bool {
        self.campaign.is_some()
    }

    pub fn is_running(&mut self) -> anyhow::Result<bool> {
        self.run.as_mut().map_or(Ok(false), Running::is_running)
    }

    /// The run that is going.
    pub fn run(&mut self) -> anyhow::Result<&mut Running> {
        self.run.as_mut().context("no run is going")
    }

    pub fn resume(&self) -> Call<'a> {
        self.fake.call(["run", "--resume", "last"])
    }

    /// A run is going when this returns: a new campaign, or the one that was left.
    pub fn going(&mut self) -> anyhow::Result<()> {
        if self.run.is_some() {
            if self.is_running()? {
                return Ok(());
            }
            self.campaign_ended()?;
        }
        if self.campaign.is_some() {
            return self.begin(self.resume());
        }
        self.leave_a_large_store()?;
        self.begin(self.campaign(ROUNDS, &self.lines)?)
    }

    pub fn begin(&mut self, call: Call<'_>) -> anyhow::Result<()> {
        ensure!(self.run.is_none(), "a run is going");
        self.run = Some(call.start()?);
        Ok(())
    }

    /// A run is going that has measured something when this returns.
    pub fn measuring(&mut self) -> anyhow::Result<()> {
        loop {
            self.going()?;
            if self.until_a_trial_ends()? == Waited::Done {
                return Ok(());
            }
            self.campaign_ended()?;
        }
    }

    /// Waits until the run that is going has ended one more trial.
    pub fn until_a_trial_ends(&mut self) -> anyhow::Result<Waited> {
        let before = self.ended_trials();
        let waited = self.until("end another trial", |chain| Ok(chain.ended_trials() > before))?;
        self.learn()?;
        if let Some(process) = self.run()?.below_supervisor()? {
            self.watch.follow(process);
        }
        Ok(waited)
    }

    /// Waits until something is so.
    pub fn until(
        &mut self,
        what: &str,
        mut is_so: impl FnMut(&mut Chain<'a>) -> anyhow::Result<bool>,
    ) -> anyhow::Result<Waited> {
        let began = Instant::now();
        loop {
            if is_so(self)? {
                return Ok(Waited::Done);
            }
            if !self.is_running()? {
                return Ok(Waited::RunEnded);
            }
            let said = || self.run.as_ref().and_then(|run| run.stderr_so_far().ok()).unwrap_or_default();
            ensure!(
                began.elapsed() < TIMEOUT,
                "the run did not {what} in {} s; it said: {}",
                TIMEOUT.as_secs(),
                said()
            );
            std::thread::sleep(POLL);
        }
    }

    /// Waits until the run has ended.
    pub fn until_ended(&mut self, timeout: Duration) -> anyhow::Result<()> {
        let began = Instant::now();
        while self.is_running()? {
            ensure!(began.elapsed() < timeout, "the run did not end within {} s", timeout.as_secs());
            std::thread::sleep(POLL);
        }
        Ok(())
    }

    /// Takes note of the end of the run, whatever it was.
    pub fn take_end(&mut self) -> anyhow::Result<Finished> {
        let run = self.run.take().context("no run is going")?;
        self.watch.forget();
        let finished = run.finish(TIMEOUT)?;
        ensure!(!finished.stderr.contains("panicked"), "it panicked: {}", finished.stderr);
        self.take_note()?;
        Ok(finished)
    }

    /// Takes note of the end of a run that nothing has disturbed.
    pub fn campaign_ended(&mut self) -> anyhow::Result<()> {
        let finished = self.take_end()?.expect_code(&[0, 3])?;
        ensure!(
            self.campaign.is_none(),
            "a run ended before its campaign was done; it said: {}",
            finished.stderr.trim()
        );
        Ok(())
    }

    /// Takes note of the end of a run that was killed.
    pub fn was_killed(&mut self) -> anyhow::Result<()> {
        self.run = None;
        self.watch.forget();
        processes::all_gone(self.binary())?;
        self.take_note()
    }

    fn take_note(&mut self) -> anyhow::Result<()> {
        self.learn()?;
        let Some(id) = self.campaign.clone() else { return Ok(()) };
        let done = format!("SELECT count(*) FROM runs WHERE id = '{id}' AND outcome = 'done'");
        if self.number(&done)? == 1 { self.complete(&id) } else { Ok(()) }
    }

    fn learn(&mut self) -> anyhow::Result<()> {
        let store = self.fake.store();
        if self.campaign.is_none() && store.exists() {
            // It may have been killed before it had made the tables.
            let all = runs(&store).unwrap_or_default();
            self.campaign = all.difference(&self.earlier).next().cloned();
        }
        Ok(())
    }

    /// A campaign has come to its end: where trials failed they are measured again, and then each is there once.
    fn complete(&mut self, id: &str) -> anyhow::Result<()> {
        processes::all_gone(self.binary())?;
        let of_run = format!("FROM trials JOIN runs USING (run_key) WHERE id = '{id}' AND put_aside = 0");
        for _ in 0..MOST_RETRIES {
            if self.number(&format!("SELECT count(*) {of_run} AND trials.outcome <> 'done'"))? == 0 {
                break;
            }
            self.resume().and(["--retry-failed"]).run()?.expect_code(&[0, 3])?;
        }
        let done = self.number(&format!(
            "SELECT count(DISTINCT launch || ' ' || step || ' ' || side) {of_run} AND trials.outcome = 'done'"
        ))?;
        let all = self.number(&format!("SELECT count(*) {of_run}"))?;
        let measured = self.number(&format!(
            "SELECT count(*) FROM blocks JOIN trials USING (trial_key) JOIN runs USING (run_key)
             WHERE id = '{id}' AND put_aside = 0 AND kind = 'whole'"
        ))?;
        ensure!(
            (done, all, measured) == (TRIALS, TRIALS, TRIALS),
            "run {id} has {all} trials, {done} of them done, and {measured} measured steps, not {TRIALS}"
        );
        self.campaign = None;
        self.earlier.insert(id.to_owned());
        self.campaigns += 1;
        self.trials += TRIALS.unsigned_abs();
        Ok(())
    }

    /// Brings the campaign that was left to its end.
    pub fn finish(&mut self) -> anyhow::Result<()> {
        while self.run.is_some() || self.campaign.is_some() {
            self.going()?;
            self.until_ended(CAMPAIGN_TIMEOUT)?;
            self.campaign_ended()?;
        }
        Ok(())
    }

    fn leave_a_large_store(&mut self) -> anyhow::Result<()> {
        let store = self.fake.store();
        if !fs::metadata(&store).is_ok_and(|store| store.len() > MOST_STORE_BYTES) {
            return Ok(());
        }
        self.nothing_is_lost()?;
        for ending in ["", "-wal", "-shm", ".writer"] {
            let mut path = store.clone().into_os_string();
            path.push(ending);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        self.known = Contents::default();
        self.earlier.clear();
        Ok(())
    }

    /// All that was in the store when it was last looked at is in it, as it was.
    pub fn nothing_is_lost(&mut self) -> anyhow::Result<()> {
        let now = Contents::of(&self.fake.store())?;
        self.known.is_kept_in(&now)?;
        self.known = now;
        Ok(())
    }

    /// What must hold where no run is going: no process of ours, no lock, a sound store.
    pub fn nothing_is_left(&self) -> anyhow::Result<()> {
        processes::all_gone(self.binary())?;
        let runs = self.fake.scratch.path("cache/dbdyno/runs");
        let directories = fs::read_dir(&runs).map(|all| all.flatten().collect::<Vec<_>>());
        for directory in directories.unwrap_or_default() {
            can_be_locked(&directory.path().join("controller.lock"))?;
        }
        let store = self.fake.store();
        if !store.exists() {
            return Ok(());
        }
        can_be_locked(&store.with_extension("sqlite.writer"))?;
        let connection = opened(&store)?;
        connection.busy_timeout(Duration::ZERO)?;
        connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK").context("the store is locked")?;
        drop(connection);
        sound(&store)
    }

    /// What `dbdyno store check` says.
    pub fn store_check(&self) -> anyhow::Result<()> {
        if self.ended_trials() == 0 {
            return Ok(()); // there may be no store yet
        }
        self.fake.call(["store", "check"]).succeeds().map(drop)
    }

    fn ended_trials(&self) -> i64 {
        self.number("SELECT count(*) FROM trials WHERE outcome IS NOT NULL").unwrap_or(0)
    }

    pub fn failed_trials(&self) -> i64 {
        self.number("SELECT count(*) FROM trials WHERE outcome = 'failed'").unwrap_or(0)
    }

    /// Why the last trial failed that did.
    pub fn last_reason(&self) -> anyhow::Result<String> {
        let sql = "SELECT reason FROM trials WHERE outcome = 'failed' ORDER BY trial_key DESC LIMIT 1";
        Ok(self.fake.other_program()?.query_row(sql, [], |row| row.get(0))?)
    }

    fn number(&self, sql: &str) -> anyhow::Result<i64> {
        Ok(self.fake.other_program()?.query_row(sql, [], |row| row.get(0))?)
    }
}

/// A lock that the next command needs.
fn can_be_locked(path: &Path) -> anyhow::Result<()> {
    let Ok(file) = File::open(path) else { return Ok(()) };
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => anyhow::bail!("`{}` is locked", path.display()),
        Err(TryLockError::Error(error)) => Err(error).context("failed to try a lock"),
    }
}
