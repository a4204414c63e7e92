//! What is wrong with numbers that were handed in.

/// Why numbers cannot be analysed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("round {round} has {cells} cells for {versions} versions")]
    RaggedRound {
        /// The round, from 0.
        round: usize,
        cells: usize,
        versions: usize,
    },
    /// The logarithm of zero, of a negative value, or of nothing.
    #[error("the value of version {version} in round {round} is no finite number")]
    NotFinite {
        /// The round, from 0.
        round: usize,
        /// The version, from 0.
        version: usize,
    },
    #[error("point {index} of the series is no finite number")]
    PointNotFinite {
        /// The point, from 0.
        index: usize,
    },
    #[error("{what} must be a finite number of at least 0")]
    BadSpread { what: &'static str },
    #[error("series over {left} and {right} versions cannot be compared")]
    LengthsDiffer { left: usize, right: usize },
    #[error("many sides take one to four processes of the base and a candidate, not {base} and {candidates}")]
    BadRoles { base: usize, candidates: usize },
    #[error("side {side} cannot have two roles")]
    TwoRoles { side: usize },
    #[error("a search takes at least two versions, not {versions}")]
    TooFewVersions { versions: usize },
    #[error("there is no version {version} among {versions}")]
    NoSuchVersion {
        /// The index, from 0.
        version: usize,
        versions: usize,
    },
}
