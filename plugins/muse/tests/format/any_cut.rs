//! Properties of the format, which the kit has for every format with parameters as text; here is how this one spells them.

use muse_parser::Muse;
use parser_kit::ParameterFormat;

const FRAGMENTS: &[&str] = &[
    "<|start|>assistant to=self<|message|>",
    "<|start|>assistant to=add<|message|>",
    "<|start|>",
    " to=user",
    "<|message|>",
    "<|eom|>",
    "<atem:function_calls>",
    "<atem:function_calls>\n",
    "</atem:function_calls>",
    "<|start|>assistant",
    "<|eot|>",
    "<atem:invoke name=",
    "<atem:invoke name=\"add\">",
    "</atem:invoke>",
    "<atem:parameter name=",
    "</atem:parameter>",
    "</atem:parameter>\n",
    "<atem:invoke name=\"get_weather\">\n",
    "<atem:invoke name='patch'>",
    "<atem:invoke name=nowhere>",
    "<atem:parameter name=\"i\">",
    "<atem:parameter name=\"a\">",
    "<atem:parameter name=\"s\">",
    "<atem:parameter name=\"t\">",
    "<atem:parameter name=\"input\">",
    "<atem:parameter name=k>",
    "</atem:invoke>\n</atem:function_calls>",
    "<atem:function_calls>\n<atem:invoke name=\"add\">\n<atem:parameter name=\"i\">5</atem:parameter>\n</atem:invoke>\n</atem:function_calls>",
    "<atem:function_calls>\n<atem:invoke name=\"add\">\n<atem:parameter name=\"s\">",
    "<atem:function_calls>\n<atem:invoke name=\"patch\">\n<atem:parameter name=\"input\">",
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
    "<|",
    "\n\n\n",
    "\n",
    " ",
    "prose, long enough to be no number or word at all, ",
];

const FORMAT: ParameterFormat<'_> = ParameterFormat {
    prompts: &["", "<|start|>assistant"],
    fragments: FRAGMENTS,
    ends: &["<|eot|>"],
    reasoning: ["<|start|>assistant to=self<|message|>", "<|eom|>"],
    parameter: |key, value, _| format!("<atem:parameter name=\"{key}\">{value}</atem:parameter>\n"),
    call: |name, parameters| {
        format!(
            "<|start|>assistant to={name}<|message|>\
             <atem:function_calls>\n<atem:invoke name=\"{name}\">\n{parameters}</atem:invoke>\n</atem:function_calls>"
        )
    },
    string: &[
        "<atem:function_calls>",
        "\n",
        "<atem:invoke name=",
        "\"get_weather\">\n",
        "<atem:parameter name=",
        "\"city\">Os",
    ],
};

#[test]
fn turns_come_back_as_they_were_however_they_are_cut() {
    FORMAT.check::<Muse>();
}
