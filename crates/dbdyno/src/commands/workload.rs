//! `dbdyno workload list|show`.

use crate::cli::{Workload as Arguments, WorkloadAction};
use crate::commands::print;
use crate::exit::Ending;
use crate::resources;
use serde_json::json;
use std::fmt::Write;

/// Dispatches.
pub fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    match &arguments.action {
        WorkloadAction::List { json } => list(*json),
        WorkloadAction::Show { name, json } => show(name, *json),
    }?;
    Ok(Ending::Done)
}

fn list(as_json: bool) -> anyhow::Result<()> {
    let workloads = resources::workloads()?;
    if as_json {
        let rows: Vec<_> = workloads
            .iter()
            .map(|workload| {
                let steps: Vec<_> = workload.steps.iter().map(|step| &step.name).collect();
                json!({
                    "name": workload.name,
                    "engine": workload.engine,
                    "description": workload.description,
                    "data_bytes": workload.data.size(),
                    "steps": steps,
                })
            })
            .collect();
        return print::json(&json!({ "schema": 1, "workloads": rows }));
    }
    let mut text = String::new();
    for workload in &workloads {
        writeln!(text, "{:<20} {:<8} {}", workload.name, workload.engine, workload.description)?;
        for step in &workload.steps {
            let kind = if step.writes() { "writes" } else { "reads only" };
            let kind = if step.helper { "prepares for what follows" } else { kind };
            let kind =
                step.beside.as_ref().map_or(kind.to_owned(), |main| format!("runs concurrently with {main}"));
            writeln!(text, "  {:<34} {:<7} {kind}", step.name, step.group.name())?;
        }
    }
    print::text(&text)
}

fn show(name: &str, as_json: bool) -> anyhow::Result<()> {
    let workload = resources::workload(name)?;
    if as_json {
        return print::json(&json!({ "schema": 1, "workload": workload }));
    }
    print::text(&workload.text)
}
