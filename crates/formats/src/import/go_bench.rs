//! Results of Go benchmarks as values.

use super::{Case, Source, shown, unit_of};
use crate::go_bench::{GoBenchOutput, GoBenchResult, SUBJECTS};
use model::import::ImportedValue;
use std::collections::{BTreeMap, BTreeSet};

/// Words that a unit may end in, before the slash: what it is in our metrics, its unit, and the factor.
const MEASURES: [(&str, &str, &str, f64); 9] = [
    ("ns", "us", "us", 1e-3),
    ("us", "us", "us", 1.0),
    ("µs", "us", "us", 1.0),
    ("ms", "us", "us", 1e3),
    ("s", "us", "us", 1e6),
    ("sec", "us", "us", 1e6),
    ("B", "bytes", "B", 1.0),
    ("bytes", "bytes", "B", 1.0),
    ("MB", "bytes", "B", 1e6),
];

/// The values of the results, one after another: a benchmark that ran several times has as many of each, told apart by
/// their lines. The subject is the commit or version, where a line says it. `ns/op` is `us_per_op`.
pub fn of_go_bench(output: &GoBenchOutput, source: Source<'_>) -> Vec<ImportedValue> {
    let mut packages: BTreeMap<&str, BTreeSet<Option<&str>>> = BTreeMap::new();
    for result in &output.results {
        packages.entry(&result.name).or_default().insert(result.package());
    }
    let mut values = Vec::new();
    for result in &output.results {
        let subject = SUBJECTS.iter().find_map(|key| result.configuration.get(*key));
        let subject = subject.map_or(source.subject, String::as_str);
        let step = step(result, packages[result.name.as_str()].len());
        let place = format!("line {}", result.line);
        let case = Case { file: source.file, subject, step: &step, place: &place };
        for value in &result.values {
            let OurUnit { metric, unit, factor } = OurUnit::of(&value.unit);
            let number = value.value.map(|number| number * factor);
            let said = number.map_or_else(|| value.said.clone(), |number| shown(&metric, number));
            values.push(case.said(&metric, &unit, number, &said));
        }
        values.extend(case.value("operations", "", Some(result.iterations as f64)));
    }
    values
}

/// The name of the benchmark, with its package where the file has the name in several.
fn step(result: &GoBenchResult, packages: usize) -> String {
    match result.package().filter(|_| packages > 1) {
        Some(package) => format!("{package}.{}", result.name),
        None => result.name.clone(),
    }
}

/// A unit of Go in our spelling.
#[derive(Debug, Clone, PartialEq)]
struct OurUnit {
    metric: String,
    unit: String,
    factor: f64,
}

impl OurUnit {
    /// `L1-miss-ns/op` is `l1_miss_us_per_op`, in microseconds.
    fn of(unit: &str) -> OurUnit {
        let (what, per) = unit.split_once('/').map_or((unit, None), |(what, per)| (what, Some(per)));
        let (qualifier, measure) = match what.rsplit_once('-') {
            Some((qualifier, measure)) => (Some(qualifier), measure),
            None => (None, what),
        };
        let known = MEASURES.iter().find(|(name, _, _, _)| *name == measure);
        let (noun, base, factor) =
            known.map_or((measure, "", 1.0), |(_, noun, base, factor)| (*noun, *base, *factor));
        let per_name = per.map(|per| format!("per_{per}"));
        let parts = [qualifier, Some(noun), per_name.as_deref()];
        let metric = spelt(&parts.into_iter().flatten().collect::<Vec<_>>().join("_"));
        let unit = match (unit_of(&metric), per) {
            (Some(unit), _) => unit.to_owned(),
            (None, Some("s")) if base.is_empty() => "1/s".to_owned(),
            (None, Some("s")) => format!("{base}/s"),
            (None, _) => base.to_owned(),
        };
        OurUnit { metric, unit, factor }
    }
}

fn spelt(name: &str) -> String {
    let letter = |letter: char| if letter.is_alphanumeric() { letter.to_ascii_lowercase() } else { '_' };
    name.chars().map(letter).collect()
}
