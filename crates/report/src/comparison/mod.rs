//! A comparison as a document, as JSON and as a table for spreadsheets, whatever its design.

mod background_rates;
mod changes;
mod charts;
mod columns;
mod courses;
mod depths;
pub(crate) mod differs;
mod found;
mod groups;
pub(crate) mod json;
mod matrix;
mod sentences;
mod stalls;
mod sweeps;
mod table;
mod tables;

pub use found::found;
pub(crate) use found::{summary, verdict_words};
pub use json::json;
pub(crate) use sentences::{cautions, disturbed, host_line, run_line};
pub use table::table;

use crate::document::{Block, Document, Level, Notice, PostPart, Section, Table};
use crate::documents::ids::Ids;
use crate::documents::{self, latency, series, setup};
use crate::query_plans;
use findings::comparison::{ControlVerdict, GroupRow, Repeats, StepView, SubjectView};
use findings::query_plans::PlanChange;
use findings::{ComparedRun, Comparison};
use model::figures::{and_list, count};
use model::metric::ColumnGroup;
use model::plan::Purpose;
use model::workload::Group;

/// More cases than these are more than a reader takes in at once: then a table says what to look at first.
const MANY_CASES: usize = 8;
/// Rows of that table.
const MOST_FIRST: usize = 15;

/// The document of a comparison.
pub fn document(run: &ComparedRun) -> Document {
    let view = &run.view;
    let mut ids = Ids::default();
    let steps: Vec<(String, &StepView)> =
        view.steps.iter().map(|step| (ids.of("step", &step.name), step)).collect();
    let mut sections = vec![overview(view, &steps, &mut ids)];
    let alone = view.candidates().len() == 1;
    let mut of_candidates: Vec<Section> =
        view.candidates().iter().map(|one| candidate(view, one, &mut ids)).collect();
    // Of one candidate its table is what everybody looks for; of several the matrix is.
    if alone {
        sections.append(&mut of_candidates);
    } else {
        sections.extend(rates(view));
    }
    sections.extend(background_rates::sections(view));
    sections.extend(depths::section(run, &mut ids));
    sections.extend(sweeps::section(view, &mut ids));
    sections.extend(plan_changes(view));
    sections.extend(courses::section(view));
    sections.extend(stalls::section(run));
    sections.extend(changes_section(view));
    sections.extend(groups(view));
    sections.append(&mut of_candidates);
    sections.extend(differs(view));
    sections.extend(trees(view));
    sections.extend(trials(view));
    sections.extend(columns(view));
    sections.extend(steps.iter().map(|(id, step)| one_step(id, step, run, &mut ids)));
    sections.extend(documents::host::section(&run.host, &run.record.host, &mut ids));
    sections.extend(setup::sections(&run.record, &view.run.again));
    sections.extend(setup::raw_output(&run.record));
    let mut intro = vec![sentences::headline(view), sentences::run_line(view)];
    intro.extend(sentences::design(view));
    intro.push(sentences::conditions(view));
    intro.push(sentences::trials(view));
    intro.extend(sentences::excluded_launches(view));
    intro.extend(view.control.as_ref().map(|control| sentences::control(view, control)));
    let mut footer = vec![host_line(&view.host)];
    footer.extend(view.fingerprint.as_ref().map(sentences::fingerprint));
    footer.extend(view.cost.as_ref().map(|cost| sentences::cost(cost, view.of_servers)));
    footer.push(sentences::again(view));
    Document {
        title: title(view),
        kind: view.run.purpose.word(),
        runs: vec![view.run.id.clone()],
        found: found(view),
        intro,
        warnings: warnings(view),
        sections,
        command: Some(view.run.again.command.clone()),
        footer,
    }
}

/// More candidates than these are counted.
const MOST_IN_TITLE: usize = 3;

fn title(view: &Comparison) -> String {
    let candidates: Vec<String> = view.candidates().iter().map(|one| one.subject.clone()).collect();
    match (&view.run.name, candidates.len()) {
        (Some(name), _) if view.run.purpose == Purpose::Campaign => name.clone(),
        (_, few) if few <= MOST_IN_TITLE => format!("{} against {}", and_list(&candidates), view.base),
        (_, many) => {
            format!(
                "{}: {} against {}",
                view.run.workload,
                count(many as u64, "candidate", "candidates"),
                view.base
            )
        }
    }
}

fn warnings(view: &Comparison) -> Vec<Notice> {
    let of_run = view.warnings.iter().map(|one| Notice {
        id: one.warning.id().to_owned(),
        step: one.step.clone(),
        text: one.warning.to_string(),
    });
    let left_out = sentences::left_out(view).into_iter().map(|text| Notice::of_all("left-out", text));
    let failed = (view.trials.failed > 0).then(|| {
        let failed = count(u64::from(view.trials.failed), "trial", "trials");
        Notice::of_all("failed-trials", format!("{failed} failed; Trials says why"))
    });
    let differ = view.control.as_ref().filter(|control| control.verdict == ControlVerdict::Differ);
    let differ = differ.map(|control| Notice::of_all("control-differs", sentences::control(view, control)));
    of_run.chain(left_out).chain(failed).chain(differ).collect()
}

/// The whole at a glance: a matrix, what to look at first, charts.
fn overview(view: &Comparison, steps: &[(String, &StepView)], ids: &mut Ids) -> Section {
    let matrix = matrix::matrix(view, steps);
    let mut blocks = Vec::new();
    if !matrix.rows.is_empty() {
        blocks.push(Block::Matrix(matrix));
    }
    if view.cases().count() > MANY_CASES {
        blocks.extend(tables::first(view, MOST_FIRST).map(Block::Table));
    }
    blocks.extend(found::discovered(view).map(Block::Paragraph));
    blocks.extend(charts::over_releases(view, ids).into_iter().map(Block::Figure));
    blocks.extend(charts::bars(view, ids).into_iter().map(Block::Figure));
    Section::new("overview", "Overview", blocks).in_post(PostPart::Results)
}

/// The rates themselves, step by subject.
fn rates(view: &Comparison) -> Option<Section> {
    let table = tables::rates(view)?;
    Some(Section::new("rates", "QPS", vec![Block::Table(table)]).at(Level::Folded).in_post(PostPart::Results))
}

fn changes_section(view: &Comparison) -> Option<Section> {
    if view.searched_series == 0 {
        return None;
    }
    let mut found: Vec<String> =
        changes::ordered(view).into_iter().map(|change| changes::sentence(change, view)).collect();
    found.extend(view.trends.iter().map(|trend| changes::trend(trend, view)));
    if found.is_empty() {
        found.push("none: no release of a series differs from those before it".to_owned());
    }
    let blocks = vec![Block::Items(found), Block::Paragraph(changes::legend(view))];
    Some(Section::new("changes", "What changed at which release", blocks).in_post(PostPart::Findings))
}

/// Groups of steps: in short where there are several candidates, in full in detail.
fn groups(view: &Comparison) -> Vec<Section> {
    let several = view.candidates().len() > 1;
    let means = several.then(|| groups::group_means(view)).flatten();
    let section = |id: &str, title: &str, blocks| Section::new(id, title, blocks).in_post(PostPart::Results);
    let mut sections: Vec<Section> = means
        .map(|table| section("groups", "Groups of steps", vec![Block::Table(table)]))
        .into_iter()
        .collect();
    let label = |row: &GroupRow| match several {
        true => view.label(row.side).to_owned(),
        false => format!("{}, {} steps", row.group.name(), row.members),
    };
    let of = |is: &dyn Fn(&GroupRow) -> bool| -> Vec<(String, &GroupRow)> {
        view.groups.iter().filter(|row| is(row)).map(|row| (label(row), row)).collect()
    };
    // A group of one step says nothing that the step does not.
    let mut blocks: Vec<Block> = Vec::new();
    let mut add = |title: &str, rows: Vec<(String, &GroupRow)>| {
        if rows.iter().any(|(_, row)| row.members > 1) {
            blocks.push(Block::Table(groups::groups(title, &rows)));
            blocks.extend(groups::extremes(&rows).map(Block::Paragraph));
        }
    };
    if several {
        for group in Group::ALL.iter().copied() {
            add(&format!("group {}", group.name()), of(&|row| row.group == group));
        }
    } else {
        add("group", of(&|row| row.members > 1));
    }
    if !blocks.is_empty() {
        blocks.push(Block::Paragraph(groups::groups_legend(view.repeats)));
        let level = if several { Level::Folded } else { Level::Shown };
        let title = if several { "Groups in full" } else { "Groups of steps" };
        sections.push(section("groups-in-full", title, blocks).at(level));
    }
    sections
}

/// Everything that is said of one candidate.
fn candidate(view: &Comparison, subject: &SubjectView, ids: &mut Ids) -> Section {
    let mut blocks = vec![
        Block::Table(tables::candidate(view, subject.side)),
        Block::Paragraph(tables::legend_of(view, subject.side)),
    ];
    let mut notes = found::notes(view, subject.side);
    notes.extend(found::visible_changes(view, subject.side));
    if !notes.is_empty() {
        blocks.push(Block::Items(notes));
    }
    blocks.extend(tables::time(view, subject.side).map(Block::Table));
    let alone = view.candidates().len() == 1;
    let title = format!("{} against {}", subject.subject, view.base);
    let section = Section::new(ids.of("candidate", &subject.label), title, blocks);
    if alone { section.in_post(PostPart::Findings) } else { section.at(Level::Folded) }
}

/// What differs besides the code; of several candidates folded away.
fn differs(view: &Comparison) -> Option<Section> {
    let several = view.candidates().len() > 1;
    let mut blocks = Vec::new();
    for subject in view.candidates() {
        let caption = if several { format!("{}:", subject.subject) } else { String::new() };
        blocks.extend(differs::differs(&subject.differs).map(|table| Block::Table(table.captioned(caption))));
        let lists = differs::differing_lists(&subject.differs, &view.base, &subject.subject);
        blocks.extend(lists.into_iter().map(Block::Paragraph));
    }
    let level = if several { Level::Folded } else { Level::Shown };
    (!blocks.is_empty()).then(|| {
        Section::new("differs", "What differs besides the code", blocks).at(level).in_post(PostPart::Differs)
    })
}

/// Statements that run by other plans than on the base.
fn plan_changes(view: &Comparison) -> Option<Section> {
    let block = |one: &PlanChange| {
        let heading = format!("{}: ", one.step);
        query_plans::block(one, &view.base, view.name(one.side), &heading)
    };
    let blocks: Vec<Block> = view.plan_changes.iter().map(block).collect();
    (!blocks.is_empty())
        .then(|| Section::new("query-plans", "Query plans that differ", blocks).in_post(PostPart::Findings))
}

/// The trees of interleaved sides; those of rounds stand with their steps.
fn trees(view: &Comparison) -> Option<Section> {
    let rows = view.steps.iter().flat_map(|step| &step.shapes);
    let table = tables::shapes(view, rows).filter(|_| view.repeats == Repeats::Launches)?;
    let level = if view.candidates().len() > 1 { Level::Folded } else { Level::Shown };
    Some(Section::new("trees", "Trees", vec![Block::Table(table)]).at(level))
}

/// Trials that are not done, or do not count.
fn trials(view: &Comparison) -> Option<Section> {
    let reasons = sentences::trial_reasons(view);
    (!reasons.is_empty())
        .then(|| Section::new("trials", "Trials", vec![Block::Items(reasons)]).in_post(PostPart::Findings))
}

/// What the columns of the steps mean.
fn columns(view: &Comparison) -> Option<Section> {
    let any = view.steps.iter().any(|step| !step.columns.is_empty());
    let legend = vec![Block::Paragraph(columns::columns_legend())];
    any.then(|| Section::new("columns", "Columns of the steps", legend).at(Level::Folded))
}

/// Everything about one step.
fn one_step(id: &str, step: &StepView, run: &ComparedRun, ids: &mut Ids) -> Section {
    let ComparedRun { view, record, host } = run;
    let labels: Vec<String> = view.subjects.iter().map(|subject| subject.label.clone()).collect();
    let captioned = |caption: String| move |table: Table| Block::Table(table.captioned(caption));
    let mut blocks = Vec::new();
    match view.repeats {
        Repeats::Rounds if step.rows.is_empty() => blocks.push(Block::Paragraph(
            "No trial of this step is done; the reasons are listed under Trials.".to_owned(),
        )),
        Repeats::Rounds => {
            let groups =
                ColumnGroup::ALL.iter().copied().filter_map(|group| columns::columns(view, step, group));
            blocks.extend(groups.map(Block::Table));
            let caption = "Every metric as candidate over base, with the interval where there is one.";
            blocks.extend(columns::relative_metrics(view, step).map(captioned(caption.to_owned())));
        }
        Repeats::Launches => {
            for case in &step.cases {
                let caption = format!(
                    "{} against {}: {}.",
                    view.name(case.side),
                    view.base,
                    verdict_words(case, view.margin)
                );
                blocks.push(captioned(caption)(columns::metrics(case)));
            }
        }
    }
    blocks.extend(latency::blocks(record, &step.name, &labels, ids));
    blocks.extend(series::seconds(record, &step.name, &labels, ids).map(Block::Timeline));
    match view.repeats {
        Repeats::Rounds => {
            let during = documents::host::during_step(record, host, &step.name, &labels, ids);
            blocks.extend(during.map(Block::Timeline));
        }
        Repeats::Launches => {
            blocks.extend(series::blocks(record, &step.name, &labels, ids).map(Block::Timeline));
        }
    }
    blocks.extend(columns::tickers(view, step).map(Block::Table));
    if view.repeats == Repeats::Rounds {
        blocks.extend(tables::shapes(view, &step.shapes).map(Block::Table));
    }
    Section::new(id, step.name.clone(), blocks).at(Level::Folded)
}
