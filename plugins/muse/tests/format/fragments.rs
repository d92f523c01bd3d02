//! What streams of the format are made of, in its tests and in fuzzing.

/// Generation prompts that may open a turn.
pub(crate) const PROMPTS: &[&str] = &["", "<|start|>assistant"];

/// Fragments that are hard to parse.
pub(crate) const FRAGMENTS: &[&str] = &[
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
    "<|",
    " to=self<|message|>",
    " to=user<|message|>",
    "<atem:function_calls>\n<atem:invoke name=\"add\">\n",
    "</atem:parameter>\n</atem:invoke>\n</atem:function_calls>",
];
