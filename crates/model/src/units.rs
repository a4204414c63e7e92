//! Base units as types: nanoseconds and bytes. Parsers convert on entry, reports scale on exit.

use serde::{Deserialize, Serialize};
use std::iter::Sum;
use std::ops::{Add, AddAssign};

/// A span of time in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// Whole milliseconds as nanoseconds; the longest span there is if it is longer.
    pub const fn from_millis(millis: u64) -> Self {
        Nanos(millis.saturating_mul(1_000_000))
    }

    /// Whole seconds as nanoseconds; the longest span there is if it is longer.
    pub const fn from_secs(secs: u64) -> Self {
        Nanos(secs.saturating_mul(1_000_000_000))
    }

    /// Seconds, for statistics and reports.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Microseconds, for statistics and reports.
    pub fn as_micros_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// The difference, zero where `other` is larger.
    pub fn saturating_sub(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(other.0))
    }
}

impl From<std::time::Duration> for Nanos {
    fn from(duration: std::time::Duration) -> Self {
        Nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Nanos> for std::time::Duration {
    fn from(nanos: Nanos) -> Self {
        std::time::Duration::from_nanos(nanos.0)
    }
}

impl Add for Nanos {
    type Output = Nanos;
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Nanos) {
        *self = *self + other;
    }
}

impl Sum for Nanos {
    fn sum<I: Iterator<Item = Nanos>>(iter: I) -> Nanos {
        iter.fold(Nanos(0), Add::add)
    }
}

/// A span of time in whole microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Micros(pub u64);

impl From<Micros> for Nanos {
    fn from(micros: Micros) -> Nanos {
        Nanos(micros.0.saturating_mul(1000))
    }
}

/// Why a text is not a time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a time: write it like 500us, 2 ms or 1.5 s")]
pub struct MicrosError(String);

impl std::str::FromStr for Micros {
    type Err = MicrosError;

    /// A number with its unit: us, ms or s. Fractions of a microsecond are rounded.
    fn from_str(text: &str) -> Result<Micros, MicrosError> {
        let error = || MicrosError(text.to_owned());
        let (number, unit) = number_and_unit(text);
        let number: f64 = number.parse().map_err(|_| error())?;
        let scale: u64 = match unit {
            "us" | "\u{b5}s" => 1,
            "ms" => 1_000,
            "s" => 1_000_000,
            _ => return Err(error()),
        };
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a time that is written by hand is far below 2^63 us"
        )]
        #[expect(clippy::cast_sign_loss, reason = "there is no sign among the digits")]
        let micros = (number * scale as f64).round() as u64;
        Ok(Micros(micros))
    }
}

impl std::fmt::Display for Micros {
    /// In the largest unit that needs no fraction: `2 ms`, `1500 us`.
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            micros if micros > 0 && micros % 1_000_000 == 0 => write!(to, "{} s", micros / 1_000_000),
            micros if micros > 0 && micros % 1_000 == 0 => write!(to, "{} ms", micros / 1_000),
            micros => write!(to, "{micros} us"),
        }
    }
}

fn number_and_unit(text: &str) -> (&str, &str) {
    let trimmed = text.trim();
    let digits = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(digits);
    (number, unit.trim())
}

/// A number of bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl Bytes {
    /// Mebibytes as bytes; the largest number there is if they are more.
    pub const fn from_mib(mib: u64) -> Self {
        Bytes(mib.saturating_mul(1 << 20))
    }

    /// Gibibytes as bytes; the largest number there is if they are more.
    pub const fn from_gib(gib: u64) -> Self {
        Bytes(gib.saturating_mul(1 << 30))
    }

    /// Mebibytes, for reports.
    pub fn as_mib_f64(self) -> f64 {
        self.0 as f64 / (1u64 << 20) as f64
    }
}

/// Why a text is not a number of bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a size: write it like 400MB, 12 GB, 512MiB or 1073741824")]
pub struct BytesError(String);

impl std::str::FromStr for Bytes {
    type Err = BytesError;

    /// A number with a unit: decimal (kB, MB, GB, TB) or binary (KiB, MiB, GiB, TiB); bytes without one.
    fn from_str(text: &str) -> Result<Bytes, BytesError> {
        let error = || BytesError(text.to_owned());
        let (number, unit) = number_and_unit(text);
        let number: f64 = number.parse().map_err(|_| error())?;
        let scale: u64 = match unit {
            "" | "B" => 1,
            "kB" | "KB" => 1_000,
            "MB" => 1_000_000,
            "GB" => 1_000_000_000,
            "TB" => 1_000_000_000_000,
            "KiB" => 1 << 10,
            "MiB" => 1 << 20,
            "GiB" => 1 << 30,
            "TiB" => 1 << 40,
            _ => return Err(error()),
        };
        #[expect(clippy::cast_possible_truncation, reason = "sizes of data are far below 2^63")]
        #[expect(clippy::cast_sign_loss, reason = "there is no sign among the digits")]
        let bytes = (number * scale as f64).round() as u64;
        Ok(Bytes(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_the_largest_there_is() {
        assert_eq!(Nanos::from_secs(600), Nanos(600_000_000_000));
        assert_eq!(Nanos::from_secs(u64::MAX / 1_000_000), Nanos(u64::MAX));
        assert_eq!(Nanos::from_millis(u64::MAX / 1000), Nanos(u64::MAX));
        assert_eq!((Bytes::from_mib(3), Bytes::from_gib(3)), (Bytes(3 << 20), Bytes(3 << 30)));
        assert_eq!([Bytes::from_mib(1 << 45), Bytes::from_gib(1 << 35)], [Bytes(u64::MAX); 2]);
    }

    #[test]
    fn sizes_are_read_as_people_write_them() {
        let read = |text: &str| text.parse::<Bytes>().ok();
        assert_eq!(read("400MB"), Some(Bytes(400_000_000)));
        assert_eq!(read("1.5 GiB"), Some(Bytes(3 << 29)));
        assert_eq!(read("4096"), Some(Bytes(4096)));
        for wrong in ["", "MB", "12 gigs", "-1MB", "1.2.3"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn times_are_read_as_people_write_them_and_shown_so_that_they_are_read_again() {
        let read = |text: &str| text.parse::<Micros>().ok();
        assert_eq!(read("2 ms"), Some(Micros(2000)));
        assert_eq!(read("500us"), Some(Micros(500)));
        assert_eq!(read("1.5 s"), Some(Micros(1_500_000)));
        for wrong in ["", "ms", "2", "2 minutes", "-1ms", "1.2.3 s"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        for (micros, shown) in [(0, "0 us"), (1500, "1500 us"), (2000, "2 ms"), (3_000_000, "3 s")] {
            assert_eq!(Micros(micros).to_string(), shown);
            assert_eq!(read(shown), Some(Micros(micros)));
        }
    }
}
