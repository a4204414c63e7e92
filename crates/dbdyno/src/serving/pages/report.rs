//! The report of a run: as a page, of some steps or subjects, and as the files that `dbdyno report` makes.

use super::super::answers::{Failure, Site, said};
use super::super::asked::{Answer, Kind};
use super::super::router::FileFormat;
use ::report::calibration::CalibrationView;
use ::report::campaign::CampaignView;
use ::report::document::{Document, Sentence};
use ::report::selection::{NoSuchPart, Selection};
use ::report::site::compare::{RunFigures, of_campaign, of_comparison};
use ::report::site::links;
use ::report::site::shell;
use ::report::text::TextOptions;
use ::report::view::ReportView;
use anyhow::Context;
use model::import::ImportRecord;
use model::plan::Purpose;
use model::record::{RunRecord, RunStatus};
use std::slice::from_ref;
use std::sync::Arc;
use store::{RunHead, Store};

/// Columns of a table as text: what a wide window holds.
const TEXT_WIDTH: usize = 140;

/// What an address names.
enum Named {
    Run(RunHead),
    Import(ImportRecord),
    /// By less than its id: its address is another one.
    Elsewhere(String),
}

/// The page.
pub fn answer(site: &Site, store: &Store, wanted: &str, selection: &Selection) -> Result<Answer, Failure> {
    match named(store, wanted)? {
        Named::Elsewhere(id) => Ok(Answer::redirect(links::report_of(&id, selection))),
        Named::Import(import) => {
            let document = ::report::import::document(&::report::import::build(&import));
            Ok(Answer::page(200, framed(&document, &import.id, &WITH_TABLE)))
        }
        Named::Run(head) => {
            let stamp = stamp(store, &head)?;
            let key = format!("{stamp}page\0{:?}\0{:?}", selection.steps, selection.subjects);
            kept(site, &head, key, || {
                let (document, sentences) = document(store, &head, selection)?;
                if selection.is_all() {
                    let key = sentences_key(&head.id, head.ended_at_us);
                    site.kept.sentences.put(key, sentences, SENTENCE_BYTES);
                }
                Ok(Answer::page(200, framed(&document, &head.id, endings(head.purpose))))
            })
        }
    }
}

/// The same as a file.
pub fn file(site: &Site, store: &Store, wanted: &str, format: FileFormat) -> Result<Answer, Failure> {
    let kind = kind(format);
    match named(store, wanted)? {
        Named::Elsewhere(id) => Ok(Answer::redirect(links::report_file(&id, ending(format)))),
        Named::Import(import) => {
            let view = ::report::import::build(&import);
            let text = match format {
                FileFormat::Json => ::report::import::json(&view).context("failed to render JSON")?,
                FileFormat::Markdown => ::report::import::markdown(&view),
                FileFormat::Text => ::report::import::text(&view, text_options()),
                FileFormat::Csv => ::report::import::csv(&view),
                FileFormat::Tsv => ::report::import::tsv(&view),
            };
            Ok(Answer::new(200, kind, text))
        }
        Named::Run(head) => {
            let key = format!("{}file\0{}", stamp(store, &head)?, ending(format));
            kept(site, &head, key, || {
                let record = store.load_run(&head.id)?;
                let text = match head.purpose {
                    Purpose::Campaign => of_campaign_as(&::report::campaign::build(&record), format)?,
                    Purpose::Calibrate => of_calibration_as(&record, format)?,
                    Purpose::Compare => {
                        let calibration = calibration_of(store, &record)?;
                        of_comparison_as(&::report::build(&record, calibration.as_ref()), format)?
                    }
                };
                Ok(Answer::new(200, kind, text))
            })
        }
    }
}

/// What the report of a run says of its steps, in short.
pub fn figures(site: &Site, store: &Store, head: &RunHead) -> Result<Arc<RunFigures>, Failure> {
    /// What an entry takes, about, for each step and subject.
    const BYTES: usize = 400;
    let key = stamp(store, head)?;
    if let Some(known) = site.kept.figures.get(&key) {
        return Ok(known);
    }
    let record = store.load_run(&head.id)?;
    let figures = match head.purpose {
        Purpose::Campaign => of_campaign(&::report::campaign::build(&record)),
        Purpose::Compare | Purpose::Calibrate => {
            let calibration = calibration_of(store, &record)?;
            of_comparison(&::report::build(&record, calibration.as_ref()))
        }
    };
    let bytes = BYTES * figures.steps.values().map(Vec::len).sum::<usize>();
    match head.status {
        RunStatus::Unfinished => Ok(Arc::new(figures)),
        RunStatus::Ended(_) => Ok(site.kept.figures.put(key, figures, bytes)),
    }
}

/// What the sentences of a run take, about.
const SENTENCE_BYTES: usize = 2 << 10;

/// Under which the sentences of a run are kept.
pub fn sentences_key(id: &str, ended_at_us: Option<i64>) -> String {
    format!("{id}\0{ended_at_us:?}")
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
    match store.find_import(wanted)? {
        Some(id) if id == wanted => Ok(Named::Import(store.load_import(&id)?)),
        Some(id) => Ok(Named::Elsewhere(id)),
        None => Err(unknown.into()),
    }
}

/// Changes where anything changes that a report is made of: the run's name and end, and the calibration that holds for
/// its host.
fn stamp(store: &Store, head: &RunHead) -> Result<String, Failure> {
    let calibration = store.last_calibration(&head.boot_id, &head.tool_version)?;
    Ok(format!("{}\0{:?}\0{:?}\0{:?}\0{calibration:?}\0", head.id, head.name, head.status, head.ended_at_us))
}

/// Reports of finished runs are made once.
fn kept(
    site: &Site,
    head: &RunHead,
    key: String,
    make: impl FnOnce() -> Result<Answer, Failure>,
) -> Result<Answer, Failure> {
    if head.status == RunStatus::Unfinished {
        return make();
    }
    if let Some(known) = site.kept.reports.get(&key) {
        return Ok((*known).clone());
    }
    let made = make()?;
    let bytes = made.body.len();
    Ok((*site.kept.reports.put(key, made, bytes)).clone())
}

/// The files that a report with a table can be had as, and their names.
static WITH_TABLE: [(&str, &str); 5] =
    [("json", "JSON"), ("md", "Markdown"), ("txt", "text"), ("csv", "CSV"), ("tsv", "TSV")];

fn endings(purpose: Purpose) -> &'static [(&'static str, &'static str)] {
    match purpose {
        Purpose::Campaign => &WITH_TABLE,
        Purpose::Compare | Purpose::Calibrate => &WITH_TABLE[..3],
    }
}

fn framed(document: &Document, id: &str, endings: &[(&str, &str)]) -> String {
    shell::framed_report(&::report::html::render(document), id, endings)
}

/// The report as a document, and what was found.
fn document(
    store: &Store,
    head: &RunHead,
    selection: &Selection,
) -> Result<(Document, Vec<Sentence>), Failure> {
    let whole = store.load_run(&head.id)?;
    let refused = |reason: NoSuchPart| {
        let mut message = said("No such part", &format!("{reason}."));
        message.links.push((links::report(&head.id), "the whole report".to_owned()));
        Failure::Nowhere(message)
    };
    let document = match head.purpose {
        Purpose::Compare => {
            let calibration = calibration_of(store, &whole)?;
            let view = ::report::build(&whole, calibration.as_ref());
            let part = selection.of(whole).map_err(refused)?;
            let host = store.host_samples(&head.id)?;
            ::report::comparison_document(&part.of_comparison(view), &part.record, &host)
        }
        Purpose::Campaign => {
            let view = ::report::campaign::build(&whole);
            let part = selection.of(whole).map_err(refused)?;
            let host = store.host_samples(&head.id)?;
            ::report::campaign::document(&part.of_campaign(view), &part.record, &host)
        }
        Purpose::Calibrate => {
            let view = calibration(&whole)?;
            let part = selection.of(whole).map_err(refused)?;
            let mut document = ::report::calibration::document(&part.of_calibration(view));
            document.preface.splice(0..0, part.sentence().map(str::to_owned));
            document
        }
    };
    let sentences = document.verdicts.clone();
    Ok((document, sentences))
}

/// The last calibration of the host that a run was made on, in the same boot and by the same version.
fn calibration_of(store: &Store, record: &RunRecord) -> Result<Option<RunRecord>, Failure> {
    let id = store.last_calibration(&record.host.boot_id, &record.plan.tool_version)?;
    Ok(id.map(|id| store.load_run(&id)).transpose()?)
}

fn of_comparison_as(view: &ReportView, format: FileFormat) -> Result<String, Failure> {
    Ok(match format {
        FileFormat::Json => ::report::json::render(view).context("failed to render JSON")?,
        FileFormat::Markdown => ::report::markdown::render(view),
        FileFormat::Text => ::report::text::render(view, text_options()),
        FileFormat::Csv | FileFormat::Tsv => return Err(no_table()),
    })
}

fn of_campaign_as(view: &CampaignView, format: FileFormat) -> Result<String, Failure> {
    Ok(match format {
        FileFormat::Json => ::report::campaign::json(view).context("failed to render JSON")?,
        FileFormat::Markdown => ::report::campaign::markdown(view),
        FileFormat::Text => ::report::campaign::text(view, text_options(), false),
        FileFormat::Csv => ::report::campaign::csv(view),
        FileFormat::Tsv => ::report::campaign::tsv(view),
    })
}

fn of_calibration_as(record: &RunRecord, format: FileFormat) -> Result<String, Failure> {
    let view = calibration(record)?;
    Ok(match format {
        FileFormat::Json => ::report::calibration::json(&view).context("failed to render JSON")?,
        FileFormat::Markdown => ::report::calibration::markdown(&view),
        FileFormat::Text => ::report::calibration::text(&view, text_options()),
        FileFormat::Csv | FileFormat::Tsv => return Err(no_table()),
    })
}

fn calibration(record: &RunRecord) -> anyhow::Result<CalibrationView> {
    ::report::calibration::build(from_ref(record)).context("no calibration was run")
}

fn no_table() -> Failure {
    Failure::Nowhere(said(
        "Not to be had",
        "Only campaigns and imports have a table of columns: take report.json.",
    ))
}

fn text_options() -> TextOptions {
    TextOptions { width: TEXT_WIDTH, colour: false }
}

fn kind(format: FileFormat) -> Kind {
    match format {
        FileFormat::Json => Kind::Json,
        FileFormat::Markdown => Kind::Markdown,
        FileFormat::Text | FileFormat::Tsv => Kind::Text,
        FileFormat::Csv => Kind::Csv,
    }
}

fn ending(format: FileFormat) -> &'static str {
    match format {
        FileFormat::Json => "json",
        FileFormat::Markdown => "md",
        FileFormat::Text => "txt",
        FileFormat::Csv => "csv",
        FileFormat::Tsv => "tsv",
    }
}
