//! The command that measures a run again, as far as a record tells: a comparison is arguments, a campaign a plan file
//! of everything that was decided.

use model::figures::chosen_percent;
use model::plan::{DecisionRule, Design, LoopDevice, Plan, Purpose};
use model::units::Nanos;
use std::collections::BTreeMap;
use std::fmt::Write;

/// How a run is measured again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Again {
    /// The plan file that the command reads; absent where it needs none.
    pub plan: Option<String>,
    /// For a shell. A workload that is the user's own file stands there by its name.
    pub command: String,
}

/// The name of the plan file in the command.
const PLAN_FILE: &str = "plan.toml";

/// How a run of this plan is measured again.
pub fn again(plan: &Plan) -> Again {
    match (plan.purpose, plan.layout.design) {
        (Purpose::Campaign, _)
        | (Purpose::Compare | Purpose::Calibrate, Design::Rounds | Design::Sequential) => {
            Again { plan: Some(plan_file(plan)), command: format!("dbdyno run {PLAN_FILE}") }
        }
        (Purpose::Compare | Purpose::Calibrate, Design::Interleaved) => {
            Again { plan: None, command: arguments(plan).join(" ") }
        }
    }
}

/// The words of `compare` or `calibrate`; what is at its default is left out.
fn arguments(plan: &Plan) -> Vec<String> {
    let subjects: Vec<String> = plan.subjects.iter().map(|subject| subject.reference.to_string()).collect();
    let mut words = vec!["dbdyno".to_owned()];
    match plan.purpose {
        Purpose::Calibrate => {
            words.push("calibrate".to_owned());
            words.extend(subjects.first().map(|subject| word(subject)));
            words.extend(["--verdicts", "1"].map(str::to_owned));
        }
        Purpose::Compare | Purpose::Campaign => {
            words.push("compare".to_owned());
            words.extend(subjects.iter().map(|subject| word(subject)));
        }
    }
    let mut option = |name: &str, value: String| words.extend([format!("--{name}"), word(&value)]);
    option("workload", plan.workload.name.clone());
    if plan.steps_named {
        for step in &plan.steps {
            option("step", step.clone());
        }
    }
    let (rule, defaults) = (plan.rule, DecisionRule::default());
    let percent = |share: f64| chosen_percent(share).trim_end_matches(" %").to_owned();
    for (name, value, default) in [
        ("margin", rule.margin, defaults.margin),
        ("alpha", rule.alpha, defaults.alpha),
        ("build-noise", rule.tau, defaults.tau),
    ] {
        if (value - default).abs() > 1e-12 {
            option(name, percent(value));
        }
    }
    if rule.max_launches != defaults.max_launches {
        option("max-launches", rule.max_launches.to_string());
    }
    option("budget", format!("{}s", plan.budget.0.div_ceil(Nanos::from_secs(1).0)));
    option("seed", plan.seed.to_string());
    let planted = plan.subjects.iter().map(|subject| subject.planted_slowdown_percent).fold(0.0, f64::max);
    if planted > 0.0 {
        option("plant-slowdown", planted.to_string());
    }
    if plan.own_image {
        words.push("--own-image".to_owned());
    }
    words
}

/// A word as a shell takes it.
pub fn word(text: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "@+-_./=:,".contains(letter);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// Everything that was decided, as the file that `dbdyno run` reads. Sizes are those that were measured, whether they
/// came from the workload, a hardware class or a scale.
fn plan_file(plan: &Plan) -> String {
    let layout = &plan.layout;
    let measured = plan.subjects.iter().map(|subject| subject.reference.to_string());
    let subjects: Vec<String> =
        measured.chain(layout.left_out.iter().map(|one| one.reference.to_string())).collect();
    let mut text = String::new();
    let mut line = |key: &str, value: String| {
        let _ = writeln!(text, "{key} = {value}");
    };
    line("name", string(&format!("again-{}", plan.workload.name)));
    line("design", string(layout.design.name()));
    line("rounds", layout.rounds.to_string());
    line("workloads", strings(std::slice::from_ref(&plan.workload.name)));
    line("subjects", strings(&subjects));
    if plan.steps.len() < plan.workload.steps.len() {
        line("steps", strings(&plan.steps));
    }
    if !layout.omitted_options.is_empty() {
        line("unknown_options", string("leave-out"));
    }
    if layout.tickers {
        line("tickers", "true".to_owned());
    }
    if let Some(limit) = layout.memory_limit {
        line("memory_limit", string(&format!("{} B", limit.0)));
    }
    if plan.budget.0 > 0 && plan.budget.0 < u64::MAX {
        line("budget_minutes", plan.budget.0.div_ceil(Nanos::from_secs(60).0).to_string());
    }
    line("seed", plan.seed.to_string());
    section(&mut text, "scale", &scale(plan));
    let options: BTreeMap<String, String> =
        plan.workload.options.iter().map(|(name, value)| (string(name), string(value))).collect();
    section(&mut text, "options", &options);
    section(&mut text, "loop_device", &layout.loop_device.as_ref().map(loop_device).unwrap_or_default());
    let programs = layout.db_bench.iter().filter_map(|(side, program)| {
        let subject = plan.subjects.get(*side)?.reference.to_string();
        Some((string(&subject), string(&program.display().to_string())))
    });
    section(&mut text, "db_bench", &programs.collect());
    text
}

/// A table of the file, where there is anything in it.
fn section(text: &mut String, name: &str, entries: &BTreeMap<String, String>) {
    if entries.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n[{name}]");
    for (key, value) in entries {
        let _ = writeln!(text, "{key} = {value}");
    }
}

/// The entries that are there; seconds with a point, for the file wants no integer there.
fn scale(plan: &Plan) -> BTreeMap<String, String> {
    let scale = plan.workload.scale();
    let entries = [
        ("keys", scale.keys.map(|keys| keys.to_string())),
        ("tables", scale.tables.map(|tables| tables.to_string())),
        ("rows", scale.rows.map(|rows| rows.to_string())),
        ("memory_mb", scale.memory_mb.map(|megabytes| megabytes.to_string())),
        ("read_seconds", scale.read_seconds.map(|seconds| format!("{seconds:?}"))),
        ("write_seconds", scale.write_seconds.map(|seconds| format!("{seconds:?}"))),
        ("threads", scale.threads.map(|threads| threads.to_string())),
    ];
    entries.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}

fn loop_device(device: &LoopDevice) -> BTreeMap<String, String> {
    let mut entries = BTreeMap::from([
        ("size".to_owned(), string(&format!("{} B", device.bytes.0))),
        ("direct_io".to_owned(), device.direct_io.to_string()),
    ]);
    let limits = [("max_sectors_kb", device.max_sectors_kb), ("read_ahead_kb", device.read_ahead_kb)];
    entries.extend(limits.into_iter().filter_map(|(key, kb)| Some((key.to_owned(), kb?.to_string()))));
    entries
}

fn strings(texts: &[String]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| string(text)).collect();
    format!("[{}]", texts.join(", "))
}

/// A basic string of TOML.
fn string(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            character if character.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(character));
            }
            character => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::word;

    #[test]
    fn words_are_quoted_as_a_shell_needs_it() {
        assert_eq!(word("crates/a.tsv"), "crates/a.tsv");
        assert_eq!(word("my runs"), "'my runs'");
        assert_eq!(word("it's"), r"'it'\''s'");
        assert_eq!(word(""), "''");
    }
}
