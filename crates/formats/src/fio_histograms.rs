//! The log of histograms that fio writes (`write_hist_log`): how many requests of an interval had which latency. A line for
//! each interval, job and direction:
//!
//! ```text
//! 1002, 0, 4096, 0, 0, 3, ..., 0
//! ```
//!
//! Milliseconds since the job began, the direction, the bytes of a request, in later releases more of these, and at the end
//! the counts of 1,856 bins: exact below 128 ns, 64 to the octave above.

use crate::ParseError;
use crate::lines::numbered;

const WHAT: &str = "log of histograms of fio";

/// Bits of a latency that its bin tells.
const BIN_BITS: u32 = 6;
/// Groups of bins, an octave each.
const GROUPS: usize = 29;
/// Bins of a line.
const BINS: usize = GROUPS << BIN_BITS;

/// What one job did in one direction in one interval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interval {
    /// When it ended, in milliseconds since the job began.
    pub end_ms: u64,
    /// Latency in nanoseconds, and how many requests had it; only those that some had.
    pub counts: Vec<(u64, u64)>,
}

/// Reads the log. Errors: a line without numbers, one with fewer bins, one that was cut off.
pub fn parse(text: &str) -> Result<Vec<Interval>, ParseError> {
    numbered(text)
        .filter(|line| !line.text.is_empty())
        .map(|line| {
            let failed = |problem: String| ParseError { what: WHAT, line: line.number, problem };
            if !line.whole {
                return Err(failed("the line was cut off".to_owned()));
            }
            let numbers: Vec<u64> = line
                .text
                .split(',')
                .map(|field| {
                    field.trim().parse().map_err(|_| failed(format!("`{}` is no count", field.trim())))
                })
                .collect::<Result<_, _>>()?;
            let Some(first) = numbers.len().checked_sub(BINS).filter(|first| *first >= 3) else {
                return Err(failed(format!("{} numbers are fewer than {}", numbers.len(), BINS + 3)));
            };
            let counts = numbers[first..].iter().enumerate().filter(|(_, count)| **count > 0);
            let counts = counts.map(|(bin, count)| (latency_of(bin), *count)).collect();
            Ok(Interval { end_ms: numbers[0], counts })
        })
        .collect()
}

/// The middle of a bin, in nanoseconds.
fn latency_of(bin: usize) -> u64 {
    let bin = bin as u64;
    if bin < 2 << BIN_BITS {
        return bin;
    }
    let octave = (bin >> BIN_BITS) - 1;
    let low = (bin - (octave << BIN_BITS)) << octave;
    low + (1 << octave) / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::refused;

    const REAL: &str = include_str!("../fixtures/fio/3.33.histograms.log");

    #[test]
    fn a_real_log_has_each_second_of_each_job() {
        let intervals = parse(REAL).unwrap();
        assert_eq!(intervals.len(), 4);
        let ends: Vec<u64> = intervals.iter().map(|interval| interval.end_ms / 1000).collect();
        assert_eq!(ends, [1, 2, 1, 2]);
        for interval in &intervals {
            let count: u64 = interval.counts.iter().map(|(_, count)| count).sum();
            assert!(count > 30_000, "{count}");
            // fio itself said 237 us of all.
            let mean = interval.counts.iter().map(|(ns, count)| ns * count).sum::<u64>() / count;
            assert!((200_000..280_000).contains(&mean), "{mean}");
        }
    }

    #[test]
    fn a_bin_is_within_its_octave_and_bins_are_in_order() {
        let latencies: Vec<u64> = (0..BINS).map(latency_of).collect();
        assert_eq!((latencies[0], latencies[127], latencies[128], latencies[192]), (0, 127, 129, 258));
        assert!(latencies.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(latencies.windows(2).skip(128).all(|pair| (pair[1] as f64 / pair[0] as f64) < 1.017));
    }

    #[test]
    fn what_cannot_be_read_is_named_with_its_line() {
        let check = refused(WHAT, parse);
        assert_eq!(parse("").unwrap(), []);
        check("1, 0, 4096, 5\n", "1: 4 numbers are fewer than 1859");
        check("1, 0, 4096, x\n", "1: `x` is no count");
        let whole = REAL.trim_end().len();
        for end in (1..whole).step_by(997) {
            let lines = REAL[..end].lines().count();
            if REAL[..end].ends_with('\n') {
                assert_eq!(parse(&REAL[..end]).unwrap().len(), lines);
            } else {
                assert_eq!(parse(&REAL[..end]).unwrap_err().line, lines);
            }
        }
    }
}
