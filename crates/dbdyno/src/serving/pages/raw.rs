//! What engines and workers wrote, as it came.

use super::super::answers::{Failure, said};
use super::super::asked::{Answer, Kind};
use super::run_called;
use ::report::site::{links, raw};
use findings::labels::told_apart;
use model::record::RawOutputName;
use store::Store;

/// The list of it.
pub fn list(store: &Store, run: &str) -> Result<Answer, Failure> {
    let head = run_called(store, run)?;
    if head.id != run {
        return Ok(Answer::redirect(links::raw_list(&head.id)));
    }
    let (plan, _) = store.run_plan(&head.id)?;
    let subjects = told_apart(plan.subjects.iter().map(|subject| subject.reference.to_string()));
    Ok(Answer::page(200, raw::page(&head.id, &subjects, &store.raw_output_names(&head.id)?)))
}

/// One of them, as text and nothing else.
pub fn text(store: &Store, run: &str, output: &RawOutputName) -> Result<Answer, Failure> {
    let head = run_called(store, run)?;
    let texts = store.raw_output(&head.id, output)?;
    if texts.is_empty() {
        let mut message = said(
            "No such output",
            &format!("Run {} keeps no `{}` of that launch and side.", head.id, output.name),
        );
        message.links.push((links::raw_list(&head.id), "what it keeps".to_owned()));
        return Err(Failure::Nowhere(message));
    }
    Ok(Answer::new(200, Kind::TEXT, texts.concat()))
}
