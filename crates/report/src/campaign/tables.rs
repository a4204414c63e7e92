//! A campaign as one table for spreadsheets: a line for each step and subject, a column for each metric under the
//! posts' names and in their units, means over rounds.

use super::columns::{COLUMNS, Column, POSTS_CPU};
use super::grids::deciding;
use super::view::{CampaignView, StepRow, StepView};

/// Columns before those of the posts.
const LEADING: [&str; 9] =
    ["step", "subject", "engine", "version", "config", "rounds", "rel_ops_sec", "rel_low", "rel_high"];
/// The column after them.
const VERDICT: &str = "verdict";

/// As tab-separated values.
pub fn tsv(view: &CampaignView) -> String {
    // A tab or a line break in a name would move every value after it.
    render(view, "\t", |field| field.replace(['\t', '\n', '\r'], " "))
}

/// As comma-separated values, quoted where needed (RFC 4180).
pub fn csv(view: &CampaignView) -> String {
    render(view, ",", |field| {
        if field.contains(['"', ',', '\n', '\r']) {
            format!("\"{}\"", field.replace('"', "\"\""))
        } else {
            field.to_owned()
        }
    })
}

fn render(view: &CampaignView, separator: &str, field: impl Fn(&str) -> String) -> String {
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
    header.push(VERDICT.to_owned());
    header.extend(columns.iter().map(|column| column.header.to_owned()));
    header.extend(tickers.iter().map(ToString::to_string));
    let mut lines = vec![header];
    for step in &view.steps {
        for row in &step.rows {
            let mut line = leading(view, step, row);
            line.extend(
                columns
                    .iter()
                    .map(|column| number(row.mean.get(column.metric).map(|value| value / column.scale))),
            );
            line.extend(tickers.iter().map(|name| number(row.mean.tickers.get(*name).copied())));
            lines.push(line);
        }
    }
    let joined =
        |line: Vec<String>| line.iter().map(|cell| field(cell)).collect::<Vec<_>>().join(separator) + "\n";
    lines.into_iter().map(joined).collect()
}

fn leading(view: &CampaignView, step: &StepView, row: &StepRow) -> Vec<String> {
    let subject = view.subjects.iter().find(|subject| subject.side == row.side);
    let of_subject = |field: fn(&super::view::SubjectView) -> &str| {
        subject.map_or_else(String::new, |subject| field(subject).to_owned())
    };
    let comparison = deciding(step, row.side);
    vec![
        step.name.clone(),
        of_subject(|subject| &subject.subject),
        of_subject(|subject| subject.subject.split('@').next().unwrap_or_default()),
        of_subject(|subject| &subject.version),
        of_subject(|subject| &subject.config),
        row.rounds.len().to_string(),
        number(comparison.and_then(|comparison| comparison.ratio)),
        number(comparison.and_then(|comparison| comparison.low)),
        number(comparison.and_then(|comparison| comparison.high)),
        comparison.map_or_else(|| "-".to_owned(), |comparison| comparison.verdict.name().to_owned()),
    ]
}

/// Six digits, no separators between thousands; what is absent is a dash, never 0.
fn number(value: Option<f64>) -> String {
    let Some(value) = value.filter(|value| value.is_finite()) else { return "-".to_owned() };
    let text = match value.abs() {
        100_000.0.. => format!("{value:.0}"),
        1000.0..100_000.0 => format!("{value:.2}"),
        1.0..1000.0 => format!("{value:.5}"),
        0.0 => return "0".to_owned(),
        0.001..1.0 => format!("{value:.7}"),
        _ => return format!("{value:.5e}"),
    };
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_are_plain_and_what_is_absent_is_a_dash() {
        let values =
            [Some(1_234_567.8), Some(1234.5), Some(2.0), Some(0.25), Some(0.0), Some(2.5e-6), Some(f64::NAN)];
        assert_eq!(values.map(number), ["1234568", "1234.5", "2", "0.25", "0", "2.50000e-6", "-"]);
        assert_eq!(number(None), "-");
    }
}
