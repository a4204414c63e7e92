//! `dbdyno import FORMAT FILE...`: results that another program wrote, stored and shown.

use crate::cli::{Format, Import, ImportFormat, Output, Places, ReleasesIn, TableChoices};
use crate::commands::compare::open_store;
use crate::commands::measure::new_run_id;
use crate::commands::print;
use crate::exit::{Ending, usage};
use crate::planning::sha256;
use anyhow::{Context, anyhow};
use formats::import::{Source, of_db_bench, of_report, of_table};
use formats::table::{self, Choices, Releases};
use formats::{benchmark_sh_report, db_bench};
use model::import::{ImportRecord, ImportedFile, ImportedValue};
use report::text::TextOptions;
use runner::clock;
use std::path::{Path, PathBuf};

/// Larger than any report; a database file named by mistake is not read into memory.
const MOST_BYTES: u64 = 256 << 20;

/// Reads the files, stores them with their values, prints the report.
pub fn run(places: &Places, arguments: &Import) -> anyhow::Result<Ending> {
    let name = arguments.name.clone();
    let import = read_files(arguments.import_format, &arguments.table, &arguments.files, name)?;
    open_store(places)?.write_import(&import)?;
    show(&import, &arguments.output)
}

/// Files as an import that is not stored yet.
pub fn read_files(
    format: ImportFormat,
    table: &TableChoices,
    paths: &[PathBuf],
    name: Option<String>,
) -> anyhow::Result<ImportRecord> {
    let files: Vec<ImportedFile> = paths.iter().map(|path| read(path)).collect::<anyhow::Result<_>>()?;
    let mut values = Vec::new();
    for (file, index) in files.iter().zip(0..) {
        let read = values_of(format, table, file, index);
        let read = read.with_context(|| format!("failed to import `{}`", file.file)).map_err(usage)?;
        if read.is_empty() {
            return Err(usage(anyhow!("there is no result in `{}`", file.file)));
        }
        values.extend(read);
    }
    Ok(ImportRecord {
        id: new_run_id()?,
        name,
        format: format.name().to_owned(),
        imported_at_us: clock::epoch_us(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        files,
        values,
    })
}

/// Prints the report of an import.
pub fn show(import: &ImportRecord, output: &Output) -> anyhow::Result<Ending> {
    let view = report::import::build(import);
    let manner = print::manner(output);
    let rendered = match manner.format {
        Format::Text => {
            report::import::text(&view, TextOptions { width: manner.width, colour: manner.colour })
        }
        Format::Markdown => report::import::markdown(&view),
        Format::Json => report::import::json(&view).context("failed to render JSON")?,
        Format::Tsv => report::import::tsv(&view),
        Format::Csv => report::import::csv(&view),
    };
    print::report(output, &rendered)?;
    Ok(Ending::Done)
}

fn read(path: &Path) -> anyhow::Result<ImportedFile> {
    let reading = || format!("failed to read `{}`", path.display());
    let bytes = std::fs::metadata(path).with_context(reading).map_err(usage)?.len();
    if bytes > MOST_BYTES {
        return Err(usage(anyhow!(
            "`{}` has {} MB, more than any report: name a text file",
            path.display(),
            bytes >> 20
        )));
    }
    let bytes = std::fs::read(path).with_context(reading).map_err(usage)?;
    Ok(ImportedFile {
        file: path.display().to_string(),
        sha256: sha256(&bytes),
        text: String::from_utf8_lossy(&bytes).into_owned(),
    })
}

fn values_of(
    format: ImportFormat,
    choices: &TableChoices,
    file: &ImportedFile,
    index: usize,
) -> anyhow::Result<Vec<ImportedValue>> {
    let name = Path::new(&file.file).file_name().map(|name| name.to_string_lossy().into_owned());
    let source = Source { file: index, subject: name.as_deref().unwrap_or(&file.file) };
    Ok(match format {
        ImportFormat::DbBenchReport => of_report(&benchmark_sh_report::parse(&file.text)?, source),
        ImportFormat::DbBenchText => of_db_bench(&db_bench::parse(&file.text)?, source),
        ImportFormat::Table => of_table(&table::parse(&file.text, &reading(choices))?, source),
    })
}

fn reading(choices: &TableChoices) -> Choices {
    let releases = choices.releases.map(|place| match place {
        ReleasesIn::Rows => Releases::InRows,
        ReleasesIn::Columns => Releases::InColumns,
    });
    Choices { releases, metric: choices.metric.clone() }
}
