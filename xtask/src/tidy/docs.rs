//! Public items of the libraries have documentation. A field or a variant whose name says it all needs none, which the
//! compiler's own lint cannot tell apart.

use super::rust_source::RustSource;
use super::{SourceFile, Violation};

/// Words after `pub` that begin an item.
const ITEMS: [&str; 8] = ["fn", "struct", "enum", "trait", "type", "const", "static", "unsafe"];

pub fn check(files: &[SourceFile]) -> Vec<Violation> {
    files.iter().filter(|file| is_library(file)).flat_map(undocumented).collect()
}

fn is_library(file: &SourceFile) -> bool {
    file.is_rust()
        && !file.is_test_file()
        && file.path.starts_with("crates/")
        && file.crate_name() != Some("dbdyno")
}

fn undocumented(file: &SourceFile) -> Vec<Violation> {
    let source = RustSource::parse(&file.text);
    let lines: Vec<&str> = file.text.lines().collect();
    let is_item = |line: &str| {
        let rest = line.strip_prefix("pub ");
        rest.and_then(|rest| rest.split(' ').next()).is_some_and(|word| ITEMS.contains(&word))
    };
    let is_undocumented = |index: &usize| {
        // Back over the attributes, which may have several lines.
        let mut at = *index;
        while let Some(end) = at.checked_sub(1).filter(|end| lines[*end].trim_end().ends_with(']')) {
            let Some(start) = (0..=end).rev().find(|start| lines[*start].trim_start().starts_with("#["))
            else {
                break;
            };
            at = start;
        }
        !at.checked_sub(1).is_some_and(|before| lines[before].trim_start().starts_with("///"))
    };
    (0..lines.len())
        .filter(|index| {
            !source.is_test(index + 1) && is_item(source.code.get(*index).map_or("", String::as_str))
        })
        .filter(is_undocumented)
        .map(|index| Violation {
            path: file.path.clone(),
            line: index + 1,
            problem: "a public item without documentation: say what it is for, its units, its errors"
                .to_owned(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::file;
    use super::*;

    #[test]
    fn an_item_without_documentation_is_found_and_a_field_is_not() {
        let text =
            "//! m\n/// Doc.\n#[derive(Debug)]\npub struct A {\n    pub field: u32,\n}\n\npub fn f() {}\n";
        let found: Vec<usize> =
            check(&[file("crates/model/src/a.rs", text)]).iter().map(|one| one.line).collect();
        assert_eq!(found, [8]);
        assert_eq!(check(&[file("crates/dbdyno/src/a.rs", text), file("xtask/src/a.rs", text)]), []);
    }
}
