//! Values over releases: a line for each step, its intervals, diamonds where it changes, bands of major versions.

use super::end_labels::spread;
use super::frame::{self, EDGE, Entry, Key, NameStyle, SMALL, TEXT, TO_BASE_LINE, WIDTH};
use super::lettering::{brief, fitted, width};
use super::palette::{Look, look, marker};
use super::scale::{Domain, Scale, Tick, drawable, is_ratio, settled};
use super::scene::{Anchor, Area, Dash, Form, Ink, Item, Scene, Shape, Spot, Turn, spot};
use super::{Line, Point, Releases};
use crate::figures;

const PLOT_HEIGHT: f64 = 350.0;
/// Above the values, for the names of bands.
const BAND_HEAD: f64 = 18.0;
/// Up to so many lines are named at their ends; more have a legend below.
const MOST_END_LABELS: usize = 12;
const END_LABEL_PITCH: f64 = 15.0;
const END_LABEL_ROOM: f64 = 190.0;
/// From the end of a line to its name: a connecting stroke and a marker.
const LEADER: f64 = 32.0;
/// Names of releases are cut to this width.
const RELEASE_ROOM: f64 = 120.0;
/// Two names of releases that rise are at least this far apart.
const RELEASE_PITCH: f64 = 15.0;
/// Markers of a line are at least this far apart; where points are nearer, some have none.
const MARKER_PITCH: f64 = 14.0;
/// More points than this tell nothing where one points at them: a page has to stay small.
const MOST_NOTES: usize = 3000;
/// Intervals of lines at one release stand beside each other, so far apart.
const INTERVAL_PITCH: f64 = 4.0;
/// Before the first and after the last release, where there are few.
const LEAST_MARGIN: f64 = 26.0;
/// Sine and cosine of 45 degrees.
const SLANT: f64 = std::f64::consts::FRAC_1_SQRT_2;

pub(super) fn scene(chart: &Releases) -> Scene {
    let lines: Vec<Drawn> = chart.lines.iter().enumerate().map(|line| Drawn::of(line, chart)).collect();
    let points: Vec<Point> = lines.iter().flat_map(|line| line.points.iter().copied().flatten()).collect();
    let description = description(chart);
    if points.is_empty() {
        return frame::empty(&chart.title, description);
    }
    let (heading, top) = frame::heading(&chart.title);
    let layout = Layout::of(chart, &lines, &points, top);

    let mut items = vec![heading];
    items.extend(head_row(chart, &lines, &layout, top));
    items.extend(bands(&layout));
    items.push(value_axis(chart, &layout));
    items.extend(release_axis(chart, &layout));
    items.extend(reference(chart, &layout));
    items.extend(lines.iter().map(|line| line.draw_line(&layout)));
    let has_notes = points.len() <= MOST_NOTES;
    items.extend(lines.iter().flat_map(|line| line.draw_points(chart, &layout, has_notes)));
    items.extend(lines.iter().flat_map(|line| line.draw_changes(chart, &layout)));
    let mut bottom = layout.plot.bottom + layout.release_height;
    if layout.has_end_labels {
        items.extend(end_labels(&lines, &layout));
    } else {
        let area = Area { left: EDGE, top: bottom + 6.0, right: WIDTH - EDGE, bottom };
        let entry = |line: &Drawn| Entry { key: Key::Line(line.look), text: line.line.name.clone() };
        let entries: Vec<Entry> = lines.iter().map(entry).collect();
        let (legend, height) = frame::legend(&entries, area);
        items.extend(legend);
        bottom += 6.0 + height;
    }
    Scene { width: WIDTH, height: (bottom + EDGE).ceil(), title: chart.title.clone(), description, items }
}

fn description(chart: &Releases) -> String {
    let lines = figures::count(chart.lines.len() as u64, "line", "lines");
    let range = match (chart.releases.first(), chart.releases.last()) {
        (Some(first), Some(last)) => format!(" over the releases from {} to {}", brief(first), brief(last)),
        _ => String::new(),
    };
    format!("{lines}{range}. Vertical axis: {}.", brief(&chart.axis))
}

/// A line with what can be drawn of it.
struct Drawn<'a> {
    line: &'a Line,
    index: usize,
    look: Look,
    /// For each release.
    points: Vec<Option<Point>>,
    /// How far it stands beside the place of the release, in parts of the distance that lines have.
    beside: f64,
}

/// Where things are.
struct Layout {
    plot: Area,
    scale: Scale,
    ticks: Vec<Tick>,
    /// The middle of each release.
    places: Vec<f64>,
    /// Between two releases.
    pitch: f64,
    /// Every so many points have a marker.
    marker_stride: usize,
    /// Between lines at one release.
    beside: f64,
    /// Names of releases and how they stand.
    names: Vec<String>,
    turn: Turn,
    release_height: f64,
    bands: Vec<Major>,
    has_end_labels: bool,
}

impl Layout {
    fn of(chart: &Releases, lines: &[Drawn], points: &[Point], top: f64) -> Self {
        let count = chart.releases.len();
        let plot_top = top + 30.0;
        let domain = Domain::of(points, chart.reference);
        let bands = majors(&chart.releases);
        let head = if bands.is_empty() { 0.0 } else { BAND_HEAD };
        let scale = Scale { domain, start: plot_top + PLOT_HEIGHT, end: plot_top + head };
        let ticks = domain.ticks(7);
        let named: Vec<&Drawn> = lines.iter().filter(|line| line.last().is_some()).collect();
        let has_end_labels = named.len() <= MOST_END_LABELS;
        let names: Vec<String> =
            chart.releases.iter().map(|release| fitted(release, SMALL, RELEASE_ROOM)).collect();
        let widest_name = names.iter().map(|name| width(name, SMALL)).fold(0.0, f64::max);

        let tick_room = ticks.iter().map(|tick| width(&tick.text, SMALL)).fold(0.0, f64::max) + 8.0;
        let right = if has_end_labels {
            let labels = named.iter().map(|line| line.line.name.as_str());
            WIDTH - EDGE - LEADER - frame::widest(labels, TEXT, END_LABEL_ROOM)
        } else {
            WIDTH - EDGE
        };
        let level_plot =
            Area { left: EDGE + tick_room, top: plot_top, right, bottom: plot_top + PLOT_HEIGHT };
        let turn = if widest_name + 10.0 <= Row::of(&level_plot, count, widest_name).pitch {
            Turn::Level
        } else {
            Turn::Rising
        };
        let plot = match turn {
            Turn::Level => level_plot,
            // A name rises to its release from the left, the first ones from beside the plot.
            Turn::Rising => {
                Area { left: level_plot.left.max(EDGE + widest_name * SLANT - 12.0), ..level_plot }
            }
        };
        let Row { first, pitch } = Row::of(&plot, count, widest_name);
        let places = (0..count).map(|release| first + pitch * release as f64).collect();
        let release_height = match turn {
            Turn::Level => 20.0,
            Turn::Rising => 14.0 + widest_name * SLANT,
        };
        let marker_stride = (1..count).find(|stride| *stride as f64 * pitch >= MARKER_PITCH).unwrap_or(1);
        let beside = ((pitch * 0.5).min(LEAST_MARGIN * 1.8) / lines.len().max(1) as f64).min(INTERVAL_PITCH);
        Self {
            plot,
            scale,
            ticks,
            places,
            pitch,
            marker_stride,
            beside,
            names,
            turn,
            release_height,
            bands,
            has_end_labels,
        }
    }
}

/// Where releases stand along the plot.
struct Row {
    first: f64,
    pitch: f64,
}

impl Row {
    /// With room for half a name at both ends; one release stands in the middle.
    fn of(plot: &Area, count: usize, widest_name: f64) -> Self {
        let margin = (plot.width() / count.max(1) as f64 / 2.0).min((widest_name / 2.0).max(LEAST_MARGIN));
        let pitch = (plot.width() - 2.0 * margin) / count.saturating_sub(1).max(1) as f64;
        let first = if count == 1 { plot.left + plot.width() / 2.0 } else { plot.left + margin };
        Self { first, pitch }
    }
}

/// What is on the vertical axis, and what the marks mean that occur.
fn head_row(chart: &Releases, lines: &[Drawn], layout: &Layout, top: f64) -> Vec<Item> {
    let points = || lines.iter().flat_map(|line| line.points.iter().flatten());
    let changes = || {
        chart.lines.iter().flat_map(|line| &line.changes).filter(|mark| mark.release < chart.releases.len())
    };
    let keys = [
        (points().any(|point| point.low.is_some() || point.high.is_some()), Key::Interval, "interval"),
        (changes().any(|mark| mark.confirmed), Key::Change, "confirmed change"),
        (changes().any(|mark| !mark.confirmed), Key::Candidate, "candidate of a change"),
    ];
    let entries: Vec<Entry> = keys
        .into_iter()
        .filter(|(occurs, ..)| *occurs)
        .map(|(_, key, text)| Entry { key, text: text.to_owned() })
        .collect();
    let keys_left = layout.plot.right - frame::legend_width(&entries);
    let area = Area { left: keys_left, top: top + 3.0, right: layout.plot.right + 1.0, bottom: top };
    let mut items = frame::legend(&entries, area).0;
    let style = NameStyle {
        size: TEXT,
        room: (keys_left - EDGE - 20.0).max(80.0),
        anchor: Anchor::Start,
        ink: Ink::Label,
    };
    items.push(frame::name(&chart.axis, spot(EDGE, top + 17.0), style));
    items
}

/// Major versions, every second shaded, with their names above the values.
fn bands(layout: &Layout) -> Vec<Item> {
    let Area { left, top, right, bottom } = layout.plot;
    let edge = |release: usize| {
        let between = layout.places.get(release).map(|place| place - layout.pitch / 2.0);
        if release == 0 { left } else { between.unwrap_or(right) }
    };
    let band = |(index, major): (usize, &Major)| {
        let area = Area { left: edge(major.first), top, right: edge(major.first + major.count), bottom };
        let mut shapes = Vec::new();
        if index % 2 == 1 {
            shapes.push(Shape::area(area, Ink::Band));
        }
        if width(&major.name, SMALL) + 8.0 <= area.width() {
            let at = spot((area.left + area.right) / 2.0, top + 13.0);
            shapes.push(Shape::words(major.name.clone(), at, SMALL, Anchor::Middle, Ink::Axis));
        }
        Item::plain(shapes)
    };
    layout.bands.iter().enumerate().map(band).collect()
}

/// Neighbouring releases of one major version.
struct Major {
    /// Index of the first of them.
    first: usize,
    count: usize,
    /// `8.x`
    name: String,
}

/// The major versions; none where there is but one, or where most have one release: bands would be stripes.
fn majors(releases: &[String]) -> Vec<Major> {
    let Some(majors) = releases.iter().map(|release| major(release)).collect::<Option<Vec<&str>>>() else {
        return Vec::new();
    };
    let mut runs: Vec<Major> = Vec::new();
    for run in majors.chunk_by(|one, other| one == other) {
        let first = runs.last().map_or(0, |last| last.first + last.count);
        runs.extend(run.first().map(|major| Major { first, count: run.len(), name: format!("{major}.x") }));
    }
    if runs.len() < 2 || runs.len() * 2 > majors.len() { Vec::new() } else { runs }
}

/// The major version of a release: `8` of `rocksdb@8.6.7`; none where it does not begin with a number and a dot.
fn major(release: &str) -> Option<&str> {
    let version = release.rsplit('@').next()?;
    let (major, _) = version.split_once('.')?;
    let is_number = !major.is_empty() && major.len() <= 4 && major.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(major)
}

fn value_axis(chart: &Releases, layout: &Layout) -> Item {
    let plot = layout.plot;
    let shapes = layout.ticks.iter().flat_map(|tick| {
        let y = layout.scale.at(tick.value);
        let is_reference = chart.reference.is_some_and(|at| (at - tick.value).abs() < 1e-12);
        let ink = if is_reference { Ink::Mark } else { Ink::Axis };
        let at = spot(plot.left - 8.0, y + SMALL * TO_BASE_LINE);
        [
            Shape::line(spot(plot.left, y), spot(plot.right, y), 1.0, Ink::Grid),
            Shape::words(tick.text.clone(), at, SMALL, Anchor::End, ink),
        ]
    });
    Item::plain(shapes.collect())
}

/// The edge of the plot, a tick for each release, and the names for which there is room.
fn release_axis(chart: &Releases, layout: &Layout) -> Vec<Item> {
    let plot = layout.plot;
    let tick = |place: &f64| vec![spot(*place, plot.bottom), spot(*place, plot.bottom + 4.0)];
    let edge = vec![spot(plot.left, plot.bottom), spot(plot.right, plot.bottom)];
    let pieces = std::iter::once(edge).chain(layout.places.iter().map(tick)).collect();
    let mut items = vec![Item::plain(vec![Shape::stroke(pieces, 1.0, Dash::Solid, Ink::Axis)])];
    let changed = |release: usize| {
        let mut marks = chart.lines.iter().flat_map(|line| &line.changes);
        marks.any(|mark| mark.release == release && mark.confirmed)
    };
    for release in named_releases(layout, &changed) {
        let shown = layout.names[release].clone();
        let is_cut = shown != chart.releases[release];
        let (at, anchor) = match layout.turn {
            Turn::Level => (spot(layout.places[release], plot.bottom + 17.0), Anchor::Middle),
            Turn::Rising => (spot(layout.places[release] + 4.0, plot.bottom + 13.0), Anchor::End),
        };
        let ink = if changed(release) { Ink::Mark } else { Ink::Axis };
        let form = Form::Words { text: shown, at, size: SMALL, anchor, turn: layout.turn };
        let words = vec![Shape { form, ink }];
        let whole = chart.releases[release].clone();
        items.push(if is_cut { Item::about(whole, words) } else { Item::plain(words) });
    }
    items
}

/// Indices of the releases whose names are shown: those that changed, the last, the first, and of the others every
/// second, third .. as there is room.
fn named_releases(layout: &Layout, changed: &impl Fn(usize) -> bool) -> Vec<usize> {
    let count = layout.places.len();
    let distance = match layout.turn {
        Turn::Level => return (0..count).collect(),
        Turn::Rising => RELEASE_PITCH,
    };
    let stride = (1..count).find(|stride| *stride as f64 * layout.pitch >= distance).unwrap_or(1);
    let wanted =
        (0..count).filter(|release| changed(*release)).chain(count.checked_sub(1)).chain(0..count.min(1));
    let mut named: Vec<usize> = Vec::new();
    for release in wanted.chain((0..count).step_by(stride)) {
        let has_room =
            |other: &usize| (layout.places[*other] - layout.places[release]).abs() >= distance - 1e-9;
        if named.iter().all(has_room) {
            named.push(release);
        }
    }
    named.sort_unstable();
    named
}

/// The line of no change, over the bands and under the data. Ratios have it among their ticks; elsewhere it tells
/// its value.
fn reference(chart: &Releases, layout: &Layout) -> Option<Item> {
    let at = chart.reference.and_then(settled)?;
    let (plot, y) = (layout.plot, layout.scale.at(at));
    let line = Shape::line(spot(plot.left, y), spot(plot.right, y), 1.4, Ink::Reference);
    if is_ratio(chart.reference) {
        return Some(Item::plain(vec![line]));
    }
    let text = frame::quantity(at);
    let words = Shape::words(text, spot(plot.left + 4.0, y - 4.0), SMALL, Anchor::Start, Ink::Mark);
    Some(Item::plain(vec![line, words]))
}

impl<'a> Drawn<'a> {
    fn of((index, line): (usize, &'a Line), chart: &Releases) -> Self {
        let points = line.points.iter().take(chart.releases.len()).map(|point| drawable(*point)).collect();
        let middle = (chart.lines.len() as f64 - 1.0) / 2.0;
        Self { line, index, look: look(index), points, beside: index as f64 - middle }
    }

    fn last(&self) -> Option<Point> {
        self.points.iter().rev().copied().flatten().next()
    }

    fn at(&self, release: usize, value: f64, layout: &Layout) -> Spot {
        spot(layout.places[release] + self.beside * layout.beside, layout.scale.at(value))
    }

    /// The line itself, interrupted where there is no value.
    fn draw_line(&self, layout: &Layout) -> Item {
        let spots = self.points.iter().enumerate();
        let spots: Vec<Option<Spot>> =
            spots.map(|(release, point)| point.map(|point| self.at(release, point.value, layout))).collect();
        let pieces: Vec<Vec<Spot>> = spots
            .split(Option::is_none)
            .map(|piece| piece.iter().copied().flatten().collect())
            .filter(|piece: &Vec<Spot>| piece.len() > 1)
            .collect();
        if pieces.is_empty() {
            return Item::plain(Vec::new());
        }
        Item::about(self.line.name.clone(), vec![Shape::stroke(pieces, 1.8, self.look.dash, self.look.ink)])
    }

    /// Points and their intervals.
    fn draw_points(&self, chart: &Releases, layout: &Layout, has_notes: bool) -> Vec<Item> {
        let lonely = |release: usize| {
            let there =
                |at: Option<usize>| at.and_then(|at| self.points.get(at)).is_some_and(Option::is_some);
            !there(release.checked_sub(1)) && !there(Some(release + 1))
        };
        let points = self.points.iter().enumerate();
        points
            .filter_map(|(release, point)| {
                let point = (*point)?;
                let at = self.at(release, point.value, layout);
                let mut shapes: Vec<Shape> = interval(point, at, layout, self.look.ink).into_iter().collect();
                if (release + self.index).is_multiple_of(layout.marker_stride) || lonely(release) {
                    shapes.push(marker(self.look, at, 3.0));
                }
                if !has_notes {
                    return Some(Item::plain(shapes));
                }
                shapes.push(Shape { form: Form::Target { center: at, radius: 7.0 }, ink: self.look.ink });
                let about = frame::pointed(&self.line.name, &chart.releases[release])
                    + &frame::reading(point, chart.reference);
                Some(Item::about(about, shapes))
            })
            .collect()
    }

    /// Diamonds. A change at a release without a value stands at the next one that has one.
    fn draw_changes(&self, chart: &Releases, layout: &Layout) -> Vec<Item> {
        let marks = self.line.changes.iter().filter(|mark| mark.release < chart.releases.len());
        marks
            .filter_map(|mark| {
                let mut values =
                    self.points.iter().enumerate().filter_map(|(at, point)| Some((at, (*point)?.value)));
                let (at, value) =
                    values.clone().find(|(at, _)| *at >= mark.release).or_else(|| values.next_back())?;
                let kind = if mark.confirmed { "confirmed change" } else { "candidate of a change" };
                let about = frame::pointed(&self.line.name, &chart.releases[mark.release]) + kind;
                let center = self.at(at, value, layout);
                Some(Item::about(about, frame::change(center, mark.confirmed, self.look.ink)))
            })
            .collect()
    }
}

/// The bar from the lower to the upper end; an arrow where it goes on beyond the plot.
fn interval(point: Point, at: Spot, layout: &Layout, ink: Ink) -> Option<Shape> {
    if point.low.is_none() && point.high.is_none() {
        return None;
    }
    let (low, high) = (point.low.unwrap_or(point.value), point.high.unwrap_or(point.value));
    let (bottom, top) = (layout.scale.at(low), layout.scale.at(high));
    let mut pieces = vec![vec![spot(at.x, bottom), spot(at.x, top)]];
    for (end, y, inwards) in [(low, bottom, -4.0), (high, top, 4.0)] {
        if !layout.scale.contains(end) {
            pieces.push(vec![spot(at.x - 2.5, y + inwards), spot(at.x, y), spot(at.x + 2.5, y + inwards)]);
        }
    }
    Some(Shape { form: Form::Faint { pieces, width: 1.2 }, ink })
}

/// Names of the lines at their ends, with a stroke from the last value and the line's marker.
fn end_labels(lines: &[Drawn], layout: &Layout) -> Vec<Item> {
    let mut named: Vec<(f64, &Drawn)> = lines
        .iter()
        .filter_map(|line| line.last().map(|point| (layout.scale.at(point.value), line)))
        .collect();
    named.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let wanted: Vec<f64> = named.iter().map(|(y, _)| *y).collect();
    let places = spread(&wanted, END_LABEL_PITCH, layout.plot.top, layout.plot.bottom);
    let right = layout.plot.right;
    let last = layout.places.last().copied().unwrap_or(right) + lines.len() as f64 * layout.beside / 2.0;
    let mut items = Vec::new();
    for ((y, line), place) in named.into_iter().zip(places) {
        let leader = vec![vec![spot((last + 6.0).min(right + 2.0), y), spot(right + 13.0, place)]];
        items.push(Item::plain(vec![
            Shape::stroke(leader, 1.0, Dash::Solid, line.look.ink),
            marker(line.look, spot(right + 20.0, place), 3.2),
        ]));
        let at = spot(right + LEADER - 4.0, place + TEXT * TO_BASE_LINE);
        let style = NameStyle { size: TEXT, room: END_LABEL_ROOM, anchor: Anchor::Start, ink: Ink::Label };
        items.push(frame::name(&line.line.name, at, style));
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_is_the_number_before_the_first_dot() {
        let majors =
            ["rocksdb@8.6.7", "16.4", "8.0.36+small", "a1b2c3", "x.1", "12345.1", ".1", "8"].map(major);
        assert_eq!(majors, [Some("8"), Some("16"), Some("8"), None, None, None, None, None]);
    }
}
