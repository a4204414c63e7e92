//! A campaign as a document.

use super::charts::{bars, over_releases};
use super::columns::{ColumnGroup, RATE};
use super::grids;
use super::view::{CampaignView, Comparison, Finding, StepView};
use super::{finding_phrases, phrases};
use crate::assemble::each_once;
use crate::document::{Block, Caution, Document, Matrix, MatrixCell, MatrixRow, Section, Sentence, Table};
use crate::documents::ids::Ids;
use crate::documents::{self, builds, cautions, failed_trials, latency, raw, series};
use crate::grids::{Grid, Kind};
use crate::groups;
use model::block::BASE;
use model::figures::{self, NONE, chosen_percent, count, quantity, span};
use model::host::HostSample;
use model::record::RunRecord;
use model::verdict::Verdict;
use model::workload::Group;

/// At most this many findings stand on the first screen; all of them stand in their table.
const MOST_SENTENCES: usize = 6;

/// The document of a campaign; `host` are the samples of its host.
pub fn document(view: &CampaignView, record: &RunRecord, host: &[HostSample]) -> Document {
    let mut ids = Ids::default();
    let labels: Vec<String> = view.subjects.iter().map(|subject| subject.label.clone()).collect();
    let steps: Vec<(String, &StepView)> =
        view.steps.iter().map(|step| (ids.of("step", &step.name), step)).collect();
    let mut sections = vec![overview(view, &steps, &mut ids)];
    sections.extend(findings(view));
    sections.extend(groups_section(view));
    let run = Run { view, record, host, labels: &labels };
    sections.extend(steps.iter().map(|(id, step)| one_step(id, step, &run, &mut ids)));
    sections.extend(documents::host::section(host, &record.host, &mut ids));
    sections.push(builds::section(&record.plan, &labels));
    let again = &view.run.again;
    sections.extend(again.plan.clone().map(|plan| Section {
        id: "plan".to_owned(),
        title: "The plan".to_owned(),
        folded: true,
        blocks: vec![
            Block::Paragraph("As a file, this measures the same again by the command above:".to_owned()),
            Block::Verbatim(plan),
        ],
    }));
    sections.push(trials(view));
    sections.extend(raw::section(record));
    let mut colophon = vec![crate::phrases::host_line(&view.host)];
    colophon.extend(view.cost.as_ref().map(|cost| phrases::cost(cost, view.of_servers)));
    colophon.push(phrases::again(view));
    Document {
        title: view.run.name.clone().unwrap_or_else(|| {
            format!("{}: {}", view.run.workload, count(view.subjects.len() as u64, "subject", "subjects"))
        }),
        kind: "campaign",
        runs: vec![view.run.id.clone()],
        verdicts: sentences(view),
        preface: vec![
            phrases::headline(view),
            phrases::run_line(view),
            phrases::design(view),
            phrases::conditions(view),
        ],
        cautions: all_cautions(view),
        sections,
        command: Some(again.command.clone()),
        colophon,
    }
}

/// The gravest findings, after what the verdicts sum up to.
fn sentences(view: &CampaignView) -> Vec<Sentence> {
    let mut all = vec![in_total(view)];
    let ordered = ordered_findings(view);
    let shown = ordered.iter().filter(|finding| finding.column.metric == RATE).take(MOST_SENTENCES);
    all.extend(shown.map(|finding| Sentence {
        verdict: Some(match (finding.suspect, finding.ratio < 1.0) {
            (true, _) => Verdict::Suspect,
            (false, true) => Verdict::Regression,
            (false, false) => Verdict::Improvement,
        }),
        text: finding_phrases::finding(finding, view),
    }));
    all
}

/// "Against rocksdb@6.0.2: of 114 comparisons of a step, 40 slower, 12 faster, .."
fn in_total(view: &CampaignView) -> Sentence {
    let deciding: Vec<&Comparison> = view
        .steps
        .iter()
        .filter(|step| !step.helper)
        .flat_map(|step| &step.comparisons)
        .filter(|comparison| comparison.decides)
        .collect();
    let number = |verdict: Verdict| deciding.iter().filter(|one| one.verdict == verdict).count();
    let words = [
        (Verdict::Regression, "slower"),
        (Verdict::Improvement, "faster"),
        (Verdict::Suspect, "suspected to differ"),
        (Verdict::NoChange, "without a difference"),
        (Verdict::Inconclusive, "open"),
        (Verdict::RatioOnly, "without a verdict"),
    ];
    let parts: Vec<String> = words
        .into_iter()
        .filter(|(verdict, _)| number(*verdict) > 0)
        .map(|(verdict, word)| format!("{} {word}", number(verdict)))
        .collect();
    let verdict = [Verdict::Regression, Verdict::Improvement, Verdict::Suspect, Verdict::NoChange]
        .into_iter()
        .find(|verdict| number(*verdict) > 0);
    let of = count(deciding.len() as u64, "step of a candidate", "steps of candidates");
    let text = if parts.is_empty() {
        format!("Nothing could be compared with {}.", view.base)
    } else {
        format!("Against {}, {of}: {}.", view.base, figures::and_list(&parts))
    };
    Sentence { verdict, text }
}

fn all_cautions(view: &CampaignView) -> Vec<Caution> {
    let plain = |id: &str, text: String| Caution { id: id.to_owned(), step: None, text };
    let mut all = cautions(&view.warnings);
    all.extend(phrases::left_out(view).into_iter().map(|text| plain("left-out", text)));
    all.extend(failed_trials(&view.trials));
    all
}

fn overview(view: &CampaignView, steps: &[(String, &StepView)], ids: &mut Ids) -> Section {
    let matrix = Matrix {
        caption: format!("Rate relative to {}, means over rounds.", view.base),
        base: view.base.clone(),
        candidates: view
            .subjects
            .iter()
            .filter(|subject| subject.side != BASE)
            .map(|subject| subject.label.clone())
            .collect(),
        rows: steps
            .iter()
            .filter(|(_, step)| !step.helper)
            .map(|(id, step)| matrix_row(id, step, view))
            .collect(),
        legend: format!(
            "Means over rounds, candidate over {}; the intervals of a step hold at {} for all candidates together. No \
             number stands where it would be noise.",
            view.base,
            chosen_percent(1.0 - view.alpha)
        ),
    };
    let mut blocks = vec![Block::Matrix(matrix)];
    blocks.extend(phrases::discovered(view).map(Block::Paragraph));
    blocks.extend(phrases::visible_differences(view).map(Block::Paragraph));
    blocks.extend(over_releases(view, ids).into_iter().map(Block::Figure));
    blocks.extend(bars(view, ids).into_iter().map(Block::Figure));
    Section { id: "overview".to_owned(), title: "Overview".to_owned(), folded: false, blocks }
}

fn matrix_row(id: &str, step: &StepView, view: &CampaignView) -> MatrixRow {
    let base = step.rows.iter().find(|row| row.side == BASE).and_then(|row| row.mean.get(RATE));
    let candidates = view.subjects.iter().filter(|subject| subject.side != BASE);
    MatrixRow {
        step: step.name.clone(),
        section: Some(id.to_owned()),
        group: step.group.name().to_owned(),
        base_value: figures::quantity_or_none(base),
        cells: candidates
            .map(|subject| Some(matrix_cell(grids::deciding(step, subject.side)?, view)))
            .collect(),
    }
}

fn matrix_cell(comparison: &Comparison, view: &CampaignView) -> MatrixCell {
    let interval = match comparison.confidence {
        Some(confidence) => format!(
            "{} interval {}",
            chosen_percent(confidence),
            figures::interval(comparison.low, comparison.high)
        ),
        None => "no interval".to_owned(),
    };
    let value = |value: Option<f64>| value.map_or_else(|| NONE.to_owned(), quantity);
    MatrixCell {
        text: phrases::relative_rate(comparison, view.margin)
            .trim_end_matches(['*', '~', '?', 's'])
            .to_owned(),
        ratio: comparison.ratio,
        low: comparison.low,
        high: comparison.high,
        verdict: comparison.verdict,
        detail: format!(
            "{}: {} -> {} per second, {interval}, {}, {} measured",
            comparison.verdict.name(),
            value(comparison.base_value),
            value(comparison.candidate_value),
            count(u64::from(comparison.rounds), "round", "rounds"),
            span(comparison.seconds)
        ),
    }
}

/// Losses of the rate first, the largest before the others; then other metrics; then gains.
fn ordered_findings(view: &CampaignView) -> Vec<&Finding> {
    let mut own: Vec<&Finding> = view.findings.iter().filter(|finding| finding.part_of.is_none()).collect();
    let class = |finding: &Finding| match (finding.column.metric == RATE, finding.ratio < 1.0) {
        (true, true) => 0,
        (true, false) => 2,
        (false, _) => 1,
    };
    own.sort_by(|left, right| {
        let size = |finding: &Finding| finding.ratio.ln().abs();
        let standing = left.suspect.cmp(&right.suspect);
        standing.then(class(left).cmp(&class(right))).then(size(right).total_cmp(&size(left)))
    });
    own
}

fn findings(view: &CampaignView) -> Option<Section> {
    if view.searched_series == 0 {
        return None;
    }
    let own = ordered_findings(view);
    let sentences = if own.is_empty() {
        finding_phrases::own_findings(view)
    } else {
        own.iter().map(|finding| finding_phrases::finding(finding, view)).collect()
    };
    let blocks = vec![Block::Items(sentences), Block::Paragraph(finding_phrases::findings_legend(view))];
    Some(Section {
        id: "findings".to_owned(),
        title: "What changed at which release".to_owned(),
        folded: false,
        blocks,
    })
}

fn groups_section(view: &CampaignView) -> Option<Section> {
    if view.groups.is_empty() {
        return None;
    }
    let table = |grid: Grid| Block::Table(Table { caption: String::new(), grid });
    let mut blocks: Vec<Block> = grids::group_means(view).into_iter().map(table).collect();
    blocks.extend(Group::ALL.into_iter().filter_map(|group| grids::group_details(view, group)).map(table));
    blocks.push(Block::Paragraph(groups::legend("rounds")));
    Some(Section { id: "groups".to_owned(), title: "Groups of steps".to_owned(), folded: false, blocks })
}

/// What the sections of steps are made from.
struct Run<'a> {
    view: &'a CampaignView,
    record: &'a RunRecord,
    host: &'a [HostSample],
    labels: &'a [String],
}

/// Everything about one step.
fn one_step(id: &str, step: &StepView, run: &Run<'_>, ids: &mut Ids) -> Section {
    let Run { view, record, host, labels } = *run;
    let table = |caption: &str, grid: Grid| Block::Table(Table { caption: caption.to_owned(), grid });
    let mut blocks = Vec::new();
    if step.rows.is_empty() {
        blocks.push(Block::Paragraph(
            "No trial of this step is done; the reasons stand under Trials.".to_owned(),
        ));
    }
    let groups = ColumnGroup::ALL.into_iter().filter_map(|group| grids::group(step, group, view));
    blocks.extend(groups.map(|grid| table("", grid)));
    blocks.extend(relative(step, view).map(|grid| {
        table("Every metric as candidate over base, with the interval where there is one.", grid)
    }));
    blocks.extend(latency::blocks(record, &step.name, labels, ids));
    blocks.extend(series::seconds(record, &step.name, labels, ids).map(Block::Timeline));
    blocks.extend(documents::host::during_step(record, host, &step.name, labels, ids).map(Block::Timeline));
    blocks.extend(grids::tickers(step, view).map(|grid| table("", grid)));
    blocks.extend(grids::shapes(step, view).map(|grid| table("", grid)));
    let deciding = step.comparisons.iter().filter(|comparison| comparison.decides);
    let notes = each_once(deciding.flat_map(|one| &one.notes).map(|note| note.text.clone()));
    blocks.extend((!notes.is_empty()).then_some(Block::Items(notes)));
    Section { id: id.to_owned(), title: step.name.clone(), folded: true, blocks }
}

/// A row for each metric that any candidate is compared in, a column for each candidate.
fn relative(step: &StepView, view: &CampaignView) -> Option<Grid> {
    let candidates: Vec<_> = view.subjects.iter().filter(|subject| subject.side != BASE).collect();
    let mut columns = vec![documents::column("metric", Kind::Name)];
    columns.extend(candidates.iter().map(|subject| documents::column(&subject.label, Kind::Number)));
    let cell = |comparison: Option<&Comparison>| {
        let Some((comparison, ratio)) = comparison.and_then(|one| Some((one, one.ratio?))) else {
            return NONE.to_owned();
        };
        match (comparison.low, comparison.high) {
            (None, None) => figures::ratio(ratio),
            (low, high) => format!("{} {}", figures::ratio(ratio), figures::interval(low, high)),
        }
    };
    let rows: Vec<Vec<String>> = step
        .columns
        .iter()
        .filter(|column| step.comparisons.iter().any(|one| one.column.metric == column.metric))
        .map(|column| {
            let of = |side| {
                step.comparisons.iter().find(|one| one.side == side && one.column.metric == column.metric)
            };
            std::iter::once(column.header.to_owned())
                .chain(candidates.iter().map(|subject| cell(of(subject.side))))
                .collect()
        })
        .collect();
    (!rows.is_empty()).then_some(Grid { columns, rows })
}

fn trials(view: &CampaignView) -> Section {
    let mut blocks = vec![Block::Paragraph(phrases::trials(view))];
    let reasons: Vec<String> =
        phrases::trial_reasons(view).into_iter().chain(phrases::disturbed(view)).collect();
    blocks.extend((!reasons.is_empty()).then_some(Block::Items(reasons)));
    Section { id: "trials".to_owned(), title: "Trials".to_owned(), folded: true, blocks }
}
