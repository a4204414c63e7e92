//! Judgements from blocks to verdicts: every case, the laws they keep, and their error rates.

mod calibrated;
mod laws;
mod made;
mod verdicts;
