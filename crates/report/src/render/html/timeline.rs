//! Timelines: the points for the script, the controls and the legend that it uses; and a still picture for browsers that run
//! no script, and for paper before it was looked at.

use super::budget::Packs;
use super::pack::{LARGEST, Packed, merged, whole};
use super::text;
use crate::document::{Merge, Timeline, TimelineLine};
use maud::{Markup, PreEscaped, html};
use model::figures::{and_list, quantity};
use std::fmt::Write as _;

/// All that is laid out here has its final size before the script runs, so that nothing jumps when it draws.
pub(super) fn timeline(timeline: &Timeline, packs: &Packs<'_>) -> Markup {
    let packed = packs.get(timeline);
    html! {
        figure.timeline id=(timeline.id) data-x=(timeline.x) data-stride=(packs.stride) {
            figcaption {
                (text::plain(&timeline.caption))
                @if packs.stride > 1 { " " (merging(timeline, packs)) }
            }
            (controls(timeline, &packed))
            div.stage { }
            noscript { (preview(timeline)) }
            (legend(timeline))
            // Base64 holds no character that could end the element.
            script.points type="application/octet-stream" { (PreEscaped(&packed.points)) }
        }
    }
}

/// What became of points that were made one, and the way to each of them.
fn merging(timeline: &Timeline, packs: &Packs<'_>) -> Markup {
    let named = |merge: Merge| -> Vec<String> {
        let metrics = timeline.metrics.iter().filter(move |metric| metric.merge == merge);
        metrics.map(|metric| text::plain(&metric.name)).collect()
    };
    let (means, largest) = (named(Merge::Mean), named(Merge::Largest));
    let of =
        [("the mean", &means), ("the largest", &largest)].into_iter().filter(|(_, names)| !names.is_empty());
    let of: Vec<String> = match (means.is_empty(), largest.is_empty()) {
        (false, false) => of.map(|(what, names)| format!("{what} of {}", and_list(names))).collect(),
        _ => of.map(|(what, _)| what.to_owned()).collect(),
    };
    html! {
        "Each point covers " (packs.stride) " " (timeline.x) "s: " (of.join(", ")) ". Every single " (timeline.x) ": "
        code { "dbdyno report " (text::name(packs.run)) " --step NAME --format html" } ", or " code { "--format csv" } "."
    }
}

fn controls(timeline: &Timeline, packed: &Packed) -> Markup {
    html! {
        div.tools {
            label {
                "Shown "
                select.metric {
                    @for (metric, numbers) in timeline.metrics.iter().zip(&packed.metrics) {
                        option data-scale=(numbers.scale) data-digits=[numbers.digits] {
                            (text::short(&metric.name, MOST_OF_A_METRIC))
                            @if !metric.unit.is_empty() { ", " (text::plain(&metric.unit)) }
                        }
                    }
                }
            }
            label {
                "Scale "
                select.scale {
                    option value="zero" { "from 0" }
                    option value="fit" { "to fit" }
                    option value="log" { "logarithmic" }
                }
            }
            span.zoom {
                button.closer type="button" aria-label="Zoom in" { "+" }
                button.wider type="button" aria-label="Zoom out" { "\u{2212}" }
                button.all type="button" { "all" }
            }
            output.at aria-live="polite" { }
        }
    }
}

/// Characters of a metric's name in the list to choose from.
const MOST_OF_A_METRIC: usize = 60;

/// Colours tell subjects apart; dashes their rounds, and subjects beyond the colours.
fn legend(timeline: &Timeline) -> Markup {
    html! {
        ul.lines {
            @for (line, class) in timeline.lines.iter().zip(classes(&timeline.lines)) {
                li {
                    label {
                        input type="checkbox" checked;
                        span class={ "key " (class) } { }
                        span.who { (text::name(&line.subject)) @if several_rounds(&timeline.lines) { " #" (line.round) } }
                    }
                    output { }
                }
            }
        }
        p.hint {
            "Drag to zoom, double click for all. After a click: wheel, + and \u{2212} zoom, arrows move, with shift \
             point by point, 0 shows all. Shift-click on a line shows it alone."
        }
    }
}

fn several_rounds(lines: &[TimelineLine]) -> bool {
    lines.iter().any(|line| lines[0].round != line.round)
}

const WIDTH: u64 = 600;
const HEIGHT: u64 = 100;
/// Points of a line: enough to see a stall of some minutes in an hour.
const COLUMNS: usize = 60;
/// Lines that are drawn; more would be a tangle of this height, and the tables have all of them.
const MOST_LINES: usize = 12;

/// The first metric of the first lines; nothing where there is no value.
fn preview(timeline: &Timeline) -> Markup {
    let Some(metric) = timeline.metrics.first() else { return html! {} };
    let drawn = &timeline.lines[..timeline.lines.len().min(MOST_LINES)];
    let values = || drawn.iter().filter_map(|line| line.values.first());
    let points = values().map(Vec::len).max().unwrap_or(0);
    let stride = points.div_ceil(COLUMNS).max(1);
    let lines: Vec<Vec<Option<u64>>> =
        values().map(|values| drawn_points(values, stride, metric.merge)).collect();
    let Some(top) = lines.iter().flatten().flatten().copied().max() else { return html! {} };
    let columns = points.div_ceil(stride);
    let classes = classes(&timeline.lines);
    html! {
        svg.still viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } preserveAspectRatio="none" aria-hidden="true" {
            @for (line, class) in lines.iter().zip(&classes) {
                path class=(class) d=(path(line, columns, top)) { }
            }
        }
        p.note {
            (text::plain(&metric.name)) ": 0 to " (quantity(top as f64 / metric.scale)) " " (text::plain(&metric.unit))
            ", " (timeline.x) " 0 to " (points.saturating_sub(1))
            @if drawn.len() < timeline.lines.len() { ", the first " (drawn.len()) " of " (timeline.lines.len()) " lines" }
        }
    }
}

fn drawn_points(values: &[Option<u64>], stride: usize, merge: Merge) -> Vec<Option<u64>> {
    merged(values, stride, merge).into_iter().map(|value| value.map(whole)).collect()
}

/// Whole coordinates, differences after the first point: a picture takes some hundred characters a line.
fn path(values: &[Option<u64>], columns: usize, top: u64) -> String {
    let mut path = String::new();
    let mut last = None;
    for (column, value) in values.iter().enumerate() {
        let Some(value) = value else {
            last = None;
            continue;
        };
        let spot = (across(column, columns), down(*value, top));
        let _ = match last {
            None => write!(path, "M{} {}l0 0", spot.0, spot.1),
            Some((x, y)) => write!(path, " {} {}", spot.0 - x, spot.1 - y),
        };
        last = Some(spot);
    }
    path.replace(" -", "-")
}

fn across(column: usize, columns: usize) -> i64 {
    let last = columns.saturating_sub(1).max(1) as u64;
    i64::try_from(WIDTH * column as u64 / last).unwrap_or(0)
}

fn down(value: u64, top: u64) -> i64 {
    // Both are at most 2^51, so that a hundred times of them is a u64.
    let height = HEIGHT * value.min(LARGEST) / top.clamp(1, LARGEST);
    i64::try_from(HEIGHT.saturating_sub(height)).unwrap_or(0)
}

/// How many colours there are.
const COLOURS: usize = 10;
/// How many dashes there are, the solid one among them.
const DASHES: usize = 4;

/// `c3 d1`: the colour and the dash of each line.
fn classes(lines: &[TimelineLine]) -> Vec<String> {
    let mut subjects: Vec<&str> = Vec::new();
    let mut rounds: Vec<u32> = Vec::new();
    let mut classes = Vec::new();
    for line in lines {
        let subject = place(&mut subjects, line.subject.as_str());
        let round = place(&mut rounds, line.round);
        classes.push(format!("c{} d{}", subject % COLOURS, (subject / COLOURS + round) % DASHES));
    }
    classes
}

/// The index of an item among those seen so far.
fn place<T: PartialEq>(seen: &mut Vec<T>, item: T) -> usize {
    seen.iter().position(|known| *known == item).unwrap_or_else(|| {
        seen.push(item);
        seen.len() - 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_interrupted_where_there_is_no_value() {
        let values = [Some(10), Some(5), None, Some(0), Some(10)];
        assert_eq!(path(&values, 5, 10), "M0 0l0 0 150 50M450 100l0 0 150-100");
        assert_eq!(path(&[None], 1, 10), "");
        assert_eq!(path(&[Some(0)], 1, 0), "M0 100l0 0");
    }
}
