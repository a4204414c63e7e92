//! A line of a matrix as a small chart: relative rates over releases, intervals as a band, changes as strokes. The numbers
//! stand beside it; it shows their course.

use super::text;
use crate::document::{Matrix, MatrixRow};
use crate::signs::Sign;
use maud::{Markup, html};
use std::fmt::Write as _;
use std::ops::Range;

/// A line of fewer candidates says nothing that its cells do not.
const LEAST_CANDIDATES: usize = 3;
const WIDTH: f64 = 150.0;
const HEIGHT: f64 = 30.0;
/// Left free on every side, so that strokes are not cut off.
const EDGE: f64 = 3.0;
/// No smaller change fills the height: noise would look like a finding. As Small Datum takes 5 % as the least that counts.
const LEAST_SPAN: f64 = 0.1;
/// Share of the span that is left for intervals above and below. Wider ones are cut off.
const ROOM: f64 = 0.25;

/// Whether the rows of a matrix have one each.
pub(super) fn is_of(matrix: &Matrix) -> bool {
    matrix.is_series && matrix.candidates.len() >= LEAST_CANDIDATES
}

/// A ratio with its interval.
#[derive(Debug, Clone, Copy)]
struct Point {
    ratio: f64,
    low: f64,
    high: f64,
}

/// The chart of a row; nothing without a ratio.
pub(super) fn sparkline(row: &MatrixRow) -> Markup {
    let points = points(row);
    if points.iter().skip(1).all(Option::is_none) {
        return html! {};
    }
    let plot = Plot { last: points.len() - 1, range: range(&points) };
    let pieces = pieces(&points);
    let lines = || pieces.iter().filter(|piece| piece.len() > 1);
    html! {
        svg.spark width=(WIDTH) height=(HEIGHT) viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label=(label(row)) {
            line.one x1="0" x2=(WIDTH) y1=(plot.y(1.0)) y2=(plot.y(1.0)) {}
            @for piece in lines() { polygon.band points=(band(piece, &plot)) {} }
            @for change in &row.changes {
                @let x = plot.between(change.candidate + 1);
                line class=(if change.confirmed { "change" } else { "change maybe" }) x1=(x) x2=(x) y1="1" y2=(HEIGHT - 1.0) {
                    title { (text::plain(&change.detail)) }
                }
            }
            @for piece in lines() { polyline.course points=(course(piece, &plot)) {} }
            @for (at, point) in pieces.iter().filter(|piece| piece.len() == 1).flatten() {
                circle.lone cx=(plot.x(*at)) cy=(plot.y(point.ratio)) r="1.8" {}
            }
        }
    }
}

/// The base, which is 1 by definition, then the candidates.
fn points(row: &MatrixRow) -> Vec<Option<Point>> {
    let of_candidates = row.cells.iter().map(|cell| {
        let cell = cell.as_ref()?;
        let ratio = cell.ratio.filter(|ratio| ratio.is_finite())?;
        Some(Point { ratio, low: cell.low.unwrap_or(ratio), high: cell.high.unwrap_or(ratio) })
    });
    std::iter::once(Some(Point { ratio: 1.0, low: 1.0, high: 1.0 })).chain(of_candidates).collect()
}

/// Neighbours that have a value, with their places.
fn pieces(points: &[Option<Point>]) -> Vec<Vec<(usize, Point)>> {
    let placed: Vec<Option<(usize, Point)>> =
        points.iter().enumerate().map(|(at, point)| point.map(|point| (at, point))).collect();
    let pieces = placed.split(Option::is_none).map(|piece| piece.iter().flatten().copied().collect());
    pieces.filter(|piece: &Vec<_>| !piece.is_empty()).collect()
}

/// What the height stands for: the ratios, with room for their intervals.
fn range(points: &[Option<Point>]) -> Range<f64> {
    let ratios = || points.iter().flatten().map(|point| point.ratio);
    let (low, high) = (ratios().fold(1.0, f64::min), ratios().fold(1.0, f64::max));
    let span = (high - low).max(LEAST_SPAN);
    let middle = 0.5 * (low + high);
    let half = (0.5 + ROOM) * span;
    middle - half..middle + half
}

/// Where ratios and releases stand.
struct Plot {
    last: usize,
    range: Range<f64>,
}

impl Plot {
    fn x(&self, at: usize) -> String {
        coordinate(EDGE + (WIDTH - 2.0 * EDGE) * at as f64 / self.last.max(1) as f64)
    }

    /// Half way between a release and the one before.
    fn between(&self, at: usize) -> String {
        coordinate(EDGE + (WIDTH - 2.0 * EDGE) * (at as f64 - 0.5) / self.last.max(1) as f64)
    }

    fn y(&self, ratio: f64) -> String {
        let share = (self.range.end - ratio) / (self.range.end - self.range.start);
        coordinate(EDGE + (HEIGHT - 2.0 * EDGE) * share.clamp(0.0, 1.0))
    }
}

/// A tenth of a pixel is finer than any screen.
fn coordinate(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

fn course(piece: &[(usize, Point)], plot: &Plot) -> String {
    let mut path = String::new();
    for (at, point) in piece {
        let _ = write!(path, "{},{} ", plot.x(*at), plot.y(point.ratio));
    }
    path.trim_end().to_owned()
}

/// Along the upper ends, and back along the lower ones.
fn band(piece: &[(usize, Point)], plot: &Plot) -> String {
    let above = piece.iter().map(|(at, point)| (*at, point.high));
    let below = piece.iter().rev().map(|(at, point)| (*at, point.low));
    let corners = above.chain(below).map(|(at, end)| format!("{},{}", plot.x(at), plot.y(end)));
    corners.collect::<Vec<_>>().join(" ")
}

/// For who does not see it.
fn label(row: &MatrixRow) -> String {
    let last = row.cells.iter().flatten().next_back().map_or_else(String::new, |cell| {
        let words = cell.sign.map_or("no verdict", Sign::words);
        format!(": {} at the last release", format!("{} {words}", cell.short_number()).trim())
    });
    let changes = row.changes.iter().map(|change| format!("; {}", change.detail));
    text::plain(&format!("{} over releases{last}{}", row.step, changes.collect::<String>()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{MatrixCell, MatrixChange};

    fn row(ratios: &[Option<f64>], changes: Vec<MatrixChange>) -> MatrixRow {
        let cell = |ratio: &Option<f64>| {
            ratio.map(|ratio| MatrixCell {
                text: format!("{ratio:.3}"),
                ratio: Some(ratio),
                low: Some(ratio - 0.01),
                high: None,
                sign: Some(Sign::Slower),
                detail: String::new(),
            })
        };
        MatrixRow {
            step: "read".into(),
            cells: ratios.iter().map(cell).collect(),
            changes,
            ..MatrixRow::default()
        }
    }

    #[test]
    fn a_line_is_broken_where_nothing_was_measured_and_its_changes_stand_between_releases() {
        let change = MatrixChange { candidate: 2, confirmed: false, detail: "slower by 8 %".into() };
        let drawn = sparkline(&row(&[Some(1.0), None, Some(0.92)], vec![change])).into_string();
        assert_eq!(drawn.matches("<polyline").count(), 1, "{drawn}");
        assert!(drawn.contains("<circle class=\"lone\" cx=\"147\""), "{drawn}");
        assert!(drawn.contains("class=\"change maybe\" x1=\"123\" x2=\"123\""), "{drawn}");
        assert!(
            drawn.contains("read over releases: 0.92 slower at the last release; slower by 8 %"),
            "{drawn}"
        );
    }

    #[test]
    fn noise_does_not_fill_the_height() {
        let plot = |ratios: &[f64]| {
            let row = row(&ratios.iter().map(|ratio| Some(*ratio)).collect::<Vec<_>>(), Vec::new());
            range(&points(&row))
        };
        let calm = plot(&[1.001, 0.999, 1.002]);
        assert!(calm.end - calm.start > 1.4 * LEAST_SPAN, "{calm:?}");
        let far = plot(&[0.5, 0.4]);
        assert!(far.start < 0.4 && far.end > 1.0, "{far:?}");
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        assert_eq!(sparkline(&row(&[None, None], Vec::new())).into_string(), "");
        let bad = sparkline(&row(&[Some(f64::NAN), Some(1.0)], Vec::new())).into_string();
        assert!(!bad.contains("NaN"), "{bad}");
    }
}
