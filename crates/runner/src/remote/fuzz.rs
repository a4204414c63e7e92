//! What the fuzz target `worker` calls. Compiled with `--cfg fuzzing` alone.

use super::message::{FromServerSide, ToServerSide, receive};

/// Reads what each side of a server host says to the other, up to its end or what is no message. What it says is of no interest.
pub fn read_messages(input: &[u8]) {
    let (mut to, mut from) = (input, input);
    while receive::<ToServerSide>(&mut to).is_ok() {}
    while receive::<FromServerSide>(&mut from).is_ok() {}
}
