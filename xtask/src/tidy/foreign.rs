//! Names that do not belong into the project: paths of one machine, hosts of package registries.
//!
//! The names are put together here so that this file does not find itself.

use super::{SourceFile, Violation};

/// Files that other tools write and that name registries by their nature.
const EXEMPT: &[&str] = &["Cargo.lock"];

pub fn check(files: &[SourceFile]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in files.iter().filter(|file| !EXEMPT.contains(&file.file_name())) {
        for (index, line) in file.text.lines().enumerate() {
            let mut found = |problem: String| {
                violations.push(Violation { path: file.path.clone(), line: index + 1, problem });
            };
            for directory in machine_directories().iter().filter(|directory| has_path(line, directory)) {
                found(format!("`{directory}` is a path of one machine"));
            }
            for host in registry_hosts().iter().filter(|host| line.contains(host.as_str())) {
                found(format!("`{host}` is the host of a registry; its client knows it"));
            }
        }
    }
    violations
}

fn machine_directories() -> Vec<String> {
    ["work", "root"].iter().map(|name| format!("/{name}/")).collect()
}

fn registry_hosts() -> Vec<String> {
    [
        ("repo1", "maven.org"),
        ("repo.maven", "apache.org"),
        ("central.sonatype", "com"),
        ("index.crates", "io"),
        ("static.crates", "io"),
        ("deb.debian", "org"),
        ("security.debian", "org"),
        ("archive.ubuntu", "com"),
        ("proxy.golang", "org"),
        ("registry.npmjs", "org"),
        ("files.pythonhosted", "org"),
    ]
    .iter()
    .map(|(host, domain)| format!("{host}.{domain}"))
    .collect()
}

/// Whether an absolute path below `directory` begins in the line: what stands before it is no part of a path.
fn has_path(line: &str, directory: &str) -> bool {
    line.match_indices(directory).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|character| {
            character.is_alphanumeric() || matches!(character, '.' | '_' | '-' | '}' | '/')
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::file;
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        check(&[file(path, text)]).len()
    }

    #[test]
    fn a_path_of_one_machine_is_found() {
        assert_eq!(count("a.md", &format!("see `{}x.txt`", machine_directories()[0])), 1);
        assert_eq!(count("a.rs", &format!("open(\"{}x\")", machine_directories()[1])), 1);
    }

    #[test]
    fn a_relative_path_passes() {
        assert_eq!(count("a.rs", &format!("target/e2e{0}x and {{store}}{0}y", machine_directories()[0])), 0);
    }

    #[test]
    fn a_registry_host_is_found_except_where_tools_write_it() {
        for host in registry_hosts() {
            assert_eq!(count("docs/x.md", &format!("https://{host}/x")), 1, "{host}");
            assert_eq!(count("Cargo.lock", &format!("https://{host}/x")), 0, "{host}");
        }
    }
}
