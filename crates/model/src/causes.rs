//! Errors as one text, where that is all that can be passed on: replies, blocks, messages to other processes.

use std::error::Error;

/// An error and all that caused it, in one line.
pub fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("failed to start it")]
    struct Outer(#[source] std::io::Error);

    #[test]
    fn the_cause_stands_behind_what_it_caused() {
        let error = Outer(std::io::Error::other("no such file"));
        assert_eq!(with_causes(&error), "failed to start it: no such file");
    }
}
