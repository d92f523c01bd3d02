//! The parser of Kimi K2: any cut of a stream gives the same items, and calls of a stream that
//! breaks off are prefixes of the whole calls.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::formats::KIMI_K2.check(data));
