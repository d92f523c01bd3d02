//! The host's marker matcher: it finds the leftmost, then the longest marker, however the text is
//! cut and whichever markers are tokens.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::markers(data));
