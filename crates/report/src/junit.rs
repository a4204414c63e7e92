//! Verdicts as JUnit XML, which CI servers show as tests: a test case for each step and candidate. One fails for a
//! regression that counts; one that was not measured is skipped with its reason; a run that is not done is an error.

use crate::gate;
use crate::verdicts::{ComparedMetric, RunVerdicts, StepVerdict};
use model::figures::{interval, quantity_or_none, ratio};
use std::fmt::Write;

/// The verdicts of runs; a regression fails where it is beyond the threshold of its run (0.02 is 2 %).
pub fn render(runs: &[(RunVerdicts<'_>, f64)]) -> String {
    let suites: Vec<Suite> = runs.iter().flat_map(|(run, threshold)| suites(run, *threshold)).collect();
    let count = |of: fn(&Suite) -> usize| suites.iter().map(of).sum::<usize>();
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        xml,
        "<testsuites name=\"dbdyno\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{}\">",
        count(|suite| suite.cases.len()),
        count(|suite| suite.count(Kind::Failure)),
        count(|suite| suite.count(Kind::Error)),
        count(|suite| suite.count(Kind::Skipped)),
        seconds(suites.iter().map(Suite::seconds).sum())
    );
    for suite in &suites {
        suite.write(&mut xml);
    }
    xml.push_str("</testsuites>\n");
    xml
}

/// The test cases of one candidate, or of a run as such.
struct Suite {
    name: String,
    host: String,
    properties: Vec<(&'static str, String)>,
    cases: Vec<TestCase>,
}

struct TestCase {
    class: String,
    name: String,
    seconds: f64,
    outcome: Option<NotPassed>,
    output: String,
}

/// How a test case ended that did not pass.
struct NotPassed {
    kind: Kind,
    /// For filters: `regression`.
    id: &'static str,
    message: String,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Failure,
    Error,
    Skipped,
}

impl Kind {
    fn element(self) -> &'static str {
        match self {
            Kind::Failure => "failure",
            Kind::Error => "error",
            Kind::Skipped => "skipped",
        }
    }
}

/// One of the run, then one for each candidate, in the order of the verdicts.
fn suites(run: &RunVerdicts<'_>, threshold: f64) -> Vec<Suite> {
    let mut suites = vec![suite(run, format!("run {}", run.run.id), vec![of_run(run)])];
    let mut rest = run.steps.as_slice();
    while let Some(first) = rest.first() {
        let same = rest.iter().take_while(|step| step.side == first.side).count();
        let (of_candidate, others) = rest.split_at(same);
        let cases = of_candidate.iter().map(|step| of_step(step, run, threshold)).collect();
        let name = format!("{}: {} against {}", run.run.workload, first.candidate, run.base);
        suites.push(suite(run, name, cases));
        rest = others;
    }
    suites
}

fn suite(run: &RunVerdicts<'_>, name: String, cases: Vec<TestCase>) -> Suite {
    let properties = vec![
        ("run", run.run.id.clone()),
        ("status", run.run.status.name().to_owned()),
        ("workload", run.run.workload.clone()),
        ("base", run.base.to_owned()),
        ("seed", run.run.seed.to_string()),
        ("tool_version", run.run.tool_version.clone()),
    ];
    Suite { name, host: run.host.name.clone(), properties, cases }
}

/// The run as such: that it is done, with every trial.
fn of_run(run: &RunVerdicts<'_>) -> TestCase {
    let reasons: Vec<String> = gate::failures(run).into_iter().map(|(_, reason)| reason).collect();
    let summaries = run.summaries.iter().map(|summary| summary.text.clone());
    let output: String = summaries.chain(run.cautions()).map(|line| line + "\n").collect();
    TestCase {
        class: run.run.workload.clone(),
        name: "the run is done, with every trial".to_owned(),
        seconds: 0.0,
        outcome: reasons.first().map(|first| NotPassed {
            kind: Kind::Error,
            id: "run-failed",
            message: first.clone(),
            text: reasons.join("\n"),
        }),
        output,
    }
}

fn of_step(step: &StepVerdict<'_>, run: &RunVerdicts<'_>, threshold: f64) -> TestCase {
    let not_passed = |kind, id, message: String| NotPassed { kind, id, text: notes(step), message };
    let outcome = match &step.not_measured {
        Some(reason) => Some(not_passed(Kind::Skipped, "not-measured", reason.clone())),
        None if gate::is_regression(step, threshold) => {
            Some(not_passed(Kind::Failure, "regression", gate::regression(step, run)))
        }
        None => None,
    };
    TestCase {
        class: format!("{}.{}", run.run.workload, step.candidate),
        name: step.step.to_owned(),
        seconds: step.seconds,
        outcome,
        output: figures(step, run),
    }
}

fn notes(step: &StepVerdict<'_>) -> String {
    step.notes.iter().map(|note| format!("{}: {}", note.id, note.text)).collect::<Vec<_>>().join("\n")
}

/// The verdict, then every metric on a line of its own.
fn figures(step: &StepVerdict<'_>, run: &RunVerdicts<'_>) -> String {
    let confirmed = if step.confirmed { ", holds among all steps" } else { "" };
    let p = step.p_value.map(|p| format!(", p = {p:.4}")).unwrap_or_default();
    let mut text = format!(
        "verdict: {}{confirmed}, on {}{p}, {}\n",
        step.verdict,
        step.deciding.metric,
        run.repeats.count(step.repeats)
    );
    for metric in &step.metrics {
        let _ = writeln!(text, "{}", figure(metric));
    }
    let notes = notes(step);
    if !notes.is_empty() {
        let _ = writeln!(text, "{notes}");
    }
    text
}

/// "ops_per_s (1/s): 612,345 -> 587,239, ratio 0.959 [0.948, 0.970]".
fn figure(metric: &ComparedMetric) -> String {
    let ratio = match metric.ratio {
        Some(center) => format!(", ratio {} {}", ratio(center), interval(metric.low, metric.high)),
        None => String::new(),
    };
    format!(
        "{} ({}): {} -> {}{ratio}",
        metric.metric,
        metric.unit,
        quantity_or_none(metric.base),
        quantity_or_none(metric.candidate)
    )
}

impl Suite {
    fn count(&self, kind: Kind) -> usize {
        self.cases.iter().filter(|case| case.outcome.as_ref().is_some_and(|of| of.kind == kind)).count()
    }

    fn seconds(&self) -> f64 {
        self.cases.iter().map(|case| case.seconds).sum()
    }

    fn write(&self, xml: &mut String) {
        let _ = writeln!(
            xml,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{}\" \
             hostname=\"{}\">",
            attribute(&self.name),
            self.cases.len(),
            self.count(Kind::Failure),
            self.count(Kind::Error),
            self.count(Kind::Skipped),
            seconds(self.seconds()),
            attribute(&self.host)
        );
        xml.push_str("    <properties>\n");
        for (name, value) in &self.properties {
            let _ = writeln!(xml, "      <property name=\"{name}\" value=\"{}\"/>", attribute(value));
        }
        xml.push_str("    </properties>\n");
        for case in &self.cases {
            case.write(xml);
        }
        xml.push_str("  </testsuite>\n");
    }
}

impl TestCase {
    fn write(&self, xml: &mut String) {
        let _ = writeln!(
            xml,
            "    <testcase classname=\"{}\" name=\"{}\" time=\"{}\">",
            attribute(&self.class),
            attribute(&self.name),
            seconds(self.seconds)
        );
        if let Some(NotPassed { kind, id, message, text: more }) = &self.outcome {
            let element = kind.element();
            let _ = writeln!(
                xml,
                "      <{element} type=\"{id}\" message=\"{}\">{}</{element}>",
                attribute(message),
                text(more)
            );
        }
        let _ = writeln!(xml, "      <system-out>{}</system-out>", text(&self.output));
        xml.push_str("    </testcase>\n");
    }
}

fn seconds(seconds: f64) -> String {
    format!("{seconds:.3}")
}

/// Text between tags.
fn text(text: &str) -> String {
    escaped(text, false)
}

/// Text between the quotes of an attribute: there a parser makes a space of a line break that is not escaped.
fn attribute(text: &str) -> String {
    escaped(text, true)
}

fn escaped(text: &str, in_attribute: bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\r' => escaped.push_str("&#13;"),
            '\n' if in_attribute => escaped.push_str("&#10;"),
            '\t' if in_attribute => escaped.push_str("&#9;"),
            '\n' | '\t' => escaped.push(character),
            // XML 1.0 has no way to write these.
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            character if u32::from(character) < 0x20 => escaped.push('\u{fffd}'),
            character => escaped.push(character),
        }
    }
    escaped
}
