//! Properties of the format, which the kit has for every format with parameters as text; here is how this one spells them.

use kimi_k3_parser::KimiK3;
use parser_kit::ParameterFormat;

const FRAGMENTS: &[&str] = &[
    "<|open|>think<|sep|>",
    "<|close|>think<|sep|>",
    "<|open|>response<|sep|>",
    "<|close|>response<|sep|>",
    "<|open|>tools<|sep|>",
    "<|close|>tools<|sep|>",
    "<|open|>message role=\"assistant\"<|sep|>",
    "<|close|>message<|sep|>",
    "<|end_of_msg|>",
    "<|open|>call tool=\"add\" index=\"1\"<|sep|>",
    "<|open|>call tool=",
    "<|close|>call<|sep|>",
    "<|open|>argument key=",
    "<|close|>argument<|sep|>",
    "<|sep|>",
    "<|open|>",
    "<|close|>",
    "<|open|>call tool=\"get_weather\" index=\"2\"<|sep|>",
    "<|open|>call tool=\"patch\"<|sep|>",
    "<|open|>call tool=nowhere<|sep|>",
    "<|open|>argument key=\"i\" type=\"number\"<|sep|>",
    "<|open|>argument key=\"i\" type=\"string\"<|sep|>",
    "<|open|>argument key=\"a\" type=\"array\"<|sep|>",
    "<|open|>argument key=\"a\"<|sep|>",
    "<|open|>argument key=\"s\" type=\"string\"<|sep|>",
    "<|open|>argument key=\"input\" type=\"string\"<|sep|>",
    "<|open|>argument key=\"a&quot;&amp;b\" type=\"null\"<|sep|>",
    "<|close|>argument<|sep|><|close|>call<|sep|>",
    "<|close|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|>",
    "<|open|>tools<|sep|><|open|>call tool=\"add\" index=\"1\"<|sep|><|open|>argument key=\"s\" type=\"string\"<|sep|>",
    "<|open|>tools<|sep|><|open|>call tool=\"patch\" index=\"1\"<|sep|><|open|>argument key=\"input\" type=\"string\"<|sep|>",
    " type=\"string\"",
    "<|",
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
    "<|open|>json type=\"object\"<|sep|>",
    "<|close|>json<|sep|>",
    "<|open|>tools<|sep|><|open|>call tool=\"add\"<|sep|><|open|>json type=\"object\"<|sep|>{\"s\": \"",
    "<",
    "</",
    "\n\n\n",
    "\n",
    " ",
    "prose, long enough to be no number or word at all, ",
];

const FORMAT: ParameterFormat<'_> = ParameterFormat {
    prompts: &[
        "",
        "<|open|>message role=\"assistant\"<|sep|><|open|>think<|sep|>",
        "<|open|>message role=\"assistant\"<|sep|><|open|>response<|sep|>",
    ],
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
