//! The only standard output, and files of reports.

use crate::cli::Output;
use crate::commands::output_file::OutputFile;
use crate::exit::usage;
use anyhow::{Context, anyhow};
use std::io::{BufWriter, ErrorKind, StdoutLock, Write, stdout};
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

/// Writes a rendered report to where the output options say.
pub fn report(output: &Output, rendered: &str) -> anyhow::Result<()> {
    match &output.output {
        None => text(rendered),
        Some(path) => file(path, rendered.as_bytes()),
    }
}

/// Writes a file of a report.
pub fn file(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    let mut file = OutputFile::create(path)?;
    file.write(content)?;
    file.finish()
}

/// Whether a path given by -o means a directory: one that is there, or one that is written like one.
pub fn is_directory(path: &Path) -> bool {
    path.is_dir() || (!path.exists() && path.as_os_str().as_encoded_bytes().ends_with(b"/"))
}

/// Where much is written piece by piece: a file, or standard output.
pub enum Sink {
    File(OutputFile),
    StandardOutput(BufWriter<StdoutLock<'static>>),
}

impl Sink {
    /// Opens it; standard output where no file is named.
    pub fn open(file: Option<&Path>) -> anyhow::Result<Sink> {
        match file {
            None => Ok(Sink::StandardOutput(BufWriter::new(stdout().lock()))),
            Some(path) => OutputFile::create(path).map(Sink::File),
        }
    }

    /// Writes a piece.
    pub fn write(&mut self, text: &str) -> anyhow::Result<()> {
        match self {
            Sink::File(file) => file.write(text.as_bytes()),
            Sink::StandardOutput(out) => {
                out.write_all(text.as_bytes()).context("failed to write to standard output")
            }
        }
    }

    /// Writes what is left; a file is there from now on.
    pub fn close(self) -> anyhow::Result<()> {
        match self {
            Sink::File(file) => file.finish(),
            Sink::StandardOutput(mut out) => out.flush().context("failed to write to standard output"),
        }
    }
}

/// Whether an error says that nobody reads any more (`| head`), which is none.
pub fn is_reader_gone(error: &anyhow::Error) -> bool {
    let is_it = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<std::io::Error>().is_some_and(|io| io.kind() == ErrorKind::BrokenPipe)
    };
    error.chain().any(is_it)
}

/// The directory of charts that -o names, made where there is none.
pub fn directory(output: &Output) -> anyhow::Result<&Path> {
    let path = named_directory(output)?;
    std::fs::create_dir_all(path).with_context(|| format!("failed to make `{}`", path.display()))?;
    Ok(path)
}

/// The directory that -o names, before it is made.
pub fn named_directory(output: &Output) -> anyhow::Result<&Path> {
    let Some(path) = &output.output else {
        return Err(usage(anyhow!("charts are files: name a directory by -o DIR")));
    };
    if path.exists() && !path.is_dir() {
        return Err(usage(anyhow!("`{}` is a file: charts need a directory", path.display())));
    }
    Ok(path)
}
