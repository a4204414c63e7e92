//! The report of a run, an import or a bisection: as a page, of some steps or subjects, and as the files that
//! `dbdyno report` makes.

use super::super::answers::{Failure, Site, said};
use super::super::asked::{Answer, Kind};
use super::conditions;
use crate::finding;
use ::report::document::Sentence;
use ::report::render::{FORMATS, Format, Options, Output, TextOptions, html, render};
use ::report::site::compare::{self, RunFigures};
use ::report::site::{links, shell};
use findings::Finding;
use findings::build_noise::BUILD_NOISE;
use findings::selection::{NoSuchPart, Selection};
use model::listing::RunHead;
use model::record::RunStatus;
use std::slice::from_ref;
use std::sync::Arc;
use store::Store;

/// Columns of a table as text: what a wide window holds.
const TEXT_WIDTH: usize = 140;

/// What an address names.
enum Named {
    Run(RunHead),
    /// An import or a bisection.
    Other(Box<Finding>),
    /// By less than its id: its address is another one.
    Elsewhere(String),
}

/// The page.
pub fn answer(site: &Site, store: &Store, wanted: &str, selection: &Selection) -> Result<Answer, Failure> {
    match named(store, wanted)? {
        Named::Elsewhere(id) => Ok(Answer::redirect(links::report_of(&id, selection))),
        Named::Other(finding) => Ok(Answer::page(200, framed(&finding, wanted, None))),
        Named::Run(head) => {
            let stamp = stamp(site, store, &head)?;
            let key = format!("{stamp}page\0{:?}\0{:?}", selection.steps, selection.subjects);
            kept(site, has_ended(&head), key, || {
                let finding =
                    of_part(finding::of_run(store, store.load_run(&head.id)?, selection), &head.id)?;
                let host = store.run_plan(&head.id)?.1.name;
                Ok(Answer::page(200, framed(&finding, &head.id, Some(&host))))
            })
        }
    }
}

/// The same as a file.
pub fn file(site: &Site, store: &Store, wanted: &str, format: &Format) -> Result<Answer, Failure> {
    match named(store, wanted)? {
        Named::Elsewhere(id) => {
            Ok(Answer::redirect(links::report_file(&id, format.ending.unwrap_or_default())))
        }
        Named::Other(finding) => as_file(&finding, format),
        Named::Run(head) => {
            let key = format!("{}file\0{}", stamp(site, store, &head)?, format.name);
            kept(site, has_ended(&head), key, || {
                let record = store.load_run(&head.id)?;
                as_file(&finding::of_run(store, record, &Selection::default())?, format)
            })
        }
    }
}

fn as_file(finding: &Finding, format: &Format) -> Result<Answer, Failure> {
    let options = Options::new(TextOptions { width: TEXT_WIDTH, colour: false, detail: false });
    match render(from_ref(finding), format, &options) {
        Ok(Output::Text(text)) => Ok(Answer::new(200, Kind::File(format.media_type), text)),
        Ok(Output::Files(_)) => Err(Failure::Nowhere(said("Not available", "These are several files."))),
        Err(error) if error.is_of_what_was_asked() => {
            Err(Failure::Nowhere(said("Not available", &format!("{error}."))))
        }
        Err(error) => Err(Failure::Other(error.into())),
    }
}

/// What the report of a run says of its steps, in short.
pub fn figures(site: &Site, store: &Store, head: &RunHead) -> Result<Arc<RunFigures>, Failure> {
    /// What an entry takes, about, for each step and subject.
    const BYTES: usize = 400;
    let key = stamp(site, store, head)?;
    if let Some(known) = site.kept.figures.get(&key) {
        return Ok(known);
    }
    let figures = compare::figures(&finding::comparison(store, &store.load_run(&head.id)?)?);
    let bytes = BYTES * figures.steps.values().map(Vec::len).sum::<usize>();
    match head.status {
        RunStatus::Unfinished => Ok(Arc::new(figures)),
        RunStatus::Ended(_) => Ok(site.kept.figures.put(key, figures, bytes)),
    }
}

/// What was found in a run, an import or a bisection that keeps no word of it: it was measured by an older version.
pub fn found(site: &Site, store: &Store, id: &str) -> Result<Arc<Vec<Sentence>>, Failure> {
    /// What an entry takes, about.
    const BYTES: usize = 2 << 10;
    let head = store.run_head(id)?;
    let key = match &head {
        Some(head) => stamp(site, store, head)?,
        None => id.to_owned(),
    };
    if let Some(known) = site.kept.sentences.get(&key) {
        return Ok(known);
    }
    let sentences = match &head {
        Some(head) => finding::found(store, &store.load_run(&head.id)?)?,
        None => finding::of_other(store, id)?.map(|one| ::report::document(&one).found).unwrap_or_default(),
    };
    Ok(site.kept.sentences.put(key, sentences, BYTES))
}

fn named(store: &Store, wanted: &str) -> Result<Named, Failure> {
    if let Some(head) = store.run_head(wanted)? {
        return Ok(Named::Run(head));
    }
    let unknown = match store.find_run(wanted) {
        Ok(id) => return Ok(Named::Elsewhere(id)),
        Err(error @ (store::Error::NoSuchRun { .. } | store::Error::NoRuns { .. })) => error,
        Err(error) => return Err(error.into()),
    };
    if let Some(finding) = finding::of_other(store, wanted)? {
        return Ok(Named::Other(Box::new(finding)));
    }
    finding::other_called(store, wanted)?.map(Named::Elsewhere).ok_or_else(|| unknown.into())
}

/// Changes where anything changes that a report is made of: the run's name and end, and the calibrations that count
/// for it, those of builds of one source too.
pub(super) fn stamp(site: &Site, store: &Store, head: &RunHead) -> Result<String, Failure> {
    let self_tests = store.self_tests_known(&head.id)?;
    let build_noise = store.last_named(BUILD_NOISE, conditions(site, store, &head.id)?.host())?;
    let RunHead { id, name, status, ended_at_us, .. } = head;
    Ok(format!("{id}\0{name:?}\0{status:?}\0{ended_at_us:?}\0{self_tests:?}\0{build_noise:?}\0"))
}

/// Whether what it measured stays as it is.
pub(super) fn has_ended(head: &RunHead) -> bool {
    head.status != RunStatus::Unfinished
}

/// Reports of runs that have ended are made once.
pub(super) fn kept(
    site: &Site,
    has_ended: bool,
    key: String,
    make: impl FnOnce() -> Result<Answer, Failure>,
) -> Result<Answer, Failure> {
    if !has_ended {
        return make();
    }
    if let Some(known) = site.kept.reports.get(&key) {
        return Ok((*known).clone());
    }
    let made = make()?;
    let bytes = made.body.len();
    Ok((*site.kept.reports.put(key, made, bytes)).clone())
}

/// The report within the frame of the site, with links to the files that it can be had as.
fn framed(finding: &Finding, id: &str, host: Option<&str>) -> String {
    let has = FORMATS.iter().filter(|format| format.is_of(finding));
    let files: Vec<(&str, &str)> = has.filter_map(|format| Some((format.ending?, format.name))).collect();
    shell::framed_report(&html::render(&::report::document(finding)), id, &files, host)
}

/// A part that the run has not is no page.
fn of_part(finding: anyhow::Result<Finding>, id: &str) -> Result<Finding, Failure> {
    finding.map_err(|error| match error.downcast::<NoSuchPart>() {
        Ok(reason) => {
            let mut message = said("No such part", &format!("{reason}."));
            message.links.push((links::report(id), "the whole report".to_owned()));
            Failure::Nowhere(message)
        }
        Err(error) => error.into(),
    })
}
