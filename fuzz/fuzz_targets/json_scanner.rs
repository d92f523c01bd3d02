//! The JSON scanner: any cut of any bytes gives the same events, and the members of an object are
//! those that serde finds.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::json_scanner(data));
