//! Archives of servers as they are fetched: tar with gzip, xz or plain, and jars. None may write outside of the directory that it is unpacked to.

#![no_main]

use libfuzzer_sys::fuzz_target;
use runner::engines::fuzz as engines;

fuzz_target!(|bytes: &[u8]| {
    fuzz::unpack(bytes, |archive, to| {
        let _ = engines::unpack(archive, to);
    });
    fuzz::unpack(bytes, |archive, to| {
        let _ = engines::unpack_tar(bytes, archive, to);
    });
    fuzz::unpack(bytes, |archive, to| {
        let _ = engines::extract(archive, to);
    });
});
