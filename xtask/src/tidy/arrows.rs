//! The arrows between crates, and who may have which dependency, from the manifests.

use super::{SourceFile, Violation};

/// From which crate to which. A crate that is missing here is a violation: its arrows have to be decided.
/// `dbdyno` and `xtask` stand above all others and may use any.
const ARROWS: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("formats", &["model"]),
    ("load", &["model", "formats"]),
    ("runner", &["model", "formats"]),
    ("store", &["model"]),
    ("analysis", &["model"]),
    ("findings", &["model", "formats", "analysis"]),
    ("report", &["model", "findings", "analysis"]),
    ("testing", &["model"]),
    ("dbdyno", &["model", "formats", "load", "runner", "store", "analysis", "findings", "report"]),
    ("xtask", &["model", "formats", "load", "runner", "store", "analysis", "findings", "report", "testing"]),
];

/// Dependencies that only some crates may have.
const RESERVED: &[(&str, &[&str])] = &[("anyhow", &["dbdyno", "xtask"]), ("rusqlite", &["store", "xtask"])];

pub fn check(files: &[SourceFile]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in files.iter().filter(|file| file.file_name() == "Cargo.toml") {
        let result = match file.crate_name() {
            Some(name) => check_crate(name, file),
            None => check_workspace(file),
        };
        violations.extend(result.into_iter().map(|problem| Violation {
            path: file.path.clone(),
            line: 0,
            problem,
        }));
    }
    violations
}

fn check_crate(name: &str, file: &SourceFile) -> Vec<String> {
    let manifest: toml::Table = match file.text.parse() {
        Ok(manifest) => manifest,
        Err(error) => return vec![format!("not TOML: {}", error.message())],
    };
    let Some((_, allowed)) = ARROWS.iter().find(|(from, _)| *from == name) else {
        return vec![format!("crate `{name}` has no arrows; add it to xtask/src/tidy/arrows.rs")];
    };
    let mut problems = Vec::new();
    for dependency in dependency_names(&manifest, "dependencies") {
        let is_ours = ARROWS.iter().any(|(crate_name, _)| *crate_name == dependency);
        if is_ours && !allowed.contains(&dependency) {
            problems.push(format!("`{name}` must not depend on `{dependency}` (ARCHITECTURE.md, arrows)"));
        }
        for (reserved, owners) in RESERVED {
            if dependency == *reserved && !owners.contains(&name) {
                problems.push(format!("`{reserved}` belongs to {} only", owners.join(" and ")));
            }
        }
    }
    for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
        let table = manifest.get(section).and_then(toml::Value::as_table);
        for (dependency, value) in table.into_iter().flatten() {
            if value.get("workspace").and_then(toml::Value::as_bool) != Some(true) {
                problems.push(format!("write `{dependency}.workspace = true`; versions stand in the root"));
            }
        }
    }
    let lints = manifest.get("lints").and_then(|lints| lints.get("workspace")).and_then(toml::Value::as_bool);
    if lints != Some(true) {
        problems.push("write `[lints] workspace = true`".to_owned());
    }
    problems
}

fn dependency_names<'a>(manifest: &'a toml::Table, section: &str) -> Vec<&'a str> {
    let table = manifest.get(section).and_then(toml::Value::as_table);
    table.into_iter().flatten().map(|(name, _)| name.as_str()).collect()
}

/// Each line of `[workspace.dependencies]` that is not one of our own crates gives its reason.
fn check_workspace(file: &SourceFile) -> Vec<String> {
    let lines = file.text.lines().skip_while(|line| line.trim() != "[workspace.dependencies]").skip(1);
    lines
        .take_while(|line| !line.starts_with('['))
        .filter(|line| line.contains('=') && !line.contains("path =") && !line.contains(" # "))
        .map(|line| {
            let name = line.split('=').next().unwrap_or(line).trim();
            format!("the dependency `{name}` has no reason; add `# why` to its line")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::file;
    use super::*;

    const LINTS: &str = "[lints]\nworkspace = true\n";

    fn problems(path: &str, text: &str) -> Vec<String> {
        check(&[file(path, text)]).into_iter().map(|violation| violation.problem).collect()
    }

    #[test]
    fn an_arrow_against_the_flow_is_found() {
        let found = problems(
            "crates/analysis/Cargo.toml",
            &format!("{LINTS}[dependencies]\nmodel.workspace = true\nstore.workspace = true\n"),
        );
        assert_eq!(found, ["`analysis` must not depend on `store` (ARCHITECTURE.md, arrows)"]);
    }

    #[test]
    fn the_arrows_of_the_design_pass() {
        let text = format!("{LINTS}[dependencies]\nmodel.workspace = true\nanalysis.workspace = true\n");
        assert_eq!(problems("crates/report/Cargo.toml", &text), Vec::<String>::new());
        let text = format!("{LINTS}[dev-dependencies]\nstore.workspace = true\n");
        assert_eq!(problems("crates/analysis/Cargo.toml", &text), Vec::<String>::new());
    }

    #[test]
    fn a_reserved_dependency_stays_with_its_owner() {
        let text = format!("{LINTS}[dependencies]\nanyhow.workspace = true\nrusqlite.workspace = true\n");
        assert_eq!(
            problems("crates/runner/Cargo.toml", &text),
            ["`anyhow` belongs to dbdyno and xtask only", "`rusqlite` belongs to store and xtask only"]
        );
    }

    #[test]
    fn versions_and_lints_come_from_the_root() {
        assert_eq!(
            problems("crates/model/Cargo.toml", "[dependencies]\nserde = \"1\"\n"),
            [
                "write `serde.workspace = true`; versions stand in the root",
                "write `[lints] workspace = true`"
            ]
        );
    }

    #[test]
    fn a_new_crate_needs_its_arrows_decided() {
        assert_eq!(problems("crates/plot/Cargo.toml", LINTS).len(), 1);
    }

    #[test]
    fn a_dependency_without_a_reason_is_found() {
        let text = "[workspace.dependencies]\nmodel = { path = \"x\" }\nserde = \"1\" # files\nlibc = \"1\"\n[profile.dev]\nx = 1\n";
        assert_eq!(
            problems("Cargo.toml", text),
            ["the dependency `libc` has no reason; add `# why` to its line"]
        );
    }
}
