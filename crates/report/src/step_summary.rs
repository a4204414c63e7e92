//! A report as the summary of a GitHub job: the verdict first, one table, the rest folded away, and never more than
//! GitHub takes.

use crate::campaign::{self, CampaignView};
use crate::grids::{Column, Grid, Kind};
use crate::layout::{GREEN, RED, marked};
use crate::markdown::{self, escaped, list_item, table};
use crate::verdicts::{self, Repeats, RunVerdicts, StepVerdict};
use crate::view::ReportView;
use model::figures::{NONE, interval, quantity_or_none, ratio};
use model::verdict::Verdict;

/// GitHub takes 1 MiB for a step; what is more is refused as a whole.
pub const MOST_BYTES: usize = 1 << 20;
/// Room for what is said of a cut, and for closing what it left open.
const CLOSING_BYTES: usize = 1024;

/// The summary of a comparison, in at most so many bytes.
pub fn of_comparison(view: &ReportView, most_bytes: usize) -> String {
    render(&verdicts::of_comparison(view), &markdown::render(view), most_bytes)
}

/// The summary of a campaign, in at most so many bytes.
pub fn of_campaign(view: &CampaignView, most_bytes: usize) -> String {
    render(&verdicts::of_campaign(view), &campaign::markdown(view), most_bytes)
}

fn render(run: &RunVerdicts<'_>, all: &str, most_bytes: usize) -> String {
    let mut parts = vec![format!("### {}", escaped(&headline(run)))];
    parts.push(run.telling().iter().map(|sentence| list_item(sentence)).collect::<Vec<_>>().join("\n"));
    let cautions = run.cautions();
    if !cautions.is_empty() {
        parts.push(cautions.iter().map(|caution| list_item(caution)).collect::<Vec<_>>().join("\n"));
    }
    if !run.steps.is_empty() {
        parts.push(table(&grid(run)));
    }
    if run.steps.iter().any(|step| !step.adjusted_mark().is_empty()) {
        let adjusted = "* relative is of the contention-adjusted rate, from which the time spent waiting for a CPU is \
                        taken out";
        parts.push(escaped(adjusted));
    }
    let open = "<details><summary>Everything: columns, groups, what differs, warnings, host</summary>";
    let text = format!("{}\n\n{open}\n\n{all}\n", parts.join("\n\n"));
    let again = format!("dbdyno report {} --format markdown", run.run.id);
    within(&text, most_bytes, &again)
}

/// "rocksdb@8.7.3 ...: 1 regression, 1 improvement of 5 steps".
fn headline(run: &RunVerdicts<'_>) -> String {
    let count = |verdict: Verdict| run.steps.iter().filter(|step| step.verdict == verdict).count();
    let words = [
        (Verdict::Regression, "slower"),
        (Verdict::Improvement, "faster"),
        (Verdict::Suspect, "suspect"),
        (Verdict::Inconclusive, "inconclusive"),
        (Verdict::NoChange, "without a difference"),
        (Verdict::RatioOnly, "without a verdict"),
    ];
    let said: Vec<String> = words
        .into_iter()
        .filter(|(verdict, _)| count(*verdict) > 0)
        .map(|(verdict, word)| format!("{} {word}", count(verdict)))
        .collect();
    let said = if said.is_empty() { "nothing was compared".to_owned() } else { said.join(", ") };
    format!("dbdyno {}, base {}: {said}", run.run.workload, run.base)
}

/// A row for each step and candidate, in the order of what to act on.
fn grid(run: &RunVerdicts<'_>) -> Grid {
    let first = run.steps.first().map(|step| step.side);
    let several = run.steps.iter().any(|step| Some(step.side) != first);
    let repeats = match run.repeats {
        Repeats::Launches => "launches",
        Repeats::Rounds => "rounds",
    };
    let mut columns = vec![("step", Kind::Name)];
    if several {
        columns.push(("candidate", Kind::Name));
    }
    columns.extend([
        ("base, 1/s", Kind::Number),
        ("candidate, 1/s", Kind::Number),
        ("relative", Kind::Number),
        ("interval", Kind::Word),
        ("verdict", Kind::Word),
        (repeats, Kind::Number),
    ]);
    let columns: Vec<Column> =
        columns.into_iter().map(|(header, kind)| Column { header: header.into(), kind }).collect();
    let mut steps: Vec<&StepVerdict<'_>> = run.steps.iter().collect();
    // Stable: within a verdict steps stay in the order of the workload.
    steps.sort_by_key(|step| urgency(step));
    let rows = steps.into_iter().map(|step| cells(step, several)).collect();
    Grid { columns, rows }
}

/// What to act on first.
fn urgency(step: &StepVerdict<'_>) -> (u8, bool) {
    let of_verdict = match step.verdict {
        Verdict::Regression => 0,
        Verdict::Suspect => 1,
        Verdict::Inconclusive => 2,
        Verdict::Improvement => 3,
        Verdict::RatioOnly => 4,
        Verdict::NoChange => 5,
    };
    (of_verdict, !step.confirmed)
}

fn cells(step: &StepVerdict<'_>, several: bool) -> Vec<String> {
    let mut cells = vec![step.step.to_owned()];
    if several {
        cells.push(step.candidate.to_owned());
    }
    let deciding = &step.deciding;
    // Where no difference was found there is no number that could be read as one.
    let relative = match (step.verdict, deciding.ratio) {
        (_, None) => NONE.to_owned(),
        (Verdict::NoChange | Verdict::Inconclusive, Some(_)) => format!("{}~", step.adjusted_mark()),
        (_, Some(center)) => format!("{}{}", step.adjusted_mark(), ratio(center)),
    };
    let wall = step.wall_rate();
    let bounded = deciding.low.is_some() || deciding.high.is_some();
    cells.extend([
        quantity_or_none(wall.and_then(|rate| rate.base)),
        quantity_or_none(wall.and_then(|rate| rate.candidate)),
        relative,
        if bounded { interval(deciding.low, deciding.high) } else { NONE.to_owned() },
        verdict(step),
        step.repeats.to_string(),
    ]);
    cells
}

fn verdict(step: &StepVerdict<'_>) -> String {
    if let Some(reason) = &step.not_measured {
        return format!("not measured: {reason}");
    }
    let alone = if step.confirmed { "" } else { " (by itself only)" };
    match step.verdict {
        Verdict::Regression => marked(RED, &format!("regression{alone}")),
        Verdict::Improvement => marked(GREEN, &format!("improvement{alone}")),
        Verdict::NoChange => "no difference".to_owned(),
        Verdict::Inconclusive => "inconclusive".to_owned(),
        Verdict::Suspect => "suspect".to_owned(),
        Verdict::RatioOnly => "no verdict".to_owned(),
    }
}

/// The text and its closing tag in at most `most` bytes: whole lines from the start, then what is missing.
fn within(text: &str, most: usize, again: &str) -> String {
    const CLOSE: &str = "\n</details>\n";
    if text.len() + CLOSE.len() <= most {
        return format!("{text}{CLOSE}");
    }
    let room = most.saturating_sub(CLOSING_BYTES);
    let mut kept = 0;
    let mut lines = 0;
    for line in text.split_inclusive('\n') {
        if kept + line.len() > room {
            break;
        }
        kept += line.len();
        lines += 1;
    }
    let left_out = text.lines().count().saturating_sub(lines);
    let is_open = text[..kept].contains("<details>");
    let close = if is_open { CLOSE } else { "" };
    format!(
        "{}{close}\n**Cut here: {left_out} lines are left out, because GitHub takes at most 1 MiB.** All of it: {}\n",
        &text[..kept],
        escaped(again)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_is_cut_at_a_line_and_says_so() {
        let text = format!("<details><summary>x</summary>\n\n{}", "a line of text\n".repeat(400));
        let whole = within(&text, 10_000, "dbdyno report 1");
        assert!(whole.ends_with("\n</details>\n") && whole.len() == text.len() + 12);
        let cut = within(&text, 4000, "dbdyno report 1");
        assert!(cut.len() <= 4000, "{}", cut.len());
        let shown = cut.matches("a line of text\n").count();
        assert!(shown > 100, "{shown}");
        assert!(cut.contains(&format!("Cut here: {} lines are left out", 400 - shown)), "{cut}");
        assert_eq!(cut.matches("</details>").count(), 1);
        let before = within(&"x".repeat(5000), 4000, "dbdyno report 1");
        assert!(!before.contains("</details>") && before.contains("1 lines are left out"), "{before}");
    }
}
