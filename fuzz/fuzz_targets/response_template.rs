//! The parser of response templates, with each table of its tests: any cut of a stream gives the
//! same items.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::formats::RESPONSE_TEMPLATE.check(data));
