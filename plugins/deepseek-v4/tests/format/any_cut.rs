//! Properties of the format, which the kit has for every format with parameters as text; here is how this one spells them.

use deepseek_v4_parser::DeepSeekV4;
use parser_kit::ParameterFormat;

const FRAGMENTS: &[&str] = &[
    "<think>",
    "</think>",
    "<｜DSML｜tool_calls>",
    "<｜DSML｜function_calls>\n",
    "<｜DSML｜ calls>",
    "</｜DSML｜tool_calls>",
    "</｜DSML｜ calls>",
    "<｜Assistant｜>",
    "<｜end▁of▁sentence｜>",
    "<｜DSML｜invoke name=",
    "<｜DSML｜invoke name=\"add\">",
    "<｜DSML｜ invoke name=\"add\">\n",
    "</｜DSML｜invoke>",
    "</｜DSML｜ invoke>",
    "<｜DSML｜parameter name=",
    "</｜DSML｜parameter>",
    "</｜DSML｜parameter>\n",
    "<｜DSML｜invoke name=\"get_weather\">\n",
    "<｜DSML｜invoke name='patch'>",
    "<｜DSML｜invoke name=nowhere>",
    "<｜DSML｜parameter name=\"i\" string=\"false\">",
    "<｜DSML｜parameter name=\"i\" string=\"true\">",
    "<｜DSML｜parameter name=\"a\" string=\"false\">",
    "<｜DSML｜parameter name=\"a\">",
    "<｜DSML｜parameter name=\"s\" string=\"true\">",
    "<｜DSML｜parameter name=\"t\" string=\"false\">",
    "<｜DSML｜parameter name=\"input\" string=\"true\">",
    "<｜DSML｜ parameter name=k>",
    "</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
    "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"add\">\n<｜DSML｜parameter name=\"i\" string=\"false\">5</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
    "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"add\">\n<｜DSML｜parameter name=\"s\" string=\"true\">",
    "<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"patch\">\n<｜DSML｜ parameter name=\"input\" string=\"true\">",
    "<｜",
    "｜DSML｜",
    " string=\"true\"",
    "add",
    "\"add\"",
    "i",
    ">",
    "5",
    "5.0",
    "[1, 2]",
    "[",
    "null",
    "true",
    "word",
    "Zürich",
    "😀",
    "\"",
    "'",
    "\\",
    "{",
    "{\"k\": 1}",
    "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"add\">\n{\"i\": ",
    "{\"s\": \"",
    "<",
    "</",
    "\n\n\n",
    "\n",
    " ",
    "prose, long enough to be no number or word at all, ",
];

const FORMAT: ParameterFormat<'_> = ParameterFormat {
    prompts: &["", "<｜Assistant｜><think>", "<｜Assistant｜></think>"],
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
