//! Two runs side by side. Where they may be compared, a subject that both have gets the ratio of its rates; where they
//! may not, they are shown as what they are, with what differs and without a ratio.

use super::cells::{headers, name, number_headers, table, time};
use super::links;
use super::shell::{self, Here};
use crate::comparison::{self, verdict_words};
use crate::document::Sentence;
use findings::Comparison;
use findings::comparison::ComparedStep;
use findings::conditions::{Differing, RunConditions};
use findings::labels::told_apart;
use maud::{Markup, html};
use model::block::BASE;
use model::figures::{self, NONE, first_of, or_none, quantity_or_none, ratio, span};
use model::listing::RunHead;
use model::metric::Metric;
use model::verdict::Verdict;
use std::collections::BTreeMap;

/// One of the two runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Side {
    pub head: RunHead,
    /// What it was measured under.
    pub conditions: RunConditions,
    /// What its report says.
    pub figures: RunFigures,
}

/// The page.
pub fn page(a: &Side, b: &Side) -> String {
    let title = format!("{} and {}", a.head.id, b.head.id);
    let apart = a.conditions.apart_in_all(&b.conditions);
    let body = html! {
        h1 { "Two runs side by side" }
        (heads(a, b))
        (standing(&apart))
        (differences(a, b, &apart))
        (steps(a, b))
    };
    shell::page(&title, Here::Elsewhere, body)
}

fn heads(a: &Side, b: &Side) -> Markup {
    let took = |side: &Side| {
        let seconds = side.head.ended_at_us.map(|ended| (ended - side.head.started_at_us) as f64 / 1e6);
        or_none(seconds, span)
    };
    let subjects = |side: &Side| {
        let names: Vec<String> = side.conditions.subjects.iter().map(|one| one.reference.clone()).collect();
        names.join(", ")
    };
    let run = |side: &Side| {
        html! {
            a href=(links::report(&side.head.id)) { (side.head.id) }
            @if let Some(given) = &side.head.name { " " (name(given)) }
        }
    };
    let rows = html! {
        tr { th scope="row" { "run" } @for side in [a, b] { td.site-names { (run(side)) } } }
        tr { th scope="row" { "began (UTC)" } @for side in [a, b] { td { (time(side.head.started_at_us)) } } }
        tr { th scope="row" { "took" } @for side in [a, b] { td { (took(side)) } } }
        tr {
            th scope="row" { "what" }
            @for side in [a, b] { td { (side.head.purpose.word()) ", " (side.head.status.name()) } }
        }
        tr { th scope="row" { "host" } @for side in [a, b] { td.site-names { (host(side)) } } }
        tr { th scope="row" { "subjects" } @for side in [a, b] { td.site-names { (name(&subjects(side))) } } }
        tr {
            th scope="row" { "found" }
            @for side in [a, b] { td.site-names { (found(&side.figures.sentences)) } }
        }
    };
    table(headers(&["", "A", "B"]), rows)
}

fn host(side: &Side) -> Markup {
    let host = side.conditions.host();
    html! { a href=(links::host(host)) { (name(host)) } }
}

fn found(sentences: &[Sentence]) -> Markup {
    html! { @for sentence in sentences { p { (sentence.text) } } }
}

/// Whether the rates of the two may be compared, and why not.
fn standing(apart: &[Differing]) -> Markup {
    let what: Vec<String> = apart.iter().map(|one| one.what.clone()).collect();
    html! {
        p role="note" {
            @if apart.is_empty() {
                "Workload, size, host and design are the same. B / A is the plain ratio of two rates that were measured at \
                 different times, so it includes changes of the host. It has no interval and no verdict: for a verdict \
                 measure both in one run."
            } @else {
                "These runs cannot be compared: they differ in " (model::figures::and_list(&what)) ". Each is shown as \
                 what it is, without a ratio between the two."
            }
        }
    }
}

fn differences(a: &Side, b: &Side, apart: &[Differing]) -> Markup {
    let besides = a.conditions.also_differs(&b.conditions);
    let all = apart.iter().map(|one| (one, "no")).chain(besides.iter().map(|one| (one, "yes")));
    let rows = html! {
        @for (one, says) in all {
            tr {
                th scope="row" { (one.what) }
                td.site-names { (name(&one.a)) }
                td.site-names { (name(&one.b)) }
                td { (says) }
            }
        }
    };
    html! {
        @if !(apart.is_empty() && besides.is_empty()) {
            h2 { "What differs" }
            (table(headers(&["", "A", "B", "rates comparable"]), rows))
        }
    }
}

fn steps(a: &Side, b: &Side) -> Markup {
    let mut names: Vec<&String> = a.conditions.step_names.iter().collect();
    names.extend(b.conditions.step_names.iter().filter(|name| !a.conditions.step_names.contains(name)));
    let head = html! {
        (headers(&["step", "subject"]))
        (number_headers(&["A", "B", "B / A"]))
        (headers(&["A relative", "B relative", "notes"]))
    };
    html! {
        h2 { "Operations per second" }
        p {
            "Relative is the subject over the base of its own run, with its interval and verdict, as the report of that \
             run has it; ~ means no difference found."
        }
        (table(head, html! { @for step in names { @for row in rows(a, b, step) { (row) } } }))
        @for (letter, notes) in [("A", notes(a)), ("B", notes(b))] {
            @if !notes.is_empty() {
                h2 { "Notes of " (letter) }
                ul { @for note in notes { li { (note) } } }
            }
        }
    }
}

/// The subjects of a step: those of A, then those that only B has.
fn rows(a: &Side, b: &Side, step: &str) -> Vec<Markup> {
    let of = |side: &Side| side.figures.steps.get(step).cloned().unwrap_or_default();
    let (of_a, of_b) = (of(a), of(b));
    let apart = a.conditions.apart(&b.conditions, step);
    let mut subjects: Vec<&str> = of_a.iter().map(|one| one.subject.as_str()).collect();
    subjects.extend(
        of_b.iter()
            .map(|one| one.subject.as_str())
            .filter(|name| !of_a.iter().any(|one| one.subject == *name)),
    );
    let row = |subject: &&str| {
        let own = |figures: &[SubjectFigure]| figures.iter().find(|one| one.subject == *subject).cloned();
        let (in_a, in_b) = (own(&of_a), own(&of_b));
        let rate = |own: &Option<SubjectFigure>| own.as_ref().and_then(|own| own.rate);
        let quotient = rate(&in_a).zip(rate(&in_b)).filter(|(a, _)| apart.is_empty() && *a > 0.0);
        let relative =
            |own: &Option<SubjectFigure>| own.as_ref().map_or_else(String::new, |own| own.relative.clone());
        html! {
            tr {
                th scope="row" { (name(step)) }
                td.site-names { (name(subject)) }
                td.site-number { (quantity_or_none(rate(&in_a))) }
                td.site-number { (quantity_or_none(rate(&in_b))) }
                td.site-number { (or_none(quotient, |(a, b)| ratio(b / a))) }
                td.site-whole { (relative(&in_a)) }
                td.site-whole { (relative(&in_b)) }
                td.site-names { (known(a, b, subject, &apart, [&in_a, &in_b])) }
            }
        }
    };
    subjects.iter().map(row).collect()
}

/// What stands beside a row: of reports it stands below the table, where the same note is told once.
fn known(a: &Side, b: &Side, subject: &str, apart: &[Differing], own: [&Option<SubjectFigure>; 2]) -> String {
    let missing = ["A", "B"].into_iter().zip(own).filter(|(_, own)| own.is_none());
    let mut notes: Vec<String> = missing.map(|(letter, _)| format!("not in {letter}")).collect();
    let facts = |side: &Side| {
        let subjects = &side.conditions.subjects;
        let labels = told_apart(subjects.iter().map(|one| one.reference.clone()));
        labels.iter().position(|label| label == subject).map(|place| subjects[place].clone())
    };
    if let (Some(in_a), Some(in_b)) = (facts(a), facts(b)) {
        if in_a.sha256 != in_b.sha256 {
            notes.push("two binaries of this name".to_owned());
        }
        if in_a.planted || in_b.planted {
            notes.push("injected slowdown: a test".to_owned());
        }
    }
    // Where the runs differ as a whole, that is said above.
    if let [one] = apart
        && one.what.starts_with("definition of")
    {
        notes.push(format!("defined otherwise: {} in A, {} in B", one.a, one.b));
    }
    notes.join("; ")
}

/// What the reports note, each sentence once, with the steps and subjects that it is about.
fn notes(side: &Side) -> Vec<String> {
    let mut gathered: Vec<(&str, Vec<String>)> = Vec::new();
    for step in &side.conditions.step_names {
        for figure in side.figures.steps.get(step).into_iter().flatten() {
            for note in &figure.notes {
                let place = format!("{step} of {}", figure.subject);
                match gathered.iter_mut().find(|(known, _)| *known == note.as_str()) {
                    Some((_, places)) => places.push(place),
                    None => gathered.push((note.as_str(), vec![place])),
                }
            }
        }
    }
    let line = |(note, places): (&str, Vec<String>)| format!("{}: {note}", first_of(&places, MOST_PLACES));
    gathered.into_iter().map(line).collect()
}

/// More places than these are counted.
const MOST_PLACES: usize = 4;

/// What the report of a run says of its steps, in short.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunFigures {
    pub sentences: Vec<Sentence>,
    /// For each step its subjects, the base first.
    pub steps: BTreeMap<String, Vec<SubjectFigure>>,
}

/// One subject in one step.
#[derive(Debug, Clone, PartialEq)]
pub struct SubjectFigure {
    /// As the user named it; where another of the run has that name, with its side.
    pub subject: String,
    pub rate: Option<f64>,
    /// Relative to the base of its run, with interval, verdict and launches; of the base that it is the base.
    pub relative: String,
    /// What a reader must know of it.
    pub notes: Vec<String>,
}

/// What the view of a run has.
pub fn figures(view: &Comparison) -> RunFigures {
    let mut steps: BTreeMap<String, Vec<SubjectFigure>> = BTreeMap::new();
    let names = told_apart(view.subjects.iter().map(|subject| subject.subject.clone()));
    for step in &view.steps {
        let of_step = view.subjects.iter().zip(&names).filter_map(|(subject, name)| {
            let row = step.rows.iter().find(|row| row.side == subject.side);
            let mean = row.and_then(|row| row.mean.get(Metric::OpsPerSecond));
            if subject.side == BASE {
                return Some(SubjectFigure {
                    subject: name.clone(),
                    rate: mean.or(step.base_rate()),
                    relative: "base".to_owned(),
                    notes: Vec::new(),
                });
            }
            let case = step.case(subject.side)?;
            Some(SubjectFigure {
                subject: name.clone(),
                rate: mean.or_else(|| case.metric(Metric::OpsPerSecond)?.candidate),
                relative: relative(case, view),
                notes: case.warnings.iter().map(ToString::to_string).collect(),
            })
        });
        steps.insert(step.name.clone(), of_step.collect());
    }
    RunFigures { sentences: comparison::found(view), steps }
}

/// `0.94 [0.93, 0.95] regression, 14 launches`
fn relative(case: &ComparedStep, view: &Comparison) -> String {
    let Some((deciding, ratio)) = case.deciding_ratio() else {
        return NONE.to_owned();
    };
    let mut parts = Vec::new();
    // Where no difference was found there is no number that could be read as one.
    if !matches!(case.verdict, Verdict::NoChange | Verdict::Inconclusive) {
        parts.push(figures::ratio(ratio));
    }
    if deciding.is_bounded() {
        parts.push(figures::interval(deciding.low, deciding.high));
    }
    parts.push(verdict_words(case, view.margin));
    let alone = if case.is_alone() { ", significant alone" } else { "" };
    format!("{}{alone}, {}", parts.join(" "), view.repeats.count(case.repeats))
}
