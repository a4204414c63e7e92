//! The limit of open files, which an engine inherits from the shell that dbdyno was started from.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises this process's limit to what it may have. Published results have had to be taken back because it was forgotten.
pub fn raise_limit() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum {
        // If it is refused, the engine says so when it cannot open a file.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_the_hard_one_afterwards() {
        let hard = getrlimit(Resource::Nofile).maximum;
        raise_limit();
        assert_eq!(getrlimit(Resource::Nofile), Rlimit { current: hard, maximum: hard });
    }
}
