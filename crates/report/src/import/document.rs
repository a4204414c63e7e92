//! An import as a document.

use super::phrases::{closing, headline, of_step, origin};
use crate::charts::{BarSeries, Bars, Chart, Line, Point, Releases};
use crate::document::{Block, Document, Figure, Level, Matrix, MatrixCell, MatrixRow, Section};
use crate::documents::ids::Ids;
use findings::import::{ImportView, StepView};
use model::figures::NONE;
use model::verdict::Verdict;

/// From this many versions on a line over them tells more than bars.
const LEAST_RELEASES: usize = 4;
/// So many tests are read one by one.
const MOST_SHOWN: usize = 8;
/// From so many tests on a table of all ratios tells more than the tests one by one.
const WORTH_A_MATRIX: usize = 2;
/// More lines than this in one chart cannot be told apart.
const MOST_LINES: usize = 12;

/// The document of an import.
pub fn document(view: &ImportView) -> Document {
    let mut ids = Ids::default();
    let steps: Vec<(String, &StepView)> =
        view.steps.iter().map(|step| (ids.of("test", &step.name), step)).collect();
    let mut blocks: Vec<Block> = matrix(view, &steps).map(Block::Matrix).into_iter().collect();
    blocks.extend(figure(view, &mut ids).map(Block::Figure));
    // Where an overview says what the tests say, many of them would bury it.
    let level = if blocks.is_empty() || steps.len() <= MOST_SHOWN { Level::Shown } else { Level::Folded };
    let mut sections = vec![Section::new("overview", "Overview", blocks)];
    sections.retain(|section| !section.blocks.is_empty());
    sections.extend(
        steps
            .iter()
            .map(|(id, step)| Section::new(id, &step.name, vec![Block::Table(of_step(step))]).at(level)),
    );
    Document {
        title: headline(view),
        kind: "import",
        runs: vec![view.id.clone()],
        found: Vec::new(),
        intro: origin(view),
        warnings: Vec::new(),
        sections,
        command: None,
        footer: closing(view),
    }
}

/// Whether every version stands at most once in each test, so that a version names a row.
fn is_plain(view: &ImportView) -> bool {
    view.steps.iter().flat_map(|step| &step.rows).all(|row| view.subjects.contains(&row.subject))
}

fn ratio(step: &StepView, subject: &str) -> Option<f64> {
    let row = step.rows.iter().find(|row| row.subject == subject)?;
    row.relative_rate.filter(|ratio| ratio.is_finite())
}

/// Ratios of tests by versions; absent where nothing can be compared.
fn matrix(view: &ImportView, steps: &[(String, &StepView)]) -> Option<Matrix> {
    let is_worth_it = view.steps.len() >= WORTH_A_MATRIX && view.subjects.len() > 1;
    if !is_worth_it || view.compared.is_empty() || !is_plain(view) {
        return None;
    }
    let candidates = &view.subjects[1..];
    let cell = |step: &StepView, subject: &String| {
        let ratio = ratio(step, subject)?;
        Some(MatrixCell {
            text: format!("{ratio:.2}"),
            ratio: Some(ratio),
            low: None,
            high: None,
            verdict: Verdict::RatioOnly,
            confirmed: false,
            detail: "a single run: ratio only, no interval and no verdict".to_owned(),
        })
    };
    let base_value = |step: &StepView| {
        let row = step.rows.iter().find(|row| row.subject == view.base);
        let said = row.and_then(|row| Some(row.value("ops_per_s").or(row.value("us_per_op"))?.said.clone()));
        said.unwrap_or_else(|| NONE.to_owned())
    };
    Some(Matrix {
        caption: format!("Relative to {} in the same test.", view.base),
        base: view.base.clone(),
        candidates: candidates.to_vec(),
        rows: steps
            .iter()
            .map(|(id, step)| MatrixRow {
                step: step.name.clone(),
                section: Some(id.clone()),
                group: String::new(),
                base_value: base_value(step),
                cells: candidates.iter().map(|subject| cell(step, subject)).collect(),
            })
            .collect(),
        legend: "Single runs of another program: ratios without a verdict.".to_owned(),
    })
}

fn figure(view: &ImportView, ids: &mut Ids) -> Option<Figure> {
    if view.subjects.len() < 2 || view.compared.is_empty() || !is_plain(view) {
        return None;
    }
    let point = |step: &StepView, subject: &String| {
        Some(Point { value: ratio(step, subject)?, low: None, high: None })
    };
    let title = format!("Relative to {}", view.base);
    let over_versions = view.subjects.len() >= LEAST_RELEASES && view.steps.len() <= MOST_LINES;
    let chart = if over_versions {
        let lines = view.steps.iter().map(|step| Line {
            name: step.name.clone(),
            points: view.subjects.iter().map(|subject| point(step, subject)).collect(),
            changes: Vec::new(),
        });
        Chart::Releases(Releases {
            title,
            axis: "relative rate".to_owned(),
            reference: Some(1.0),
            confidence: None,
            releases: view.subjects.clone(),
            lines: lines.collect(),
        })
    } else {
        let series = view.subjects[1..].iter().map(|subject| BarSeries {
            name: subject.clone(),
            values: view.steps.iter().map(|step| point(step, subject)).collect(),
        });
        Chart::Bars(Bars {
            title,
            axis: "relative rate".to_owned(),
            reference: 1.0,
            confidence: None,
            labels: view.steps.iter().map(|step| step.name.clone()).collect(),
            series: series.collect(),
        })
    };
    Some(Figure {
        name: ids.of("relative-rate", ""),
        caption: format!("Rate over that of {} in the same test; single runs.", view.base),
        chart,
    })
}
