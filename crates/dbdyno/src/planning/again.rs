//! A plan that measures again what a history asks for: the releases around each candidate, in rounds, or interleaved if they were.

use crate::exit::usage;
use crate::resources;
use anyhow::anyhow;
use findings::history::{HistoryView, Remeasure};
use model::figures::chosen_percent;
use model::plan::{Design, Subject};
use model::plan_file::{LoopDeviceText, PlanDesign, PlanText};
use model::record::RunRecord;
use model::subject::compare_versions;
use model::units::Nanos;

/// Rounds of a plan that confirms (statistics 1.6).
const ROUNDS: u32 = 5;

/// For a campaign of ours: the same conditions, its base and what is asked for. Absent where nothing is.
pub fn of_campaign(record: &RunRecord, wanted: &[Remeasure]) -> Option<PlanText> {
    if wanted.is_empty() {
        return None;
    }
    let plan = &record.plan;
    let is_wanted = |subject: &Subject| {
        wanted.iter().any(|one| {
            let config = one.config.is_empty() || one.config == subject.reference.config;
            config && one.releases.contains(&subject.reference.build.version)
        })
    };
    let all = plan.distinct_subjects();
    let mut subjects: Vec<&Subject> = all
        .iter()
        .enumerate()
        .filter(|(side, one)| *side == 0 || is_wanted(one))
        .map(|(_, one)| one)
        .collect();
    if subjects.len() == 1 {
        // The base alone is compared with nothing.
        subjects.extend(all.get(1));
    }
    let is_interleaved = plan.layout.design == Design::Interleaved;
    let steps: Vec<String> = wanted.iter().map(|one| one.step.clone()).collect();
    Some(PlanText {
        name: format!("again-{}", record.name.as_deref().unwrap_or(&record.id)),
        description: format!("what the history of run {} asks to be measured again", record.id),
        design: Some(if is_interleaved { PlanDesign::Interleaved } else { PlanDesign::Rounds }),
        rounds: (!is_interleaved).then_some(ROUNDS),
        budget_minutes: is_interleaved.then(|| plan.budget.0.div_ceil(Nanos::from_secs(60).0)),
        until: plan.rule.until.map(chosen_percent),
        workloads: vec![plan.workload.name.clone()],
        subjects: subjects.iter().map(|subject| subject.reference.to_string()).collect(),
        steps: plan.workload.named_as(&steps),
        clients: plan.workload.swept_clients(),
        tickers: plan.layout.tickers,
        memory_limit: plan.layout.memory_limit.map(|limit| format!("{} B", limit.0)),
        scale: plan.workload.scale(),
        loop_device: plan.layout.loop_device.as_ref().map(LoopDeviceText::from),
        server_host: plan.layout.server_host.as_ref().map(|host| host.as_written()),
        server_address: plan.layout.server_host.as_ref().and_then(|host| host.address.clone()),
        options: plan.workload.options.clone(),
        ..PlanText::default()
    })
}

/// For results of others: the newest release that can be had of each version asked for, with a workload of ours. Absent
/// where no engine is named, or nothing is asked for.
///
/// # Errors
/// An engine or a workload that is not known; releases of which none can be had.
pub fn of_releases(
    engine: Option<&str>,
    workload: Option<&str>,
    view: &HistoryView,
) -> anyhow::Result<Option<PlanText>> {
    let Some(engine) = engine else { return Ok(None) };
    let catalog = resources::catalog()?;
    let releases = catalog.releases(engine).map_err(usage)?;
    let known: Vec<&str> = releases.iter().map(|release| release.version.as_str()).collect();
    let (Some(workload), false) = (workload, view.remeasure.is_empty()) else { return Ok(None) };
    let defined = resources::workload(workload)?;
    let mut asked: Vec<&String> = Vec::new();
    let mut steps: Vec<String> = Vec::new();
    for one in &view.remeasure {
        asked.extend(one.releases.iter().filter(|name| !asked.contains(name)).collect::<Vec<_>>());
        // `7 readrandom` of a table is our `readrandom`; a step that only others have is not chosen by name.
        let named = defined.steps.iter().find(|step| one.step.split(' ').any(|word| word == step.name));
        steps.extend(
            named
                .map(|step| step.name.clone())
                .filter(|name| !steps.contains(name))
                .into_iter()
                .collect::<Vec<_>>(),
        );
    }
    let mut versions: Vec<&str> = asked.iter().filter_map(|name| release_called(name, &known)).collect();
    versions.sort_by(|left, right| compare_versions(left, right));
    versions.dedup();
    if versions.len() < 2 {
        return Err(usage(anyhow!(
            "of {} asked for, {} are available as {engine}: there is nothing to compare; `dbdyno engine list` shows what is",
            asked.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", "),
            if versions.is_empty() { "none" } else { versions[0] }
        )));
    }
    Ok(Some(PlanText {
        name: format!("again-{engine}"),
        description: format!("what the history of {} asks to be measured again", view.origin.join(", ")),
        design: Some(PlanDesign::Rounds),
        rounds: Some(ROUNDS),
        workloads: vec![workload.to_owned()],
        subjects: versions.iter().map(|version| format!("{engine}@{version}")).collect(),
        steps,
        ..PlanText::default()
    }))
}

/// The newest release of a version: `8.6.7` for `8.6`, and `6.11.7` for `v611`, as RocksDB's releases are called in posts.
fn release_called<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let digits = name.trim_start_matches(|letter: char| !letter.is_ascii_digit());
    let version = if digits.contains('.') || !name.starts_with('v') || digits.len() < 2 {
        digits.to_owned()
    } else {
        format!("{}.{}", &digits[..1], &digits[1..])
    };
    let is_of = |release: &&&str| **release == version || release.starts_with(&format!("{version}."));
    known.iter().filter(is_of).max_by(|left, right| compare_versions(left, right)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_its_newest_release() {
        let known = ["6.4.6", "6.11.4", "6.11.6", "8.6.7", "8.10.0"];
        assert_eq!(release_called("8.6", &known), Some("8.6.7"));
        assert_eq!(release_called("v611", &known), Some("6.11.6"));
        assert_eq!(release_called("v64", &known), Some("6.4.6"));
        assert_eq!(release_called("rocksdb@8.10.0", &known), Some("8.10.0"));
        assert_eq!(release_called("8.1", &known), None, "8.10 is another one");
        assert_eq!(release_called("main", &known), None);
    }
}
