//! Findings in the format asked for, to where the output options say.

use crate::cli::Output;
use crate::commands::print;
use crate::exit::usage;
use anyhow::anyhow;
use findings::Finding;
use report::render::{self, Options, TextOptions};
use std::io::{IsTerminal, stdout};

/// How findings are shown.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    pub output: &'a Output,
    /// In text the sections too that pages fold.
    pub detail: bool,
    /// Whether the matrix of many candidates has the interval of each ratio.
    pub intervals: bool,
    /// A regression counts when it is larger than this (0.02 is 2 %); the margin of the run if absent.
    pub threshold: Option<f64>,
}

impl<'a> Wanted<'a> {
    /// In short, and held against the margin.
    pub fn of(output: &'a Output) -> Wanted<'a> {
        Wanted { output, detail: false, intervals: false, threshold: None }
    }
}

/// Shows findings that may stand beside each other, at least one.
pub fn show(findings: &[Finding], wanted: Wanted<'_>) -> anyhow::Result<()> {
    let Output { output: path, .. } = wanted.output;
    let options = Options {
        threshold: wanted.threshold,
        intervals: wanted.intervals,
        into_directory: path.as_deref().is_some_and(print::is_directory),
        ..Options::new(text_options(wanted))
    };
    let rendered = render::render(findings, wanted.output.chosen_format(), &options);
    match rendered.map_err(|error| if error.is_of_what_was_asked() { usage(error) } else { error.into() })? {
        render::Output::Text(text) => print::report(wanted.output, &text),
        render::Output::Files(files) => {
            let directory = print::directory(wanted.output)?;
            files.iter().try_for_each(|(name, content)| print::file(&directory.join(name), content))
        }
    }
}

/// Width of a table where no terminal tells one: what fits a code review and most logs.
const DEFAULT_WIDTH: usize = 120;

fn text_options(wanted: Wanted<'_>) -> TextOptions {
    let to_terminal = wanted.output.output.is_none() && stdout().is_terminal();
    TextOptions {
        width: if to_terminal {
            width(wanted.output.width)
        } else {
            wanted.output.width.unwrap_or(DEFAULT_WIDTH)
        },
        colour: to_terminal && std::env::var_os("NO_COLOR").is_none(),
        detail: wanted.detail,
    }
}

/// Columns of text on standard output: as asked for, else the terminal's.
pub fn width(asked: Option<usize>) -> usize {
    let terminal = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    asked.or(terminal.filter(|_| stdout().is_terminal())).unwrap_or(DEFAULT_WIDTH)
}

/// Whether a kind of finding has the format asked for and it can be written, before hours go by to measure one.
pub fn check(output: &Output, is_comparison: bool) -> anyhow::Result<()> {
    let format = output.chosen_format();
    if !is_comparison && format.is_of_comparisons() {
        let has = render::FORMATS.iter().filter(|format| !format.is_of_comparisons());
        let has: Vec<&str> = has.map(|format| format.name).collect();
        return Err(usage(anyhow!(
            "{} shows comparisons alone: take one of {}",
            format.name,
            has.join(", ")
        )));
    }
    if format.is_files() {
        print::named_directory(output)?;
    }
    Ok(())
}
