//! What watches have found.

use super::super::answers::Failure;
use super::super::asked::Answer;
use ::report::site::watch;
use store::Store;

/// The page of all changes.
pub fn answer(store: &Store) -> Result<Answer, Failure> {
    Ok(Answer::page(200, watch::page(&store.watched(None)?)))
}
