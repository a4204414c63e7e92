//! What is wrong with numbers that were handed in.

/// Why numbers cannot be analysed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A round that has not one cell for each version.
    #[error("round {round} has {cells} cells for {versions} versions")]
    RaggedRound {
        /// The round, from 0.
        round: usize,
        cells: usize,
        /// How many there should be.
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
    /// A point of a series that is not a number.
    #[error("point {index} of the series is no finite number")]
    PointNotFinite {
        /// The point, from 0.
        index: usize,
    },
    /// A standard deviation, a share or a resolution that is negative or not a number.
    #[error("{what} must be a finite number of at least 0")]
    BadSpread { what: &'static str },
    /// Series that must have the same versions have not.
    #[error("series over {left} and {right} versions cannot be compared")]
    LengthsDiffer {
        /// Versions of the one.
        left: usize,
        /// Versions of the other.
        right: usize,
    },
    /// A search between an end and itself.
    #[error("a search takes at least two versions, not {versions}")]
    TooFewVersions {
        /// How many there are.
        versions: usize,
    },
    /// An index that names no version.
    #[error("there is no version {version} among {versions}")]
    NoSuchVersion {
        /// The index, from 0.
        version: usize,
        /// How many versions there are.
        versions: usize,
    },
}
