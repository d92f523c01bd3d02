//! Writes the seed corpora: `cargo run --bin seeds`, in this folder.
//!
//! A parser's seeds are its plugin's cases, whose output is encoded in the bytes that
//! [`fuzz::spell`] decodes; characters that no fragment spells are left out. The seeds of the other
//! targets are in this file.

use std::path::Path;

#[path = "../../../host/gguf/tests/tools/small.rs"]
mod small;
#[path = "../../../host/gguf/tests/tools/writer.rs"]
#[allow(dead_code, reason = "tests use the rest")]
mod writer;

use fuzz::HEAD;
use fuzz::formats::{Format, own};
use parser_kit::case::{Case, Piece, case_files};

/// Maximum number of seeds per format, and of bytes in a seed: the fuzzer needs each construction
/// once, in a short form.
const SEEDS: usize = 16;
const LONGEST: usize = 256;

/// Seeds for the constructions of targets without cases: target, name, bytes.
const WRITTEN: &[(&str, &str, &[u8])] = &[
    (
        "response-template",
        "calls",
        b"\x00\x00\x04\x01\x06\x80Hm.\x81\x82{\"name\": \"add\", \"arguments\": {\"a\": 1}}\x83\x84",
    ),
    (
        "json_scanner",
        "object",
        b"\x01\x06{\"a\": 1, \"b\" : [1, {\"c\": 2}],\"d\":\"x\" , \"e\":{ } ,\"f\":true}",
    ),
    ("json_scanner", "escapes", b"\x02\x03 {\"na\\u006de\": \"\\\"\\\\\\n\\ud83d\\ude00\", \"\": null}"),
    ("json_scanner", "string", b"\x00\x04a\\ud83d\\ude00\\ud83db\\q\\/\\u00e9"),
    ("json_scanner", "lenient", b"\x01\x02{,\"a\": ,, \"b\" \"x\" \"c\": {]} } \"d\": 1}"),
    ("markers", "prefixes", b"\x01\x02ab\nbcd\nabcd\ne\n\nxabcdexabxbcdabc"),
    ("markers", "look-alikes", b"\x00\x03\x80\n\x81\n\x80!\n\na\x80b\x85tool_call>\x80!\x81<<tool_call>\x83"),
    (
        "turn",
        "reasoning and a call",
        b"\x01\x02\x00\x01\x02\x03\x00\x01\x07\x00\x00\x00\x80\x94a\x81\x82weather:{}\x83b\x85",
    ),
    (
        "turn",
        "escaped",
        b"\x06\x00\x00\x00\x01\x05\x02\x00\x01\x02\x03\x04\x82e:\x96\n\x8e\x84c\x82u:\x97\x98\x83",
    ),
];

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (target, name, seed) in WRITTEN {
        write(&root.join("corpus").join(target), name, seed);
    }
    for (name, seed) in gguf_seeds() {
        write(&root.join("corpus/gguf"), name, &seed);
    }
    for format in own() {
        let cases = root.join("../plugins").join(format.name).join("cases");
        let corpus = root.join("corpus").join(format.name);
        let files = case_files(&cases).unwrap_or_else(|error| panic!("{error}"));
        let all = files.iter().map(|file| (file, seed(&format, file)));
        let short: Vec<_> = all.filter(|(_, seed)| seed.len() > HEAD && seed.len() <= LONGEST).collect();
        for (file, seed) in short.iter().step_by(short.len().div_ceil(SEEDS).max(1)) {
            write(&corpus, &file.file_stem().expect("a case has a name").to_string_lossy(), seed);
        }
    }
}

/// A small GGUF model in one file, and in parts with the places at which the next ones begin.
fn gguf_seeds() -> Vec<(&'static str, Vec<u8>)> {
    let seed = |parts: Vec<Vec<u8>>| {
        let end = |count: usize| parts.iter().take(count).map(Vec::len).sum::<usize>();
        let places = [1, 2].map(|count| u16::try_from(end(count)).expect("a small file").to_le_bytes());
        let count = u8::try_from(parts.len() - 1).expect("three parts at most");
        [&[count][..], places.as_flattened(), parts.concat().as_slice()].concat()
    };
    let parts = |count| seed(small::model().parts(count));
    vec![("whole", seed(vec![small::model().finish()])), ("two parts", parts(2)), ("three parts", parts(3))]
}

fn write(corpus: &Path, name: &str, seed: &[u8]) {
    std::fs::create_dir_all(corpus).expect("a folder for the seeds");
    std::fs::write(corpus.join(name), seed).expect("the seed is written");
}

/// Encodes a case for the format's target, with declared tools and the first prompt.
fn seed(format: &Format, file: &Path) -> Vec<u8> {
    let case = Case::load(file).unwrap_or_else(|error| panic!("{error}"));
    let markers = format.markers(&[]);
    let output: String = case
        .pieces(&markers)
        .into_iter()
        .flatten()
        .map(|piece| match piece {
            Piece::Text(text) | Piece::Marker(_, text) => text,
        })
        .collect();
    let mut seed = vec![0, 0, 4, 1, 6];
    seed.extend(body(&output, &format.fragments(0, &markers)));
    seed
}

/// Encodes `text`, preferring the longest fragments.
fn body(mut text: &str, fragments: &[&str]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(first) = text.chars().next() {
        let longest = (0x80..=u8::MAX)
            .zip(fragments)
            .filter(|(_, fragment)| text.starts_with(**fragment))
            .max_by_key(|(_, fragment)| fragment.len());
        let length = if let Some((byte, fragment)) = longest {
            body.push(byte);
            fragment.len()
        } else {
            body.extend(u8::try_from(first).ok().filter(u8::is_ascii));
            first.len_utf8()
        };
        text = &text[length..];
    }
    body
}
