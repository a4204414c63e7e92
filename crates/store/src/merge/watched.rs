//! What watches have found, in two stores.

use crate::watched::{read, write};
use model::watched::{WatchState, Watched};
use rusqlite::Connection;

/// Takes changes that are not here, and of the others what was seen later. How many rows are new or changed.
pub(super) fn take(connection: &Connection) -> rusqlite::Result<u64> {
    let ours = read(connection, "main", None)?;
    let mut taken = 0;
    for theirs in read(connection, "other", None)? {
        let is_same =
            |ours: &&Watched| ours.identity == theirs.identity && ours.first_run == theirs.first_run;
        let merged = match ours.iter().find(is_same) {
            Some(ours) => together(ours, &theirs),
            // Its message was sent where it was seen, or will be: none is sent from here.
            None => Watched { number: 0, is_told: true, ..theirs },
        };
        if !ours.contains(&merged) {
            write(connection, &merged)?;
            taken += 1;
        }
    }
    Ok(taken)
}

/// One change of two rows: what was seen in the later run counts, and that somebody accepted it, in whichever store, until it is new
/// again, which it is when it has grown.
fn together(ours: &Watched, theirs: &Watched) -> Watched {
    let (later, earlier) = if theirs.last_run > ours.last_run { (theirs, ours) } else { (ours, theirs) };
    let state = if later.last_run == earlier.last_run {
        [later.state, earlier.state].into_iter().max_by_key(|state| progress(*state)).unwrap_or(later.state)
    } else if (earlier.state, later.state) == (WatchState::Accepted, WatchState::Known) {
        WatchState::Accepted
    } else {
        later.state
    };
    Watched { number: ours.number, is_told: ours.is_told, state, ..later.clone() }
}

/// How far a change has come that was seen in one night.
fn progress(state: WatchState) -> u8 {
    match state {
        WatchState::New => 0,
        WatchState::Known => 1,
        WatchState::Accepted => 2,
        WatchState::Gone => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::watched::Identity;

    fn change(last_run: &str, state: WatchState) -> Watched {
        let identity = Identity {
            watch: "nightly".to_owned(),
            host: "a".to_owned(),
            workload: "quick".to_owned(),
            step: "readrandom".to_owned(),
            base: "rocksdb@8.5.4".to_owned(),
            candidate: "rocksdb@git:main".to_owned(),
            is_slower: true,
        };
        Watched {
            number: 3,
            identity,
            ratio: 0.9,
            low: 0.88,
            high: 0.92,
            last_without: None,
            first_with: "c3".to_owned(),
            state,
            is_told: true,
            first_run: "20261120-020000-0001".to_owned(),
            last_run: last_run.to_owned(),
        }
    }

    #[test]
    fn the_later_night_counts_and_an_acceptance_until_the_change_has_grown() {
        use WatchState::{Accepted, Gone, Known, New};
        for (of_first, of_second, is_same_night, expected) in [
            (New, Known, false, Known),
            (Known, New, false, New),
            (Accepted, Known, false, Accepted),
            (Accepted, New, false, New),
            (Accepted, Gone, false, Gone),
            (Known, Accepted, false, Accepted),
            (New, Known, true, Known),
            (New, Accepted, true, Accepted),
            (Known, Accepted, true, Accepted),
            (Gone, Accepted, true, Gone),
        ] {
            let second = if is_same_night { "20261121-020000-0001" } else { "20261122-020000-0001" };
            let first = change("20261121-020000-0001", of_first);
            let second = Watched { ratio: 0.8, ..change(second, of_second) };
            // Whichever store takes from the other.
            for merged in [together(&first, &second), together(&second, &first)] {
                assert_eq!(merged.state, expected, "{of_first:?} {of_second:?} {is_same_night}");
                if !is_same_night {
                    assert_eq!((merged.ratio, &merged.last_run), (0.8, &second.last_run));
                }
            }
        }
    }
}
