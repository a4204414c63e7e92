//! The best cuts of a series into so many segments: least squares over all places at once, by dynamic programming
//! (Bellman 1961; Jackson et al. 2005).

use super::gains::Sums;

/// A series cut at its best places.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Staircase {
    /// First points of the later segments, ascending.
    pub(super) steps: Vec<usize>,
    /// What is left about the means of the segments; infinite where there is no room for so many.
    pub(super) squares: f64,
}

/// The least points of a segment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shortest {
    /// Of the first and the last one.
    pub(super) end: usize,
    pub(super) inner: usize,
}

/// The best staircase of each number of steps from 0 to `most`. The work grows with `most` times the square of the points.
pub(super) fn staircases(sums: &Sums, most: usize, shortest: Shortest) -> Vec<Staircase> {
    let count = sums.len();
    // squares[b] of the best staircase of the first b points, and the last cut of it, for each number of steps.
    let mut squares: Vec<f64> = (0..=count)
        .map(|end| if end >= shortest.end { sums.squares(0..end) } else { f64::INFINITY })
        .collect();
    let mut cuts: Vec<Vec<usize>> = Vec::new();
    let mut found = vec![Staircase { steps: Vec::new(), squares: squares[count] }];
    for _ in 0..most {
        let mut next = vec![f64::INFINITY; count + 1];
        let mut cut = vec![0; count + 1];
        for end in 1..=count {
            let least = if end == count { shortest.end } else { shortest.inner };
            let places = squares.iter().enumerate().take((end + 1).saturating_sub(least)).skip(1);
            for (at, before) in places {
                let total = before + sums.squares(at..end);
                if total < next[end] {
                    (next[end], cut[end]) = (total, at);
                }
            }
        }
        squares = next;
        cuts.push(cut);
        found.push(Staircase { steps: walked_back(&cuts, count, squares[count]), squares: squares[count] });
    }
    found
}

fn walked_back(cuts: &[Vec<usize>], count: usize, squares: f64) -> Vec<usize> {
    if !squares.is_finite() {
        return Vec::new();
    }
    let mut end = count;
    let back = cuts.iter().rev().map(|cut| {
        end = cut[end];
        end
    });
    let mut steps: Vec<usize> = back.collect();
    steps.reverse();
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_of_all_cuts_is_found() {
        let values = [0.1, -0.3, 0.2, 4.0, 4.4, 3.9, 9.1, 9.0, 8.7, 9.3, 2.0, 2.2];
        let sums = Sums::of_equal(&values, 4.0);
        for (end, inner) in [(1, 1), (2, 3)] {
            let found = staircases(&sums, 3, Shortest { end, inner });
            let mut least = f64::INFINITY;
            for one in end..12 {
                for two in one + inner..12 {
                    for three in two + inner..=12 - end {
                        let cuts = [0, one, two, three, 12];
                        least = least.min(cuts.windows(2).map(|cut| sums.squares(cut[0]..cut[1])).sum());
                    }
                }
            }
            assert!((found[3].squares - least).abs() < 1e-9, "{end} {inner}: {found:?}");
            assert_eq!(found[3].steps, [3, 6, 10]);
        }
    }

    #[test]
    fn more_steps_than_there_is_room_for_are_none() {
        let found = staircases(&Sums::of_equal(&[1.0, 2.0, 3.0], 2.0), 4, Shortest { end: 1, inner: 1 });
        assert!(found[2].squares.abs() < 1e-12 && found[2].steps == [1, 2]);
        assert!(found[3].squares.is_infinite() && found[3].steps.is_empty());
    }
}
