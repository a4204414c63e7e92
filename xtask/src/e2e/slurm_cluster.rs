//! A Slurm of a case's own: munged, slurmctld and a slurmd for each node. A node is a network namespace with a name and a cache of its own; it
//! shares all other files with the others, as nodes of a cluster share a file system.

use super::network::{Cable, NoNamespace, ip};
use super::scratch::Scratch;
use super::tool::Call;
use super::{Ending, processes};
use anyhow::{Context, bail, ensure};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Where Debian's packages put them.
const DAEMONS: [&str; 3] = ["/usr/sbin/munged", "/usr/sbin/slurmctld", "/usr/sbin/slurmd"];
/// The daemons need two seconds together.
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// A job ends in order within it.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(50);

/// Clusters that were made so far: two cases may run at the same time, and each needs ports and networks of its own.
static CLUSTERS: AtomicU16 = AtomicU16::new(0);

/// A cluster that runs until this is dropped.
pub struct Cluster<'a> {
    scratch: &'a Scratch,
    /// Short, since sockets are in it.
    state: PathBuf,
    conf: String,
    pub nodes: Vec<String>,
    /// The last that is started is the first to be stopped.
    daemons: Vec<Daemon>,
    cables: Vec<Cable>,
}

/// A process group that ends with this.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        // The whole group; what was not made is not there.
        let _ = processes::signal_group(self.0.id(), libc::SIGKILL);
        let _ = self.0.wait();
    }
}

impl<'a> Cluster<'a> {
    /// So many nodes that have what `feature` says. The directory `unshared` of the case is another one on each of them. The inner error is a host
    /// that cannot have such a cluster.
    pub fn set_up(
        scratch: &'a Scratch,
        nodes: u16,
        feature: &str,
    ) -> anyhow::Result<Result<Cluster<'a>, Ending>> {
        if let Some(missing) = DAEMONS.iter().find(|daemon| !Path::new(daemon).exists()) {
            return Ok(Err(Ending::Skipped {
                reason: format!("there is no {missing}: install slurm-wlm and munge"),
            }));
        }
        if !processes::is_root() {
            return Ok(Err(Ending::NotHere { reason: "only root can start a cluster".to_owned() }));
        }
        let number = CLUSTERS.fetch_add(1, Ordering::Relaxed);
        let state = std::env::temp_dir().join(format!("dbdyno-slurm-{}-{number}", std::process::id()));
        fs::create_dir_all(&state).with_context(|| format!("failed to create `{}`", state.display()))?;
        let conf = state.join("slurm.conf").display().to_string();
        let mut cluster =
            Cluster { scratch, state, conf, nodes: Vec::new(), daemons: Vec::new(), cables: Vec::new() };
        match cluster.start(number, nodes, feature) {
            Ok(()) => Ok(Ok(cluster)),
            Err(error) if error.is::<NoNamespace>() => {
                Ok(Err(Ending::NotHere { reason: format!("{error:#}") }))
            }
            Err(error) => Err(error.context(cluster.last_words())),
        }
    }

    fn start(&mut self, number: u16, nodes: u16, feature: &str) -> anyhow::Result<()> {
        let state = self.state.display().to_string();
        fs::write(self.state.join("munge.key"), [7_u8; 128])?;
        Command::new("chmod").arg("600").arg(self.state.join("munge.key")).status()?;
        fs::create_dir_all(self.state.join("ctld"))?;
        let mut lines = String::new();
        let mut controller = None;
        for node in 1..=nodes {
            let name = format!("node-{node}");
            let (here, there) = address(number, node);
            let cable = Cable::lay(&format!("{number}s{node}"), &here, &there)?;
            // The controller is at one address for all of them.
            ip(&["-n", &cable.namespace, "route", "add", "default", "via", &here])?;
            self.cables.push(cable);
            lines += &format!("NodeName={name} NodeAddr={there} CPUs=1 RealMemory=100 Feature={feature}\n");
            controller.get_or_insert(here);
            fs::create_dir_all(self.state.join(format!("spool-{name}")))?;
            self.nodes.push(name);
        }
        let controller = controller.context("a cluster has a node")?;
        let port = 26_000 + 4 * number;
        fs::write(
            &self.conf,
            format!(
                "ClusterName=dbdyno\nSlurmctldHost=controller({controller})\nSlurmctldPort={port}\nSlurmdPort={}\n\
                 SlurmUser=root\nSlurmdUser=root\nAuthType=auth/munge\nAuthInfo=socket={state}/munge\nCredType=cred/munge\n\
                 StateSaveLocation={state}/ctld\nSlurmdSpoolDir={state}/spool-%n\nSlurmctldPidFile={state}/ctld.pid\n\
                 SlurmdPidFile={state}/%n.pid\nSlurmctldLogFile={state}/ctld.log\nSlurmdLogFile={state}/%n.log\n\
                 ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nJobAcctGatherType=jobacct_gather/none\n\
                 AccountingStorageType=accounting_storage/none\nSelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\n\
                 SwitchType=switch/none\nMpiDefault=none\nReturnToService=0\nTreeWidth=65533\nMaxArraySize=21\n\
                 SlurmdParameters=config_overrides\nSchedulerParameters=sched_min_interval=1,batch_sched_delay=0\n{lines}\
                 PartitionName=lab Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n",
                port + 1
            ),
        )?;
        // Of other versions of cgroups there may be none in a namespace; nothing here uses them.
        fs::write(self.state.join("cgroup.conf"), "CgroupPlugin=cgroup/v1\n")?;
        self.daemon(
            "munged",
            Command::new(DAEMONS[0]).arg("--foreground").arg("--force").args([
                format!("--key-file={state}/munge.key"),
                format!("--socket={state}/munge"),
                format!("--pid-file={state}/munged.pid"),
                format!("--log-file={state}/munged.log"),
                format!("--seed-file={state}/munged.seed"),
            ]),
        )?;
        self.until("munged answers", |cluster| Ok(cluster.state.join("munge").exists()))?;
        let ctld = "hostname controller && exec \"$1\" -D -f \"$2\"";
        self.daemon(
            "slurmctld",
            Command::new("unshare").args(["--uts", "sh", "-c", ctld, "sh", DAEMONS[1], &self.conf.clone()]),
        )?;
        for (place, name) in self.nodes.clone().iter().enumerate() {
            self.start_node(place, name)?;
        }
        self.until("the nodes are idle", |cluster| {
            let states = cluster.asked("sinfo", &["--noheader", "--Node", "--format=%T"])?;
            Ok(states.lines().filter(|state| state.trim() == "idle").count() == cluster.nodes.len())
        })
    }

    fn start_node(&mut self, place: usize, name: &str) -> anyhow::Result<()> {
        let shared = &self.scratch.shared;
        let cache = self.scratch.path(&format!("cache-{name}"));
        fs::create_dir_all(cache.join("dbdyno"))?;
        shared.copy_kept(&cache.join("dbdyno"))?;
        shared.share_fingerprint(&cache)?;
        let (unshared, own) = (self.scratch.path("unshared"), self.scratch.path(&format!("unshared-{name}")));
        fs::create_dir_all(&unshared)?;
        fs::create_dir_all(&own)?;
        let script = "hostname \"$1\" && mount --bind \"$2\" \"$3\" && mount --bind \"$4\" \"$5\" && exec \"$6\" -D -f \"$7\"";
        let mut command = Command::new("ip");
        command
            .args([
                "netns",
                "exec",
                &self.cables[place].namespace,
                "unshare",
                "--uts",
                "--mount",
                "sh",
                "-c",
                script,
            ])
            .args(["sh", name])
            .args([&cache, &shared.cache, &own, &unshared])
            .args([DAEMONS[2], &self.conf]);
        self.daemon(name, &mut command)
    }

    fn daemon(&mut self, name: &str, command: &mut Command) -> anyhow::Result<()> {
        let said = fs::File::create(self.state.join(format!("{name}.said")))?;
        let child = command
            .stdin(Stdio::null())
            .stdout(said.try_clone()?)
            .stderr(said)
            .process_group(0)
            .spawn()
            .with_context(|| format!("failed to start {name}"))?;
        self.daemons.push(Daemon(child));
        Ok(())
    }

    /// Its configuration, as `$SLURM_CONF` names it.
    pub fn conf(&self) -> &str {
        &self.conf
    }

    /// A call of dbdyno where this Slurm is known.
    pub fn call<'b>(&self, arguments: impl IntoIterator<Item = &'b str>) -> Call<'a> {
        Call::new(self.scratch, arguments).variable("SLURM_CONF", &self.conf)
    }

    /// What a program of Slurm prints.
    pub fn asked(&self, program: &str, arguments: &[&str]) -> anyhow::Result<String> {
        let ended = Command::new(program)
            .args(arguments)
            .env("SLURM_CONF", &self.conf)
            .output()
            .with_context(|| format!("failed to start {program}"))?;
        let said = String::from_utf8_lossy(&ended.stderr);
        ensure!(ended.status.success(), "`{program} {}`: {}", arguments.join(" "), said.trim());
        Ok(String::from_utf8_lossy(&ended.stdout).into_owned())
    }

    /// Gives a node another state: `drain`, `down`, `resume`.
    pub fn set(&self, node: &str, state: &str) -> anyhow::Result<()> {
        let (node, state) = (format!("nodename={node}"), format!("state={state}"));
        self.asked("scontrol", &["update", &node, &state, "reason=test"]).map(|_| ())
    }

    /// Jobs that wait or run.
    pub fn left(&self) -> anyhow::Result<usize> {
        Ok(self.asked("squeue", &["--noheader", "--array"])?.lines().count())
    }

    fn until(&self, what: &str, holds: impl Fn(&Cluster<'_>) -> anyhow::Result<bool>) -> anyhow::Result<()> {
        let began = Instant::now();
        // Until it is there it cannot be asked.
        while !holds(self).unwrap_or(false) {
            if began.elapsed() > START_TIMEOUT {
                bail!("not so after {} s: {what}", START_TIMEOUT.as_secs());
            }
            thread::sleep(POLL);
        }
        Ok(())
    }

    /// What the daemons said, of a cluster that does not start.
    fn last_words(&self) -> String {
        let mut words = "the cluster does not start".to_owned();
        for entry in fs::read_dir(&self.state).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|extension| extension == "said" || extension == "log") {
                let text = fs::read_to_string(&path).unwrap_or_default();
                let last: Vec<&str> = text.lines().rev().take(5).collect();
                words += &format!("\n{}: {}", path.display(), last.join(" | "));
            }
        }
        words
    }
}

impl Drop for Cluster<'_> {
    fn drop(&mut self) {
        // Jobs first: nobody would end them later. If the controller is gone there are none.
        if self.asked("scancel", &["--user=root"]).is_ok() {
            let began = Instant::now();
            while self.left().is_ok_and(|left| left > 0) && began.elapsed() < STOP_TIMEOUT {
                thread::sleep(POLL);
            }
        }
        while let Some(daemon) = self.daemons.pop() {
            drop(daemon);
        }
        let _ = fs::remove_dir_all(&self.state);
    }
}

/// This end and the far end of the cable to a node; of the benchmarking range (RFC 2544), which no other network has.
fn address(cluster: u16, node: u16) -> (String, String) {
    let net = (16 * cluster + node) % 256;
    (format!("198.19.{net}.1"), format!("198.19.{net}.2"))
}
