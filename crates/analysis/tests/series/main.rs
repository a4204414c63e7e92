//! Series of versions from cells to findings: rounds, change points, counters that moved along, code or default.

mod change_points;
mod drift;
mod made;
mod moved_with;
mod rates;
mod rounds;
mod rounds_laws;
