//! `dbdyno report RUN`: a run again, from the store.

use crate::cli::{Compare, Format, Places, Report};
use crate::commands::import;
use crate::commands::print::{self, Manner};
use crate::exit::{Ending, usage};
use crate::paths;
use anyhow::{Context, anyhow};
use model::block::Outcome;
use model::event::RunOutcome;
use model::plan::Purpose;
use model::record::{RawOutputName, RunRecord};
use model::verdict::Verdict;
use report::text::TextOptions;
use report::view::{ReportView, StepRow};
use std::fmt::Write;
use store::Store;

/// Finds the run, prints its report.
pub fn run(places: &Places, arguments: &Report) -> anyhow::Result<Ending> {
    let store = Store::open_existing(&paths::store_file(places)?)?;
    if arguments.list {
        return list(&store);
    }
    if let [wanted] = &arguments.runs[..]
        && let Some(id) = import_called(&store, wanted)?
    {
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
    let manner = print::manner(&arguments.output);
    let calibrations = records.iter().all(|record| record.plan.purpose == Purpose::Calibrate);
    let rendered = if calibrations {
        render_calibration(&records, &manner)?
    } else {
        let [record] = &records[..] else {
            return Err(usage(anyhow!("name one run; only calibrations are reported together")));
        };
        match record.plan.purpose {
            Purpose::Campaign => render_campaign(record, &manner, arguments.detail)?,
            Purpose::Compare | Purpose::Calibrate => {
                render(&report::build(record, calibration_of(&store, record)?.as_ref()), &manner)?
            }
        }
    };
    print::report(&arguments.output, &rendered)?;
    Ok(Ending::Done)
}

/// The comparison in the form asked for.
pub fn render(view: &ReportView, manner: &Manner) -> anyhow::Result<String> {
    Ok(match manner.format {
        Format::Text => report::text::render(view, text_options(manner)),
        Format::Markdown => report::markdown::render(view),
        Format::Json => report::json::render(view).context("failed to render JSON")?,
        Format::Tsv | Format::Csv => return Err(no_table()),
    })
}

/// A campaign in the form asked for.
pub fn render_campaign(record: &RunRecord, manner: &Manner, detail: bool) -> anyhow::Result<String> {
    let view = report::campaign::build(record);
    Ok(match manner.format {
        Format::Text => report::campaign::text(&view, text_options(manner), detail),
        Format::Markdown => report::campaign::markdown(&view),
        Format::Json => report::campaign::json(&view).context("failed to render JSON")?,
        Format::Tsv => report::campaign::tsv(&view),
        Format::Csv => report::campaign::csv(&view),
    })
}

pub fn no_table() -> anyhow::Error {
    usage(anyhow!("only campaigns (`dbdyno run`) have a table of columns: take --format json"))
}

/// Calibrations together, in the form asked for.
pub fn render_calibration(records: &[RunRecord], manner: &Manner) -> anyhow::Result<String> {
    let view = report::calibration::build(records).ok_or_else(|| anyhow!("no calibration was run"))?;
    Ok(match manner.format {
        Format::Text => report::calibration::text(&view, text_options(manner)),
        Format::Markdown => report::calibration::markdown(&view),
        Format::Json => report::calibration::json(&view).context("failed to render JSON")?,
        Format::Tsv | Format::Csv => return Err(no_table()),
    })
}

fn text_options(manner: &Manner) -> TextOptions {
    TextOptions { width: manner.width, colour: manner.colour }
}

/// The last calibration of the host that a run was made on, in the same boot and by the same version.
pub fn calibration_of(store: &Store, record: &RunRecord) -> anyhow::Result<Option<RunRecord>> {
    let id = store.last_calibration(&record.host.boot_id, &record.plan.tool_version)?;
    Ok(id.map(|id| store.load_run(&id)).transpose()?)
}

/// The exit status of a comparison: wrong usage came before; then failed, regression, inconclusive.
pub fn ending(outcome: RunOutcome, record: &RunRecord, view: &ReportView, arguments: &Compare) -> Ending {
    let failed = record.trials.iter().any(|trial| matches!(trial.outcome, Outcome::Failed { .. }));
    match outcome {
        RunOutcome::Interrupted => return Ending::Interrupted,
        RunOutcome::Failed => return Ending::RunFailed,
        RunOutcome::Done if failed => return Ending::RunFailed,
        RunOutcome::Done => {}
    }
    if !arguments.gate {
        return Ending::Done;
    }
    let threshold = arguments.gate_threshold.map_or(record.plan.rule.margin, |percent| percent / 100.0);
    let mut rows = view.candidates.iter().flat_map(|candidate| &candidate.rows);
    if rows.clone().any(|row| fails_gate(row, threshold)) {
        Ending::Regression
    } else if rows.any(|row| row.verdict == Verdict::Inconclusive) {
        Ending::Inconclusive
    } else {
        Ending::Done
    }
}

/// A regression that holds among all steps, beyond what the layout of code can make, and not wholly within the
/// threshold (0.02 is 2 %).
fn fails_gate(row: &StepRow, threshold: f64) -> bool {
    let figure = row.deciding();
    let within = |end: Option<f64>| end.is_some_and(|end| end.ln().abs() <= threshold.ln_1p());
    row.verdict == Verdict::Regression
        && row.confirmed
        && !row.notes.iter().any(|note| note.id == "within-layout-noise")
        && !(within(figure.low) && within(figure.high))
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
