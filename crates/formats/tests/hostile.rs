//! Texts that no program wrote: fixtures with words replaced, lines left out and doubled, read as every format. A parser
//! may refuse them; it must not panic, and what it reads must become values that can be stored.

use formats::import::{
    Source, of_db_bench, of_fio, of_go_bench, of_iostat, of_otava, of_pgbench, of_pgbench_log, of_report,
    of_sysbench, of_vmstat,
};
use formats::samples::FirstReport;
use formats::{
    ParseError, benchmark_sh_report, db_bench, fio_json, go_bench, iostat, otava_csv, pgbench, pgbench_log,
    sysbench, vmstat,
};
use model::import::ImportedValue;

const TEXTS: [&str; 15] = [
    include_str!("../fixtures/benchmark_sh/report.tsv"),
    include_str!("../fixtures/db_bench/7.8.3.plain.txt"),
    include_str!("../fixtures/sysbench/1.0.20.read_write.txt"),
    include_str!("../fixtures/sysbench/1.0.20.histogram.txt"),
    include_str!("../fixtures/sysbench/1.0.20.checkpoints.txt"),
    include_str!("../fixtures/pgbench/15.18.tpcb.txt"),
    include_str!("../fixtures/pgbench/17.typed.txt"),
    include_str!("../fixtures/pgbench/15.18.late.log"),
    include_str!("../fixtures/pgbench/15.18.interval.log"),
    include_str!("../fixtures/fio/3.33.mixed.txt"),
    include_str!("../fixtures/iostat/12.6.1.t_y_mx.txt"),
    include_str!("../fixtures/vmstat/4.0.2.w_t_y.txt"),
    include_str!("../fixtures/otava/sample.csv"),
    include_str!("../fixtures/otava/semicolon.csv"),
    include_str!("../fixtures/go_bench/1.26.8.txt"),
];

/// What stands instead of a word.
const WORDS: [&str; 22] = [
    "",
    "nan",
    "-nan",
    "inf",
    "-1",
    "0",
    "1e308",
    "1,5",
    "18446744073709551615",
    "99999999999999999999999",
    "0.00000000000000000001",
    "Device",
    "transaction",
    ":",
    "/",
    "(",
    "\"",
    "{",
    "\u{fffd}\u{0}",
    "\u{e4}\u{2028}\u{1f4a9}",
    " ",
    "\n",
];

/// Enough to have met each word in each text; chosen for a second of running.
const ROUNDS: u64 = 60;

const SOURCE: Source<'_> = Source { file: 0, subject: "hostile" };

type Reader = fn(&str) -> Result<Vec<ImportedValue>, ParseError>;

const READERS: [Reader; 11] = [
    |text| Ok(of_report(&benchmark_sh_report::parse(text)?, SOURCE)),
    |text| Ok(of_db_bench(&db_bench::parse(text)?, SOURCE)),
    |text| Ok(of_sysbench(&sysbench::parse(text)?, SOURCE)),
    |text| Ok(of_pgbench(&pgbench::parse(text)?, SOURCE)),
    |text| Ok(of_pgbench_log(&pgbench_log::parse(text)?, SOURCE)),
    |text| Ok(of_fio(&fio_json::parse(text)?, SOURCE)),
    |text| Ok(of_iostat(&iostat::parse(text)?, FirstReport::Interval, SOURCE)),
    |text| Ok(of_iostat(&iostat::parse(text)?, FirstReport::SinceBoot, SOURCE)),
    |text| Ok(of_vmstat(&vmstat::parse(text)?, FirstReport::SinceBoot, SOURCE)),
    |text| Ok(of_otava(&otava_csv::parse(text)?, SOURCE)),
    |text| Ok(of_go_bench(&go_bench::parse(text)?, SOURCE)),
];

/// Marsaglia's xorshift: the same texts in every run.
struct Draws(u64);

impl Draws {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end.max(1) as u64).unwrap_or(0)
    }
}

#[track_caller]
fn check(text: &str) {
    for reader in READERS {
        match reader(text) {
            Ok(values) => {
                assert!(values.iter().all(|it| !it.metric.is_empty() && !it.place.is_empty()), "{text}");
            }
            Err(error) => {
                assert!(error.line >= 1 && error.line <= text.lines().count().max(1), "{error}\n{text}");
                assert!(!error.to_string().contains(char::is_control), "{error}");
            }
        }
    }
}

#[test]
fn texts_with_other_words_are_read_or_refused() {
    for (text, seed) in TEXTS.iter().zip(1..) {
        let mut draws = Draws(0x9e37_79b9_7f4a_7c15 ^ seed);
        for _ in 0..ROUNDS {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            for _ in 0..1 + draws.below(3) {
                let line = draws.below(lines.len());
                let words: Vec<&str> = lines[line].split(' ').collect();
                let other = WORDS[draws.below(WORDS.len())];
                let at = draws.below(words.len());
                let replaced: Vec<&str> = words
                    .iter()
                    .enumerate()
                    .map(|(index, word)| if index == at { other } else { word })
                    .collect();
                lines[line] = replaced.join(" ");
            }
            match draws.below(4) {
                0 => drop(lines.remove(draws.below(lines.len()))),
                1 => lines.insert(draws.below(lines.len()), lines[draws.below(lines.len())].clone()),
                2 => lines.truncate(draws.below(lines.len())),
                _ => {}
            }
            check(&lines.join("\n"));
        }
    }
}

#[test]
fn what_is_no_text_of_any_kind_is_refused() {
    for text in
        ["", "\n", " ", "\u{0}\u{1}\u{fffd}", "{", "}", ":", "\"", ",", "\u{feff}", &"x".repeat(1 << 20)]
    {
        check(text);
        for reader in READERS {
            assert!(reader(text).is_err(), "{text}");
        }
    }
}
