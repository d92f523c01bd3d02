//! The shipped parser that the variable `PARSER` names: any cut of a stream gives the same items, and
//! calls of a stream that breaks off are prefixes of the whole calls.
#![no_main]

use std::sync::LazyLock;

use fuzz::formats::Format;

static FORMAT: LazyLock<Format> = LazyLock::new(|| {
    let name = std::env::var("PARSER").expect("PARSER names a shipped parser");
    Format::of(&name).unwrap_or_else(|| panic!("no shipped parser is called {name}"))
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| FORMAT.check(data));
