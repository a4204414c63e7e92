//! What is new of tonight's run, against what a watch knows: a change is told once, again if it has grown, and when it is gone.

use crate::comparison::{ComparedStep, StepView};
use crate::finding::ComparedRun;
use model::block::{BASE, Side};
use model::verdict::Verdict;
use model::watched::{Identity, WatchState, Watched};
use std::collections::BTreeMap;

/// A step of a candidate in tonight's run.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// Slower or faster by its ratio, proven or not.
    pub identity: Identity,
    /// What the candidate was tonight: `postgres@1f2e3d4c5b6a`.
    pub build: String,
    pub ratio: f64,
    pub low: f64,
    pub high: f64,
    /// Whether the change holds among all steps and candidates, beyond what the layout of code can make.
    pub is_confirmed: bool,
    /// Whether a change beyond the margin is ruled out.
    pub is_ruled_out: bool,
}

/// The steps of a run with an interval. `written` says how the plan writes each side.
pub fn seen(run: &ComparedRun, watch: &str, written: &BTreeMap<Side, String>) -> Vec<Seen> {
    let base = written.get(&BASE).cloned().unwrap_or_default();
    let of_case = |(step, case): (&StepView, &ComparedStep)| {
        let deciding = case.deciding()?;
        let (ratio, low, high) = (deciding.ratio?, deciding.low?, deciding.high?);
        Some(Seen {
            identity: Identity {
                watch: watch.to_owned(),
                host: run.record.host.name.clone(),
                workload: run.record.plan.workload.name.clone(),
                step: step.name.clone(),
                base: base.clone(),
                candidate: written.get(&case.side)?.clone(),
                is_slower: ratio < 1.0,
            },
            build: run.view.name(case.side).to_owned(),
            ratio,
            low,
            high,
            is_confirmed: case.is_directional() && case.counts(),
            is_ruled_out: case.verdict == Verdict::NoChange,
        })
    };
    run.view.cases().filter_map(of_case).collect()
}

/// Holds tonight's run against what is known: the changes that are to be stored, new ones and known ones that were seen or are gone. Of those
/// that are [new](WatchState::New) or [gone](WatchState::Gone) the message is due. `before` is what each candidate was in the night before, by
/// how the plan writes it.
pub fn night(known: &[Watched], seen: &[Seen], run: &str, before: &BTreeMap<String, String>) -> Vec<Watched> {
    let mut kept = Vec::new();
    let alive = || known.iter().filter(|one| one.state != WatchState::Gone);
    for one in alive() {
        let Some(now) = seen.iter().find(|now| now.identity.is_of_same_step(&one.identity)) else { continue };
        let is_same_direction = now.identity.is_slower == one.identity.is_slower;
        let last_run = run.to_owned();
        let state = if one.state == WatchState::New { WatchState::Known } else { one.state };
        if now.is_confirmed && is_same_direction {
            if has_grown(one, now) {
                let first_run = one.first_run.clone();
                kept.push(Watched { number: one.number, first_run, ..new(now, run, before) });
            } else if one.is_told {
                kept.push(Watched { state, last_run, ..one.clone() });
            } // Else its message is still due, with the figures and the run that it was found in.
        } else if now.is_ruled_out || now.is_confirmed || has_vanished(one, now) {
            kept.push(Watched { state: WatchState::Gone, is_told: false, last_run, ..one.clone() });
        } else if one.is_told && state != one.state {
            // Nothing is proven of it tonight, but it was told.
            kept.push(Watched { state, ..one.clone() });
        }
    }
    let is_known = |now: &Seen| alive().any(|one| one.identity == now.identity);
    let is_new = |now: &&Seen| now.is_confirmed && !is_known(now);
    kept.extend(seen.iter().filter(is_new).map(|now| new(now, run, before)));
    kept
}

fn new(now: &Seen, run: &str, before: &BTreeMap<String, String>) -> Watched {
    Watched {
        number: 0,
        identity: now.identity.clone(),
        ratio: now.ratio,
        low: now.low,
        high: now.high,
        last_without: before.get(&now.identity.candidate).filter(|build| **build != now.build).cloned(),
        first_with: now.build.clone(),
        state: WatchState::New,
        is_told: false,
        first_run: run.to_owned(),
        last_run: run.to_owned(),
    }
}

/// Larger than when it was told, by intervals that have nothing in common.
fn has_grown(then: &Watched, now: &Seen) -> bool {
    if now.identity.is_slower { now.high < then.low } else { now.low > then.high }
}

/// Whether 1 lies within tonight's interval, and nothing of the interval that was told: intervals of rounds, which include what builds of one
/// source differ by, are seldom so short that a change beyond the margin is ruled out.
fn has_vanished(then: &Watched, now: &Seen) -> bool {
    let is_open = now.low <= 1.0 && now.high >= 1.0;
    is_open && if then.identity.is_slower { now.low > then.high } else { now.high < then.low }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(ratio: f64, is_confirmed: bool, is_ruled_out: bool) -> Seen {
        Seen {
            identity: Identity {
                watch: "nightly".to_owned(),
                host: "h".to_owned(),
                workload: "w".to_owned(),
                step: "read".to_owned(),
                base: "postgres@17.11".to_owned(),
                candidate: "postgres@git:master".to_owned(),
                is_slower: ratio < 1.0,
            },
            build: format!("postgres@{ratio}"),
            ratio,
            low: ratio - 0.02,
            high: ratio + 0.02,
            is_confirmed,
            is_ruled_out,
        }
    }

    /// Nights in a row, the store's part done by hand: what each has told.
    fn nights(ratios: &[(f64, bool, bool)]) -> Vec<Vec<Watched>> {
        let mut known: Vec<Watched> = Vec::new();
        let mut before = BTreeMap::new();
        let mut told = Vec::new();
        for (number, (ratio, is_confirmed, is_ruled_out)) in ratios.iter().enumerate() {
            let tonight = seen(*ratio, *is_confirmed, *is_ruled_out);
            let kept = night(&known, std::slice::from_ref(&tonight), &format!("run-{number}"), &before);
            told.push(kept.iter().filter(|one| !one.is_told).cloned().collect());
            for mut one in kept {
                one.is_told = true;
                if one.number == 0 {
                    one.number = i64::try_from(known.len()).unwrap() + 1;
                    known.push(one);
                } else if let Some(place) = known.iter().position(|other| other.number == one.number) {
                    known[place] = one;
                }
            }
            before.insert(tonight.identity.candidate.clone(), tonight.build.clone());
        }
        told
    }

    const NEW: WatchState = WatchState::New;
    const GONE: WatchState = WatchState::Gone;

    fn states(told: &[Vec<Watched>]) -> Vec<Vec<WatchState>> {
        told.iter().map(|night| night.iter().map(|one| one.state).collect()).collect()
    }

    #[test]
    fn a_change_is_told_once_and_again_when_it_has_grown_or_is_gone() {
        let told = nights(&[
            (1.0, false, true),
            (0.95, true, false),
            (0.94, true, false),
            (0.96, false, false),
            (0.85, true, false),
            (0.86, true, false),
            (1.0, false, true),
            (1.0, false, true),
            (0.95, true, false),
        ]);
        assert_eq!(
            states(&told),
            [vec![], vec![NEW], vec![], vec![], vec![NEW], vec![], vec![GONE], vec![], vec![NEW]]
        );
        let first = &told[1][0];
        assert_eq!(first.last_without.as_deref(), Some("postgres@1"));
        assert_eq!(first.first_with, "postgres@0.95");
        let grown = &told[4][0];
        assert_eq!((grown.number, grown.first_run.as_str()), (1, "run-1"));
        assert_eq!(grown.last_without.as_deref(), Some("postgres@0.96"));
    }

    #[test]
    fn a_change_of_which_nothing_is_left_is_gone_although_the_interval_is_wide() {
        // Within the margin none of these is; the first still has something of what was told.
        let told = nights(&[(0.9, true, false), (0.93, false, false), (0.99, false, false)]);
        assert_eq!(states(&told), [vec![NEW], vec![], vec![GONE]]);
        let told = nights(&[(1.1, true, false), (1.01, false, false)]);
        assert_eq!(states(&told), [vec![NEW], vec![GONE]]);
    }

    #[test]
    fn what_was_told_is_known_whatever_the_next_night_proves() {
        let before = BTreeMap::new();
        let told = Watched { number: 1, is_told: true, ..new(&seen(0.95, true, false), "run-0", &before) };
        let next = night(&[told], &[seen(0.96, false, false)], "run-1", &before);
        let only = &next[0];
        assert_eq!((next.len(), only.state, only.last_run.as_str()), (1, WatchState::Known, "run-0"));
        assert!(only.is_told);
    }

    #[test]
    fn what_could_not_be_told_stays_as_it_was_found_until_it_is() {
        let before = BTreeMap::new();
        let untold = Watched { number: 1, ..new(&seen(0.95, true, false), "run-0", &before) };
        for tonight in [seen(0.95, true, false), seen(0.96, false, false)] {
            assert!(night(std::slice::from_ref(&untold), &[tonight], "run-1", &before).is_empty());
        }
        let gone = night(&[untold], &[seen(1.0, false, true)], "run-1", &before);
        assert_eq!((gone[0].state, gone[0].is_told), (GONE, false));
    }

    #[test]
    fn a_loss_that_turns_into_a_gain_is_gone_and_another_is_new() {
        let told = nights(&[(0.9, true, false), (1.1, true, false)]);
        assert_eq!(states(&told)[1], [GONE, NEW]);
        assert!(!told[1][1].identity.is_slower);
    }

    #[test]
    fn what_is_accepted_is_told_only_if_it_grows() {
        let accepted = |ratio: f64| Watched {
            number: 7,
            state: WatchState::Accepted,
            is_told: true,
            ..new(&seen(ratio, true, false), "run-0", &BTreeMap::new())
        };
        let same = night(&[accepted(0.9)], &[seen(0.91, true, false)], "run-1", &BTreeMap::new());
        assert_eq!(same[0].state, WatchState::Accepted);
        let grown = night(&[accepted(0.9)], &[seen(0.8, true, false)], "run-1", &BTreeMap::new());
        assert_eq!((grown[0].number, grown[0].state), (7, WatchState::New));
    }
}
