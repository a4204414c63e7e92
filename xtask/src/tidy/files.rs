//! Rules for files as such: a heading, a length, a name, and a use for every fixture.

use super::rust_source::RustSource;
use super::{SourceFile, Violation};

/// Lines of code that ships in one file. A file beyond it does more than one job.
const MAX_LINES: usize = 500;

/// Names that say nothing about what is inside.
const EMPTY_NAMES: &[&str] = &["util", "utils", "common", "helper", "helpers", "manager", "misc"];

/// Files beside fixtures that say how these were made.
const MAKERS: &[&str] = &["README.md", ".py", ".sh", ".c", ".R"];

pub fn check(files: &[SourceFile]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let mut found = |problem: String| {
            violations.push(Violation { path: file.path.clone(), line: 0, problem });
        };
        if !has_heading(&file.text) {
            found("the file does not begin with `//!`: what it is for and what it must not do".to_owned());
        }
        let length = shipped_lines(file);
        if length > MAX_LINES {
            found(format!("{length} lines without tests, at most {MAX_LINES}; split it by job"));
        }
        if let Some(name) = empty_name(&file.path) {
            found(format!("`{name}` says nothing; name the file after what it does"));
        }
    }
    violations.extend(unused_fixtures(files));
    violations
}

fn has_heading(text: &str) -> bool {
    text.lines().find(|line| !line.trim().is_empty()).is_some_and(|line| line.starts_with("//!"))
}

fn shipped_lines(file: &SourceFile) -> usize {
    if file.is_test_file() {
        return 0;
    }
    RustSource::parse(&file.text).test.iter().filter(|is_test| !**is_test).count()
}

fn empty_name(path: &str) -> Option<&str> {
    path.split('/')
        .map(|part| part.strip_suffix(".rs").unwrap_or(part))
        .find(|part| EMPTY_NAMES.contains(part))
}

/// A fixture that no source of its crate names in a string is dead weight.
///
/// The file's name must stand in a literal; where several fixtures of the crate share that name, so must the
/// directory that tells them apart.
fn unused_fixtures(files: &[SourceFile]) -> Vec<Violation> {
    let fixtures: Vec<&SourceFile> = files.iter().filter(|file| is_fixture(&file.path)).collect();
    let mut violations = Vec::new();
    for fixture in &fixtures {
        let name = fixture.file_name();
        let same_crate = |other: &SourceFile| other.crate_name() == fixture.crate_name();
        let shares_name = fixtures
            .iter()
            .any(|other| other.path != fixture.path && same_crate(other) && other.file_name() == name);
        let directory = fixture.path.rsplit('/').nth(1).unwrap_or_default();
        let literals: Vec<String> = files
            .iter()
            .filter(|file| file.is_rust() && same_crate(file))
            .flat_map(|file| RustSource::parse(&file.text).literals)
            .map(|literal| literal.text)
            .collect();
        let is_named = |part: &str| literals.iter().any(|literal| literal.contains(part));
        if !is_named(name) || (shares_name && !is_named(directory)) {
            violations.push(Violation {
                path: fixture.path.clone(),
                line: 0,
                problem: "no test names this fixture; use it or delete it".to_owned(),
            });
        }
    }
    violations
}

fn is_fixture(path: &str) -> bool {
    path.split('/').any(|part| part == "fixtures") && !MAKERS.iter().any(|suffix| path.ends_with(suffix))
}

#[cfg(test)]
mod tests {
    use super::super::tests::file;
    use super::*;

    fn problems(files: &[SourceFile]) -> Vec<String> {
        check(files).into_iter().map(|violation| violation.to_string()).collect()
    }

    #[test]
    fn a_file_without_heading_is_found() {
        let found = problems(&[file("crates/load/src/a.rs", "\nuse x;\n"), file("b.rs", "//! b\n")]);
        assert!(found.len() == 1 && found[0].starts_with("crates/load/src/a.rs: "), "{found:?}");
    }

    #[test]
    fn only_lines_that_ship_are_counted() {
        let long = format!("//! x\n{}", "fn f() {}\n".repeat(500));
        let found = problems(&[file("crates/load/src/a.rs", &long)]);
        assert!(found.len() == 1 && found[0].contains("501 lines"), "{found:?}");
        let tested = format!("//! x\n#[cfg(test)]\nmod tests {{\n{}}}\n", "fn f() {}\n".repeat(900));
        assert_eq!(problems(&[file("crates/load/src/a.rs", &tested)]), Vec::<String>::new());
    }

    #[test]
    fn an_empty_name_is_found() {
        let found = problems(&[
            file("crates/load/src/helpers.rs", "//! x\n"),
            file("crates/load/src/common/mod.rs", "//! x\n"),
            file("crates/load/src/commonality.rs", "//! x\n"),
        ]);
        assert_eq!(found.len(), 2, "{found:?}");
    }

    #[test]
    fn a_fixture_without_a_test_is_found() {
        let found = problems(&[
            file("crates/report/fixtures/a/OPTIONS.txt", ""),
            file("crates/report/fixtures/b/OPTIONS.txt", ""),
            file("crates/report/fixtures/dead.txt", ""),
            file("crates/report/fixtures/README.md", ""),
            file("crates/report/src/x.rs", "//! x\nfn f() { read(\"fixtures/a/OPTIONS.txt\") }\n"),
            file("crates/load/src/x.rs", "//! x\nfn f() { read(\"dead.txt\") }\n"),
        ]);
        let paths: Vec<&str> = found.iter().filter_map(|line| line.split(':').next()).collect();
        assert_eq!(paths, ["crates/report/fixtures/b/OPTIONS.txt", "crates/report/fixtures/dead.txt"]);
    }
}
