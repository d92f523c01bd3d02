//! The parser of DeepSeek V3.2 to V4.1: any cut of a stream gives the same items, and calls of a
//! stream that breaks off are prefixes of the whole calls.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::formats::DEEPSEEK_V4.check(data));
