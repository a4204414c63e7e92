//! All launches of a bisection in one fit: what is known of the difference of any two versions, whatever they were
//! measured against.
//!
//! Each launch, and each comparison with the weight of its launches, says how far two versions are apart. The levels of
//! the versions by weighted least squares are the potentials of a network of resistors whose currents are the
//! measurements, and the variance of a difference is the resistance between the two (Doyle and Snell 1984, chapter 3).

use super::Stretch;
use crate::linear::inverse_of_positive_definite;

/// How far two versions were found to be apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Edge {
    pub(super) between: Stretch,
    /// ln(later / earlier).
    pub(super) value: f64,
    /// Standard error of `value`.
    pub(super) error: f64,
}

/// The difference of two versions by all launches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Difference {
    /// ln(later / earlier).
    pub(super) shift: f64,
    /// Standard error of `shift`.
    pub(super) error: f64,
}

/// Absent if no chain of measurements connects the two.
pub(super) fn difference(edges: &[Edge], stretch: Stretch) -> Option<Difference> {
    let versions = connected(edges, stretch.good);
    let row = |version: usize| versions.binary_search(&version).ok();
    let (good, bad) = (row(stretch.good)?, row(stretch.bad)?);
    if good == bad {
        return None;
    }
    // The level of the good version is held at zero, which makes the rest of the Laplacian positive definite.
    let size = versions.len();
    let mut laplacian = vec![vec![0.0; size]; size];
    let mut measured = vec![0.0; size];
    for edge in edges {
        let (Some(from), Some(to)) = (row(edge.between.good), row(edge.between.bad)) else { continue };
        let weight = edge.error.powi(-2);
        laplacian[from][from] += weight;
        laplacian[to][to] += weight;
        laplacian[from][to] -= weight;
        laplacian[to][from] -= weight;
        measured[from] -= weight * edge.value;
        measured[to] += weight * edge.value;
    }
    laplacian[good].fill(0.0);
    laplacian.iter_mut().for_each(|row| row[good] = 0.0);
    laplacian[good][good] = 1.0;
    measured[good] = 0.0;
    let resistances = &inverse_of_positive_definite(&mut laplacian)[bad];
    let shift = resistances.iter().zip(&measured).map(|(resistance, current)| resistance * current).sum();
    Some(Difference { shift, error: resistances[bad].sqrt() })
}

/// The versions that a chain of measurements connects with one, in ascending order; itself among them.
fn connected(edges: &[Edge], version: usize) -> Vec<usize> {
    let mut found = vec![version];
    let mut next = 0;
    while let Some(&version) = found.get(next) {
        for edge in edges {
            let Stretch { good, bad } = edge.between;
            let other = match version {
                one if one == good => bad,
                one if one == bad => good,
                _ => continue,
            };
            if !found.contains(&other) {
                found.push(other);
            }
        }
        next += 1;
    }
    found.sort_unstable();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn edge(good: usize, bad: usize, value: f64, error: f64) -> Edge {
        Edge { between: Stretch { good, bad }, value, error }
    }

    fn between(good: usize, bad: usize) -> Stretch {
        Stretch { good, bad }
    }

    #[test]
    fn measurements_in_a_row_add_and_beside_each_other_average() {
        let row = [edge(0, 1, -0.02, 0.003), edge(1, 2, -0.03, 0.004)];
        let found = difference(&row, between(0, 2)).unwrap();
        assert!((found.shift + 0.05).abs() < 1e-12 && (found.error - 0.005).abs() < 1e-12, "{found:?}");
        let beside = [edge(0, 1, -0.02, 0.01), edge(0, 1, -0.04, 0.01)];
        let found = difference(&beside, between(0, 1)).unwrap();
        assert!((found.shift + 0.03).abs() < 1e-12, "{found:?}");
        assert!((found.error - 0.01 / 2f64.sqrt()).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn what_nothing_connects_is_not_known() {
        let apart = [edge(0, 1, -0.02, 0.01), edge(2, 3, -0.02, 0.01)];
        assert_eq!(difference(&apart, between(0, 3)), None);
        assert_eq!(difference(&[], between(0, 3)), None);
        assert!(difference(&apart, between(2, 3)).is_some());
    }

    proptest! {
        /// Without noise the fit gives the levels back; more measurements never make it less sure; a direct one is the
        /// least that is known.
        #[test]
        fn it_gives_levels_back_and_more_is_never_less_sure(
            levels in prop::collection::vec(-0.3f64..0.3, 3..8),
            pairs in prop::collection::vec((0usize..8, 0usize..8, 0.001f64..0.02), 1..20),
        ) {
            let last = levels.len() - 1;
            let mut edges = vec![edge(0, last, levels[last] - levels[0], 0.01)];
            let mut before = difference(&edges, between(0, last)).unwrap();
            for (one, other, error) in pairs {
                let (good, bad) = ((one % levels.len()).min(other % levels.len()), (one % levels.len()).max(other % levels.len()));
                if good == bad {
                    continue;
                }
                edges.push(edge(good, bad, levels[bad] - levels[good], error));
                let found = difference(&edges, between(0, last)).unwrap();
                prop_assert!((found.shift - (levels[last] - levels[0])).abs() < 1e-9);
                prop_assert!(found.error <= before.error * (1.0 + 1e-9), "{} {}", found.error, before.error);
                before = found;
            }
        }
    }
}
