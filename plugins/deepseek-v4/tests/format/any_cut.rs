//! Properties of the format, which the kit has for every format with parameters as text; here is
//! how this one spells them.

use crate::fragments::{FRAGMENTS, PROMPTS};
use deepseek_v4_parser::DeepSeekV4;
use parser_kit::ParameterFormat;

const FORMAT: ParameterFormat<'_> = ParameterFormat {
    prompts: PROMPTS,
    fragments: FRAGMENTS,
    ends: &["<｜end▁of▁sentence｜>"],
    reasoning: ["<think>", "</think>"],
    parameter: |key, value, is_string| {
        format!("<｜DSML｜parameter name=\"{key}\" string=\"{is_string}\">{value}</｜DSML｜parameter>\n")
    },
    call: |name, parameters| {
        format!(
            "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"{name}\">\n{parameters}</｜DSML｜invoke>\n</｜DSML｜tool_calls>"
        )
    },
    string: &[
        "<｜DSML｜tool_calls>",
        "\n",
        "<｜DSML｜invoke name=",
        "\"get_weather\">\n",
        "<｜DSML｜parameter name=",
        "\"city\" string=\"true\">Os",
    ],
};

#[test]
fn turns_come_back_as_they_were_however_they_are_cut() {
    FORMAT.check::<DeepSeekV4>();
}
