//! What a server that speaks the protocol of MongoDB sends: the login, and answers to what is asked. The first eight bytes say what is.

#![no_main]

use libfuzzer_sys::fuzz_target;
use model::workload::sql::Dialect;

fuzz_target!(|bytes: &[u8]| load::fuzz::converse(Dialect::Mongodb, bytes));
