//! Values over releases: a line for each step, its intervals, diamonds where it changes, bands of major versions.

use super::frame::{self, EDGE, Entry, Key, NameStyle, SMALL, TEXT, TO_BASE_LINE, WIDTH};
use super::lettering::{brief, width};
use super::scale::{is_ratio, settled};
use super::scene::{Anchor, Area, Dash, Form, Ink, Item, Scene, Shape, Turn, spot};
use super::{Bands, Point, Releases};
use layout::{Drawn, Layout, Stretch};
use line::{Notes, end_labels};
use model::figures;

mod layout;
mod line;

/// Two names of releases that rise are at least this far apart.
const RELEASE_PITCH: f64 = 15.0;
/// More points than this tell nothing where one points at them: a page has to stay small.
const MOST_NOTES: usize = 1000;
/// More points than this have no space around them that tells the same: they stand too near to each other.
const MOST_TARGETS: usize = 400;

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
    let notes = match points.len() {
        count if count <= MOST_TARGETS => Notes::WithTargets,
        count if count <= MOST_NOTES => Notes::OnMarks,
        _ => Notes::None,
    };
    items.extend(lines.iter().flat_map(|line| line.draw_points(chart, &layout, notes)));
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
        (Some(first), Some(last)) => {
            let over = match chart.bands {
                Bands::MajorVersions => " over the releases",
                Bands::Of(_) => "",
            };
            format!("{over} from {} to {}", brief(first), brief(last))
        }
        _ => String::new(),
    };
    format!("{lines}{range}. Vertical axis: {}.", brief(&chart.axis))
}

/// What is on the vertical axis, and what the marks mean that occur.
fn head_row(chart: &Releases, lines: &[Drawn], layout: &Layout, top: f64) -> Vec<Item> {
    let points = || lines.iter().flat_map(|line| line.points.iter().flatten());
    let changes = || {
        chart.lines.iter().flat_map(|line| &line.changes).filter(|mark| mark.release < chart.releases.len())
    };
    let has_intervals = points().any(|point| point.low.is_some() || point.high.is_some());
    let mark = |key, text: &str| Entry { key, text: text.to_owned() };
    let keys = [
        (has_intervals, frame::interval_entry(Key::Interval, chart.confidence)),
        (changes().any(|mark| mark.confirmed), mark(Key::Change, "confirmed change")),
        (changes().any(|mark| !mark.confirmed), mark(Key::Candidate, "candidate of a change")),
    ];
    let entries: Vec<Entry> =
        keys.into_iter().filter(|(occurs, _)| *occurs).map(|(_, entry)| entry).collect();
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

/// Major versions or what else belongs together, every second shaded, with their names above the values.
fn bands(layout: &Layout) -> Vec<Item> {
    let Area { left, top, right, bottom } = layout.plot;
    let edge = |release: usize| {
        let between = layout.places.get(release).map(|place| place - layout.pitch / 2.0);
        if release == 0 { left } else { between.unwrap_or(right) }
    };
    let band = |(index, stretch): (usize, &Stretch)| {
        let area = Area {
            left: edge(stretch.first),
            top,
            right: edge(stretch.first.saturating_add(stretch.count)),
            bottom,
        };
        let mut shapes = Vec::new();
        if index % 2 == 1 {
            shapes.push(Shape::area(area, Ink::Band));
        }
        if width(&stretch.name, SMALL) + 8.0 <= area.width() {
            let at = spot((area.left + area.right) / 2.0, top + 13.0);
            shapes.push(Shape::words(stretch.name.clone(), at, SMALL, Anchor::Middle, Ink::Axis));
        }
        Item::plain(shapes)
    };
    layout.bands.iter().enumerate().map(band).collect()
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
