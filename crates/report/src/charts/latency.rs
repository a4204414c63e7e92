//! How latency is spread: a row of a full width for each subject, cut into the shares of its buckets, cool to hot.

use super::frame::{self, EDGE, Entry, Key, NameStyle, SMALL, TEXT, TO_BASE_LINE, WIDTH};
use super::lettering::{brief, width};
use super::palette::{heat, over};
use super::scene::{Anchor, Area, Ink, Item, Scene, Shape, spot};
use super::{LatencyRow, LatencyShares};
use model::figures;

const ROW: f64 = 30.0;
const ROW_GAP: f64 = 10.0;
const LABEL_ROOM: f64 = 230.0;
const LABEL_GAP: f64 = 10.0;
/// Between a percentage and the edges of its share.
const INSIDE: f64 = 4.0;
/// Lines of the axis, as shares.
const TICKS: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

pub(super) fn scene(chart: &LatencyShares) -> Scene {
    let rows: Vec<Drawn> = chart.rows.iter().map(|row| Drawn::of(row, chart)).collect();
    let description = description(chart);
    if rows.is_empty() {
        return frame::empty(&chart.title, description);
    }
    let (heading, top) = frame::heading(&chart.title);
    let mut items = vec![heading];
    let (legend, legend_height) = legend(chart, top);
    items.extend(legend);

    let labels = rows.iter().map(|row| row.row.name.as_str());
    let left = EDGE + frame::widest(labels, TEXT, LABEL_ROOM) + LABEL_GAP;
    let tails: Vec<Option<String>> = rows.iter().map(|row| row.tail(chart)).collect();
    let tail_room = tails.iter().flatten().map(|tail| width(tail, SMALL)).fold(0.0, f64::max) + LABEL_GAP;
    let body_top = top + legend_height + 6.0;
    let height = rows.len() as f64 * (ROW + ROW_GAP);
    let plot = Area { left, top: body_top, right: WIDTH - EDGE - tail_room, bottom: body_top + height };
    items.push(axis(plot));
    for (index, (row, tail)) in rows.iter().zip(tails).enumerate() {
        let row_top = body_top + index as f64 * (ROW + ROW_GAP) + ROW_GAP / 2.0;
        let area = Area { top: row_top, bottom: row_top + ROW, ..plot };
        let base_line = (area.top + area.bottom) / 2.0 + TEXT * TO_BASE_LINE;
        let style = NameStyle { size: TEXT, room: LABEL_ROOM, anchor: Anchor::End, ink: Ink::Label };
        items.push(frame::name(&row.row.name, spot(left - LABEL_GAP, base_line), style));
        items.extend(row.bar(chart, area));
        if let Some(tail) = tail {
            let at = spot(plot.right + LABEL_GAP, base_line);
            items.push(Item::plain(vec![Shape::words(tail, at, SMALL, Anchor::Start, Ink::Label)]));
        }
    }
    let bottom = plot.bottom + 20.0;
    Scene {
        width: WIDTH,
        height: (bottom + EDGE - 6.0).ceil(),
        title: chart.title.clone(),
        description,
        items,
    }
}

fn description(chart: &LatencyShares) -> String {
    let names: Vec<String> = chart.rows.iter().take(10).map(|row| brief(&row.name)).collect();
    format!(
        "Share of the operations by latency, in {}, for {}.",
        figures::count(chart.upper_us.len() as u64 + 1, "bucket", "buckets"),
        figures::and_list(&names)
    )
}

/// What is shown, and the limits of the buckets. With the height.
fn legend(chart: &LatencyShares, top: f64) -> (Vec<Item>, f64) {
    let words = Shape::words(
        "share of operations by latency",
        spot(EDGE, top + 14.0),
        TEXT,
        Anchor::Start,
        Ink::Label,
    );
    let buckets = chart.upper_us.len() + 1;
    let entry =
        |bucket: usize| Entry { key: Key::Swatch(heat(bucket, buckets)), text: bucket_name(chart, bucket) };
    let entries: Vec<Entry> = (0..buckets).map(entry).collect();
    let area = Area { left: EDGE - 8.0, top: top + 22.0, right: WIDTH - EDGE, bottom: top };
    let (items, height) = frame::legend(&entries, area);
    (std::iter::once(Item::plain(vec![words])).chain(items).collect(), 22.0 + height)
}

fn axis(plot: Area) -> Item {
    let shapes = TICKS.into_iter().flat_map(|share| {
        let x = plot.left + share * plot.width();
        let text = format!("{:.0} %", 100.0 * share);
        [
            Shape::line(spot(x, plot.top), spot(x, plot.bottom + 4.0), 1.0, Ink::Grid),
            Shape::words(text, spot(x, plot.bottom + 16.0), SMALL, Anchor::Middle, Ink::Axis),
        ]
    });
    Item::plain(shapes.collect())
}

/// A subject with shares that can be drawn.
struct Drawn<'a> {
    row: &'a LatencyRow,
    /// For each bucket, at least 0, together at most 1.
    shares: Vec<f64>,
}

impl<'a> Drawn<'a> {
    fn of(row: &'a LatencyRow, chart: &LatencyShares) -> Self {
        let share = |bucket: usize| {
            let share = row.shares.get(bucket).copied().unwrap_or(0.0);
            if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
        };
        let shares: Vec<f64> = (0..=chart.upper_us.len()).map(share).collect();
        let sum: f64 = shares.iter().sum();
        // Rounding may make them more than the whole; nothing else should.
        Self { row, shares: shares.into_iter().map(|share| share / sum.max(1.0)).collect() }
    }

    fn bar(&self, chart: &LatencyShares, area: Area) -> Vec<Item> {
        let buckets = self.shares.len();
        if self.shares.iter().all(|share| *share <= 0.0) {
            let at = spot(area.left + 8.0, (area.top + area.bottom) / 2.0 + SMALL * TO_BASE_LINE);
            return vec![Item::plain(vec![Shape::words(
                "no operations",
                at,
                SMALL,
                Anchor::Start,
                Ink::Axis,
            )])];
        }
        let mut left = area.left;
        let mut items = Vec::new();
        for (bucket, share) in self.shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
            let right = (left + share * area.width()).min(area.right);
            let ink = heat(bucket, buckets);
            let mut shapes = vec![Shape::area(Area { left, right, ..area }, ink)];
            // A line between neighbours of like colour, where it does not hide the narrower one.
            if right - left > 3.0 && left > area.left {
                let (top, bottom) = (spot(left, area.top), spot(left, area.bottom));
                shapes.push(Shape::line(top, bottom, 1.0, Ink::Paper));
            }
            let text = percent(*share);
            if width(&text, SMALL) + 2.0 * INSIDE <= right - left {
                let at = spot((left + right) / 2.0, (area.top + area.bottom) / 2.0 + SMALL * TO_BASE_LINE);
                shapes.push(Shape::words(text.clone(), at, SMALL, Anchor::Middle, over(ink)));
            }
            let about = format!("{}, {}: {text}", brief(&self.row.name), bucket_name(chart, bucket));
            items.push(Item::about(about, shapes));
            left = right;
        }
        items
    }

    /// The slowest operations, which are too few to be seen in the bar: `0.02 % > 10 ms`.
    fn tail(&self, chart: &LatencyShares) -> Option<String> {
        let (bucket, share) = self.shares.iter().enumerate().rev().find(|(_, share)| **share > 0.0)?;
        let above = chart.upper_us.get(bucket.checked_sub(1)?)?;
        Some(format!("{} > {}", percent(*share), duration(*above)))
    }
}

/// `≤ 50 µs`, `50 µs–100 µs`, `> 10 ms`
fn bucket_name(chart: &LatencyShares, bucket: usize) -> String {
    let below = bucket.checked_sub(1).and_then(|before| chart.upper_us.get(before)).copied();
    match (below, chart.upper_us.get(bucket).copied()) {
        (None, None) => "all".to_owned(),
        (None, Some(upper)) => format!("≤ {}", duration(upper)),
        (Some(lower), None) => format!("> {}", duration(lower)),
        (Some(lower), Some(upper)) => {
            let (lower, upper) = (duration(lower), duration(upper));
            // `100–200 µs` where both have one unit.
            match (lower.split_once(' '), upper.split_once(' ')) {
                (Some((number, unit)), Some((_, other))) if unit == other => format!("{number}–{upper}"),
                _ => format!("{lower}–{upper}"),
            }
        }
    }
}

/// A limit of a bucket: `50 µs`, `2.5 ms`, `1 s`.
fn duration(us: f64) -> String {
    let (value, unit) = match us.abs() {
        _ if !us.is_finite() => return figures::NONE.to_owned(),
        1e6.. => (us / 1e6, "s"),
        1e3..1e6 => (us / 1e3, "ms"),
        _ => (us, "µs"),
    };
    if value.abs() >= 1e6 {
        return format!("{value:.2e} {unit}");
    }
    let text = format!("{value:.3}");
    format!("{} {unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// A share as percent; small ones, the tail, with two digits: `41 %`, `3.2 %`, `0.012 %`.
fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match percent {
        1.0.. => figures::percent(share),
        0.1..1.0 => format!("{percent:.2} %"),
        0.01..0.1 => format!("{percent:.3} %"),
        0.0001..0.01 => format!("{percent:.4} %"),
        _ => format!("{percent:.1e} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_named_by_their_limits() {
        let chart = LatencyShares {
            title: String::new(),
            upper_us: vec![50.0, 100.0, 2500.0, 1e6],
            rows: Vec::new(),
        };
        let names: Vec<String> = (0..5).map(|bucket| bucket_name(&chart, bucket)).collect();
        assert_eq!(names, ["≤ 50 µs", "50–100 µs", "100 µs–2.5 ms", "2.5 ms–1 s", "> 1 s"]);
    }

    #[test]
    fn the_tail_has_digits() {
        let shares = [0.4123, 0.032, 0.0012, 0.000_12, 0.000_012, 0.000_000_1];
        assert_eq!(shares.map(percent), ["41 %", "3.2 %", "0.12 %", "0.012 %", "0.0012 %", "1.0e-5 %"]);
    }
}
