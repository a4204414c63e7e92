//! What is found in what the store holds: a name or an id in, a finding out, for the command line and for pages alike.

use anyhow::{Context, anyhow};
use findings::bisection::BisectView;
use findings::build_noise::{BUILD_NOISE, by_step};
use findings::calibration::{self, CalibrationView};
use findings::hosts::{self, HostsView, Run, joined};
use findings::judge::Evidence;
use findings::selection::Selection;
use findings::{ComparedRun, Comparison, Finding, import, self_test};
use model::host::Host;
use model::job::Job;
use model::plan::{Design, Plan, Purpose};
use model::record::RunRecord;
use report::document::Sentence;
use std::collections::BTreeMap;
use std::slice::from_ref;
use store::{Store, Writer};

/// The finding of a run, of all of it or of a selection.
///
/// # Errors
/// A [`findings::selection::NoSuchPart`] of a selection that the run has not; a store that cannot be read.
pub fn of_run(store: &Store, record: RunRecord, selection: &Selection) -> anyhow::Result<Finding> {
    if record.plan.purpose == Purpose::Calibrate {
        let view = of_calibrations(store, from_ref(&record))?;
        return Ok(Finding::Calibration(selection.of(record)?.of_calibration(view)));
    }
    Ok(Finding::Comparison(Box::new(compared(store, record, selection)?)))
}

/// A run as a comparison, also one that calibrates.
pub fn compared(store: &Store, record: RunRecord, selection: &Selection) -> anyhow::Result<ComparedRun> {
    let run = without_samples(store, record, selection)?;
    let host = store.host_samples(&run.record.id)?;
    Ok(ComparedRun { host, ..run })
}

fn without_samples(store: &Store, record: RunRecord, selection: &Selection) -> anyhow::Result<ComparedRun> {
    let view = comparison(store, &record)?;
    let part = selection.of(record)?;
    Ok(ComparedRun { view: part.of_comparison(view), record: part.record, host: Vec::new() })
}

/// Of more runs in one report the samples of their hosts are left out: those of a night are 20,000, of some kB each in memory. The report of
/// each run has them.
const MOST_WITH_SAMPLES: usize = 8;

/// Runs of several hosts: of each workload and design what was found on how many of them, then each run. `jobs` are those of the campaign that
/// they are of; none if they were named one by one.
pub fn of_hosts(
    store: &Store,
    records: Vec<RunRecord>,
    selection: &Selection,
    jobs: &[Job],
) -> anyhow::Result<Vec<Finding>> {
    // Runs that were named one by one are what the user wants to see side by side.
    let groups: Vec<Vec<usize>> = match jobs {
        [] => (0..records.len()).map(|place| vec![place]).collect(),
        _ => joined::groups(&records.iter().map(|record| (&record.plan, &record.host)).collect::<Vec<_>>()),
    };
    let mut joined_runs = BTreeMap::new();
    let mut of_several: Vec<ComparedRun> = Vec::new();
    for group in groups.iter().filter(|group| group.len() > 1) {
        let of_host: Vec<RunRecord> = group.iter().map(|place| records[*place].clone()).collect();
        joined_runs.extend(named(of_host.iter().map(|record| &record.id)));
        if let Some(record) = joined::joined(of_host) {
            of_several.push(without_samples(store, record, selection)?);
        }
    }
    let has_samples = records.len() <= MOST_WITH_SAMPLES;
    let compared = |record: RunRecord| match has_samples {
        true => compared(store, record, selection),
        false => without_samples(store, record, selection),
    };
    let runs: Vec<ComparedRun> = records.into_iter().map(compared).collect::<anyhow::Result<_>>()?;
    let alone = groups.iter().filter(|group| group.len() == 1).map(|group| &runs[group[0]]);
    let pairs: Vec<Run<'_>> = alone.chain(&of_several).map(|run| (&run.record, &run.view)).collect();
    let mut views = hosts::build(&pairs, jobs);
    hosts::name_joined(&mut views, &joined_runs);
    let mut findings: Vec<Finding> = views.into_iter().map(Finding::Hosts).collect();
    findings.extend(runs.into_iter().map(|run| Finding::Comparison(Box::new(run))));
    Ok(findings)
}

/// What holds over hosts, without the reports of their runs.
pub struct OverHosts {
    pub findings: Vec<Finding>,
    /// The id of each run with its host.
    pub runs: Vec<(String, String)>,
}

/// What holds over the hosts of these runs. Only runs that are joined are in memory at the same time with all that was measured in them: a campaign of
/// fifty hosts has thousands of trials.
pub fn over_hosts_alone(store: &Store, ids: &[String], jobs: &[Job]) -> anyhow::Result<OverHosts> {
    let heads: Vec<(Plan, Host)> = ids.iter().map(|id| store.run_plan(id)).collect::<Result<_, _>>()?;
    let groups = joined::groups(&heads.iter().map(|(plan, host)| (plan, host)).collect::<Vec<_>>());
    let (mut joined_runs, mut judged) = (BTreeMap::new(), Vec::new());
    for group in &groups {
        let of_host: Vec<RunRecord> =
            group.iter().map(|place| store.load_run(&ids[*place])).collect::<Result<_, _>>()?;
        joined_runs.extend(named(of_host.iter().map(|record| &record.id)));
        let Some(record) = joined::joined(of_host) else { continue };
        let view = comparison(store, &record)?;
        judged.push((without_measurements(record), view));
    }
    let runs: Vec<Run<'_>> = judged.iter().map(|(record, view)| (record, view)).collect();
    let mut views = hosts::build(&runs, jobs);
    hosts::name_joined(&mut views, &joined_runs);
    let host_of = |(id, (_, host)): (&String, &(Plan, Host))| (id.clone(), host.name.clone());
    Ok(OverHosts {
        findings: views.into_iter().map(Finding::Hosts).collect(),
        runs: ids.iter().zip(&heads).map(host_of).collect(),
    })
}

/// The first of runs that are joined, with the others.
fn named<'a>(mut ids: impl Iterator<Item = &'a String>) -> Option<(String, Vec<String>)> {
    let first = ids.next()?.clone();
    Some((first, ids.cloned().collect()))
}

/// What is left is what a run is compared by: its plan, its host, its id.
fn without_measurements(record: RunRecord) -> RunRecord {
    RunRecord {
        images: Vec::new(),
        blocks: Vec::new(),
        trials: Vec::new(),
        shapes: Vec::new(),
        options_in_effect: BTreeMap::new(),
        raw_outputs: Vec::new(),
        engine_texts: Vec::new(),
        engine_works: Vec::new(),
        seconds: BTreeMap::new(),
        ..record
    }
}

/// Those of findings that hold over hosts.
pub fn over_hosts(findings: &[Finding]) -> impl Iterator<Item = &HostsView> {
    findings.iter().filter_map(|finding| match finding {
        Finding::Hosts(view) => Some(view),
        _ => None,
    })
}

/// The runs of the same campaign that measured the other steps of the workload of a run, and have begun.
pub fn other_parts(store: &Store, record: &RunRecord) -> anyhow::Result<Vec<RunRecord>> {
    if record.plan.layout.steps_of_other_run.is_empty() {
        return Ok(Vec::new());
    }
    let Some(campaign) = store.campaign_of(&record.id)? else { return Ok(Vec::new()) };
    let mut parts = Vec::new();
    for id in store.runs_of_campaign(&campaign)? {
        let (plan, host) = store.run_plan(&id)?;
        let is_of_this = plan.workload.name == record.plan.workload.name && host.name == record.host.name;
        if id != record.id && is_of_this {
            parts.push(store.load_run(&id)?);
        }
    }
    Ok(parts)
}

/// The view of a run. The calibrations of its host by the same version are held against it, and the newest comparison of
/// builds of one source there.
pub fn comparison(store: &Store, record: &RunRecord) -> anyhow::Result<Comparison> {
    if record.plan.layout.design != Design::Interleaved {
        return Ok(Comparison::of(record, &Evidence::default()));
    }
    let self_tests = store.self_tests(&record.id)?;
    let build_noise = build_noise_of(store, &record.plan, &record.host.name)?;
    Ok(Comparison::of(record, &Evidence { self_tests: &self_tests, build_noise }))
}

/// The build noise of each step of a plan, by the newest comparison of builds of one source on this host.
pub fn build_noise_of(store: &Store, plan: &Plan, host: &str) -> anyhow::Result<BTreeMap<String, f64>> {
    let Some(id) = store.last_named(BUILD_NOISE, host)? else { return Ok(BTreeMap::new()) };
    Ok(by_step(&store.load_run(&id)?, plan))
}

/// Calibrations of one subject and workload together.
pub fn of_calibrations(store: &Store, records: &[RunRecord]) -> anyhow::Result<CalibrationView> {
    let newest = records.iter().max_by_key(|record| record.started_at_us);
    let known = newest.map(|record| store.self_tests(&record.id)).transpose()?.unwrap_or_default();
    calibration::build(records, &known).ok_or_else(|| anyhow!("no calibration was run"))
}

/// The finding of what is no run: an import or a bisection of this id. Absent where there is none.
pub fn of_other(store: &Store, id: &str) -> anyhow::Result<Option<Finding>> {
    if store.find_import(id)?.as_deref() == Some(id) {
        return Ok(Some(Finding::Import(import::build(&store.load_import(id)?))));
    }
    if store.find_bisection(id)?.as_deref() == Some(id) {
        return Ok(Some(Finding::Bisection(bisection(store, id)?)));
    }
    Ok(None)
}

fn bisection(store: &Store, id: &str) -> anyhow::Result<BisectView> {
    let json = store.load_bisection(id)?.finding_json;
    let json = json.ok_or_else(|| {
        anyhow!("bisection {id} has no end: it still runs, or it was killed; `dbdyno bisect --resume {id}` resumes it")
    })?;
    serde_json::from_str(&json).with_context(|| format!("what is stored of bisection {id} cannot be read"))
}

/// The id of an import or a bisection that is meant, if no run is.
pub fn other_called(store: &Store, wanted: &str) -> anyhow::Result<Option<String>> {
    match import_called(store, wanted)? {
        None if is_no_run(store, wanted) => Ok(store.find_bisection(wanted)?),
        found => Ok(found),
    }
}

/// The id of an import that is meant, if no run is.
pub fn import_called(store: &Store, wanted: &str) -> anyhow::Result<Option<String>> {
    if is_no_run(store, wanted) { Ok(store.find_import(wanted)?) } else { Ok(None) }
}

fn is_no_run(store: &Store, wanted: &str) -> bool {
    matches!(store.find_run(wanted), Err(store::Error::NoSuchRun { .. } | store::Error::NoRuns { .. }))
}

/// What was found in a run, in short: without the charts and tables of a whole report.
pub fn found(store: &Store, record: &RunRecord) -> anyhow::Result<Vec<Sentence>> {
    Ok(match record.plan.purpose {
        Purpose::Calibrate => {
            report::document(&Finding::Calibration(of_calibrations(store, from_ref(record))?)).found
        }
        Purpose::Compare | Purpose::Campaign => report::found(&comparison(store, record)?),
    })
}

/// Stores what was found in a run beside it, so that a list of runs need not judge each anew, and of a calibration what later
/// reports need of it.
pub fn keep(writer: &mut Writer, run: &str) -> anyhow::Result<()> {
    let record = writer.store().load_run(run)?;
    if record.plan.purpose == Purpose::Calibrate {
        let measured: Vec<_> =
            self_test::of_run(&record).into_iter().filter(|test| test.gains.launches > 0).collect();
        writer.keep_self_tests(run, &measured)?;
    }
    let found = found(writer.store(), &record)?;
    let json = serde_json::to_string(&found).context("failed to render JSON")?;
    Ok(writer.set_found(run, &json)?)
}

/// What was found in a run, as it is kept; absent where that cannot be read.
pub fn kept(json: &str) -> Option<Vec<Sentence>> {
    serde_json::from_str(json).ok()
}
