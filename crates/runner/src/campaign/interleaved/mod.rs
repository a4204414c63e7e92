//! All sides are started together and take turns in short blocks, launch after launch until every step has its verdict.

mod failures;
mod incomplete;
pub mod machine;
pub mod referee;
pub mod script;
pub mod sizes;
pub mod steps;

#[cfg(test)]
mod tests;
