//! One cell: a number, perhaps with its unit, or a gap.

/// What people write where there is no number; in lower case.
const GAPS: [&str; 10] = ["", "-", "--", ".", "na", "n/a", "nan", "null", "none", "failed"];
/// Longer words are no units.
const LONGEST_UNIT: usize = 8;

/// A number with its unit, or a gap.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cell {
    pub(super) value: Option<f64>,
    pub(super) unit: String,
}

impl Cell {
    /// `12.5`, `1e6`, `878GB`, `95 %`, `NA`; nothing where it is none of these. Infinities are gaps: no table means
    /// them.
    pub(super) fn read(said: &str) -> Option<Cell> {
        let said = said.trim();
        if GAPS.contains(&said.to_ascii_lowercase().as_str()) {
            return Some(Cell { value: None, unit: String::new() });
        }
        // What Rust's parser would also take, no table means: `inf`, `infinity`.
        if !said.contains(|letter: char| letter.is_ascii_digit()) {
            let infinite = said.trim_start_matches(['+', '-']).to_ascii_lowercase();
            return ["inf", "infinity"]
                .contains(&infinite.as_str())
                .then(|| Cell { value: None, unit: String::new() });
        }
        if let Ok(value) = said.parse::<f64>() {
            return Some(Cell { value: Some(value).filter(|value| value.is_finite()), unit: String::new() });
        }
        let digits =
            said.trim_end_matches(|letter: char| letter.is_alphabetic() || matches!(letter, '%' | '/' | ' '));
        let unit = said[digits.len()..].trim();
        if unit.is_empty() || unit.len() > LONGEST_UNIT {
            return None;
        }
        let value: f64 = digits.parse().ok()?;
        Some(Cell { value: Some(value).filter(|value| value.is_finite()), unit: unit.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_units_and_gaps_are_told_apart() {
        let read = |said| Cell::read(said).map(|cell| (cell.value, cell.unit));
        let number = |value: f64, unit: &str| Some((Some(value), unit.to_owned()));
        assert_eq!(read("12.5"), number(12.5, ""));
        assert_eq!(read(" -3 "), number(-3.0, ""));
        assert_eq!(read("1e6"), number(1e6, ""));
        assert_eq!(read("878GB"), number(878.0, "GB"));
        assert_eq!(read("95 %"), number(95.0, "%"));
        assert_eq!(read("3.1 us/op"), number(3.1, "us/op"));
        for gap in ["", "-", "NA", "n/a", "NaN", "null", "failed", "inf", "1e999"] {
            assert_eq!(read(gap), Some((None, String::new())), "{gap}");
        }
        for wrong in ["fast", "1,234", "1.2.3", "0x1f", "12 apples a day", "8.6.7-rc1"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
