//! A comparison as a document.

use crate::charts::{BarSeries, Bars, Chart, Point};
use crate::document::{Block, Document, Figure, Matrix, MatrixCell, MatrixRow, Section, Sentence, Table};
use crate::documents::ids::Ids;
use crate::documents::{self, builds, cautions, failed_trials, latency, raw, series};
use crate::grids::{self, Grid, Kind};
use crate::groups;
use crate::labels::told_apart;
use crate::layout::{GREEN, RED, marked};
use crate::phrases;
use crate::view::{CandidateView, ReportView, StepRow};
use model::figures::{self, NONE, chosen_percent, count, quantity_or_none, span};
use model::host::HostSample;
use model::metric::Metric;
use model::plan::Purpose;
use model::record::RunRecord;
use model::verdict::Verdict;

/// The document of a comparison; `host` are the samples of its host.
pub fn comparison_document(view: &ReportView, record: &RunRecord, host: &[HostSample]) -> Document {
    let mut ids = Ids::default();
    let labels = labels(view);
    let steps: Vec<(String, String)> =
        steps(view).into_iter().map(|step| (ids.of("step", &step), step)).collect();
    let mut sections = vec![overview(view, &steps)];
    sections.extend(view.candidates.iter().map(|candidate| against_base(candidate, view, &mut ids)));
    sections.extend(steps.iter().map(|(id, step)| one_step(id, step, view, record, &labels, &mut ids)));
    sections.extend(documents::host::section(host, &record.host, &mut ids));
    sections.push(builds::section(&record.plan, &labels));
    sections.push(trials(view));
    sections.extend(raw::section(record));
    let mut colophon = vec![phrases::host_line(&view.host)];
    colophon.extend(view.cost.as_ref().map(|cost| phrases::cost(cost, view.of_servers)));
    colophon.push(phrases::again(view));
    let candidates: Vec<String> = view.candidates.iter().map(|candidate| candidate.subject.clone()).collect();
    Document {
        title: format!("{} against {}", figures::and_list(&candidates), view.base),
        kind: match view.run.purpose {
            Purpose::Calibrate => "calibration",
            Purpose::Compare | Purpose::Campaign => "comparison",
        },
        runs: vec![view.run.id.clone()],
        verdicts: view.candidates.iter().map(sentence).collect(),
        preface: vec![phrases::headline(view), phrases::run_line(view)],
        cautions: cautions(&view.warnings).into_iter().chain(failed_trials(&view.trials)).collect(),
        sections,
        command: Some(view.run.again.command.clone()),
        colophon,
    }
}

/// The base, then the candidates, as in the tables.
fn labels(view: &ReportView) -> Vec<String> {
    let candidates = view.candidates.iter().map(|candidate| candidate.subject.clone());
    told_apart(std::iter::once(view.base.clone()).chain(candidates))
}

/// The steps, in the order of the workload.
fn steps(view: &ReportView) -> Vec<String> {
    view.candidates
        .first()
        .map(|first| first.rows.iter().map(|row| row.step.clone()).collect())
        .unwrap_or_default()
}

fn row<'a>(candidate: &'a CandidateView, step: &str) -> Option<&'a StepRow> {
    candidate.rows.iter().find(|row| row.step == step)
}

/// The summary of a candidate under the gravest of its verdicts.
fn sentence(candidate: &CandidateView) -> Sentence {
    let has = |verdict, confirmed: bool| {
        candidate.rows.iter().any(|row| row.verdict == verdict && (row.confirmed || !confirmed))
    };
    let all_the_same = candidate.rows.iter().all(|row| row.verdict == Verdict::NoChange);
    let verdict = match () {
        () if has(Verdict::Regression, true) => Some(Verdict::Regression),
        () if has(Verdict::Improvement, true) => Some(Verdict::Improvement),
        () if has(Verdict::Suspect, false) => Some(Verdict::Suspect),
        () if all_the_same && !candidate.rows.is_empty() => Some(Verdict::NoChange),
        () if has(Verdict::Inconclusive, false) => Some(Verdict::Inconclusive),
        () => None,
    };
    Sentence { verdict, text: candidate.summary.clone() }
}

fn overview(view: &ReportView, steps: &[(String, String)]) -> Section {
    let matrix = Matrix {
        caption: format!("Relative QPS, candidate over {}.", view.base),
        base: view.base.clone(),
        candidates: view.candidates.iter().map(|candidate| candidate.subject.clone()).collect(),
        rows: steps.iter().map(|(id, step)| matrix_row(id, step, view)).collect(),
        legend: phrases::legend(view),
    };
    let mut blocks = vec![Block::Matrix(matrix)];
    blocks.extend(bars(view, steps).map(Block::Figure));
    blocks.extend(
        findings(view).map(|grid| Block::Table(Table { caption: "What to look at first.".to_owned(), grid })),
    );
    Section { id: "overview".to_owned(), title: "Overview".to_owned(), folded: false, blocks }
}

fn matrix_row(id: &str, step: &str, view: &ReportView) -> MatrixRow {
    let rows: Vec<Option<&StepRow>> = view.candidates.iter().map(|candidate| row(candidate, step)).collect();
    let first = rows.iter().flatten().next();
    MatrixRow {
        step: step.to_owned(),
        section: Some(id.to_owned()),
        group: first.map_or_else(String::new, |row| row.group.name().to_owned()),
        base_value: first.map_or_else(|| NONE.to_owned(), |row| quantity_or_none(row.wall.base)),
        cells: rows.into_iter().map(|row| row.map(matrix_cell)).collect(),
    }
}

fn matrix_cell(row: &StepRow) -> MatrixCell {
    let figure = row.deciding();
    let text = match (row.verdict, figure.ratio) {
        (_, None) => NONE.to_owned(),
        (Verdict::Regression | Verdict::Improvement | Verdict::Suspect | Verdict::RatioOnly, Some(ratio)) => {
            figures::ratio(ratio)
        }
        // No number where it would be noise.
        (Verdict::NoChange | Verdict::Inconclusive, Some(_)) => String::new(),
    };
    let interval = match figure.confidence {
        Some(confidence) => {
            let confidence = chosen_percent(phrases::joint(confidence));
            format!("{confidence} interval {}", figures::interval(figure.low, figure.high))
        }
        None => "no interval".to_owned(),
    };
    MatrixCell {
        text,
        ratio: figure.ratio,
        low: figure.low,
        high: figure.high,
        verdict: row.verdict,
        detail: format!(
            "{}: {} -> {} QPS, {interval}, {}, {} measured",
            phrases::verdict(row),
            quantity_or_none(row.wall.base),
            quantity_or_none(row.wall.candidate),
            count(u64::from(row.launches), "launch", "launches"),
            span(row.seconds)
        ),
    }
}

fn bars(view: &ReportView, steps: &[(String, String)]) -> Option<Figure> {
    let point = |candidate: &CandidateView, step: &str| {
        let figure = row(candidate, step)?.deciding();
        Some(Point { value: figure.ratio?, low: figure.low, high: figure.high })
    };
    let series: Vec<BarSeries> = view
        .candidates
        .iter()
        .map(|candidate| BarSeries {
            name: candidate.subject.clone(),
            values: steps.iter().map(|(_, step)| point(candidate, step)).collect(),
        })
        .collect();
    let any = series.iter().flat_map(|series| &series.values).any(Option::is_some);
    let deciding = view.candidates.iter().flat_map(|candidate| &candidate.rows).map(StepRow::deciding);
    let confidences = deciding.filter_map(|figure| figure.confidence).map(phrases::joint);
    any.then(|| Figure {
        name: "relative-qps".to_owned(),
        caption: format!("Relative QPS by step, candidate over {}, with intervals.", view.base),
        chart: Chart::Bars(Bars {
            title: format!("Relative QPS against {}", view.base),
            axis: "relative QPS".to_owned(),
            reference: 1.0,
            confidence: documents::shared_confidence(confidences),
            labels: steps.iter().map(|(_, step)| step.clone()).collect(),
            series,
        }),
    })
}

/// How urgent a verdict is: what holds among all steps first.
fn urgency(row: &StepRow) -> Option<u8> {
    match row.verdict {
        Verdict::Regression if row.confirmed => Some(0),
        Verdict::Regression => Some(1),
        Verdict::Suspect => Some(2),
        Verdict::Improvement if row.confirmed => Some(3),
        Verdict::Improvement => Some(4),
        Verdict::Inconclusive | Verdict::NoChange | Verdict::RatioOnly => None,
    }
}

/// What moved, the largest loss first; absent where nothing did.
fn findings(view: &ReportView) -> Option<Grid> {
    let mut found: Vec<(u8, f64, &CandidateView, &StepRow)> = view
        .candidates
        .iter()
        .flat_map(|candidate| candidate.rows.iter().map(move |row| (candidate, row)))
        .filter_map(|(candidate, row)| Some((urgency(row)?, row.deciding().ratio?, candidate, row)))
        .collect();
    found.sort_by(|left, right| left.0.cmp(&right.0).then(left.1.total_cmp(&right.1)));
    let mut grid = Grid::new(&[
        ("step", Kind::Name),
        ("candidate", Kind::Name),
        ("relative QPS and interval", Kind::Number),
        ("verdict", Kind::Word),
        ("CPU per operation", Kind::Number),
        ("moved as well, per operation", Kind::Prose),
    ]);
    grid.rows = found
        .into_iter()
        .map(|(_, _, candidate, row)| {
            let word = if row.confirmed || row.verdict == Verdict::Suspect {
                phrases::verdict(row).to_owned()
            } else {
                format!("{}, this step by itself", phrases::verdict(row))
            };
            let word = match row.verdict {
                Verdict::Regression => marked(RED, &word),
                Verdict::Improvement => marked(GREEN, &word),
                Verdict::NoChange | Verdict::Inconclusive | Verdict::Suspect | Verdict::RatioOnly => word,
            };
            vec![
                row.step.clone(),
                candidate.subject.clone(),
                phrases::relative_rate(row),
                word,
                phrases::relative_cost_with_interval(&row.cpu),
                phrases::moved(row),
            ]
        })
        .collect();
    (!grid.rows.is_empty()).then_some(grid)
}

/// Everything that the text report says of one candidate.
fn against_base(candidate: &CandidateView, view: &ReportView, ids: &mut Ids) -> Section {
    let table = |grid: Grid| Block::Table(Table { caption: String::new(), grid });
    let mut blocks = vec![
        table(grids::wide(candidate, phrases::relative_cost_with_interval)),
        Block::Paragraph(phrases::legend(view)),
    ];
    let groups = grids::groups(candidate);
    if !groups.is_empty() {
        blocks.push(table(groups::grid("group", &groups)));
        blocks.push(Block::Paragraph(groups::extremes(&groups)));
        blocks.push(Block::Paragraph(groups::legend("launches")));
    }
    let mut notes = phrases::notes(&candidate.rows);
    notes.extend(phrases::visible_changes(&candidate.rows));
    blocks.push(Block::Items(notes));
    blocks.extend(grids::time(candidate).map(table));
    blocks.extend(grids::differs(candidate).map(table));
    blocks.extend(grids::differing_lists(candidate, view).into_iter().map(Block::Paragraph));
    Section {
        id: ids.of("candidate", &candidate.subject),
        title: format!("{} against {}", candidate.subject, view.base),
        folded: view.candidates.len() > 1,
        blocks: blocks.into_iter().filter(|block| !is_empty(block)).collect(),
    }
}

fn is_empty(block: &Block) -> bool {
    match block {
        Block::Paragraph(text) | Block::Verbatim(text) => text.is_empty(),
        Block::Items(items) => items.is_empty(),
        Block::Table(_) | Block::Matrix(_) | Block::Figure(_) | Block::Timeline(_) => false,
    }
}

/// Everything about one step.
fn one_step(
    id: &str,
    step: &str,
    view: &ReportView,
    record: &RunRecord,
    labels: &[String],
    ids: &mut Ids,
) -> Section {
    let mut blocks = Vec::new();
    for candidate in &view.candidates {
        let Some(row) = row(candidate, step) else { continue };
        blocks.push(Block::Table(Table {
            caption: format!("{} against {}: {}.", candidate.subject, view.base, phrases::verdict(row)),
            grid: metrics(row),
        }));
        blocks.push(Block::Items(row.notes.iter().map(|note| note.text.clone()).collect()));
    }
    blocks.extend(latency::blocks(record, step, labels, ids));
    blocks.extend(series::seconds(record, step, labels, ids).map(Block::Timeline));
    blocks.extend(series::blocks(record, step, labels, ids).map(Block::Timeline));
    let shapes = grids::shapes(view.shapes.iter().filter(|shape| shape.step == step));
    blocks.extend(shapes.map(|grid| Block::Table(Table { caption: String::new(), grid })));
    Section {
        id: id.to_owned(),
        title: step.to_owned(),
        folded: true,
        blocks: blocks.into_iter().filter(|block| !is_empty(block)).collect(),
    }
}

/// Every metric of a step: both values, the ratio with its interval, what moved.
fn metrics(row: &StepRow) -> Grid {
    let mut grid = Grid::new(&[
        ("metric", Kind::Name),
        ("unit", Kind::Word),
        ("base", Kind::Number),
        ("candidate", Kind::Number),
        ("ratio", Kind::Number),
        ("interval", Kind::Word),
        ("", Kind::Word),
    ]);
    let mut figures = vec![(&row.wall, "")];
    figures.extend(row.adjusted.as_ref().map(|adjusted| (adjusted, "")));
    figures.push((&row.cpu, ""));
    figures.extend(
        row.counters.iter().map(|counter| (&counter.figure, if counter.moved { "moved" } else { "" })),
    );
    grid.rows = figures
        .into_iter()
        .map(|(figure, remark)| {
            let decides = figure.metric == row.decides && figure.metric != Metric::CpuMicrosPerOp;
            vec![
                figure.metric.name().to_owned(),
                figure.metric.unit().to_owned(),
                quantity_or_none(figure.base),
                quantity_or_none(figure.candidate),
                figure.ratio.map_or_else(|| NONE.to_owned(), figures::ratio),
                match figure.confidence {
                    Some(_) => figures::interval(figure.low, figure.high),
                    None => NONE.to_owned(),
                },
                if decides { "decides".to_owned() } else { remark.to_owned() },
            ]
        })
        .collect();
    grid
}

fn trials(view: &ReportView) -> Section {
    let reasons: Vec<String> = view.trials.reasons.iter().map(phrases::trial_reason).collect();
    let mut blocks = vec![Block::Paragraph(phrases::trials(view))];
    blocks.extend((!reasons.is_empty()).then_some(Block::Items(reasons)));
    Section { id: "trials".to_owned(), title: "Trials".to_owned(), folded: true, blocks }
}
