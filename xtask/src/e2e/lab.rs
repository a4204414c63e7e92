//! Cases of a campaign on several hosts. A host is a network namespace with a name, a home, builds and an sshd of its own.

use super::network::{Cable, NoNamespace};
use super::scratch::Scratch;
use super::tool::{Call, Running};
use super::{Case, Ending};
use crate::http;
use crate::served::Serving;
use anyhow::{Context, bail, ensure};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("lab campaign on two hosts", campaign),
        Case::new("lab bad input", bad_input),
        Case::new("lab stopped", stopped),
    ]
}

const SEQUENCE: &str = include_str!("sequence.toml");
const SUBJECTS: [&str; 2] = ["rocksdb@8.5.4", "rocksdb@8.7.3"];
/// The workload is named as a user would: by its path from where the plan is.
const PLAN: &str = "name = \"lab\"\nworkloads = [\"./sequence.toml\"]\nsubjects = [\"rocksdb@8.5.4\", \"rocksdb@8.7.3\"]\nrounds = 2\n";
/// Where Debian's package puts it.
const SSHD: &str = "/usr/sbin/sshd";
/// Of a host: two subjects in two rounds, nine steps.
const TRIALS: u64 = 2 * 2 * 9;
const TIMEOUT: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(50);

/// One host is killed in the middle and goes on; what comes together is what each host has by itself.
fn campaign(scratch: &Scratch) -> anyhow::Result<Ending> {
    let lab = match Lab::set_up(scratch, &["lab-a", "lab-b"])? {
        Ok(lab) => lab,
        Err(ending) => return Ok(ending),
    };
    scratch.write("sequence.toml", SEQUENCE)?;
    let plan = scratch.write("plan.toml", PLAN)?;
    let mut controller = lab.call(["run"]).and([&plan]).and(["--hosts", "lab-a,lab-b", "--json"]).start()?;
    let victim = &lab.hosts[1];
    until_trials(victim, 3, &mut controller)?;
    // Others write to the store meanwhile; what they bring of a run that goes on is replaced.
    Call::new(scratch, ["store", "merge"]).and([victim.store()?]).succeeds()?;
    victim.kill()?;
    let finished = controller.finish(TIMEOUT)?.expect_code(&[3])?;
    let finished =
        finished.expect_stderr(&["lab-b: failed: it was killed by signal 9", "dbdyno run --resume "])?;
    let campaign = finished.stderr.split("--resume ").nth(1).and_then(|rest| rest.split('`').next());
    let campaign = campaign.context("the command that resumes it names the campaign")?.to_owned();

    names_what_is_not_done(scratch, &campaign)?;
    let resumed = lab.call(["run", "--resume", &campaign, "--json"]).succeeds()?.json()?;
    let found = resumed.as_array().context("a report of several hosts is an array")?;
    let names: Vec<&str> = super::expect::texts(&found[0]["hosts"], "name");
    ensure!(names == ["lab-a", "lab-b"], "the hosts are {names:?}");
    ensure!(found.len() == 3, "{} findings, not that over hosts and two of runs", found.len());
    for host in &lab.hosts {
        ensure!(host.trials_done()? == TRIALS, "{} has {} trials", host.name, host.trials_done()?);
        let run = host.run()?;
        // To the last digit what the host itself says.
        let here = Call::new(scratch, ["report", &run, "--json"]).succeeds()?.json()?;
        let there = Call::new(scratch, ["report", &run, "--json", "--store"])
            .and([host.store()?])
            .succeeds()?
            .json()?;
        ensure!(here == there, "run {run} is another than on {}", host.name);
        ensure!(found[1..].contains(&here), "run {run} is not in the report of all hosts");
    }
    lab.call(["run", "--resume", &campaign]).fails(&[2], &["all jobs of campaign", "are done"])?;
    let retried = lab.call(["run", "--resume", &campaign, "--retry-failed", "--json"]).succeeds()?;
    ensure!(retried.json()? == resumed, "nothing failed, and the report is another one");
    // Of what was heard before, the end.
    let heard = retried.stderr.lines().filter(|line| line.starts_with("lab-a: ")).count();
    ensure!(heard < 10, "{heard} lines are heard of a job that has nothing to do");
    // Each once, however often they come together.
    let stores: Vec<PathBuf> = lab.hosts.iter().map(Host::store).collect::<anyhow::Result<_>>()?;
    let merged = Call::new(scratch, ["store", "merge"]).and(&stores).succeeds()?.stdout;
    ensure!(merged.matches("0 runs added, 1 known").count() == 2, "merged again: {merged}");
    let again = Call::new(scratch, ["report", &campaign, "--json"]).succeeds()?.json()?;
    ensure!(again == resumed, "the report of the campaign is another one later");
    shown(scratch, &campaign)?;
    names_what_is_in_no_count(scratch, &lab)?;
    Ok(Ending::Passed)
}

/// Wherever the counts are read.
fn names_what_is_not_done(scratch: &Scratch, campaign: &str) -> anyhow::Result<()> {
    let report = |more: &[&str]| Call::new(scratch, ["report", campaign]).and(more).succeeds();
    let sentence = "Not all is measured on: lab-b (failed: it was killed by signal 9";
    let text = report(&["--width", "200"])?.stdout;
    ensure!(text.contains(sentence), "the text does not name the host that was killed: {text}");
    let job = report(&["--json"])?.json()?[0]["unfinished_jobs"][0].clone();
    ensure!(job["host"] == "lab-b" && job["state"] == "failed", "of the host that was killed: {job}");
    let said = report(&["--format", "junit"])?.stderr;
    ensure!(said.contains("lab-b has not measured all of it: failed"), "beside JUnit's XML: {said}");
    let page = served(scratch, &format!("/campaigns/{campaign}"))?;
    ensure!(page.contains(sentence), "the page does not name the host that was killed: {page:.3000}");
    Ok(())
}

/// A run of another design stands beside those that count, and is named.
fn names_what_is_in_no_count(scratch: &Scratch, lab: &Lab<'_>) -> anyhow::Result<()> {
    let here = Call::compare(scratch, SUBJECTS, "10s").and(["--step", "readrandom"]).succeeds()?.json()?;
    let here = here["run"].as_str().context("a comparison has an id")?;
    let runs: Vec<String> = lab.hosts.iter().map(Host::run).collect::<anyhow::Result<_>>()?;
    let report = Call::new(scratch, ["report", "--json", here]).and(&runs).succeeds()?.json()?;
    let uncounted = &report[0]["uncounted_runs"];
    ensure!(
        uncounted[0]["run"] == *here && uncounted[0]["why"] == "alone",
        "the run of another design is not named: {uncounted}"
    );
    let counted = super::expect::texts(&report[0]["hosts"], "name");
    ensure!(counted == ["lab-a", "lab-b"], "{counted:?} are counted");
    Ok(())
}

/// What `dbdyno serve` answers.
fn answer(scratch: &Scratch, target: &str) -> anyhow::Result<http::Reply> {
    let server = Serving::start(&scratch.shared.binary, &scratch.data().join("dbdyno/dbdyno.sqlite"), &[])?;
    http::get(server.address, target)
}

/// A page of it.
fn served(scratch: &Scratch, target: &str) -> anyhow::Result<String> {
    let reply = answer(scratch, target)?;
    ensure!(reply.status == 200, "{target} is answered with {}: {:.300}", reply.status, reply.body);
    Ok(reply.body)
}

fn shown(scratch: &Scratch, campaign: &str) -> anyhow::Result<()> {
    for width in [80, 120] {
        let text = Call::new(scratch, ["report", campaign, "--width", &width.to_string()]).succeeds()?.stdout;
        ensure!(text.contains("Changes by host"), "at {width} columns:\n{text}");
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        ensure!(widest <= width, "a line has {widest} columns where there are {width}");
    }
    let page = Call::new(scratch, ["report", campaign, "--format", "html"]).succeeds()?.stdout;
    ensure!(page.contains("Changes by host"), "the page does not say what is on how many hosts");
    let table = Call::new(scratch, ["report", campaign, "--format", "tsv"]).succeeds()?.stdout;
    ensure!(table.lines().filter(|line| line.contains("\tlab-b\t")).count() > 3, "the table: {table}");
    Call::new(scratch, ["report", campaign, "--format", "junit"]).succeeds()?;
    let hosts = served(scratch, "/hosts")?;
    for part in ["Campaigns on several hosts", campaign, "lab-a", "lab-b", "done"] {
        ensure!(hosts.contains(part), "the page of hosts does not show `{part}`");
    }
    let page = served(scratch, &format!("/campaigns/{campaign}"))?;
    ensure!(page.contains("Changes by host"), "the page of the campaign");
    ensure!(answer(scratch, "/campaigns/none")?.status == 404, "a campaign that is not there");
    Ok(())
}

/// A host that is not there, twice the same, no rights, a program of another version in its place.
fn bad_input(scratch: &Scratch) -> anyhow::Result<Ending> {
    let lab = match Lab::set_up(scratch, &["lab-c"])? {
        Ok(lab) => lab,
        Err(ending) => return Ok(ending),
    };
    scratch.write("sequence.toml", SEQUENCE)?;
    let plan = scratch.write("plan.toml", PLAN)?;
    let run = |hosts: &str| lab.call(["run", "--hosts", hosts]).and([&plan]);
    run("lab-c,lab-c").fails(&[2], &["host lab-c is named twice"])?;
    lab.call(["run", "--hosts=-oProxyCommand=true"]).and([&plan]).fails(&[2], &["is no host"])?;
    run("nowhere").fails(&[3], &["nowhere: unreachable: host nowhere cannot be reached"])?;
    let outside = scratch.write("outside.toml", &PLAN.replace("./sequence", "../sequence"))?;
    lab.call(["run", "--hosts", "lab-c"]).and([outside]).fails(&[2], &["has no place on another host"])?;
    let missing =
        Call::new(scratch, ["run", "--hosts", "lab-c"]).and([&plan]).variable("DBDYNO_SSH", "no-such-ssh");
    missing.fails(&[3], &["failed to start `no-such-ssh`"])?;

    // A file stands where the directory of jobs has to be.
    let data = lab.hosts[0].home.join(".local/share/dbdyno");
    fs::create_dir_all(&data)?;
    fs::write(data.join("jobs"), "")?;
    run("lab-c").fails(&[3], &["lab-c: failed", "jobs"])?;
    fs::remove_file(data.join("jobs"))?;

    // What it cannot fetch, it says; the others of the plan are measured.
    let absent = scratch.write("absent.toml", &PLAN.replace("rocksdb@8.7.3", "rocksdb@8.2.1"))?;
    let finished = lab.call(["run", "--hosts", "lab-c", "--json"]).and([absent]).run()?.expect_code(&[0])?;
    let report = finished.json()?;
    let left_out = super::expect::texts(&report["left_out"], "subject");
    ensure!(left_out == ["rocksdb@8.2.1"], "left out are {left_out:?}");
    Ok(Ending::Passed)
}

/// Ctrl-C here stops the host in order; what it had measured is here, and goes on.
fn stopped(scratch: &Scratch) -> anyhow::Result<Ending> {
    let lab = match Lab::set_up(scratch, &["lab-d"])? {
        Ok(lab) => lab,
        Err(ending) => return Ok(ending),
    };
    scratch.write("sequence.toml", SEQUENCE)?;
    let plan = scratch.write("plan.toml", PLAN)?;
    let mut controller = lab.call(["run", "--hosts", "lab-d"]).and([&plan]).start()?;
    until_trials(&lab.hosts[0], 3, &mut controller)?;
    controller.press_ctrl_c()?;
    let finished = controller.finish(TIMEOUT)?.expect_code(&[130])?;
    finished.expect_stderr(&["stopping the hosts", "lab-d: interrupted", "dbdyno run --resume "])?;
    let here = Call::new(scratch, ["report", "last", "--json"]).succeeds()?.json()?;
    ensure!(
        here["status"] == "interrupted" && here["trials"]["done"].as_u64() >= Some(3),
        "{}",
        here["trials"]
    );
    // By its newest run too the jobs are found.
    let resumed = lab.call(["run", "--resume", "last", "--json"]).succeeds()?.json()?;
    ensure!(resumed["trials"]["done"] == TRIALS, "resumed: {}", resumed["trials"]);
    Ok(Ending::Passed)
}

fn until_trials(host: &Host, trials: u64, controller: &mut Running) -> anyhow::Result<()> {
    let began = Instant::now();
    while host.trials_done().unwrap_or(0) < trials {
        ensure!(controller.is_running()?, "the campaign ended at once: {}", controller.stderr_so_far()?);
        ensure!(began.elapsed() < TIMEOUT, "{} measures nothing: {}", host.name, controller.stderr_so_far()?);
        thread::sleep(POLL);
    }
    Ok(())
}

/// Hosts and how ssh finds them.
pub(super) struct Lab<'a> {
    scratch: &'a Scratch,
    pub(super) hosts: Vec<Host>,
    ssh: String,
}

/// A host.
pub(super) struct Host {
    name: String,
    pub(super) home: PathBuf,
    cache: PathBuf,
    sshd: Child,
    _cable: Cable,
}

impl<'a> Lab<'a> {
    /// The inner error is a host that cannot have such a lab.
    fn set_up(scratch: &'a Scratch, names: &[&str]) -> anyhow::Result<Result<Lab<'a>, Ending>> {
        Lab::of(scratch, names, &SUBJECTS, |name| scratch.path(name).join("cache"))
    }

    /// The same, with these servers on each host, whose caches have short paths.
    pub(super) fn with_servers(
        scratch: &'a Scratch,
        names: &[&str],
        builds: &[&str],
    ) -> anyhow::Result<Result<Lab<'a>, Ending>> {
        let root = scratch.root()?;
        Lab::of(scratch, names, builds, |name| root.join(name))
    }

    fn of(
        scratch: &'a Scratch,
        names: &[&str],
        builds: &[&str],
        cache_of: impl Fn(&str) -> PathBuf,
    ) -> anyhow::Result<Result<Lab<'a>, Ending>> {
        if !Path::new(SSHD).exists() {
            return Ok(Err(Ending::Skipped {
                reason: "there is no sshd: install openssh-server".to_owned(),
            }));
        }
        for subject in builds.iter().copied() {
            Call::new(scratch, ["engine", "fetch", subject]).succeeds()?;
        }
        let keys = ["host", "user"].map(|name| scratch.path(&format!("{name}.key")));
        for key in &keys {
            let made =
                Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(key).output();
            ensure!(made.context("failed to start ssh-keygen")?.status.success(), "ssh-keygen made no key");
        }
        let mut config = String::new();
        let mut hosts = Vec::new();
        for name in names {
            let number = HOSTS.fetch_add(1, Ordering::Relaxed);
            let host = match Host::start(scratch, name, number, cache_of(name), &keys) {
                Ok(host) => host,
                Err(error) if error.is::<NoNamespace>() => {
                    return Ok(Err(Ending::NotHere { reason: format!("{error:#}") }));
                }
                Err(error) => return Err(error),
            };
            config += &format!(
                "Host {name}\n  HostName {}\n  User root\n  IdentityFile {}\n  IdentitiesOnly yes\n  UserKnownHostsFile /dev/null\n  \
                 StrictHostKeyChecking no\n  LogLevel ERROR\n",
                address(number).1,
                keys[1].display()
            );
            hosts.push(host);
        }
        let config = scratch.write("ssh_config", &config)?;
        let ssh = format!("ssh -F {}", config.display());
        Ok(Ok(Lab { scratch, hosts, ssh }))
    }

    /// The ssh that reaches its hosts, as `$DBDYNO_SSH` names it.
    pub(super) fn ssh(&self) -> &str {
        &self.ssh
    }

    pub(super) fn call<'b>(&self, arguments: impl IntoIterator<Item = &'b str>) -> Call<'a> {
        Call::new(self.scratch, arguments).variable("DBDYNO_SSH", &self.ssh)
    }
}

/// Hosts that were made so far: two cases may run at the same time, and each host has a network of its own.
static HOSTS: AtomicUsize = AtomicUsize::new(0);

/// This end and the far end of the cable to a host; of the benchmarking range (RFC 2544), which no other network has.
fn address(number: usize) -> (String, String) {
    let net = 216 + number % 32;
    (format!("198.18.{net}.1"), format!("198.18.{net}.2"))
}

impl Host {
    fn start(
        scratch: &Scratch,
        name: &str,
        number: usize,
        cache: PathBuf,
        keys: &[PathBuf; 2],
    ) -> anyhow::Result<Host> {
        let home = scratch.path(name);
        fs::create_dir_all(&home)?;
        if cache.exists() {
            fs::remove_dir_all(&cache).with_context(|| format!("failed to remove `{}`", cache.display()))?;
        }
        fs::create_dir_all(cache.join("dbdyno"))?;
        scratch.shared.copy_kept(&cache.join("dbdyno"))?;
        scratch.shared.share_fingerprint(&cache)?;
        // What a login prints is no part of an answer.
        fs::write(home.join(".bashrc"), "echo Welcome to the lab\n")?;
        let public = format!("{}.pub", keys[1].display());
        fs::copy(public, home.join("authorized_keys"))?;
        let (here, there) = address(number);
        let config = scratch.write(
            &format!("{name}.sshd"),
            &format!(
                "ListenAddress {there}\nHostKey {}\nAuthorizedKeysFile {home}/authorized_keys\nPidFile none\nStrictModes no\nUsePAM no\n\
                 PermitRootLogin yes\nSetEnv HOME={home} XDG_CACHE_HOME={cache}\n",
                keys[0].display(),
                home = home.display(),
                cache = cache.display(),
            ),
        )?;
        let cable = Cable::lay(&format!("{number}{name}"), &here, &there)?;
        fs::create_dir_all("/run/sshd")?;
        let log = fs::File::create(scratch.path(&format!("{name}.sshd.log")))?;
        let sshd = Command::new("ip")
            .args(["netns", "exec", &cable.namespace, "unshare", "--uts", "sh", "-c"])
            .arg("hostname \"$1\" && exec \"$2\" -D -e -f \"$3\"")
            .args(["sh", name, SSHD])
            .arg(config)
            .stdin(Stdio::null())
            .stderr(log)
            .process_group(0)
            .spawn()
            .context("failed to start `ip`")?;
        let host = Host { name: name.to_owned(), home, cache, sshd, _cable: cable };
        let began = Instant::now();
        while std::net::TcpStream::connect((there.as_str(), 22)).is_err() {
            ensure!(began.elapsed() < Duration::from_secs(10), "the sshd of {name} does not answer");
            thread::sleep(POLL);
        }
        Ok(host)
    }

    /// Where its builds are, and below it its servers' data.
    pub(super) fn work_dir(&self) -> PathBuf {
        self.cache.join("dbdyno")
    }

    /// Cuts the connections that it has: kills the processes of its sshd that have one.
    pub(super) fn cut(&self) -> anyhow::Result<()> {
        let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", self.sshd.id()))?;
        let children: Vec<&str> = children.split_whitespace().collect();
        ensure!(!children.is_empty(), "{} has no connection", self.name);
        let killed =
            Command::new("kill").arg("-KILL").args(children).status().context("failed to start kill")?;
        ensure!(killed.success(), "the connections of {} cannot be cut", self.name);
        Ok(())
    }

    /// The directory of the only job.
    fn job(&self) -> anyhow::Result<PathBuf> {
        let jobs = self.home.join(".local/share/dbdyno/jobs");
        let mut found = fs::read_dir(&jobs).with_context(|| format!("{} has no jobs", self.name))?;
        Ok(found.next().context("no job")??.path())
    }

    fn store(&self) -> anyhow::Result<PathBuf> {
        Ok(self.job()?.join("store.sqlite"))
    }

    fn trials_done(&self) -> anyhow::Result<u64> {
        self.asked("SELECT count(*) FROM trials WHERE outcome = 'done' AND put_aside = 0", |row| {
            row.get::<_, i64>(0).map(i64::unsigned_abs)
        })
    }

    fn run(&self) -> anyhow::Result<String> {
        self.asked("SELECT id FROM runs", |row| row.get(0))
    }

    fn asked<T>(
        &self,
        sql: &str,
        value: impl FnOnce(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> anyhow::Result<T> {
        let store =
            rusqlite::Connection::open_with_flags(self.store()?, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        Ok(store.query_row(sql, [], value)?)
    }

    /// Kills the dbdyno that measures there.
    fn kill(&self) -> anyhow::Result<()> {
        let pid = fs::read_to_string(self.job()?.join("pid"))?;
        let killed =
            Command::new("kill").args(["-KILL", pid.trim()]).status().context("failed to start kill")?;
        if !killed.success() {
            bail!("process {} of {} cannot be killed", pid.trim(), self.name);
        }
        Ok(())
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // The whole group; what was not made is not there.
        let group = format!("-{}", self.sshd.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
        let _ = self.sshd.wait();
        // What cannot be removed now is removed by the next host of the name.
        let _ = fs::remove_dir_all(&self.cache);
    }
}
