//! Verdicts as JUnit XML, which CI servers show as tests: a test case for each step and candidate. One fails for a
//! regression that counts; one that was not measured is skipped with its reason; a run that is not done is an error.

use crate::comparison::{cautions, summary};
use findings::comparison::{ComparedMetric, ComparedStep, StepView, SubjectView};
use findings::{ComparedRun, Comparison, gate};
use model::figures::{interval, quantity_or_none, ratio};
use std::fmt::Write;

/// The verdicts of runs; a regression fails if it is beyond the threshold (0.02 is 2 %), or else the margin of its run.
pub fn render(runs: &[&ComparedRun], threshold: Option<f64>) -> String {
    let of_run = |run: &&ComparedRun| suites(&run.view, threshold.unwrap_or(run.view.margin));
    let suites: Vec<Suite> = runs.iter().flat_map(of_run).collect();
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

/// By the name of its element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
enum Kind {
    Failure,
    Error,
    Skipped,
}

/// One of the run, then one for each candidate, in the order of the verdicts.
fn suites(run: &Comparison, threshold: f64) -> Vec<Suite> {
    let mut suites = vec![suite(run, format!("run {}", run.run.id), vec![of_run(run)])];
    suites.extend(run.candidates().iter().map(|candidate| {
        let cases = run.cases().filter(|(_, case)| case.side == candidate.side);
        let cases = cases.map(|(step, case)| of_step(step, case, candidate, run, threshold)).collect();
        suite(run, format!("{}: {} against {}", run.run.workload, candidate.subject, run.base), cases)
    }));
    suites
}

fn suite(run: &Comparison, name: String, cases: Vec<TestCase>) -> Suite {
    let properties = vec![
        ("run", run.run.id.clone()),
        ("status", run.run.status.name().to_owned()),
        ("workload", run.run.workload.clone()),
        ("base", run.base.clone()),
        ("seed", run.run.seed.to_string()),
        ("tool_version", run.run.tool_version.clone()),
    ];
    Suite { name, host: run.host.name.clone(), properties, cases }
}

/// The run as such: that it is done, with every trial.
fn of_run(run: &Comparison) -> TestCase {
    let reasons: Vec<String> = gate::failures(run).into_iter().map(|(_, reason)| reason).collect();
    let summaries = run.candidates().iter().map(|candidate| summary(run, candidate));
    let output: String = summaries.chain(cautions(run)).map(|line| line + "\n").collect();
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

fn of_step(
    step: &StepView,
    case: &ComparedStep,
    candidate: &SubjectView,
    run: &Comparison,
    threshold: f64,
) -> TestCase {
    let not_passed = |kind, id, message: String| NotPassed { kind, id, text: notes(case), message };
    let outcome = match run.not_measured(step, case) {
        Some(reason) => Some(not_passed(Kind::Skipped, "not-measured", reason)),
        None if gate::is_regression(case, threshold) => {
            Some(not_passed(Kind::Failure, "regression", gate::regression(run, step, case)))
        }
        None => None,
    };
    TestCase {
        class: format!("{}.{}", run.run.workload, candidate.subject),
        name: step.name.clone(),
        seconds: case.seconds,
        outcome,
        output: figures(case, run),
    }
}

fn notes(case: &ComparedStep) -> String {
    case.warnings.iter().map(|one| format!("{}: {one}", one.id())).collect::<Vec<_>>().join("\n")
}

/// The verdict, then every metric on a line of its own.
fn figures(case: &ComparedStep, run: &Comparison) -> String {
    let confirmed = match (case.confirmed, case.may_be_layout()) {
        (true, true) => ", holds among all steps, may be the layout of code",
        (true, false) => ", holds among all steps",
        (false, _) => "",
    };
    let on = case.decides.map(|metric| format!(", on {}", metric.name())).unwrap_or_default();
    let p = case.p_value.map(|p| format!(", p = {p:.4}")).unwrap_or_default();
    let repeats = run.repeats.count(case.repeats);
    let mut text = format!("verdict: {}{confirmed}{on}{p}, {repeats}\n", case.verdict);
    for metric in &case.metrics {
        let _ = writeln!(text, "{}", figure(metric));
    }
    let notes = notes(case);
    if !notes.is_empty() {
        let _ = writeln!(text, "{notes}");
    }
    text
}

/// "ops_per_s (1/s): 612,345 -> 587,239, ratio 0.959 [0.948, 0.970]".
fn figure(one: &ComparedMetric) -> String {
    let ratio = match one.ratio {
        Some(center) => format!(", ratio {} {}", ratio(center), interval(one.low, one.high)),
        None => String::new(),
    };
    format!(
        "{} ({}): {} -> {}{ratio}",
        one.metric.name(),
        one.metric.unit(),
        quantity_or_none(one.base),
        quantity_or_none(one.candidate)
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
            let element: &'static str = kind.into();
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
