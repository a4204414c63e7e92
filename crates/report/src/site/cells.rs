//! What several pages write alike: times, how a run stands, tables.

use crate::render::layout::shortened;
use maud::{Markup, html};
use model::figures::NONE;

/// Names longer than this are cut in the middle; the whole stands in the title.
const LONGEST_NAME: usize = 60;
/// What a cell holds in a few lines.
const LONGEST_SENTENCE: usize = 200;

/// Microseconds since the epoch as a person reads it, in UTC.
pub(super) fn moment(at_us: i64) -> String {
    match jiff::Timestamp::from_microsecond(at_us) {
        Ok(at) => at.strftime("%Y-%m-%d %H:%M:%S").to_string(),
        Err(_) => NONE.to_owned(),
    }
}

/// A moment with its exact time for programs.
pub(super) fn time(at_us: i64) -> Markup {
    let shown = moment(at_us);
    html! { time datetime=(shown.replace(' ', "T") + "Z") title="UTC" { (shown) } }
}

/// A name of any length and content, in one line.
pub(super) fn name(text: &str) -> Markup {
    within(text, LONGEST_NAME)
}

/// A sentence in a cell. Most are whole; that of many steps is cut like a name.
pub(super) fn sentence(text: &str) -> Markup {
    within(text, LONGEST_SENTENCE)
}

fn within(text: &str, most: usize) -> Markup {
    let short = shortened(text, most);
    html! {
        @if short == text { (text) } @else { span title=(text) { (short) } }
    }
}

/// A table in a box of its own that scrolls; of its head the cells, of its body the rows.
pub(super) fn table(head: Markup, rows: Markup) -> Markup {
    html! {
        div.site-scroll {
            table {
                thead { tr { (head) } }
                tbody { (rows) }
            }
        }
    }
}

/// Headers of columns of words.
pub(super) fn headers(names: &[&str]) -> Markup {
    html! { @for name in names { th scope="col" { (name) } } }
}

/// Headers of columns of numbers.
pub(super) fn number_headers(names: &[&str]) -> Markup {
    html! { @for name in names { th.site-number scope="col" { (name) } } }
}

/// A choice of a form; the empty one stands for all.
pub(super) fn select(label: &str, field: &str, chosen: &str, choices: &[(String, String)]) -> Markup {
    // What a URL names stays chosen, although the store has nothing of it.
    let is_stranger = !chosen.is_empty() && !choices.iter().any(|(value, _)| value == chosen);
    html! {
        label {
            (label) " "
            select name=(field) {
                option value="" selected[chosen.is_empty()] { "all" }
                @if is_stranger { option value=(chosen) selected { (shortened(chosen, LONGEST_NAME)) } }
                @for (value, shown) in choices {
                    option value=(value) selected[value == chosen] { (shortened(shown, LONGEST_NAME)) }
                }
            }
        }
    }
}

/// Names that are their own values.
pub(super) fn own_values(names: &[String]) -> Vec<(String, String)> {
    names.iter().map(|name| (name.clone(), name.clone())).collect()
}
