//! What streams of the format are made of, in its tests and in fuzzing.

/// Generation prompts that may open a turn.
pub(crate) const PROMPTS: &[&str] = &["", "]~b]ai\n<think>\n", "]~b]ai\n", "]~b]ai\n<think>\n\n</think>\n\n"];

/// Fragments that are hard to parse.
pub(crate) const FRAGMENTS: &[&str] = &[
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
    "]~",
    "<minimax:tool_call>\n<invoke name=\"add\">\n",
    "</parameter>\n</invoke>\n</minimax:tool_call>",
    " or so ",
    " id=\"1\">\n",
    "<parameter name=\"i\" or so>",
];
