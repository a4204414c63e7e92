//! Two runs side by side.

use super::super::answers::{Failure, Site, said};
use super::super::asked::Answer;
use super::report::figures;
use super::{conditions, run_called};
use ::report::site::compare::{self, Side};
use ::report::site::links;
use model::listing::RunHead;
use store::Store;

/// The page.
pub fn answer(site: &Site, store: &Store, a: &str, b: &str) -> Result<Answer, Failure> {
    if a.is_empty() || b.is_empty() {
        return Err(two_are_needed(1));
    }
    let (head_a, head_b) = (run_called(store, a)?, run_called(store, b)?);
    if head_a.id != a || head_b.id != b {
        return Ok(Answer::redirect(links::compare(&head_a.id, &head_b.id)));
    }
    let (a, b) = (side(site, store, head_a)?, side(site, store, head_b)?);
    Ok(Answer::page(200, compare::page(&a, &b)))
}

/// The page of two runs that were picked in the list, the earlier one as A.
pub fn picked(store: &Store, runs: &[String]) -> Result<Answer, Failure> {
    let [one, other] = runs else { return Err(two_are_needed(runs.len())) };
    let (one, other) = (run_called(store, one)?, run_called(store, other)?);
    let (a, b) = if one.started_at_us <= other.started_at_us { (one, other) } else { (other, one) };
    Ok(Answer::redirect(links::compare(&a.id, &b.id)))
}

fn two_are_needed(picked: usize) -> Failure {
    let mut message =
        said("Pick two runs", &format!("Two runs can be shown side by side; {picked} were picked."));
    message.links.push(("/".to_owned(), "all runs".to_owned()));
    Failure::Unclear(message)
}

fn side(site: &Site, store: &Store, head: RunHead) -> Result<Side, Failure> {
    let (conditions, figures) = (conditions(site, store, &head.id)?, figures(site, store, &head)?);
    Ok(Side { conditions: (*conditions).clone(), figures: (*figures).clone(), head })
}
