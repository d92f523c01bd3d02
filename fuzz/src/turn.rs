//! Decodes a fuzzer's bytes as a turn of the host, with the scripted parsers of its own tests; and
//! as literals and text for its marker matcher.

use turn::FaultPolicy;
use turn::oracle::{Cuts, FRAGMENTS, check_arbitrary, check_conforming, check_cuts, check_markers};

use crate::{LONGEST, spell};

/// Plays the body to three scripted parsers: one that must give the same items in any cut, one that
/// keeps the contract, and one that doesn't. The head has switches, the prompt's length, two sizes
/// for each kind of cut, and the seed of the random parsers.
pub fn turn(data: &[u8]) {
    let Some((head, body)) = data.split_first_chunk::<12>() else { return };
    let body = &body[..body.len().min(LONGEST)];
    let (prompt, text) = body.split_at(body.len().min(usize::from(head[1])));
    let (prompt, text) = (spell(prompt, &FRAGMENTS), spell(text, &FRAGMENTS));
    let sizes = |at: usize| [head[at], head[at + 1]].map(|byte| usize::from(byte % 8) + 1);
    let cuts = Cuts { prompt: &sizes(2), text: &sizes(4), steps: &sizes(6) };
    let seed = 1 + u64::from(u32::from_le_bytes([head[8], head[9], head[10], head[11]]));
    let trim = head[0] & 1 != 0;
    check_cuts(&prompt, &text, cuts, (head[0] >> 2) % 4, trim);
    check_conforming(&text, cuts, seed);
    let policy = match (head[0] & 2 != 0, head[0] & 16 != 0) {
        (true, _) => FaultPolicy::Fail,
        (false, true) => FaultPolicy::ContinueInCalls,
        (false, false) => FaultPolicy::Continue,
    };
    check_arbitrary(&prompt, &text, cuts, seed, trim, policy);
}

/// Finds literals in text. The head has two chunk sizes; the body has the literals, one on each
/// line, an empty line, and the text.
pub fn markers(data: &[u8]) {
    let Some((head, body)) = data.split_first_chunk::<2>() else { return };
    let sizes = head.map(|byte| usize::from(byte % 8) + 1);
    let body = spell(
        &body[..body.len().min(LONGEST)],
        &["<tool_call>", "</tool_call>", "<|im_end|>", "é", "😀", "<", "</"],
    );
    let (literals, text) = body.split_once("\n\n").unwrap_or((&body, ""));
    let literals: Vec<String> = literals.lines().take(32).map(str::to_owned).collect();
    check_markers(&literals, text, &sizes);
}
