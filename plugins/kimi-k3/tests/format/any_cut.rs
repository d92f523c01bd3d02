//! Properties of the format, which the kit has for every format with parameters as text; here is
//! how this one spells them.

use crate::fragments::{FRAGMENTS, PROMPTS};
use kimi_k3_parser::KimiK3;
use parser_kit::ParameterFormat;

const FORMAT: ParameterFormat<'_> = ParameterFormat {
    prompts: PROMPTS,
    fragments: FRAGMENTS,
    ends: &["<|end_of_msg|>"],
    reasoning: ["<|open|>think<|sep|>", "<|close|>think<|sep|>"],
    parameter: |key, value, is_string| {
        let kind = if is_string { "string" } else { "array" };
        format!("<|open|>argument key=\"{key}\" type=\"{kind}\"<|sep|>{value}<|close|>argument<|sep|>")
    },
    call: |name, parameters| {
        format!(
            "<|open|>tools<|sep|><|open|>call tool=\"{name}\" index=\"1\"<|sep|>{parameters}<|close|>call<|sep|><|close|>tools<|sep|>"
        )
    },
    string: &[
        "<|open|>tools<|sep|>",
        "<|open|>call tool=",
        "\"get_weather\" index=\"1\"",
        "<|sep|>",
        "<|open|>argument key=",
        "\"city\" type=\"string\"",
        "<|sep|>",
    ],
};

#[test]
fn turns_come_back_as_they_were_however_they_are_cut() {
    FORMAT.check::<KimiK3>();
}
