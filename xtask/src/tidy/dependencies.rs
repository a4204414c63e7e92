//! The crates that we depend on: how many they are, where they come from, and their licences. Advisories are looked up by
//! `cargo xtask deny`.

use super::{SourceFile, Violation};
use crate::workspace;
use anyhow::{Context, bail};
use serde_json::Value;
use std::iter::Peekable;
use std::str::SplitWhitespace;

/// As many packages as `Cargo.lock` has, our own included. Each is code of others that runs with the rights of the user.
const MOST_PACKAGES: usize = 275;

/// Where all others come from; our own have no source.
const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// The only platform that we build for: what others would need is in `Cargo.lock`, and in no program.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

const LOCK: &str = "Cargo.lock";
const DENY: &str = "deny.toml";

/// Rules for what `Cargo.lock` has.
pub fn check(files: &[SourceFile]) -> Vec<Violation> {
    let Some(lock) = files.iter().find(|file| file.path == LOCK) else { return Vec::new() };
    let mut violations = Vec::new();
    let mut found = |line: usize, problem: String| {
        violations.push(Violation { path: LOCK.to_owned(), line, problem });
    };
    let packages = lock.text.lines().filter(|line| *line == "[[package]]").count();
    if packages > MOST_PACKAGES {
        found(
            0,
            format!(
                "{packages} packages, at most {MOST_PACKAGES}: do without the new one or with fewer of its features; or raise MOST_PACKAGES in \
                 xtask/src/tidy/dependencies.rs, and say in the commit what they are for"
            ),
        );
    }
    for (line, number) in lock.text.lines().zip(1..) {
        let source = line.strip_prefix("source = \"").and_then(|rest| rest.strip_suffix('"'));
        if let Some(source) = source.filter(|source| *source != CRATES_IO) {
            found(number, format!("a package comes from `{source}`: only crates.io is allowed"));
        }
    }
    violations
}

/// What cargo knows of the packages that are built.
pub fn metadata() -> anyhow::Result<Value> {
    let output = workspace::cargo()
        .args(["metadata", "--format-version", "1", "--locked", "--filter-platform", PLATFORM])
        .current_dir(workspace::root()?)
        .output()
        .context("failed to start cargo metadata")?;
    if !output.status.success() {
        bail!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    serde_json::from_slice(&output.stdout).context("failed to parse the output of cargo metadata")
}

/// The licence of each package is one of those that `deny.toml` allows.
pub fn check_licences(files: &[SourceFile], metadata: &Value) -> Vec<Violation> {
    let found = |problem: String| Violation { path: DENY.to_owned(), line: 0, problem };
    let allowed = files.iter().find(|file| file.path == DENY).and_then(|file| allowed(&file.text));
    let Some(allowed) = allowed else {
        return vec![found("there is no list `allow` below [licenses]".to_owned())];
    };
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let of = |package: &Value| {
        let said = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
        let licence = said("license");
        (!allows(&licence, &allowed)).then(|| {
            found(format!(
                "{} {} has the licence `{licence}`, which is not in `allow` below [licenses]: use another crate, or add it after reading it",
                said("name"),
                said("version")
            ))
        })
    };
    packages.iter().filter_map(of).collect()
}

fn allowed(deny: &str) -> Option<Vec<String>> {
    let deny: toml::Table = deny.parse().ok()?;
    let names = deny.get("licenses")?.get("allow")?.as_array()?;
    names.iter().map(|name| Some(name.as_str()?.to_owned())).collect()
}

/// Whether one may choose licences of a list that together are what an expression of SPDX asks for, as `MIT OR (Apache-2.0 AND ISC)`.
/// A slash is what crates wrote before in place of OR.
fn allows(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    alternatives(&mut words, allowed) && words.next().is_none()
}

fn alternatives(words: &mut Peekable<SplitWhitespace<'_>>, allowed: &[String]) -> bool {
    let mut holds = conjunction(words, allowed);
    while words.next_if_eq(&"OR").is_some() {
        holds |= conjunction(words, allowed);
    }
    holds
}

fn conjunction(words: &mut Peekable<SplitWhitespace<'_>>, allowed: &[String]) -> bool {
    let mut holds = licence(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        holds &= licence(words, allowed);
    }
    holds
}

fn licence(words: &mut Peekable<SplitWhitespace<'_>>, allowed: &[String]) -> bool {
    let Some(word) = words.next() else { return false };
    if word == "(" {
        let holds = alternatives(words, allowed);
        return words.next() == Some(")") && holds;
    }
    let mut name = word.to_owned();
    if words.next_if_eq(&"WITH").is_some() {
        name = format!("{name} WITH {}", words.next().unwrap_or_default());
    }
    allowed.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::super::tests::file;
    use super::*;
    use serde_json::json;

    #[test]
    fn packages_are_counted_and_come_from_crates_io() {
        let package = "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\n";
        let lock = |packages: usize, source: &str| {
            check(&[file(LOCK, &format!("{}source = \"{source}\"\n", package.repeat(packages)))])
        };
        assert!(lock(MOST_PACKAGES, CRATES_IO).is_empty());
        let one_more = lock(MOST_PACKAGES + 1, CRATES_IO);
        assert_eq!(one_more.len(), 1);
        assert!(one_more[0].problem.contains(&format!("at most {MOST_PACKAGES}")), "{one_more:?}");
        let elsewhere = lock(1, "git+https://example.org/a.git#0123");
        assert_eq!((elsewhere.len(), elsewhere[0].line), (1, 4));
        assert!(elsewhere[0].problem.contains("`git+https://example.org/a.git#0123`"), "{elsewhere:?}");
    }

    #[test]
    fn a_licence_is_one_of_those_that_are_allowed() {
        let deny = file(DENY, "[licenses]\nallow = [\"MIT\", \"Apache-2.0\", \"Unicode-3.0\"]\n");
        let problems = |licence: Value| {
            let metadata = json!({ "packages": [{ "name": "a", "version": "1.0.0", "license": licence }] });
            check_licences(std::slice::from_ref(&deny), &metadata).len()
        };
        for fine in [
            "MIT",
            "MIT OR GPL-3.0-only",
            "GPL-3.0-only/MIT",
            "(MIT OR GPL-3.0-only) AND Unicode-3.0",
            "GPL-3.0-only OR MIT AND Apache-2.0",
            "Apache-2.0 WITH LLVM-exception OR MIT",
        ] {
            assert_eq!(problems(fine.into()), 0, "{fine}");
        }
        for wrong in [
            "GPL-3.0-only",
            "MIT AND GPL-3.0-only",
            "(MIT OR Apache-2.0) AND GPL-3.0-only",
            "Apache-2.0 WITH LLVM-exception",
            "(MIT",
            "MIT)",
            "MIT Apache-2.0",
            "",
        ] {
            assert_eq!(problems(wrong.into()), 1, "{wrong}");
        }
        assert_eq!(problems(Value::Null), 1, "a package that states none");
        assert_eq!(check_licences(&[], &json!({ "packages": [] })).len(), 1, "there is no deny.toml");
    }
}
