//! What a watch tells of a change: one sentence, and the list of all.

use crate::document::Kind::{Name, Number, Word};
use crate::document::Table;
use crate::render::text::table_alone;
use model::figures::change;
use model::watched::{WatchState, Watched};

/// "nightly: read-only (sysbench-32.quick) of postgres@git:master on bench-1 is slower than postgres@17.11: -4.2 % [-5.3 %, -3.1 %], since
/// postgres@1f2e3d4c5b6a (not in postgres@0a1b2c3d4e5f); run 20261121-091500-3fa9."
pub fn message(one: &Watched) -> String {
    let of = &one.identity;
    let place = format!("{}: {} ({}) of {} on {}", of.watch, of.step, of.workload, of.candidate, of.host);
    let direction = if of.is_slower { "slower" } else { "faster" };
    if one.state == WatchState::Gone {
        return format!(
            "{place} is no longer {direction} than {}: the change that run {} found is gone in run {}.",
            of.base, one.first_run, one.last_run
        );
    }
    let without = one.last_without.as_ref().map(|build| format!(" (not in {build})")).unwrap_or_default();
    let grown = if one.first_run == one.last_run { "" } else { ", more than it was told before" };
    format!(
        "{place} is {direction} than {}{grown}: {}, since {}{without}; run {}.",
        of.base,
        sized(one),
        one.first_with,
        one.last_run
    )
}

/// "-4.2 % [-5.3 %, -3.1 %]"
pub(crate) fn sized(one: &Watched) -> String {
    format!("{} [{}, {}]", change(one.ratio), change(one.low), change(one.high))
}

/// All changes, as text of so many columns.
pub fn listed(changes: &[Watched], width: usize) -> String {
    table_alone(&table(changes), width)
}

/// With the numbers by which they are accepted.
fn table(changes: &[Watched]) -> Table {
    Table::by_columns(
        changes,
        &[
            ("number", Number, &|one| one.number.to_string()),
            ("state", Word, &|one| one.state.name().to_owned()),
            ("watch", Name, &|one| one.identity.watch.clone()),
            ("step", Name, &|one| one.identity.step.clone()),
            ("workload", Name, &|one| one.identity.workload.clone()),
            ("candidate", Name, &|one| one.identity.candidate.clone()),
            ("over the base", Number, &|one| sized(one)),
            ("since", Name, &|one| one.first_with.clone()),
            ("host", Name, &|one| one.identity.host.clone()),
            ("last run", Name, &|one| one.last_run.clone()),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::watched::Identity;

    fn watched(state: WatchState) -> Watched {
        Watched {
            number: 3,
            identity: Identity {
                watch: "nightly".to_owned(),
                host: "h".to_owned(),
                workload: "w".to_owned(),
                step: "read-only".to_owned(),
                base: "postgres@17.11".to_owned(),
                candidate: "postgres@git:master".to_owned(),
                is_slower: true,
            },
            ratio: 0.958,
            low: 0.947,
            high: 0.969,
            last_without: Some("postgres@0a1b".to_owned()),
            first_with: "postgres@1f2e".to_owned(),
            state,
            is_told: false,
            first_run: "run-2".to_owned(),
            last_run: "run-2".to_owned(),
        }
    }

    #[test]
    fn a_message_says_what_since_when_and_where_to_look() {
        assert_eq!(
            message(&watched(WatchState::New)),
            "nightly: read-only (w) of postgres@git:master on h is slower than postgres@17.11: \
             -4.2 % [-5.3 %, -3.1 %], since postgres@1f2e (not in postgres@0a1b); run run-2."
        );
        let grown = Watched { last_run: "run-5".to_owned(), last_without: None, ..watched(WatchState::New) };
        let text = message(&grown);
        assert!(text.contains("more than it was told before") && !text.contains("not in"), "{text}");
        let gone = Watched { last_run: "run-7".to_owned(), ..watched(WatchState::Gone) };
        let text = message(&gone);
        assert!(text.contains("no longer slower") && text.contains("run-7"), "{text}");
    }

    #[test]
    fn the_list_has_a_line_for_each_change_and_the_number_that_accepts_it() {
        let text = listed(&[watched(WatchState::Known), watched(WatchState::Gone)], 200);
        // The header, the rule below it, the changes.
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert!(lines[0].contains("number") && lines[0].contains("over the base"), "{text}");
        for (line, state) in lines[2..].iter().zip(["known", "gone"]) {
            for part in ["3", state, "postgres@git:master", "-4.2 % [-5.3 %, -3.1 %]", "postgres@1f2e"] {
                assert!(line.contains(part), "`{part}`: {text}");
            }
        }
    }
}
