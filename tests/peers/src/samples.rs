//! Sample text for each format, with reasoning, prose that looks like markup, and two calls, and
//! its meaning.

/// Text and its meaning.
pub(crate) struct Sample {
    pub(crate) format: &'static str,
    pub(crate) text: &'static str,
    pub(crate) reasoning: &'static str,
    pub(crate) content: &'static str,
    /// Arguments of each call.
    pub(crate) arguments: &'static [&'static str],
}

const REASONING: &str = "Is 1 < 2? Oui, naïf.";
const CONTENT: &str = "I look: a <b> c.";
const ARGUMENTS: &[&str] =
    &[r#"{"x": "a \"q\" <b> é\nz", "n": [1, 2.5, null], "flag": true}"#, r#"{"x": "</x>"}"#];

const fn sample(format: &'static str, text: &'static str) -> Sample {
    Sample { format, text, reasoning: REASONING, content: CONTENT, arguments: ARGUMENTS }
}

pub(crate) const SAMPLES: [Sample; 4] = [
    sample(
        "qwen3",
        r#"<think>
Is 1 < 2? Oui, naïf.
</think>

I look: a <b> c.
<tool_call>
{"name": "tool", "arguments": {"x": "a \"q\" <b> é\nz", "n": [1, 2.5, null], "flag": true}}
</tool_call>
<tool_call>
{"name": "tool", "arguments": {"x": "</x>"}}
</tool_call>"#,
    ),
    sample(
        "qwen3-coder",
        r#"<think>
Is 1 < 2? Oui, naïf.
</think>

I look: a <b> c.
<tool_call>
<function=tool>
<parameter=x>
a "q" <b> é
z
</parameter>
<parameter=n>
[1, 2.5, null]
</parameter>
<parameter=flag>
true
</parameter>
</function>
</tool_call>
<tool_call>
<function=tool>
<parameter=x>
</x>
</parameter>
</function>
</tool_call>"#,
    ),
    sample(
        "kimi-k2",
        r#"<think>Is 1 < 2? Oui, naïf.</think>I look: a <b> c.<|tool_calls_section_begin|><|tool_call_begin|>functions.tool:0<|tool_call_argument_begin|>{"x": "a \"q\" <b> é\nz", "n": [1, 2.5, null], "flag": true}<|tool_call_end|><|tool_call_begin|>functions.tool:1<|tool_call_argument_begin|>{"x": "</x>"}<|tool_call_end|><|tool_calls_section_end|>"#,
    ),
    sample(
        "harmony",
        r#"<|channel|>analysis<|message|>Is 1 < 2? Oui, naïf.<|end|><|start|>assistant<|channel|>final<|message|>I look: a <b> c.<|end|><|start|>assistant<|channel|>commentary to=functions.tool <|constrain|>json<|message|>{"x": "a \"q\" <b> é\nz", "n": [1, 2.5, null], "flag": true}<|end|><|start|>assistant<|channel|>commentary to=functions.tool <|constrain|>json<|message|>{"x": "</x>"}<|end|>"#,
    ),
];
