//! The names of subjects where several of a run stand beside each other.

/// Names by their sides, told apart where a build is compared with itself: `rocksdb@8.5.4`, `rocksdb@8.5.4 (side 1)`.
pub fn told_apart(names: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for (side, name) in names.into_iter().enumerate() {
        let label = if labels.contains(&name) { format!("{name} (side {side})") } else { name };
        labels.push(label);
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_has_the_name_of_another_is_renamed() {
        let labels = |names: &[&str]| told_apart(names.iter().map(ToString::to_string));
        assert_eq!(labels(&["a", "b"]), ["a", "b"]);
        assert_eq!(labels(&["a", "b", "a", "a"]), ["a", "b", "a (side 2)", "a (side 3)"]);
        assert_eq!(labels(&[]), Vec::<String>::new());
    }
}
