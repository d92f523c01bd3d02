//! Decodes a fuzzer's bytes as one turn: the head selects the end, the prompt, the request and the
//! cuts; the body spells the model's output.

use parser_kit::{custom_tool, function, request, with_tools};
use parser_sdk::{FinishReason, Request};

use crate::LONGEST;

/// Number of bytes in the head.
pub const HEAD: usize = 5;

/// Turn that a fuzzer's bytes stand for.
#[derive(Debug)]
pub struct Stream {
    /// Reason for which the turn ends.
    pub reason: FinishReason,
    /// Index of the generation prompt, modulo the number of the format's prompts.
    pub prompt: usize,
    /// Request that the parser gets.
    pub request: Request,
    /// Sizes of the chunks, in characters.
    pub sizes: [usize; 2],
    /// Output of the model.
    pub output: String,
}

impl Stream {
    /// Decodes `data`, whose bytes from 0x80 on stand for `fragments`; `None` if it is shorter than
    /// the head.
    pub fn read(data: &[u8], fragments: &[&str]) -> Option<Self> {
        let (head, body) = data.split_first_chunk::<HEAD>()?;
        let reasons = [FinishReason::Stop, FinishReason::Length, FinishReason::Cancelled];
        Some(Self {
            reason: reasons[usize::from(head[0]) % reasons.len()],
            prompt: head[1].into(),
            request: tools(head[2]),
            sizes: [head[3], head[4]].map(|byte| usize::from(byte % 32) + 1),
            output: spell(&body[..body.len().min(LONGEST)], fragments),
        })
    }
}

/// Text that `body` spells: a byte below 0x80 stands for itself, every other byte for a fragment.
pub fn spell(body: &[u8], fragments: &[&str]) -> String {
    let mut text = String::new();
    for byte in body {
        match byte {
            ..0x80 => text.push(char::from(*byte)),
            _ => text.push_str(fragments[usize::from(byte - 0x80) % fragments.len()]),
        }
    }
    text
}

/// Schema of the arguments of `add`: a parameter of each type that a format may write in its own
/// way.
const SCHEMA: &str = r#"{"properties": {"i": {"type": "integer"}, "a": {"type": ["array", "null"]}, "s": {"type": "string"},
    "t": {"anyOf": [{"type": "string"}, {"type": "number"}]}}}"#;

/// Request with tools, mostly: functions, and one custom tool.
fn tools(choice: u8) -> Request {
    if choice.is_multiple_of(8) {
        return request(&[]);
    }
    with_tools([function("add", SCHEMA), function("get_weather", "{}"), custom_tool("patch")])
}
