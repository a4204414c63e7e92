//! What watches have found: a row for each change, new ones first.

use super::cells::{headers, name, number_headers, table};
use super::links;
use super::shell::{self, Here};
use crate::watch::sized;
use maud::{Markup, html};
use model::watched::{WatchState, Watched};

/// The page of all changes.
pub fn page(changes: &[Watched]) -> String {
    let mut ordered: Vec<&Watched> = changes.iter().collect();
    ordered.sort_by_key(|one| (rank(one.state), std::cmp::Reverse(one.number)));
    let body = html! {
        h1 { "Watches" }
        @if ordered.is_empty() {
            p { "No watch has found a change yet. " code { "dbdyno watch PLAN" } " measures a plan when its commits have moved." }
        } @else {
            p {
                "Changes that nightly runs have confirmed. " code { "dbdyno watch --accept NUMBER" }
                " says that one is to stay; it is then told again only if it grows."
            }
            (table(head(), rows(&ordered)))
        }
    };
    shell::page("Watches", Here::Watches, body)
}

/// What is new is looked at first, what is gone last.
fn rank(state: WatchState) -> u8 {
    match state {
        WatchState::New => 0,
        WatchState::Known => 1,
        WatchState::Accepted => 2,
        WatchState::Gone => 3,
    }
}

fn head() -> Markup {
    html! {
        (number_headers(&["number"]))
        (headers(&["state", "watch", "step, workload", "candidate, base"]))
        (number_headers(&["over the base"]))
        (headers(&["first build with it, last without", "host", "runs"]))
    }
}

fn rows(changes: &[&Watched]) -> Markup {
    html! {
        @for one in changes {
            @let of = &one.identity;
            @let engine = of.candidate.split('@').next().unwrap_or_default();
            tr {
                th.site-number scope="row" { (one.number) }
                td { (one.state.name()) }
                td { (name(&of.watch)) }
                td { a href=(links::history(&of.workload, &of.step, engine)) { (name(&of.step)) } br; (name(&of.workload)) }
                td { (name(&of.candidate)) br; (name(&of.base)) }
                td.site-number { (sized(one)) }
                td { (name(&one.first_with)) br; @if let Some(without) = &one.last_without { (name(without)) } @else { "not known" } }
                td { a href=(links::host(&of.host)) { (name(&of.host)) } }
                td.site-whole { a href=(links::report(&one.first_run)) { "first" } " " a href=(links::report(&one.last_run)) { "last" } }
            }
        }
    }
}
