//! What a chart looks like, in pixels of its view box, before it is written: shapes with the role of their colour.
//!
//! Who lays a chart out knows no SVG, and who writes SVG knows no chart.

/// A drawing.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scene {
    pub width: f64,
    pub height: f64,
    /// What it is called, in full.
    pub title: String,
    /// What it shows, for those who do not see it.
    pub description: String,
    /// From back to front.
    pub items: Vec<Item>,
}

/// Shapes that belong together.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Item {
    /// What they stand for, shown where a reader points at one of them.
    pub about: Option<String>,
    /// From back to front.
    pub shapes: Vec<Shape>,
}

/// A form in one colour.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shape {
    pub form: Form,
    pub ink: Ink,
}

/// A place in the view box: `x` to the right, `y` downwards.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spot {
    pub x: f64,
    pub y: f64,
}

/// A rectangle by its edges.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Area {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

/// What is drawn.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Form {
    Box(Area),
    /// Strokes along straight lines; each piece has at least two spots.
    Stroke {
        pieces: Vec<Vec<Spot>>,
        width: f64,
        dash: Dash,
    },
    /// The same in half the colour, for what must not cover what it belongs to.
    Faint {
        pieces: Vec<Vec<Spot>>,
        width: f64,
    },
    Polygon(Vec<Spot>),
    /// The edge of a polygon.
    Edge {
        corners: Vec<Spot>,
        width: f64,
    },
    Disc {
        center: Spot,
        radius: f64,
    },
    /// Not seen: makes a small shape easier to point at.
    Target {
        center: Spot,
        radius: f64,
    },
    /// One line of text. Its spot is on the base line.
    Words {
        text: String,
        at: Spot,
        size: f64,
        anchor: Anchor,
        turn: Turn,
    },
}

/// Which end of a text stands at its spot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// The direction of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    Level,
    /// By 45 degrees, so that it rises to the right.
    Rising,
}

/// How a line is broken, so that lines differ without colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dash {
    Solid,
    Long,
    Short,
    Dotted,
}

impl Dash {
    /// Pixels drawn, then left out; none if the line is whole.
    pub fn lengths(self) -> &'static [f64] {
        match self {
            Dash::Solid => &[],
            Dash::Long => &[8.0, 4.0],
            Dash::Short => &[4.0, 3.0],
            Dash::Dotted => &[1.5, 3.0],
        }
    }
}

/// The role of a colour; what colour that is depends on where the drawing is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ink {
    /// What everything is drawn on.
    Paper,
    Title,
    Label,
    /// Text that stands out, and marks that belong to no series.
    Mark,
    /// Edges of the plot and what stands at them.
    Axis,
    /// Lines that lead the eye to an axis.
    Grid,
    /// The line that stands for no change.
    Reference,
    /// Lines at values that are agreed on: 0.95 and 1.05.
    Guide,
    /// Every second group or major version.
    Band,
    /// Intervals on top of bars.
    ErrorBar,
    /// A subject or step, below [`super::palette::SERIES`]'s length.
    Series(usize),
    /// From cool, 0, to hot, below [`super::palette::HEAT`]'s length.
    Heat(usize),
    /// Text on a light fill, in every colour scheme.
    OverLight,
    /// Text on a dark fill, in every colour scheme.
    OverDark,
}

impl Area {
    pub fn width(&self) -> f64 {
        self.right - self.left
    }

    pub fn height(&self) -> f64 {
        self.bottom - self.top
    }
}

impl Item {
    /// Shapes that stand for nothing by themselves.
    pub fn plain(shapes: Vec<Shape>) -> Self {
        Self { about: None, shapes }
    }

    /// Shapes that tell what they stand for.
    pub fn about(text: String, shapes: Vec<Shape>) -> Self {
        Self { about: Some(text), shapes }
    }
}

impl Shape {
    pub fn area(area: Area, ink: Ink) -> Self {
        Self { form: Form::Box(area), ink }
    }

    /// A solid straight line.
    pub fn line(from: Spot, to: Spot, width: f64, ink: Ink) -> Self {
        Self::stroke(vec![vec![from, to]], width, Dash::Solid, ink)
    }

    pub fn stroke(pieces: Vec<Vec<Spot>>, width: f64, dash: Dash, ink: Ink) -> Self {
        Self { form: Form::Stroke { pieces, width, dash }, ink }
    }

    /// Level text.
    pub fn words(text: impl Into<String>, at: Spot, size: f64, anchor: Anchor, ink: Ink) -> Self {
        let turn = Turn::Level;
        Self { form: Form::Words { text: text.into(), at, size, anchor, turn }, ink }
    }
}

/// A spot.
pub(super) fn spot(x: f64, y: f64) -> Spot {
    Spot { x, y }
}
