//! A flame graph: functions above their callers, as wide as their time on one side, coloured by how it changed.

use super::frame::{self, EDGE, SMALL, TEXT, TO_BASE_LINE, WIDTH};
use super::lettering::{brief, fitted, width};
use super::palette::{heat, over};
use super::scene::{Anchor, Area, Ink, Item, Scene, Shape, spot};
use super::{FlameGraph, FlameNode};

const ROW: f64 = 17.0;
/// Between rows and between neighbours.
const GAP: f64 = 1.0;
/// Between a name and the edges of its function.
const INSIDE: f64 = 3.0;
/// In pixels; narrower functions are left out.
const NARROWEST: f64 = 0.7;
/// With less room a name would be a letter and dots.
const NAMED: f64 = 20.0;
/// Steps of colour: as many for less as for more.
const COLORS: usize = 10;
/// A function whose change is this part of the whole has the strongest colour.
const STRONGEST: f64 = 0.05;
/// Deeper rows are cut, which a function that calls itself may make.
const MOST_ROWS: usize = 60;

pub(super) fn scene(chart: &FlameGraph) -> Scene {
    let description =
        format!("Flame graph of {}: each function is drawn above its caller.", brief(&chart.title));
    let whole: f64 = chart.roots.iter().map(usable).sum();
    if !(whole.is_finite() && whole > 0.0) {
        return frame::empty(&chart.title, description);
    }
    let (heading, top) = frame::heading(&chart.title);
    let legend = fitted(&chart.legend, TEXT, WIDTH - 2.0 * EDGE);
    let legend = Shape::words(legend, spot(EDGE, top + 14.0), TEXT, Anchor::Start, Ink::Label);
    let scale = (WIDTH - 2.0 * EDGE) / whole;
    let rows = rows(&chart.roots, scale).min(MOST_ROWS);
    let body_top = top + 24.0;
    let bottom = body_top + rows as f64 * (ROW + GAP);
    let mut drawing = Drawing { scale, whole, bottom, items: Vec::new() };
    drawing.add_all(&chart.roots, Stretch { left: EDGE, right: WIDTH - EDGE }, 0);
    let mut items = vec![heading, Item::plain(vec![legend])];
    items.extend(drawing.items);
    Scene { width: WIDTH, height: (bottom + EDGE).ceil(), title: chart.title.clone(), description, items }
}

/// Rows of what is wide enough to be drawn: what one side lacks is none of its own.
fn rows(nodes: &[FlameNode], scale: f64) -> usize {
    let drawn = nodes.iter().filter(|node| scale * usable(node) >= NARROWEST);
    drawn.map(|node| 1 + rows(&node.children, scale)).max().unwrap_or(0)
}

/// A width that can be drawn; nothing of another.
fn usable(node: &FlameNode) -> f64 {
    if node.width.is_finite() { node.width.max(0.0) } else { 0.0 }
}

/// From where to where, in pixels.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    left: f64,
    right: f64,
}

struct Drawing {
    /// Pixels per unit of width.
    scale: f64,
    whole: f64,
    bottom: f64,
    items: Vec<Item>,
}

impl Drawing {
    /// Neighbours, from the left of what called them on.
    fn add_all(&mut self, nodes: &[FlameNode], within: Stretch, row: usize) {
        let mut left = within.left;
        for node in nodes {
            let right = (left + self.scale * usable(node)).min(within.right);
            if right - left >= NARROWEST && row < MOST_ROWS {
                self.add(node, Stretch { left, right }, row);
            }
            left = right;
        }
    }

    /// A function and what it calls, above it.
    fn add(&mut self, node: &FlameNode, Stretch { left, right }: Stretch, row: usize) {
        let bottom = self.bottom - row as f64 * (ROW + GAP);
        let area = Area { left, top: bottom - ROW, right: (right - GAP).max(left + NARROWEST), bottom };
        let ink = self.ink(node.change);
        let mut shapes = vec![Shape::area(area, ink)];
        let room = right - left - 2.0 * INSIDE;
        if room >= NAMED {
            let name = fitted(&node.name, SMALL, room);
            if width(&name, SMALL) <= room {
                let at = spot(left + INSIDE, (area.top + area.bottom) / 2.0 + SMALL * TO_BASE_LINE);
                shapes.push(Shape::words(name, at, SMALL, Anchor::Start, over(ink)));
            }
        }
        self.items.push(Item::about(node.about.clone(), shapes));
        self.add_all(&node.children, Stretch { left, right }, row + 1);
    }

    fn ink(&self, change: f64) -> Ink {
        let part = if change.is_finite() { change / self.whole / STRONGEST } else { 0.0 };
        let middle = (COLORS / 2) as f64;
        let steps =
            (0..COLORS).take_while(|color| *color as f64 + 1.0 <= middle + middle * part.clamp(-1.0, 1.0));
        heat(steps.count().min(COLORS - 1), COLORS)
    }
}
