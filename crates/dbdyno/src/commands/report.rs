//! `dbdyno report RUN`: a run again, from the store.

use crate::cli::{Gate, Places, Report};
use crate::commands::import;
use crate::commands::print;
use crate::commands::render::{self, Shown, Wanted};
use crate::exit::{Ending, usage};
use crate::paths;
use crate::progress::Progress;
use anyhow::{Context, anyhow};
use model::event::RunOutcome;
use model::plan::Purpose;
use model::record::{RawOutputName, RunRecord};
use report::conditions::{Differing, RunConditions};
use report::gate::{self, Passage};
use report::selection::Selection;
use report::verdicts::RunVerdicts;
use std::fmt::Write;
use store::Store;

/// Finds the runs, shows them, and with --gate says whether they let a change through.
pub fn run(places: &Places, arguments: &Report) -> anyhow::Result<Ending> {
    let threshold = threshold(arguments.gate)?;
    let store = Store::open_existing(&paths::store_file(places)?)?;
    if arguments.list {
        return list(&store);
    }
    let selection = Selection { steps: arguments.steps.clone(), subjects: arguments.subjects.clone() };
    if let [wanted] = &arguments.runs[..]
        && let Some(id) = import_called(&store, wanted)?
    {
        if arguments.gate.gate || !selection.is_all() {
            return Err(usage(anyhow!(
                "`{wanted}` is an import: it has no verdicts, and no steps or subjects to choose"
            )));
        }
        return import::show(&store.load_import(&id)?, &arguments.output);
    }
    let ids: Vec<String> = arguments
        .runs
        .iter()
        .map(|wanted| store.find_run(wanted).map_err(usage))
        .collect::<anyhow::Result<_>>()?;
    if let Some(which) = &arguments.raw {
        return raw(&store, &ids[0], which);
    }
    let records: Vec<RunRecord> =
        ids.iter().map(|id| store.load_run(id)).collect::<Result<_, _>>().context("failed to load a run")?;
    if records.iter().all(|record| record.plan.purpose == Purpose::Calibrate) {
        return show_calibration(&records, &selection, arguments);
    }
    comparable(&records)?;
    let shown: Vec<Shown> = records
        .into_iter()
        .map(|record| Shown::new(&store, record, &selection))
        .collect::<anyhow::Result<_>>()?;
    let wanted = Wanted { output: &arguments.output, detail: arguments.detail, threshold };
    render::show(&store, &shown, &wanted)?;
    if !arguments.gate.gate {
        return Ok(Ending::Done);
    }
    let passages: Vec<Passage> = shown.iter().map(|shown| gated(&shown.verdicts(), threshold)).collect();
    Ok(passages.into_iter().min().map_or(Ending::Done, ending_of))
}

fn show_calibration(
    records: &[RunRecord],
    selection: &Selection,
    arguments: &Report,
) -> anyhow::Result<Ending> {
    if arguments.gate.gate || !selection.is_all() {
        return Err(usage(anyhow!(
            "a calibration has no candidate: neither --gate nor --step nor --subject applies to it"
        )));
    }
    render::show_calibration(records, &arguments.output)?;
    Ok(Ending::Done)
}

/// Runs that stand side by side are compared by whoever reads them: those that cannot be are refused.
fn comparable(records: &[RunRecord]) -> anyhow::Result<()> {
    let Some((first, others)) = records.split_first() else { return Ok(()) };
    let conditions = |record: &RunRecord| RunConditions::of(&record.plan, &record.host);
    for other in others {
        let apart = conditions(first).apart_anywhere(&conditions(other));
        if !apart.is_empty() {
            let what: Vec<String> = apart.iter().map(Differing::to_string).collect();
            return Err(usage(anyhow!(
                "runs {} and {} cannot be compared: they differ in {}; report them one by one",
                first.id,
                other.id,
                what.join(", ")
            )));
        }
    }
    Ok(())
}

/// The threshold of a gate as a share; the margin of the run is meant where it is absent.
pub fn threshold(gate: Gate) -> anyhow::Result<Option<f64>> {
    match gate.gate_threshold {
        Some(percent) if !(percent >= 0.0 && percent.is_finite()) => {
            Err(usage(anyhow!("--gate-threshold is {percent}, must be 0 percent or more")))
        }
        percent => Ok(percent.map(|percent| percent / 100.0)),
    }
}

/// What the gate says of a run, told with its reasons.
fn gated(verdicts: &RunVerdicts<'_>, threshold: Option<f64>) -> Passage {
    let gated = gate::judge(verdicts, threshold.unwrap_or(verdicts.margin));
    let progress = Progress::new();
    for reason in &gated.reasons {
        progress.say(&format!("gate: {reason}"));
    }
    gated.passage
}

fn ending_of(passage: Passage) -> Ending {
    match passage {
        Passage::RunFailed => Ending::RunFailed,
        Passage::Regression => Ending::Regression,
        Passage::Inconclusive => Ending::Inconclusive,
        Passage::Passed => Ending::Done,
    }
}

/// The ending of a comparison that was just measured: one that was stopped or failed, with or without a gate, then
/// what the gate says.
pub fn ending(outcome: RunOutcome, verdicts: &RunVerdicts<'_>, gate: Gate) -> anyhow::Result<Ending> {
    let threshold = threshold(gate)?;
    Ok(match outcome {
        RunOutcome::Interrupted => Ending::Interrupted,
        RunOutcome::Failed => Ending::RunFailed,
        RunOutcome::Done if gate.gate => ending_of(gated(verdicts, threshold)),
        RunOutcome::Done if verdicts.trials.failed > 0 => Ending::RunFailed,
        RunOutcome::Done => Ending::Done,
    })
}

/// The import that is meant, where no run is.
pub fn import_called(store: &Store, wanted: &str) -> anyhow::Result<Option<String>> {
    match store.find_run(wanted) {
        Err(store::Error::NoSuchRun { .. } | store::Error::NoRuns { .. }) => Ok(store.find_import(wanted)?),
        Ok(_) | Err(_) => Ok(None),
    }
}

fn list(store: &Store) -> anyhow::Result<Ending> {
    let mut text = String::new();
    for run in store.runs()? {
        let started =
            jiff::Timestamp::from_microsecond(run.started_at_us).context("a time is out of range")?;
        let purpose = match run.purpose {
            Purpose::Compare => "compare",
            Purpose::Calibrate => "calibrate",
            Purpose::Campaign => "campaign",
        };
        writeln!(
            text,
            "{}  {}  {:<9} {:<11} {:<8} {}{}",
            run.id,
            started.strftime("%Y-%m-%d %H:%M:%SZ"),
            purpose,
            run.status.name(),
            run.workload,
            run.subjects.join(" "),
            run.name.map(|name| format!("  ({name})")).unwrap_or_default(),
        )?;
    }
    for import in store.imports()? {
        let imported =
            jiff::Timestamp::from_microsecond(import.imported_at_us).context("a time is out of range")?;
        writeln!(
            text,
            "{}  {}  {:<9} {:<11} {:<8} {}{}",
            import.id,
            imported.strftime("%Y-%m-%d %H:%M:%SZ"),
            "import",
            "done",
            import.format,
            import.files.join(" "),
            import.name.map(|name| format!("  ({name})")).unwrap_or_default(),
        )?;
    }
    print::text(&text)?;
    Ok(Ending::Done)
}

fn raw(store: &Store, id: &str, which: &str) -> anyhow::Result<Ending> {
    let names = store.load_run(id)?.raw_outputs;
    if which == "list" {
        let lines: String =
            names.iter().map(|name| format!("{}/{}/{}\n", name.launch, name.side, name.name)).collect();
        print::text(&lines)?;
        return Ok(Ending::Done);
    }
    let wanted = parse_raw_name(which).filter(|wanted| names.contains(wanted)).ok_or_else(|| {
        usage(anyhow!("run {id} keeps no raw output `{which}`; `--raw list` lists what it keeps"))
    })?;
    for text in store.raw_output(id, &wanted)? {
        print::text(&text)?;
    }
    Ok(Ending::Done)
}

/// `1/0/read/LOG`: launch, side, name.
fn parse_raw_name(text: &str) -> Option<RawOutputName> {
    let (launch, rest) = text.split_once('/')?;
    let (side, name) = rest.split_once('/')?;
    Some(RawOutputName { launch: launch.parse().ok()?, side: side.parse().ok()?, name: name.to_owned() })
}
