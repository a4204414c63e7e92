//! One file for each kind of page: reads what it needs, gives it to `report`, and keeps what does not change.

pub mod campaign;
pub mod compare;
pub mod history;
pub mod hosts;
pub mod live;
pub mod raw;
pub mod report;
pub mod runs;
pub mod watch;

use super::answers::{Failure, Site};
use findings::conditions::RunConditions;
use model::listing::RunHead;
use std::sync::Arc;
use store::Store;

/// The run that is meant: by its id, a beginning of it, its name, or `last`.
fn run_called(store: &Store, wanted: &str) -> Result<RunHead, Failure> {
    match store.run_head(wanted)? {
        Some(head) => Ok(head),
        None => {
            let id = store.find_run(wanted)?;
            store.run_head(&id)?.ok_or_else(|| Failure::Other(anyhow::anyhow!("run {id} has gone")))
        }
    }
}

/// What a run was measured under: fixed when it begins.
fn conditions(site: &Site, store: &Store, id: &str) -> Result<Arc<RunConditions>, Failure> {
    /// What an entry takes, about: its steps and subjects.
    const BYTES: usize = 8 << 10;
    if let Some(known) = site.kept.conditions.get(id) {
        return Ok(known);
    }
    let (plan, host) = store.run_plan(id)?;
    let fingerprint = store.fingerprint_of_run(id)?;
    Ok(site.kept.conditions.put(id.to_owned(), RunConditions::of(&plan, &host, fingerprint.as_ref()), BYTES))
}
