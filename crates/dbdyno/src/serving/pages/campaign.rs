//! A campaign on several hosts: what was found on how many of them, and each run.

use super::super::answers::{Failure, said};
use super::super::asked::Answer;
use crate::finding;
use ::report::render::{Format, Options, Output, TextOptions, render};
use ::report::site::{links, shell};
use anyhow::anyhow;
use findings::selection::Selection;
use model::record::RunRecord;
use store::Store;

/// The page.
pub fn answer(store: &Store, id: &str) -> Result<Answer, Failure> {
    let ids = store.runs_of_campaign(id)?;
    if ids.is_empty() {
        let mut message = said("No such campaign", &format!("No run of a campaign `{id}` is in the store."));
        message.links.push((links::HOSTS.to_owned(), "all hosts and their jobs".to_owned()));
        return Err(Failure::Nowhere(message));
    }
    let records: Vec<RunRecord> = ids.iter().map(|id| store.load_run(id)).collect::<Result<_, _>>()?;
    let findings = finding::of_hosts(store, records, &Selection::default(), &store.jobs(id)?)?;
    let format = Format::named("html").ok_or_else(|| anyhow!("there is no format html"))?;
    let options = Options::new(TextOptions { width: 0, colour: false, detail: false });
    match render(&findings, format, &options).map_err(anyhow::Error::new)? {
        Output::Text(page) => Ok(Answer::page(200, shell::framed_campaign(&page))),
        Output::Files(_) => Err(Failure::Other(anyhow!("a page is one file"))),
    }
}
