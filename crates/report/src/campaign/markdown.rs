//! A campaign as GitHub Markdown: everything, every column too.

use super::columns::ColumnGroup;
use super::grids;
use super::view::{CampaignView, StepView};
use super::{finding_phrases, phrases};
use crate::groups;
use crate::markdown::{escaped, list_item, table};
use model::workload::Group;

/// A header on one line: here nothing is narrow.
const ONE_LINE: usize = usize::MAX;

/// The report.
pub fn markdown(view: &CampaignView) -> String {
    let items = |texts: &[String]| texts.iter().map(|text| list_item(text)).collect::<Vec<_>>().join("\n");
    let mut parts = vec![
        escaped(&phrases::headline(view)),
        escaped(&phrases::run_line(view)),
        escaped(&phrases::design(view)),
        escaped(&phrases::conditions(view)),
        items(&phrases::left_out(view)),
        escaped(&phrases::trials(view)),
        items(&phrases::trial_reasons(view)),
        items(&phrases::disturbed(view)),
    ];
    if !grids::shown_steps(view).is_empty() {
        parts.push("## Relative rate".to_owned());
        parts.push(table(&grids::relative_rates(view, ONE_LINE)));
        parts.push(escaped(&phrases::rate_legend(view)));
        parts.extend(phrases::discovered(view).map(|line| escaped(&line)));
        parts.extend(phrases::visible_differences(view).map(|line| escaped(&line)));
    }
    if !view.groups.is_empty() {
        parts.push("## Groups".to_owned());
        let details = Group::ALL.into_iter().filter_map(|group| grids::group_details(view, group));
        parts.extend(details.map(|grid| table(&grid)));
        parts.push(escaped(&groups::legend("rounds")));
    }
    if view.searched_series > 0 {
        parts.push("## Findings".to_owned());
        parts.push(items(&finding_phrases::own_findings(view)));
        parts.push(escaped(&finding_phrases::findings_legend(view)));
    }
    parts.push("## Columns".to_owned());
    parts.push(escaped(&phrases::columns_legend()));
    parts.extend(view.steps.iter().flat_map(|step| step_parts(step, view)));
    let warnings: Vec<String> = view
        .warnings
        .iter()
        .map(|warning| format!("- **warning** {}: {}", escaped(&warning.id), escaped(&warning.text)))
        .collect();
    parts.push(warnings.join("\n"));
    parts.push(escaped(&crate::phrases::host_line(&view.host)));
    parts.extend(view.cost.as_ref().map(|cost| escaped(&phrases::cost(cost, view.of_servers))));
    parts.push(escaped(&phrases::again(view)));
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n") + "\n"
}

fn step_parts(step: &StepView, view: &CampaignView) -> Vec<String> {
    if step.rows.is_empty() {
        return Vec::new();
    }
    let mut parts = vec![format!("### {}", escaped(&step.name))];
    let groups = ColumnGroup::ALL.into_iter().filter_map(|group| grids::group(step, group, view));
    parts.extend(groups.map(|grid| table(&grid)));
    parts.extend(grids::tickers(step, view).map(|grid| table(&grid)));
    parts.extend(grids::shapes(step, view).map(|grid| table(&grid)));
    parts
}
