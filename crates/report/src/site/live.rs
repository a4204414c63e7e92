//! A run in progress: how far it has come, its newest figures, whether it is still alive. The same texts make the page
//! and the JSON that its script asks for, so that the two cannot disagree.

use super::cells::{headers, name, time};
use super::links;
use super::shell::{self, Here};
use maud::{Markup, html};
use model::figures::{count, quantity, quantity_or_none, span};
use model::listing::{LiveFacts, LiveTrial, RunHead};
use model::plan::{Design, Purpose};
use model::record::{RunStatus, RunWarning};
use serde_json::json;

/// A run in progress, ready to be laid out.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveView {
    pub head: RunHead,
    pub facts: LiveFacts,
    pub workload: String,
    /// How its trials are laid out in time.
    pub design: Design,
    /// The subjects by their sides.
    pub subjects: Vec<String>,
    /// The steps to measure, in the order of the workload.
    pub steps: Vec<String>,
    /// Rounds of the plan; 0 where sides are interleaved.
    pub rounds: u32,
    /// Wall time that it may take, in seconds.
    pub budget_s: f64,
    /// Wall time since it began, in seconds.
    pub elapsed_s: f64,
    /// Seconds since the host was sampled last; absent before the first sample.
    pub silent_s: Option<f64>,
}

impl LiveView {
    fn subject(&self, trial: &LiveTrial) -> &str {
        self.subjects.get(trial.rate.side).map_or("", String::as_str)
    }
}

/// The host is sampled once a second: silent for this long, and the run may have been killed.
const SILENT_BOUND_S: f64 = 15.0;

/// How often the page asks.
const WAIT_S: u32 = 2;
/// How often it loads itself where no script runs.
const RELOAD_S: u32 = 5;

/// The page.
pub fn page(view: &LiveView) -> String {
    let title = format!("Run {}", view.head.id);
    let body = html! {
        div data-live=(links::live_json(&view.head.id)) data-wait=(WAIT_S) {
            h1 { "Run " (view.head.id) @if let Some(given) = &view.head.name { " " (name(given)) } }
            p {
                (view.head.purpose.word()) " of " (name(&view.workload)) ", " (view.design.name()) ", began "
                (time(view.head.started_at_us)) " UTC: " (name(&view.subjects.join(", ")))
            }
            p {
                progress max="1" value=[share(view)] aria-label="progress" {}
                " " span data-field="progress" { (progress(view)) }
            }
            p data-field="alive" { (alive(view)) }
            p data-field="second" { (second(view)) }
            p role="status" data-state="" {}
            (table("Steps", "steps", &["step", "done", "failed", "skipped", "unfinished", "left the run"], steps(view)))
            (table("Newest trials", "newest", &["step", "subject", "launch", "ops/s so far", "stands"], newest(view)))
            (table("Warnings", "warnings", &["id", "step", "says"], warnings(view)))
            p {
                a href=(links::report(&view.head.id)) { "The report of what was measured so far" } " · "
                a href=(links::raw_list(&view.head.id)) { "raw output" }
            }
            noscript { meta http-equiv="refresh" content=(RELOAD_S); }
        }
    };
    shell::page(&title, Here::Elsewhere, body)
}

/// What the page's script asks for.
///
/// # Errors
/// None that is known: it is text and finite numbers.
pub fn json(view: &LiveView) -> Result<String, serde_json::Error> {
    serde_json::to_string(&json!({
        "schema": crate::contract::SCHEMA,
        "run": view.head.id,
        "status": view.head.status.name(),
        // Whether there is a report to go to.
        "ended": view.head.status != RunStatus::Unfinished,
        "report": links::report(&view.head.id),
        "share": share(view),
        "fields": { "alive": alive(view), "progress": progress(view), "second": second(view) },
        "tables": { "newest": newest(view), "steps": steps(view), "warnings": warnings(view) },
    }))
}

fn table(title: &str, name: &str, columns: &[&str], rows: Vec<Vec<String>>) -> Markup {
    html! {
        h2 { (title) }
        div.site-scroll {
            table {
                thead { tr { (headers(columns)) } }
                tbody data-rows=(name) {
                    @for row in rows {
                        tr {
                            @for (index, cell) in row.iter().enumerate() {
                                @if index == 0 { th scope="row" { (cell) } } @else { td { (cell) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Trials that a campaign has in all: every subject's sequence in every round.
fn planned(view: &LiveView) -> u64 {
    (view.subjects.len() * view.steps.len()) as u64 * u64::from(view.rounds)
}

fn ended_trials(view: &LiveView) -> u64 {
    view.facts.steps.values().map(|trials| trials.done + trials.failed + trials.skipped).sum()
}

/// Of the whole, 0 to 1; absent where nobody knows. In rounds by trials. Interleaved by time: a run ends with its budget,
/// or before.
fn share(view: &LiveView) -> Option<f64> {
    let share = match (view.design, planned(view)) {
        (Design::Interleaved, _) => (view.budget_s > 0.0).then(|| (view.elapsed_s / view.budget_s).min(1.0)),
        (Design::Rounds | Design::Sequential, 0) => None,
        (Design::Rounds | Design::Sequential, planned) => {
            Some((ended_trials(view) as f64 / planned as f64).min(1.0))
        }
    };
    share.filter(|share| share.is_finite())
}

fn progress(view: &LiveView) -> String {
    let elapsed = span(view.elapsed_s);
    match view.design {
        Design::Interleaved => {
            let most = view.facts.launches_max.map_or_else(String::new, |most| format!(" of at most {most}"));
            let launch = view.facts.launch.map_or_else(
                || "before the first launch".to_owned(),
                |(launch, _)| format!("launch {launch}{most}"),
            );
            format!("{launch}, {elapsed} of at most {}", span(view.budget_s))
        }
        Design::Rounds | Design::Sequential => {
            let (ended, planned) = (ended_trials(view), planned(view));
            let left = (ended > 0 && planned > ended).then(|| {
                let seconds = view.elapsed_s / ended as f64 * (planned - ended) as f64;
                format!(", about {} left at this pace", span(seconds))
            });
            let round = view
                .facts
                .launch
                .map_or_else(String::new, |(round, _)| format!("round {round} of {}, ", view.rounds));
            format!("{round}{ended} of {planned} trials, {elapsed}{}", left.unwrap_or_default())
        }
    }
}

fn alive(view: &LiveView) -> String {
    match view.silent_s {
        None => "The host was not sampled yet.".to_owned(),
        Some(silent) if silent <= SILENT_BOUND_S => {
            format!("Alive: last heard of {} ago.", span(silent.max(0.0)))
        }
        Some(silent) => {
            let command = match view.head.purpose {
                Purpose::Campaign => Some("run"),
                Purpose::Compare => Some("compare"),
                Purpose::Calibrate => None,
            };
            let resume = command.map_or_else(String::new, |command| {
                format!(" If so, `dbdyno {command} --resume {}` resumes it.", view.head.id)
            });
            format!("Nothing was heard of it for {}: it may have been killed.{resume}", span(silent))
        }
    }
}

fn second(view: &LiveView) -> String {
    let (Some(second), Some(trial)) = (view.facts.last_second, view.facts.newest.first()) else {
        return String::new();
    };
    format!(
        "Second {} of {} on {}: {} operations, median {} us, 99th percentile {} us.",
        second.second,
        trial.step,
        view.subject(trial),
        quantity(second.operations as f64),
        quantity(second.p50.as_micros_f64()),
        quantity(second.p99.as_micros_f64()),
    )
}

fn steps(view: &LiveView) -> Vec<Vec<String>> {
    let row = |step: &String| {
        let counts = view.facts.steps.get(step).copied().unwrap_or_default();
        let left = view.facts.exits.iter().rfind(|exit| exit.step == *step);
        let left = left.map(|exit| format!("{} (launch {})", exit.reason, exit.launch)).unwrap_or_default();
        let cells = [counts.done, counts.failed, counts.skipped, counts.unfinished];
        std::iter::once(step.clone()).chain(cells.map(|trials| trials.to_string())).chain([left]).collect()
    };
    view.steps.iter().map(row).collect()
}

fn newest(view: &LiveView) -> Vec<Vec<String>> {
    let row = |trial: &LiveTrial| {
        vec![
            trial.step.clone(),
            view.subject(trial).to_owned(),
            trial.rate.launch.to_string(),
            quantity_or_none(trial.rate.per_second()),
            trial.rate.ended.name().to_owned(),
        ]
    };
    view.facts.newest.iter().map(row).collect()
}

/// Warnings that are the same but for their step stand once.
fn warnings(view: &LiveView) -> Vec<Vec<String>> {
    let mut gathered: Vec<(&RunWarning, u64)> = Vec::new();
    for warning in &view.facts.warnings {
        match gathered.iter_mut().find(|(known, _)| known.warning == warning.warning) {
            Some((_, times)) => *times += 1,
            None => gathered.push((warning, 1)),
        }
    }
    let row = |(warning, times): (&RunWarning, u64)| {
        let step = match (times, &warning.step) {
            (1, Some(step)) => step.clone(),
            (1, None) => "all".to_owned(),
            (times, _) => count(times, "time", "times"),
        };
        vec![warning.warning.id().to_owned(), step, warning.warning.to_string()]
    };
    gathered.into_iter().map(row).collect()
}
