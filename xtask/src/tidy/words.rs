//! Words that users would not understand, each with the word of the field to use instead: gone from what dbdyno says and from the
//! documents, and kept out.
//!
//! What dbdyno says are its string literals, tests apart, and the comments of its command line, which are its help; the files of workloads,
//! configurations, engines, hardware and plans, which it prints and which users copy. Records of decisions, the changelog, quoted
//! reports and imported data keep the words of their day.

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
    ("no more than a suspicion", "suspect, not proven"),
    ("moved as well", "also changed"),
    ("with it moved", "also changed"),
    ("default drift", "changed default"),
    ("must be known", "notes"),
    ("can be had", "is available"),
    ("goes on with it", "resumes it"),
    ("that is not ours", "external server"),
    ("hopeless", "what it is: too noisy, no time for it"),
    ("dearest", "costliest"),
    ("colophon", "footer"),
    ("whisker", "error bar"),
    ("as the posts", "as Small Datum"),
    ("of the posts", "of Small Datum"),
    ("the posts'", "Small Datum's"),
    (" anew", "again"),
    ("taken together", "combined, or corrected for all"),
    ("alive at once", "running at the same time"),
];

/// Directories of files that users read and copy.
const DATA: &[&str] = &["configs/", "engines/", "hardware/", "plans/", "workloads/"];

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
    let numbered = || (1..).zip(file.text.lines().map(str::to_owned));
    let lines: Vec<(usize, String)> = if is_said(file) {
        let source = RustSource::parse(&file.text);
        let said = source.literals.iter().filter(|literal| !source.is_test(literal.line));
        let literals = said.map(|literal| (literal.line, joined(&literal.text)));
        let help = numbered().filter(|(_, line)| has_help(file) && line.trim_start().starts_with("///"));
        literals.chain(help).collect()
    } else if is_document(file) || is_data_to_read(file) {
        numbered().collect()
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

/// Of the command line the documentation of a field is the help of its option.
fn has_help(file: &SourceFile) -> bool {
    file.path.starts_with("crates/dbdyno/src/cli/")
}

fn is_data_to_read(file: &SourceFile) -> bool {
    file.path.ends_with(".toml") && DATA.iter().any(|directory| file.path.starts_with(directory))
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
        assert_eq!(violations("workloads/a.toml", "# as the posts do\ndescription = \"patience\""), 2);
        let help = "struct Run {\n    /// How long patience lasts.\n    seconds: u32, // its patience\n}";
        assert_eq!(violations("crates/dbdyno/src/cli/run.rs", help), 1);
        assert_eq!(violations("crates/dbdyno/src/run.rs", help), 0);
    }

    #[test]
    fn tests_comments_and_what_is_kept_may_have_them() {
        let quiet =
            "// set aside\nfn f() {}\n#[cfg(test)]\nmod tests {\n    const A: &str = \"set aside\";\n}\n";
        assert_eq!(violations("crates/report/src/a.rs", quiet), 0);
        assert_eq!(violations("crates/report/src/tests.rs", "const A: &str = \"set aside\";"), 0);
        assert_eq!(violations("docs/adr/001-a.md", "set aside"), 0);
    }
}
