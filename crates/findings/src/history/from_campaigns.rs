//! Series of campaigns of ours, of one or of several as one: the rounds of all of them, where they measured the same thing in
//! the same place. Places are those that the first one gives; the rounds of the others alone confirm them, and sizes are of
//! all rounds.

use super::{Observed, Origin};
use crate::comparison::rounds::series_of;
use crate::conditions::host_warning;
use analysis::change_points::ErrorFloor;
use analysis::rounds::RoundValues;
use model::plan::Design;
use model::record::RunRecord;
use model::subject::compare_versions;
use model::warning::Warning;

/// The metrics of each step of a campaign that users see or pay for, over the releases of each configuration.
pub fn of_campaign(record: &RunRecord) -> (Vec<Observed>, Origin) {
    // Launches repeat as rounds do: all releases are in each.
    let in_rounds = record.plan.layout.design != Design::Sequential;
    let (series, disturbed) = series_of(record);
    let several_configs = series.iter().any(|other| series.iter().any(|one| one.config != other.config));
    let observed = series.into_iter().map(|one| Observed {
        step: one.step,
        config: if several_configs { one.config } else { String::new() },
        metric: one.metric.header().to_owned(),
        unit: one.metric.table_unit().to_owned(),
        releases: one.releases,
        logarithms: one.logarithms,
        values: one.values,
        first_rounds: None,
        floor: ErrorFloor::default(),
        gaps: Vec::new(),
        in_rounds,
        toolchains: one.toolchains,
    });
    let mut origin = Origin { names: vec![format!("run {}", record.id)], warnings: Vec::new() };
    if !in_rounds {
        origin.warnings.push(Warning::SequentialReleases);
    }
    if disturbed > 0 {
        origin.warnings.push(Warning::Disturbed { trials: disturbed as u64 });
    }
    (observed.collect(), origin)
}

/// Why campaigns cannot be combined: their rounds are of different things.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("runs {first} and {second} cannot be combined: their {what} differ ({of_first} and {of_second})")]
pub struct Apart {
    pub first: String,
    /// The run that does not go with it.
    pub second: String,
    /// `workload`, `hosts`, `builds of rocksdb@mine`.
    pub what: String,
    pub of_first: String,
    pub of_second: String,
}

/// The series of all campaigns, a row for each round of each of them. A round that lacks a release has a gap there,
/// and what all the round's releases have in common is the round's own.
///
/// # Errors
/// Campaigns of other workloads or sizes, on other hosts, or with other binaries behind the name of a release.
pub fn of_campaigns(records: &[RunRecord]) -> Result<(Vec<Observed>, Origin), Apart> {
    let mut joined: Vec<Observed> = Vec::new();
    let mut origin = Origin::default();
    for (index, record) in records.iter().enumerate() {
        for earlier in &records[..index] {
            check(earlier, record)?;
        }
        let (observed, of_run) = of_campaign(record);
        origin.names.extend(of_run.names);
        let of_host = records.first().and_then(|first| host_warning(first, record));
        for warning in of_run.warnings.into_iter().chain(of_host) {
            if !origin.warnings.contains(&warning) {
                origin.warnings.push(warning);
            }
        }
        for one in observed {
            let same = |other: &&mut Observed| {
                other.step == one.step && other.config == one.config && other.metric == one.metric
            };
            match joined.iter_mut().find(same) {
                Some(other) => *other = with_rounds(other, &one),
                None => joined.push(one),
            }
        }
    }
    if records.len() > 1 {
        origin.warnings.push(Warning::Joined { campaigns: records.len() as u64 });
    }
    Ok((joined, origin))
}

fn check(first: &RunRecord, second: &RunRecord) -> Result<(), Apart> {
    let differ = |what: &str, of_first: String, of_second: String| {
        if of_first == of_second {
            return Ok(());
        }
        Err(Apart {
            first: first.id.clone(),
            second: second.id.clone(),
            what: what.to_owned(),
            of_first,
            of_second,
        })
    };
    let workload = |record: &RunRecord| {
        let workload = &record.plan.workload;
        format!("{}, {:.12}, {} keys", workload.name, record.plan.workload_sha256, workload.data.keys)
    };
    differ("workloads", workload(first), workload(second))?;
    differ("hosts", first.host.name.clone(), second.host.name.clone())?;
    differ("CPUs", first.host.cpu_model.clone(), second.host.cpu_model.clone())?;
    let step_of = |record: &RunRecord, name: &str| record.plan.workload.step(name).ok().cloned();
    for step in second.plan.chosen_steps() {
        if let Some(other) = step_of(first, &step.name).filter(|other| other != step) {
            let shown = |step: &model::workload::Step| format!("{} threads, {:?}", step.threads, step.extent);
            let what = format!("definitions of {}", step.name);
            differ(&what, shown(&other), shown(step))?;
        }
    }
    for subject in &second.plan.subjects {
        let same_name = first.plan.subjects.iter().find(|other| other.reference == subject.reference);
        if let Some(other) = same_name {
            let sha256 = |one: &model::plan::Subject| one.build.sha256.chars().take(12).collect::<String>();
            differ(&format!("builds of {}", subject.reference), sha256(other), sha256(subject))?;
        }
    }
    Ok(())
}

/// The releases of both in the order of their versions, the rounds of the one and then of the other.
fn with_rounds(one: &Observed, more: &Observed) -> Observed {
    let mut releases = one.releases.clone();
    releases.extend(more.releases.iter().filter(|name| !one.releases.contains(name)).cloned());
    releases.sort_by(|left, right| compare_versions(left, right));
    let rows = [one, more].into_iter().flat_map(|part| {
        let releases = &releases;
        part.logarithms.rounds().iter().map(move |round| {
            let cell = |name: &String| *round.get(part.releases.iter().position(|own| own == name)?)?;
            releases.iter().map(cell).collect::<Vec<Option<f64>>>()
        })
    });
    let rounds: Vec<Vec<Option<f64>>> = rows.collect();
    let values = (0..releases.len()).map(|index| {
        let of_release: Vec<f64> = rounds.iter().filter_map(|round| Some(round[index]?.exp())).collect();
        analysis::student::mean(&of_release)
    });
    Observed {
        values: values.collect(),
        first_rounds: one.first_rounds.or(Some(one.logarithms.rounds().len())),
        // Every row has a cell for each release, and all come from rows that were sound.
        logarithms: RoundValues::new(releases.len(), rounds).unwrap_or_else(|_| one.logarithms.clone()),
        gaps: one.gaps.iter().chain(&more.gaps).cloned().collect(),
        in_rounds: one.in_rounds && more.in_rounds,
        releases,
        ..one.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::history::observed;
    use model::fingerprint::{Fingerprint, HostFigure};
    use testing::rounds::record;

    #[test]
    fn rounds_are_added_and_a_release_that_one_lacks_is_a_gap() {
        let names = |of: [&str; 2]| of.map(str::to_owned).to_vec();
        let first = observed(names(["8.9.1", "9.0.0"]), vec![vec![Some(0.0), Some(1.0)]; 2]);
        let again = observed(names(["8.10.0", "9.0.0"]), vec![vec![Some(2.0), None]]);
        let joined = with_rounds(&first, &again);
        assert_eq!(joined.releases, ["8.9.1", "8.10.0", "9.0.0"]);
        let rows = joined.logarithms.rounds();
        assert_eq!(
            rows,
            [vec![Some(0.0), None, Some(1.0)], vec![Some(0.0), None, Some(1.0)], vec![None, Some(2.0), None],]
        );
        assert_eq!(joined.first_rounds, Some(2));
        assert_eq!(with_rounds(&joined, &again).first_rounds, Some(2));
        assert_eq!(joined.values, [Some(1.0), Some(2.0_f64.exp()), Some(1.0_f64.exp())]);
    }
    #[test]
    fn campaigns_before_which_the_host_was_not_equally_fast_say_so() {
        let campaign = |id: &str, value| {
            let figures = vec![HostFigure { name: "memory_latency_ns".to_owned(), value, spread: 0.01 }];
            let (host, boot_id) = ("bench-1".to_owned(), "b".to_owned());
            let fingerprint = Fingerprint { at_us: 1, host, boot_id, device: None, figures };
            RunRecord { id: id.to_owned(), fingerprint: Some(fingerprint), ..record() }
        };
        let of_host = |records: &[RunRecord]| -> Vec<String> {
            let (_, origin) = of_campaigns(records).unwrap();
            let warnings = origin.warnings.into_iter().filter(|warning| warning.id() == "host-differs");
            warnings.map(|warning| warning.to_string()).collect()
        };
        let (first, same, slower) = (campaign("a", 181.0), campaign("b", 183.0), campaign("c", 240.0));
        assert_eq!(of_host(&[first.clone(), same.clone()]), [""; 0]);
        let said = of_host(&[first, same, slower]);
        let begins = "the host's fingerprint before c differs from that before a: memory_latency_ns: 181 then 240 (+32.6 %)";
        assert!(said.len() == 1 && said[0].starts_with(begins), "{said:?}");
    }
}
