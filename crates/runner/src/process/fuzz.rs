//! What the fuzz target `worker` calls. Compiled with `--cfg fuzzing` alone.

use super::lines::{LINE_BYTES_MAX, next_line};
use super::worker::parsed;

/// Reads what a worker writes, up to its end or a line that is none. What it says is of no interest.
pub fn read_replies(mut output: &[u8]) {
    while let Some(Ok(line)) = next_line(&mut output, LINE_BYTES_MAX) {
        let _ = parsed(&line);
    }
}
