//! Charts as SVG: a file that stands alone, or a piece of a page.
//!
//! Both have the same geometry. A file has its own colours and embeds the font that everything was laid out with. A
//! piece of a page has classes instead of colours and neither styles nor ids, so that a strict content security
//! policy admits it and many of them fit into one page; [`style_sheet`] gives the classes their colours.

use super::lettering::{FAMILY, FONT};
pub use super::palette::{Scheme, style_sheet};
use super::palette::{class, color};
use super::scene::{Anchor, Area, Dash, Form, Ink, Item, Scene, Shape, Spot, Turn};
use super::{Chart, bars, flame, latency, releases};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::fmt::Write as _;

/// A whole SVG file, as text of one line per shape.
pub fn file(chart: &Chart) -> String {
    let font = STANDARD.encode(FONT);
    let style = format!(
        "<style>@font-face{{font-family:\"{FAMILY}\";src:url(data:font/ttf;base64,{font}) format(\"truetype\")}}</style>\n"
    );
    write(&draw(chart), Place::File, &style)
}

/// An `svg` element for a page: `class="chart"`, colours by the classes of [`style_sheet`].
pub fn inline(chart: &Chart) -> String {
    write(&draw(chart), Place::Page, "")
}

/// The file without its font.
#[cfg(test)]
pub(super) fn without_font(chart: &Chart) -> String {
    write(&draw(chart), Place::File, "")
}

/// Lays a chart out.
pub(super) fn draw(chart: &Chart) -> Scene {
    match chart {
        Chart::Releases(chart) => releases::scene(chart),
        Chart::Bars(chart) => bars::scene(chart),
        Chart::Latency(chart) => latency::scene(chart),
        Chart::Flame(chart) => flame::scene(chart),
    }
}

/// Where the SVG is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    File,
    Page,
}

/// What colours the shapes of one item.
#[derive(Debug, Clone, Copy)]
struct Pen {
    place: Place,
    /// The ink that they inherit from what holds them; on a page that saves a third of the bytes of a point.
    inherited: Option<Ink>,
}

fn write(scene: &Scene, place: Place, style: &str) -> String {
    let size = format!(
        "width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" stroke-linejoin=\"round\"",
        number(scene.width),
        number(scene.height)
    );
    let mut svg = match place {
        Place::File => format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" {size} role=\"img\" font-family=\"{FAMILY}, sans-serif\">\n"
        ),
        Place::Page => format!("<svg class=\"chart\" {size} role=\"img\">\n"),
    };
    let _ = write!(
        svg,
        "<title>{}</title>\n<desc>{}</desc>\n{style}",
        escaped(&scene.title),
        escaped(&scene.description)
    );
    if place == Place::File {
        let paper = Area { left: 0.0, top: 0.0, right: scene.width, bottom: scene.height };
        shape(&mut svg, &Shape::area(paper, Ink::Paper), Pen { place, inherited: None });
    }
    for item in &scene.items {
        write_item(&mut svg, item, place);
    }
    svg.push_str("</svg>\n");
    svg
}

fn write_item(svg: &mut String, item: &Item, place: Place) {
    let mut pen = Pen { place, inherited: None };
    if let Some(about) = &item.about {
        let ink = item.shapes.first().map(|shape| shape.ink).filter(|_| place == Place::Page);
        let colour = ink.map(|ink| pen.filled(ink)).unwrap_or_default();
        pen.inherited = ink;
        let _ = writeln!(svg, "<g{colour}><title>{}</title>", escaped(about));
    }
    for part in &item.shapes {
        shape(svg, part, pen);
    }
    if item.about.is_some() {
        svg.push_str("</g>\n");
    }
}

fn shape(svg: &mut String, shape: &Shape, pen: Pen) {
    let ink = shape.ink;
    let _ = match &shape.form {
        Form::Box(area) => writeln!(
            svg,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{}/>",
            number(area.left),
            number(area.top),
            number(area.width().max(0.0)),
            number(area.height().max(0.0)),
            pen.filled(ink)
        ),
        Form::Stroke { pieces, width, dash } => {
            writeln!(svg, "<path d=\"{}\"{}{}/>", paths(pieces), pen.stroked(ink, *width), dashes(*dash))
        }
        Form::Faint { pieces, width } => {
            let stroked = pen.stroked(ink, *width);
            writeln!(svg, "<path d=\"{}\"{stroked} stroke-opacity=\"0.6\"/>", paths(pieces))
        }
        Form::Polygon(corners) => writeln!(svg, "<path d=\"{}Z\"{}/>", path(corners), pen.filled(ink)),
        Form::Edge { corners, width } => {
            writeln!(svg, "<path d=\"{}Z\"{}/>", path(corners), pen.stroked(ink, *width))
        }
        Form::Disc { center, radius } => {
            writeln!(svg, "<circle {}{}/>", circle(*center, *radius), pen.filled(ink))
        }
        Form::Target { center, radius } => match pen.place {
            // Nobody points into an image, and few at a file.
            Place::File => Ok(()),
            Place::Page => {
                writeln!(svg, "<circle {} fill=\"none\" pointer-events=\"all\"/>", circle(*center, *radius))
            }
        },
        Form::Words { text, at, size, anchor, turn } => {
            let anchor = match anchor {
                Anchor::Start => "",
                Anchor::Middle => " text-anchor=\"middle\"",
                Anchor::End => " text-anchor=\"end\"",
            };
            let (x, y) = (number(at.x), number(at.y));
            let turn = match turn {
                Turn::Level => String::new(),
                Turn::Rising => format!(" transform=\"rotate(-45 {x} {y})\""),
            };
            let (size, fill, text) = (number(*size), pen.filled(ink), escaped(text));
            writeln!(svg, "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\"{anchor}{turn}{fill}>{text}</text>")
        }
    };
}

impl Pen {
    /// The attributes of something filled.
    fn filled(&self, ink: Ink) -> String {
        match self.place {
            Place::File => format!(" fill=\"{}\"", color(ink, Scheme::Light)),
            Place::Page if self.inherited == Some(ink) => String::new(),
            Place::Page => format!(" class=\"{}\" fill=\"currentColor\"", class(ink)),
        }
    }

    /// The attributes of a line.
    fn stroked(&self, ink: Ink, width: f64) -> String {
        let width = match number(width).as_str() {
            "1" => String::new(),
            width => format!(" stroke-width=\"{width}\""),
        };
        match self.place {
            Place::File => format!(" fill=\"none\" stroke=\"{}\"{width}", color(ink, Scheme::Light)),
            Place::Page if self.inherited == Some(ink) => {
                format!(" fill=\"none\" stroke=\"currentColor\"{width}")
            }
            Place::Page => {
                format!(" class=\"{}\" fill=\"none\" stroke=\"currentColor\"{width}", class(ink))
            }
        }
    }
}

fn dashes(dash: Dash) -> String {
    match dash.lengths() {
        [] => String::new(),
        lengths => {
            let lengths: Vec<String> = lengths.iter().map(|length| number(*length)).collect();
            format!(" stroke-dasharray=\"{}\"", lengths.join(" "))
        }
    }
}

fn circle(center: Spot, radius: f64) -> String {
    format!("cx=\"{}\" cy=\"{}\" r=\"{}\"", number(center.x), number(center.y), number(radius))
}

fn paths(pieces: &[Vec<Spot>]) -> String {
    pieces.iter().map(|piece| path(piece)).collect()
}

/// `M1 2L3 4`; level and upright lines in their short form.
fn path(spots: &[Spot]) -> String {
    let mut path = String::new();
    let mut before: Option<(String, String)> = None;
    for spot in spots {
        let (x, y) = (number(spot.x), number(spot.y));
        let _ = match &before {
            None => write!(path, "M{x} {y}"),
            Some((_, last)) if *last == y => write!(path, "H{x}"),
            Some((last, _)) if *last == x => write!(path, "V{y}"),
            Some(_) => write!(path, "L{x} {y}"),
        };
        before = Some((x, y));
    }
    path
}

/// With at most two decimals, a fiftieth of what is seen.
fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Text for an element or an attribute. Characters that XML cannot hold become the replacement character.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(letter),
            '\r' => escaped.push_str("&#13;"),
            '\u{FFFE}' | '\u{FFFF}' => escaped.push(char::REPLACEMENT_CHARACTER),
            _ if letter.is_control() => escaped.push(char::REPLACEMENT_CHARACTER),
            _ => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::super::scene::spot;
    use super::*;

    #[test]
    fn numbers_are_short_and_never_minus_zero() {
        assert_eq!([1.0, 12.345, -0.001, 0.5, 100.0].map(number), ["1", "12.35", "0", "0.5", "100"]);
    }

    #[test]
    fn paths_say_level_and_upright_lines_shortly() {
        assert_eq!(path(&[spot(1.0, 2.0), spot(3.0, 2.0), spot(3.0, 5.0), spot(4.0, 6.5)]), "M1 2H3V5L4 6.5");
    }

    #[test]
    fn text_cannot_leave_its_element() {
        assert_eq!(
            escaped("<b a='1' c=\"2\">&\u{0}\u{1b}\n"),
            "&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;\u{fffd}\u{fffd}\n"
        );
    }
}
