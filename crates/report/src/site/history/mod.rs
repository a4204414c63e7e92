//! One step of a workload over all its runs: over releases and over time. Rates stand together only where the runs may
//! be compared; the others stand apart, with what differs. Nothing is judged here: that takes the report of one run.

use super::cells::{headers, name, number_headers, own_values, select, table, time};
use super::links;
use super::shell::{self, Here};
use crate::charts::{self, Chart};
use findings::conditions::Differing;
use findings::selection::Selection;
use maud::{Markup, PreEscaped, html};
use model::figures::{NONE, count, quantity};
use model::plan::Purpose;
use model::record::RunStatus;

mod chart;
mod gather;

pub use gather::{Comparable, RunRates, SubjectRates, gathered};

/// A step over runs, ready to be laid out.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryPage {
    pub workload: String,
    pub step: String,
    /// Only subjects of this engine; empty for all.
    pub engine: String,
    /// Workloads to choose from.
    pub workloads: Vec<String>,
    /// Steps to choose from.
    pub steps: Vec<String>,
    /// Engines to choose from.
    pub engines: Vec<String>,
    /// Runs that may be compared with one another, those with the newest run first.
    pub comparable: Vec<Comparable>,
    /// Runs of the workload that are older than those that are shown.
    pub older_runs: u64,
}

/// Share of intervals that miss the mean, where launches scatter normally.
const ALPHA: f64 = 0.01;

/// The page.
pub fn page(view: &HistoryPage) -> String {
    let title = match (view.workload.as_str(), view.step.as_str()) {
        ("", _) => "History".to_owned(),
        (workload, "") => format!("History of {workload}"),
        (workload, step) => format!("{step} of {workload}, over runs"),
    };
    let body = html! {
        h1 { (name(&title)) }
        (form(view))
        @if view.comparable.is_empty() {
            p { (nothing(view)) }
        } @else {
            (preface(view))
            @for (index, group) in view.comparable.iter().enumerate() { (section(view, index, group)) }
        }
    };
    shell::page(&title, Here::History, body)
}

fn form(view: &HistoryPage) -> Markup {
    html! {
        form method="get" action="/history" {
            (select("Workload", "workload", &view.workload, &own_values(&view.workloads)))
            (select("Step", "step", &view.step, &own_values(&view.steps)))
            (select("Engine", "engine", &view.engine, &own_values(&view.engines)))
            button type="submit" { "Show" }
        }
    }
}

fn nothing(view: &HistoryPage) -> String {
    match (view.workload.as_str(), view.step.as_str()) {
        ("", _) => "Choose a workload, then a step.".to_owned(),
        (_, "") => "Choose a step.".to_owned(),
        (workload, step) => {
            let engine = if view.engine.is_empty() { String::new() } else { format!(" by {}", view.engine) };
            format!("No run of {workload} measured {step}{engine}.")
        }
    }
}

fn preface(view: &HistoryPage) -> Markup {
    html! {
        p {
            "Operations per second: of each launch its operations over its wall time, then the mean of the launches, with \
             its 99 % interval where there are three or more. What was measured at different times differs by what the \
             host did meanwhile, too: whether a release is slower is said by the report of a run that has both, since \
             when by " code { "dbdyno history" } "."
        }
        @if view.older_runs > 0 {
            p { (count(view.older_runs, "older run is", "older runs are")) " not shown." }
        }
    }
}

fn section(view: &HistoryPage, index: usize, group: &Comparable) -> Markup {
    html! {
        section {
            h2 {
                (count(group.runs.len() as u64, "run", "runs")) " on " (name(&group.host))
                @if index > 0 { ", apart" }
            }
            @if index > 0 { (apart(&group.apart)) }
            @if let Some(shown) = chart::over_releases(view, group) { (figure(&shown.0, &shown.1)) }
            @if let Some(shown) = chart::over_time(view, group) { (figure(&shown.0, &shown.1)) }
            (rates(group))
        }
    }
}

fn apart(differing: &[Differing]) -> Markup {
    html! {
        p { "Not to be compared with the runs above:" }
        ul {
            @for one in differing { li.site-names { (one.what) ": " (name(&one.b)) ", above " (name(&one.a)) } }
        }
    }
}

fn figure(chart: &Chart, caption: &str) -> Markup {
    html! {
        figure.drawing.site-chart {
            div.site-scroll { (PreEscaped(charts::svg::inline(chart))) }
            figcaption { (caption) }
        }
    }
}

fn rates(group: &Comparable) -> Markup {
    let head = html! {
        (headers(&["began (UTC)", "run", "what", "subject"]))
        (number_headers(&["ops/s", "99 % interval", "launches"]))
        (headers(&["must be known"]))
    };
    let rows = html! { @for run in &group.runs { @for subject in &run.subjects { (line(run, subject)) } } };
    table(head, rows)
}

fn line(run: &RunRates, subject: &SubjectRates) -> Markup {
    let mean = subject.mean();
    let interval = subject.interval().map(|(low, high)| format!("[{}, {}]", quantity(low), quantity(high)));
    html! {
        tr {
            td.site-whole { (time(run.began_at_us)) }
            th.site-names scope="row" {
                a href=(links::report_of(&run.id, &of_step(run))) { (run.id) }
                @if let Some(given) = &run.name { " " (name(given)) }
            }
            td { (run.purpose.word()) }
            td.site-names { (name(&subject.facts.reference)) }
            td.site-number { (mean.map_or_else(|| NONE.to_owned(), quantity)) }
            td.site-number { (interval.unwrap_or_else(|| NONE.to_owned())) }
            td.site-number { (subject.rates.len()) }
            td.site-names { (known(run, subject)) }
        }
    }
}

fn of_step(run: &RunRates) -> Selection {
    Selection { steps: vec![run.step.clone()], subjects: Vec::new() }
}

/// What stands beside a number that is not all there, or not what it looks like.
fn known(run: &RunRates, subject: &SubjectRates) -> String {
    let mut notes: Vec<String> =
        subject.not_done.iter().map(|(trials, word)| format!("{trials} {word}")).collect();
    match run.status {
        RunStatus::Ended(model::event::RunOutcome::Done) => {}
        RunStatus::Ended(_) | RunStatus::Unfinished => notes.push(format!("run {}", run.status.name())),
    }
    if subject.facts.planted {
        notes.push("a slowdown was planted: a test".to_owned());
    }
    if subject.other_binary {
        notes.push(format!("another binary of this name: sha256 {:.12}", subject.facts.sha256));
    }
    if run.purpose == Purpose::Calibrate {
        notes.push("a build against itself".to_owned());
    }
    notes.join("; ")
}
