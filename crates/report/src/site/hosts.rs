//! How fast a host was over time, apart from any engine: a chart of each figure, boots marked, and the table of all values. Nothing is
//! judged but whether a figure differs from the one before by more than both repeat within.

use super::cells::{headers, moment, name, number_headers, sentence, table, time};
use super::links::{self, FilterFields};
use super::shell::{self, Here};
use crate::charts::{self, Band, Bands, Chart, Line, Point, Releases};
use maud::{Markup, PreEscaped, html};
use model::figures::{count, or_none, percent, quantity};
use model::fingerprint::{Fingerprint, HostFigure};
use model::job::Job;
use std::collections::BTreeMap;

/// The hosts that there are runs or fingerprints of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRow {
    pub name: String,
    pub fingerprints: u64,
    /// When it was measured last, in microseconds since the epoch; absent if it never was.
    pub last_at_us: Option<i64>,
}

/// A host over time, ready to be laid out.
#[derive(Debug, Clone, PartialEq)]
pub struct HostPage {
    pub name: String,
    /// The newest first.
    pub fingerprints: Vec<Fingerprint>,
    /// Those of before that are not shown.
    pub older: u64,
}

/// What is drawn of a fingerprint, in this order.
struct Drawn {
    figure: &'static str,
    title: &'static str,
    axis: &'static str,
    /// Whether it is of the device, of which a host may have several.
    of_device: bool,
}

const FIGURES: [Drawn; 5] = [
    Drawn {
        figure: "cpu_ns_per_step",
        title: "One thread's CPU",
        axis: "ns a step, less is faster",
        of_device: false,
    },
    Drawn {
        figure: "memory_read_gb_per_s",
        title: "Bandwidth of memory, one thread",
        axis: "GB/s, more is faster",
        of_device: false,
    },
    Drawn {
        figure: "memory_latency_ns",
        title: "Latency of memory",
        axis: "ns a line, less is faster",
        of_device: false,
    },
    Drawn { figure: "fsync_us", title: "fsync of 4 KiB", axis: "us, less is faster", of_device: true },
    Drawn {
        figure: "device_read_us",
        title: "Read of 4 KiB from the device",
        axis: "us, less is faster",
        of_device: true,
    },
];

/// The page of all hosts, and of what is measured on several of them. Jobs of one campaign stand together.
pub fn list(hosts: &[HostRow], jobs: &[Job]) -> String {
    let rows = html! {
        @for host in hosts {
            tr {
                th.site-names scope="row" { a href=(links::host(&host.name)) { (name(&host.name)) } }
                td.site-number { (host.fingerprints) }
                td.site-whole { @if let Some(at_us) = host.last_at_us { (time(at_us)) } @else { "never" } }
                td { a href=(runs_of(&host.name)) { "runs" } }
            }
        }
    };
    let head =
        html! { (headers(&["host"])) (number_headers(&["times measured"])) (headers(&["last (UTC)", ""])) };
    let body = html! {
        h1 { "Hosts" }
        @if hosts.is_empty() { p { "No run was measured yet, and no host." } } @else { (table(head, rows)) }
        @if !jobs.is_empty() {
            h2 { "Campaigns on several hosts" }
            p { code { "dbdyno run --resume CAMPAIGN" } " resumes the jobs that are not done." }
            (table(headers(&["campaign", "host", "state", "since (UTC)", "message"]), job_rows(jobs)))
        }
    };
    shell::page("Hosts", Here::Hosts, body)
}

/// The campaign stands in the first row of its jobs.
fn job_rows(jobs: &[Job]) -> Markup {
    let of_same = |place: usize| place > 0 && jobs[place - 1].campaign == jobs[place].campaign;
    html! {
        @for (place, job) in jobs.iter().enumerate() {
            tr {
                th.site-whole scope="row" {
                    @if !of_same(place) { a href=(links::campaign(&job.campaign)) { (name(&job.campaign)) } }
                }
                td {
                    (name(&job.label()))
                    @if let Some(id) = job.slurm.as_ref().and_then(|slurm| slurm.id.as_ref()) { ", " (name(id)) " in Slurm" }
                }
                td { (job.state.name()) }
                td.site-whole { (time(job.changed_at_us)) }
                td { @if let Some(message) = &job.message { (sentence(message)) } }
            }
        }
    }
}

/// The page of one.
pub fn page(view: &HostPage) -> String {
    let body = html! {
        h1 { "Host " (name(&view.name)) }
        p { a href=(links::HOSTS) { "All hosts" } " · " a href=(runs_of(&view.name)) { "its runs" } }
        @if view.fingerprints.is_empty() {
            p {
                "This host was not measured yet. Each run measures it first, unless that was done in the last six hours of this boot; "
                code { "dbdyno doctor --bench" } " measures it now."
            }
        } @else {
            (preface(view))
            @for drawn in &FIGURES {
                @let charts = charts(view, drawn);
                @if !charts.is_empty() { (figure(drawn, &charts)) }
            }
            h2 { "Values" }
            (values(view))
        }
    };
    shell::page(&format!("Host {}", view.name), Here::Hosts, body)
}

fn runs_of(host: &str) -> String {
    links::runs(&FilterFields { host: host.to_owned(), ..FilterFields::default() }, 1)
}

fn preface(view: &HostPage) -> Markup {
    html! {
        p {
            "How fast this host was, apart from any engine, each time that it was measured: the median of the repeats, with half of \
             the range between their quartiles on either side. Every second boot is shaded. Moments are side by side, whatever time \
             lies between them. What changes here changed in the host, and not in a release."
        }
        @if view.fingerprints.len() < 2 { p { "It was measured once: there is nothing to draw yet." } }
        @if view.older > 0 { p { (count(view.older, "older one is", "older ones are")) " not shown." } }
    }
}

fn figure(drawn: &Drawn, charts: &[Chart]) -> Markup {
    html! {
        section {
            h2 { (drawn.title) }
            @for chart in charts {
                figure.drawing.site-chart { div.site-scroll { (PreEscaped(charts::svg::inline(chart))) } }
            }
        }
    }
}

/// A chart of the host, or of each of its devices, over the moments at which it was measured. None where there are not two values.
fn charts(view: &HostPage, drawn: &Drawn) -> Vec<Chart> {
    let mut of: BTreeMap<String, Vec<(&Fingerprint, Option<&HostFigure>)>> = BTreeMap::new();
    for one in view.fingerprints.iter().rev() {
        let name = if drawn.of_device { device(one) } else { &view.name };
        of.entry(name.to_owned()).or_default().push((one, named(one, drawn.figure)));
    }
    of.retain(|_, moments| moments.iter().filter(|(_, figure)| figure.is_some()).count() >= 2);
    of.into_iter().map(|(name, moments)| chart(drawn, name, &moments)).collect()
}

/// Oldest first.
fn chart(drawn: &Drawn, name: String, moments: &[(&Fingerprint, Option<&HostFigure>)]) -> Chart {
    let in_time = || moments.iter().map(|(one, _)| *one);
    let points = moments.iter().map(|(_, figure)| figure.map(point)).collect();
    Chart::Releases(Releases {
        title: format!("{} of {name}", drawn.figure),
        axis: drawn.axis.to_owned(),
        reference: None,
        confidence: None,
        releases: in_time().map(|one| moment(one.at_us)).collect(),
        bands: Bands::Of(boots(in_time())),
        lines: vec![Line { name, points, changes: Vec::new() }],
    })
}

fn device(one: &Fingerprint) -> &str {
    one.device.as_deref().unwrap_or("a device that is not known")
}

fn point(figure: &HostFigure) -> Point {
    let spread = figure.value * figure.spread;
    Point { value: figure.value, low: Some(figure.value - spread), high: Some(figure.value + spread) }
}

/// Neighbours of one boot.
fn boots<'a>(in_time: impl Iterator<Item = &'a Fingerprint>) -> Vec<Band> {
    let mut boots: Vec<(&str, Band)> = Vec::new();
    for one in in_time {
        match boots.last_mut() {
            Some((boot_id, band)) if *boot_id == one.boot_id => band.count += 1,
            _ => boots.push((&one.boot_id, Band { name: boot(one), count: 1 })),
        }
    }
    boots.into_iter().map(|(_, band)| band).collect()
}

/// `boot 1a2b3c4d`
fn boot(one: &Fingerprint) -> String {
    format!("boot {:.8}", one.boot_id)
}

fn named<'a>(one: &'a Fingerprint, figure: &str) -> Option<&'a HostFigure> {
    one.figures.iter().find(|own| own.name == figure)
}

fn values(view: &HostPage) -> Markup {
    let head = html! {
        (headers(&["measured (UTC)", "boot", "device"]))
        (number_headers(&FIGURES.map(|drawn| drawn.figure)))
        (headers(&["notes"]))
    };
    let rows = html! {
        @for (index, one) in view.fingerprints.iter().enumerate() {
            tr {
                th.site-whole scope="row" { (time(one.at_us)) }
                td { (name(&format!("{:.8}", one.boot_id))) }
                td { (name(device(one))) }
                @for drawn in &FIGURES { td.site-number { (or_none(named(one, drawn.figure), value)) } }
                td.site-names { (known(one, before(&view.fingerprints[index + 1..], one))) }
            }
        }
    };
    table(head, rows)
}

/// `181 ±1.2 %`
fn value(figure: &HostFigure) -> String {
    format!("{} ±{}", quantity(figure.value), percent(figure.spread))
}

/// What a fingerprint is held against: of its device's figures those of before of the same device, of the others those that were measured
/// last.
fn before(older: &[Fingerprint], one: &Fingerprint) -> Option<Fingerprint> {
    let figures = one.figures.iter().filter_map(|own| {
        let of_device = FIGURES.iter().any(|drawn| drawn.figure == own.name && drawn.of_device);
        let mut comparable = older.iter().filter(|earlier| !of_device || earlier.device == one.device);
        comparable.find_map(|earlier| named(earlier, &own.name)).cloned()
    });
    let figures: Vec<HostFigure> = figures.collect();
    Some(Fingerprint { figures, ..older.first()?.clone() })
}

fn known(one: &Fingerprint, before: Option<Fingerprint>) -> String {
    let unsteady: Vec<&str> =
        one.figures.iter().filter(|own| !own.is_steady()).map(|own| own.name.as_str()).collect();
    let mut notes: Vec<String> =
        before.iter().flat_map(|before| before.differences(one)).map(|change| change.to_string()).collect();
    if !unsteady.is_empty() {
        notes.push(format!("not steady: {}", unsteady.join(", ")));
    }
    notes.join("; ")
}
