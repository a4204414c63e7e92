//! One line of a chart of releases: its stroke, its points with their intervals, its changes, and its name at its end, which
//! is moved apart from others that it would cover.

use super::super::frame::{self, NameStyle, TEXT, TO_BASE_LINE};
use super::super::palette::marker;
use super::super::scene::{Anchor, Dash, Form, Ink, Item, Shape, Spot, spot};
use super::super::{Point, Releases};
use super::layout::{Drawn, END_LABEL_ROOM, LEADER, Layout};

/// Two names at the ends of lines are so far apart.
const END_LABEL_PITCH: f64 = 15.0;

/// Where a reader may point to be told a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Notes {
    None,
    /// At markers and intervals.
    OnMarks,
    WithTargets,
}

impl Drawn<'_> {
    fn at(&self, release: usize, value: f64, layout: &Layout) -> Spot {
        spot(layout.places[release] + self.beside * layout.beside, layout.scale.at(value))
    }

    /// The line itself, interrupted where there is no value.
    pub fn draw_line(&self, layout: &Layout) -> Item {
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

    /// Points and their intervals. Those without notes are drawn together, in few elements.
    pub fn draw_points(&self, chart: &Releases, layout: &Layout, notes: Notes) -> Vec<Item> {
        let faint = |pieces| Shape { form: Form::Faint { pieces, width: 1.2 }, ink: self.look.ink };
        let drawn = self.points.iter().enumerate().filter_map(|(release, point)| {
            let point = (*point)?;
            let at = self.at(release, point.value, layout);
            let has_marker =
                (release + self.index).is_multiple_of(layout.marker_stride) || self.is_lonely(release);
            Some((release, point, at, has_marker.then(|| marker(self.look, at, 3.0))))
        });
        if notes == Notes::None {
            let intervals: Vec<Vec<Spot>> =
                drawn.clone().flat_map(|(_, point, at, _)| interval(point, at, layout)).collect();
            let mut shapes = if intervals.is_empty() { Vec::new() } else { vec![faint(intervals)] };
            shapes.extend(drawn.filter_map(|(.., marker)| marker));
            return vec![Item::plain(shapes)];
        }
        let item = |(release, point, at, marker): (usize, Point, Spot, Option<Shape>)| {
            let pieces = interval(point, at, layout);
            let mut shapes = if pieces.is_empty() { Vec::new() } else { vec![faint(pieces)] };
            shapes.extend(marker);
            if notes == Notes::WithTargets {
                shapes.push(Shape { form: Form::Target { center: at, radius: 7.0 }, ink: self.look.ink });
            }
            let about = frame::pointed(&self.line.name, &chart.releases[release])
                + &frame::reading(point, chart.reference);
            Item::about(about, shapes)
        };
        drawn.map(item).collect()
    }

    /// Whether the line does not reach the point from either side.
    fn is_lonely(&self, release: usize) -> bool {
        let there = |at: Option<usize>| at.and_then(|at| self.points.get(at)).is_some_and(Option::is_some);
        !there(release.checked_sub(1)) && !there(Some(release + 1))
    }

    /// Diamonds. A change at a release without a value stands at the next one that has one.
    pub fn draw_changes(&self, chart: &Releases, layout: &Layout) -> Vec<Item> {
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

/// The bar from the lower to the upper end, if these are known; an arrow where it goes on beyond the plot.
fn interval(point: Point, at: Spot, layout: &Layout) -> Vec<Vec<Spot>> {
    if point.low.is_none() && point.high.is_none() {
        return Vec::new();
    }
    let (low, high) = (point.low.unwrap_or(point.value), point.high.unwrap_or(point.value));
    let (bottom, top) = (layout.scale.at(low), layout.scale.at(high));
    let mut pieces = vec![vec![spot(at.x, bottom), spot(at.x, top)]];
    for (end, y, inwards) in [(low, bottom, -4.0), (high, top, 4.0)] {
        if !layout.scale.contains(end) {
            pieces.push(vec![spot(at.x - 2.5, y + inwards), spot(at.x, y), spot(at.x + 2.5, y + inwards)]);
        }
    }
    pieces
}

/// Names of the lines at their ends, with a stroke from the last value and the line's marker.
pub(super) fn end_labels(lines: &[Drawn], layout: &Layout) -> Vec<Item> {
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

/// Places as near to the wanted ones as can be, in the same order, at least `gap` apart and within `low..=high`.
///
/// `wanted` rises. Less its number of gaps, each place must not be below the one before: that is isotonic regression,
/// done by pooling neighbours that violate it (Ayer et al. 1955), which minimises the squares of the shifts. Where
/// the room is too small for all gaps, these shrink.
fn spread(wanted: &[f64], gap: f64, low: f64, high: f64) -> Vec<f64> {
    let count = wanted.len();
    let gap = gap.min((high - low).max(0.0) / count.saturating_sub(1).max(1) as f64);
    let mut pools: Vec<Pool> = Vec::new();
    for (index, place) in wanted.iter().enumerate() {
        let mut pool = Pool { sum: place - gap * index as f64, count: 1 };
        while let Some(before) = pools.pop_if(|before| before.mean() > pool.mean()) {
            pool = Pool { sum: before.sum + pool.sum, count: before.count + pool.count };
        }
        pools.push(pool);
    }
    let last = high - gap * count.saturating_sub(1) as f64;
    let means = pools.iter().flat_map(|pool| std::iter::repeat_n(pool.mean(), pool.count));
    means.enumerate().map(|(index, mean)| mean.min(last).max(low) + gap * index as f64).collect()
}

/// Neighbours that are placed together.
struct Pool {
    sum: f64,
    count: usize,
}

impl Pool {
    fn mean(&self) -> f64 {
        self.sum / self.count as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn labels_with_room_stay_where_they_are() {
        assert_eq!(spread(&[10.0, 40.0, 90.0], 14.0, 0.0, 100.0), [10.0, 40.0, 90.0]);
    }

    #[test]
    fn labels_at_one_place_spread_evenly_around_it() {
        assert_eq!(spread(&[50.0, 50.0, 50.0], 10.0, 0.0, 100.0), [40.0, 50.0, 60.0]);
        assert_eq!(spread(&[99.0, 99.0], 10.0, 0.0, 100.0), [90.0, 100.0]);
    }

    proptest! {
        #[test]
        fn labels_keep_their_order_their_distance_and_the_room(
            mut wanted in prop::collection::vec(0.0..400.0, 0..14),
        ) {
            wanted.sort_by(f64::total_cmp);
            let places = spread(&wanted, 15.0, 0.0, 400.0);
            prop_assert_eq!(places.len(), wanted.len());
            prop_assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= 15.0 - 1e-6), "{:?}", places);
            prop_assert!(places.iter().all(|place| (-1e-6..=400.0 + 1e-6).contains(place)), "{:?}", places);
        }
    }
}
