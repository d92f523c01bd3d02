//! The host's turn: any cut gives the same items, and no parser breaks a turn.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::turn(data));
