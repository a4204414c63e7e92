//! Runs in the form asked for: which view, which layout. What stands in a report is made in the crate `report`.

use crate::cli::{Format, Output};
use crate::commands::print::{self, Manner, Plain};
use crate::exit::usage;
use anyhow::{Context, anyhow};
use model::plan::Purpose;
use model::record::RunRecord;
use report::campaign::CampaignView;
use report::charts::Chart;
use report::document::{Block, Document, Figure};
use report::post::Illustration;
use report::selection::Selection;
use report::text::TextOptions;
use report::verdicts::{self, RunVerdicts};
use report::view::ReportView;
use report::{junit, openmetrics, post, together};
use std::collections::BTreeSet;
use store::Store;

/// A run, ready to be shown.
pub struct Shown {
    /// Of what is shown.
    pub record: RunRecord,
    pub view: View,
}

/// The view of a run, by what it is for.
pub enum View {
    Comparison(Box<ReportView>),
    Campaign(Box<CampaignView>),
}

/// How runs are shown.
pub struct Wanted<'a> {
    pub output: &'a Output,
    /// All columns of all steps, where the run is a campaign.
    pub detail: bool,
    /// A regression counts when it is larger than this (0.02 is 2 %); the margin of the run where absent.
    pub threshold: Option<f64>,
}

impl Shown {
    /// The view of a run, of all of it or of a selection.
    pub fn new(store: &Store, record: RunRecord, selection: &Selection) -> anyhow::Result<Shown> {
        let view = match record.plan.purpose {
            Purpose::Campaign => View::Campaign(Box::new(report::campaign::build(&record))),
            Purpose::Compare | Purpose::Calibrate => {
                let calibration = calibration_of(store, &record)?;
                View::Comparison(Box::new(report::build(&record, calibration.as_ref())))
            }
        };
        let part = selection.of(record).map_err(usage)?;
        let view = match view {
            View::Comparison(view) => View::Comparison(Box::new(part.of_comparison(*view))),
            View::Campaign(view) => View::Campaign(Box::new(part.of_campaign(*view))),
        };
        Ok(Shown { record: part.record, view })
    }

    pub fn verdicts(&self) -> RunVerdicts<'_> {
        match &self.view {
            View::Comparison(view) => verdicts::of_comparison(view),
            View::Campaign(view) => verdicts::of_campaign(view),
        }
    }

    fn document(&self, store: &Store) -> anyhow::Result<Document> {
        let host = store.host_samples(&self.record.id)?;
        Ok(match &self.view {
            View::Comparison(view) => report::comparison_document(view, &self.record, &host),
            View::Campaign(view) => report::campaign::document(view, &self.record, &host),
        })
    }
}

/// The last calibration of the host that a run was made on, in the same boot and by the same version.
pub fn calibration_of(store: &Store, record: &RunRecord) -> anyhow::Result<Option<RunRecord>> {
    let id = store.last_calibration(&record.host.boot_id, &record.plan.tool_version)?;
    Ok(id.map(|id| store.load_run(&id)).transpose()?)
}

/// Shows runs that may stand beside each other, at least one, to where the output options say.
pub fn show(store: &Store, runs: &[Shown], wanted: &Wanted<'_>) -> anyhow::Result<()> {
    let manner = print::manner(wanted.output);
    let each = |layout: &dyn Fn(&Shown) -> String| runs.iter().map(layout).collect::<Vec<_>>().join("\n");
    let text = match manner.format {
        Format::Text => each(&|shown| text(shown, &manner, wanted.detail)),
        Format::Markdown => each(&markdown),
        Format::Benchstat => each(&benchstat),
        Format::StepSummary => {
            let most = report::step_summary::MOST_BYTES / runs.len().max(1) - 1;
            each(&|shown| step_summary(shown, most))
        }
        Format::Json => json(runs)?,
        Format::Tsv => tsv(only(runs)?),
        Format::Csv => csv(only(runs)?),
        Format::Junit => junit::render(&judged(runs, wanted)),
        Format::Openmetrics => openmetrics::render(&runs.iter().map(Shown::verdicts).collect::<Vec<_>>()),
        Format::Html => return show_drawn(&document(store, runs)?, Drawn::Page, wanted.output),
        Format::Svg => return show_drawn(&document(store, runs)?, Drawn::Svg, wanted.output),
        Format::Png => return show_drawn(&document(store, runs)?, Drawn::Png, wanted.output),
        Format::Post => return show_posts(store, runs, wanted.output),
    };
    print::report(wanted.output, &text)
}

/// A form that is drawn from a document.
#[derive(Debug, Clone, Copy)]
pub enum Drawn {
    Page,
    Svg,
    Png,
}

impl Drawn {
    /// The form asked for, where it is one of these.
    pub fn of(format: Format) -> Option<Drawn> {
        match format {
            Format::Html => Some(Drawn::Page),
            Format::Svg => Some(Drawn::Svg),
            Format::Png => Some(Drawn::Png),
            Format::Text
            | Format::Markdown
            | Format::Json
            | Format::Tsv
            | Format::Csv
            | Format::Post
            | Format::StepSummary
            | Format::Benchstat
            | Format::Junit
            | Format::Openmetrics => None,
        }
    }
}

/// Shows a document as a page, or its charts as files, to where the output options say.
pub fn show_drawn(document: &Document, drawn: Drawn, output: &Output) -> anyhow::Result<()> {
    match drawn {
        Drawn::Page => print::report(output, &report::html::render(document)),
        Drawn::Svg => {
            draw_charts(document, output, "svg", &|chart| Ok(report::charts::svg::file(chart).into_bytes()))
        }
        Drawn::Png => draw_charts(document, output, "png", &|chart| Ok(report::charts::png::render(chart)?)),
    }
}

fn only(runs: &[Shown]) -> anyhow::Result<&Shown> {
    match runs {
        [shown] => Ok(shown),
        _ => Err(usage(anyhow!("a table is of one run: name one, or take `dbdyno export` for several"))),
    }
}

fn text(shown: &Shown, manner: &Manner, detail: bool) -> String {
    let options = TextOptions { width: manner.width, colour: manner.colour };
    match &shown.view {
        View::Comparison(view) => report::text::render(view, options),
        View::Campaign(view) => report::campaign::text(view, options, detail),
    }
}

fn markdown(shown: &Shown) -> String {
    match &shown.view {
        View::Comparison(view) => report::markdown::render(view),
        View::Campaign(view) => report::campaign::markdown(view),
    }
}

fn benchstat(shown: &Shown) -> String {
    match &shown.view {
        View::Comparison(view) => report::benchstat::of_comparison(view, &shown.record),
        View::Campaign(view) => report::benchstat::of_campaign(view),
    }
}

fn step_summary(shown: &Shown, most_bytes: usize) -> String {
    match &shown.view {
        View::Comparison(view) => report::step_summary::of_comparison(view, most_bytes),
        View::Campaign(view) => report::step_summary::of_campaign(view, most_bytes),
    }
}

fn tsv(shown: &Shown) -> String {
    match &shown.view {
        View::Comparison(view) => report::comparison_table::tsv(view),
        View::Campaign(view) => report::campaign::tsv(view),
    }
}

fn csv(shown: &Shown) -> String {
    match &shown.view {
        View::Comparison(view) => report::comparison_table::csv(view),
        View::Campaign(view) => report::campaign::csv(view),
    }
}

/// One object; of several runs an array of them.
fn json(runs: &[Shown]) -> anyhow::Result<String> {
    let object = |shown: &Shown| match &shown.view {
        View::Comparison(view) => report::json::render(view),
        View::Campaign(view) => report::campaign::json(view),
    };
    let objects: Vec<String> =
        runs.iter().map(object).collect::<Result<_, _>>().context("failed to render JSON")?;
    Ok(match objects.as_slice() {
        [one] => one.clone(),
        several => {
            let trimmed: Vec<&str> = several.iter().map(|object| object.trim_end()).collect();
            format!("[\n{}\n]\n", trimmed.join(",\n"))
        }
    })
}

/// Runs with the threshold that each is held against.
fn judged<'a>(runs: &'a [Shown], wanted: &Wanted<'_>) -> Vec<(RunVerdicts<'a>, f64)> {
    let judged = runs.iter().map(|shown| {
        let verdicts = shown.verdicts();
        let threshold = wanted.threshold.unwrap_or(verdicts.margin);
        (verdicts, threshold)
    });
    judged.collect()
}

fn document(store: &Store, runs: &[Shown]) -> anyhow::Result<Document> {
    let documents: Vec<Document> =
        runs.iter().map(|shown| shown.document(store)).collect::<anyhow::Result<_>>()?;
    together::document(documents).ok_or_else(|| anyhow!("there is no run to show"))
}

/// For the message that names the forms that a calibration has.
const A_CALIBRATION: &str = "besides html, svg and png, a calibration";

/// Whether a calibration has the form asked for and it can be written, before hours go by to measure one.
pub fn check_calibration(output: &Output) -> anyhow::Result<()> {
    if Drawn::of(output.chosen_format()).is_none() {
        print::plain(output.chosen_format(), A_CALIBRATION)?;
    }
    print::check(output)
}

/// Shows calibrations together to where the output options say.
pub fn show_calibration(records: &[RunRecord], output: &Output) -> anyhow::Result<()> {
    let view = report::calibration::build(records).ok_or_else(|| anyhow!("no calibration was run"))?;
    let manner = print::manner(output);
    if let Some(drawn) = Drawn::of(manner.format) {
        return show_drawn(&report::calibration::document(&view), drawn, output);
    }
    let text = match print::plain(manner.format, A_CALIBRATION)? {
        Plain::Text => {
            let options = TextOptions { width: manner.width, colour: manner.colour };
            report::calibration::text(&view, options)
        }
        Plain::Markdown => report::calibration::markdown(&view),
        Plain::Json => report::calibration::json(&view).context("failed to render JSON")?,
    };
    print::report(output, &text)
}

/// The name of a post in its directory.
const POST: &str = "post.md";

/// Posts as text; in a directory, with their charts as files.
fn show_posts(store: &Store, runs: &[Shown], output: &Output) -> anyhow::Result<()> {
    let directory = output.output.as_ref().filter(|path| print::is_directory(path));
    let Some(directory) = directory else {
        let texts: Vec<String> = runs.iter().map(|shown| a_post(shown, &[])).collect();
        return print::report(output, &texts.join("\n"));
    };
    let [shown] = runs else {
        return Err(usage(anyhow!("a post with its charts is of one run: name one")));
    };
    print::make_directory(directory)?;
    let document = shown.document(store)?;
    let charts = named_figures(&document, "svg");
    for (file, figure) in &charts {
        let content = report::charts::svg::file(&figure.chart);
        print::file(&directory.join(file), content.as_bytes())?;
    }
    let illustrations: Vec<Illustration> = charts
        .into_iter()
        .map(|(file, figure)| Illustration { file, caption: figure.caption.clone() })
        .collect();
    print::file(&directory.join(POST), a_post(shown, &illustrations).as_bytes())
}

fn a_post(shown: &Shown, charts: &[Illustration]) -> String {
    match &shown.view {
        View::Comparison(view) => post::of_comparison(view, &shown.record, charts),
        View::Campaign(view) => post::of_campaign(view, &shown.record, charts),
    }
}

/// Every chart as a file of the directory given by -o.
fn draw_charts(
    document: &Document,
    output: &Output,
    ending: &str,
    draw: &dyn Fn(&Chart) -> anyhow::Result<Vec<u8>>,
) -> anyhow::Result<()> {
    let directory = print::directory(output)?;
    let figures = named_figures(document, ending);
    if figures.is_empty() {
        return Err(usage(anyhow!("there is no chart in this report: nothing of it can be drawn")));
    }
    for (file, figure) in figures {
        let content = draw(&figure.chart).with_context(|| format!("failed to draw `{file}`"))?;
        print::file(&directory.join(file), &content)?;
    }
    Ok(())
}

/// The charts of a document with the names of their files: no two alike, and none that leaves its directory.
fn named_figures<'a>(document: &'a Document, ending: &str) -> Vec<(String, &'a Figure)> {
    let blocks = document.sections.iter().flat_map(|section| &section.blocks);
    let figures = blocks.filter_map(|block| match block {
        Block::Figure(figure) => Some(figure),
        Block::Paragraph(_)
        | Block::Items(_)
        | Block::Table(_)
        | Block::Matrix(_)
        | Block::Timeline(_)
        | Block::Verbatim(_) => None,
    });
    let mut taken = BTreeSet::new();
    figures
        .map(|figure| {
            let name = file_name(&figure.name);
            let numbered = (2..).map(|number| format!("{name}-{number}"));
            let name = std::iter::once(name.clone()).chain(numbered).find(|name| !taken.contains(name));
            let name = name.unwrap_or_default();
            taken.insert(name.clone());
            (format!("{name}.{ending}"), figure)
        })
        .collect()
}

/// Longest name of a chart's file; file systems take 255 bytes.
const LONGEST_NAME: usize = 100;

/// A name as a file may have it.
fn file_name(name: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    let name: String =
        name.chars().take(LONGEST_NAME).map(|letter| if plain(letter) { letter } else { '-' }).collect();
    let name = name.trim_start_matches(['.', '-']);
    if name.is_empty() { "chart".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_of_a_chart_leaves_its_directory() {
        assert_eq!(file_name("relative-rate-range-1"), "relative-rate-range-1");
        assert_eq!(file_name("../../etc/passwd"), "etc-passwd");
        assert_eq!(file_name("a/b\nc"), "a-b-c");
        assert_eq!(file_name("..."), "chart");
        assert_eq!(file_name(&"x".repeat(10_000)).len(), LONGEST_NAME);
    }
}
