//! The list of runs, imports and bisections: newest first, a page at a time, narrowed down by a form that is a URL.

use super::cells::{headers, name, number_headers, own_values, select, sentence, table, time};
use super::links::{self, FilterFields};
use super::shell::{self, Here};
use crate::document::Sentence;
use maud::{Markup, html};
use model::event::RunOutcome;
use model::figures::{count, or_none, span};
use model::listing::{Choices, Entry, EntryKind};
use model::record::RunStatus;

/// The list, ready to be laid out.
#[derive(Debug, Clone, PartialEq)]
pub struct RunsView {
    /// What it is narrowed down to.
    pub fields: FilterFields,
    /// Engines, workloads and hosts to choose from.
    pub choices: Choices,
    pub rows: Vec<RunRow>,
    /// How many there are on all pages.
    pub total: u64,
    pub page: u64,
    /// How many stand on a page.
    pub per_page: u64,
    /// What of the URL could not be understood: a sentence each.
    pub problems: Vec<String>,
}

/// An entry with what was found, where it is known without judging the run anew.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRow {
    pub entry: Entry,
    pub verdicts: Vec<Sentence>,
}

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
    let kinds = EntryKind::ALL.map(|kind| (kind.name().to_owned(), kind.word().to_owned()));
    let statuses = RunStatus::ALL.map(|status| status.name().to_owned());
    html! {
        form method="get" action="/" role="search" {
            label { "Search " input type="search" name="q" value=(q) size="24" placeholder="id, name, subject, host"; }
            (select("Engine", "engine", engine, &own_values(&view.choices.engines)))
            (select("Workload", "workload", workload, &own_values(&view.choices.workloads)))
            (select("Purpose", "purpose", purpose, &kinds))
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

fn line(RunRow { entry, verdicts }: &RunRow) -> Markup {
    let address = match entry.status {
        RunStatus::Unfinished => links::live(&entry.id),
        RunStatus::Ended(_) => links::report(&entry.id),
    };
    // What was found by a bisection is known when it has ended.
    let has_report = entry.kind != EntryKind::Bisection || entry.status != RunStatus::Unfinished;
    let took = entry.ended_at_us.filter(|_| entry.kind != EntryKind::Import);
    let took = or_none(took, |ended| span((ended - entry.began_at_us) as f64 / 1e6));
    html! {
        tr {
            td {
                @if matches!(entry.kind, EntryKind::Run(_)) {
                    input type="checkbox" name="run" value=(entry.id) aria-label=(format!("pick {}", entry.id));
                }
            }
            td.site-whole { (time(entry.began_at_us)) }
            th.site-names scope="row" {
                @if has_report { a href=(address) { (entry.id) } } @else { (entry.id) }
                @if let Some(given) = &entry.name { br; (name(given)) }
            }
            td { (entry.kind.word()) }
            td { (status(entry.status)) }
            td.site-number { (took) }
            td.site-names { (workload(entry)) }
            td.site-names { (subjects(entry)) }
            td.site-number {
                (entry.trials.done)
                @for (trials, word) in entry.trials.not_done() { br; (trials) " " (word) }
            }
            td.site-names {
                @for found in verdicts.iter().take(MOST_FOUND) { p { (sentence(&found.text)) } }
                @if verdicts.len() > MOST_FOUND { p { (verdicts.len() - MOST_FOUND) " more in the report" } }
            }
            td { @if let Some(host) = &entry.host { a href=(links::host(host)) { (name(host)) } } }
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

fn workload(entry: &Entry) -> Markup {
    html! {
        @if entry.kind != EntryKind::Import {
            a href=(links::history(&entry.workload, "", "")) title="its history" { (name(&entry.workload)) }
        } @else {
            (name(&entry.workload))
        }
    }
}

/// Of a report this is enough to choose by.
const MOST_FOUND: usize = 3;
/// More subjects than these are counted.
const MOST_SUBJECTS: usize = 3;

fn subjects(entry: &Entry) -> Markup {
    let more = entry.subjects.len().saturating_sub(MOST_SUBJECTS);
    html! {
        @for (index, subject) in entry.subjects.iter().take(MOST_SUBJECTS).enumerate() {
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
