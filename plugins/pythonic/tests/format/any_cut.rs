//! Properties of random streams, made of fragments that are hard to parse: any cut gives the same items, markers as text or as tokens give the
//! same items, and the markers that end the turn never reach the output.

use parser_kit::{Streams, request, request_with_custom};
use pythonic_parser::Pythonic;

const FRAGMENTS: &[&str] = &[
    "<|tool_call_start|>",
    "<|tool_call_end|>",
    "<function_calls>",
    "</function_calls>",
    "<function_",
    "calls>",
    "<think>",
    "</think>",
    "<|python_start|>",
    "<|python_end|>",
    "<|im_end|>",
    "[",
    "[add(",
    "add",
    "add(",
    "get_weather(city=",
    "city='",
    "'it's'",
    "\"\"\"",
    ", days=3",
    ", and ",
    "New York",
    "True",
    "None",
    "-1.5",
    "(1, 2)",
    "{'a': [1]}",
    "{",
    "}",
    ")",
    "]",
    "\"",
    "'",
    "\\",
    "\\n",
    "\n",
    " ",
    "Zürich 😀",
    "[get_weather(city=\"Oslo\", days=3)]",
    "{\"name\": \"add\", \"arguments\": {\"a\": 1}}",
];

const PROMPTS: &[&str] = &["", "<|im_start|>assistant\n", "<|header_start|>assistant<|header_end|>\n\n"];

#[test]
fn any_cut_of_any_stream_gives_the_same_items() {
    let requests =
        [request(&["add", "get_weather"]), request_with_custom(&["get_weather"], "add"), request(&[])];
    Streams::of(&requests, PROMPTS, FRAGMENTS, &["<|im_end|>", "<|eot|>"]).check::<Pythonic>();
}
