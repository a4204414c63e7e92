//! The worker as a side of a race: it reads its requests from a file and writes its replies to one.

use anyhow::{Context, bail, ensure};
use model::address::ServerAddress;
use model::wire::{BlockLimit, BlockReport, Library, Reply, Request, StepSetup};
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

/// One block of a step, which is begun and ended for it.
pub fn step(setup: StepSetup, limit: BlockLimit) -> [Request; 3] {
    [
        Request::Prepare(Box::new(setup)),
        Request::RunBlock { limit, warm_up: false, seconds: false },
        Request::FinishStep,
    ]
}

/// These requests to a worker that has loaded a server.
pub fn on_server(address: &ServerAddress, requests: Vec<Request>) -> Vec<Request> {
    let load = Request::Load { library: Library::Server { address: address.clone() } };
    [vec![load], requests, vec![Request::Close, Request::Exit]].concat()
}

/// A worker that handles these requests, which are kept beside its output.
pub fn command(dbdyno: &Path, requests: &[Request], output: &Path) -> anyhow::Result<Command> {
    let mut text = String::new();
    for request in requests {
        text += &serde_json::to_string(request).context("failed to write a request")?;
        text.push('\n');
    }
    let input = output.with_extension("in");
    fs::write(&input, text).with_context(|| format!("failed to write `{}`", input.display()))?;
    let input = File::open(&input).with_context(|| format!("failed to open `{}`", input.display()))?;
    let mut command = Command::new(dbdyno);
    command.arg("worker").stdin(input).stdout(create(output)?);
    Ok(command)
}

/// Runs a worker that handles these requests to its end.
pub fn answered(dbdyno: &Path, requests: &[Request], output: &Path) -> anyhow::Result<()> {
    let status = command(dbdyno, requests, output)?.status().context("failed to start the worker")?;
    ensure!(status.success(), "the worker failed ({status}): {}", read(output)?);
    Ok(())
}

/// All that a worker answered.
pub fn replies(output: &Path) -> anyhow::Result<Vec<Reply>> {
    let reply = |line: &str| serde_json::from_str(line).with_context(|| format!("not a reply: {line}"));
    read(output)?.lines().map(reply).collect()
}

/// The first text that a worker answered with.
pub fn text(output: &Path) -> anyhow::Result<String> {
    let text = replies(output)?.into_iter().find_map(|reply| match reply {
        Reply::Text { text } => text,
        _ => None,
    });
    text.with_context(|| format!("the worker told no text: `{}`", output.display()))
}

/// The blocks that a worker reported, in which nothing failed; no request may have failed either.
pub fn blocks(output: &Path) -> anyhow::Result<Vec<BlockReport>> {
    let mut blocks = Vec::new();
    for reply in replies(output)? {
        match reply {
            Reply::Failed { message, .. } => bail!("the worker failed: {message}"),
            Reply::Block(block) => {
                let failed = block.failed_operations;
                ensure!(failed == 0, "{failed} operations failed: {:?}", block.first_error);
                blocks.push(block);
            }
            Reply::Loaded { .. }
            | Reply::Opened
            | Reply::BulkLoaded { .. }
            | Reply::Scanned { .. }
            | Reply::Prepared
            | Reply::Second(_)
            | Reply::Text { .. }
            | Reply::CompanionSecond { .. }
            | Reply::StepFinished { .. }
            | Reply::Settled { .. }
            | Reply::TablesClaimed
            | Reply::TablesDropped
            | Reply::OthersWatched { .. }
            | Reply::Shape(_)
            | Reply::Abandoned
            | Reply::Closed
            | Reply::Bye { .. } => {}
        }
    }
    Ok(blocks)
}

/// A file for what a program prints.
pub fn create(path: &Path) -> anyhow::Result<File> {
    File::create(path).with_context(|| format!("failed to create `{}`", path.display()))
}

/// What a program printed.
pub fn read(path: &Path) -> anyhow::Result<String> {
    let bytes = fs::read(path).with_context(|| format!("failed to read `{}`", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
