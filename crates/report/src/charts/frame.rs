//! What charts have in common: sizes, the heading, names, the legend, values as text, the chart of nothing.

use super::Point;
use super::lettering::{brief, fitted, width, wrapped};
use super::palette::{Look, cross, diamond, marker};
use super::scale::is_ratio;
use super::scene::{Anchor, Area, Dash, Form, Ink, Item, Scene, Shape, Spot, spot};
use model::figures;

/// All charts are this wide, in pixels: the text of a blog post is narrower, and images have twice as many.
pub(super) const WIDTH: f64 = 960.0;
/// Free on all sides.
pub(super) const EDGE: f64 = 20.0;
/// Size of most text.
pub(super) const TEXT: f64 = 12.0;
/// Size of the text of ticks and values.
pub(super) const SMALL: f64 = 11.0;
/// From the middle of a line of text to its base line, per pixel of its size.
pub(super) const TO_BASE_LINE: f64 = 0.36;

/// Numbers from here on are written with their power of ten.
const LONG: f64 = 1e15;

const TITLE: f64 = 16.0;
const TITLE_PITCH: f64 = 21.0;
const TITLE_LINES: usize = 2;

const LEGEND_PITCH: f64 = 19.0;
const LEGEND_GAP: f64 = 20.0;
const LEGEND_ROOM: f64 = 260.0;
const KEY: f64 = 22.0;
const KEY_GAP: f64 = 6.0;

/// What stands before a text of a legend.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Key {
    Line(Look),
    Swatch(Ink),
    /// The upright bar of an interval.
    Interval,
    /// The interval of a bar.
    ErrorBar,
    /// A change that is confirmed.
    Change,
    /// A change that is a candidate.
    Candidate,
    /// Where a value is missing.
    Absent,
}

/// A part of a legend.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub key: Key,
    /// In full; it is shortened where it is long.
    pub text: String,
}

/// What the sign of an interval means: `99 % interval`.
pub(super) fn interval_entry(key: Key, confidence: Option<f64>) -> Entry {
    let text = match confidence.filter(|confidence| (0.0..1.0).contains(confidence)) {
        Some(confidence) => format!("{} interval", figures::chosen_percent(confidence)),
        None => "interval".to_owned(),
    };
    Entry { key, text }
}

/// The title of a chart, and the `y` below it.
pub(super) fn heading(title: &str) -> (Item, f64) {
    let lines = wrapped(title, TITLE, WIDTH - 2.0 * EDGE, TITLE_LINES);
    let mut bottom = EDGE;
    let shapes = lines.into_iter().map(|line| {
        bottom += TITLE_PITCH;
        Shape::words(line, spot(EDGE, bottom - 5.0), TITLE, Anchor::Start, Ink::Title)
    });
    let shapes: Vec<Shape> = shapes.collect();
    (Item::plain(shapes), bottom + 4.0)
}

/// A chart of which there is nothing to draw: its title, and that it is so.
pub(super) fn empty(title: &str, description: String) -> Scene {
    let (heading, bottom) = heading(title);
    let at = spot(EDGE, bottom + 24.0);
    let words = Shape::words("no values", at, TEXT, Anchor::Start, Ink::Label);
    Scene {
        width: WIDTH,
        height: bottom + 24.0 + EDGE,
        title: title.to_owned(),
        description,
        items: vec![heading, Item::plain(vec![words])],
    }
}

/// How a name is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct NameStyle {
    pub size: f64,
    /// It is cut to this width.
    pub room: f64,
    pub anchor: Anchor,
    pub ink: Ink,
}

/// A name, and where it is cut the whole of it for those who point at it.
pub(super) fn name(text: &str, at: Spot, style: NameStyle) -> Item {
    let shown = fitted(text, style.size, style.room);
    let is_cut = shown != text;
    let words = vec![Shape::words(shown, at, style.size, style.anchor, style.ink)];
    if is_cut { Item::about(text.to_owned(), words) } else { Item::plain(words) }
}

/// The width of the widest name, as far as there is room.
pub(super) fn widest<'a>(names: impl IntoIterator<Item = &'a str>, size: f64, room: f64) -> f64 {
    names.into_iter().map(|name| width(&fitted(name, size, room), size)).fold(0.0, f64::max)
}

/// A value with its interval: `0.931 [0.920, 0.942]` of ratios, `612,345 [600,120, 624,990]` of others.
pub(super) fn reading(point: Point, reference: Option<f64>) -> String {
    let is_ratio = is_ratio(reference);
    let read = |value: f64| {
        if is_ratio && value.abs() < LONG { figures::ratio(value) } else { quantity(value) }
    };
    let end = |end: Option<f64>| figures::or_none(end, read);
    match (point.low, point.high) {
        (None, None) => read(point.value),
        (low, high) => format!("{} [{}, {}]", read(point.value), end(low), end(high)),
    }
}

/// A value with its thousands set apart, or with its power of ten where these would be too many.
pub(super) fn quantity(value: f64) -> String {
    if value.abs() < LONG { figures::quantity(value) } else { format!("{value:.2e}") }
}

/// `readrandom, 8.6.7: `, as long as names are of use to one who points at a value.
pub(super) fn pointed(name: &str, place: &str) -> String {
    format!("{}, {}: ", brief(name), brief(place))
}

/// The cross of a value that is missing.
pub(super) fn absent(center: Spot) -> Shape {
    Shape::stroke(cross(center, 2.5), 1.0, Dash::Solid, Ink::Axis)
}

/// The sign of a change of a line: filled where it is confirmed, hollow where it is a candidate.
pub(super) fn change(center: Spot, confirmed: bool, ink: Ink) -> Vec<Shape> {
    let polygon = |radius: f64, ink: Ink| Shape { form: Form::Polygon(diamond(center, radius)), ink };
    if confirmed {
        return vec![polygon(8.5, Ink::Paper), polygon(6.5, ink)];
    }
    let edge = Form::Edge { corners: diamond(center, 5.5), width: 1.6 };
    vec![polygon(8.0, Ink::Paper), Shape { form: edge, ink }]
}

/// How wide a legend is on one line.
pub(super) fn legend_width(entries: &[Entry]) -> f64 {
    let widths: f64 = entries.iter().map(entry_width).sum();
    widths + LEGEND_GAP * entries.len().saturating_sub(1) as f64
}

/// A legend from `area`'s upper left corner; its lower edge is not looked at. One line, or columns of equal width.
/// With the height that it takes.
pub(super) fn legend(entries: &[Entry], area: Area) -> (Vec<Item>, f64) {
    let fits = legend_width(entries) <= area.width();
    let column = entries.iter().map(entry_width).fold(0.0, f64::max) + LEGEND_GAP;
    let columns = (1..=entries.len()).rev().find(|count| *count as f64 * column <= area.width() + LEGEND_GAP);
    let columns = columns.unwrap_or(1);
    let mut items = Vec::new();
    let mut along = area.left;
    for (index, entry) in entries.iter().enumerate() {
        let at = if fits {
            let here = spot(along, area.top + LEGEND_PITCH / 2.0);
            along += entry_width(entry) + LEGEND_GAP;
            here
        } else {
            let (row, place) = (index / columns, index % columns);
            spot(area.left + place as f64 * column, area.top + (row as f64 + 0.5) * LEGEND_PITCH)
        };
        items.extend(legend_entry(entry, at));
    }
    let rows = if fits { entries.len().min(1) } else { entries.len().div_ceil(columns) };
    (items, rows as f64 * LEGEND_PITCH)
}

fn entry_width(entry: &Entry) -> f64 {
    KEY + KEY_GAP + width(&fitted(&entry.text, SMALL, LEGEND_ROOM), SMALL)
}

fn legend_entry(entry: &Entry, at: Spot) -> [Item; 2] {
    let middle = spot(at.x + KEY / 2.0, at.y);
    let text = spot(at.x + KEY + KEY_GAP, at.y + SMALL * TO_BASE_LINE);
    let style = NameStyle { size: SMALL, room: LEGEND_ROOM, anchor: Anchor::Start, ink: Ink::Label };
    [Item::plain(key(entry.key, middle)), name(&entry.text, text, style)]
}

fn key(key: Key, middle: Spot) -> Vec<Shape> {
    let Spot { x, y } = middle;
    match key {
        Key::Line(look) => {
            let ends = vec![vec![spot(x - KEY / 2.0, y), spot(x + KEY / 2.0, y)]];
            vec![Shape::stroke(ends, 1.8, look.dash, look.ink), marker(look, middle, 3.2)]
        }
        Key::Swatch(ink) => {
            vec![Shape::area(
                Area { left: x - 1.0, top: y - 6.0, right: x + KEY / 2.0, bottom: y + 6.0 },
                ink,
            )]
        }
        Key::Interval => {
            vec![Shape::line(spot(x + 4.0, y - 7.0), spot(x + 4.0, y + 7.0), 1.0, Ink::Mark)]
        }
        Key::ErrorBar => {
            let (left, right) = (x - 5.0, x + KEY / 2.0);
            let pieces = vec![
                vec![spot(left, y), spot(right, y)],
                vec![spot(left, y - 2.5), spot(left, y + 2.5)],
                vec![spot(right, y - 2.5), spot(right, y + 2.5)],
            ];
            vec![Shape::stroke(pieces, 1.0, Dash::Solid, Ink::Mark)]
        }
        Key::Change => change(spot(x + 3.0, y), true, Ink::Mark),
        Key::Candidate => change(spot(x + 3.0, y), false, Ink::Mark),
        Key::Absent => vec![absent(spot(x + 4.0, y))],
    }
}
