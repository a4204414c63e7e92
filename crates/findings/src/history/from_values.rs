//! Series of results that others measured. Releases stand in the order of their numbers where all have numbers, else as they
//! stand in the file.

use super::{Observed, Origin};
use analysis::change_points::ErrorFloor;
use analysis::rounds::RoundValues;
use model::import::{ImportRecord, ImportedValue};
use model::subject::compare_versions;
use model::warning::Warning;
use std::collections::{BTreeMap, BTreeSet};

/// The series of an import, in the order in which they first appear. Several values of the same release, step and
/// metric (one in each file, say) are repeats.
pub fn of_values(import: &ImportRecord) -> (Vec<Observed>, Origin) {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let names = import.values.iter().map(|value| value.subject.as_str());
    let names: Vec<String> = names.filter(|name| seen.insert(name)).map(str::to_owned).collect();
    let (releases, moved) = ordered(&names);
    let mut origin =
        Origin { names: import.files.iter().map(|file| file.file.clone()).collect(), warnings: Vec::new() };
    if moved {
        origin.warnings.push(Warning::Sorted);
    }
    let several_files = import.files.len() > 1;
    let series = by_series(&import.values);
    (series.iter().filter_map(|values| observed(values, &releases, several_files)).collect(), origin)
}

/// The values of each step, metric and unit, in the order in which these first appear. A gap has no unit: it belongs to
/// every one of its step and metric.
fn by_series(values: &[ImportedValue]) -> Vec<Vec<&ImportedValue>> {
    let mut units: BTreeMap<(&str, &str), Vec<(&str, usize)>> = BTreeMap::new();
    let mut series = 0;
    for value in values.iter().filter(|value| value.value.is_some()) {
        let known = units.entry((&value.step, &value.metric)).or_default();
        if known.iter().all(|(unit, _)| *unit != value.unit) {
            known.push((&value.unit, series));
            series += 1;
        }
    }
    let mut of_series: Vec<Vec<&ImportedValue>> = vec![Vec::new(); series];
    for value in values {
        let known = units.get(&(value.step.as_str(), value.metric.as_str()));
        for (unit, place) in known.into_iter().flatten() {
            if *unit == value.unit || value.value.is_none() {
                of_series[*place].push(value);
            }
        }
    }
    of_series
}

fn observed(values: &[&ImportedValue], releases: &[String], several_files: bool) -> Option<Observed> {
    let first = values.iter().find(|value| value.value.is_some())?;
    // A release that has no row of this step is not part of its series; one whose value is missing is a gap in it.
    let mut by_release: BTreeMap<&str, Vec<&ImportedValue>> = BTreeMap::new();
    for value in values {
        by_release.entry(&value.subject).or_default().push(value);
    }
    let mut gaps = Vec::new();
    let (mut present, mut repeats): (Vec<String>, Vec<Vec<Option<f64>>>) = (Vec::new(), Vec::new());
    for release in releases {
        let Some(of_release) = by_release.get(release.as_str()) else { continue };
        present.push(release.clone());
        repeats.push(of_release.iter().map(|value| usable(value, several_files, &mut gaps)).collect());
    }
    let rounds = repeats.iter().map(Vec::len).max().unwrap_or(0);
    let logarithms = (0..rounds).map(|round| {
        let cell = |of: &Vec<Option<f64>>| of.get(round).copied().flatten().map(f64::ln);
        repeats.iter().map(cell).collect()
    });
    let mean =
        |of: &Vec<Option<f64>>| analysis::student::mean(&of.iter().flatten().copied().collect::<Vec<f64>>());
    Some(Observed {
        step: first.step.clone(),
        config: String::new(),
        metric: first.metric.clone(),
        unit: first.unit.clone(),
        logarithms: RoundValues::new(present.len(), logarithms.collect()).ok()?,
        values: repeats.iter().map(mean).collect(),
        releases: present,
        floor: ErrorFloor { resolution: printed_step(values), ..ErrorFloor::default() },
        first_rounds: None,
        gaps,
        in_rounds: false,
        toolchains: BTreeMap::new(),
    })
}

/// The number, where it has a logarithm; else a gap is noted.
fn usable(value: &ImportedValue, several_files: bool, gaps: &mut Vec<String>) -> Option<f64> {
    let number = value.value.filter(|number| *number > 0.0);
    if number.is_none() {
        let said = if value.said.is_empty() { "nothing" } else { &value.said };
        let file = if several_files { format!("file {}, ", value.file + 1) } else { String::new() };
        gaps.push(format!("{}: {said} ({file}{})", value.subject, value.place));
    }
    number
}

/// The step in which the values were printed, as they stand in the unit of the series: what most decimals show, because
/// trailing zeros may be dropped. 0 where a value stands there in another unit than it is in.
fn printed_step(values: &[&ImportedValue]) -> f64 {
    let decimals = |value: &&&ImportedValue| {
        let plain: String =
            value.said.chars().take_while(|c| c.is_ascii_digit() || *c == '.' || *c == '-').collect();
        let same = plain.parse::<f64>().is_ok_and(|said| Some(said) == value.value);
        same.then(|| plain.split_once('.').map_or(0, |(_, decimals)| decimals.len()))
    };
    let most = values.iter().filter_map(|value| decimals(&value)).max();
    most.and_then(|most| i32::try_from(most).ok()).map_or(0.0, |most| 10_f64.powi(-most))
}

/// The names in their order, and whether that is another one than they came in.
fn ordered(names: &[String]) -> (Vec<String>, bool) {
    let mut sorted = names.to_vec();
    let common = common_prefix(names);
    let all_numbers = names.iter().all(|name| is_number(&name[common..]));
    if all_numbers {
        sorted.sort_by(|left, right| compare_versions(&left[common..], &right[common..]));
    }
    let moved = sorted != names;
    (sorted, moved)
}

/// Bytes of what all names begin with, digits left out: `v` of `v64` and `v611`, `rocksdb@` of `rocksdb@8.5.4`.
fn common_prefix(names: &[String]) -> usize {
    let Some(first) = names.first() else { return 0 };
    let letters = first.find(|letter: char| letter.is_ascii_digit()).unwrap_or(0);
    if names.iter().all(|name| name.starts_with(&first[..letters])) { letters } else { 0 }
}

/// `8.10`, `611`, `6.22.1.1`.
fn is_number(text: &str) -> bool {
    !text.is_empty()
        && text.split('.').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(names: &[&str]) -> (Vec<String>, bool) {
        ordered(&names.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn numbers_sort_as_numbers_and_other_names_stay() {
        assert_eq!(
            sorted(&["8.10", "8.9", "8.11"]),
            (["8.9", "8.10", "8.11"].map(str::to_owned).to_vec(), true)
        );
        assert!(!sorted(&["v64", "v611", "v617"]).1);
        let builds = ["my5651", "my8028_rel", "my8036"];
        assert_eq!(sorted(&builds), (builds.map(str::to_owned).to_vec(), false));
        assert!(!sorted(&["pg1110.cx5", "my5649.cx6d"]).1);
        assert!(!sorted(&["c0ffee1", "0badf00"]).1);
        assert_eq!(sorted(&[]), (Vec::new(), false));
    }
}
