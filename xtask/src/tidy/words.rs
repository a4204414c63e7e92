//! Words that users would not understand, each with the word of the field to use instead: gone from what dbdyno says and from the
//! documents, and kept out.
//!
//! What dbdyno says are its string literals, tests apart. Records of decisions, the changelog, quoted reports and data keep the words of
//! their day.

use super::rust_source::RustSource;
use super::{SourceFile, Violation};

/// The word, and what to write.
const WORDS: &[(&str, &str)] = &[
    ("by itself only", "significant alone"),
    ("set aside", "excluded"),
    ("standing out besides", "also notable, at a false discovery rate of"),
    ("patience", "timeout"),
    ("companion", "concurrent step"),
    ("runs beside", "runs concurrently with"),
    ("planted slowdown", "injected slowdown"),
    ("slowdown was planted", "injected slowdown"),
    ("server elsewhere", "external server"),
    ("servers elsewhere", "external servers"),
    ("helper step", "setup step"),
    ("hopeless", "what it is: too noisy, no time for it"),
    ("dearest", "costliest"),
    ("colophon", "footer"),
    ("whisker", "error bar"),
    ("as the posts", "as Small Datum"),
    ("of the posts", "of Small Datum"),
    ("the posts'", "Small Datum's"),
];

/// Documents that keep the words of their day, and those that define the words.
const KEPT: &[&str] = &[
    "docs/adr/",
    "docs/examples/",
    "docs/gallery/",
    "docs/performance-history.md",
    "docs/internals.md",
    "CHANGELOG.md",
];

pub fn check(files: &[SourceFile]) -> Vec<Violation> {
    files.iter().flat_map(of_file).collect()
}

fn of_file(file: &SourceFile) -> Vec<Violation> {
    let lines: Vec<(usize, String)> = if is_said(file) {
        let source = RustSource::parse(&file.text);
        let said = source.literals.iter().filter(|literal| !source.is_test(literal.line));
        said.map(|literal| (literal.line, joined(&literal.text))).collect()
    } else if is_document(file) {
        (1..).zip(file.text.lines().map(str::to_owned)).collect()
    } else {
        Vec::new()
    };
    let found = |(line, text): &(usize, String)| -> Vec<Violation> {
        let text = text.to_lowercase();
        let words = WORDS.iter().filter(|(word, _)| text.contains(word));
        let violation = |(word, instead): &(&str, &str)| Violation {
            path: file.path.clone(),
            line: *line,
            problem: format!("`{word}` is a word of our own: write `{instead}`"),
        };
        words.map(violation).collect()
    };
    lines.iter().flat_map(found).collect()
}

fn is_said(file: &SourceFile) -> bool {
    file.is_rust() && file.path.starts_with("crates/") && !file.is_test_file()
}

fn is_document(file: &SourceFile) -> bool {
    file.path.ends_with(".md")
        && (file.path.starts_with("docs/") || !file.path.contains('/'))
        && !KEPT.iter().any(|kept| file.path.starts_with(kept))
}

/// A literal that goes on in the next line as the reader sees it.
fn joined(text: &str) -> String {
    let mut parts = text.split("\\\n");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violations(path: &str, text: &str) -> usize {
        of_file(&SourceFile { path: path.to_owned(), text: text.to_owned() }).len()
    }

    #[test]
    fn words_are_found_in_what_is_said_and_in_documents() {
        let said = "fn f() -> &'static str { \"trials are set \\\n    aside\" }";
        assert_eq!(violations("crates/report/src/a.rs", said), 1);
        assert_eq!(violations("docs/campaigns.md", "A trial is Set aside."), 1);
        assert_eq!(violations("README.md", "fine"), 0);
    }

    #[test]
    fn tests_comments_and_what_is_kept_may_have_them() {
        let quiet =
            "// set aside\nfn f() {}\n#[cfg(test)]\nmod tests {\n    const A: &str = \"set aside\";\n}\n";
        assert_eq!(violations("crates/report/src/a.rs", quiet), 0);
        assert_eq!(violations("crates/report/src/tests.rs", "const A: &str = \"set aside\";"), 0);
        assert_eq!(violations("docs/adr/001-a.md", "set aside"), 0);
        assert_eq!(violations("workloads/a.toml", "set aside"), 0);
    }
}
