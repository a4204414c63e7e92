//! The only standard output, and files of reports.

use crate::cli::{Format, Output};
use anyhow::Context;
use std::io::{ErrorKind, IsTerminal, Write, stdout};

/// Writes a text to standard output; a reader that went away (`| head`) is no error.
pub fn text(text: &str) -> anyhow::Result<()> {
    let mut out = stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result.context("failed to write to standard output"),
    }
}

/// A value as JSON on standard output.
pub fn json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    let rendered = serde_json::to_string_pretty(value).context("failed to render JSON")?;
    text(&format!("{rendered}\n"))
}

/// How a report is to be rendered.
pub struct Manner {
    pub format: Format,
    pub width: usize,
    pub colour: bool,
}

/// Width of a table where no terminal tells one: what fits a code review and most logs.
const DEFAULT_WIDTH: usize = 120;

/// What the output options and the terminal ask for.
pub fn manner(output: &Output) -> Manner {
    let terminal = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    let to_terminal = output.output.is_none() && stdout().is_terminal();
    Manner {
        format: output.chosen_format(),
        width: output.width.or(terminal.filter(|_| to_terminal)).unwrap_or(DEFAULT_WIDTH),
        colour: to_terminal && std::env::var_os("NO_COLOR").is_none(),
    }
}

/// Writes a rendered report to where the output options say.
pub fn report(output: &Output, rendered: &str) -> anyhow::Result<()> {
    match &output.output {
        None => text(rendered),
        Some(path) => std::fs::write(path, rendered)
            .with_context(|| format!("failed to write the report to `{}`", path.display())),
    }
}
