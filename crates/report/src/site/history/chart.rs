//! The charts of a history: rates over releases, and over runs.

use super::{ALPHA, Comparable, HistoryPage, SubjectRates};
use crate::charts::{Chart, Line, Point, Releases};
use model::subject::compare_versions;

/// More lines than these cannot be told apart.
const MOST_LINES: usize = 12;

/// A line for each engine and configuration over its releases, and the caption. Absent where no line has two points.
pub(super) fn over_releases(view: &HistoryPage, group: &Comparable) -> Option<(Chart, String)> {
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
pub(super) fn over_time(view: &HistoryPage, group: &Comparable) -> Option<(Chart, String)> {
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
    let labels = runs.iter().map(|run| super::super::cells::moment(run.began_at_us)).collect();
    Some((
        chart(view, labels, lines, Some(1.0 - ALPHA)),
        "Each run by itself, oldest first; the bar is its 99 % interval, of a build against itself that of the base."
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
        title: view.step.clone(),
        axis: "operations per second".to_owned(),
        reference: None,
        confidence,
        releases,
        lines,
    })
}
