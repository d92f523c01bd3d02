//! Properties of the format, which the kit has for every format with parameters as text; here is
//! how this one spells them.

use crate::fragments::{FRAGMENTS, PROMPTS};
use glm_parser::Glm;
use parser_kit::ParameterFormat;

const FORMAT: ParameterFormat<'_> = ParameterFormat {
    prompts: PROMPTS,
    fragments: FRAGMENTS,
    ends: &["<|observation|>"],
    reasoning: ["<think>", "</think>"],
    parameter: |key, value, _| format!("<arg_key>{key}</arg_key><arg_value>{value}</arg_value>\n"),
    call: |name, parameters| format!("<tool_call>{name}\n{parameters}</tool_call>"),
    string: &["<tool_call>", "get_weather", "<arg_key>", "city", "</arg_key>", "<arg_value>"],
};

#[test]
fn turns_come_back_as_they_were_however_they_are_cut() {
    FORMAT.check::<Glm>();
}
