//! Properties of the format, which the kit has for every format with parameters as text; here is
//! how this one spells them.

use crate::fragments::{FRAGMENTS, PROMPTS};
use muse_parser::Muse;
use parser_kit::ParameterFormat;

const FORMAT: ParameterFormat<'_> = ParameterFormat {
    prompts: PROMPTS,
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
