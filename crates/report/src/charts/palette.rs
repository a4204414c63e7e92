//! Colours, dashes and markers: told apart by people who see few colours, and in grey.
//!
//! Neighbours among the colours of series differ in lightness and each series has a marker of its own, so that no
//! meaning hangs on hue alone.

use super::scene::{Area, Dash, Form, Ink, Shape, Spot, spot};
use std::fmt::Write as _;

/// Colours of series on white: those of Okabe and Ito (2008) without black and yellow, which are text and too light,
/// then four dark or muted ones of Paul Tol's sets.
pub(super) const SERIES: [&str; 10] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#882255", "#7a7a00", "#332288",
    "#6b7280",
];

/// The same on a dark page: each is lighter, in the same order.
const SERIES_DARK: [&str; 10] = [
    "#4ea8de", "#f0803c", "#2cc295", "#e29fc4", "#8fd0f5", "#f3bb45", "#d46a9f", "#bcbc3c", "#9a8cf0",
    "#9ca3af",
];

/// From cool to hot: blue over light grey to red, as dark at both ends and lightest in the middle; the ends stay
/// apart in grey by their place, which is the order of the buckets.
pub(super) const HEAT: [&str; 10] = [
    "#2c5f96", "#4c83b6", "#7aa8ce", "#a9cae1", "#d6e5ee", "#f7e3cf", "#f4bf92", "#e58f5d", "#c9583a",
    "#93222a",
];

/// The heats from which on, from both ends, text is white.
const DARK_HEATS: [usize; 4] = [0, 1, 8, 9];

/// In which scheme of colours a page is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// Dark on light: files are always of this one.
    Light,
    Dark,
}

/// The shape of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Marker {
    Disc,
    Square,
    Up,
    Down,
    Cross,
    Plus,
}

/// How one line of several is told from the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Look {
    pub ink: Ink,
    pub marker: Marker,
    pub dash: Dash,
}

/// The rules of a style sheet that give the classes of [`super::svg::inline`] their colours, below `selector`:
/// each shape is drawn in its `currentColor`, so that a class only sets `color`.
pub fn style_sheet(selector: &str, scheme: Scheme) -> String {
    let mut rules = String::new();
    let series = (0..SERIES.len()).map(Ink::Series);
    let heats = (0..HEAT.len()).map(Ink::Heat);
    for ink in ROLES.into_iter().map(|(ink, ..)| ink).chain(series).chain(heats) {
        let _ = writeln!(rules, "{selector} .{}{{color:{}}}", class(ink), color(ink, scheme));
    }
    rules
}

/// Everything but series and heats: its class on a page, its colour on a light one and on a dark one.
const ROLES: [(Ink, &str, &str, &str); 12] = [
    (Ink::Paper, "paper", "#ffffff", "#14171a"),
    (Ink::Title, "title", "#111827", "#f3f4f6"),
    (Ink::Label, "label", "#374151", "#d1d5db"),
    (Ink::Mark, "mark", "#111827", "#ffffff"),
    (Ink::Axis, "axis", "#5f6672", "#9ca3af"),
    (Ink::Grid, "grid", "#e5e7eb", "#2b3036"),
    (Ink::Reference, "ref", "#374151", "#d1d5db"),
    (Ink::Guide, "guide", "#9ca3af", "#6b7280"),
    (Ink::Band, "band", "#f3f4f6", "#1d2125"),
    (Ink::ErrorBar, "error-bar", "#1f2937", "#f9fafb"),
    (Ink::OverLight, "over-light", "#111827", "#111827"),
    (Ink::OverDark, "over-dark", "#ffffff", "#ffffff"),
];

fn role(ink: Ink) -> (Ink, &'static str, &'static str, &'static str) {
    ROLES.into_iter().find(|(role, ..)| *role == ink).expect("all but series and heats are roles")
}

/// The class of a role on a page.
pub(super) fn class(ink: Ink) -> String {
    match ink {
        Ink::Series(index) => format!("c{}", index % SERIES.len()),
        Ink::Heat(index) => format!("h{}", index % HEAT.len()),
        _ => role(ink).1.to_owned(),
    }
}

/// The colour of a role.
pub(super) fn color(ink: Ink, scheme: Scheme) -> &'static str {
    let (light, dark) = match ink {
        Ink::Series(index) => (SERIES[index % SERIES.len()], SERIES_DARK[index % SERIES.len()]),
        Ink::Heat(index) => (HEAT[index % HEAT.len()], HEAT[index % HEAT.len()]),
        _ => (role(ink).2, role(ink).3),
    };
    match scheme {
        Scheme::Light => light,
        Scheme::Dark => dark,
    }
}

/// The look of a line: colours repeat after ten, then the dash differs.
pub(super) fn look(index: usize) -> Look {
    const MARKERS: [Marker; 6] =
        [Marker::Disc, Marker::Square, Marker::Up, Marker::Down, Marker::Cross, Marker::Plus];
    const DASHES: [Dash; 4] = [Dash::Solid, Dash::Long, Dash::Short, Dash::Dotted];
    Look {
        ink: Ink::Series(index % SERIES.len()),
        marker: MARKERS[index % MARKERS.len()],
        dash: DASHES[index / SERIES.len() % DASHES.len()],
    }
}

/// The heat of a bucket: the first is the coolest, the last the hottest, however many there are.
pub(super) fn heat(bucket: usize, buckets: usize) -> Ink {
    let steps = buckets.saturating_sub(1).max(1);
    Ink::Heat((bucket * (HEAT.len() - 1) + steps / 2) / steps)
}

/// The ink of text on a heat.
pub(super) fn over(heat: Ink) -> Ink {
    match heat {
        Ink::Heat(index) if DARK_HEATS.contains(&index) => Ink::OverDark,
        _ => Ink::OverLight,
    }
}

/// A marker of about `radius` around its center.
pub(super) fn marker(look: Look, center: Spot, radius: f64) -> Shape {
    let Spot { x, y } = center;
    let stroke = |pieces| Shape::stroke(pieces, 1.6, Dash::Solid, look.ink);
    match look.marker {
        Marker::Disc => Shape { form: Form::Disc { center, radius }, ink: look.ink },
        Marker::Square => {
            let half = radius * 0.9;
            Shape::area(Area { left: x - half, top: y - half, right: x + half, bottom: y + half }, look.ink)
        }
        Marker::Up => triangle(center, radius * 1.25, look.ink),
        Marker::Down => triangle(center, -radius * 1.25, look.ink),
        Marker::Cross => stroke(cross(center, radius * 0.95)),
        Marker::Plus => {
            let half = radius * 1.2;
            stroke(vec![
                vec![spot(x - half, y), spot(x + half, y)],
                vec![spot(x, y - half), spot(x, y + half)],
            ])
        }
    }
}

/// The strokes of an upright cross turned by 45 degrees.
pub(super) fn cross(center: Spot, half: f64) -> Vec<Vec<Spot>> {
    let Spot { x, y } = center;
    vec![
        vec![spot(x - half, y - half), spot(x + half, y + half)],
        vec![spot(x - half, y + half), spot(x + half, y - half)],
    ]
}

/// The corners of a diamond, the sign of a change.
pub(super) fn diamond(center: Spot, radius: f64) -> Vec<Spot> {
    let Spot { x, y } = center;
    vec![spot(x, y - radius), spot(x + radius, y), spot(x, y + radius), spot(x - radius, y)]
}

/// A triangle with its tip up, or down where the radius is negative.
fn triangle(center: Spot, radius: f64, ink: Ink) -> Shape {
    let Spot { x, y } = center;
    let (half, base) = (radius * 0.87, y + radius * 0.6);
    let corners = vec![spot(x, y - radius * 0.9), spot(x + half, base), spot(x - half, base)];
    Shape { form: Form::Polygon(corners), ink }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance of WCAG 2, 0 to 1.
    fn luminance(color: &str) -> f64 {
        let channel = |from: usize| {
            let value = f64::from(u8::from_str_radix(&color[from..from + 2], 16).unwrap()) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    fn contrast(one: &str, other: &str) -> f64 {
        let (one, other) = (luminance(one), luminance(other));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    #[test]
    fn text_is_readable_in_both_schemes() {
        for scheme in [Scheme::Light, Scheme::Dark] {
            for ink in [Ink::Title, Ink::Label, Ink::Mark, Ink::Axis] {
                for ground in [Ink::Paper, Ink::Band] {
                    let found = contrast(color(ink, scheme), color(ground, scheme));
                    assert!(found >= 4.5, "{ink:?} on {ground:?} in {scheme:?}: {found:.2}");
                }
            }
        }
    }

    #[test]
    fn text_on_every_heat_is_readable() {
        for (index, fill) in HEAT.iter().enumerate() {
            let found = contrast(color(over(Ink::Heat(index)), Scheme::Light), fill);
            assert!(found >= 3.9, "heat {index}: {found:.2}");
        }
    }

    #[test]
    fn series_stand_out_from_the_paper() {
        for scheme in [Scheme::Light, Scheme::Dark] {
            for index in 0..SERIES.len() {
                let found = contrast(color(Ink::Series(index), scheme), color(Ink::Paper, scheme));
                assert!(found >= 2.1, "series {index} in {scheme:?}: {found:.2}");
            }
        }
    }

    #[test]
    fn forty_lines_look_different_without_colour_of_their_own_or_with_it() {
        let looks: Vec<Look> = (0..40).map(look).collect();
        for (index, one) in looks.iter().enumerate() {
            assert!(!looks[..index].contains(one), "{index}: {one:?}");
        }
    }

    #[test]
    fn heat_goes_from_the_coolest_to_the_hottest() {
        for buckets in 2..15 {
            assert_eq!(heat(0, buckets), Ink::Heat(0));
            assert_eq!(heat(buckets - 1, buckets), Ink::Heat(HEAT.len() - 1));
        }
        assert_eq!(heat(0, 1), Ink::Heat(0));
    }

    #[test]
    fn a_page_gets_a_rule_for_each_class() {
        let rules = style_sheet(".chart", Scheme::Dark);
        for name in
            ["c0", "c9", "h0", "h9", "axis", "grid", "ref", "mark", "label", "band", "paper", "over-dark"]
        {
            assert!(rules.contains(&format!(".chart .{name}{{color:#")), "{name} in {rules}");
        }
    }
}
