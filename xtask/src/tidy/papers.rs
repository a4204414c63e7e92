//! The project's papers: the terms of GLOSSARY.md and docs/internals.md, the form of decision records, the length of
//! ARCHITECTURE.md.

use super::{SourceFile, Violation};
use std::collections::{BTreeMap, BTreeSet};

/// The words that a user meets.
const GLOSSARY: &str = "GLOSSARY.md";

/// The words that only the code uses.
const INTERNALS: &str = "docs/internals.md";

/// Chosen so that the glossary can be read in one go.
const MAX_GLOSSARY_TERMS: usize = 69;

/// Words of the design that one of the two pages must define.
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
    "run delay",
    "contention-adjusted rate",
    "launch noise",
    "margin",
    "look",
    "boundary",
    "budget",
    "marker",
    "planted slowdown",
];

const MAX_ARCHITECTURE_LINES: usize = 199;
const MAX_RECORD_LINES: usize = 60;
const RECORD_SECTIONS: &[&str] = &["Context", "Decision", "Consequences", "Rejected", "Enforced by"];

pub fn check(files: &[SourceFile]) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut pages = Vec::new();
    for path in [GLOSSARY, INTERNALS] {
        match files.iter().find(|file| file.path == path) {
            Some(file) => pages.push(file),
            None => violations.push(violation(path, 0, "the file is missing".to_owned())),
        }
    }
    violations.extend(check_terms(&pages));
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

/// Terms are the first cells of the tables' rows. Each is defined once in both pages, none of the design is missing,
/// and the glossary is short. A glossary that is missing itself is reported by the caller, not for each term.
fn check_terms(pages: &[&SourceFile]) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut first_places: BTreeMap<String, String> = BTreeMap::new();
    for page in pages {
        let terms = terms(page);
        if page.path == GLOSSARY && terms.len() > MAX_GLOSSARY_TERMS {
            let found = terms.len();
            let problem =
                format!("{found} terms, at most {MAX_GLOSSARY_TERMS}: words of the code go to {INTERNALS}");
            violations.push(violation(&page.path, 0, problem));
        }
        for (line, term) in terms {
            if let Some(first) = first_places.get(&term) {
                let problem = format!("the term `{term}` is defined in {first} already");
                violations.push(violation(&page.path, line, problem));
            } else {
                first_places.insert(term, format!("{}:{line}", page.path));
            }
        }
    }
    if pages.iter().any(|page| page.path == GLOSSARY) {
        for required in REQUIRED_TERMS {
            if !first_places.contains_key(&required.to_lowercase()) {
                violations.push(violation(GLOSSARY, 0, format!("the term `{required}` is not defined")));
            }
        }
    }
    violations
}

/// The terms of a page with their lines, from 1.
fn terms(page: &SourceFile) -> Vec<(usize, String)> {
    let lines = page.text.lines().enumerate();
    lines.filter_map(|(index, text)| Some((index + 1, table_term(text)?))).collect()
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

    fn papers() -> Vec<SourceFile> {
        vec![
            file("GLOSSARY.md", &glossary("")),
            file("docs/internals.md", "# Words of the code\n"),
            file("ARCHITECTURE.md", "# A\n"),
        ]
    }

    fn problems(extra: SourceFile) -> Vec<String> {
        let mut files = papers();
        files.retain(|kept| kept.path != extra.path);
        files.push(extra);
        check(&files).into_iter().map(|violation| violation.to_string()).collect()
    }

    #[test]
    fn a_term_stands_once_and_none_is_missing() {
        assert_eq!(problems(file("GLOSSARY.md", &glossary(""))), Vec::<String>::new());
        let found = problems(file("GLOSSARY.md", &glossary("| Block | again |\n")));
        assert!(found.len() == 1 && found[0].contains("`block` is defined in GLOSSARY.md:"), "{found:?}");
        let found = problems(file("docs/internals.md", "| term |\n| --- |\n| Block |\n"));
        assert!(found.len() == 1 && found[0].starts_with("docs/internals.md:3: "), "{found:?}");
        let found = problems(file("GLOSSARY.md", &glossary("").replace("| launch |", "| start |")));
        assert_eq!(found, ["GLOSSARY.md: the term `launch` is not defined"]);
    }

    #[test]
    fn a_word_of_the_code_is_defined_among_those() {
        let mut files = papers();
        files[0].text = files[0].text.replace("| position | means |\n", "");
        assert_eq!(check(&files).len(), 1);
        files[1].text.push_str("| position | means |\n");
        assert!(check(&files).is_empty());
    }

    #[test]
    fn a_long_glossary_is_found() {
        let rows =
            |count: usize| -> String { (0..count).map(|row| format!("| word {row} | means |\n")).collect() };
        let free = MAX_GLOSSARY_TERMS - REQUIRED_TERMS.len();
        assert_eq!(problems(file("GLOSSARY.md", &glossary(&rows(free)))), Vec::<String>::new());
        let found = problems(file("GLOSSARY.md", &glossary(&rows(free + 1))));
        assert_eq!(found, ["GLOSSARY.md: 70 terms, at most 69: words of the code go to docs/internals.md"]);
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
        let mut files = papers();
        files.push(file("docs/adr/001-a.md", &record(RECORD_SECTIONS)));
        files.push(file("docs/adr/001-b.md", &record(RECORD_SECTIONS)));
        let found = check(&files);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].path, "docs/adr/001-b.md");
    }

    #[test]
    fn a_long_architecture_and_a_missing_paper_are_found() {
        assert_eq!(problems(file("ARCHITECTURE.md", &"line\n".repeat(200))).len(), 1);
        assert_eq!(check(&[]).len(), 3);
    }
}
