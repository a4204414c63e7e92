//! Citations of `docs/statistics.md`: each section and rule that a comment or a paper cites is there.
//!
//! A citation has one form, so that a search finds all of a section: `statistics 1.9, rule 14`, or the section alone. Only
//! comments that have a line of their own are read.

use super::{SourceFile, Violation};
use std::collections::{BTreeMap, BTreeSet};

const PAGE: &str = "docs/statistics.md";
/// What a citation begins with.
const WORD: &str = "statistics ";
/// Between the numbers of several rules; the longer ones first.
const SEPARATORS: [&str; 4] = [" and ", " to ", ", ", " "];

/// The sections of the page by number, each with the numbers of its rules.
type Sections = BTreeMap<String, BTreeSet<u32>>;

pub fn check(files: &[SourceFile]) -> Vec<Violation> {
    let mut sections = Sections::new();
    let mut violations = Vec::new();
    if let Some(page) = files.iter().find(|file| file.path == PAGE) {
        violations.extend(read_page(page, &mut sections));
    }
    for file in files.iter().filter(|file| is_read(file)) {
        let prose = Prose::of(file);
        let found = dead_citations(&prose.text, &sections).into_iter().chain(other_forms(&prose.text));
        violations.extend(found.map(|(offset, problem)| Violation {
            path: file.path.clone(),
            line: prose.line_at(offset),
            problem,
        }));
    }
    violations
}

fn is_read(file: &SourceFile) -> bool {
    (file.is_rust() || file.path.ends_with(".md")) && !file.path.contains("fixtures/")
}

/// Takes in the headings that begin with a number, and the numbered items below each. A number that is given twice is a
/// violation.
fn read_page(page: &SourceFile, sections: &mut Sections) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut section: Option<String> = None;
    for (index, line) in page.text.lines().enumerate() {
        let twice = if line.starts_with('#') {
            section = heading_number(line);
            let known = section.as_ref().filter(|number| sections.contains_key(*number));
            let problem = known.map(|number| format!("section {number} is there already"));
            if let Some(number) = &section {
                sections.entry(number.clone()).or_default();
            }
            problem
        } else if let (Some(number), Some(rule)) = (&section, rule_number(line)) {
            let is_new = sections.entry(number.clone()).or_default().insert(rule);
            (!is_new).then(|| format!("rule {rule} of section {number} is there already"))
        } else {
            None
        };
        let violation = |problem| Violation { path: page.path.clone(), line: index + 1, problem };
        violations.extend(twice.map(violation));
    }
    violations
}

/// `1.9` of `### 1.9 Rules`, `7` of `## 7. Images`.
fn heading_number(line: &str) -> Option<String> {
    let first = line.trim_start_matches('#').split_whitespace().next()?;
    let number = first.trim_end_matches('.');
    is_section_number(number).then(|| number.to_owned())
}

/// `14` of `14. Frozen time ..`.
fn rule_number(line: &str) -> Option<u32> {
    line.split_once(". ")?.0.parse().ok()
}

/// One or two numbers with a dot between them.
fn is_section_number(text: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.chars().all(|one| one.is_ascii_digit());
    text.split('.').all(is_number) && text.split('.').count() <= 2
}

/// The comments of a Rust file, or all of a paper, as one text: a citation may go over the end of a line.
struct Prose {
    text: String,
    /// Where each line begins in the text, and its number from 1.
    starts: Vec<(usize, usize)>,
}

impl Prose {
    fn of(file: &SourceFile) -> Prose {
        let mut prose = Prose { text: String::new(), starts: Vec::new() };
        for (index, line) in file.text.lines().enumerate() {
            match words(file, line) {
                Some(words) => {
                    prose.starts.push((prose.text.len(), index + 1));
                    prose.text.push_str(words);
                    prose.text.push(' ');
                }
                // Code parts two comments.
                None => prose.text.push('\n'),
            }
        }
        prose
    }

    fn line_at(&self, offset: usize) -> usize {
        let begun = self.starts.partition_point(|(start, _)| *start <= offset);
        begun.checked_sub(1).map_or(0, |last| self.starts[last].1)
    }
}

/// What of a line is prose; absent for a line of code.
fn words<'a>(file: &SourceFile, line: &'a str) -> Option<&'a str> {
    let line = line.trim();
    if !file.is_rust() {
        return Some(line);
    }
    line.strip_prefix("//").map(|comment| comment.trim_start_matches(['/', '!']).trim())
}

/// Citations of what is not on the page, by their offsets.
fn dead_citations(text: &str, sections: &Sections) -> Vec<(usize, String)> {
    let mut problems = Vec::new();
    for (offset, word) in text.match_indices(WORD) {
        let rest = &text[offset + word.len()..];
        let Some((section, after)) = section_at(rest) else { continue };
        let Some(rules) = sections.get(section) else {
            problems.push((offset, format!("{PAGE} has no section {section}")));
            continue;
        };
        for rule in rules_at(after).into_iter().filter(|rule| !rules.contains(rule)) {
            problems.push((offset, format!("section {section} of {PAGE} has no rule {rule}")));
        }
    }
    problems
}

/// The section number that a text begins with, and what follows it.
fn section_at(text: &str) -> Option<(&str, &str)> {
    let after = text.trim_start_matches(is_of_number);
    // A full stop behind it ends the sentence.
    let number = text[..text.len() - after.len()].trim_end_matches('.');
    is_section_number(number).then(|| (number, &text[number.len()..]))
}

fn is_of_number(character: char) -> bool {
    character.is_ascii_digit() || character == '.'
}

/// The numbers of `, rule 14`, `, rules 8 and 9`, `, rules 1, 2 and 5`; of a range its ends.
fn rules_at(text: &str) -> Vec<u32> {
    let Some(rest) = text.strip_prefix(", rule") else { return Vec::new() };
    let (most, mut rest) = match rest.strip_prefix('s') {
        Some(rest) => (usize::MAX, rest),
        None => (1, rest),
    };
    let mut rules = Vec::new();
    while rules.len() < most {
        let Some(next) = SEPARATORS.iter().find_map(|separator| rest.strip_prefix(separator)) else { break };
        let after = next.trim_start_matches(|one: char| one.is_ascii_digit());
        let Ok(rule) = next[..next.len() - after.len()].parse() else { break };
        rules.push(rule);
        rest = after;
    }
    rules
}

/// Citations in another form, which a search for `statistics 1.9` would miss.
fn other_forms(text: &str) -> Vec<(usize, String)> {
    let mut problems = Vec::new();
    for form in ["statistics section ", "statistics, section "] {
        for (offset, _) in text.match_indices(form) {
            if let Some((section, _)) = section_at(&text[offset + form.len()..]) {
                problems.push((offset, format!("write `{WORD}{section}`")));
            }
        }
    }
    for (offset, _) in text.match_indices(", rule") {
        let before = text[..offset].trim_end_matches(is_of_number);
        let section = &text[before.len()..offset];
        if section.contains('.') && is_section_number(section) && !before.ends_with(WORD) {
            problems.push((before.len(), format!("write `{WORD}{section}, rule ..`")));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::super::tests::file;
    use super::*;

    const SECTIONS: &str = concat!(
        "# The statistics\n\n## 1. Rules\n\n### 1.9 More rules\n\n1. One,\n   of two lines.\n2. Two.\n\n",
        "### 1.10 Not 1.1\n\n## 7. Images\n\n1. One.\n\n## Sources\n\n3. No rule.\n",
    );

    fn problems(path: &str, text: &str) -> Vec<String> {
        let files = [file(PAGE, SECTIONS), file(path, text)];
        check(&files).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_is_on_the_page_may_be_cited() {
        for fine in [
            "//! It does that (statistics 1.9, rule 2).\n",
            "/// See statistics 1.9, rules 1 and 2; statistics 7, rule 1.\n",
            "    // Chosen: statistics 1.10.\n",
            "/// This goes over the end of a line (statistics\n/// 1.9, rule 2).\n",
            "/// One rule alone is meant (statistics 1.9, rule 2, 20 ms).\n",
            "/// Statistics of RocksDB; statistics are not read.\n",
        ] {
            assert_eq!(problems("crates/a/src/a.rs", fine), Vec::<String>::new(), "{fine}");
        }
    }

    #[test]
    fn what_is_not_on_the_page_is_found_with_its_line() {
        let check_line = |text: &str| problems("crates/a/src/a.rs", text);
        assert_eq!(
            check_line("//! a\n/// See (statistics 1.1).\n"),
            ["crates/a/src/a.rs:2: docs/statistics.md has no section 1.1"]
        );
        assert_eq!(
            check_line("/// (statistics 1.9, rules 1, 2 and 3)\n"),
            ["crates/a/src/a.rs:1: section 1.9 of docs/statistics.md has no rule 3"]
        );
        assert_eq!(
            check_line("fn f() {}\n/// (statistics\n/// 7, rule 3)\n"),
            ["crates/a/src/a.rs:2: section 7 of docs/statistics.md has no rule 3"]
        );
        assert_eq!(problems("docs/adr/001-a.md", "as\nstatistics 3 has it\n").len(), 1);
        assert_eq!(check(&[file("crates/a/src/a.rs", "/// statistics 7\n")]).len(), 1, "no page");
    }

    #[test]
    fn strings_are_no_citations() {
        assert_eq!(problems("crates/a/src/a.rs", "let a = \"statistics 3\";\n"), Vec::<String>::new());
        assert_eq!(problems("crates/a/src/a.rs", "/// statistics\nlet b = 3;\n"), Vec::<String>::new());
    }

    #[test]
    fn other_forms_are_found() {
        for (text, wanted) in [
            ("/// (statistics section 7)\n", "write `statistics 7`"),
            ("/// (statistics, section 7, rule 1)\n", "write `statistics 7`"),
            ("/// (1.9, rule 2)\n", "write `statistics 1.9, rule ..`"),
        ] {
            assert_eq!(problems("crates/a/src/a.rs", text), [format!("crates/a/src/a.rs:1: {wanted}")]);
        }
    }

    #[test]
    fn a_number_is_given_once() {
        let twice = format!("{SECTIONS}\n### 1.9 Again\n\n2. Two.\n");
        let found: Vec<String> = check(&[file(PAGE, &twice)]).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "docs/statistics.md:21: section 1.9 is there already",
                "docs/statistics.md:23: rule 2 of section 1.9 is there already"
            ]
        );
    }
}
