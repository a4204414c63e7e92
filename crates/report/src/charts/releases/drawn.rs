//! A line of a chart of releases with what can be drawn of it.

use super::super::palette::{Look, look};
use super::super::scale::drawable;
use super::super::{Line, Point, Releases};

/// A line with what can be drawn of it.
pub(super) struct Drawn<'a> {
    pub line: &'a Line,
    pub index: usize,
    pub look: Look,
    pub points: Vec<Option<Point>>,
    /// How far it stands beside the place of the release, in parts of the distance that lines have.
    pub beside: f64,
}

impl<'a> Drawn<'a> {
    pub fn of((index, line): (usize, &'a Line), chart: &Releases) -> Self {
        let points = line.points.iter().take(chart.releases.len()).map(|point| drawable(*point)).collect();
        let middle = (chart.lines.len() as f64 - 1.0) / 2.0;
        Self { line, index, look: look(index), points, beside: index as f64 - middle }
    }

    pub fn last(&self) -> Option<Point> {
        self.points.iter().rev().copied().flatten().next()
    }
}
