//! Streams of the parser benchmark: deltas of about four bytes, cut as the models' tokenizers cut
//! them.

/// Delta of prose and of a call's string argument.
pub const WORD: &str = " abc";
/// Number of words in the argument of a small call.
const SMALL: usize = 20;

/// Prose and calls in one format. A marker is a delta of its own.
#[derive(Debug)]
pub struct Format {
    /// Name of the plugin, or of the table.
    pub name: &'static str,
    /// Markers for which the tokenizer has no token, so that they are found in the text.
    pub spelt: &'static [&'static str],
    prose: [&'static [&'static str]; 2],
    call: [&'static [&'static str]; 2],
    /// Deltas after a call.
    between: &'static [&'static str],
}

/// All formats that ship.
pub const FORMATS: &[Format] = &[
    Format {
        name: "qwen3",
        spelt: &[],
        prose: [&[], &[]],
        call: [
            &[
                "<tool_call>",
                "\n{\"n",
                "ame\"",
                ": \"t",
                "ool\"",
                ", \"a",
                "rgum",
                "ents",
                "\": {",
                "\"x\":",
                " \"",
            ],
            &["\"}}\n", "</tool_call>"],
        ],
        between: &["\n"],
    },
    Format {
        name: "qwen3-coder",
        spelt: &[
            "<function=",
            "</function>",
            "<parameter=",
            "</parameter>",
            "\n</function>",
            "\n<parameter=",
            "\n</parameter>",
        ],
        prose: [&[], &[]],
        call: [
            &["<tool_call>", "\n", "<", "function", "=", "tool", ">\n", "<", "parameter", "=x", ">\n"],
            &["\n", "</", "parameter", ">\n", "</", "function", ">\n", "</tool_call>"],
        ],
        between: &["\n"],
    },
    Format {
        name: "glm",
        spelt: &[],
        prose: [&[], &[]],
        call: [
            &["<tool_call>", "tool", "<arg_key>", "x", "</arg_key>", "<arg_value>"],
            &["</arg_value>", "</tool_call>"],
        ],
        between: &["\n"],
    },
    Format {
        name: "kimi-k2",
        spelt: &[],
        prose: [&[], &[]],
        call: [
            &[
                "<|tool_calls_section_begin|>",
                "<|tool_call_begin|>",
                "func",
                "tions",
                ".tool",
                ":",
                "0",
                "<|tool_call_argument_begin|>",
                "{\"x\":",
                " \"",
            ],
            &["\"}", "<|tool_call_end|>", "<|tool_calls_section_end|>"],
        ],
        between: &["\n"],
    },
    Format {
        name: "harmony",
        spelt: &[],
        prose: [&["<|channel|>", "final", "<|message|>"], &["<|end|>", "<|start|>", "assistant"]],
        call: [
            &[
                "<|channel|>",
                "comment",
                "ary",
                " to",
                "=functions",
                ".tool",
                " ",
                "<|constrain|>",
                "json",
                "<|message|>",
                "{\"x\":",
                " \"",
            ],
            &["\"}", "<|end|>"],
        ],
        between: &["<|start|>", "assistant"],
    },
    Format {
        name: "mistral",
        spelt: &[],
        prose: [&[], &[]],
        call: [&["[TOOL_CALLS]", "tool", "[ARGS]", "{\"x\":", " \""], &["\"}"]],
        between: &["\n"],
    },
    Format {
        name: "minimax-m2",
        spelt: &["<invoke name=", "</invoke>", "<parameter name=", "</parameter>"],
        prose: [&[], &[]],
        call: [
            &[
                "<minimax:tool_call>",
                "\n<",
                "invoke",
                " name",
                "=\"tool",
                "\">\n<",
                "parameter",
                " name",
                "=\"x",
                "\">",
            ],
            &["</", "parameter", ">\n</", "invoke", ">\n", "</minimax:tool_call>"],
        ],
        between: &["\n"],
    },
    Format {
        name: "minimax-m3",
        spelt: &[],
        prose: [&[], &[]],
        call: [
            &[
                "]<]minimax[>[",
                "<tool",
                "_call",
                ">\n",
                "]<]minimax[>[",
                "<invoke",
                " name",
                "=\"tool",
                "\">",
                "]<]minimax[>[",
                "<x",
                ">",
            ],
            &[
                "]<]minimax[>[",
                "</x",
                ">",
                "]<]minimax[>[",
                "</",
                "invoke",
                ">\n",
                "]<]minimax[>[",
                "</tool",
                "_call",
                ">",
            ],
        ],
        between: &["\n"],
    },
    Format {
        name: "gemma4",
        spelt: &[],
        prose: [&[], &[]],
        call: [&["<|tool_call>", "call", ":tool", "{x", ":", "<|\"|>"], &["<|\"|>", "}", "<tool_call|>"]],
        between: &[],
    },
    Format {
        name: "pythonic",
        spelt: &[],
        prose: [&[], &[]],
        call: [&["<|tool_call_start|>", "[tool", "(x", "=\""], &["\")", "]", "<|tool_call_end|>"]],
        between: &["\n"],
    },
    Format {
        name: "apertus",
        spelt: &[],
        prose: [&[], &[]],
        call: [
            &["<|tools_prefix|>", "[{\"", "tool", "\": ", "{\"x\":", " \""],
            &["\"}", "}]", "<|tools_suffix|>"],
        ],
        between: &["\n"],
    },
    Format {
        name: "deepseek-v4",
        spelt: &[
            "<｜DSML｜tool_calls>",
            "</｜DSML｜tool_calls>",
            "<｜DSML｜invoke name=",
            "</｜DSML｜invoke>",
            "<｜DSML｜parameter name=",
            "</｜DSML｜parameter>",
        ],
        prose: [&[], &[]],
        call: [
            &[
                "<",
                "｜DSML｜",
                "tool_calls",
                ">\n<",
                "｜DSML｜",
                "invoke",
                " name",
                "=\"tool",
                "\">\n<",
                "｜DSML｜",
                "parameter",
                " name",
                "=\"x",
                "\" string",
                "=\"true",
                "\">",
            ],
            &[
                "</",
                "｜DSML｜",
                "parameter",
                ">\n</",
                "｜DSML｜",
                "invoke",
                ">\n</",
                "｜DSML｜",
                "tool_calls",
                ">",
            ],
        ],
        between: &["\n"],
    },
    Format {
        name: "kimi-k3",
        spelt: &[
            "<|open|>tools<|sep|>",
            "<|close|>tools<|sep|>",
            "<|open|>call tool=",
            "<|close|>call<|sep|>",
            "<|open|>argument key=",
            "<|close|>argument<|sep|>",
        ],
        prose: [&[], &[]],
        call: [
            &[
                "<|open|>",
                "tools",
                "<|sep|>",
                "<|open|>",
                "call",
                " tool",
                "=\"tool",
                "\" index",
                "=\"1\"",
                "<|sep|>",
                "<|open|>",
                "argument",
                " key",
                "=\"x\"",
                " type",
                "=\"string\"",
                "<|sep|>",
            ],
            &[
                "<|close|>",
                "argument",
                "<|sep|>",
                "<|close|>",
                "call",
                "<|sep|>",
                "<|close|>",
                "tools",
                "<|sep|>",
            ],
        ],
        between: &["\n"],
    },
    Format {
        name: "muse",
        spelt: &[
            "<atem:function_calls>",
            "</atem:function_calls>",
            "<atem:invoke name=",
            "</atem:invoke>",
            "<atem:parameter name=",
            "</atem:parameter>",
        ],
        prose: [&["<|start|>", "assistant", "<|message|>"], &["<|eom|>"]],
        call: [
            &[
                "<|start|>",
                "assistant",
                " to",
                "=tool",
                "<|message|>",
                "<atem:function_calls>",
                "\n<",
                "atem:invoke",
                " name",
                "=\"tool",
                "\">\n<",
                "atem:parameter",
                " name",
                "=\"x",
                "\">",
            ],
            &["</", "atem:parameter", ">\n</", "atem:invoke", ">\n</", "atem:function_calls", ">", "<|eom|>"],
        ],
        between: &[],
    },
    Format {
        name: "deepseek-v3",
        spelt: &[],
        prose: [&[], &[]],
        call: [
            &["<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "tool", "<｜tool▁sep｜>", "{\"x\":", " \""],
            &["\"}", "<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>"],
        ],
        between: &["\n"],
    },
    Format {
        name: "llama3",
        spelt: &["<function=", "</function>"],
        prose: [&[], &[]],
        call: [
            &[
                "<|python_tag|>",
                "{\"",
                "name",
                "\":",
                " \"tool",
                "\",",
                " \"parameters",
                "\":",
                " {\"x\":",
                " \"",
            ],
            &["\"}", "}"],
        ],
        between: &[],
    },
    Format {
        name: "hunyuan",
        spelt: &[],
        prose: [&[], &[]],
        call: [
            &[
                "<tool_calls>",
                "\n[{\"",
                "name",
                "\":",
                " \"tool",
                "\",",
                " \"arguments",
                "\":",
                " {\"x\":",
                " \"",
            ],
            &["\"}", "}]\n", "</tool_calls>"],
        ],
        between: &["\n"],
    },
    Format {
        name: "phi4-mini",
        spelt: &["functools"],
        prose: [&[], &[]],
        call: [
            &[
                "<|tool_call|>",
                "[{\"",
                "name",
                "\":",
                " \"tool",
                "\",",
                " \"arguments",
                "\":",
                " {\"x\":",
                " \"",
            ],
            &["\"}", "}]", "<|/tool_call|>"],
        ],
        between: &["\n"],
    },
    Format {
        name: "seed-oss",
        spelt: &["<function=", "</function>", "<parameter=", "</parameter>"],
        prose: [&[], &[]],
        call: [
            &["<seed:tool_call>", "\n", "<", "function", "=tool", ">\n", "<", "parameter", "=x", ">"],
            &["</", "parameter", ">\n", "</", "function", ">\n", "</seed:tool_call>"],
        ],
        between: &["\n"],
    },
];

/// Content of a stream.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// Words.
    Prose,
    /// Words, then a call of as many.
    OneCall,
    /// Calls with an argument of twenty words.
    ManyCalls,
}

impl Shape {
    /// All shapes.
    pub const ALL: [Self; 3] = [Self::Prose, Self::OneCall, Self::ManyCalls];

    /// The shape in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Prose => "prose",
            Self::OneCall => "one call of half the stream",
            Self::ManyCalls => "many small calls",
        }
    }
}

impl Format {
    /// Deltas at a stream's beginning that aren't measured: a small call.
    pub fn warm_up(&self) -> Vec<&'static str> {
        let mut deltas = Vec::new();
        self.call(SMALL, &mut deltas);
        deltas.extend(self.between);
        deltas
    }

    /// Stream of about `count` deltas, which follow those of `warm_up`.
    pub fn deltas(&self, shape: Shape, count: usize) -> Vec<&'static str> {
        let mut deltas = Vec::with_capacity(count);
        match shape {
            Shape::Prose => self.prose(count, &mut deltas),
            Shape::OneCall => {
                self.prose(count / 2, &mut deltas);
                deltas.extend(self.prose[1]);
                self.call(count - deltas.len() - self.call.concat().len(), &mut deltas);
            }
            Shape::ManyCalls => {
                while deltas.len() < count {
                    self.call(SMALL, &mut deltas);
                    deltas.extend(self.between);
                }
            }
        }
        deltas
    }

    fn prose(&self, count: usize, deltas: &mut Vec<&'static str>) {
        deltas.extend(self.prose[0]);
        deltas.resize(count, WORD);
    }

    /// Beginning of a call, up to the first word of its argument.
    pub fn opening(&self) -> &[&'static str] {
        self.call[0]
    }

    /// Appends a call with `words` words in its argument.
    fn call(&self, words: usize, deltas: &mut Vec<&'static str>) {
        deltas.extend(self.call[0]);
        deltas.extend(std::iter::repeat_n(WORD, words));
        deltas.extend(self.call[1]);
    }

    /// Number of calls in `deltas`.
    pub fn calls(&self, deltas: &[&str]) -> usize {
        deltas.windows(self.call[0].len()).filter(|window| *window == self.call[0]).count()
    }
}
