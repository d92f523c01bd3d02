//! The parser of Mistral's models: any cut of a stream gives the same items, and calls of a stream
//! that breaks off are prefixes of the whole calls.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::formats::MISTRAL.check(data));
