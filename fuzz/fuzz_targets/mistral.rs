//! The parser of Mistral's models: any cut of any stream gives the same items, and calls broken off are how the whole ones begin.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::formats::MISTRAL.check(data));
