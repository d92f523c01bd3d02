//! GGUF files, whole and in parts: whatever their bytes are, errors are one line, and tensors lie
//! within their part, apart from each other.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::gguf(data));
