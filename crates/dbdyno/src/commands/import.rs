//! `dbdyno import FORMAT FILE...`: results that another program wrote, stored and shown.

use crate::cli::{FirstReport, Import, ImportFormat, Places, Reading, ReleasesIn};
use crate::commands::measure::new_run_id;
use crate::commands::render::{self, Wanted};
use crate::exit::{Ending, usage};
use crate::paths;
use crate::planning::sha256;
use anyhow::{Context, anyhow};
use findings::Finding;
use findings::import::build;
use formats::import::{
    Source, of_db_bench, of_fio, of_go_bench, of_iostat, of_otava, of_pgbench, of_pgbench_log, of_report,
    of_sysbench, of_table, of_vmstat,
};
use formats::table::{self, Choices, Releases};
use formats::{
    benchmark_sh_report, db_bench, fio_json, go_bench, iostat, otava_csv, pgbench, pgbench_log, samples,
    sysbench, vmstat,
};
use model::import::{ImportRecord, ImportedFile, ImportedValue};
use runner::clock;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Larger than any report; a database file named by mistake is not read into memory.
const MOST_BYTES: u64 = 256 << 20;

/// Reads the files, stores them with their values, prints the report.
pub fn run(places: &Places, arguments: &Import) -> anyhow::Result<Ending> {
    let name = arguments.name.clone();
    let import = read_files(arguments.import_format, &arguments.reading, &arguments.files, name)?;
    paths::open_store(places)?.write_import(&import)?;
    render::show(&[Finding::Import(build(&import))], Wanted::of(&arguments.output))?;
    Ok(Ending::Done)
}

/// Files as an import that is not stored yet.
pub fn read_files(
    format: ImportFormat,
    reading: &Reading,
    paths: &[PathBuf],
    name: Option<String>,
) -> anyhow::Result<ImportRecord> {
    let files: Vec<ImportedFile> =
        paths.iter().map(|path| read(path, MOST_BYTES)).collect::<anyhow::Result<_>>()?;
    let names = names(paths);
    let mut values = Vec::new();
    for ((file, name), index) in files.iter().zip(&names).zip(0..) {
        // Several tables are repeats of one another: what the first one is called, all are.
        let subject = if format == ImportFormat::Table { &names[0].subject } else { &name.subject };
        let read = values_of(format, reading, file, Source { file: index, subject });
        let read = read.with_context(|| format!("failed to import `{}`", file.file)).map_err(usage)?;
        if read.is_empty() {
            let hint = hint(format, reading.first_report);
            return Err(usage(anyhow!("there is no result in `{}`{hint}", file.file)));
        }
        let is_named = names_tests(format);
        values.extend(read.into_iter().map(|value| if is_named { value } else { name.tell(value) }));
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

/// Reads a file, a pipe or a device, which do not state how much comes: at most `most` bytes.
fn read(path: &Path, most: u64) -> anyhow::Result<ImportedFile> {
    let reading = || format!("failed to read `{}`", path.display());
    let kind = std::fs::metadata(path).with_context(reading).map_err(usage)?.file_type();
    // Opening one waits for a program that writes into it, without end if none does. A pipe of the shell has no name in the file system.
    if kind.is_fifo() && path.canonicalize().is_ok() {
        return Err(usage(anyhow!(
            "`{}` is a named pipe: name a file, or the output of a command by `<(command)`",
            path.display()
        )));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).with_context(reading).map_err(usage)?;
    file.take(most + 1).read_to_end(&mut bytes).with_context(reading).map_err(usage)?;
    if bytes.len() as u64 > most {
        return Err(usage(anyhow!(
            "`{}` has more than {} MB, more than any report: name a text file",
            path.display(),
            most >> 20
        )));
    }
    Ok(ImportedFile {
        file: path.display().to_string(),
        sha256: sha256(&bytes),
        text: String::from_utf8_lossy(&bytes).into_owned(),
    })
}

/// What a file's place tells of its values, where the text does not.
#[derive(Debug, PartialEq, Eq)]
struct FileName {
    subject: String,
    /// Stands before the names of tests, where directories hold several files of the same names.
    test: Option<String>,
}

impl FileName {
    fn tell(&self, value: ImportedValue) -> ImportedValue {
        match &self.test {
            Some(test) => ImportedValue { step: format!("{test} {}", value.step), ..value },
            None => value,
        }
    }
}

/// Whether texts of a format say themselves what was measured and by which test.
fn names_tests(format: ImportFormat) -> bool {
    match format {
        ImportFormat::DbBenchReport | ImportFormat::DbBenchText | ImportFormat::Table => true,
        ImportFormat::Sysbench
        | ImportFormat::Pgbench
        | ImportFormat::PgbenchLog
        | ImportFormat::FioJson
        | ImportFormat::Iostat
        | ImportFormat::Vmstat
        | ImportFormat::OtavaCsv
        | ImportFormat::GoBench => false,
    }
}

/// Files are named by their own names. Where these are not all different, directories are what was measured, as
/// Small Datum lays out its results: `x.pg16/sb.o.read-only x.pg17/sb.o.read-only`.
fn names(paths: &[PathBuf]) -> Vec<FileName> {
    let text = |part: Option<&OsStr>| part.map(|part| part.to_string_lossy().into_owned());
    let named = |path: &PathBuf| text(path.file_name()).unwrap_or_else(|| path.display().to_string());
    let different: BTreeSet<String> = paths.iter().map(named).collect();
    let of = |path: &PathBuf| {
        if different.len() == paths.len() {
            return FileName { subject: named(path), test: None };
        }
        let directory = text(path.parent().and_then(Path::file_name));
        FileName {
            subject: directory.unwrap_or_else(|| named(path)),
            test: (different.len() > 1).then(|| named(path)),
        }
    };
    paths.iter().map(of).collect()
}

/// What to try where a file has no result.
fn hint(format: ImportFormat, first_report: FirstReport) -> &'static str {
    match (format, first_report) {
        (ImportFormat::Iostat | ImportFormat::Vmstat, FirstReport::SinceBoot) => {
            " after its first report, which covers the time since boot; if it was recorded with -y, pass \
             --first-report interval"
        }
        (_, FirstReport::SinceBoot | FirstReport::Interval) => "",
    }
}

fn values_of(
    format: ImportFormat,
    reading: &Reading,
    file: &ImportedFile,
    source: Source<'_>,
) -> anyhow::Result<Vec<ImportedValue>> {
    let text = file.text.as_str();
    let first = match reading.first_report {
        FirstReport::SinceBoot => samples::FirstReport::SinceBoot,
        FirstReport::Interval => samples::FirstReport::Interval,
    };
    Ok(match format {
        ImportFormat::DbBenchReport => of_report(&benchmark_sh_report::parse(text)?, source),
        ImportFormat::DbBenchText => of_db_bench(&db_bench::parse(text)?, source),
        ImportFormat::Sysbench => of_sysbench(&sysbench::parse(text)?, source),
        ImportFormat::Pgbench => of_pgbench(&pgbench::parse(text)?, source),
        ImportFormat::PgbenchLog => of_pgbench_log(&pgbench_log::parse(text)?, source),
        ImportFormat::FioJson => of_fio(&fio_json::parse(text)?, source),
        ImportFormat::Iostat => of_iostat(&iostat::parse(text)?, first, source),
        ImportFormat::Vmstat => of_vmstat(&vmstat::parse(text)?, first, source),
        ImportFormat::OtavaCsv => of_otava(&otava_csv::parse(text)?, source),
        ImportFormat::GoBench => of_go_bench(&go_bench::parse(text)?, source),
        ImportFormat::Table => of_table(&table::parse(text, &choices(reading))?, source),
    })
}

fn choices(reading: &Reading) -> Choices {
    let releases = reading.releases.map(|place| match place {
        ReleasesIn::Rows => Releases::InRows,
        ReleasesIn::Columns => Releases::InColumns,
    });
    Choices { releases, metric: reading.metric.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsRawFd;

    #[test]
    fn what_states_no_size_is_read_up_to_the_most() {
        let piped = |text: &str, most: u64| {
            let (reader, mut writer) = std::io::pipe().unwrap();
            writer.write_all(text.as_bytes()).unwrap();
            drop(writer);
            read(Path::new(&format!("/dev/fd/{}", reader.as_raw_fd())), most)
        };
        assert_eq!(piped("1234", 4).unwrap().text, "1234");
        for error in [piped("12345", 4).unwrap_err(), read(Path::new("/dev/zero"), 4096).unwrap_err()] {
            assert!(error.to_string().contains("more than any report"), "{error}");
        }
    }

    #[test]
    fn a_pipe_that_nobody_may_write_into_is_not_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let error = read(&pipe, 4096).unwrap_err().to_string();
        assert!(error.contains("pipe` is a named pipe: name a file"), "{error}");
    }

    #[test]
    fn files_are_named_by_what_tells_them_apart() {
        let check = |paths: &[&str], expected: &[(&str, Option<&str>)]| {
            let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
            let found = names(&paths);
            let found: Vec<_> =
                found.iter().map(|name| (name.subject.as_str(), name.test.as_deref())).collect();
            assert_eq!(found, expected);
        };
        check(&["a/pg16.txt", "b/pg17.txt"], &[("pg16.txt", None), ("pg17.txt", None)]);
        check(&["x.pg16/sb.o", "x.pg17/sb.o"], &[("x.pg16", None), ("x.pg17", None)]);
        check(
            &["x.pg16/read", "x.pg16/write", "x.pg17/read"],
            &[("x.pg16", Some("read")), ("x.pg16", Some("write")), ("x.pg17", Some("read"))],
        );
        check(&["a.txt", "a.txt"], &[("a.txt", None), ("a.txt", None)]);
        check(&["."], &[(".", None)]);
    }
}
