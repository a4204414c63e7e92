//! The project's papers: the glossary's terms, the form of decision records, the length of ARCHITECTURE.md.

use super::{SourceFile, Violation};
use std::collections::{BTreeMap, BTreeSet};

/// Words of the design that the glossary must define.
const REQUIRED_TERMS: &[&str] = &[
    "engine",
    "build",
    "configuration",
    "subject",
    "workload",
    "step",
    "group",
    "case",
    "run",
    "launch",
    "trial",
    "block",
    "sample",
    "measurement",
    "series",
    "relative QPS",
    "verdict",
    "change point",
    "side",
    "cycle",
    "position",
    "image",
    "shape",
    "settle",
    "foreground cost",
    "run delay",
    "contention-adjusted rate",
    "launch noise",
    "margin",
    "look",
    "boundary",
    "budget",
    "marker",
    "planted slowdown",
    "harness cost",
];

const MAX_ARCHITECTURE_LINES: usize = 199;
const MAX_RECORD_LINES: usize = 60;
const RECORD_SECTIONS: &[&str] = &["Context", "Decision", "Consequences", "Rejected", "Enforced by"];

pub fn check(files: &[SourceFile]) -> Vec<Violation> {
    let mut violations = Vec::new();
    match files.iter().find(|file| file.path == "GLOSSARY.md") {
        Some(file) => violations.extend(check_glossary(file)),
        None => violations.push(violation("GLOSSARY.md", 0, "the file is missing".to_owned())),
    }
    match files.iter().find(|file| file.path == "ARCHITECTURE.md") {
        Some(file) => violations.extend(too_long(file, MAX_ARCHITECTURE_LINES)),
        None => violations.push(violation("ARCHITECTURE.md", 0, "the file is missing".to_owned())),
    }
    let records: Vec<&SourceFile> = files
        .iter()
        .filter(|file| file.path.starts_with("docs/adr/") && file.path.ends_with(".md"))
        .collect();
    for record in &records {
        violations.extend(check_record(record));
    }
    violations.extend(check_numbers(&records));
    violations
}

fn violation(path: &str, line: usize, problem: String) -> Violation {
    Violation { path: path.to_owned(), line, problem }
}

fn too_long(file: &SourceFile, limit: usize) -> Option<Violation> {
    let length = file.text.lines().count();
    (length > limit).then(|| violation(&file.path, 0, format!("{length} lines, at most {limit}")))
}

/// Terms are the first cells of the table's rows; each stands once, and those of the design are there.
fn check_glossary(file: &SourceFile) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut first_lines: BTreeMap<String, usize> = BTreeMap::new();
    for (index, text) in file.text.lines().enumerate() {
        let Some(term) = table_term(text) else { continue };
        let line = index + 1;
        if let Some(first) = first_lines.get(&term) {
            let problem = format!("the term `{term}` is defined in line {first} already");
            violations.push(violation(&file.path, line, problem));
        } else {
            first_lines.insert(term, line);
        }
    }
    for required in REQUIRED_TERMS {
        if !first_lines.contains_key(&required.to_lowercase()) {
            violations.push(violation(&file.path, 0, format!("the term `{required}` is not defined")));
        }
    }
    violations
}

/// The term of a table row, in lower case; nothing for headings, rules and text.
fn table_term(line: &str) -> Option<String> {
    let cell = line.strip_prefix('|')?.split('|').next()?.trim();
    let is_rule = cell.chars().all(|character| matches!(character, '-' | ':'));
    (!is_rule && cell != "term").then(|| cell.to_lowercase())
}

fn check_record(record: &SourceFile) -> Vec<Violation> {
    let mut violations: Vec<Violation> = too_long(record, MAX_RECORD_LINES).into_iter().collect();
    let found: Vec<&str> =
        record.text.lines().filter_map(|line| line.strip_prefix("## ")).map(str::trim).collect();
    if found != RECORD_SECTIONS {
        let problem =
            format!("sections are [{}], must be [{}]", found.join(", "), RECORD_SECTIONS.join(", "));
        violations.push(violation(&record.path, 0, problem));
    }
    if record_number(record).is_none() {
        violations.push(violation(&record.path, 0, "name it NNN-title.md".to_owned()));
    }
    violations
}

/// Numbers are given once each.
fn check_numbers(records: &[&SourceFile]) -> Vec<Violation> {
    let mut seen = BTreeSet::new();
    let numbered = records.iter().filter_map(|record| Some((record, record_number(record)?)));
    numbered
        .filter(|(_, number)| !seen.insert(*number))
        .map(|(record, number)| violation(&record.path, 0, format!("the number {number} is taken")))
        .collect()
}

fn record_number(record: &SourceFile) -> Option<&str> {
    let (number, title) = record.file_name().split_once('-')?;
    let is_number = number.len() == 3 && number.chars().all(|digit| digit.is_ascii_digit());
    (is_number && !title.is_empty()).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::super::tests::file;
    use super::*;

    fn glossary(extra: &str) -> String {
        let rows: String = REQUIRED_TERMS.iter().map(|term| format!("| {term} | means |\n")).collect();
        format!("# Words\n| term | means |\n| --- | --- |\n{rows}{extra}")
    }

    fn record(sections: &[&str]) -> String {
        sections.iter().map(|section| format!("## {section}\n\ntext\n\n")).collect()
    }

    fn problems(extra: SourceFile) -> Vec<String> {
        let mut files = vec![file("GLOSSARY.md", &glossary("")), file("ARCHITECTURE.md", "# A\n")];
        files.retain(|kept| kept.path != extra.path);
        files.push(extra);
        check(&files).into_iter().map(|violation| violation.to_string()).collect()
    }

    #[test]
    fn a_term_stands_once_and_none_is_missing() {
        assert_eq!(problems(file("GLOSSARY.md", &glossary(""))), Vec::<String>::new());
        let found = problems(file("GLOSSARY.md", &glossary("| Block | again |\n")));
        assert!(found.len() == 1 && found[0].contains("`block` is defined in line"), "{found:?}");
        let found = problems(file("GLOSSARY.md", &glossary("").replace("| launch |", "| start |")));
        assert_eq!(found, ["GLOSSARY.md: the term `launch` is not defined"]);
    }

    #[test]
    fn a_record_has_its_sections_its_length_and_its_number() {
        assert_eq!(problems(file("docs/adr/001-x.md", &record(RECORD_SECTIONS))), Vec::<String>::new());
        assert_eq!(problems(file("docs/adr/001-x.md", &record(&RECORD_SECTIONS[..4]))).len(), 1);
        assert_eq!(problems(file("docs/adr/1-x.md", &record(RECORD_SECTIONS))).len(), 1);
        let long = format!("{}{}", "line\n".repeat(50), record(RECORD_SECTIONS));
        assert_eq!(problems(file("docs/adr/001-x.md", &long)), ["docs/adr/001-x.md: 70 lines, at most 60"]);
    }

    #[test]
    fn a_number_is_given_once() {
        let found = check(&[
            file("GLOSSARY.md", &glossary("")),
            file("ARCHITECTURE.md", ""),
            file("docs/adr/001-a.md", &record(RECORD_SECTIONS)),
            file("docs/adr/001-b.md", &record(RECORD_SECTIONS)),
        ]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].path, "docs/adr/001-b.md");
    }

    #[test]
    fn a_long_architecture_and_a_missing_paper_are_found() {
        assert_eq!(problems(file("ARCHITECTURE.md", &"line\n".repeat(200))).len(), 1);
        assert_eq!(check(&[]).len(), 2);
    }
}
