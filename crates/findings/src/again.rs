//! The command that measures a run again, as far as a record tells: a comparison is arguments, a campaign a plan file
//! of everything that was decided.

use model::figures::chosen_percent;
use model::plan::{DecisionRule, Design, Plan, Purpose};
use model::plan_file::{LoopDeviceText, PlanText, UnknownOptions};
use model::planted::PlantedAs;
use model::units::Nanos;

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
            Again { plan: plan_file(plan).to_toml().ok(), command: format!("dbdyno run {PLAN_FILE}") }
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
        let mut planted_as = plan.subjects.iter().map(|subject| subject.planted_as);
        if let Some(other) = planted_as.find(|one| *one != PlantedAs::default()) {
            option("plant-as", other.name().to_owned());
        }
    }
    for (name, is_set) in [("--own-image", plan.own_image), ("--extendable", rule.extendable)] {
        words.extend(is_set.then(|| name.to_owned()));
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
pub fn plan_file(plan: &Plan) -> PlanText {
    let layout = &plan.layout;
    let measured = plan.distinct_subjects().iter().map(|subject| subject.reference.to_string());
    let is_interleaved = layout.design == Design::Interleaved;
    let left_out = layout.left_out.iter().map(|one| one.reference.to_string());
    let has_bound = plan.budget.0 > 0 && plan.budget.0 < u64::MAX;
    let programs = layout.db_bench.iter().filter_map(|(side, program)| {
        Some((plan.subjects.get(*side)?.reference.to_string(), program.display().to_string().into()))
    });
    let files = plan
        .distinct_subjects()
        .iter()
        .filter_map(|subject| Some((subject.config.name.clone(), subject.config.file.clone()?)));
    PlanText {
        name: format!("again-{}", plan.workload.name),
        design: Some(layout.design.into()),
        rounds: (!is_interleaved).then_some(layout.rounds),
        workloads: vec![plan.workload.name.clone()],
        subjects: measured.chain(left_out).collect(),
        steps: match plan.steps.len() < plan.workload.steps.len() {
            true => plan.workload.named_as(&plan.steps),
            false => Vec::new(),
        },
        clients: plan.workload.swept_clients(),
        unknown_options: match layout.omitted_options.as_slice() {
            [] => UnknownOptions::Error,
            _ => UnknownOptions::LeaveOut,
        },
        tickers: layout.tickers,
        memory_limit: layout.memory_limit.map(|limit| format!("{} B", limit.0)),
        budget_minutes: has_bound.then(|| plan.budget.0.div_ceil(Nanos::from_secs(60).0)),
        // TOML has no larger integers.
        seed: i64::try_from(plan.seed).is_ok().then_some(plan.seed),
        scale: plan.workload.scale(),
        options: plan.workload.options.clone(),
        loop_device: layout.loop_device.as_ref().map(LoopDeviceText::from),
        base_processes: is_interleaved.then_some(1 + layout.further_base_processes),
        until: plan.rule.until.map(chosen_percent),
        candidates_at_once: layout.candidates_at_once,
        server_host: layout.server_host.as_ref().map(|host| host.as_written()),
        server_address: layout.server_host.as_ref().and_then(|host| host.address.clone()),
        db_bench: programs.collect(),
        config_files: files.collect(),
        ..PlanText::default()
    }
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
