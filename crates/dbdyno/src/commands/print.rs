//! The only standard output, and files of reports.

use crate::cli::{Format, Output};
use crate::exit::usage;
use anyhow::{Context, anyhow};
use std::fs::File;
use std::io::{BufWriter, ErrorKind, IsTerminal, Write, stdout};
use std::path::Path;

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
        Some(path) => file(path, rendered.as_bytes()),
    }
}

/// Writes a file of a report.
pub fn file(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    std::fs::write(path, content)
        .with_context(|| format!("failed to write the report to `{}`", path.display()))
}

/// Whether a path given by -o means a directory: one that is there, or one that is written like one.
pub fn is_directory(path: &Path) -> bool {
    path.is_dir() || (!path.exists() && path.as_os_str().as_encoded_bytes().ends_with(b"/"))
}

/// The forms that every result has.
pub enum Plain {
    Text,
    Markdown,
    Json,
}

/// The form asked for, of a result that has no other than these: `what` names it.
pub fn plain(format: Format, what: &str) -> anyhow::Result<Plain> {
    match format {
        Format::Text => Ok(Plain::Text),
        Format::Markdown => Ok(Plain::Markdown),
        Format::Json => Ok(Plain::Json),
        Format::Tsv
        | Format::Csv
        | Format::Html
        | Format::Svg
        | Format::Png
        | Format::Post
        | Format::StepSummary
        | Format::Benchstat
        | Format::Junit
        | Format::Openmetrics => {
            Err(usage(anyhow!("{what} is shown as text, markdown or json: take one of these as --format")))
        }
    }
}

/// Where much is written piece by piece: a file, or standard output.
pub struct Sink {
    out: BufWriter<Box<dyn Write>>,
    place: String,
}

impl Sink {
    /// Opens it; standard output where no file is named.
    pub fn open(file: Option<&Path>) -> anyhow::Result<Sink> {
        let (out, place): (Box<dyn Write>, String) = match file {
            None => (Box::new(stdout().lock()), "standard output".to_owned()),
            Some(path) => {
                let place = format!("`{}`", path.display());
                let file = File::create(path).with_context(|| format!("failed to write to {place}"))?;
                (Box::new(file), place)
            }
        };
        Ok(Sink { out: BufWriter::new(out), place })
    }

    /// Writes a piece.
    pub fn write(&mut self, text: &str) -> anyhow::Result<()> {
        self.out.write_all(text.as_bytes()).with_context(|| format!("failed to write to {}", self.place))
    }

    /// Writes what is left.
    pub fn close(mut self) -> anyhow::Result<()> {
        self.out.flush().with_context(|| format!("failed to write to {}", self.place))
    }
}

/// Whether an error says that nobody reads any more (`| head`), which is none.
pub fn is_reader_gone(error: &anyhow::Error) -> bool {
    let is_it = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<std::io::Error>().is_some_and(|io| io.kind() == ErrorKind::BrokenPipe)
    };
    error.chain().any(is_it)
}

/// Whether what the output options ask for can be written, before hours go by to measure it.
pub fn check(output: &Output) -> anyhow::Result<()> {
    if matches!(output.chosen_format(), Format::Svg | Format::Png) {
        named_directory(output)?;
    }
    Ok(())
}

/// The directory of charts that -o names, made where there is none.
pub fn directory(output: &Output) -> anyhow::Result<&Path> {
    let path = named_directory(output)?;
    make_directory(path)?;
    Ok(path)
}

/// Makes a directory where there is none.
pub fn make_directory(path: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(path).with_context(|| format!("failed to make `{}`", path.display()))
}

fn named_directory(output: &Output) -> anyhow::Result<&Path> {
    let Some(path) = &output.output else {
        return Err(usage(anyhow!("charts are files: name a directory by -o DIR")));
    };
    if path.exists() && !path.is_dir() {
        return Err(usage(anyhow!("`{}` is a file: charts need a directory", path.display())));
    }
    Ok(path)
}
