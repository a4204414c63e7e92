//! A report as a blog post in Markdown, with the fixed parts of the Small Datum posts: tl;dr, builds, hardware,
//! benchmark with the command line, results with the base named, a paragraph for each finding.

mod results;
mod setup;

use crate::campaign::{self, CampaignView};
use crate::groups::GroupRow;
use crate::layout::printable;
use crate::markdown::{escaped, list_item};
use crate::phrases;
use crate::verdicts::{self, RunVerdicts};
use crate::view::{Note, ReportView};
use model::record::RunRecord;

/// A chart that lies beside the post as a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Illustration {
    /// Its file, with its ending.
    pub file: String,
    pub caption: String,
}

/// The post of a comparison; the record is that of the view.
pub fn of_comparison(view: &ReportView, record: &RunRecord, charts: &[Illustration]) -> String {
    let run = verdicts::of_comparison(view);
    let groups = view.candidates.iter().flat_map(|candidate| &candidate.groups).collect();
    let differs = view.candidates.iter().flat_map(|candidate| results::differs(candidate, view)).collect();
    let parts = Parts { run: &run, record, charts, findings: results::of_rows(view), groups, differs };
    parts.render(&phrases::run_line(view), &phrases::headline(view), &run.telling())
}

/// The post of a campaign.
pub fn of_campaign(view: &CampaignView, record: &RunRecord, charts: &[Illustration]) -> String {
    let run = verdicts::of_campaign(view);
    let own = || view.findings.iter().filter(|finding| finding.part_of.is_none());
    let findings = own().map(|one| campaign::finding(one, view)).collect();
    let mut short: Vec<String> = own().map(|one| campaign::finding_with(one, &[], view)).collect();
    short.extend(run.telling());
    let parts = Parts {
        run: &run,
        record,
        charts,
        findings,
        groups: view.groups.iter().collect(),
        differs: Vec::new(),
    };
    parts.render(&campaign::run_line(view), &campaign::headline(view), &short)
}

/// What a post is put together from.
struct Parts<'a> {
    run: &'a RunVerdicts<'a>,
    record: &'a RunRecord,
    charts: &'a [Illustration],
    findings: Vec<String>,
    groups: Vec<&'a GroupRow>,
    /// What differs between the sides beside the code, laid out.
    differs: Vec<String>,
}

/// More sentences than this are no summary: the rest stands among the findings.
const MOST_SHORT: usize = 8;

impl Parts<'_> {
    fn render(&self, run_line: &str, headline: &str, short: &[String]) -> String {
        let mut parts = vec![format!("# {}", escaped(&printable(&self.title())))];
        parts.extend(section("tl;dr", [self.short(short)]));
        parts.extend(section("Builds", setup::builds(self.record)));
        parts.extend(section("Hardware", setup::hardware(self.record)));
        let mut benchmark = vec![escaped(headline), escaped(run_line)];
        benchmark.extend(setup::benchmark(self.record, &self.run.run.again));
        parts.extend(section("Benchmark", benchmark));
        let mut results = results::tables(self.run, &self.groups, self.record);
        results.extend(self.charts.iter().map(|chart| {
            let caption = escaped(&chart.caption);
            // Within its brackets a closing one would end it.
            let alternative = caption.replace(']', "\\]");
            format!("![{alternative}]({})\n\n{caption}", file_url(&chart.file))
        }));
        parts.extend(section("Results", results));
        let findings: Vec<String> = self.findings.iter().map(|finding| escaped(finding)).collect();
        let none = "No step differs from the base by more than can be told.".to_owned();
        parts.extend(section("Findings", if findings.is_empty() { vec![none] } else { findings }));
        if !self.differs.is_empty() {
            parts.extend(section("What differs beside the code", self.differs.iter().cloned()));
        }
        parts.extend(section("What to know", self.cautions()));
        parts.retain(|part| !part.is_empty());
        parts.join("\n\n") + "\n"
    }

    fn title(&self) -> String {
        let candidates: Vec<String> =
            self.record.plan.subjects.iter().skip(1).map(|subject| subject.reference.to_string()).collect();
        let candidates = match candidates.as_slice() {
            [one] => one.clone(),
            [first, .., last] => format!("{first} to {last}"),
            [] => "nothing".to_owned(),
        };
        format!("{}: {candidates} against {}", self.run.run.workload, self.run.base)
    }

    fn short(&self, sentences: &[String]) -> String {
        let mut items: Vec<String> =
            sentences.iter().take(MOST_SHORT).map(|sentence| list_item(sentence)).collect();
        if let Some(more @ 1..) = sentences.len().checked_sub(MOST_SHORT) {
            items.push(list_item(&format!("and {more} more, below")));
        }
        items.join("\n")
    }

    /// Warnings, notes of steps, and trials that are not done.
    fn cautions(&self) -> Vec<String> {
        let run = self.run;
        let mut items = run.cautions();
        if run.trials.failed + run.trials.skipped == 0 {
            items.push(format!("All {} trials are done.", run.trials.done));
        }
        let mut said: Vec<(&Note, Vec<&str>)> = Vec::new();
        for (note, step) in
            run.steps.iter().flat_map(|step| step.notes.iter().map(move |note| (*note, step.step)))
        {
            match said.iter_mut().find(|(known, _)| *known == note) {
                Some((_, steps)) if steps.contains(&step) => {}
                Some((_, steps)) => steps.push(step),
                None => said.push((note, vec![step])),
            }
        }
        items.extend(said.iter().map(|(note, steps)| format!("{}: {}", steps.join(", "), note.text)));
        vec![items.iter().map(|item| list_item(item)).collect::<Vec<_>>().join("\n")]
    }
}

fn section(title: &str, parts: impl IntoIterator<Item = String>) -> Vec<String> {
    std::iter::once(format!("## {title}")).chain(parts).collect()
}

/// A file name where Markdown wants an address.
fn file_url(file: &str) -> String {
    let mut url = String::new();
    for byte in file.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-' | b'_' => url.push(char::from(byte)),
            other => url.push_str(&format!("%{other:02X}")),
        }
    }
    url
}

/// Text as it is, in a fence that nothing in it can close.
fn fenced(text: &str) -> String {
    let longest = text.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let shown: String =
        text.chars().map(|character| if is_shown(character) { character } else { '?' }).collect();
    format!("{fence}\n{}\n{fence}", shown.trim_end_matches('\n'))
}

fn is_shown(character: char) -> bool {
    character == '\n' || !character.is_control()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_closes_a_fence_from_within() {
        assert_eq!(fenced("a ``` b\n"), "````\na ``` b\n````");
        assert_eq!(fenced("plain"), "```\nplain\n```");
        assert_eq!(file_url("a b(c).svg"), "a%20b%28c%29.svg");
    }
}
