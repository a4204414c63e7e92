//! Ids of sections, figures and timelines: of letters, digits and dashes, each once in a document.

use std::collections::BTreeSet;

/// Longer names are cut: an id is part of links and of file names.
const LONGEST: usize = 60;

/// The ids that were given away.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    taken: BTreeSet<String>,
}

impl Ids {
    /// An id that tells of the name: `step` and `update-index_range=100` give `step-update-index-range-100`. Where two
    /// names give the same one, the second has a number.
    pub(crate) fn of(&mut self, kind: &str, name: &str) -> String {
        let mut slug = String::new();
        for character in name.chars().take(LONGEST) {
            match character {
                character if character.is_ascii_alphanumeric() => slug.push(character.to_ascii_lowercase()),
                _ if slug.is_empty() || slug.ends_with('-') => {}
                _ => slug.push('-'),
            }
        }
        let slug = slug.trim_end_matches('-');
        let plain = if slug.is_empty() { kind.to_owned() } else { format!("{kind}-{slug}") };
        let mut id = plain.clone();
        let mut number = 2;
        while !self.taken.insert(id.clone()) {
            id = format!("{plain}-{number}");
            number += 1;
        }
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_tells_of_its_name_and_stands_once() {
        let mut ids = Ids::default();
        assert_eq!(ids.of("step", "update-index_range=100"), "step-update-index-range-100");
        assert_eq!(ids.of("step", "update-index_range=100"), "step-update-index-range-100-2");
        assert_eq!(ids.of("step", "<b>"), "step-b");
        assert_eq!(ids.of("step", "\u{202e}"), "step");
        assert_eq!(ids.of("step", ""), "step-2");
        assert!(ids.of("step", &"x".repeat(10_000)).len() < 80);
    }
}
