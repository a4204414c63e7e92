//! What to offer when a name is not known: the nearest of those that are.

/// No name is like one of more bytes.
const LONGEST: usize = 200;

/// The names nearest to `wanted` by edit distance, best first, at most three and none much
/// further than the best; empty where none is near.
///
/// Near means at most half of the letters of `wanted` differ (two letters for short names), or one name is
/// a part of the other.
pub fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    // Comparing takes time by the product of the lengths.
    if wanted.len() > LONGEST {
        return Vec::new();
    }
    let bound = (wanted.chars().count() / 2).max(2);
    let mut near: Vec<(usize, &str)> = known
        .into_iter()
        .filter(|name| name.len() <= LONGEST)
        .map(|name| (distance(wanted, name), name))
        .filter(|(distance, name)| {
            *distance <= bound || (wanted.len() >= 3 && (name.contains(wanted) || wanted.contains(name)))
        })
        .collect();
    near.sort();
    near.dedup();
    let best = near.first().map_or(0, |(distance, _)| *distance);
    near.retain(|(distance, _)| *distance <= best + 1);
    near.into_iter().take(3).map(|(_, name)| name).collect()
}

/// "did you mean `a`, `b`?", or nothing where no known name is near.
pub fn hint<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let near = nearest(wanted, known);
    if near.is_empty() {
        return String::new();
    }
    let quoted: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
    format!("; did you mean {}?", quoted.join(", "))
}

fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, left_char) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, right_char) in right.iter().enumerate() {
            let substituted = diagonal + usize::from(left_char != *right_char);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_finds_the_name_and_a_stranger_finds_none() {
        let steps = ["fillseq", "overwrite", "readrandom", "seekrandom"];
        assert_eq!(nearest("readrandm", steps), ["readrandom"]);
        assert_eq!(nearest("zzzzzzz", steps), Vec::<&str>::new());
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(hint("seek", steps), "; did you mean `seekrandom`?");
        let long = "x".repeat(LONGEST + 1);
        assert!(nearest(&long, [&long[1..]]).is_empty() && nearest(&long[1..], [long.as_str()]).is_empty());
        assert_eq!(nearest(&long[1..], [&long[2..]]), [&long[2..]]);
    }
}
