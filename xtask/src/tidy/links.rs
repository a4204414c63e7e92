//! Paths that the papers name: a link or a code span that leads nowhere is a violation.

use super::{SourceFile, Violation};

const OUR_DIRECTORIES: &[&str] =
    &["crates/", "xtask/", "docs/", "engines/", "configs/", "workloads/", "fuzz/"];

/// Links and code spans of our Markdown files that name a path of the project which is not there.
pub fn check(files: &[SourceFile]) -> Vec<Violation> {
    let exists = |path: &str| {
        let path = path.trim_end_matches('/');
        files.iter().any(|file| {
            file.path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    };
    let mut violations = Vec::new();
    for file in files.iter().filter(|file| file.path.ends_with(".md") && !file.path.contains("fixtures/")) {
        for (index, line) in file.text.lines().enumerate() {
            let dead =
                link_targets(file, line).into_iter().chain(project_paths(line)).find(|path| !exists(path));
            if let Some(path) = dead {
                let problem = format!("`{path}` is not there");
                violations.push(Violation { path: file.path.clone(), line: index + 1, problem });
            }
        }
    }
    violations
}

/// Targets of the line's relative links, as paths from the root.
fn link_targets(file: &SourceFile, line: &str) -> Vec<String> {
    let directory = file.path.rsplit_once('/').map_or("", |(directory, _)| directory);
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
    targets
        .filter(|target| !target.is_empty() && !target.contains("://"))
        .map(|target| from_root(directory, target))
        .collect()
}

fn from_root(directory: &str, target: &str) -> String {
    let mut parts: Vec<&str> = directory.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." | "" => {}
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// Code spans that are plainly a path of ours: no pattern, no placeholder in capitals.
fn project_paths(line: &str) -> Vec<String> {
    let spans = line.split('`').skip(1).step_by(2);
    spans
        .filter(|span| OUR_DIRECTORIES.iter().any(|directory| span.starts_with(directory)))
        .filter(|span| {
            !span.contains(['*', ' ', '<', '{']) && !span.contains("NAME") && !span.contains("NNN")
        })
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::file;
    use super::*;

    #[test]
    fn a_path_that_is_not_there_is_found() {
        let check_line = |line: &str| -> Vec<String> {
            let files = [file("GLOSSARY.md", ""), file("docs/x.md", line)];
            check(&files).iter().map(ToString::to_string).collect()
        };
        for fine in [
            "[a](../GLOSSARY.md), [b](https://x.y/z), [c](#part), [d](x.md#part), `docs/`",
            "`crates/NAME/src`, `crates/*/src`, `other/path`, crates/gone",
        ] {
            assert_eq!(check_line(fine), Vec::<String>::new(), "{fine}");
        }
        assert_eq!(check_line("[a](GLOSSARY.md)"), ["docs/x.md:1: `docs/GLOSSARY.md` is not there"]);
        assert_eq!(check_line("see `crates/gone/src`"), ["docs/x.md:1: `crates/gone/src` is not there"]);
    }
}
