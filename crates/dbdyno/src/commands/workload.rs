//! `dbdyno workload list|show`.

use crate::cli::{Workload as Arguments, WorkloadAction};
use crate::commands::print;
use crate::exit::Ending;
use crate::resources;
use model::workload::Workload;
use serde_json::json;

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
    print::text(&listed(&workloads))
}

/// A line for each workload and each of its steps; a file of the user's may come from others.
fn listed(workloads: &[Workload]) -> String {
    let mut lines = Vec::new();
    for workload in workloads {
        lines.push(format!("{:<20} {:<8} {}", workload.name, workload.engine, workload.description));
        for step in &workload.steps {
            let kind = if step.writes() { "writes" } else { "reads only" };
            let kind = if step.helper { "prepares for what follows" } else { kind };
            let kind =
                step.beside.as_ref().map_or(kind.to_owned(), |main| format!("runs concurrently with {main}"));
            lines.push(format!("  {:<34} {:<7} {kind}", step.name, step.group.name()));
        }
    }
    lines.iter().map(|line| report::printable(line) + "\n").collect()
}

fn show(name: &str, as_json: bool) -> anyhow::Result<()> {
    let workload = resources::workload(name)?;
    if as_json {
        return print::json(&json!({ "schema": 1, "workload": workload }));
    }
    print::text(&workload.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_nothing_that_a_terminal_would_obey() {
        let text = r#"
            name = "w\u001b[2J"
            engine = "rocksdb"
            description = "two\nlines"
            tells = "t"
            does_not_tell = "n"
            data = { keys = 1, key_bytes = 20, value_bytes = 4, value_compressible_percent = 0 }
            [[step]]
            name = "s\u001b[31m"
            group = "writes"
            operation = "fill-sequential"
        "#;
        let text = listed(&[Workload::parse(text, "w.toml").unwrap()]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text:?}");
        assert!(lines[0].starts_with("w?[2J ") && lines[0].ends_with(" two lines"), "{text:?}");
        assert!(lines[1].starts_with("  s?[31m "), "{text:?}");
    }
}
