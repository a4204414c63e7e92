//! One comparison on several hosts, as a document, as JSON and as a table.

mod uncounted;

use crate::charts::{BarSeries, Bars, Chart, Point};
use crate::contract::SCHEMA;
use crate::document::Kind::{Name, Number, Prose, Word};
use crate::document::{Block, Cell, Column, Document, Figure, Section, Sentence, Table};
use crate::documents::shared_confidence;
use crate::render::separated::number;
use crate::signs::{self, Sign};
use analysis::hosts::{LEAST_HOSTS, least_sign_p};
use findings::hosts::{ALPHA, ByHost, HostFacts, HostsCase, HostsView};
use model::figures::{NONE, and_list, change, chosen_percent, count, first_of, or_none, percent, quantity};
use model::verdict::Verdict;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Cases that stand in a sentence; the table has all of them.
const MOST_NAMED: usize = 5;
/// Hosts that have a column each; of more the table has the smallest and the largest change.
const MOST_COLUMNS: usize = 6;
/// Cases of a chart: more bars cannot be read.
const MOST_DRAWN: usize = 12;

/// The document of several hosts.
pub fn document(view: &HostsView) -> Document {
    let worth: Vec<&HostsCase> = view.cases.iter().filter(|case| case.is_worth_a_row()).collect();
    let mut blocks = vec![Block::Paragraph(what_hosts_can_show(view))];
    blocks.extend(changes(view, &worth).unless_empty().map(Block::Table));
    blocks.extend(legend(view, &worth).map(Block::Paragraph));
    blocks.extend(figure(view, &worth).map(Block::Figure));
    let mut host_blocks = vec![Block::Table(hosts(view))];
    host_blocks.extend(uncounted::tables(view));
    Document {
        title: format!(
            "{} against {} on {}",
            and_list(&view.candidates),
            view.base,
            count(view.hosts.len() as u64, "host", "hosts")
        ),
        kind: "comparison on several hosts",
        found: found(view),
        sections: vec![
            Section::new("hosts-changes", "Changes by host", blocks),
            Section::new("hosts", "Hosts", host_blocks),
        ],
        footer: vec!["Each host by itself: dbdyno report RUN, with the run of the host.".to_owned()],
        ..Document::default()
    }
}

/// What was found, the gravest first.
fn found(view: &HostsView) -> Vec<Sentence> {
    let mut found = Vec::new();
    for (verdict, words) in [(Verdict::Regression, "slower"), (Verdict::Improvement, "faster")] {
        let mut cases: Vec<&HostsCase> =
            view.cases.iter().filter(|case| case.hosts_with(verdict) > 0).collect();
        cases.sort_by_key(|case| std::cmp::Reverse(case.hosts_with(verdict)));
        let named: Vec<String> = cases.iter().map(|case| on_hosts(view, case, verdict, words)).collect();
        if !named.is_empty() {
            found.push(Sentence { verdict: Some(verdict), text: format!("{}.", first_of_by(&named, "; ")) });
        }
    }
    let apart: Vec<String> = view.cases.iter().filter_map(|case| disagreement(view, case)).collect();
    if !apart.is_empty() {
        found.push(Sentence {
            verdict: None,
            text: format!(
                "Hosts disagree by more than {}: {}.",
                chosen_percent(view.margin),
                first_of_by(&apart, "; ")
            ),
        });
    }
    let other = view.cases.iter().filter(|case| !case.is_worth_a_row());
    let (same, open): (Vec<&HostsCase>, Vec<&HostsCase>) =
        other.partition(|case| case.hosts_with(Verdict::NoChange) == case.measured_on());
    let of_all = |cases: &[&HostsCase]| {
        format!("{} of {}", cases.len(), count(view.cases.len() as u64, "case", "cases"))
    };
    if !same.is_empty() {
        found.push(Sentence {
            verdict: Some(Verdict::NoChange),
            text: format!(
                "No change beyond {} on any host in {}.",
                chosen_percent(view.margin),
                of_all(&same)
            ),
        });
    }
    if !open.is_empty() {
        let named: Vec<String> = open.iter().map(|case| name(view, case)).collect();
        found.push(Sentence {
            verdict: Some(Verdict::Inconclusive),
            text: format!(
                "No change that counts on any host, and not ruled out on every host, in {}: {}.",
                of_all(&open),
                first_of(&named, MOST_NAMED)
            ),
        });
    }
    found.extend(uncounted::found(view, MOST_NAMED));
    found
}

/// "readrandom slower on 2 of 3 hosts: a -4.1 % [-5.0, -3.2], b -3.9 % ..; not on c"
fn on_hosts(view: &HostsView, case: &HostsCase, verdict: Verdict, words: &str) -> String {
    let has = |of: &ByHost| of.verdict == verdict && of.counts;
    let places = || case.by_host.iter().zip(&view.hosts);
    let with: Vec<String> = places()
        .filter_map(|(of, host)| Some((of.as_ref().filter(|of| has(of))?, host)))
        .map(|(of, host)| format!("{} {}", host.name, sized(of)))
        .collect();
    let without: Vec<String> = places()
        .filter(|(of, _)| !of.as_ref().is_some_and(has))
        .map(|(of, host)| match of {
            Some(of) => format!("{} ({}, {})", host.name, said(of), host.class),
            None => format!("{} (not measured)", host.name),
        })
        .collect();
    let builds = if case.is_one_build { "" } else { " (another build on each host)" };
    let mean = case.mean.map_or_else(String::new, |mean| {
        let interval = of_change(Some(mean.low), Some(mean.high));
        format!(", {} over {} hosts {interval}", change(mean.ratio), mean.hosts)
    });
    let not_on = if without.is_empty() {
        String::new()
    } else {
        format!(", not on {}", first_of(&without, MOST_NAMED))
    };
    format!(
        "{}{builds} {words} on {} of {}{mean}: {}{not_on}",
        name(view, case),
        with.len(),
        count(view.hosts.len() as u64, "host", "hosts"),
        first_of(&with, MOST_NAMED),
    )
}

fn disagreement(view: &HostsView, case: &HostsCase) -> Option<String> {
    let apart = case.disagreement?;
    let at = |place: usize| Some((view.hosts.get(place)?, case.by_host.get(place)?.as_ref()?));
    let ((worse, of_worse), (better, of_better)) = (at(apart.worse)?, at(apart.better)?);
    Some(format!(
        "{} {} on {} and {} on {}",
        name(view, case),
        change(of_worse.ratio),
        worse.name,
        change(of_better.ratio),
        better.name
    ))
}

/// The step, with its candidate if there are several.
fn name(view: &HostsView, case: &HostsCase) -> String {
    match &view.candidates[..] {
        [_] => case.step.clone(),
        _ => format!("{} of {}", case.step, case.candidate),
    }
}

/// `-4.1 % [-5.0, -3.2]`
fn sized(of: &ByHost) -> String {
    format!("{} {}", change(of.ratio), of_change(of.low, of.high))
}

/// The ends of an interval of a ratio, as changes in percent.
fn of_change(low: Option<f64>, high: Option<f64>) -> String {
    let end = |end: Option<f64>| or_none(end, |ratio| format!("{:+.1}", 100.0 * (ratio - 1.0)));
    format!("[{}, {}]", end(low), end(high))
}

/// What a host says that has not the verdict of others.
fn said(of: &ByHost) -> String {
    match of.verdict {
        Verdict::NoChange => "no change".to_owned(),
        Verdict::Suspect => format!("suspect, {}", sized(of)),
        Verdict::Regression | Verdict::Improvement if of.counts => sized(of),
        Verdict::Regression | Verdict::Improvement => {
            format!("significant alone or perhaps layout, {}", sized(of))
        }
        Verdict::Inconclusive | Verdict::RatioOnly => match of.visible_change {
            Some(visible) => format!("inconclusive, would have seen {}", percent(visible)),
            None => "inconclusive".to_owned(),
        },
    }
}

fn first_of_by(items: &[String], between: &str) -> String {
    let shown = items.len().min(MOST_NAMED);
    let more = items.len() - shown;
    let text = items[..shown].join(between);
    if more > 0 { format!("{text}{between}and {more} more") } else { text }
}

/// What so many hosts say at most, before a reader makes more of it.
fn what_hosts_can_show(view: &HostsView) -> String {
    let hosts = view.hosts.len();
    if hosts >= LEAST_HOSTS {
        return format!(
            "Every verdict is that of one host, by its own {}. The mean over hosts is that of hosts like these, each of \
             which counts once, with its {} interval.",
            view.repeats.many(),
            chosen_percent(1.0 - ALPHA)
        );
    }
    format!(
        "Every verdict is that of one host, by its own {}. With {} there is no interval for the mean (from {LEAST_HOSTS} on there is one): if all of them \
         agree, a sign test over hosts alone has p = {}.",
        view.repeats.many(),
        count(hosts as u64, "host", "hosts"),
        quantity(least_sign_p(hosts))
    )
}

fn changes(view: &HostsView, worth: &[&HostsCase]) -> Table {
    let mut columns = vec![Column::new("step", Name)];
    let has_candidates = view.candidates.len() > 1;
    if has_candidates {
        columns.push(Column::new("subject", Name));
    }
    columns.push(Column::new("on hosts", Word));
    let has_columns = view.hosts.len() <= MOST_COLUMNS;
    if has_columns {
        columns.extend(view.hosts.iter().map(|host| Column::new(host.name.clone(), Number)));
    } else {
        columns.push(Column::new("lowest on", Word));
        columns.push(Column::new("highest on", Word));
    }
    let has_mean = worth.iter().any(|case| case.mean.is_some());
    if has_mean {
        columns.push(Column::new("mean over\nhosts", Number));
        columns.push(Column::new("interval", Word));
        columns.push(Column::new("SD between\nhosts", Number));
    }
    let row = |case: &&HostsCase| {
        let mut cells = vec![Cell::plain(case.step.clone())];
        if has_candidates {
            cells.push(Cell::plain(case.candidate.clone()));
        }
        cells.push(Cell::plain(on_how_many(view, case)));
        if has_columns {
            cells.extend(case.by_host.iter().map(|of| of.as_ref().map_or_else(|| Cell::plain(NONE), cell)));
        } else {
            cells.extend(ends(view, case));
        }
        if has_mean {
            cells.extend(
                [
                    or_none(case.mean, |mean| change(mean.ratio)),
                    or_none(case.mean, |mean| of_change(Some(mean.low), Some(mean.high))),
                    or_none(case.mean, |mean| percent(mean.between)),
                ]
                .map(Cell::plain),
            );
        }
        cells
    };
    Table::of(columns, worth.iter().map(row))
}

/// "slower 2 of 3", "slower 1, faster 1 of 3"
fn on_how_many(view: &HostsView, case: &HostsCase) -> String {
    let (slower, faster) = (case.hosts_with(Verdict::Regression), case.hosts_with(Verdict::Improvement));
    let parts: Vec<String> = [(slower, "slower"), (faster, "faster")]
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, words)| format!("{words} {number}"))
        .collect();
    let found = if parts.is_empty() { "none".to_owned() } else { parts.join(", ") };
    let apart = if case.disagreement.is_some() { "; hosts differ" } else { "" };
    format!("{found} of {}{apart}", view.hosts.len())
}

/// A number where no difference was found would be read as one.
fn cell(of: &ByHost) -> Cell {
    let sign = Sign::of(of.verdict, of.counts);
    let text = if sign.is_none_or(Sign::has_number) { change(of.ratio) } else { String::new() };
    Cell::signed(sign, text)
}

/// The hosts with the smallest and the largest ratio.
fn ends(view: &HostsView, case: &HostsCase) -> [Cell; 2] {
    let mut all: Vec<(&ByHost, &str)> = case
        .by_host
        .iter()
        .zip(&view.hosts)
        .filter_map(|(of, host)| Some((of.as_ref()?, host.name.as_str())))
        .collect();
    all.sort_by(|left, right| left.0.ratio.total_cmp(&right.0.ratio));
    let end = |one: Option<&(&ByHost, &str)>| {
        one.map_or_else(
            || Cell::plain(NONE),
            |(of, host)| Cell::of(of.verdict, of.counts, format!("{} {host}", change(of.ratio))),
        )
    };
    [end(all.first()), end(all.last())]
}

fn legend(view: &HostsView, worth: &[&HostsCase]) -> Option<String> {
    let of = worth.iter().flat_map(|case| case.by_host.iter().flatten());
    let signs: BTreeSet<Sign> = of.filter_map(|of| Sign::of(of.verdict, of.counts)).collect();
    worth.first()?;
    let scatter = match worth.iter().any(|case| case.mean.is_some()) {
        true => " SD between hosts: their standard deviation beyond their own errors.",
        false => "",
    };
    Some(format!(
        "Changes of the rate of {} over that of {} on each host. {}{scatter}",
        and_list(&view.candidates),
        view.base,
        signs::legend(&signs, view.margin)
    ))
}

/// A band for each host: its ratio and interval in each case that a host found a change in.
fn figure(view: &HostsView, worth: &[&HostsCase]) -> Option<Figure> {
    let drawn = &worth[..worth.len().min(MOST_DRAWN)];
    if drawn.is_empty() {
        return None;
    }
    let point = |of: &ByHost| Point { value: of.ratio, low: of.low, high: of.high };
    let of_hosts = drawn.iter().flat_map(|case| case.by_host.iter().flatten());
    let confidence = shared_confidence(of_hosts.filter_map(|of| of.confidence));
    let series = view.hosts.iter().enumerate().map(|(place, host)| BarSeries {
        name: host.name.clone(),
        values: drawn.iter().map(|case| case.by_host[place].as_ref().map(point)).collect(),
    });
    Some(Figure {
        name: "relative-rate-by-host".to_owned(),
        caption: format!("Rate over that of {} on each host, with its interval.", view.base),
        chart: Chart::Bars(Bars {
            title: "Relative rate by host".to_owned(),
            axis: format!("rate over that of {}", view.base),
            reference: 1.0,
            confidence,
            labels: drawn.iter().map(|case| name(view, case)).collect(),
            series: series.collect(),
        }),
    })
}

fn hosts(view: &HostsView) -> Table {
    Table::by_columns(
        &view.hosts,
        &[
            ("host", Name, &|host| host.name.clone()),
            ("class", Prose, &|host| host.class.clone()),
            ("kernel", Name, &|host| host.kernel.clone()),
            (view.repeats.many(), Number, &|host| host.repeats.to_string()),
            ("run", Word, &|host| run_of(host)),
        ],
    )
}

/// `20261128-031500-3fa9 and 3 more`
fn run_of(host: &HostFacts) -> String {
    match host.joined_runs.len() {
        0 => host.run.clone(),
        more => format!("{} and {more} more", host.run),
    }
}

/// A line for each case and host; ratios and shares.
pub fn table(view: &HostsView) -> Table {
    let mut table = Table::for_scripts(&[
        "step",
        "subject",
        "host",
        "run",
        "verdict",
        "counts",
        "ratio",
        "low",
        "high",
        "confidence",
        "repeats",
        "mean",
        "mean_low",
        "mean_high",
    ]);
    let rows = view.cases.iter().flat_map(|case| {
        let of_hosts = case.by_host.iter().zip(&view.hosts);
        of_hosts.filter_map(move |(of, host)| {
            let of = of.as_ref()?;
            let mean =
                |value: fn(&findings::hosts::MeanOverHosts) -> f64| number(case.mean.as_ref().map(value));
            Some(vec![
                case.step.clone(),
                case.candidate.clone(),
                host.name.clone(),
                host.run.clone(),
                of.verdict.name().to_owned(),
                of.counts.to_string(),
                number(Some(of.ratio)),
                number(of.low),
                number(of.high),
                number(of.confidence),
                of.repeats.to_string(),
                mean(|mean| mean.ratio),
                mean(|mean| mean.low),
                mean(|mean| mean.high),
            ])
        })
    });
    table.fill(rows);
    table
}

/// The keys of scripts.
pub fn json(view: &HostsView) -> Value {
    json!({
        "schema": SCHEMA,
        "workload": view.workload,
        "base": view.base,
        "candidates": view.candidates,
        "margin": view.margin,
        "alpha": ALPHA,
        "least_hosts_for_a_mean": LEAST_HOSTS,
        "hosts": view.hosts,
        "cases": view.cases.iter().map(|case| json!({
            "step": case.step,
            "candidate": case.candidate,
            "slower_on": case.hosts_with(Verdict::Regression),
            "faster_on": case.hosts_with(Verdict::Improvement),
            "measured_on": case.measured_on(),
            "by_host": case.by_host.iter().zip(&view.hosts).filter_map(|(of, host)| Some(by_host(of.as_ref()?, &host.name)))
                .collect::<Vec<_>>(),
            "mean": case.mean,
            "is_one_build": case.is_one_build,
            "disagreement": case.disagreement.map(|apart| json!({
                "worse_on": view.hosts[apart.worse].name,
                "better_on": view.hosts[apart.better].name,
                "p_value": apart.p,
            })),
        })).collect::<Vec<_>>(),
        "uncounted_runs": view.uncounted.iter().map(uncounted::json).collect::<Vec<_>>(),
        "unfinished_jobs": view.unfinished,
    })
}

fn by_host(of: &ByHost, host: &str) -> Value {
    json!({
        "host": host,
        "verdict": of.verdict.name(),
        "counts": of.counts,
        "ratio": of.ratio,
        "low": of.low,
        "high": of.high,
        "confidence": of.confidence,
        "repeats": of.repeats,
        "visible_change": of.visible_change,
    })
}
