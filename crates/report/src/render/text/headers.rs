//! Names as headers of narrow columns: broken where the words of db_bench's names and the parts of a subject meet.

/// The words that names of steps are made of. A longer word stands before its own beginning.
const WORDS: [&str; 20] = [
    "random",
    "range",
    "while",
    "writing",
    "overwrite",
    "over",
    "write",
    "read",
    "multi",
    "fill",
    "seek",
    "scan",
    "seq",
    "compact",
    "cold",
    "flush",
    "wait",
    "some",
    "andwait",
    "and",
];

/// The name on lines of at most `width` characters; a word that is longer is broken anywhere.
pub(super) fn broken(name: &str, width: usize) -> String {
    let mut lines: Vec<String> = vec![String::new()];
    for word in words(name, width) {
        let full = lines.last().is_some_and(|line| line.chars().count() + word.chars().count() > width);
        if full {
            lines.push(word);
        } else if let Some(line) = lines.last_mut() {
            line.push_str(&word);
        }
    }
    lines.join("\n")
}

/// The words of a name, none longer than `width`.
fn words(name: &str, width: usize) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut rest = name;
    let mut unknown = String::new();
    while let Some(first) = rest.chars().next() {
        let known = WORDS.iter().find(|word| rest.starts_with(*word) && word.len() <= width);
        match known {
            Some(word) => {
                words.extend(pieces(&std::mem::take(&mut unknown), width));
                words.push((*word).to_owned());
                rest = &rest[word.len()..];
            }
            None => {
                unknown.push(first);
                // A separator stays at the end of its word.
                if matches!(first, '-' | '.' | '_' | '@' | '+' | '/' | '=') {
                    words.extend(pieces(&std::mem::take(&mut unknown), width));
                }
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    words.extend(pieces(&unknown, width));
    words
}

fn pieces(word: &str, width: usize) -> Vec<String> {
    let letters: Vec<char> = word.chars().collect();
    letters.chunks(width.max(1)).map(|piece| piece.iter().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_break_between_words() {
        assert_eq!(broken("revrangewhilewriting", 9), "revrange\nwhile\nwriting");
        assert_eq!(broken("overwriteandwait", 9), "overwrite\nandwait");
        assert_eq!(broken("overwriteandwait", 7), "over\nwrite\nandwait");
        assert_eq!(broken("multireadrandom", 9), "multiread\nrandom");
        assert_eq!(broken("seekrandom.nexts-100", 9), "seek\nrandom.\nnexts-100");
        assert_eq!(broken("abcdefghijklmnop", 6), "abcdef\nghijkl\nmnop");
        assert_eq!(broken("rocksdb@8.7.3+defaults", 9), "rocksdb@\n8.7.3+\ndefaults");
        assert_eq!(broken("fillseq", 9), "fillseq");
        assert_eq!(broken("", 9), "");
    }
}
