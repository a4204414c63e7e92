//! A campaign on several hosts: what was found on how many of them, and where the report of each run is.

use super::super::answers::{Failure, Site, said};
use super::super::asked::Answer;
use super::report::{has_ended, kept, stamp};
use super::run_called;
use crate::finding;
use ::report::render::{Format, Options, Output, TextOptions, render};
use ::report::site::{links, shell};
use anyhow::anyhow;
use findings::Finding;
use findings::selection::Selection;
use model::job::Job;
use model::listing::RunHead;
use store::Store;

/// The page. Like the report of a run it is made once, until a run or a job of the campaign is another one.
pub fn answer(site: &Site, store: &Store, id: &str) -> Result<Answer, Failure> {
    let ids = store.runs_of_campaign(id)?;
    if ids.is_empty() {
        let mut message = said("No such campaign", &format!("No run of a campaign `{id}` is in the store."));
        message.links.push((links::HOSTS.to_owned(), "all hosts and their jobs".to_owned()));
        return Err(Failure::Nowhere(message));
    }
    let heads: Vec<RunHead> = ids.iter().map(|id| run_called(store, id)).collect::<Result<_, Failure>>()?;
    let jobs = store.jobs(id)?;
    let mut key = "campaign\0".to_owned();
    for head in &heads {
        key += &stamp(site, store, head)?;
    }
    for job in &jobs {
        key += &format!("{} {:?} {}\0", job.host, job.state, job.changed_at_us);
    }
    kept(site, heads.iter().all(has_ended), key, || page(store, &ids, &jobs))
}

/// The reports of fifty runs are no page: each is one by itself. The runs of one host, which hold over none, stand on it.
fn page(store: &Store, ids: &[String], jobs: &[Job]) -> Result<Answer, Failure> {
    let hosts = finding::over_hosts_alone(store, ids, jobs)?;
    let findings = if hosts.findings.is_empty() {
        let records = ids.iter().map(|id| store.load_run(id)).collect::<Result<_, _>>()?;
        finding::of_hosts(store, records, &Selection::default(), jobs)?
    } else {
        hosts.findings
    };
    let has_reports = findings.iter().any(|finding| matches!(finding, Finding::Comparison(_)));
    let runs = if has_reports { Vec::new() } else { hosts.runs };
    let format = Format::named("html").ok_or_else(|| anyhow!("there is no format html"))?;
    let options = Options::new(TextOptions { width: 0, colour: false, detail: false });
    match render(&findings, format, &options).map_err(anyhow::Error::new)? {
        Output::Text(page) => Ok(Answer::page(200, shell::framed_campaign(&page, &runs))),
        Output::Files(_) => Err(Failure::Other(anyhow!("a page is one file"))),
    }
}
