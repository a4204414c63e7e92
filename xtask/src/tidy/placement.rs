//! Where things may stand: SQL, processes, /proc, HTML, printing, clocks, unsafe code.
//!
//! Only code that ships is judged: items under `#[cfg(test)]` and test files may do what they need, except
//! that no test may be ignored and no unit test may sleep.

use super::rust_source::RustSource;
use super::{SourceFile, Violation};

/// A word in the code that only some crates may use.
struct CodeRule {
    word: &'static str,
    crates: &'static [&'static str],
    why: &'static str,
}

const WORLD: &str = "only runner and load touch the world";
const PRINT: &str = "only dbdyno prints";
const CLOCK: &str = "only runner, load and dbdyno read a clock";
const FILES: &str = "only runner, load, store and dbdyno read and write files";

const CODE_RULES: &[CodeRule] = &[
    CodeRule { word: "std::fs", crates: &["runner", "load", "store", "dbdyno", "xtask"], why: FILES },
    CodeRule { word: "println!", crates: &["dbdyno", "xtask"], why: PRINT },
    CodeRule { word: "print!", crates: &["dbdyno", "xtask"], why: PRINT },
    CodeRule { word: "eprintln!", crates: &["dbdyno", "xtask"], why: PRINT },
    CodeRule { word: "eprint!", crates: &["dbdyno", "xtask"], why: PRINT },
    CodeRule { word: "Instant::now", crates: &["runner", "load", "dbdyno", "xtask"], why: CLOCK },
    CodeRule { word: "SystemTime", crates: &["runner", "load", "dbdyno", "xtask"], why: CLOCK },
    CodeRule {
        word: "unsafe",
        crates: &["runner", "load", "xtask"],
        why: "unsafe code stands only where engines are loaded and the system is called",
    },
    CodeRule { word: "todo!", crates: &[], why: "nothing is left as a stub" },
    CodeRule { word: "unimplemented!", crates: &[], why: "nothing is left as a stub" },
];

/// The only files that make a `Command`; the code of `xtask`, which ships to nobody, may too. All others ask
/// `process::child::command` for one, which does not get the passwords of external servers.
const COMMAND_FILES: [&str; 3] = [
    "crates/runner/src/process/child.rs",
    // Starts the run itself, which needs the passwords.
    "crates/runner/src/process/supervisor.rs",
    // In the worker, whose environment has none.
    "crates/load/src/fio/process.rs",
];
const COMMAND: &str = "`Command::new` here: only runner starts programs, by `process::child::command`";

/// Two words that begin an SQL statement; an empty second one stands for any.
const SQL: &[(&str, &str)] = &[
    ("SELECT", ""),
    ("INSERT", "INTO"),
    ("INSERT", "OR"),
    ("REPLACE", "INTO"),
    ("DELETE", "FROM"),
    ("CREATE", "TABLE"),
    ("CREATE", "INDEX"),
    ("CREATE", "UNIQUE"),
    ("CREATE", "VIEW"),
    ("ALTER", "TABLE"),
    ("DROP", "TABLE"),
    ("DROP", "INDEX"),
    ("PRAGMA", ""),
    ("BEGIN", "IMMEDIATE"),
];

/// The only SQL of results is the store's. The clients of SQL engines live in load, and xtask measures and tests them.
const SQL_CRATES: &[&str] = &["store", "load", "xtask"];

const HTML_TAGS: &[&str] = &[
    "html", "head", "body", "div", "span", "table", "thead", "tbody", "tr", "td", "th", "h1", "h2", "h3",
    "ul", "ol", "li", "pre", "code", "script", "style", "svg", "br", "p", "details", "summary",
];

pub fn check(files: &[SourceFile]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in files {
        if file.path.ends_with(".sql") && file.crate_name() != Some("store") {
            violations.push(violation(file, 0, "SQL belongs to the crate store"));
        }
        if let (true, Some(crate_name)) = (file.is_rust(), file.crate_name()) {
            let source = RustSource::parse(&file.text);
            violations.extend(check_code(file, crate_name, &source));
            violations.extend(check_literals(file, crate_name, &source));
        }
    }
    violations
}

fn check_code(file: &SourceFile, crate_name: &str, source: &RustSource) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (index, code) in source.code.iter().enumerate() {
        let line = index + 1;
        if code.contains("#[ignore") {
            violations.push(violation(file, line, "no test is ignored"));
        }
        let is_unit_test = source.is_test(line) && !file.is_test_file();
        if is_unit_test && has_word(code, "sleep(") {
            violations.push(violation(file, line, "no unit test sleeps"));
        }
        if source.is_test(line) || file.is_test_file() {
            continue;
        }
        let may_command = crate_name == "xtask" || COMMAND_FILES.contains(&file.path.as_str());
        if has_word(code, "Command::new") && !may_command {
            violations.push(violation(file, line, COMMAND));
        }
        for rule in CODE_RULES {
            if has_word(code, rule.word) && !rule.crates.contains(&crate_name) {
                violations.push(violation(file, line, &format!("`{}` here: {}", rule.word, rule.why)));
            }
        }
    }
    violations
}

fn check_literals(file: &SourceFile, crate_name: &str, source: &RustSource) -> Vec<Violation> {
    let mut violations = Vec::new();
    for literal in &source.literals {
        if source.is_test(literal.line) || file.is_test_file() {
            continue;
        }
        if is_sql(&literal.text) && !SQL_CRATES.contains(&crate_name) {
            violations.push(violation(file, literal.line, "SQL belongs to the crate store"));
        }
        if names_proc(&literal.text) && !["runner", "load", "xtask"].contains(&crate_name) {
            violations.push(violation(file, literal.line, &format!("`/proc` here: {WORLD}")));
        }
        if has_html_tag(&literal.text) && crate_name != "report" {
            violations.push(violation(file, literal.line, "HTML belongs to the crate report"));
        }
    }
    violations
}

fn violation(file: &SourceFile, line: usize, problem: &str) -> Violation {
    Violation { path: file.path.clone(), line, problem: problem.to_owned() }
}

/// Whether `word` stands in the code and neither end of it is a part of a longer name.
fn has_word(code: &str, word: &str) -> bool {
    let is_name = |character: char| character.is_alphanumeric() || character == '_';
    code.match_indices(word).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        let after = code[at + word.len()..].chars().next();
        let ends_in_name = word.ends_with(is_name);
        !(before.is_some_and(is_name) || ends_in_name && after.is_some_and(is_name))
    })
}

fn is_sql(literal: &str) -> bool {
    let mut words = literal.split_whitespace();
    let (Some(first), Some(second)) = (words.next(), words.next()) else {
        return false;
    };
    let is_update = first == "UPDATE" && words.next() == Some("SET");
    is_update || SQL.iter().any(|(verb, object)| first == *verb && (object.is_empty() || second == *object))
}

fn names_proc(literal: &str) -> bool {
    literal
        .match_indices("/proc")
        .any(|(at, name)| matches!(literal[at + name.len()..].chars().next(), None | Some('/')))
}

fn has_html_tag(literal: &str) -> bool {
    literal.match_indices('<').any(|(at, _)| {
        let tag = literal[at + 1..].trim_start_matches('/');
        let name_end = tag.find(|character: char| !character.is_ascii_alphanumeric()).unwrap_or(tag.len());
        let closes = tag[name_end..].starts_with(['>', ' ', '/']);
        closes && HTML_TAGS.contains(&&tag[..name_end])
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::file;
    use super::*;

    fn problems(path: &str, text: &str) -> Vec<String> {
        check(&[file(path, text)]).into_iter().map(|violation| violation.problem).collect()
    }

    fn check_only_in(line: &str, owner: &str, stranger: &str, part: &str) {
        let text = format!("//! x\nfn f() {{ {line}; }}\n");
        assert_eq!(problems(&format!("crates/{owner}/src/a.rs"), &text), Vec::<String>::new(), "{line}");
        let found = problems(&format!("crates/{stranger}/src/a.rs"), &text);
        assert!(found.len() == 1 && found[0].contains(part), "{line}: {found:?}");
    }

    #[test]
    fn each_thing_has_its_crates() {
        check_only_in("std::fs::read(x)", "store", "findings", "std::fs");
        check_only_in("println!(x)", "dbdyno", "runner", "println!");
        check_only_in("eprint!(x)", "dbdyno", "load", "eprint!");
        check_only_in("std::time::Instant::now()", "load", "analysis", "Instant::now");
        check_only_in("SystemTime::now()", "runner", "store", "SystemTime");
        check_only_in("unsafe { x }", "load", "dbdyno", "unsafe");
        check_only_in("g(\"SELECT 1 FROM runs\")", "store", "dbdyno", "SQL");
        check_only_in("g(\"UPDATE runs SET a = 1\")", "store", "report", "SQL");
        check_only_in("g(r#\"\n  CREATE TABLE x\"#)", "store", "runner", "SQL");
        check_only_in("g(\"/proc/stat\")", "runner", "dbdyno", "/proc");
        check_only_in("g(\"<td class=x>\")", "report", "dbdyno", "HTML");
        check_only_in("g(\"</table>\")", "report", "store", "HTML");
    }

    #[test]
    fn a_program_is_started_by_what_keeps_passwords_from_it() {
        let text = "//! x\nfn f() { std::process::Command::new(x); }\n";
        for path in ["crates/runner/src/process/tool.rs", "crates/load/src/a.rs", "crates/report/src/a.rs"] {
            assert_eq!(problems(path, text), [COMMAND], "{path}");
        }
        for path in COMMAND_FILES.into_iter().chain(["xtask/src/a.rs"]) {
            assert_eq!(problems(path, text), Vec::<String>::new(), "{path}");
        }
        let ours = "//! x\nfn f() { child::command(x); WorkerCommand::new(x); }\n";
        assert_eq!(problems("crates/runner/src/a.rs", ours), Vec::<String>::new());
    }

    #[test]
    fn what_only_looks_alike_passes() {
        let text = "//! println! and /proc\nfn f() { a(\"SELECTED\"); b(\"CREATE\"); c(\"/process\"); d(\"<PATH>\"); \
                    e(\"a < b > c\"); my_println!(); unsafe_name(); g(\"UPDATE the file\"); } // Command::new\n";
        assert_eq!(problems("crates/report/src/a.rs", text), Vec::<String>::new());
    }

    #[test]
    fn test_code_may_touch_the_world() {
        let text =
            "//! x\n#[cfg(test)]\nmod tests {\n    fn f() { Command::new(\"/proc/x\"); println!(); }\n}\n";
        assert_eq!(problems("crates/report/src/a.rs", text), Vec::<String>::new());
        let text = "//! x\nfn f() { Command::new(\"x\"); }\n";
        assert_eq!(problems("crates/report/tests/a.rs", text), Vec::<String>::new());
    }

    #[test]
    fn ignored_and_sleeping_tests_are_found() {
        let text = "//! x\n#[cfg(test)]\nmod tests {\n    #[ignore]\n    fn f() { thread::sleep(x); }\n}\n";
        assert_eq!(problems("crates/load/src/a.rs", text), ["no test is ignored", "no unit test sleeps"]);
    }

    #[test]
    fn a_stub_is_found_everywhere() {
        assert_eq!(problems("xtask/src/a.rs", "//! x\nfn f() { todo!() }\n").len(), 1);
    }

    #[test]
    fn an_sql_file_belongs_to_the_store() {
        assert_eq!(problems("crates/report/x.sql", "").len(), 1);
        assert_eq!(problems("crates/store/migrations/0001_runs.sql", ""), Vec::<String>::new());
    }
}
