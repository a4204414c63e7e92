//! The time that a line of a log begins with.
//!
//! ```text
//! 2026-11-27 20:48:25.392 UTC [2] LOG:  checkpoint complete: wrote 1285 buffers    (Postgres)
//! 2026-11-27 20:47:18 0 [Note] InnoDB: 128 rollback segments are active.           (MariaDB; before 10 o'clock with a blank for the 0)
//! 2026-11-27T20:47:18.123456Z 0 [Note] [MY-011953] [InnoDB] Page cleaner took ..   (MySQL)
//! 2026/11/27-20:57:10.933704 140589295163072 [WARN] [/column_family.cc:1046] ..    (RocksDB)
//! ```

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// Date and time to the second.
const LENGTH: usize = 19;
const NANOS_DIGITS: usize = 9;

/// Microseconds since the epoch as if the time were UTC, and what stands behind it. Absent where the line begins with something else.
pub fn of(line: &str) -> Option<(i64, &str)> {
    let (time, rest) = line.split_at_checked(LENGTH)?;
    let bytes = time.as_bytes();
    let separated = matches!(
        (bytes[4], bytes[7], bytes[10], bytes[13], bytes[16]),
        (b'-', b'-', b' ' | b'T', b':', b':') | (b'/', b'/', b'-', b':', b':')
    );
    let part = |from: usize, to: usize| time.get(from..to)?.trim_start().parse::<i8>().ok();
    let year = time.get(0..4)?.parse::<i16>().ok().filter(|_| separated)?;
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(rest.bytes().take_while(u8::is_ascii_digit).count()),
        None => ("", rest),
    };
    let nanos = format!("{:0<NANOS_DIGITS$}", fraction.get(..fraction.len().min(NANOS_DIGITS))?);
    let (month, day, hour) = (part(5, 7)?, part(8, 10)?, part(11, 13)?);
    let at = DateTime::new(year, month, day, hour, part(14, 16)?, part(17, 19)?, nanos.parse().ok()?).ok()?;
    Some((at.to_zoned(TimeZone::UTC).ok()?.timestamp().as_microsecond(), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_log_has_its_own_form_of_a_time() {
        let at = 1_795_812_505_000_000;
        let check =
            |line: &str, expected: i64, rest: &str| assert_eq!(of(line), Some((expected, rest)), "{line}");
        check("2026-11-27 20:48:25.392 UTC [2] LOG:  x", at + 392_000, " UTC [2] LOG:  x");
        check("2026-11-27 20:48:25 0 [Note] x", at, " 0 [Note] x");
        check("2026-11-27  1:48:25 0 [Note] x", at - 19 * 3_600_000_000, " 0 [Note] x");
        check("2026-11-27T20:48:25.123456Z 0 [Note] x", at + 123_456, "Z 0 [Note] x");
        check("2026/11/27-20:48:25.933704 140 x", at + 933_704, " 140 x");
        check("2026-11-27 20:48:25.", at, "");
        check("2026-11-27 20:48:25.1234567890123 x", at + 123_456, " x");
        for other in [
            "",
            "\tavg read rate: 30.208 MB/s, avg write rate: 4.688 MB/s",
            "Version: '10.11.19-MariaDB-0+deb12u1'  socket: '/x'",
            "2026-11-27 20:48:2",
            "2026-13-27 20:48:25 x",
            "2026-11-27 20:61:25 x",
            "2026/11/27 20:48:25 x",
            "ünïcödé ünïcödé ünïcödé",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
