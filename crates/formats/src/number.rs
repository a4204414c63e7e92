//! Numbers as programs print them for people, with the step in which they were rounded.

/// Bytes of a KB of RocksDB and db_bench: both divide by powers of 1024, whatever the unit is called.
const KB: f64 = 1024.0;

/// A number and how far from it the true value may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rounded {
    pub value: f64,
    /// Half a unit of the last printed digit.
    pub error: f64,
}

impl Rounded {
    /// `0.024`: off by at most 0.0005.
    pub fn parse(text: &str) -> Option<Rounded> {
        let plain = text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-'));
        let value: f64 = text.parse().ok().filter(|value: &f64| plain && value.is_finite())?;
        let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let decimals = i32::try_from(decimals).ok()?;
        Some(Rounded { value, error: 0.5 * 10_f64.powi(-decimals) })
    }

    /// What cannot be negative and is rounded to 0 lies between 0 and its error: the middle of that. Otherwise a rate over
    /// a time of `0.0` would be nothing.
    pub fn not_negative(self) -> Rounded {
        if self.value > 0.0 { self } else { Rounded { value: self.error / 2.0, error: self.error / 2.0 } }
    }

    /// In another unit.
    pub fn times(self, factor: f64) -> Rounded {
        Rounded { value: self.value * factor, error: self.error * factor }
    }

    /// A rate over a time. The errors add up to first order.
    pub fn over(self, seconds: Rounded) -> Rounded {
        Rounded {
            value: self.value * seconds.value,
            error: self.error * seconds.value + self.value * seconds.error,
        }
    }

    /// The one that is known more exactly.
    pub fn finer(self, other: Option<Rounded>) -> Rounded {
        other.filter(|other| other.error < self.error).unwrap_or(self)
    }
}

/// How many bytes a unit is: `KB`, `MB`, `GB`, `TB`, `PB`, `B`.
pub fn bytes_in(unit: &str) -> Option<f64> {
    let power = ["B", "KB", "MB", "GB", "TB", "PB"].iter().position(|known| *known == unit)?;
    i32::try_from(power).ok().map(|power| KB.powi(power))
}

/// `12.05` and `MB`, in bytes.
pub fn bytes(number: &str, unit: &str) -> Option<Rounded> {
    Some(Rounded::parse(number)?.times(bytes_in(unit)?))
}

/// A count for people: `60K`, `12M`, `3G`, `500`. Rounded down to what is printed.
pub fn count(text: &str) -> Option<u64> {
    let end = text.trim_end_matches(['K', 'M', 'G', 'B', 'T']);
    let factor = match &text[end.len()..] {
        "" => 1,
        "K" => 1_000,
        "M" => 1_000_000,
        "G" | "B" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        _ => return None,
    };
    end.parse::<u64>().ok()?.checked_mul(factor)
}

/// A number with or without decimals; absent where the program had none to print: `nan`, `-nan`, `inf`. Errors: it is
/// neither, said with what it is of: `in column r/s`.
pub fn real(text: &str, of: &str) -> Result<Option<f64>, String> {
    let unsigned = text.trim_start_matches(['-', '+']);
    if ["nan", "inf"].iter().any(|none| unsigned.eq_ignore_ascii_case(none)) {
        return Ok(None);
    }
    let hint = if text.contains(',') { "; decimal commas are not read: record with LC_ALL=C" } else { "" };
    Rounded::parse(text).map(|it| Some(it.value)).ok_or_else(|| format!("`{text}` {of} is no number{hint}"))
}

/// A count. Errors: it is none, said with what it is of.
pub fn counted(text: &str, of: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`{text}` {of} is no count"))
}

/// To the nearest whole number; nothing is negative that is counted.
pub fn whole(value: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "rounded and not negative; a float beyond 64 bits saturates"
    )]
    let whole = value.max(0.0).round() as u64;
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_know_how_they_were_rounded() {
        assert_eq!(Rounded::parse("0.25"), Some(Rounded { value: 0.25, error: 0.005 }));
        assert_eq!(Rounded::parse("3"), Some(Rounded { value: 3.0, error: 0.5 }));
        for wrong in ["", "-", "1e9", "nan", "inf", "1.2.3", "12K"] {
            assert_eq!(Rounded::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_a_program_could_not_compute_is_absent_and_no_error() {
        for none in ["nan", "-nan", "NaN", "inf", "-inf"] {
            assert_eq!(real(none, "of tps"), Ok(None), "{none}");
        }
        assert_eq!((real("1.50", "of tps"), counted("7", "of queries")), (Ok(Some(1.5)), Ok(7)));
        let hint = "`0,50` in column r/s is no number; decimal commas are not read: record with LC_ALL=C";
        assert_eq!(real("0,50", "in column r/s"), Err(hint.to_owned()));
        assert_eq!(real("", "of tps"), Err("`` of tps is no number".to_owned()));
        assert_eq!(counted("1.5", "of queries"), Err("`1.5` of queries is no count".to_owned()));
    }

    #[test]
    fn the_finer_of_two_readings_wins() {
        // 0.17 GB is known to 5 MB; 67.11 MB/s over 2.6 s to 3.4 MB.
        let total = bytes("0.17", "GB").unwrap();
        let seconds = Rounded::parse("2.6").unwrap();
        let by_rate = bytes("67.11", "MB").unwrap().over(seconds);
        assert_eq!(total.finer(Some(by_rate)), by_rate);
        // Over a time that is known to one digit it is the other way round.
        let coarse = bytes("67.11", "MB").unwrap().over(Rounded { value: 2.6, error: 0.5 });
        assert_eq!(total.finer(Some(coarse)), total);
        assert_eq!(total.finer(None), total);
    }

    #[test]
    fn a_time_that_is_rounded_away_is_not_nothing() {
        let short = Rounded::parse("0.0").unwrap().not_negative();
        assert_eq!(short, Rounded { value: 0.025, error: 0.025 });
        let longer = Rounded::parse("0.1").unwrap();
        assert_eq!(longer.not_negative(), longer);
    }

    #[test]
    fn counts_and_sizes_have_their_letters() {
        assert_eq!(
            [count("60K"), count("12M"), count("3G"), count("500"), count("K"), count("1X"), count("1.5K")],
            [Some(60_000), Some(12_000_000), Some(3_000_000_000), Some(500), None, None, None]
        );
        assert_eq!(bytes("12.5", "KB").map(|it| whole(it.value)), Some(12_800));
        assert_eq!(bytes("1", "XB"), None);
        assert_eq!((whole(-0.4), whole(2.5), whole(f64::NAN)), (0, 3, 0));
    }
}
