//! Findings in the format asked for, for the command line and for `dbdyno serve` alike. A new format is a file in here
//! and an entry of [`FORMATS`]: it is on the command line, among the links of pages and in the table of the
//! documentation then.

mod benchstat;
pub mod html;
mod jira;
mod junit;
pub(crate) mod layout;
mod markdown;
mod markup;
mod matrix_grid;
mod matrix_table;
mod openmetrics;
mod post;
pub(crate) mod separated;
mod sheet;
mod step_summary;
pub(crate) mod text;
mod together;

use crate::charts::{self, Chart};
use crate::contract;
use crate::document::{Block, Document, Figure, Table};
use crate::{bisection, build_noise, calibration, comparison, explanation, history, hosts, import};
use findings::{ComparedRun, Finding};
use post::Illustration;
use std::collections::BTreeSet;
pub use text::TextOptions;

/// A format of reports.
#[derive(Debug)]
pub struct Format {
    /// As `--format` has it.
    pub name: &'static str,
    /// What `--help` says of it.
    pub help: &'static str,
    /// How the address of it ends in `dbdyno serve`; absent of what is more than one file.
    pub ending: Option<&'static str>,
    pub media_type: &'static str,
    make: Make,
}

/// What a format is made from.
#[derive(Debug)]
enum Make {
    /// A document; those of several findings stand one after another.
    Each(fn(&Document, &Options) -> String),
    /// One document of all.
    Together(fn(&Document) -> String),
    /// A document, with its charts in a directory if one is given.
    Post,
    /// The charts of a document, each in a file with this ending.
    Charts(&'static str, fn(&Chart) -> Result<Vec<u8>, charts::png::PngError>),
    /// The table for spreadsheets, of one finding.
    Table(fn(&Table) -> String),
    /// One object, or an array of those of several findings.
    Json,
    /// The verdicts of comparisons.
    Verdicts(fn(&[&ComparedRun], &Options) -> String),
}

/// All of them, in the order of `--help`.
pub static FORMATS: &[Format] = &[
    Format {
        name: "text",
        help: "Tables for a terminal",
        ending: Some("txt"),
        media_type: TEXT,
        make: Make::Each(|document, options| text::render(document, options.text)),
    },
    Format {
        name: "markdown",
        help: "GitHub Markdown, for an issue or a pull request",
        ending: Some("md"),
        media_type: MARKDOWN,
        make: Make::Each(|document, _| markdown::render(document)),
    },
    Format {
        name: "jira",
        help: "Jira's wiki markup, for an issue of MariaDB or MyRocks",
        ending: Some("jira.txt"),
        media_type: TEXT,
        make: Make::Each(|document, options| jira::render(document, options.text.detail)),
    },
    Format {
        name: "json",
        help: "One object for scripts, its keys in docs/json.md",
        ending: Some("json"),
        media_type: "application/json",
        make: Make::Json,
    },
    Format {
        name: "tsv",
        help: "A line for each step and subject under Small Datum's column names, tab separated",
        ending: Some("tsv"),
        media_type: TEXT,
        make: Make::Table(separated::tsv),
    },
    Format {
        name: "csv",
        help: "The same, comma separated",
        ending: Some("csv"),
        media_type: "text/csv; charset=utf-8",
        make: Make::Table(separated::csv),
    },
    Format {
        name: "sheet",
        help: "Relative rates as Small Datum's sheets have them: releases as columns from col-1, the base",
        ending: Some("sheet.tsv"),
        media_type: TEXT,
        make: Make::Verdicts(|runs, _| {
            runs.iter().map(|run| sheet::render(run)).collect::<Vec<_>>().join("\n")
        }),
    },
    Format {
        name: "html",
        help: "One self-contained page",
        ending: Some("html"),
        media_type: "text/html; charset=utf-8",
        make: Make::Together(html::render),
    },
    Format {
        name: "svg",
        help: "The charts as files in the directory given by -o",
        ending: None,
        media_type: "image/svg+xml",
        make: Make::Charts("svg", |chart| Ok(charts::svg::file(chart).into_bytes())),
    },
    Format {
        name: "png",
        help: "The same as images",
        ending: None,
        media_type: "image/png",
        make: Make::Charts("png", charts::png::render),
    },
    Format {
        name: "post",
        help: "A blog post in Markdown: tl;dr, builds, hardware, benchmark, results",
        ending: Some("post.md"),
        media_type: MARKDOWN,
        make: Make::Post,
    },
    Format {
        name: "step-summary",
        help: "Markdown for the summary of a GitHub job: the verdict first, the rest folded",
        ending: Some("summary.md"),
        media_type: MARKDOWN,
        make: Make::Each(|document, options| step_summary::render(document, options.most_bytes)),
    },
    Format {
        name: "benchstat",
        help: "Text in the layout of Go's benchstat",
        ending: Some("benchstat.txt"),
        media_type: TEXT,
        make: Make::Verdicts(|runs, _| {
            runs.iter().map(|run| benchstat::render(run)).collect::<Vec<_>>().join("\n")
        }),
    },
    Format {
        name: "junit",
        help: "JUnit XML: a test case for each step and candidate",
        ending: Some("junit.xml"),
        media_type: "application/xml",
        make: Make::Verdicts(|runs, options| junit::render(runs, options.threshold)),
    },
    Format {
        name: "openmetrics",
        help: "OpenMetrics text for a scraper",
        ending: Some("openmetrics.txt"),
        media_type: TEXT,
        make: Make::Verdicts(|runs, _| openmetrics::render(runs)),
    },
];

const TEXT: &str = "text/plain; charset=utf-8";
const MARKDOWN: &str = "text/markdown; charset=utf-8";

/// The name of a post in its directory.
const POST: &str = "post.md";

impl Format {
    /// That of this name.
    pub fn named(name: &str) -> Option<&'static Format> {
        FORMATS.iter().find(|format| format.name == name)
    }

    /// That of the address with this ending.
    pub fn with_ending(ending: &str) -> Option<&'static Format> {
        FORMATS.iter().find(|format| format.ending == Some(ending))
    }

    /// Whether it shows comparisons and nothing else.
    pub fn is_of_comparisons(&self) -> bool {
        matches!(self.make, Make::Verdicts(_))
    }

    /// Whether a finding can be shown in it.
    pub fn is_of(&self, finding: &Finding) -> bool {
        !self.is_of_comparisons() || matches!(finding, Finding::Comparison(_))
    }

    /// Whether it is the table of one finding.
    pub fn is_table(&self) -> bool {
        matches!(self.make, Make::Table(_))
    }

    /// Whether it always is several files.
    pub fn is_files(&self) -> bool {
        matches!(self.make, Make::Charts(..))
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Format) -> bool {
        self.name == other.name
    }
}

impl Eq for Format {}

/// How findings are shown.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    pub text: TextOptions,
    /// A regression counts when it is larger than this (0.02 is 2 %); the margin of the run if absent.
    pub threshold: Option<f64>,
    /// Whether there is a directory, which may take more than one file.
    pub into_directory: bool,
    /// The most that a summary of a job may have, in bytes.
    pub most_bytes: usize,
    /// Whether a matrix of many candidates has the interval of each ratio.
    pub intervals: bool,
}

impl Options {
    /// Without a threshold, as one file.
    pub fn new(text: TextOptions) -> Options {
        Options {
            text,
            threshold: None,
            into_directory: false,
            most_bytes: step_summary::MOST_BYTES,
            intervals: false,
        }
    }
}

/// What a format is of findings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    Text(String),
    /// Names without a directory, no two alike, and what is in each.
    Files(Vec<(String, Vec<u8>)>),
}

/// Why there is no such output.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// Of the kind of finding.
    #[error("{format} shows comparisons alone, and this is a {kind}: take one of {}", has.join(", "))]
    NotOfKind { kind: &'static str, format: &'static str, has: Vec<&'static str> },
    #[error("a table is of one run: name one, or take `dbdyno export` for several")]
    TableOfSeveral,
    #[error("there is no chart in this report: nothing of it can be drawn")]
    NoCharts,
    #[error("failed to draw `{file}`")]
    Chart { file: String, source: charts::png::PngError },
    #[error("failed to render JSON")]
    Json(#[from] serde_json::Error),
}

impl RenderError {
    /// Whether another format or another run would do.
    pub fn is_of_what_was_asked(&self) -> bool {
        match self {
            RenderError::NotOfKind { .. } | RenderError::TableOfSeveral | RenderError::NoCharts => true,
            RenderError::Chart { .. } | RenderError::Json(_) => false,
        }
    }
}

/// Findings, at least one, in a format.
///
/// # Errors
/// See [`RenderError`].
pub fn render(findings: &[Finding], format: &Format, options: &Options) -> Result<Output, RenderError> {
    if let Some(other) = findings.iter().find(|finding| !format.is_of(finding)) {
        return Err(RenderError::NotOfKind {
            kind: kind(other),
            format: format.name,
            has: FORMATS.iter().filter(|format| format.is_of(other)).map(|format| format.name).collect(),
        });
    }
    let document = |finding: &Finding| with_intervals(document(finding), options.intervals);
    let documents = || findings.iter().map(document).collect::<Vec<Document>>();
    let several = findings.len().max(1);
    Ok(Output::Text(match &format.make {
        Make::Each(layout) => {
            let each = findings.iter().map(|finding| {
                // Only comparisons are so long that their text leaves anything out.
                let detail = options.text.detail || !matches!(finding, Finding::Comparison(_));
                let text = TextOptions { detail, ..options.text };
                let options = Options { text, most_bytes: options.most_bytes / several - 1, ..*options };
                layout(&document(finding), &options)
            });
            each.collect::<Vec<_>>().join("\n")
        }
        Make::Together(layout) => layout(&together::document(documents())),
        Make::Post if options.into_directory => {
            return Ok(Output::Files(post_with_charts(&together::document(documents()))));
        }
        Make::Post => {
            documents().iter().map(|document| post::render(document, &[])).collect::<Vec<_>>().join("\n")
        }
        Make::Charts(ending, draw) => {
            return drawn(&together::document(documents()), ending, *draw).map(Output::Files);
        }
        Make::Table(layout) => match findings {
            [one] => layout(&table(one)),
            parts if parts.iter().all(is_part) => {
                parts.iter().map(|part| layout(&table(part))).collect::<Vec<_>>().join("\n")
            }
            _ => return Err(RenderError::TableOfSeveral),
        },
        Make::Json => all_json(findings)?,
        Make::Verdicts(layout) => {
            let runs = findings.iter().filter_map(|finding| match finding {
                Finding::Comparison(run) => Some(run.as_ref()),
                _ => None,
            });
            layout(&runs.collect::<Vec<_>>(), options)
        }
    }))
}

/// Several documents as one.
#[cfg(test)]
pub(crate) fn joined(documents: Vec<Document>) -> Document {
    together::document(documents)
}

/// Whether it is one of several whose tables have the same columns: the runs of a workload whose steps were measured by the design that suits
/// each, and what was found on several hosts in each workload.
fn is_part(finding: &Finding) -> bool {
    match finding {
        Finding::Comparison(run) => !run.view.conditions.steps_of_other_run.is_empty(),
        Finding::Hosts(_) => true,
        _ => false,
    }
}

/// The word for a kind: `comparison`.
pub fn kind(finding: &Finding) -> &'static str {
    match finding {
        Finding::Comparison(_) => "comparison",
        Finding::Calibration(_) => "calibration",
        Finding::BuildNoise(_) => "build noise",
        Finding::History(_) => "history",
        Finding::Hosts(_) => "comparison on several hosts",
        Finding::Bisection(_) => "bisection",
        Finding::Explanation(_) => "explanation",
        Finding::Import(_) => "import",
    }
}

/// A finding before any layout.
pub fn document(finding: &Finding) -> Document {
    match finding {
        Finding::Comparison(run) => comparison::document(run),
        Finding::Calibration(view) => calibration::document(view),
        Finding::BuildNoise(view) => build_noise::document(view),
        Finding::History(view) => history::document(view),
        Finding::Hosts(view) => hosts::document(view),
        Finding::Bisection(view) => bisection::document(view),
        Finding::Explanation(view) => explanation::document(view),
        Finding::Import(view) => import::document(view),
    }
}

/// A document whose matrices have intervals, if they are asked for.
fn with_intervals(mut document: Document, asked_for: bool) -> Document {
    for block in document.sections.iter_mut().flat_map(|section| &mut section.blocks) {
        if let Block::Matrix(matrix) = block {
            matrix.intervals |= asked_for;
        }
    }
    document
}

/// A finding as one object with a line break at its end.
///
/// # Errors
/// None that a view can cause: a number that JSON cannot hold is left out.
pub fn json(finding: &Finding) -> Result<String, serde_json::Error> {
    contract::text(match finding {
        Finding::Comparison(run) => comparison::json(&run.view),
        Finding::Calibration(view) => calibration::json(view),
        Finding::BuildNoise(view) => build_noise::json(view),
        Finding::History(view) => history::json(view),
        Finding::Hosts(view) => hosts::json(view),
        Finding::Bisection(view) => serde_json::to_value(&view.found)?,
        Finding::Explanation(view) => explanation::json(view),
        Finding::Import(view) => import::json(view),
    })
}

/// A finding as a table for spreadsheets: all digits, what is absent a dash.
pub fn table(finding: &Finding) -> Table {
    match finding {
        Finding::Comparison(run) => comparison::table(&run.view),
        Finding::Calibration(view) => calibration::table(view),
        Finding::BuildNoise(view) => build_noise::table(view),
        Finding::History(view) => history::table(view),
        Finding::Hosts(view) => hosts::table(view),
        Finding::Bisection(view) => bisection::table(view),
        Finding::Explanation(view) => explanation::table(view),
        Finding::Import(view) => import::table(view),
    }
}

/// One object; of several findings an array of them.
fn all_json(findings: &[Finding]) -> Result<String, serde_json::Error> {
    let objects: Vec<String> = findings.iter().map(json).collect::<Result<_, _>>()?;
    Ok(match objects.as_slice() {
        [one] => one.clone(),
        several => {
            let trimmed: Vec<&str> = several.iter().map(|object| object.trim_end()).collect();
            format!("[\n{}\n]\n", trimmed.join(",\n"))
        }
    })
}

fn post_with_charts(document: &Document) -> Vec<(String, Vec<u8>)> {
    let charts = named_figures(document, "svg");
    let illustration = |(file, figure): &(String, &Figure)| Illustration {
        file: file.clone(),
        caption: figure.caption.clone(),
    };
    let text = post::render(document, &charts.iter().map(illustration).collect::<Vec<_>>());
    let drawn =
        charts.into_iter().map(|(file, figure)| (file, charts::svg::file(&figure.chart).into_bytes()));
    std::iter::once((POST.to_owned(), text.into_bytes())).chain(drawn).collect()
}

fn drawn(
    document: &Document,
    ending: &str,
    draw: fn(&Chart) -> Result<Vec<u8>, charts::png::PngError>,
) -> Result<Vec<(String, Vec<u8>)>, RenderError> {
    let figures = named_figures(document, ending);
    if figures.is_empty() {
        return Err(RenderError::NoCharts);
    }
    let file = |(file, figure): (String, &Figure)| match draw(&figure.chart) {
        Ok(content) => Ok((file, content)),
        Err(source) => Err(RenderError::Chart { file, source }),
    };
    figures.into_iter().map(file).collect()
}

/// The charts of a document with the names of their files: no two alike, and none that leaves its directory.
fn named_figures<'a>(document: &'a Document, ending: &str) -> Vec<(String, &'a Figure)> {
    let mut taken = BTreeSet::new();
    let mut named = Vec::new();
    for block in document.blocks() {
        let Block::Figure(figure) = block else { continue };
        let name = file_name(&figure.name);
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        let name = std::iter::once(name.clone()).chain(numbered).find(|name| !taken.contains(name));
        let name = name.unwrap_or_default();
        taken.insert(name.clone());
        named.push((format!("{name}.{ending}"), figure));
    }
    named
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

    #[test]
    fn no_two_formats_have_one_name_or_one_address() {
        let names: BTreeSet<&str> = FORMATS.iter().map(|format| format.name).collect();
        assert_eq!(names.len(), FORMATS.len());
        let endings: Vec<&str> = FORMATS.iter().filter_map(|format| format.ending).collect();
        assert_eq!(endings.iter().collect::<BTreeSet<_>>().len(), endings.len());
    }
}
