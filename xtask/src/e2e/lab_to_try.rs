//! `cargo xtask lab`: a lab on one machine, to try by hand what `docs/lab.md` says. Its hosts are those of the end-to-end cases.

use super::Ending;
use super::lab::Lab;
use super::scratch::{Scratch, Shared};
use super::slurm_cluster::Cluster;
use crate::workspace;
use anyhow::{Context, bail};
use std::fs;

#[derive(clap::Args)]
pub struct Arguments {
    /// How many hosts, or nodes of Slurm
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=9))]
    hosts: u16,
    /// Nodes of a Slurm of its own, instead of hosts that ssh reaches
    #[arg(long)]
    slurm: bool,
}

/// Says how the lab is reached, and takes it down at the end of a line.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let shared = Shared::prepare(&workspace::release_build()?)?;
    let scratch = Scratch::new(&shared, "lab to try")?;
    println!("PATH={}:$PATH", scratch.shared.binary.parent().context("a program has a directory")?.display());
    if arguments.slurm {
        let jobs = scratch.path("jobs");
        fs::create_dir_all(&jobs).with_context(|| format!("failed to create `{}`", jobs.display()))?;
        let cluster = there(Cluster::set_up(&scratch, arguments.hosts, "lab")?)?;
        println!("export PATH SLURM_CONF={}", cluster.conf());
        println!("dbdyno run PLAN --slurm --jobs {} --jobs-dir {}", arguments.hosts, jobs.display());
        return until_a_line_ends();
    }
    let names: Vec<String> = (1..=arguments.hosts).map(|number| format!("lab-{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let lab = there(Lab::with_servers(&scratch, &names, &[])?)?;
    println!("export PATH DBDYNO_SSH='{}'", lab.ssh());
    println!("dbdyno run PLAN --hosts {}", names.join(","));
    println!(
        "dbdyno compare postgres@15.7 postgres@16.3 --workload sysbench.quick --server-host ssh://{}",
        names[0]
    );
    until_a_line_ends()
}

fn there<T>(lab: Result<T, Ending>) -> anyhow::Result<T> {
    match lab {
        Ok(lab) => Ok(lab),
        Err(Ending::Skipped { reason } | Ending::NotHere { reason }) => bail!("{reason}"),
        Err(Ending::Passed) => bail!("there is no lab, and nobody says why"),
    }
}

/// Ctrl-C would leave what was started behind.
fn until_a_line_ends() -> anyhow::Result<()> {
    println!("Its hosts are one machine: give it one job at a time. Enter takes it down.");
    // SAFETY: the handler is the kernel's own, which does nothing; all that inherits it was started before.
    unsafe {
        libc::signal(libc::SIGINT, libc::SIG_IGN);
    }
    std::io::stdin().read_line(&mut String::new()).map(drop).context("failed to read a line")
}
