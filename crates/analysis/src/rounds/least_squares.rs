//! The additive two-way model by least squares, with any pattern of absent cells.
//!
//! Eliminating the versions leaves normal equations over the rounds alone, `L rho = b`, where L is the Laplacian of
//! the graph in which two rounds are joined by the versions they share (the intrablock analysis of block
//! designs; John and Williams 1995, chapter 1). One round of each connected part is held at zero, which makes
//! the rest positive definite and changes no estimable difference.

use super::RoundValues;
use crate::linear::inverse_of_positive_definite;
use std::collections::BTreeSet;

/// The fitted model.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LeastSquares {
    /// ln, mean 0 over the versions of each connected part; absent where a version has no cell.
    pub(super) version_effects: Vec<Option<f64>>,
    pub(super) residual_squares: f64,
    /// The part of each version in them.
    pub(super) squares_of_versions: Vec<f64>,
    /// Cells less independent parameters.
    pub(super) df: usize,
    /// A generalised inverse of L, by round.
    inverse: Vec<Vec<f64>>,
    /// The connected part of each round.
    part: Vec<usize>,
}

impl LeastSquares {
    pub(super) fn fit(values: &RoundValues, present: &[Vec<usize>]) -> LeastSquares {
        let rounds = values.rounds().len();
        let part = connected_parts(rounds, present);
        let inverse = inverse_of_laplacian(rounds, present, &part);
        let version_means: Vec<Option<f64>> = (0..present.len())
            .map(|version| {
                let cells: Vec<f64> = values.cells_of(version).map(|(_, cell)| cell).collect();
                crate::student::mean(&cells)
            })
            .collect();
        let mut right = vec![0.0; rounds];
        for (version, mean) in version_means.iter().enumerate() {
            for (round, cell) in values.cells_of(version) {
                right[round] += cell - mean.unwrap_or(cell);
            }
        }
        let round_effects: Vec<f64> =
            inverse.iter().map(|row| row.iter().zip(&right).map(|(g, b)| g * b).sum()).collect();
        let mut version_effects: Vec<Option<f64>> = version_means
            .iter()
            .zip(present)
            .map(|(mean, of)| {
                let shift: f64 = of.iter().map(|round| round_effects[*round]).sum();
                mean.map(|mean| mean - shift / of.len() as f64)
            })
            .collect();
        let squares_of = |(version, effect): (usize, &Option<f64>)| {
            let residual = |(round, cell): (usize, f64)| cell - effect.unwrap_or(cell) - round_effects[round];
            values.cells_of(version).map(|cell| residual(cell).powi(2)).sum()
        };
        let squares_of_versions: Vec<f64> = version_effects.iter().enumerate().map(squares_of).collect();
        center(&mut version_effects, present, &part);
        let cells: usize = present.iter().map(Vec::len).sum();
        let used_versions = present.iter().filter(|of| !of.is_empty()).count();
        let mut used_parts: Vec<usize> = present.iter().flatten().map(|round| part[*round]).collect();
        let mut used_rounds: Vec<usize> = present.iter().flatten().copied().collect();
        for used in [&mut used_parts, &mut used_rounds] {
            used.sort_unstable();
            used.dedup();
        }
        // One parameter of each connected part can be moved from its versions to its rounds.
        let df = (cells + used_parts.len()).saturating_sub(used_versions + used_rounds.len());
        let residual_squares = squares_of_versions.iter().sum();
        LeastSquares { version_effects, residual_squares, squares_of_versions, df, inverse, part }
    }

    /// Whether a chain of common rounds connects two versions.
    pub(super) fn connected(&self, present: &[Vec<usize>], left: usize, right: usize) -> bool {
        let part = |version: usize| present[version].first().map(|round| self.part[*round]);
        part(left).is_some() && part(left) == part(right)
    }

    /// Variance of the difference of two version effects in units of the variance of a cell:
    /// `1/n_a + 1/n_b + d' G d`, where d is how differently the two weigh the rounds.
    pub(super) fn variance_factor(&self, present: &[Vec<usize>], base: usize, candidate: usize) -> f64 {
        let mut weighs = vec![0.0; self.part.len()];
        let mut factor = 0.0;
        for (version, sign) in [(candidate, 1.0), (base, -1.0)] {
            let share = 1.0 / present[version].len() as f64;
            factor += share;
            for round in &present[version] {
                weighs[*round] += sign * share;
            }
        }
        for (row, left) in self.inverse.iter().zip(&weighs) {
            factor += left * row.iter().zip(&weighs).map(|(g, right)| g * right).sum::<f64>();
        }
        factor
    }

    /// What the estimated rounds add to the covariance of two version effects, in units of the variance of a cell: the mean
    /// of G over the rounds of one and of the other. As large for all pairs where no cell is absent.
    pub(super) fn covariance_factor(&self, present: &[Vec<usize>], left: usize, right: usize) -> f64 {
        let (rows, columns) = (&present[left], &present[right]);
        let of_row = |row: &usize| columns.iter().map(|column| self.inverse[*row][*column]).sum::<f64>();
        rows.iter().map(of_row).sum::<f64>() / (rows.len() * columns.len()) as f64
    }
}

/// The lowest round that each round is connected with through versions.
fn connected_parts(rounds: usize, present: &[Vec<usize>]) -> Vec<usize> {
    let mut part: Vec<usize> = (0..rounds).collect();
    // Each pass carries a label at least one version further, so as many passes as rounds suffice.
    for _ in 0..rounds {
        let before = part.clone();
        for of in present {
            let Some(lowest) = of.iter().map(|round| part[*round]).min() else { continue };
            of.iter().for_each(|round| part[*round] = lowest);
        }
        if part == before {
            break;
        }
    }
    part
}

/// A generalised inverse of L. Which one it is changes no estimable difference, and so the smaller system is solved: rounds may be
/// a thousand, or versions.
fn inverse_of_laplacian(rounds: usize, present: &[Vec<usize>], part: &[usize]) -> Vec<Vec<f64>> {
    if rounds <= present.len() {
        by_rounds(rounds, present, part)
    } else {
        by_versions(rounds, present, part)
    }
}

/// The first round of each part is held at zero.
fn by_rounds(rounds: usize, present: &[Vec<usize>], part: &[usize]) -> Vec<Vec<f64>> {
    let mut laplacian = vec![vec![0.0; rounds]; rounds];
    for of in present {
        for left in of {
            laplacian[*left][*left] += 1.0;
            for right in of {
                laplacian[*left][*right] -= 1.0 / of.len() as f64;
            }
        }
    }
    let free: Vec<usize> = (0..rounds).filter(|round| part[*round] != *round).collect();
    inverse_of_part(&laplacian, &free)
}

/// L is `D - U N^-1 U'`: D has the versions of each round, N the rounds of each version, U which version has which round. Its inverse
/// is `D^-1 + D^-1 U M^-1 U' D^-1` with `M = N - U' D^-1 U` (Woodbury 1950), the Laplacian of the versions, of which the first of
/// each part is held at zero.
fn by_versions(rounds: usize, present: &[Vec<usize>], part: &[usize]) -> Vec<Vec<f64>> {
    let mut versions_of: Vec<Vec<usize>> = vec![Vec::new(); rounds];
    for (version, of) in present.iter().enumerate() {
        of.iter().for_each(|round| versions_of[*round].push(version));
    }
    let mut laplacian = vec![vec![0.0; present.len()]; present.len()];
    for versions in versions_of.iter().filter(|versions| !versions.is_empty()) {
        for left in versions {
            laplacian[*left][*left] += 1.0;
            for right in versions {
                laplacian[*left][*right] -= 1.0 / versions.len() as f64;
            }
        }
    }
    let part_of = |version: usize| present[version].first().map(|round| part[*round]);
    let mut seen = BTreeSet::new();
    let free: Vec<usize> = (0..present.len())
        .filter(|version| part_of(*version).is_some_and(|part| !seen.insert(part)))
        .collect();
    let of_versions = inverse_of_part(&laplacian, &free);
    let mut inverse = vec![vec![0.0; rounds]; rounds];
    for (row, versions) in inverse.iter_mut().zip(&versions_of) {
        let share = 1.0 / versions.len().max(1) as f64;
        let shifts: Vec<f64> = (0..present.len())
            .map(|column| share * versions.iter().map(|version| of_versions[*version][column]).sum::<f64>())
            .collect();
        for (value, versions) in row.iter_mut().zip(&versions_of) {
            let shift: f64 = versions.iter().map(|version| shifts[*version]).sum();
            *value = shift / versions.len().max(1) as f64;
        }
    }
    for (round, versions) in versions_of.iter().enumerate().filter(|(_, versions)| !versions.is_empty()) {
        inverse[round][round] += 1.0 / versions.len() as f64;
    }
    inverse
}

/// The inverse of the rows and columns that are free; 0 elsewhere.
fn inverse_of_part(matrix: &[Vec<f64>], free: &[usize]) -> Vec<Vec<f64>> {
    let mut part: Vec<Vec<f64>> =
        free.iter().map(|row| free.iter().map(|column| matrix[*row][*column]).collect()).collect();
    let small = inverse_of_positive_definite(&mut part);
    let mut inverse = vec![vec![0.0; matrix.len()]; matrix.len()];
    for (row, values) in free.iter().zip(&small) {
        for (column, value) in free.iter().zip(values) {
            inverse[*row][*column] = *value;
        }
    }
    inverse
}

/// Moves the mean of each part's versions to 0.
fn center(effects: &mut [Option<f64>], present: &[Vec<usize>], part: &[usize]) {
    let part_of = |version: usize| present[version].first().map(|round| part[*round]);
    let mut parts: Vec<usize> = (0..present.len()).filter_map(part_of).collect();
    parts.sort_unstable();
    parts.dedup();
    for wanted in parts {
        let members: Vec<usize> =
            (0..present.len()).filter(|version| part_of(*version) == Some(wanted)).collect();
        let values: Vec<f64> = members.iter().filter_map(|version| effects[*version]).collect();
        let mean = crate::student::mean(&values).unwrap_or(0.0);
        for version in members {
            effects[version] = effects[version].map(|effect| effect - mean);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// `d' G d` of two versions: what the estimated rounds add to the variance of their difference.
    fn added(inverse: &[Vec<f64>], present: &[Vec<usize>], left: usize, right: usize) -> f64 {
        let mut weighs = vec![0.0; inverse.len()];
        for (version, sign) in [(left, 1.0), (right, -1.0)] {
            for round in &present[version] {
                weighs[*round] += sign / present[version].len() as f64;
            }
        }
        let row = |row: &Vec<f64>| row.iter().zip(&weighs).map(|(g, weigh)| g * weigh).sum::<f64>();
        inverse.iter().zip(&weighs).map(|(of, weigh)| weigh * row(of)).sum()
    }

    proptest! {
        #[test]
        fn both_systems_say_the_same_of_all_versions_that_rounds_connect(
            cells in prop::collection::vec(prop::collection::vec(prop::bool::weighted(0.6), 7), 2..6),
        ) {
            let of = |version: &Vec<bool>| (0..7).filter(|round| version[*round]).collect::<Vec<usize>>();
            let present: Vec<Vec<usize>> = cells.iter().map(of).collect();
            let part = connected_parts(7, &present);
            let (rounds, versions) = (by_rounds(7, &present, &part), by_versions(7, &present, &part));
            for left in 0..present.len() {
                for right in 0..left {
                    let parts = [left, right].map(|version| present[version].first().map(|round| part[*round]));
                    if parts[0].is_some() && parts[0] == parts[1] {
                        let (one, other) =
                            (added(&rounds, &present, left, right), added(&versions, &present, left, right));
                        prop_assert!((one - other).abs() < 1e-9, "{one} and {other}");
                    }
                }
            }
        }
    }

    #[test]
    fn nearly_complete_rounds_add_nearly_nothing() {
        let present: Vec<Vec<usize>> =
            (0..5).map(|version| (0..1000).filter(|round| round % 97 != version * 13).collect()).collect();
        let part = connected_parts(1000, &present);
        let inverse = inverse_of_laplacian(1000, &present, &part);
        // Nearly complete: the rounds add nearly nothing to 2 / n.
        let added = added(&inverse, &present, 0, 4);
        assert!((0.0..1e-4).contains(&added), "{added}");
    }
}
