//! Groups of horizontal bars from the line of no change: a group for each step, a bar for each subject. Many
//! subjects stand in panels side by side, so that each bar keeps its height.

use super::frame::{self, EDGE, Entry, Key, NameStyle, SMALL, TEXT, TO_BASE_LINE, WIDTH};
use super::lettering::{brief, fitted, width};
use super::palette::SERIES;
use super::scale::{Domain, Scale, Tick, drawable, is_ratio, settled};
use super::scene::{Anchor, Area, Dash, Ink, Item, Scene, Shape, spot};
use super::{BarSeries, Bars, Point};
use model::figures;

/// Up to so many subjects share the groups; more have a panel each.
const MOST_IN_GROUPS: usize = 4;
const PANELS_IN_ROW: usize = 5;
const PANEL_GAP: f64 = 16.0;
const PANEL_NAME: f64 = 18.0;
const LABEL_ROOM: f64 = 230.0;
const LABEL_GAP: f64 = 10.0;
const TICK_HEIGHT: f64 = 20.0;
/// Ticks stand above a panel too where it is higher than that.
const TICKS_TWICE_FROM: f64 = 420.0;
/// Relative rates beyond these are coloured in tables; here they are lines.
const GUIDES: [f64; 2] = [0.95, 1.05];
/// More bars than this tell nothing where one points at them: a page has to stay small.
const MOST_NOTES: usize = 3000;

pub(super) fn scene(chart: &Bars) -> Scene {
    let series: Vec<Drawn> = chart.series.iter().enumerate().map(|series| Drawn::of(series, chart)).collect();
    let points: Vec<Point> =
        series.iter().flat_map(|series| series.points.iter().copied().flatten()).collect();
    let description = description(chart);
    if points.is_empty() {
        return frame::empty(&chart.title, description);
    }
    let in_groups = series.len() <= MOST_IN_GROUPS;
    let (heading, mut top) = frame::heading(&chart.title);
    let mut items = vec![heading];
    let (legend, legend_height) = legend(chart, &series, &points, in_groups, top);
    items.extend(legend);
    top += legend_height;

    let layout = Layout::of(chart, &series, &points);
    let panels: Vec<&[Drawn]> = if in_groups { vec![series.as_slice()] } else { series.chunks(1).collect() };
    let rows = panels.len().div_ceil(PANELS_IN_ROW);
    let in_row = panels.len().div_ceil(rows.max(1)).max(1);
    for row in panels.chunks(in_row) {
        let top_ticks = if layout.height() > TICKS_TWICE_FROM { TICK_HEIGHT } else { 4.0 };
        let body_top = top + top_ticks + if in_groups { 0.0 } else { PANEL_NAME };
        items.extend(layout.labels(chart, body_top));
        // The last row may be shorter: its panels are as wide as those of the others.
        let panel_width = (layout.right - layout.left + PANEL_GAP) / in_row as f64 - PANEL_GAP;
        for (index, panel) in row.iter().enumerate() {
            let left = layout.left + index as f64 * (panel_width + PANEL_GAP);
            let area =
                Area { left, top: body_top, right: left + panel_width, bottom: body_top + layout.height() };
            if let (false, Some(only)) = (in_groups, panel.first()) {
                let at = spot(left, top + PANEL_NAME - 5.0);
                let style =
                    NameStyle { size: SMALL, room: panel_width, anchor: Anchor::Start, ink: Ink::Title };
                items.push(frame::name(&only.series.name, at, style));
            }
            items.extend(layout.panel(chart, panel, area));
        }
        if let (true, [only]) = (in_groups, series.as_slice()) {
            items.extend(layout.readings(chart, only, body_top));
        }
        top = body_top + layout.height() + TICK_HEIGHT + if in_groups { 0.0 } else { 14.0 };
    }
    Scene { width: WIDTH, height: (top + EDGE - 6.0).ceil(), title: chart.title.clone(), description, items }
}

fn description(chart: &Bars) -> String {
    let groups = figures::count(chart.labels.len() as u64, "group", "groups");
    let names: Vec<String> = chart.series.iter().take(10).map(|series| brief(&series.name)).collect();
    let reference = frame::quantity(chart.reference);
    format!(
        "{groups} of bars for {}. Horizontal axis: {}; bars begin at {reference}.",
        figures::and_list(&names),
        brief(&chart.axis)
    )
}

/// The subjects with their colours, what is on the axis, and what the marks mean that occur. With its height.
fn legend(chart: &Bars, series: &[Drawn], points: &[Point], in_groups: bool, top: f64) -> (Vec<Item>, f64) {
    let has_intervals = points.iter().any(|point| point.low.is_some() || point.high.is_some());
    let has_gaps = points.len() < series.len() * chart.labels.len();
    let mut entries: Vec<Entry> = Vec::new();
    if in_groups {
        entries.extend(
            series
                .iter()
                .map(|series| Entry { key: Key::Swatch(series.ink), text: series.series.name.clone() }),
        );
    }
    let marks = [
        (has_intervals, frame::interval_entry(Key::ErrorBar, chart.confidence)),
        (has_gaps, Entry { key: Key::Absent, text: "not measured".to_owned() }),
    ];
    entries.extend(marks.into_iter().filter(|(occurs, _)| *occurs).map(|(_, entry)| entry));
    let style = NameStyle { size: TEXT, room: WIDTH - 2.0 * EDGE, anchor: Anchor::Start, ink: Ink::Label };
    let mut items = vec![frame::name(&chart.axis, spot(EDGE, top + 14.0), style)];
    let area = Area { left: EDGE - 8.0, top: top + 22.0, right: WIDTH - EDGE, bottom: top };
    let (legend, height) = frame::legend(&entries, area);
    items.extend(legend);
    (items, 22.0 + height + 4.0)
}

/// A subject with what can be drawn of it.
struct Drawn<'a> {
    series: &'a BarSeries,
    ink: Ink,
    points: Vec<Option<Point>>,
}

impl<'a> Drawn<'a> {
    fn of((index, series): (usize, &'a BarSeries), chart: &Bars) -> Self {
        let point = |label: usize| drawable(series.values.get(label).copied().flatten());
        Self {
            series,
            ink: Ink::Series(index % SERIES.len()),
            points: (0..chart.labels.len()).map(point).collect(),
        }
    }
}

/// What all panels have in common.
struct Layout {
    /// Of the plots, beside the labels.
    left: f64,
    right: f64,
    /// The height of a bar.
    thickness: f64,
    /// From one group to the next.
    pitch: f64,
    groups: usize,
    domain: Domain,
    reference: f64,
    has_notes: bool,
    /// The width of the readings beside the bars of a single subject.
    reading_room: f64,
}

impl Layout {
    fn of(chart: &Bars, series: &[Drawn], points: &[Point]) -> Self {
        let reference = settled(chart.reference).unwrap_or(0.0);
        let (in_group, thickness, between) = match series.len() {
            1 => (1, 13.0, 8.0),
            2 => (2, 10.0, 9.0),
            3 => (3, 7.0, 8.0),
            4 => (4, 6.0, 8.0),
            _ => (1, 8.0, 5.0),
        };
        let labels = chart.labels.iter().map(String::as_str);
        let reading_room = match series {
            [_] => {
                let readings = points.iter().map(|point| frame::reading(*point, Some(chart.reference)));
                readings.map(|reading| width(&reading, SMALL)).fold(0.0, f64::max) + LABEL_GAP
            }
            _ => 0.0,
        };
        Self {
            left: EDGE + frame::widest(labels, SMALL, LABEL_ROOM) + LABEL_GAP,
            right: WIDTH - EDGE - reading_room,
            thickness,
            pitch: f64::from(in_group) * thickness + between,
            groups: chart.labels.len(),
            domain: Domain::of(points, Some(reference)),
            reference,
            has_notes: points.len() <= MOST_NOTES,
            reading_room,
        }
    }

    fn height(&self) -> f64 {
        self.pitch * self.groups as f64
    }

    fn middle(&self, group: usize, top: f64) -> f64 {
        top + (group as f64 + 0.5) * self.pitch
    }

    fn labels(&self, chart: &Bars, top: f64) -> Vec<Item> {
        let style = NameStyle { size: SMALL, room: LABEL_ROOM, anchor: Anchor::End, ink: Ink::Label };
        let labels = chart.labels.iter().enumerate();
        labels
            .map(|(group, label)| {
                let at = spot(self.left - LABEL_GAP, self.middle(group, top) + SMALL * TO_BASE_LINE);
                frame::name(label, at, style)
            })
            .collect()
    }

    /// Values and intervals as text, in a column of their own.
    fn readings(&self, chart: &Bars, only: &Drawn, top: f64) -> Vec<Item> {
        let points = only.points.iter().enumerate();
        points
            .filter_map(|(group, point)| {
                let text =
                    fitted(&frame::reading((*point)?, Some(chart.reference)), SMALL, self.reading_room);
                let at = spot(WIDTH - EDGE, self.middle(group, top) + SMALL * TO_BASE_LINE);
                Some(Item::plain(vec![Shape::words(text, at, SMALL, Anchor::End, Ink::Label)]))
            })
            .collect()
    }

    fn panel(&self, chart: &Bars, panel: &[Drawn], area: Area) -> Vec<Item> {
        let scale = Scale { domain: self.domain, start: area.left, end: area.right };
        let mut items = vec![Item::plain(self.ground(area)), Item::plain(self.axis(area, &scale))];
        if is_ratio(Some(self.reference)) {
            let guides: Vec<Shape> = GUIDES
                .into_iter()
                .filter(|guide| scale.contains(*guide))
                .map(|guide| {
                    let x = scale.at(guide);
                    let piece = vec![spot(x, area.top), spot(x, area.bottom)];
                    Shape::stroke(vec![piece], 1.0, Dash::Short, Ink::Guide)
                })
                .collect();
            items.push(Item::plain(guides));
        }
        let height = self.thickness * panel.len() as f64;
        for group in 0..self.groups {
            for (place, drawn) in panel.iter().enumerate() {
                let top = self.middle(group, area.top) - height / 2.0 + place as f64 * self.thickness;
                items.push(self.draw_bar(chart, drawn, group, top, &scale));
            }
        }
        let x = scale.at(self.reference);
        let ends = (spot(x, area.top - 3.0), spot(x, area.bottom + 3.0));
        items.push(Item::plain(vec![Shape::line(ends.0, ends.1, 1.4, Ink::Reference)]));
        items
    }

    /// Every second group, so that the eye stays in its row.
    fn ground(&self, area: Area) -> Vec<Shape> {
        let second = (0..self.groups).skip(1).step_by(2);
        second
            .map(|group| {
                let top = area.top + group as f64 * self.pitch;
                Shape::area(Area { top, bottom: top + self.pitch, ..area }, Ink::Band)
            })
            .collect()
    }

    fn axis(&self, area: Area, scale: &Scale) -> Vec<Shape> {
        let mut shapes = Vec::new();
        for tick in readable(self.domain, scale) {
            let x = scale.at(tick.value);
            let is_reference = (tick.value - self.reference).abs() < 1e-12;
            let ink = if is_reference { Ink::Mark } else { Ink::Axis };
            let bottom = area.bottom + 4.0;
            shapes.push(Shape::line(spot(x, area.top), spot(x, bottom), 1.0, Ink::Grid));
            // At an end of the axis a long number would leave the drawing.
            let half = width(&tick.text, SMALL) / 2.0;
            let middle = x.max(half).min(WIDTH - half);
            let mut words = |y: f64| {
                shapes.push(Shape::words(tick.text.clone(), spot(middle, y), SMALL, Anchor::Middle, ink));
            };
            words(area.bottom + 15.0);
            if area.height() > TICKS_TWICE_FROM {
                words(area.top - 6.0);
            }
        }
        shapes
    }

    /// A bar with its interval; a cross at the reference where there is no value.
    fn draw_bar(&self, chart: &Bars, drawn: &Drawn, group: usize, top: f64, scale: &Scale) -> Item {
        let (middle, zero) = (top + self.thickness / 2.0, scale.at(self.reference));
        let about = |reading: &str| frame::pointed(&drawn.series.name, &chart.labels[group]) + reading;
        let (shapes, reading) = match drawn.points[group] {
            None => (vec![frame::absent(spot(zero + 6.0, middle))], "not measured".to_owned()),
            Some(point) => {
                let end = scale.at(point.value);
                // A value at the reference is seen on both sides of its line.
                let sliver = if (end - zero).abs() < 2.0 { 2.0 } else { 0.0 };
                let bar = Area {
                    left: end.min(zero) - sliver,
                    top: top + 0.5,
                    right: end.max(zero) + sliver,
                    bottom: top + self.thickness - 0.5,
                };
                let mut shapes = vec![Shape::area(bar, drawn.ink)];
                shapes.extend(self.error_bar(point, middle, scale));
                (shapes, frame::reading(point, Some(chart.reference)))
            }
        };
        if self.has_notes { Item::about(about(&reading), shapes) } else { Item::plain(shapes) }
    }

    /// The interval of a bar; an arrow where it goes on beyond the panel.
    fn error_bar(&self, point: Point, y: f64, scale: &Scale) -> Option<Shape> {
        if point.low.is_none() && point.high.is_none() {
            return None;
        }
        let (low, high) = (point.low.unwrap_or(point.value), point.high.unwrap_or(point.value));
        let (left, right) = (scale.at(low), scale.at(high));
        let half = (self.thickness * 0.28).min(3.0);
        let mut pieces = vec![vec![spot(left, y), spot(right, y)]];
        for (end, x, inwards) in [(point.low, left, 3.5), (point.high, right, -3.5)] {
            let Some(end) = end else { continue };
            pieces.push(if scale.contains(end) {
                vec![spot(x, y - half), spot(x, y + half)]
            } else {
                vec![spot(x + inwards, y - half), spot(x, y), spot(x + inwards, y + half)]
            });
        }
        Some(Shape::stroke(pieces, 1.0, Dash::Solid, Ink::ErrorBar))
    }
}

/// As many ticks as can be read beside each other.
fn readable(domain: Domain, scale: &Scale) -> Vec<Tick> {
    const GAP: f64 = 12.0;
    const MOST: usize = 10;
    let is_clear = |ticks: &Vec<Tick>| {
        ticks.windows(2).all(|pair| {
            let between = scale.at(pair[1].value) - scale.at(pair[0].value);
            between >= (width(&pair[0].text, SMALL) + width(&pair[1].text, SMALL)) / 2.0 + GAP
        })
    };
    let choices = (1..=MOST).rev().map(|wanted| domain.ticks(wanted));
    let clear = choices.filter(is_clear).max_by_key(Vec::len);
    clear.unwrap_or_default()
}
