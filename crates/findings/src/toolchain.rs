//! Whether two builds were made by the same compilers: if not, a difference between them is not the code's alone.

use model::build::EngineBuild;
use serde::Serialize;
use std::collections::BTreeSet;

/// Compilers that differ between a build and the one before it, as their names and versions in the binaries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Toolchain {
    pub before: String,
    pub after: String,
}

impl Toolchain {
    /// Absent if they are the same, or if one of the builds does not tell.
    pub fn change(before: &EngineBuild, after: &EngineBuild) -> Option<Toolchain> {
        let of = |build: &EngineBuild| -> BTreeSet<String> {
            build.compilers.iter().map(|comment| short(comment)).collect()
        };
        let (before, after) = (of(before), of(after));
        let is_known = !before.is_empty() && !after.is_empty();
        let joined = |all: BTreeSet<String>| all.into_iter().collect::<Vec<String>>().join(", ");
        (is_known && before != after).then(|| Toolchain { before: joined(before), after: joined(after) })
    }
}

/// `GCC 7.3.1` of `GCC: (GNU) 7.3.1 20180303 (Red Hat 7.3.1-5)`; what is of another form stays as it is.
fn short(comment: &str) -> String {
    let version = |word: &&str| word.contains('.') && word.split('.').all(|part| part.parse::<u32>().is_ok());
    match (comment.strip_prefix("GCC:"), comment.split_whitespace().find(version)) {
        (Some(_), Some(version)) => format!("GCC {version}"),
        (Some(_), None) | (None, _) => comment.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "GCC: (GNU) 7.3.1 20180303 (Red Hat 7.3.1-5)";
    const NEW: &str = "GCC: (GNU) 13.3.1 20240611 (Red Hat 13.3.1-2)";

    fn build(compilers: &[&str]) -> EngineBuild {
        let compilers = compilers.iter().map(|&comment| comment.to_owned()).collect();
        EngineBuild { compilers, ..testing::subject("rocksdb@8.7.3").build }
    }

    #[test]
    fn other_compilers_are_told_and_the_same_in_another_order_are_not() {
        let change = |before: &[&str], after: &[&str]| Toolchain::change(&build(before), &build(after));
        let expected = Toolchain { before: "GCC 7.3.1".to_owned(), after: "GCC 13.3.1, clang 18".to_owned() };
        assert_eq!(change(&[OLD], &[NEW, "clang 18"]), Some(expected));
        assert_eq!(change(&[OLD, NEW], &[NEW, OLD]), None);
        assert_eq!(change(&[], &[NEW]), None);
    }
}
