//! Properties of the format, which the kit has for every format with parameters as text; here is how this one spells them.

use minimax_m2_parser::MiniMaxM2;
use parser_kit::ParameterFormat;

const FRAGMENTS: &[&str] = &[
    "<think>",
    "</think>",
    "<minimax:tool_call>",
    "<minimax:tool_call>\n",
    "</minimax:tool_call>",
    "]~b]",
    "]~b]ai\n",
    "[e~[",
    "<invoke name=",
    "<invoke name=\"add\">",
    "</invoke>",
    "<parameter name=",
    "</parameter>",
    "</parameter>\n",
    "<invoke name=\"get_weather\">\n",
    "<invoke name='patch'>",
    "<invoke name=nowhere>",
    "<parameter name=\"i\">",
    "<parameter name=\"a\">",
    "<parameter name=\"s\">",
    "<parameter name=\"t\">",
    "<parameter name=\"input\">",
    "<parameter name=k>",
    "</invoke>\n</minimax:tool_call>",
    "<minimax:tool_call>\n<invoke name=\"add\">\n<parameter name=\"i\">5</parameter>\n</invoke>\n</minimax:tool_call>",
    "<minimax:tool_call>\n<invoke name=\"add\">\n<parameter name=\"s\">",
    "<minimax:tool_call>\n<invoke name=\"patch\">\n<parameter name=\"input\">",
    "add",
    "\"add\"",
    "i",
    ">",
    "5",
    "5.0",
    "[1, 2]",
    "[",
    "null",
    "word",
    "Zürich",
    "😀",
    "\"",
    "'",
    "\\",
    "{",
    "{\"k\": 1}",
    "<",
    "</",
    "]~",
    "\n\n\n",
    "\n",
    " ",
    "prose, long enough to be no number or word at all, ",
];

const FORMAT: ParameterFormat<'_> = ParameterFormat {
    prompts: &["", "]~b]ai\n<think>\n", "]~b]ai\n"],
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
