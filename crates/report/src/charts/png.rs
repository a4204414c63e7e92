//! Charts as PNG, drawn with the embedded font alone, so that no font of the machine takes part.

use super::lettering::{self, near};
use super::palette::{Scheme, color};
use super::scene::{Anchor, Area, Dash, Form, Ink, Scene, Shape, Spot, Turn};
use super::{Chart, svg};
use tiny_skia::{
    Color, FillRule, LineJoin, Paint, Path, PathBuilder, Pixmap, Rect, Stroke, StrokeDash, Transform,
};

/// Pixels of the image per pixel of the view box: sharp on today's screens.
const SCALE: f32 = 2.0;

/// An image higher than this is refused: nobody looks at it, and it needs a quarter of a gigabyte.
const MOST_PIXELS_HIGH: u32 = 32_768;

/// How much of a faint line is seen.
const FAINT: f32 = 0.6;

/// Why there is no image.
#[derive(Debug, thiserror::Error)]
pub enum PngError {
    #[error(
        "a chart of {height} pixels is too high for an image of at most {MOST_PIXELS_HIGH}; write it as SVG"
    )]
    TooHigh {
        /// In pixels of the image.
        height: u32,
    },
    #[error("failed to pack the image of a chart")]
    Packing(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// The chart as a PNG image, twice as many pixels as [`svg::file`] is wide and high.
pub fn render(chart: &Chart) -> Result<Vec<u8>, PngError> {
    let scene = svg::draw(chart);
    let (width, height) = (pixels(scene.width), pixels(scene.height));
    let image = (height <= MOST_PIXELS_HIGH).then(|| Pixmap::new(width, height)).flatten();
    let mut image = image.ok_or(PngError::TooHigh { height })?;
    draw(&scene, &mut image);
    image.encode_png().map_err(|error| PngError::Packing(error.into()))
}

fn draw(scene: &Scene, image: &mut Pixmap) {
    image.fill(colour(Ink::Paper));
    for shape in scene.items.iter().flat_map(|item| &item.shapes) {
        draw_shape(shape, image);
    }
}

fn draw_shape(shape: &Shape, image: &mut Pixmap) {
    let ink = shape.ink;
    match &shape.form {
        Form::Box(area) => fill(rectangle(*area), ink, image),
        Form::Stroke { pieces, width, dash } => {
            stroke(lines(pieces, false), (*width, dashes(*dash)), (ink, 1.0), image);
        }
        Form::Faint { pieces, width } => stroke(lines(pieces, false), (*width, None), (ink, FAINT), image),
        Form::Polygon(corners) => fill(lines(std::slice::from_ref(corners), true), ink, image),
        Form::Edge { corners, width } => {
            stroke(lines(std::slice::from_ref(corners), true), (*width, None), (ink, 1.0), image);
        }
        Form::Disc { center, radius } => {
            fill(PathBuilder::from_circle(near(center.x), near(center.y), near(*radius)), ink, image);
        }
        // Nobody points into an image.
        Form::Target { .. } => {}
        Form::Words { text, at, size, anchor, turn } => {
            let start = match anchor {
                Anchor::Start => 0.0,
                Anchor::Middle => -0.5,
                Anchor::End => -1.0,
            };
            let begin = Spot { x: at.x + start * lettering::width(text, *size), y: at.y };
            let path = lettering::outline(text, begin, *size);
            let turn = match turn {
                Turn::Level => Transform::identity(),
                Turn::Rising => Transform::from_rotate_at(-45.0, near(at.x), near(at.y)),
            };
            fill(path.and_then(|path| path.transform(turn)), ink, image);
        }
    }
}

fn fill(path: Option<Path>, ink: Ink, image: &mut Pixmap) {
    if let Some(path) = path {
        image.fill_path(&path, &paint(ink, 1.0), FillRule::Winding, scaled(), None);
    }
}

fn stroke(
    path: Option<Path>,
    (width, dash): (f64, Option<StrokeDash>),
    (ink, opacity): (Ink, f32),
    image: &mut Pixmap,
) {
    if let Some(path) = path {
        let stroke = Stroke { width: near(width), line_join: LineJoin::Round, dash, ..Stroke::default() };
        image.stroke_path(&path, &paint(ink, opacity), &stroke, scaled(), None);
    }
}

fn scaled() -> Transform {
    Transform::from_scale(SCALE, SCALE)
}

fn paint(ink: Ink, opacity: f32) -> Paint<'static> {
    let mut colour = colour(ink);
    colour.apply_opacity(opacity);
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    paint.set_color(colour);
    paint
}

/// Colours are written like `#1f77b4`.
fn colour(ink: Ink) -> Color {
    let digits = color(ink, Scheme::Light).trim_start_matches('#');
    let part = |at: usize| digits.get(at..at + 2).and_then(|part| u8::from_str_radix(part, 16).ok());
    match (part(0), part(2), part(4)) {
        (Some(red), Some(green), Some(blue)) => Color::from_rgba8(red, green, blue, u8::MAX),
        _ => Color::BLACK,
    }
}

fn rectangle(area: Area) -> Option<Path> {
    let rectangle = Rect::from_xywh(near(area.left), near(area.top), near(area.width()), near(area.height()));
    rectangle.map(PathBuilder::from_rect)
}

/// Straight lines from spot to spot; each piece by itself, and back to its beginning if it is closed.
fn lines(pieces: &[Vec<Spot>], closed: bool) -> Option<Path> {
    let mut path = PathBuilder::new();
    for piece in pieces {
        for (index, spot) in piece.iter().enumerate() {
            let (x, y) = (near(spot.x), near(spot.y));
            if index == 0 { path.move_to(x, y) } else { path.line_to(x, y) }
        }
        if closed {
            path.close();
        }
    }
    path.finish()
}

fn dashes(dash: Dash) -> Option<StrokeDash> {
    let lengths = dash.lengths();
    StrokeDash::new(lengths.iter().map(|length| near(*length)).collect(), 0.0)
}

/// Pixels of the image.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "bounded by what an image may have"
)]
fn pixels(length: f64) -> u32 {
    (length.ceil() * f64::from(SCALE)).clamp(0.0, f64::from(u32::MAX)) as u32
}
