//! A campaign as text for a terminal of a given width.

use super::columns::ColumnGroup;
use super::grids;
use super::view::{CampaignView, StepView};
use super::{finding_phrases, phrases};
use crate::groups;
use crate::layout::{paint, wrapped};
use crate::split_tables::{fits, tables};
use crate::text::{LEAST_WIDTH, TextOptions, table};
use model::workload::Group;

/// Headers of steps are broken at these widths, the first at which the table fits.
const HEADER_WIDTHS: [usize; 3] = [9, 8, 7];

/// The report; with `detail` every column of every step too.
pub fn text(view: &CampaignView, options: TextOptions, detail: bool) -> String {
    let width = options.width.max(LEAST_WIDTH);
    let paragraph = |text: &str| wrapped(text, width, 2);
    let lines = |lines: &[String]| lines.iter().map(|line| paragraph(line)).collect::<Vec<_>>().join("\n");
    let mut parts = vec![
        wrapped(&phrases::headline(view), width, 0),
        lines(&[phrases::run_line(view), phrases::design(view), phrases::conditions(view)]),
        lines(&phrases::left_out(view)),
    ];
    let mut trials = vec![phrases::trials(view)];
    let not_counted = phrases::trial_reasons(view).into_iter().chain(phrases::disturbed(view));
    trials.extend(not_counted.map(|reason| format!("- {reason}")));
    parts.push(lines(&trials));
    parts.extend(relative_rates(view, width));
    let mut legend = vec![phrases::rate_legend(view)];
    legend.extend(phrases::discovered(view));
    legend.extend(phrases::visible_differences(view));
    parts.push(lines(&legend));
    parts.extend(grids::group_means(view).into_iter().flat_map(|grid| tables(grid, width)));
    parts.push(findings(view, width));
    if detail {
        parts.extend(
            Group::ALL
                .into_iter()
                .filter_map(|group| grids::group_details(view, group))
                .flat_map(|grid| tables(grid, width)),
        );
        parts.push(paragraph(&groups::legend("rounds")));
        parts.push(paragraph(&phrases::columns_legend()));
        parts.extend(view.steps.iter().flat_map(|step| step_parts(step, view, width)));
    }
    parts.push(lines(&closing(view, detail)));
    parts.retain(|part| !part.is_empty());
    paint(&(parts.join("\n\n") + "\n"), options.colour)
}

fn relative_rates(view: &CampaignView, width: usize) -> Vec<String> {
    if grids::shown_steps(view).is_empty() {
        return Vec::new();
    }
    let fitting = HEADER_WIDTHS
        .iter()
        .map(|header| grids::relative_rates(view, *header))
        .find(|grid| fits(grid, width));
    let grid = fitting.unwrap_or_else(|| grids::relative_rates(view, HEADER_WIDTHS[0]));
    tables(grid, width)
}

fn findings(view: &CampaignView, width: usize) -> String {
    if view.searched_series == 0 {
        return String::new();
    }
    let mut lines: Vec<String> =
        finding_phrases::own_findings(view).iter().map(|finding| format!("- {finding}")).collect();
    lines.insert(0, "Findings".to_owned());
    lines.push(finding_phrases::findings_legend(view));
    lines.iter().map(|line| wrapped(line, width, 2)).collect::<Vec<_>>().join("\n")
}

fn step_parts(step: &StepView, view: &CampaignView, width: usize) -> Vec<String> {
    let groups = ColumnGroup::ALL.into_iter().filter_map(|group| grids::group(step, group, view));
    let mut parts: Vec<String> = groups.flat_map(|grid| tables(grid, width)).collect();
    parts.extend(grids::tickers(step, view).map(|grid| tables(grid, width).join("\n\n")));
    parts.extend(grids::shapes(step, view).map(|grid| table(&grid, width)));
    parts
}

/// What holds for the whole run.
fn closing(view: &CampaignView, detail: bool) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    lines.extend(view.warnings.iter().map(|warning| {
        let step = warning.step.as_ref().map(|step| format!(" ({step})")).unwrap_or_default();
        format!("WARNING {}{step}: {}", warning.id, warning.text)
    }));
    lines.push(crate::phrases::host_line(&view.host));
    lines.extend(view.cost.as_ref().map(|cost| phrases::cost(cost, view.of_servers)));
    let hint = if detail { "" } else { "; every column and tree of every step: --detail" };
    lines.push(format!("{}{hint}", phrases::again(view)));
    lines
}
