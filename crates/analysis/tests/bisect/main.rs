//! Bisections from events to findings: every turn that one can take, the laws it keeps, and how often it is right.

mod laws;
mod machine;
mod made;
mod rates;
