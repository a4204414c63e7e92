//! Timelines: the points for the script, the controls and the legend that it uses, and a still picture without it.

use super::budget::Packs;
use super::pack::Packed;
use super::preview::{self, classes};
use super::text;
use crate::document::{Merge, Timeline, TimelineLine};
use maud::{Markup, PreEscaped, html};
use model::figures::and_list;

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
            noscript { (preview::preview(timeline)) }
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
        "Each point stands for " (packs.stride) " " (timeline.x) "s: " (of.join(", ")) ". Every single " (timeline.x) ": "
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
