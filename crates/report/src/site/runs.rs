//! The list of runs, imports and bisections: newest first, a page at a time, narrowed down by a form that is a URL.

use super::cells::{headers, name, number_headers, own_values, select, sentence, table, time};
use super::filter::FilterFields;
use super::links;
use super::shell::{self, Here};
use crate::document::Sentence;
use maud::{Markup, html};
use model::event::RunOutcome;
use model::figures::{NONE, count, span};
use model::plan::Purpose;
use model::record::RunStatus;

/// The list, ready to be laid out.
#[derive(Debug, Clone, PartialEq)]
pub struct RunsView {
    /// What it is narrowed down to.
    pub fields: FilterFields,
    /// Engines, workloads and hosts to choose from.
    pub choices: FilterChoices,
    pub rows: Vec<RunRow>,
    /// How many there are on all pages.
    pub total: u64,
    pub page: u64,
    /// How many stand on a page.
    pub per_page: u64,
    /// What of the URL could not be understood: a sentence each.
    pub problems: Vec<String>,
}

/// What the form offers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FilterChoices {
    pub engines: Vec<String>,
    pub workloads: Vec<String>,
    pub hosts: Vec<String>,
}

/// What a row of the list is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowKind {
    Run(Purpose),
    Import,
    Bisection,
}

/// A run, an import or a bisection.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRow {
    pub id: String,
    /// The name that the user gave it.
    pub name: Option<String>,
    pub kind: RowKind,
    /// How it ended, or that it did not.
    pub status: RunStatus,
    /// Microseconds since the epoch.
    pub began_at_us: i64,
    /// Microseconds since the epoch; absent where it is unfinished.
    pub ended_at_us: Option<i64>,
    /// The workload; of an import its format.
    pub workload: String,
    /// Name of the host; absent for an import and a bisection.
    pub host: Option<String>,
    /// The base, then the candidates; of an import its files, of a bisection its ends.
    pub subjects: Vec<String>,
    /// Trials that are done.
    pub done: u64,
    /// Trials that failed, were skipped or have no end, with the word for each.
    pub not_done: Vec<(u64, &'static str)>,
    /// What was found, where it is known without judging the run anew.
    pub verdicts: Vec<Sentence>,
}

/// Purposes and states as the form offers them: value and word.
const PURPOSES: [(&str, &str); 5] = [
    ("compare", "comparison"),
    ("campaign", "campaign"),
    ("calibrate", "calibration"),
    ("import", "import"),
    ("bisection", "bisection"),
];
const STATUSES: [&str; 4] = ["done", "unfinished", "failed", "interrupted"];

/// The page.
pub fn page(view: &RunsView) -> String {
    let body = html! {
        h1 { "Runs" }
        (form(view))
        @for problem in &view.problems { p role="alert" { (problem) } }
        p { (range(view)) }
        @if !view.rows.is_empty() { (pickable(view)) }
        (pages(view))
    };
    shell::page("Runs", Here::Runs, body)
}

fn form(view: &RunsView) -> Markup {
    let FilterFields { q, engine, workload, purpose, status, host, from, to } = &view.fields;
    let choices = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs.iter().map(|(value, word)| ((*value).to_owned(), (*word).to_owned())).collect()
    };
    let statuses: Vec<String> = STATUSES.iter().map(ToString::to_string).collect();
    html! {
        form method="get" action="/" role="search" {
            label { "Search " input type="search" name="q" value=(q) size="24" placeholder="id, name, subject, host"; }
            (select("Engine", "engine", engine, &own_values(&view.choices.engines)))
            (select("Workload", "workload", workload, &own_values(&view.choices.workloads)))
            (select("Purpose", "purpose", purpose, &choices(&PURPOSES)))
            (select("Status", "status", status, &own_values(&statuses)))
            (select("Host", "host", host, &own_values(&view.choices.hosts)))
            label { "From " input type="date" name="from" value=(from); }
            label { "to " input type="date" name="to" value=(to); }
            button type="submit" { "Show" }
            @if !view.fields.is_empty() { " " a href="/" { "all" } }
        }
    }
}

fn range(view: &RunsView) -> String {
    let all = count(view.total, "run or import", "runs and imports");
    let first = (view.page - 1) * view.per_page + 1;
    match view.rows.len() as u64 {
        0 if view.total == 0 && !view.fields.is_empty() => "Nothing in the store is like that.".to_owned(),
        0 => format!("This page is empty: there are {all}."),
        shown => format!("{first} to {} of {all}, newest first. Times are UTC.", first + shown - 1),
    }
}

fn pickable(view: &RunsView) -> Markup {
    let head = html! {
        th scope="col" { abbr title="pick two to see them side by side" { "pick" } }
        (headers(&["began", "run", "what", "status"]))
        (number_headers(&["took"]))
        (headers(&["workload", "subjects"]))
        (number_headers(&["trials"]))
        (headers(&["found", "host"]))
    };
    html! {
        form method="get" action="/compare" {
            (table(head, html! { @for row in &view.rows { (line(row)) } }))
            button type="submit" { "Two picked runs side by side" }
        }
    }
}

fn line(row: &RunRow) -> Markup {
    let address = match row.status {
        RunStatus::Unfinished => links::live(&row.id),
        RunStatus::Ended(_) => links::report(&row.id),
    };
    let (what, is_run) = match row.kind {
        RowKind::Run(purpose) => (purpose.word(), true),
        RowKind::Import => ("import", false),
        RowKind::Bisection => ("bisection", false),
    };
    // What was found by a bisection is known when it has ended.
    let has_report = row.kind != RowKind::Bisection || row.status != RunStatus::Unfinished;
    let took = row.ended_at_us.filter(|_| row.kind != RowKind::Import);
    let took = took.map_or_else(|| NONE.to_owned(), |ended| span((ended - row.began_at_us) as f64 / 1e6));
    html! {
        tr {
            td {
                @if is_run {
                    input type="checkbox" name="run" value=(row.id) aria-label=(format!("pick {}", row.id));
                }
            }
            td.site-whole { (time(row.began_at_us)) }
            th.site-names scope="row" {
                @if has_report { a href=(address) { (row.id) } } @else { (row.id) }
                @if let Some(given) = &row.name { br; (name(given)) }
            }
            td { (what) }
            td { (status(row.status)) }
            td.site-number { (took) }
            td.site-names { (workload(row)) }
            td.site-names { (subjects(row)) }
            td.site-number {
                (row.done)
                @for (trials, word) in &row.not_done { br; (trials) " " (word) }
            }
            td.site-names {
                @for found in row.verdicts.iter().take(MOST_FOUND) { p { (sentence(&found.text)) } }
                @if row.verdicts.len() > MOST_FOUND { p { (row.verdicts.len() - MOST_FOUND) " more in the report" } }
            }
            td { @if let Some(host) = &row.host { (name(host)) } }
        }
    }
}

fn status(status: RunStatus) -> Markup {
    let word = status.name();
    html! {
        @match status {
            RunStatus::Ended(RunOutcome::Done) => { (word) }
            RunStatus::Ended(RunOutcome::Interrupted | RunOutcome::Failed) | RunStatus::Unfinished => {
                span.site-status { (word) }
            }
        }
    }
}

fn workload(row: &RunRow) -> Markup {
    html! {
        @if row.kind != RowKind::Import {
            a href=(links::history(&row.workload, "", "")) title="its history" { (name(&row.workload)) }
        } @else {
            (name(&row.workload))
        }
    }
}

/// Of a report this is enough to choose by.
const MOST_FOUND: usize = 3;
/// More subjects than these are counted.
const MOST_SUBJECTS: usize = 3;

fn subjects(row: &RunRow) -> Markup {
    let more = row.subjects.len().saturating_sub(MOST_SUBJECTS);
    html! {
        @for (index, subject) in row.subjects.iter().take(MOST_SUBJECTS).enumerate() {
            @if index > 0 { ", " }
            (name(subject))
        }
        @if more > 0 { " and " (more) " more" }
    }
}

fn pages(view: &RunsView) -> Markup {
    let last = view.total.div_ceil(view.per_page).max(1);
    html! {
        @if last > 1 {
            nav.site-pages aria-label="pages" {
                @if view.page > 1 {
                    a href=(links::runs(&view.fields, 1)) { "newest" }
                    a href=(links::runs(&view.fields, view.page - 1)) rel="prev" { "newer" }
                }
                span { "page " (view.page) " of " (last) }
                @if view.page < last {
                    a href=(links::runs(&view.fields, view.page + 1)) rel="next" { "older" }
                    a href=(links::runs(&view.fields, last)) { "oldest" }
                }
            }
        }
    }
}
