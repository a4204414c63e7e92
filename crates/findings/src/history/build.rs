//! From observations to the view.

use super::together::groups;
use super::{ChangeView, EventView, HistoryView, Observed, Origin, Remeasure, SeriesView};
use crate::trend::TrendView;
use analysis::change_points::{self, Change, CriticalValues, Findings, Kind, Rule, Series, Standing};
use analysis::rounds::{self, RoundValues, RoundsFit};
use model::warning::Warning;
use std::collections::BTreeSet;

/// How series are searched.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Question {
    /// Share of series without a change in which anything is found.
    pub alpha: f64,
    /// Changes of less than this share are not worth a line.
    pub least_change: f64,
    /// Layout noise of one build, in ln.
    pub layout_noise: f64,
}

/// Where a change of less than this share would go unseen, nothing can be said of the series.
const SAYS_NOTHING_ABOVE: f64 = 0.10;

/// Searches every series.
pub fn build(observed: &[Observed], origin: Origin, question: &Question) -> HistoryView {
    let critical = CriticalValues::shared();
    let mut series: Vec<SeriesView> = observed.iter().map(|one| searched(one, question, critical)).collect();
    confirm(&mut series, question.alpha);
    let events = events(&series, observed);
    name_twins(&mut series, &events);
    HistoryView {
        origin: origin.names,
        alpha: question.alpha,
        least_change: question.least_change,
        remeasure: remeasure(&series),
        commands: Vec::new(),
        warnings: warnings(observed, origin.warnings),
        series,
        events,
    }
}

fn searched(one: &Observed, question: &Question, critical: &CriticalValues) -> SeriesView {
    let rounds = one.logarithms.rounds().len();
    let again = one.first_rounds.and_then(|first| Again::of(one, first, question.layout_noise));
    let searched = again.as_ref().map_or(&one.logarithms, |again| &again.first);
    let series = match searched.rounds() {
        [single] => Series::of_single_runs(single, one.floor),
        _ => Series::of_rounds(&rounds::fit(searched), question.layout_noise),
    };
    let rule =
        Rule { alpha: question.alpha, least_change: question.least_change, confidence: 1.0 - question.alpha };
    let config = if one.config.is_empty() { String::new() } else { format!(" +{}", one.config) };
    let mut view = SeriesView {
        name: format!("{}{config} {}", one.step, one.metric),
        step: one.step.clone(),
        config: one.config.clone(),
        metric: one.metric.clone(),
        unit: one.unit.clone(),
        releases: one.releases.clone(),
        values: one.values.clone(),
        rounds,
        gaps: one.gaps.clone(),
        changes: Vec::new(),
        outliers: Vec::new(),
        remeasure: Vec::new(),
        visible: None,
        says_nothing: None,
        trend: None,
        maybe_autocorrelation: false,
    };
    let Ok(series) = series else { return view };
    let findings = change_points::find(&series, &rule, critical);
    let name = |index: &usize| one.releases[*index].clone();
    view.changes = findings.changes.iter().map(|change| change_view(change, &findings, one)).collect();
    if let Some(again) = &again {
        for (change, view) in findings.changes.iter().zip(&mut view.changes) {
            again.tell(change, &findings, view);
        }
    }
    view.outliers = findings.outliers.iter().map(name).collect();
    view.remeasure = findings.remeasure().iter().map(name).collect();
    view.visible = findings.visible.map(f64::exp_m1);
    view.trend = findings.trend.map(TrendView::from);
    view.maybe_autocorrelation = findings.maybe_autocorrelation;
    view.says_nothing =
        if view.told_trend().is_some() { None } else { says_nothing(one, &series, &findings) };
    view
}

/// Campaigns taken together: the places are those that the first one gave. Whoever adds rounds to those that picked a place,
/// and tests all of them, finds something in the end.
struct Again {
    first: RoundValues,
    later: RoundsFit,
    all: RoundsFit,
    layout_noise: f64,
}

impl Again {
    fn of(one: &Observed, first: usize, layout_noise: f64) -> Option<Again> {
        let (first, later) = one.logarithms.rounds().split_at_checked(first)?;
        let values = |rounds: &[Vec<Option<f64>>]| RoundValues::new(one.releases.len(), rounds.to_vec()).ok();
        Some(Again {
            first: values(first)?,
            later: rounds::fit(&values(later)?),
            all: rounds::fit(&one.logarithms),
            layout_noise,
        })
    }

    /// The p of a change in the later rounds, between the releases that are surely before it and surely after; its size over
    /// all rounds.
    fn tell(&self, change: &Change, findings: &Findings, view: &mut ChangeView) {
        let (before, after) = findings.around(change, |_| true);
        let (earliest, latest) = match (change.location.first(), change.location.last()) {
            (Some(earliest), Some(latest)) => (*earliest, *latest),
            _ => (change.version, change.version),
        };
        let surely_before: Vec<usize> =
            before.iter().copied().filter(|version| *version < earliest).collect();
        let surely_after: Vec<usize> = after.iter().copied().filter(|version| *version >= latest).collect();
        let again = self.later.between(&surely_before, &surely_after, self.layout_noise);
        view.confirmation_p = again.map(|again| again.p);
        if let Some(all) = self.all.between(&before, &after, self.layout_noise) {
            (view.ratio, view.low, view.high) = all.interval(view.confidence);
        }
    }
}

/// Which changes the later campaigns confirm: all together at alpha (Holm). What they did not measure stands as it was.
fn confirm(series: &mut [SeriesView], alpha: f64) {
    let mut asked: Vec<&mut ChangeView> = series
        .iter_mut()
        .flat_map(|one| &mut one.changes)
        .filter(|change| change.confirmation_p.is_some())
        .collect();
    let p_values: Vec<f64> = asked.iter().filter_map(|change| change.confirmation_p).collect();
    for (change, confirmed) in asked.iter_mut().zip(analysis::family::holm(&p_values, alpha)) {
        change.confirmed = confirmed;
        change.kind = match (confirmed, change.glitch) {
            (false, _) => Kind::Candidate,
            (true, false) => Kind::Step,
            (true, true) => Kind::Glitch,
        };
    }
}

fn says_nothing(one: &Observed, series: &Series, findings: &Findings) -> Option<String> {
    let values = one.values.iter().flatten().count();
    if values == 0 {
        return Some("no value above 0".to_owned());
    }
    let Some(visible) = findings.visible else {
        return Some(format!(
            "{} with a value are too few",
            model::figures::count(series.len() as u64, "release", "releases")
        ));
    };
    if !findings.changes.is_empty() || visible.exp_m1() <= SAYS_NOTHING_ABOVE {
        return None;
    }
    let values = || one.values.iter().flatten().copied();
    let range = values().fold(0.0, f64::max) / values().fold(f64::INFINITY, f64::min) - 1.0;
    // No step can be larger than all that the values differ by.
    Some(if visible.exp_m1() > range {
        format!(
            "its values differ by {}, and a step as large would hardly be seen",
            model::figures::percent(range)
        )
    } else {
        format!("a change of less than {} would hardly be seen", model::figures::percent(visible.exp_m1()))
    })
}

fn change_view(change: &Change, findings: &Findings, one: &Observed) -> ChangeView {
    let name = |index: usize| one.releases[index].clone();
    let (before, after) = findings.around(change, |version| one.values[version].is_some());
    let mean = |of: &[usize]| {
        analysis::student::mean(&of.iter().filter_map(|index| one.values[*index]).collect::<Vec<f64>>())
    };
    ChangeView {
        version: name(change.version),
        before: before.last().map(|index| name(*index)),
        kind: if one.in_rounds { change.kind() } else { Kind::Candidate },
        glitch: change.shape == change_points::Shape::Glitch,
        confirmed: one.in_rounds && change.standing == Standing::Found,
        at_edge: change.at_edge,
        ratio: change.ratio,
        low: change.low,
        high: change.high,
        confidence: change.confidence,
        score: change.score,
        location: change.location.iter().map(|index| name(*index)).collect(),
        value_before: mean(&before),
        value_after: mean(&after),
        same_as: Vec::new(),
        confirmation_p: None,
        toolchain: one.toolchains.get(&one.releases[change.version]).cloned(),
    }
}

/// Changes at the same release in series of the same step and configuration, the clearest first.
fn events(series: &[SeriesView], observed: &[Observed]) -> Vec<EventView> {
    let mut events: Vec<EventView> = Vec::new();
    for (index, one) in series.iter().enumerate() {
        for (at, change) in one.changes.iter().enumerate() {
            let same = |event: &&mut EventView| {
                event.step == one.step && event.config == one.config && event.version == change.version
            };
            match events.iter_mut().find(same) {
                Some(event) => event.members.push((index, at)),
                None => events.push(EventView {
                    step: one.step.clone(),
                    config: one.config.clone(),
                    version: change.version.clone(),
                    members: vec![(index, at)],
                    lines: Vec::new(),
                }),
            }
        }
    }
    for event in &mut events {
        let size = |(series_at, at): &(usize, usize)| series[*series_at].changes[*at].ratio.ln().abs();
        event.members.sort_by(|left, right| size(right).total_cmp(&size(left)));
        event.lines = groups(&event.members, observed);
    }
    // What is sure comes first, then what is large.
    let weight = |event: &EventView| {
        let changes = event.members.iter().map(|(at, change)| &series[*at].changes[*change]);
        let sure = changes.clone().any(|change| change.confirmed);
        (sure, changes.map(|change| change.ratio.ln().abs()).fold(0.0, f64::max))
    };
    events.sort_by(|left, right| {
        let ((left_sure, left_size), (right_sure, right_size)) = (weight(left), weight(right));
        right_sure.cmp(&left_sure).then(right_size.total_cmp(&left_size))
    });
    events
}

/// Writes into each change which series say the same.
fn name_twins(series: &mut [SeriesView], events: &[EventView]) {
    for line in events.iter().flat_map(|event| &event.lines) {
        let names: Vec<String> = line.members.iter().map(|(at, _)| series[*at].name.clone()).collect();
        for ((at, change), own) in line.members.iter().zip(0..) {
            let others = names.iter().zip(0..).filter(|(_, other)| *other != own);
            series[*at].changes[*change].same_as = others.map(|(name, _)| name.clone()).collect();
        }
    }
}

/// What to measure again, step by step.
fn remeasure(series: &[SeriesView]) -> Vec<Remeasure> {
    let mut wanted: Vec<Remeasure> = Vec::new();
    for one in series.iter().filter(|one| !one.remeasure.is_empty()) {
        let place = wanted.iter().position(|other| other.step == one.step && other.config == one.config);
        let place = place.unwrap_or_else(|| {
            wanted.push(Remeasure {
                step: one.step.clone(),
                config: one.config.clone(),
                releases: Vec::new(),
            });
            wanted.len() - 1
        });
        let all: BTreeSet<&String> = wanted[place].releases.iter().chain(&one.remeasure).collect();
        wanted[place].releases = one.releases.iter().filter(|name| all.contains(name)).cloned().collect();
    }
    wanted
}

fn warnings(observed: &[Observed], mut warnings: Vec<Warning>) -> Vec<Warning> {
    if observed.iter().any(|one| one.logarithms.rounds().len() == 1) {
        warnings.push(Warning::SingleRunsOfReleases);
    }
    if observed.iter().any(|one| one.logarithms.rounds().len() > 1 && !one.in_rounds) {
        warnings.push(Warning::OrderUnknown);
    }
    warnings
}
