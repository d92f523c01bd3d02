//! Properties of the format, which the kit has for every format with parameters as text; here is
//! how this one spells them.

use crate::fragments::{FRAGMENTS, PROMPTS};
use gigachat35_parser::GigaChat35;
use parser_kit::ParameterFormat;

const FORMAT: ParameterFormat<'_> = ParameterFormat {
    prompts: PROMPTS,
    fragments: FRAGMENTS,
    ends: &["<|message_sep|>"],
    reasoning: ["<think>", "</think>"],
    parameter: |key, value, is_string| {
        format!("<｜GCML｜parameter name=\"{key}\" string=\"{is_string}\">{value}</｜GCML｜parameter>\n")
    },
    call: |name, parameters| {
        format!(
            "<｜GCML｜tool_calls>\n<｜GCML｜invoke name=\"{name}\">\n{parameters}</｜GCML｜invoke>\n</｜GCML｜tool_calls>"
        )
    },
    string: &[
        "<｜GCML｜tool_calls>",
        "\n",
        "<｜GCML｜invoke name=",
        "\"get_weather\">\n",
        "<｜GCML｜parameter name=",
        "\"city\" string=\"true\">Os",
    ],
};

#[test]
fn turns_come_back_as_they_were_however_they_are_cut() {
    FORMAT.check::<GigaChat35>();
}
