//! The order of releases: by their numbers where all have numbers, else as they stand in the file.

use model::subject::compare_versions;

/// The names in their order, and whether that is another one than they came in.
pub(super) fn ordered(names: &[String]) -> (Vec<String>, bool) {
    let mut sorted = names.to_vec();
    let common = common_prefix(names);
    let all_numbers = names.iter().all(|name| is_number(&name[common..]));
    if all_numbers {
        sorted.sort_by(|left, right| compare_versions(&left[common..], &right[common..]));
    }
    let moved = sorted != names;
    (sorted, moved)
}

/// Bytes of what all names begin with, digits left out: `v` of `v64` and `v611`, `rocksdb@` of `rocksdb@8.5.4`.
fn common_prefix(names: &[String]) -> usize {
    let Some(first) = names.first() else { return 0 };
    let letters = first.find(|letter: char| letter.is_ascii_digit()).unwrap_or(0);
    if names.iter().all(|name| name.starts_with(&first[..letters])) { letters } else { 0 }
}

/// `8.10`, `611`, `6.22.1.1`.
fn is_number(text: &str) -> bool {
    !text.is_empty()
        && text.split('.').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(names: &[&str]) -> (Vec<String>, bool) {
        ordered(&names.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn numbers_sort_as_numbers_and_other_names_stay() {
        assert_eq!(
            sorted(&["8.10", "8.9", "8.11"]),
            (["8.9", "8.10", "8.11"].map(str::to_owned).to_vec(), true)
        );
        assert!(!sorted(&["v64", "v611", "v617"]).1);
        let builds = ["my5651", "my8028_rel", "my8036"];
        assert_eq!(sorted(&builds), (builds.map(str::to_owned).to_vec(), false));
        assert!(!sorted(&["pg1110.cx5", "my5649.cx6d"]).1);
        assert!(!sorted(&["c0ffee1", "0badf00"]).1);
        assert_eq!(sorted(&[]), (Vec::new(), false));
    }
}
