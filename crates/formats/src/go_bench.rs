//! Results of Go benchmarks, as `go test -bench` prints them and the tools of golang.org/x/perf read them.
//!
//! Go 1.26; lines of `key: value` hold for all results after them:
//!
//! ```text
//! goos: linux
//! pkg: example.com/kv
//! BenchmarkGet/size=64-2  263104  4567 ns/op  14.01 MB/s  12 B/op  3 allocs/op
//! Unit ns/op assume=exact
//! ```
//!
//! A benchmark that ran several times (`-count`) has as many lines. All other lines are passed over.

use crate::ParseError;
use crate::lines::{Line, last, numbered};
use std::collections::{BTreeMap, BTreeSet};

const WHAT: &str = "results of Go benchmarks";

/// What every name of a benchmark begins with; left out in reports.
const PREFIX: &str = "Benchmark";

/// Keys of settings that say what was measured, the most exact one first.
pub const SUBJECTS: [&str; 3] = ["commit", "version", "tag"];
/// The key of the setting that says whose benchmark it was.
const PACKAGE: &str = "pkg";

/// Units that Go itself prints.
const USUAL_UNITS: [&str; 4] = ["ns/op", "MB/s", "B/op", "allocs/op"];

/// The results of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GoBenchOutput {
    /// The results, in their order.
    pub results: Vec<GoBenchResult>,
    /// What a line of `Unit` says of a unit, by unit and key: `better` -> `higher`.
    pub units: BTreeMap<String, BTreeMap<String, String>>,
}

/// One run of one benchmark.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GoBenchResult {
    /// The line it stands on, from 1.
    pub line: usize,
    /// Its name without `Benchmark`, with the number of CPUs: `Get/size=64-2`.
    pub name: String,
    /// How often the operation ran.
    pub iterations: u64,
    /// Values by unit, in their order.
    pub values: Vec<GoBenchValue>,
    /// What lines of `key: value` said before it of the package and of what was measured: `pkg` -> `example.com/kv`. Others are not
    /// kept: each result has them all, and a file may have as many as it has lines.
    pub configuration: BTreeMap<String, String>,
}

/// One value of a result.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GoBenchValue {
    /// The number; absent where there is none: `NaN`.
    pub value: Option<f64>,
    /// Its unit, as it is written: `ns/op`, `L1-miss-ns/op`.
    pub unit: String,
    /// The number, as it is written.
    pub said: String,
}

impl GoBenchResult {
    /// The package of the benchmark; absent where the file does not say.
    pub fn package(&self) -> Option<&str> {
        self.configuration.get(PACKAGE).map(String::as_str)
    }
}

/// Reads the text. Errors: there is no result, or one that has begun cannot be read.
pub fn parse(text: &str) -> Result<GoBenchOutput, ParseError> {
    let mut output = GoBenchOutput::default();
    let mut configuration = BTreeMap::new();
    for line in numbered(text) {
        let failed = |problem| ParseError { what: WHAT, line: line.number, problem };
        if let Some((key, value)) = setting(line.text) {
            if key == PACKAGE || SUBJECTS.contains(&key) {
                configuration.insert(key.to_owned(), value.to_owned());
            }
        } else if let Some(rest) = line.text.strip_prefix("Unit ") {
            unit(rest, &mut output.units);
        } else if let Some(result) = result(line, &output).transpose().map_err(failed)? {
            output.results.push(GoBenchResult { configuration: configuration.clone(), ..result });
        }
    }
    if output.results.is_empty() {
        let problem = "there is no line like `BenchmarkGet-2  263104  4567 ns/op`".to_owned();
        return Err(ParseError { what: WHAT, line: last(text), problem });
    }
    Ok(output)
}

/// `pkg: example.com/kv`: the key has no blank and no capital.
fn setting(text: &str) -> Option<(&str, &str)> {
    let (key, value) = text.split_once(':')?;
    let is_key = key.starts_with(|first: char| first.is_lowercase())
        && !key.contains(|it: char| it.is_whitespace() || it.is_uppercase());
    let is_apart = value.is_empty() || value.starts_with(char::is_whitespace);
    (is_key && is_apart).then(|| (key, value.trim()))
}

/// `ns/op assume=exact better=lower`
fn unit(rest: &str, units: &mut BTreeMap<String, BTreeMap<String, String>>) {
    let mut words = rest.split_whitespace();
    let Some(unit) = words.next() else { return };
    let said = units.entry(unit.to_owned()).or_default();
    for (key, value) in words.filter_map(|word| word.split_once('=')) {
        said.insert(key.to_owned(), value.to_owned());
    }
}

type Read<T> = Result<T, String>;

/// None where it is no result: also where a benchmark has printed its name and not finished, as `-v` does.
fn result(line: Line<'_>, before: &GoBenchOutput) -> Option<Read<GoBenchResult>> {
    let mut words = line.text.split_whitespace();
    let name = words.next().filter(|_| line.text.starts_with(PREFIX))?.strip_prefix(PREFIX)?;
    let words: Vec<&str> = words.collect();
    let is_result = words.first()?.bytes().all(|byte| byte.is_ascii_digit());
    // Names go on with a capital, a digit, `/`; text that begins with the word does not.
    let is_name = !name.starts_with(char::is_lowercase) && !name.is_empty();
    (is_result && is_name).then(|| result_of(name, &words, line, before))
}

fn result_of(name: &str, words: &[&str], line: Line<'_>, before: &GoBenchOutput) -> Read<GoBenchResult> {
    let iterations =
        words[0].parse().map_err(|_| format!("`{}` of {name} is no number of runs", words[0]))?;
    let mut values: Vec<GoBenchValue> = Vec::new();
    let mut units = BTreeSet::new();
    for pair in words[1..].chunks(2) {
        let [number, unit] = pair else {
            return Err(format!("`{}` of {name} has no unit", pair.join(" ")));
        };
        if !units.insert(*unit) {
            return Err(format!("{name} has `{unit}` twice"));
        }
        let value = value(number).ok_or_else(|| format!("`{number} {unit}` of {name} is no number"))?;
        values.push(GoBenchValue { value, unit: (*unit).to_owned(), said: (*number).to_owned() });
    }
    let Some(last) = values.last() else { return Err(format!("{name} has no value")) };
    if !line.whole && !is_known(&last.unit, before) {
        let problem = "stands only in the last line, which has no line break: it was cut off";
        return Err(format!("the unit `{}` of {name} {problem}", last.unit));
    }
    Ok(GoBenchResult {
        line: line.number,
        name: name.to_owned(),
        iterations,
        values,
        ..GoBenchResult::default()
    })
}

fn is_known(unit: &str, before: &GoBenchOutput) -> bool {
    let seen = || before.results.iter().flat_map(|result| &result.values).any(|value| value.unit == unit);
    USUAL_UNITS.contains(&unit) || seen()
}

/// What Go parses as a number; absent where that is none. Errors: None.
fn value(number: &str) -> Option<Option<f64>> {
    let value: f64 = number.parse().ok()?;
    Some(Some(value).filter(|value| value.is_finite()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::refused;

    const RECORDED: &str = include_str!("../fixtures/go_bench/1.26.8.txt");

    #[test]
    fn a_benchmark_has_a_result_for_each_time_it_ran() {
        let output = parse(RECORDED).unwrap();
        let names: Vec<&str> = output.results.iter().map(|result| result.name.as_str()).collect();
        let of = |name| std::iter::repeat_n(name, 3);
        let expected: Vec<&str> =
            of("Repeat/size=16-2").chain(of("Repeat/size=1k-2")).chain(of("Nothing-2")).collect();
        assert_eq!(names, expected);
        for result in &output.results {
            assert_eq!(result.package(), Some("example.com/kv"));
            assert_eq!(result.configuration.keys().collect::<Vec<_>>(), ["pkg"], "no `goos`");
            assert!(result.iterations > 1000 && result.values[0].unit == "ns/op");
            assert!(RECORDED.lines().nth(result.line - 1).unwrap().contains(&result.name));
        }
        let units: Vec<&str> = output.results[0].values.iter().map(|value| value.unit.as_str()).collect();
        assert_eq!(units, ["ns/op", "MB/s", "p99-latency-ns", "words/op", "B/op", "allocs/op"]);
        let of_size: f64 =
            output.results[3].values[1].value.unwrap() * output.results[3].values[0].value.unwrap();
        assert!((of_size / 1024e3 - 1.0).abs() < 0.01, "MB/s are millions: {of_size}");
    }

    #[test]
    fn settings_hold_for_the_results_after_them_and_units_for_all() {
        let text = "commit: aaa0\npkg: a\nBenchmarkGet 10 5 ns/op\ncommit: aaa1\npkg:\nBenchmarkGet 10 NaN ns/op\n\
                    Unit ns/op assume=exact better=lower\nPASS\n";
        let output = parse(text).unwrap();
        let commits: Vec<&str> =
            output.results.iter().map(|result| result.configuration["commit"].as_str()).collect();
        assert_eq!(commits, ["aaa0", "aaa1"]);
        assert_eq!((output.results[0].package(), output.results[1].package()), (Some("a"), Some("")));
        assert_eq!((output.results[1].values[0].value, output.results[1].line), (None, 6));
        assert_eq!(output.units["ns/op"]["better"], "lower");
    }

    #[test]
    fn lines_that_only_look_like_results_are_passed_over() {
        let text = "Benchmarking is fun\nBenchmark 1 2 ns/op\nBenchmarkGet\nBenchmarkGet-2   kv_test.go:12: hello\n\
                    2026/11/21 10:00:00 x\nBenchmarkGet-2 7 1e3 ns/op\n";
        let output = parse(text).unwrap();
        assert_eq!((output.results.len(), output.results[0].line), (1, 6));
        assert_eq!(output.results[0].values[0].value, Some(1000.0));
    }

    #[test]
    fn what_cannot_be_read_is_named_with_its_line() {
        let check = refused("results of Go benchmarks", parse);
        let nothing = "there is no line like `BenchmarkGet-2  263104  4567 ns/op`";
        check("", &format!("1: {nothing}"));
        check("\u{0}\u{fffd}\nok\n", &format!("2: {nothing}"));
        check("BenchmarkGet-2 10\n", "1: Get-2 has no value");
        check("BenchmarkGet-2 10 5\n", "1: `5` of Get-2 has no unit");
        check("BenchmarkGet-2 10 4,567 ns/op\n", "1: `4,567 ns/op` of Get-2 is no number");
        check("BenchmarkGet-2 10 5 ns/op 6 ns/op\n", "1: Get-2 has `ns/op` twice");
        check(
            "BenchmarkGet-2 99999999999999999999 5 ns/op\n",
            "1: `99999999999999999999` of Get-2 is no number of runs",
        );
        let cut = "stands only in the last line, which has no line break: it was cut off";
        check("BenchmarkGet-2 10 5 ns/op 6 allocs/o", &format!("1: the unit `allocs/o` of Get-2 {cut}"));
    }

    #[test]
    fn a_text_that_was_cut_off_is_an_error_or_has_less() {
        let whole = parse(RECORDED).unwrap();
        for end in 0..RECORDED.len() {
            let Ok(output) = parse(&RECORDED[..end]) else { continue };
            for (found, whole) in output.results.iter().zip(&whole.results) {
                assert_eq!(found.values, whole.values[..found.values.len()], "cut at {end}");
                assert_eq!(found.iterations, whole.iterations, "cut at {end}");
            }
        }
    }
}
