//! How numbers read: rates, ratios, spans of time, bytes. Base units come in, scaled ones go out, always with
//! their unit.

use crate::units::Bytes;

/// What stands where a value cannot be had.
pub const NONE: &str = "-";

/// A rate or another count: `612,345`, `84.2`, `0.517`.
pub fn quantity(value: f64) -> String {
    match value.abs() {
        _ if !value.is_finite() => NONE.to_owned(),
        100.0.. => grouped(value),
        10.0..100.0 => format!("{value:.1}"),
        1.0..10.0 => format!("{value:.2}"),
        0.0 => "0".to_owned(),
        0.001..1.0 => format!("{value:.3}"),
        _ => format!("{value:.1e}"),
    }
}

/// The same, or the mark of a missing value.
pub fn quantity_or_none(value: Option<f64>) -> String {
    or_none(value, quantity)
}

/// A value as text; a dash where there is none.
pub fn or_none<T>(value: Option<T>, text: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| NONE.to_owned(), text)
}

/// A quotient of candidate over base: `0.959`, `12.4`, `1,310`.
pub fn ratio(value: f64) -> String {
    match value {
        _ if !value.is_finite() => NONE.to_owned(),
        100.0.. => grouped(value),
        10.0..100.0 => format!("{value:.1}"),
        _ => format!("{value:.3}"),
    }
}

/// The ends of an interval of a ratio: `[0.948, 0.970]`; an end that is not bounded is a dash. An end that says next to nothing has no
/// digits: `[<0.001, >1,000]`.
pub fn interval(low: Option<f64>, high: Option<f64>) -> String {
    let bounded = |end: f64| match end {
        ..0.001 => "<0.001".to_owned(),
        1000.0.. => ">1,000".to_owned(),
        _ => ratio(end),
    };
    let end = |end: Option<f64>| or_none(end, bounded);
    format!("[{}, {}]", end(low), end(high))
}

/// A ratio as a change: `-4.1 %`.
pub fn change(ratio: f64) -> String {
    format!("{:+.1} %", 100.0 * (ratio - 1.0))
}

/// A measured share as percent: `1.8 %`, `4.0 %`, `12 %`.
pub fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent.abs() < 10.0 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

/// A share that was chosen, without digits that were not: `2 %`, `0.5 %`, `99 %`.
pub fn chosen_percent(share: f64) -> String {
    let text = format!("{:.3}", 100.0 * share);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// A span of time for people: `38 s`, `9 min 40 s`, `2 h 5 min`.
pub fn span(seconds: f64) -> String {
    let format = |value: f64, unit: &str| format!("{value:.0} {unit}");
    match seconds.round() {
        _ if !seconds.is_finite() => NONE.to_owned(),
        ..10.0 => format!("{seconds:.1} s"),
        10.0..60.0 => format(seconds, "s"),
        whole @ 60.0..3600.0 => {
            format!("{} {}", format((whole / 60.0).floor(), "min"), format(whole % 60.0, "s"))
        }
        whole => {
            let minutes = (whole / 60.0).round();
            format!("{} {}", format((minutes / 60.0).floor(), "h"), format(minutes % 60.0, "min"))
        }
    }
}

/// Bytes in the largest unit that leaves at least one: `51.2 MiB`.
pub fn bytes(bytes: Bytes) -> String {
    let value = bytes.0 as f64;
    let (scaled, unit) = match value {
        ..1024.0 => return format!("{} B", bytes.0),
        1024.0..1_048_576.0 => (value / 1024.0, "KiB"),
        1_048_576.0..1_073_741_824.0 => (value / 1_048_576.0, "MiB"),
        _ => (value / 1_073_741_824.0, "GiB"),
    };
    if scaled < 100.0 { format!("{scaled:.1} {unit}") } else { format!("{scaled:.0} {unit}") }
}

/// `14 launches`, `1 launch`.
pub fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// `a, b and c`.
pub fn and_list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

/// The first of some items, and how many more there are: `a, b and 3 more`.
pub fn first_of(items: &[String], most: usize) -> String {
    match items.len().checked_sub(most) {
        None | Some(0) => items.join(", "),
        Some(more) => format!("{} and {more} more", items[..most].join(", ")),
    }
}

/// A whole number with its thousands set apart.
fn grouped(value: f64) -> String {
    let text = format!("{value:.0}");
    let (sign, digits) = text.strip_prefix('-').map_or(("", text.as_str()), |digits| ("-", digits));
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{sign}{grouped}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_three_digits_or_all_of_a_large_number() {
        let quantities = [1_234_567.4, 612_345.0, 100.0, 84.21, 1.432, 0.5171, 0.000_2, 0.0, -3.2, f64::NAN];
        let expected = ["1,234,567", "612,345", "100", "84.2", "1.43", "0.517", "2.0e-4", "0", "-3.20", "-"];
        assert_eq!(quantities.map(quantity), expected);
    }

    #[test]
    fn ratios_and_changes_read_at_a_glance() {
        assert_eq!([0.9588, 1.0, 12.44, 1310.2].map(ratio), ["0.959", "1.000", "12.4", "1,310"]);
        assert_eq!(interval(Some(0.9482), None), "[0.948, -]");
        assert_eq!(interval(Some(1e-9), Some(1e9)), "[<0.001, >1,000]");
        assert_eq!([0.9588, 1.2].map(change), ["-4.1 %", "+20.0 %"]);
        assert_eq!([0.04, 0.018, 0.123].map(percent), ["4.0 %", "1.8 %", "12 %"]);
        assert_eq!([0.02, 0.005, 0.99, 0.1].map(chosen_percent), ["2 %", "0.5 %", "99 %", "10 %"]);
    }

    #[test]
    fn spans_bytes_and_lists() {
        let spans = [0.42, 38.4, 580.0, 59.7, 3599.6, 7500.0].map(span);
        assert_eq!(spans, ["0.4 s", "38 s", "9 min 40 s", "1 min 0 s", "1 h 0 min", "2 h 5 min"]);
        let sizes = [17, 2048, 53_687_091, 160 << 20, 3 << 30].map(|size| bytes(Bytes(size)));
        assert_eq!(sizes, ["17 B", "2.0 KiB", "51.2 MiB", "160 MiB", "3.0 GiB"]);
        let list = |items: &[&str]| and_list(&items.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!([list(&[]), list(&["a"]), list(&["a", "b", "c"])], ["", "a", "a, b and c"]);
        let letters = ["a", "b", "c"].map(str::to_owned);
        assert_eq!([2, 3, 4].map(|most| first_of(&letters, most)), ["a, b and 1 more", "a, b, c", "a, b, c"]);
        assert_eq!(count(1, "launch", "launches") + &count(2, "launch", "launches"), "1 launch2 launches");
    }
}
