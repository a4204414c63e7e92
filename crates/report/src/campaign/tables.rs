//! A campaign as one table for spreadsheets: a line for each step and subject, a column for each metric under the
//! posts' names and in their units, means over rounds. What was not
//! measured is a line of dashes, so that nothing is missed.

use super::columns::{COLUMNS, Column, POSTS_CPU};
use super::grids::deciding;
use super::values::Values;
use super::view::{CampaignView, StepRow, StepView, SubjectView};
use crate::separated::{Separator, line, number};

/// Columns before those of the posts.
const LEADING: [&str; 9] =
    ["step", "subject", "engine", "version", "config", "rounds", "rel_ops_sec", "rel_low", "rel_high"];
/// The columns after them: the verdict, and what must not be overlooked beside the numbers.
const VERDICT: [&str; 3] = ["verdict", "failed_trials", "run_status"];

/// As tab-separated values.
pub fn tsv(view: &CampaignView) -> String {
    render(view, Separator::Tab)
}

/// As comma-separated values, quoted where needed (RFC 4180).
pub fn csv(view: &CampaignView) -> String {
    render(view, Separator::Comma)
}

fn render(view: &CampaignView, separator: Separator) -> String {
    let tickers: std::collections::BTreeSet<&String> =
        view.steps.iter().flat_map(|step| &step.rows).flat_map(|row| row.mean.tickers.keys()).collect();
    let has_posts_cpu =
        view.steps.iter().flat_map(|step| &step.rows).any(|row| row.mean.get(POSTS_CPU.metric).is_some());
    let columns: Vec<&Column> = COLUMNS
        .iter()
        .filter(|column| view.steps.iter().any(|step| step.columns.contains(column)))
        .chain(has_posts_cpu.then_some(&POSTS_CPU))
        .collect();
    let mut header: Vec<String> = LEADING.iter().map(ToString::to_string).collect();
    header.extend(VERDICT.map(str::to_owned));
    header.extend(columns.iter().map(|column| column.header.to_owned()));
    header.extend(tickers.iter().map(ToString::to_string));
    let mut lines = vec![header];
    let nothing = Values::default();
    for step in &view.steps {
        for subject in &view.subjects {
            let row = step.rows.iter().find(|row| row.side == subject.side);
            let mean = row.map_or(&nothing, |row| &row.mean);
            let mut line = leading(view, step, subject, row);
            line.extend(
                columns
                    .iter()
                    .map(|column| number(mean.get(column.metric).map(|value| value / column.scale))),
            );
            line.extend(tickers.iter().map(|name| number(mean.tickers.get(*name).copied())));
            lines.push(line);
        }
    }
    lines.iter().map(|cells| line(cells, separator)).collect()
}

fn leading(
    view: &CampaignView,
    step: &StepView,
    subject: &SubjectView,
    row: Option<&StepRow>,
) -> Vec<String> {
    let comparison = deciding(step, subject.side);
    vec![
        step.name.clone(),
        subject.subject.clone(),
        subject.subject.split('@').next().unwrap_or_default().to_owned(),
        subject.version.clone(),
        subject.config.clone(),
        row.map_or(0, |row| row.rounds.len()).to_string(),
        number(comparison.and_then(|comparison| comparison.ratio)),
        number(comparison.and_then(|comparison| comparison.low)),
        number(comparison.and_then(|comparison| comparison.high)),
        comparison.map_or_else(|| "-".to_owned(), |comparison| comparison.verdict.name().to_owned()),
        view.trials.failed_of(&step.name, &subject.subject).to_string(),
        view.run.status.name().to_owned(),
    ]
}
