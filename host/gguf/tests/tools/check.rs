//! What must hold of the files of a model, whatever their bytes are. Tests and the fuzzer call it.

use gguf::{FilePart, Gguf, GgufError, TensorNames};

/// Names of the small files that are made of keys, and one that is none of them.
const FILES: [&str; 6] = [
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "chat_template.jinja",
    "model.safetensors",
];
/// Longest error in bytes: a line that people read.
const LONGEST: usize = 4096;

/// Reads the parts of a model in every way. Returns whether something was refused.
///
/// # Panics
/// An error isn't one short line, or a tensor isn't where its part has bytes of its own.
pub(crate) fn check(parts: &[FilePart<'_>]) -> bool {
    let mut refused = false;
    let mut look = |error: GgufError| {
        let text = error.to_string();
        assert!(!text.contains('\n') && text.len() < LONGEST, "{text:?}");
        refused = true;
    };
    for part in parts {
        part.part_count().map_or_else(&mut look, |count| assert!(count > 0, "no part"));
        let head = FilePart { bytes: &part.bytes[..part.bytes.len() / 2], ..*part };
        head.header_len().map_or_else(&mut look, |length| assert!(length <= Some(head.bytes.len())));
    }
    let gguf = match Gguf::parse(parts) {
        Ok(gguf) => gguf,
        Err(error) => {
            look(error);
            return true;
        }
    };
    for name in FILES {
        if let Err(error) = gguf.file(name) {
            look(error);
        }
    }
    if let Err(error) = TensorNames::of(&gguf) {
        look(error);
    }
    assert!(!gguf.summary().contains('\n'), "{:?}", gguf.summary());
    let mut ranges: Vec<_> = gguf.tensors().map(|(part, tensor)| (*part, tensor.range.clone())).collect();
    ranges.sort_unstable_by_key(|(part, range)| (*part, range.start));
    assert!(ranges.iter().all(|(part, range)| range.end <= parts[*part].bytes.len()), "{ranges:?}");
    let apart =
        |pair: &[(usize, std::ops::Range<usize>)]| pair[0].0 != pair[1].0 || pair[0].1.end <= pair[1].1.start;
    assert!(ranges.windows(2).all(apart), "{ranges:?}");
    refused
}

/// Reads what a fuzzer wrote: the first byte says how many parts it is cut into, and the next four
/// where.
///
/// # Panics
/// As [`check`].
pub(crate) fn check_cut(data: &[u8]) {
    let Some(([count, places @ ..], files)) = data.split_first_chunk::<5>() else { return };
    let [a, b, c, d] = *places;
    let [first, second] = [[a, b], [c, d]].map(|at| usize::from(u16::from_le_bytes(at)).min(files.len()));
    let (one, other) = (first.min(second), first.max(second));
    let part = FilePart::whole;
    match count % 3 {
        0 => check(&[part("a", files)]),
        1 => check(&[part("a", &files[..one]), part("b", &files[one..])]),
        _ => check(&[part("a", &files[..one]), part("b", &files[one..other]), part("c", &files[other..])]),
    };
}
