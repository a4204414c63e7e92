//! `dbdyno report RUN`: a run again, from the store.

use crate::cli::{Output, Places, Report};
use crate::commands::render::{self, Wanted};
use crate::commands::{gate, print};
use crate::exit::{Ending, usage};
use crate::progress::Progress;
use crate::{finding, paths};
use anyhow::{Context, anyhow};
use findings::conditions::{Differing, RunConditions, host_warning};
use findings::hosts;
use findings::selection::{NoSuchPart, Selection};
use findings::{Comparison, Finding};
use model::job::{Job, JobState};
use model::listing::Entry;
use model::plan::Purpose;
use model::record::{RawOutputName, RunRecord, RunWarning};
use store::{Filter, Store};

/// Finds the runs, shows them, and with --gate says whether they let a change through.
pub fn run(places: &Places, arguments: &Report) -> anyhow::Result<Ending> {
    let threshold = gate::threshold(arguments.gate)?;
    let store = Store::open_existing(&paths::store_file(places)?)?;
    if arguments.list {
        return list(&store);
    }
    let wanted = Wanted {
        detail: arguments.detail,
        intervals: arguments.intervals,
        threshold,
        ..Wanted::of(&arguments.output)
    };
    if let [name] = &arguments.runs[..]
        && let Some(id) = finding::other_called(&store, name)?
        && let Some(finding) = finding::of_other(&store, &id)?
    {
        without_verdicts(&finding, arguments)?;
        render::show(&[finding], wanted)?;
        return Ok(Ending::Done);
    }
    let Meant { ids, is_campaign, jobs } = meant(&store, &arguments.runs)?;
    if let Some(which) = &arguments.raw {
        return raw(&store, &ids[0], which);
    }
    let records: Vec<RunRecord> =
        ids.iter().map(|id| store.load_run(id)).collect::<Result<_, _>>().context("failed to load a run")?;
    if records.iter().all(|record| record.plan.purpose == Purpose::Calibrate) {
        let finding = Finding::Calibration(finding::of_calibrations(&store, &records)?);
        without_verdicts(&finding, arguments)?;
        render::show(&[finding], wanted)?;
        return Ok(Ending::Done);
    }
    let ending = |findings: &[Finding]| match arguments.gate.gate {
        true => gate::of_all(views(findings), threshold),
        false => Ending::Done,
    };
    let selection = selection(arguments);
    if is_campaign || hosts::are_of_several(&records) {
        let findings = finding::of_hosts(&store, records, &selection, &jobs).map_err(of_part)?;
        if !is_campaign && let Some(refusal) = hosts::refusal(finding::over_hosts(&findings)) {
            return Err(usage(refusal));
        }
        if !shows_hosts(&findings, wanted) {
            say_what_is_not_done(&jobs);
        }
        show_hosts(&findings, wanted)?;
        return Ok(ending(&findings));
    }
    let records = match &records[..] {
        [one] if selection.is_all() => with_other_part(&store, one.clone())?,
        _ => {
            comparable(&records)?;
            records
        }
    };
    let first = records.first().cloned();
    let compared = |record: RunRecord| {
        let of_host = first.as_ref().and_then(|first| host_warning(first, &record));
        let mut run = finding::compared(&store, record, &selection)?;
        run.view.warnings.extend(of_host.map(|warning| RunWarning { step: None, warning }));
        Ok(Finding::Comparison(Box::new(run)))
    };
    let findings: Vec<Finding> =
        records.into_iter().map(compared).collect::<anyhow::Result<_>>().map_err(of_part)?;
    render::show(&findings, wanted)?;
    Ok(ending(&findings))
}

fn views(findings: &[Finding]) -> impl Iterator<Item = &Comparison> {
    findings.iter().filter_map(|finding| match finding {
        Finding::Comparison(run) => Some(&run.view),
        _ => None,
    })
}

/// The runs that are meant.
struct Meant {
    ids: Vec<String>,
    /// Whether they were named by their campaign: then they need not be comparable.
    is_campaign: bool,
    /// Of their campaigns.
    jobs: Vec<Job>,
}

/// By a name or an id each, or all of a campaign by its id.
fn meant(store: &Store, wanted: &[String]) -> anyhow::Result<Meant> {
    let mut meant = Meant { ids: Vec::new(), is_campaign: false, jobs: Vec::new() };
    for wanted in wanted {
        let of_campaign = store.runs_of_campaign(wanted)?;
        if of_campaign.is_empty() {
            meant.ids.push(store.find_run(wanted).map_err(usage)?);
        } else {
            meant.is_campaign = true;
            meant.ids.extend(of_campaign);
            meant.jobs.extend(store.jobs(wanted)?);
        }
    }
    Ok(meant)
}

/// A host that has not measured all of a campaign is in no count of its report, or with a part of its runs.
fn say_what_is_not_done(jobs: &[Job]) {
    let progress = Progress::new();
    for job in jobs.iter().filter(|job| job.state != JobState::Done) {
        progress.say(&format!("{} has not measured all of it: {}", job.label(), job.state.name()));
    }
}

/// The runs of a campaign on several hosts, as `dbdyno run --hosts` shows them at its end; nothing of one without runs.
pub fn of_campaign(places: &Places, campaign: &str, output: &Output, detail: bool) -> anyhow::Result<()> {
    let store = Store::open_existing(&paths::store_file(places)?)?;
    let ids = store.runs_of_campaign(campaign)?;
    if ids.is_empty() {
        return Ok(());
    }
    let records: Vec<RunRecord> = ids.iter().map(|id| store.load_run(id)).collect::<Result<_, _>>()?;
    let findings = finding::of_hosts(&store, records, &Selection::default(), &store.jobs(campaign)?)?;
    show_hosts(&findings, Wanted { detail, ..Wanted::of(output) })
}

/// Whether a format says what is in no count over hosts, of findings that are of several.
fn shows_hosts(findings: &[Finding], wanted: Wanted<'_>) -> bool {
    let format = wanted.output.chosen_format();
    !format.is_of_comparisons() && !format.is_table() && finding::over_hosts(findings).next().is_some()
}

/// Formats of comparisons alone have no room for what holds over hosts, and a table is of one finding: that over hosts.
fn show_hosts(findings: &[Finding], wanted: Wanted<'_>) -> anyhow::Result<()> {
    if !shows_hosts(findings, wanted) {
        for run in finding::over_hosts(findings).flat_map(|view| &view.uncounted) {
            Progress::new().say(&format!("run {} of {} is in no count: {}", run.run, run.host, run.why));
        }
    }
    let format = wanted.output.chosen_format();
    let is_of_hosts = |finding: &&Finding| matches!(finding, Finding::Hosts(_));
    let shown: Vec<Finding> = if format.is_of_comparisons() {
        findings.iter().filter(|finding| !is_of_hosts(finding)).cloned().collect()
    } else if format.is_table() && findings.iter().any(|finding| is_of_hosts(&finding)) {
        findings.iter().filter(is_of_hosts).cloned().collect()
    } else {
        findings.to_vec()
    };
    render::show(&shown, wanted)
}

/// A run and the one that measured the other steps of its workload, if there is one, in the order in which they began.
fn with_other_part(store: &Store, record: RunRecord) -> anyhow::Result<Vec<RunRecord>> {
    let mut parts = finding::other_parts(store, &record)?;
    parts.push(record);
    parts.sort_by_key(|part| part.started_at_us);
    Ok(parts)
}

fn selection(arguments: &Report) -> Selection {
    Selection { steps: arguments.steps.clone(), subjects: arguments.subjects.clone() }
}

/// A part that the run has not is the user's mistake.
fn of_part(error: anyhow::Error) -> anyhow::Error {
    if error.is::<NoSuchPart>() { usage(error) } else { error }
}

/// Refuses what asks for verdicts of candidates where there are none.
fn without_verdicts(finding: &Finding, arguments: &Report) -> anyhow::Result<()> {
    if !arguments.gate.gate && selection(arguments).is_all() {
        return Ok(());
    }
    let kind = report::kind(finding);
    let article = if kind.starts_with('i') { "an" } else { "a" };
    Err(usage(anyhow!(
        "{article} {kind} has no candidates with verdicts: neither --gate nor --step nor --subject applies to it"
    )))
}

/// Runs that stand side by side are compared by whoever reads them: those that cannot be are refused.
fn comparable(records: &[RunRecord]) -> anyhow::Result<()> {
    let Some((first, others)) = records.split_first() else { return Ok(()) };
    let conditions =
        |record: &RunRecord| RunConditions::of(&record.plan, &record.host, record.fingerprint.as_ref());
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

fn list(store: &Store) -> anyhow::Result<Ending> {
    let entries = store.entries(&Filter::default(), 0, u32::MAX)?.entries;
    let lines: Vec<String> = entries.iter().map(line_of).collect::<anyhow::Result<_>>()?;
    print::text(&lines.concat())?;
    Ok(Ending::Done)
}

/// The line of a run, an import or a bisection; names come from files of others.
fn line_of(entry: &Entry) -> anyhow::Result<String> {
    let began = jiff::Timestamp::from_microsecond(entry.began_at_us).context("a time is out of range")?;
    let line = format!(
        "{}  {}  {:<9} {:<11} {:<8} {}{}",
        entry.id,
        began.strftime("%Y-%m-%d %H:%M:%SZ"),
        entry.kind.name(),
        entry.status.name(),
        entry.workload,
        entry.subjects.join(" "),
        entry.name.as_ref().map(|name| format!("  ({name})")).unwrap_or_default(),
    );
    Ok(report::printable(&line) + "\n")
}

fn raw(store: &Store, id: &str, which: &str) -> anyhow::Result<Ending> {
    let names = store.load_run(id)?.raw_outputs;
    if which == "list" {
        let line = |name: &RawOutputName| format!("{}/{}/{}", name.launch, name.side, name.name);
        let lines: String = names.iter().map(|name| report::printable(&line(name)) + "\n").collect();
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

#[cfg(test)]
mod tests {
    use super::*;
    use model::listing::{EntryKind, TrialCounts};
    use model::record::RunStatus;

    #[test]
    fn an_entry_is_one_line_without_anything_that_a_terminal_would_obey() {
        let entry = Entry {
            id: "20261121-091500-3fa9".to_owned(),
            name: Some("n\x1b]0;title\x07".to_owned()),
            kind: EntryKind::Import,
            status: RunStatus::Unfinished,
            began_at_us: 1_795_252_500_000_000,
            ended_at_us: None,
            workload: "table".to_owned(),
            host: None,
            subjects: vec!["a\x1b[2J.tsv".to_owned(), "b\n20261121-100000-0000 c".to_owned()],
            trials: TrialCounts::default(),
            found: None,
        };
        let line = line_of(&entry).unwrap();
        assert_eq!(
            line,
            "20261121-091500-3fa9  2026-11-21 09:15:00Z  import    unfinished  table    a?[2J.tsv b \
             20261121-100000-0000 c  (n?]0;title?)\n"
        );
    }
}
