//! How a change is written.

use findings::change::Change;
use model::figures::change;

/// "-7.1 % [-9.0, -5.2]".
pub fn sized(of: Change) -> String {
    match (of.low, of.high) {
        (Some(low), Some(high)) => {
            format!("{} [{}, {}]", change(of.ratio), change(low), change(high))
        }
        _ => change(of.ratio),
    }
}
