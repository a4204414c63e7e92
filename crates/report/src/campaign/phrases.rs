//! Sentences and words of a campaign that every format uses alike.

use super::columns::{COLUMNS, Column};
use super::view::{CampaignView, Comparison, Disturbed};
use crate::view::TrialReason;
use model::block::Side;
use model::event::RunOutcome;
use model::figures::{NONE, bytes, chosen_percent, count, percent, quantity, span};
use model::host::{HarnessCost, StepPauses};
use model::plan::{Design, LoopDevice};
use model::record::RunStatus;
use model::units::{Bytes, Nanos};
use model::verdict::Verdict;
use std::collections::BTreeMap;

/// The first line: what the workload tells and does not tell.
pub(crate) fn headline(view: &CampaignView) -> String {
    format!("Workload {} tells {}. It does not tell {}.", view.run.workload, view.tells, view.does_not_tell)
}

/// The design in one sentence.
pub(super) fn design(view: &CampaignView) -> String {
    let subjects = count(view.conditions.subjects as u64, "subject", "subjects");
    let rounds = u64::from(view.conditions.rounds);
    match view.conditions.design {
        Design::Rounds => format!(
            "{} of {subjects} in random order, each subject on its own database in each round: differences of a step \
             that reads include those of the trees that the steps before it made.",
            count(rounds, "round", "rounds")
        ),
        Design::Sequential => format!(
            "{subjects} one after another, {} each: drift of the host looks like a difference, so nothing here is more \
             than a suspicion.",
            count(rounds, "time", "times")
        ),
        Design::Interleaved => format!("{subjects}, interleaved."),
    }
}

/// What it was measured under.
pub(super) fn conditions(view: &CampaignView) -> String {
    let conditions = &view.conditions;
    let mut facts = vec![
        format!("{} rows", quantity(conditions.rows as f64)),
        format!("{} of data", bytes(conditions.data)),
    ];
    facts.extend(conditions.cache.map(|cache| format!("block cache {}", bytes(cache))));
    facts.push(match conditions.memory_limit {
        Some(limit) => format!("memory limit {} with the page cache", bytes(limit)),
        None => "no memory limit".to_owned(),
    });
    match (&conditions.loop_device, &conditions.device) {
        (Some(device), _) => facts.push(loop_device(device)),
        (None, Some(device)) => facts.push(format!("device {device}")),
        (None, None) => {}
    }
    if conditions.tickers {
        facts.push("the engine counts tickers, which costs CPU in every operation".to_owned());
    }
    format!("{}.", facts.join(", "))
}

fn loop_device(device: &LoopDevice) -> String {
    let limit = |name: &str, kb: Option<u32>| kb.map(|kb| format!(", {name} {kb}")).unwrap_or_default();
    format!(
        "a loop device of {}{}{}{}",
        bytes(device.bytes),
        if device.direct_io { " with direct IO" } else { "" },
        limit("max_sectors_kb", device.max_sectors_kb),
        limit("read_ahead_kb", device.read_ahead_kb)
    )
}

/// Which run, how it ended, how far it came.
pub(crate) fn run_line(view: &CampaignView) -> String {
    let run = &view.run;
    let name = run.name.as_ref().map(|name| format!(" \"{name}\"")).unwrap_or_default();
    let status = match run.status {
        RunStatus::Ended(RunOutcome::Done) => "done",
        RunStatus::Ended(RunOutcome::Interrupted) => "interrupted by the user",
        RunStatus::Ended(RunOutcome::Failed) => "failed",
        RunStatus::Unfinished => "UNFINISHED: it still runs, or it was killed",
    };
    let elapsed = run.elapsed_s.map(|elapsed| format!(" in {}", span(elapsed))).unwrap_or_default();
    format!(
        "Run {}{name}: campaign, {status}; {} of {}{elapsed}; seed {}.",
        run.id,
        run.launches,
        count(u64::from(view.conditions.rounds), "round", "rounds"),
        run.seed
    )
}

/// What could not be measured, one line each.
pub(super) fn left_out(view: &CampaignView) -> Vec<String> {
    let subjects = view.left_out.iter().map(|one| format!("left out: {}: {}", one.reference, one.reason));
    let options = view.omitted.iter().map(|one| {
        let subjects: Vec<&str> = one.subjects.iter().map(String::as_str).collect();
        format!("option left out, not known to {}: {} = {}", subjects.join(", "), one.option, one.value)
    });
    subjects.chain(options).collect()
}

/// Trials that are not done, those of one subject and reason in one line.
pub(super) fn trial_reasons(view: &CampaignView) -> Vec<String> {
    let mut gathered: Vec<(&TrialReason, Vec<&str>)> = Vec::new();
    for one in &view.trials.reasons {
        let same = |known: &TrialReason| {
            known.subject == one.subject
                && known.skipped == one.skipped
                && known.reason == one.reason
                && known.launches == one.launches
        };
        match gathered.iter_mut().find(|(known, _)| same(known)) {
            Some((_, steps)) => steps.push(&one.step),
            None => gathered.push((one, vec![&one.step])),
        }
    }
    // What failed stands before what was skipped for it; steps in the order of the workload.
    gathered.sort_by_key(|(one, _)| (one.skipped, one.launches.clone(), one.subject.clone()));
    let place = |step: &str| view.steps.iter().position(|known| known.name == step);
    let line = |(one, mut steps): (&TrialReason, Vec<&str>)| {
        steps.sort_by_key(|step| place(step));
        let rounds: Vec<String> = one.launches.iter().map(ToString::to_string).collect();
        format!(
            "{}: {} of {} in {} {}: {}",
            if one.skipped { "skipped" } else { "failed" },
            steps.join(", "),
            one.subject,
            if rounds.len() == 1 { "round" } else { "rounds" },
            rounds.join(", "),
            one.reason
        )
    };
    gathered.into_iter().map(line).collect()
}

/// Trials that others disturbed, those of one visit in one line.
pub(crate) fn disturbed(view: &CampaignView) -> Vec<String> {
    let mut visits: BTreeMap<(u32, Side), Vec<&Disturbed>> = BTreeMap::new();
    for one in &view.disturbed {
        visits.entry((one.round, one.side)).or_default().push(one);
    }
    let line = |((round, side), trials): ((u32, Side), Vec<&Disturbed>)| {
        let steps: Vec<&str> = trials.iter().map(|one| one.step.as_str()).collect();
        let share = |pick: fn(f64, f64) -> f64, start: f64| {
            quantity(trials.iter().map(|one| one.others_percent).fold(start, pick))
        };
        let (least, most) = (share(f64::min, f64::INFINITY), share(f64::max, 0.0));
        let shares = if least == most { most } else { format!("{least} to {most}") };
        let subject = view.subjects.iter().find(|subject| subject.side == side);
        format!(
            "set aside: {} of {} in round {round}: other processes had {shares} % of the host's CPU time",
            steps.join(", "),
            subject.map_or("", |subject| subject.label.as_str()),
        )
    };
    visits.into_iter().map(line).collect()
}

/// "Trials: 118 done, 2 failed, 0 skipped; 3 of those done are set aside."
pub(super) fn trials(view: &CampaignView) -> String {
    let trials = &view.trials;
    let set_aside = match view.disturbed.len() {
        0 => String::new(),
        count => format!("; {count} of those done set aside, in no number"),
    };
    format!("Trials: {} done, {} failed, {} skipped{set_aside}.", trials.done, trials.failed, trials.skipped)
}

/// The relative rate in a cell. No number stands where it would be noise.
pub(super) fn relative_rate(comparison: &Comparison, margin: f64) -> String {
    let Some(ratio) = comparison.ratio else { return NONE.to_owned() };
    let within_margin = ratio.ln().abs() <= margin.ln_1p();
    match comparison.verdict {
        Verdict::Regression | Verdict::Improvement => format!("{}*", two_decimals(ratio)),
        Verdict::NoChange => "~".to_owned(),
        Verdict::Suspect => format!("{}s", two_decimals(ratio)),
        Verdict::Inconclusive if within_margin => "?".to_owned(),
        Verdict::Inconclusive => format!("{}?", two_decimals(ratio)),
        Verdict::RatioOnly => two_decimals(ratio),
    }
}

fn two_decimals(ratio: f64) -> String {
    match ratio {
        ..10.0 => format!("{ratio:.2}"),
        10.0..100.0 => format!("{ratio:.1}"),
        _ => format!("{ratio:.0}"),
    }
}

/// What the marks of the relative rates mean: those that stand in the table.
pub(super) fn rate_legend(view: &CampaignView) -> String {
    let decisions = || {
        let steps = view.steps.iter().filter(|step| !step.helper);
        steps.flat_map(|step| &step.comparisons).filter(|comparison| comparison.decides)
    };
    let any = |verdict: &[Verdict]| decisions().any(|comparison| verdict.contains(&comparison.verdict));
    let mut marks = Vec::new();
    if any(&[Verdict::Regression, Verdict::Improvement]) {
        marks.push(format!(
            "* a difference at {}, all candidates of the step together",
            chosen_percent(1.0 - view.alpha)
        ));
    }
    if any(&[Verdict::NoChange]) {
        marks.push(format!("~ no difference beyond {}", chosen_percent(view.margin)));
    }
    if any(&[Verdict::Inconclusive]) {
        marks.push("? no difference found, nor ruled out".to_owned());
    }
    if any(&[Verdict::Suspect]) {
        marks.push("s no more than a suspicion".to_owned());
    }
    if any(&[Verdict::RatioOnly]) {
        marks.push("without a mark: no verdict, too few rounds".to_owned());
    }
    let marks = if marks.is_empty() { String::new() } else { format!("; {}", marks.join("; ")) };
    format!("Rate relative to {}, candidate over base{marks}; - no value.", view.base)
}

/// What stands out among all steps and candidates and has no mark of its own.
pub(super) fn discovered(view: &CampaignView) -> Option<String> {
    const SHOWN: usize = 6;
    let of_step = |step: &super::view::StepView| -> Vec<String> {
        let open =
            step.comparisons.iter().filter(|one| one.discovered && one.verdict == Verdict::Inconclusive);
        let label = |side: Side| view.subjects.iter().find(|subject| subject.side == side);
        open.filter_map(|one| Some(format!("{} of {}", step.name, label(one.side)?.label))).collect()
    };
    let found: Vec<String> = view.steps.iter().filter(|step| !step.helper).flat_map(of_step).collect();
    if found.is_empty() {
        return None;
    }
    let more = found.len().saturating_sub(SHOWN);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    Some(format!(
        "Standing out besides, at 5 % false ones in the whole report: {}{more}.",
        found.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ")
    ))
}

/// A half width beyond this is told as no more than that: two rounds far apart bound nothing.
const LARGEST_WIDTH: f64 = 10.0;

/// How wide the intervals of the relative rates are, by step: a smaller difference could not be told from none.
pub(super) fn visible_differences(view: &CampaignView) -> Option<String> {
    let of_step = |step: &super::view::StepView| {
        let widths: Vec<f64> = step
            .comparisons
            .iter()
            .filter(|comparison| comparison.decides)
            .filter_map(|comparison| Some((comparison.high? / comparison.low?).sqrt() - 1.0))
            .collect();
        let width = analysis::student::mean(&widths)?;
        let told = if width > LARGEST_WIDTH { "above 1,000 %".to_owned() } else { percent(width) };
        Some(format!("{} {told}", step.name))
    };
    let steps: Vec<String> = view.steps.iter().filter(|step| !step.helper).filter_map(of_step).collect();
    (!steps.is_empty()).then(|| format!("Half widths of its intervals: {}.", steps.join(", ")))
}

/// Both values with their unit.
pub(super) fn from_to(column: Option<&'static Column>, before: Option<f64>, after: Option<f64>) -> String {
    let value = |value: Option<f64>| match (value, column) {
        (Some(value), Some(column)) => with_unit(value, column),
        (Some(value), None) => quantity(value),
        (None, _) => NONE.to_owned(),
    };
    format!("{} -> {}", value(before), value(after))
}

/// A value with its unit, for people.
pub(super) fn with_unit(value: f64, column: &Column) -> String {
    match column.unit {
        "B" if value < 10.0 * 1024.0 => format!("{} KB", quantity(value / 1024.0)),
        #[expect(clippy::cast_possible_truncation, reason = "bytes of a device or a process are below 2^63")]
        #[expect(clippy::cast_sign_loss, reason = "sizes are not negative")]
        "B" => bytes(Bytes(value as u64)).replace("KiB", "KB").replace("MiB", "MB").replace("GiB", "GB"),
        "B/s" => format!("{} MB/s", quantity(value / f64::from(1 << 20))),
        "1/s" => format!("{}/s", quantity(value)),
        "us" if value >= 1000.0 => format!("{} ms", quantity(value / 1000.0)),
        "us" => format!("{} us", quantity(value)),
        "ns" => format!("{} us", quantity(value / 1000.0)),
        "s" => format!("{} s", quantity(value)),
        "%" => format!("{} %", quantity(value)),
        _ => quantity(value),
    }
}

/// The value of a column in a table: three digits at least, also of what is far below 1 at a small scale.
pub(super) fn cell(value: Option<f64>, column: &Column) -> String {
    let Some(value) = value.map(|value| value / column.scale) else { return NONE.to_owned() };
    match value.abs() {
        0.1..1.0 => format!("{value:.3}"),
        0.01..0.1 => format!("{value:.4}"),
        0.001..0.01 => format!("{value:.5}"),
        _ => quantity(value),
    }
}

/// What measuring itself cost, the pauses between steps with it.
pub(super) fn cost(cost: &HarnessCost, of_servers: bool) -> String {
    let pauses =
        cost.step_pauses.as_ref().map(|pauses| format!(" {}", pauses_line(pauses))).unwrap_or_default();
    format!("{}{pauses}", crate::phrases::cost(cost, of_servers))
}

fn pauses_line(pauses: &StepPauses) -> String {
    let seconds = |nanos: Nanos| quantity(nanos.as_secs_f64());
    format!(
        "Between steps, apart from the engine's own work: {} s on average, {} s at most ({}).",
        seconds(pauses.mean),
        seconds(pauses.longest),
        count(u64::from(pauses.count), "pause", "pauses")
    )
}

/// How to see the run again.
pub(super) fn again(view: &CampaignView) -> String {
    format!("Again: dbdyno report {} (dbdyno {}, seed {})", view.run.id, view.run.tool_version, view.run.seed)
}

/// What the headers of the columns mean that are not the posts' own.
pub(super) fn columns_legend() -> String {
    let posts = [
        "ops_dr", "drain_s", "fg_us", "bg_us", "delay_us", "rcallB", "wcallB", "rstorB", "wstorB", "rd_op",
        "wr_op",
    ];
    let meanings: Vec<String> = COLUMNS
        .iter()
        .filter(|column| posts.contains(&column.header))
        .map(|column| format!("{} {}", column.header, column.name))
        .collect();
    format!(
        "Columns are named as in the posts, in their units (GB, MB and KB are binary), means over rounds; +d counts \
         until the tree had settled; {}.",
        meanings.join(", ")
    )
}
