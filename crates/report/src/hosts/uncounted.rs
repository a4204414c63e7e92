//! What is in no count of a report over hosts: runs that cannot be compared with the others, and jobs that are not done.

use crate::document::Kind::{Name, Prose, Word};
use crate::document::{Block, Sentence, Table};
use findings::hosts::{HostsView, UncountedRun, UnfinishedJob};
use model::figures::first_of;
use serde_json::{Value, json};

/// In a sentence each, so that no count is read as one of all hosts.
pub fn found(view: &HostsView, most_named: usize) -> Vec<Sentence> {
    let runs: Vec<String> =
        view.uncounted.iter().map(|run| format!("run {} of {} ({})", run.run, run.host, run.why)).collect();
    let jobs: Vec<String> = view.unfinished.iter().map(job).collect();
    [("In no count", runs), ("Not all is measured on", jobs)]
        .into_iter()
        .filter(|(_, named)| !named.is_empty())
        .map(|(says, named)| Sentence {
            verdict: None,
            text: format!("{says}: {}.", first_of(&named, most_named)),
        })
        .collect()
}

/// "lab-b (failed: it was killed by signal 9)"
fn job(job: &UnfinishedJob) -> String {
    let message = job.message.as_ref().map(|message| format!(": {message}")).unwrap_or_default();
    format!("{} ({}{message})", job.host, job.state.name())
}

/// All of them.
pub fn tables(view: &HostsView) -> Vec<Block> {
    let runs = Table::by_columns(
        &view.uncounted,
        &[
            ("host", Name, &|run| run.host.clone()),
            ("workload", Name, &|run| run.workload.clone()),
            ("design", Word, &|run| run.design.to_owned()),
            ("why", Prose, &|run| run.why.to_string()),
            ("run", Word, &|run| run.run.clone()),
        ],
    );
    let jobs = Table::by_columns(
        &view.unfinished,
        &[
            ("host", Name, &|job| job.host.clone()),
            ("state", Word, &|job| job.state.name().to_owned()),
            ("message", Prose, &|job| job.message.clone().unwrap_or_default()),
        ],
    );
    [runs.captioned("Runs that are in no count."), jobs.captioned("Jobs that are not done.")]
        .into_iter()
        .filter_map(Table::unless_empty)
        .map(Block::Table)
        .collect()
}

/// The keys of scripts, of a run.
pub fn json(run: &UncountedRun) -> Value {
    json!({
        "host": run.host,
        "run": run.run,
        "workload": run.workload,
        "design": run.design,
        "why": run.why.name(),
        "text": run.why.to_string(),
    })
}
