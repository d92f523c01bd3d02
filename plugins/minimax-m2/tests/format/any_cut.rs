//! Properties of the format, which the kit has for every format with parameters as text; here is
//! how this one spells them.

use crate::fragments::{FRAGMENTS, PROMPTS};
use minimax_m2_parser::MiniMaxM2;
use parser_kit::ParameterFormat;

const FORMAT: ParameterFormat<'_> = ParameterFormat {
    prompts: PROMPTS,
    fragments: FRAGMENTS,
    ends: &["[e~["],
    reasoning: ["<think>", "</think>"],
    parameter: |key, value, _| format!("<parameter name=\"{key}\">{value}</parameter>\n"),
    call: |name, parameters| {
        format!("<minimax:tool_call>\n<invoke name=\"{name}\">\n{parameters}</invoke>\n</minimax:tool_call>")
    },
    string: &[
        "<minimax:tool_call>",
        "\n",
        "<invoke name=",
        "\"get_weather\">\n",
        "<parameter name=",
        "\"city\">Os",
    ],
};

#[test]
fn turns_come_back_as_they_were_however_they_are_cut() {
    FORMAT.check::<MiniMaxM2>();
}
