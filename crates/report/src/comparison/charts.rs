//! The charts of a comparison: relative rates over the releases of a configuration, and as bars by group.

use super::changes::is_confirmed;
use crate::charts::{Bands, BarSeries, Bars, Chart, Line, Mark, Point, Releases};
use crate::document::Figure;
use crate::documents::ids::Ids;
use crate::documents::shared_confidence;
use findings::Comparison;
use findings::comparison::{Repeats, StepView, SubjectView};
use model::block::BASE;
use model::metric::Metric;
use model::subject::compare_versions;
use model::workload::Group;

/// A line of two releases says nothing that a bar does not.
const LEAST_RELEASES: usize = 3;
/// Fewer interleaved subjects are compared with the base, not along a series.
const LEAST_INTERLEAVED: usize = 6;
/// More lines than this in one chart cannot be told apart: then each group has its own.
const MOST_LINES: usize = 10;
/// Bars of more candidates than this cannot be read.
const MOST_BARS: usize = 12;

/// Relative rates over releases, for each configuration that enough releases have.
pub(super) fn over_releases(view: &Comparison, ids: &mut Ids) -> Vec<Figure> {
    let steps = shown(view);
    if view.repeats == Repeats::Launches && view.subjects.len() < LEAST_INTERLEAVED {
        return Vec::new();
    }
    let mut figures = Vec::new();
    for config in configs(view) {
        let releases = releases_of(view, config);
        if releases.len() < LEAST_RELEASES {
            continue;
        }
        let parts: Vec<(Option<Group>, Vec<&StepView>)> = if steps.len() <= MOST_LINES {
            vec![(None, steps.clone())]
        } else {
            by_group(&steps).into_iter().map(|(group, steps)| (Some(group), steps)).collect()
        };
        figures.extend(
            parts
                .into_iter()
                .filter_map(|(group, steps)| one_over_releases(view, config, &releases, group, &steps, ids)),
        );
    }
    figures
}

/// The steps that summaries are about.
fn shown(view: &Comparison) -> Vec<&StepView> {
    view.judged_steps().collect()
}

fn by_group<'a>(steps: &[&'a StepView]) -> Vec<(Group, Vec<&'a StepView>)> {
    let of_group =
        |group: Group| steps.iter().copied().filter(|step| step.group == group).collect::<Vec<_>>();
    Group::ALL
        .iter()
        .copied()
        .map(|group| (group, of_group(group)))
        .filter(|(_, steps)| !steps.is_empty())
        .collect()
}

/// Configurations in the order of the plan.
fn configs(view: &Comparison) -> Vec<&str> {
    let mut configs: Vec<&str> = Vec::new();
    for subject in &view.subjects {
        if !configs.contains(&subject.config.as_str()) {
            configs.push(&subject.config);
        }
    }
    configs
}

/// The subjects of a configuration that our own worker measured, in the order of their versions.
fn releases_of<'a>(view: &'a Comparison, config: &str) -> Vec<&'a SubjectView> {
    let mut releases: Vec<&SubjectView> =
        view.subjects.iter().filter(|subject| subject.config == config && !subject.db_bench).collect();
    releases.sort_by(|left, right| compare_versions(&left.version, &right.version));
    releases
}

fn one_over_releases(
    view: &Comparison,
    config: &str,
    releases: &[&SubjectView],
    group: Option<Group>,
    steps: &[&StepView],
    ids: &mut Ids,
) -> Option<Figure> {
    let lines: Vec<Line> = steps
        .iter()
        .map(|step| Line {
            name: step.name.clone(),
            points: releases.iter().map(|subject| relative(step, subject)).collect(),
            changes: changes(view, config, step, releases),
        })
        .collect();
    lines.iter().flat_map(|line| &line.points).any(Option::is_some).then(|| {
        let of_group = group.map(|group| format!(", {}", group.name())).unwrap_or_default();
        let of_config = if configs(view).len() > 1 { format!(", +{config}") } else { String::new() };
        Figure {
            name: ids.of("releases", &format!("{config}{of_group}")),
            caption: format!(
                "Rate relative to {} over releases{of_config}{of_group}, with intervals; a diamond marks a step that changed.",
                view.base
            ),
            chart: Chart::Releases(Releases { bands: Bands::MajorVersions,
                title: format!("Relative rate{of_config}{of_group}"),
                axis: format!("rate relative to {}", view.base),
                reference: Some(1.0),
                confidence: confidence(steps),
                releases: releases.iter().map(|subject| subject.version.clone()).collect(),
                lines,
            }),
        }
    })
}

fn relative(step: &StepView, subject: &SubjectView) -> Option<Point> {
    if subject.side == BASE {
        return step.base_rate().map(|_| Point { value: 1.0, low: None, high: None });
    }
    let deciding = step.case(subject.side)?.deciding()?;
    Some(Point { value: deciding.ratio?, low: deciding.low, high: deciding.high })
}

fn confidence(steps: &[&StepView]) -> Option<f64> {
    let cases = steps.iter().flat_map(|step| &step.cases);
    let confidences = cases.filter_map(|case| case.deciding()?.confidence);
    shared_confidence(confidences)
}

fn changes(view: &Comparison, config: &str, step: &StepView, releases: &[&SubjectView]) -> Vec<Mark> {
    let of_step = view.changes.iter().filter(|change| {
        change.config == config && change.step == step.name && change.metric == Metric::OpsPerSecond
    });
    of_step
        .filter_map(|change| {
            Some(Mark {
                release: releases.iter().position(|subject| subject.version == change.version)?,
                confirmed: is_confirmed(change),
            })
        })
        .collect()
}

/// Relative rates as bars, a chart for each group; none where there are too many candidates to be told apart.
pub(super) fn bars(view: &Comparison, ids: &mut Ids) -> Vec<Figure> {
    let candidates = view.candidates();
    if candidates.is_empty() || candidates.len() > MOST_BARS {
        return Vec::new();
    }
    let of_group = |(group, steps): (Group, Vec<&StepView>)| {
        let series: Vec<BarSeries> = candidates
            .iter()
            .map(|subject| BarSeries {
                name: subject.label.clone(),
                values: steps.iter().map(|step| relative(step, subject)).collect(),
            })
            .collect();
        series.iter().flat_map(|one| &one.values).any(Option::is_some).then(|| Figure {
            name: ids.of("relative-rate", group.name()),
            caption: format!(
                "Rate relative to {}, steps of the group {}, with intervals.",
                view.base,
                group.name()
            ),
            chart: Chart::Bars(Bars {
                title: format!("Relative rate, {}", group.name()),
                axis: format!("rate relative to {}", view.base),
                reference: 1.0,
                confidence: confidence(&steps),
                labels: steps.iter().map(|step| step.name.clone()).collect(),
                series,
            }),
        })
    };
    by_group(&shown(view)).into_iter().filter_map(of_group).collect()
}
