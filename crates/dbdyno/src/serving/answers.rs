//! From a request to an answer: who may ask, which page, and what is said where there is none.

use super::access::{Access, Admission};
use super::asked::{Answer, Asked, Kind, Method};
use super::cache::Cache;
use super::pages;
use super::router::{Route, route};
use findings::conditions::RunConditions;
use model::causes::with_causes;
use report::document::Sentence;
use report::site::compare::RunFigures;
use report::site::links;
use report::site::message::{self, Message};
use std::path::PathBuf;
use store::Store;

/// Longer than any address that our pages make, names of 10 kB in it.
const MOST_TARGET_BYTES: usize = 64 << 10;
/// Seconds after which to come again.
const COME_AGAIN_S: &str = "2";
/// Pages of reports: some dozens of the largest.
const MOST_PAGE_BYTES: usize = 64 << 20;
/// Of what is kept besides; an entry is a few kilobytes.
const MOST_FACT_BYTES: usize = 16 << 20;

/// Everything that answers need.
pub struct Site {
    pub(super) store: PathBuf,
    access: Access,
    pub(super) kept: Kept,
}

/// What finished runs gave.
pub(super) struct Kept {
    /// Pages and files of reports.
    pub reports: Cache<Answer>,
    pub figures: Cache<RunFigures>,
    pub conditions: Cache<RunConditions>,
    pub sentences: Cache<Vec<Sentence>>,
}

/// Why there is no page.
pub(super) enum Failure {
    /// The store cannot be read, or has not what was asked for.
    Store(store::Error),
    /// There is no such thing.
    Nowhere(Message),
    /// The address makes no sense.
    Unclear(Message),
    Other(anyhow::Error),
}

impl From<store::Error> for Failure {
    fn from(error: store::Error) -> Failure {
        Failure::Store(error)
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Failure {
        match error.downcast::<store::Error>() {
            Ok(error) => Failure::Store(error),
            Err(error) => Failure::Other(error),
        }
    }
}

impl Site {
    pub fn new(store: PathBuf, access: Access) -> Site {
        let kept = Kept {
            reports: Cache::new(MOST_PAGE_BYTES),
            figures: Cache::new(MOST_FACT_BYTES),
            conditions: Cache::new(MOST_FACT_BYTES),
            sentences: Cache::new(MOST_FACT_BYTES),
        };
        Site { store, access, kept }
    }

    /// Answers a request. Nothing is changed by any.
    #[cfg(test)]
    pub fn answer(&self, asked: &Asked) -> Answer {
        self.refused(asked).unwrap_or_else(|| self.page(asked))
    }

    /// What is answered without opening the store: to those who may not ask, that they may not.
    pub fn refused(&self, asked: &Asked) -> Option<Answer> {
        if asked.target.len() > MOST_TARGET_BYTES {
            return Some(text(414, "the address is too long"));
        }
        match self.access.admit(asked) {
            Admission::Granted if asked.method == Method::Other => Some(
                text(405, "nothing is changed here: only GET and HEAD are answered")
                    .with("Allow", "GET, HEAD"),
            ),
            Admission::Granted => None,
            Admission::Misdirected => {
                Some(text(421, "this server is asked for by another address than the one it listens on"))
            }
            Admission::Embedded => Some(text(
                403,
                "a page of another site has this address in itself, as an image or a frame; open it by itself",
            )),
            Admission::NeedsToken => {
                let says = "a token is needed: `Authorization: Bearer TOKEN`, or once `?token=TOKEN` at the end of the address";
                Some(text(401, says).with("WWW-Authenticate", "Bearer"))
            }
            Admission::Welcome { cookie, location } => {
                Some(Answer::redirect(location).with("Set-Cookie", cookie))
            }
        }
    }

    /// The page, for who may ask for it.
    pub fn page(&self, asked: &Asked) -> Answer {
        self.routed(&asked.target).unwrap_or_else(|failure| self.told(failure))
    }

    fn routed(&self, target: &str) -> Result<Answer, Failure> {
        let store = || Store::open_to_browse(&self.store);
        match route(target) {
            Route::Runs { fields, page } => pages::runs::answer(self, &store()?, fields, page),
            Route::Report { run, selection } => pages::report::answer(self, &store()?, &run, &selection),
            Route::ReportFile { run, format } => pages::report::file(self, &store()?, &run, format),
            Route::RawList { run } => pages::raw::list(&store()?, &run),
            Route::Raw { run, output } => pages::raw::text(&store()?, &run, &output),
            Route::History { workload, step, engine } => {
                pages::history::answer(self, &store()?, workload, step, engine)
            }
            Route::Compare { a, b } => pages::compare::answer(self, &store()?, &a, &b),
            Route::Picked(runs) => pages::compare::picked(&store()?, &runs),
            Route::Hosts => pages::hosts::list(&store()?),
            Route::Host { name } => pages::hosts::answer(&store()?, name),
            Route::Campaign { id } => pages::campaign::answer(self, &store()?, &id),
            Route::Watches => pages::watch::answer(&store()?),
            Route::Live { run } => pages::live::page(&store()?, &run),
            Route::LiveJson { run } => pages::live::json(&store()?, &run),
            Route::Icon => Ok(Answer::nothing(204)),
            Route::Nowhere => Err(Failure::Nowhere(Message {
                title: "No such page".to_owned(),
                links: vec![("/".to_owned(), "all runs".to_owned())],
                ..Message::default()
            })),
        }
    }

    fn told(&self, failure: Failure) -> Answer {
        match failure {
            Failure::Nowhere(message) => Answer::page(404, message::page(&message)),
            Failure::Unclear(message) => Answer::page(400, message::page(&message)),
            Failure::Other(error) => {
                Answer::page(500, message::page(&said("This page cannot be made", &format!("{error:#}"))))
            }
            Failure::Store(error) => self.store_told(&error),
        }
    }

    fn store_told(&self, error: &store::Error) -> Answer {
        let text = format!("{error}.");
        match error {
            store::Error::Missing { .. } | store::Error::NoRuns { .. } => {
                Answer::page(404, message::page(&self.beginning()))
            }
            store::Error::Busy { .. } => {
                let mut message = said("The store is locked", &text);
                message.paragraphs.push("This page can be loaded again in a moment.".to_owned());
                Answer::page(503, message::page(&message)).with("Retry-After", COME_AGAIN_S)
            }
            store::Error::NoSuchRun { wanted, hint, newest, .. } => {
                let mut message = Message {
                    title: "No such run".to_owned(),
                    paragraphs: vec![format!(
                        "No run or import has the id, beginning or name `{wanted}`{hint}."
                    )],
                    ..Message::default()
                };
                message.links.push((links::report(newest), format!("{newest}, the newest run")));
                message.links.push(("/".to_owned(), "all runs".to_owned()));
                Answer::page(404, message::page(&message))
            }
            store::Error::AmbiguousRun { wanted, candidates, .. } => {
                let links = candidates.iter().map(|id| (links::report(id), id.clone()));
                let message = Message {
                    title: "Several runs".to_owned(),
                    paragraphs: vec![format!("`{wanted}` means more than one run:")],
                    links: links.collect(),
                    ..Message::default()
                };
                Answer::page(404, message::page(&message))
            }
            store::Error::Older { .. } | store::Error::OlderInUse { .. } => {
                let message = said("The store is of an earlier version, or is being made", &text);
                Answer::page(503, message::page(&message)).with("Retry-After", COME_AGAIN_S)
            }
            store::Error::CannotOpen { .. }
            | store::Error::NotAStore { .. }
            | store::Error::Newer { .. }
            | store::Error::OtherWriter { .. }
            | store::Error::NotALockFile { .. }
            | store::Error::ReadOnly { .. }
            | store::Error::DiskFull { .. }
            | store::Error::Damaged { .. }
            | store::Error::NoRoom { .. }
            | store::Error::SameStore { .. }
            | store::Error::EmptySpool { .. }
            | store::Error::Sql { .. }
            | store::Error::DuplicateRun { .. }
            | store::Error::RunNotBegun { .. } => {
                Answer::page(500, message::page(&said("The store cannot be read", &with_causes(error))))
            }
        }
    }

    /// What an empty store is answered with.
    pub(super) fn beginning(&self) -> Message {
        message::beginning(&self.store.display().to_string())
    }

    /// More is asked at once than can be answered.
    pub fn overloaded() -> Answer {
        text(503, "too many requests at once").with("Retry-After", COME_AGAIN_S)
    }

    /// Making the page ended in a panic.
    pub fn broken() -> Answer {
        text(500, "this page cannot be made; standard error of `dbdyno serve` says why")
    }
}

/// A message of one paragraph.
pub(super) fn said(title: &str, text: &str) -> Message {
    Message { title: title.to_owned(), paragraphs: vec![text.to_owned()], ..Message::default() }
}

fn text(status: u16, text: &str) -> Answer {
    Answer::new(status, Kind::TEXT, format!("{text}\n"))
}

#[cfg(test)]
mod tests;
