//! One step of a workload over all its runs: over releases and over time. Rates stand together only where the runs may
//! be compared; the others stand apart, with what differs. Nothing is judged here: that takes the report of one run.

use super::cells::{headers, moment, name, number_headers, own_values, select, table, time};
use super::links;
use super::shell::{self, Here};
use crate::charts::{self, Bands, Chart, Line, Point, Releases};
use findings::conditions::{Differing, RunConditions, SubjectFacts};
use findings::selection::Selection;
use maud::{Markup, PreEscaped, html};
use model::block::Side;
use model::figures::{NONE, count, quantity, quantity_or_none};
use model::listing::{RunHead, TrialCounts};
use model::plan::Purpose;
use model::record::RunStatus;
use model::subject::compare_versions;
use std::collections::BTreeMap;

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

/// Runs that may be compared with one another.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparable {
    /// Where they were measured.
    pub host: String,
    /// What keeps them apart from the newest runs; empty for these.
    pub apart: Vec<Differing>,
    pub runs: Vec<RunRates>,
}

/// One step of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRates {
    pub head: RunHead,
    pub step: String,
    /// Those that were measured, by their sides.
    pub subjects: Vec<SubjectRates>,
}

/// One step of one subject in one run.
#[derive(Debug, Clone, PartialEq)]
pub struct SubjectRates {
    pub side: Side,
    pub facts: SubjectFacts,
    /// Whether the newest run that has a subject of this name has another binary.
    pub other_binary: bool,
    /// Operations per second of each launch whose trial is done.
    pub rates: Vec<f64>,
    pub trials: TrialCounts,
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
            "Operations per second: operations over wall time of each launch, then the mean over launches, with a 99 % \
             interval if there are three or more. Rates of different times also differ because the host changes: the \
             report of a run with both releases says whether one is slower. To learn since which release, \
             use " code { "dbdyno history" } "."
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
            @if let Some(shown) = over_releases(view, group) { (figure(&shown.0, &shown.1)) }
            @if let Some(shown) = over_time(view, group) { (figure(&shown.0, &shown.1)) }
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
        (headers(&["notes"]))
    };
    let rows = html! { @for run in &group.runs { @for subject in &run.subjects { (line(run, subject)) } } };
    table(head, rows)
}

fn line(run: &RunRates, subject: &SubjectRates) -> Markup {
    let mean = subject.mean();
    let interval = subject.interval().map(|(low, high)| format!("[{}, {}]", quantity(low), quantity(high)));
    html! {
        tr {
            td.site-whole { (time(run.head.started_at_us)) }
            th.site-names scope="row" {
                a href=(links::report_of(&run.head.id, &of_step(run))) { (run.head.id) }
                @if let Some(given) = &run.head.name { " " (name(given)) }
            }
            td { (run.head.purpose.word()) }
            td.site-names { (name(&subject.facts.reference)) }
            td.site-number { (quantity_or_none(mean)) }
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
        subject.trials.not_done().map(|(trials, word)| format!("{trials} {word}")).collect();
    match run.head.status {
        RunStatus::Ended(model::event::RunOutcome::Done) => {}
        RunStatus::Ended(_) | RunStatus::Unfinished => notes.push(format!("run {}", run.head.status.name())),
    }
    if subject.facts.planted {
        notes.push("injected slowdown: a test".to_owned());
    }
    if subject.other_binary {
        notes.push(format!("another binary of this name: sha256 {:.12}", subject.facts.sha256));
    }
    if run.head.purpose == Purpose::Calibrate {
        notes.push("a build against itself".to_owned());
    }
    notes.join("; ")
}

/// More lines than these cannot be told apart.
const MOST_LINES: usize = 12;

/// A line for each engine and configuration over its releases, and the caption. Absent where no line has two points.
fn over_releases(view: &HistoryPage, group: &Comparable) -> Option<(Chart, String)> {
    let mut versions: Vec<String> = of_group(group).map(|subject| subject.facts.version.clone()).collect();
    versions.sort_by(|left, right| compare_versions(left, right));
    versions.dedup();
    let series = |subject: &SubjectRates| format!("{}+{}", subject.facts.engine, subject.facts.config);
    let mut names: Vec<String> = of_group(group).map(series).collect();
    names.sort();
    names.dedup();
    let lines = names.into_iter().map(|name| {
        let points = versions.iter().map(|version| {
            let same = |subject: &&SubjectRates| series(subject) == name && subject.facts.version == *version;
            over_runs(&of_group(group).filter(same).collect::<Vec<_>>())
        });
        Line { points: points.collect(), changes: Vec::new(), name }
    });
    let lines = shown(lines.collect())?;
    let caption = "Means of the runs; the bar is the 99 % interval of a single run, and reaches from the slowest to the \
                   fastest run where there are several.";
    Some((chart(view, versions, lines, None), caption.to_owned()))
}

/// A line for each subject over the runs, oldest first. Absent where no line has two points.
fn over_time(view: &HistoryPage, group: &Comparable) -> Option<(Chart, String)> {
    let runs: Vec<_> = group.runs.iter().rev().collect();
    let mut names: Vec<String> = of_group(group).map(|subject| subject.facts.reference.clone()).collect();
    names.sort();
    names.dedup();
    let lines = names.into_iter().map(|name| {
        let points = runs.iter().map(|run| {
            let same = |subject: &&SubjectRates| is_shown(subject) && subject.facts.reference == name;
            // A build that was compared with itself has an interval on each side: one of them is shown.
            over_runs(&run.subjects.iter().find(same).into_iter().collect::<Vec<_>>())
        });
        Line { points: points.collect(), changes: Vec::new(), name }
    });
    let lines = shown(lines.collect())?;
    let labels = runs.iter().map(|run| moment(run.head.started_at_us)).collect();
    Some((
        chart(view, labels, lines, Some(1.0 - ALPHA)),
        "Each run alone, oldest first; the bar is its 99 % interval, of a build against itself that of the base."
            .to_owned(),
    ))
}

fn of_group(group: &Comparable) -> impl Iterator<Item = &SubjectRates> {
    group.runs.iter().flat_map(|run| &run.subjects).filter(|subject| is_shown(subject))
}

/// A planted slowdown is a test, and no property of the release.
fn is_shown(subject: &SubjectRates) -> bool {
    !subject.facts.planted && !subject.rates.is_empty()
}

/// The lines with the most points; none where no line leads anywhere.
fn shown(mut lines: Vec<Line>) -> Option<Vec<Line>> {
    let points = |line: &Line| line.points.iter().flatten().count();
    if !lines.iter().any(|line| points(line) >= 2) {
        return None;
    }
    lines.sort_by_key(|line| std::cmp::Reverse(points(line)));
    lines.truncate(MOST_LINES);
    Some(lines)
}

fn over_runs(of_release: &[&SubjectRates]) -> Option<Point> {
    let means: Vec<f64> = of_release.iter().filter_map(|subject| subject.mean()).collect();
    let value = analysis::student::mean(&means)?;
    let (low, high) = match of_release {
        [one] => one.interval().unzip(),
        _ => (means.iter().copied().reduce(f64::min), means.iter().copied().reduce(f64::max)),
    };
    Some(Point { value, low, high })
}

fn chart(view: &HistoryPage, releases: Vec<String>, lines: Vec<Line>, confidence: Option<f64>) -> Chart {
    Chart::Releases(Releases {
        bands: Bands::MajorVersions,
        title: view.step.clone(),
        axis: "operations per second".to_owned(),
        reference: None,
        confidence,
        releases,
        lines,
    })
}

impl SubjectRates {
    /// Mean over launches; absent without any.
    pub fn mean(&self) -> Option<f64> {
        analysis::student::mean(&self.rates)
    }

    /// Its interval by Student's t; absent below three launches.
    pub fn interval(&self) -> Option<(f64, f64)> {
        analysis::student::interval(&self.rates, ALPHA)
    }
}

/// Puts runs together, newest first: each goes to the runs that it may be compared with. A run without a value of the
/// step stays out.
pub fn gathered(mut runs: Vec<(RunConditions, RunRates)>) -> Vec<Comparable> {
    runs.retain(|(_, run)| !run.subjects.is_empty());
    runs.sort_by(|(_, left), (_, right)| {
        right.head.started_at_us.cmp(&left.head.started_at_us).then(right.head.id.cmp(&left.head.id))
    });
    tell_binaries_apart(&mut runs);
    let newest = runs.first().map(|(conditions, _)| conditions.clone());
    let mut groups: Vec<(RunConditions, Comparable)> = Vec::new();
    for (conditions, run) in runs {
        let goes_with = |(of_group, _): &&mut (RunConditions, Comparable)| {
            of_group.apart(&conditions, &run.step).is_empty()
        };
        if let Some((_, group)) = groups.iter_mut().find(goes_with) {
            group.runs.push(run);
            continue;
        }
        let apart = newest.as_ref().map(|newest| newest.apart(&conditions, &run.step)).unwrap_or_default();
        let host = conditions.host().to_owned();
        groups.push((conditions, Comparable { host, apart, runs: vec![run] }));
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

fn tell_binaries_apart(runs: &mut [(RunConditions, RunRates)]) {
    let mut newest: BTreeMap<String, String> = BTreeMap::new();
    for (_, run) in runs {
        for subject in &mut run.subjects {
            let known =
                newest.entry(subject.facts.reference.clone()).or_insert_with(|| subject.facts.sha256.clone());
            subject.other_binary = *known != subject.facts.sha256;
        }
    }
}
