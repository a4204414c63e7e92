//! One subject alive at a time, each step in one go: complete rounds in random order, or one subject after another
//! as Small Datum does it.

pub mod db_bench;
pub mod machine;
pub mod visit;
pub mod visits;

#[cfg(test)]
mod tests;
