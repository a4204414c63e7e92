//! The lines between the controller and a worker, whose engine may have written into its memory: replies as the controller reads them,
//! requests as the worker does. And those between the two hosts of a run whose servers are on another one.

#![no_main]

use libfuzzer_sys::fuzz_target;
use model::wire::Request;

fuzz_target!(|bytes: &[u8]| {
    runner::process::fuzz::read_replies(bytes);
    runner::remote::fuzz::read_messages(bytes);
    for line in bytes.split(|byte| *byte == b'\n') {
        if let Ok(request) = serde_json::from_slice::<Request>(line) {
            assert!(serde_json::to_vec(&request).is_ok(), "what was read is written");
        }
    }
});
