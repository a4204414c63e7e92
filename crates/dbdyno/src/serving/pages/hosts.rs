//! The hosts, and one of them over time.

use super::super::answers::{Failure, said};
use super::super::asked::Answer;
use ::report::site::hosts::{self, HostPage, HostRow};
use ::report::site::links;
use std::collections::BTreeMap;
use store::Store;

/// Fingerprints on a page: the newest. Two months of a host that measures day and night.
const MOST_FINGERPRINTS: u32 = 240;

/// Jobs on the page of all hosts: the newest.
const MOST_JOBS: u32 = 200;

/// Those with runs, and those that were only measured.
pub fn list(store: &Store) -> Result<Answer, Failure> {
    let unmeasured = |name: String| (name.clone(), HostRow { name, fingerprints: 0, last_at_us: None });
    let mut rows: BTreeMap<String, HostRow> = store.choices()?.hosts.into_iter().map(unmeasured).collect();
    for host in store.measured_hosts()? {
        let (fingerprints, last_at_us) = (host.fingerprints, Some(host.last_at_us));
        rows.insert(host.name.clone(), HostRow { name: host.name, fingerprints, last_at_us });
    }
    let jobs = store.newest_jobs(MOST_JOBS)?;
    Ok(Answer::page(200, hosts::list(&rows.into_values().collect::<Vec<_>>(), &jobs)))
}

/// The page of one.
pub fn answer(store: &Store, name: String) -> Result<Answer, Failure> {
    let fingerprints = store.fingerprints(&name, MOST_FINGERPRINTS)?;
    let all = store.measured_hosts()?.into_iter().find(|host| host.name == name);
    if all.is_none() && !store.choices()?.hosts.contains(&name) {
        let mut message = said("No such host", &format!("Nothing was measured on a host `{name}`."));
        message.links.push((links::HOSTS.to_owned(), "all hosts".to_owned()));
        return Err(Failure::Nowhere(message));
    }
    let older = all.map_or(0, |all| all.fingerprints.saturating_sub(fingerprints.len() as u64));
    Ok(Answer::page(200, hosts::page(&HostPage { name, fingerprints, older })))
}
