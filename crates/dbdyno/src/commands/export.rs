//! `dbdyno export RUN...`: every value of runs in long form, written as it is read.

use crate::cli::{Export, ExportFormat, ExportTable, Places};
use crate::commands::print::{self, Sink};
use crate::exit::{Ending, usage};
use crate::paths;
use anyhow::{Context, anyhow};
use report::export::{self, ExportedRun, LongRow, Table};
use std::collections::BTreeSet;
use std::path::Path;
use store::{PlannedRun, Store};

/// Finds the runs, writes table by table.
pub fn run(places: &Places, arguments: &Export) -> anyhow::Result<Ending> {
    let store = Store::open_existing(&paths::store_file(places)?)?;
    let mut heads: Vec<PlannedRun> = Vec::new();
    for wanted in &arguments.runs {
        let id = store.find_run(wanted).map_err(usage)?;
        heads.push(store.load_head(&id).with_context(|| format!("failed to load run {id}"))?);
    }
    let known: Vec<&str> = heads
        .iter()
        .flat_map(|head| head.plan.workload.steps.iter().map(|step| step.name.as_str()))
        .collect();
    if let Some(stranger) = arguments.steps.iter().find(|step| !known.contains(&step.as_str())) {
        let hint = model::names::hint(stranger, known);
        return Err(usage(anyhow!("there is no step `{stranger}`{hint}")));
    }
    let source = Source { store: &store, heads: &heads, steps: &arguments.steps };
    let tables = tables(arguments);
    match &arguments.output {
        Some(directory) if print::is_directory(directory) => {
            std::fs::create_dir_all(directory)
                .with_context(|| format!("failed to make `{}`", directory.display()))?;
            for table in tables {
                let file = directory.join(format!("{}.{}", table.name(), ending(arguments.format)));
                source.write(&[table], arguments.format, Some(&file))?;
            }
        }
        file => source.write(&tables, arguments.format, file.as_deref())?,
    }
    Ok(Ending::Done)
}

fn ending(format: ExportFormat) -> &'static str {
    match format {
        ExportFormat::Csv => "csv",
        ExportFormat::Json => "json",
    }
}

/// Those asked for, in their own order; all where none is.
fn tables(arguments: &Export) -> Vec<Table> {
    let wanted: BTreeSet<Table> = arguments.tables.iter().map(|table| table_of(*table)).collect();
    Table::ALL.into_iter().filter(|table| wanted.is_empty() || wanted.contains(table)).collect()
}

fn table_of(table: ExportTable) -> Table {
    match table {
        ExportTable::Values => Table::Values,
        ExportTable::Trials => Table::Trials,
        ExportTable::Seconds => Table::Seconds,
        ExportTable::Blocks => Table::Blocks,
        ExportTable::Counters => Table::Counters,
        ExportTable::Host => Table::Host,
    }
}

/// What is exported.
struct Source<'a> {
    store: &'a Store,
    heads: &'a [PlannedRun],
    steps: &'a [String],
}

impl Source<'_> {
    /// Writes tables of all runs to one place.
    fn write(&self, tables: &[Table], format: ExportFormat, file: Option<&Path>) -> anyhow::Result<()> {
        let mut sink = Sink::open(file)?;
        let mut lines = Lines { sink: &mut sink, format, first: true };
        let written = self.lines(tables, &mut lines);
        match written.and_then(|()| sink.close()) {
            Err(error) if print::is_reader_gone(&error) => Ok(()),
            result => result,
        }
    }

    fn lines(&self, tables: &[Table], lines: &mut Lines<'_>) -> anyhow::Result<()> {
        lines.begin(self.heads)?;
        for table in tables {
            for head in self.heads {
                self.table(*table, head, lines)
                    .with_context(|| format!("failed to export the {} of run {}", table.name(), head.id))?;
            }
        }
        lines.end()
    }

    fn is_chosen(&self, step: &str) -> bool {
        self.steps.is_empty() || self.steps.iter().any(|chosen| chosen == step)
    }

    /// One table of one run, a record at a time; only values are computed from the run as a whole.
    fn table(&self, table: Table, head: &PlannedRun, lines: &mut Lines<'_>) -> anyhow::Result<()> {
        let run = ExportedRun::new(&head.id, &head.plan, head.started_at_us);
        match table {
            Table::Values => {
                for trial in export::values(&self.store.load_run(&head.id)?) {
                    let rows = trial.rows(&run);
                    lines.rows(
                        rows.into_iter().filter(|row| self.is_chosen(row.step().unwrap_or_default())),
                    )?;
                }
                Ok(())
            }
            Table::Trials => self.store.each_trial(&head.id, |row| {
                if self.is_chosen(&row.trial.step) {
                    lines.rows(export::trial(&run, &row.trial, row.ended.as_ref()))?;
                }
                Ok(())
            }),
            Table::Seconds => self.store.each_second(&head.id, |(trial, second)| {
                if self.is_chosen(&trial.step) {
                    lines.rows(export::second(&run, &trial, &second))?;
                }
                Ok(())
            }),
            Table::Blocks => self.store.each_block(&head.id, |block| {
                if self.is_chosen(&block.trial.step) {
                    lines.rows(export::block(&run, &block))?;
                }
                Ok(())
            }),
            Table::Counters => self.store.each_block(&head.id, |block| {
                if self.is_chosen(&block.trial.step) {
                    lines.rows(export::counters(&run, &block))?;
                }
                Ok(())
            }),
            Table::Host => {
                self.store.each_host_sample(&head.id, |sample| lines.rows(export::host(&run, &sample)))
            }
        }
    }
}

/// The lines of one file.
struct Lines<'a> {
    sink: &'a mut Sink,
    format: ExportFormat,
    /// Whether no value was written yet.
    first: bool,
}

impl Lines<'_> {
    fn begin(&mut self, heads: &[PlannedRun]) -> anyhow::Result<()> {
        match self.format {
            ExportFormat::Csv => self.sink.write(&export::csv_header()),
            ExportFormat::Json => {
                let runs: Vec<serde_json::Value> = heads.iter().map(run_object).collect();
                let runs = serde_json::to_string(&runs).context("failed to render JSON")?;
                self.sink.write(&format!("{{\"schema\":1,\n\"runs\":{runs},\n\"values\":["))
            }
        }
    }

    fn rows<'a>(&mut self, rows: impl IntoIterator<Item = LongRow<'a>>) -> anyhow::Result<()> {
        for row in rows {
            match self.format {
                ExportFormat::Csv => self.sink.write(&row.csv())?,
                ExportFormat::Json => {
                    let between = if self.first { "\n" } else { ",\n" };
                    let row = row.json().context("failed to render JSON")?;
                    self.sink.write(between)?;
                    self.sink.write(&row)?;
                }
            }
            self.first = false;
        }
        Ok(())
    }

    fn end(&mut self) -> anyhow::Result<()> {
        match self.format {
            ExportFormat::Csv => Ok(()),
            ExportFormat::Json => self.sink.write("\n]}\n"),
        }
    }
}

/// The run as such: what its values were measured with.
fn run_object(head: &PlannedRun) -> serde_json::Value {
    let mut object = serde_json::json!({
        "run": head.id,
        "status": head.status.name(),
        "started_at_us": head.started_at_us,
        "host": head.host,
        "plan": head.plan,
    });
    if let Some(name) = &head.name {
        object["name"] = name.as_str().into();
    }
    if let Some(ended_at_us) = head.ended_at_us {
        object["ended_at_us"] = ended_at_us.into();
    }
    object
}
