//! Formats under test, and how each writes an answer and a call of `f`.

use super::super::{
    DEEPSEEK_V3, GLM, HARMONY, KIMI_K2, LLAMA3, MINIMAX_M2, MISTRAL, QWEN3 as QWEN3_FORMAT, QWEN3_CODER,
    oracle::Format, tables,
};
use super::writing::{Call, Writing};

/// Format through whose grammars tests walk, and in which they write values.
pub(super) struct FormatCase {
    pub(super) name: &'static str,
    pub(super) format: Format,
    /// Generation prompt with which the template opens an answer.
    pub(super) prompt: &'static str,
    pub(super) writing: Writing,
}

const fn format_case(name: &'static str, format: Format, prompt: &'static str, call: Call) -> FormatCase {
    FormatCase { name, format, prompt, writing: Writing::new(call) }
}

const CHATML: &str = "<|im_start|>assistant\n";
const HERMES: Call = Call::Json(["<tool_call>\n{\"name\": \"f\", \"arguments\": ", "}\n</tool_call>"]);

pub(super) const ALL: [FormatCase; 10] = [
    format_case("qwen3", QWEN3_FORMAT, CHATML, HERMES),
    format_case("hermes", tables::HERMES_FORMAT, CHATML, HERMES),
    format_case(
        "qwen3-coder",
        QWEN3_CODER,
        CHATML,
        Call::Parameters(
            ["<tool_call>\n<function=f>\n", "</function>\n</tool_call>"],
            ["<parameter=", ">\n", "\n</parameter>\n"],
        ),
    ),
    format_case(
        "glm",
        GLM,
        "<|assistant|>",
        Call::Parameters(
            ["<tool_call>f\n", "</tool_call>"],
            ["<arg_key>", "</arg_key>\n<arg_value>", "</arg_value>\n"],
        ),
    ),
    format_case(
        "minimax-m2",
        MINIMAX_M2,
        "]~b]ai\n",
        Call::Parameters(
            ["<minimax:tool_call>\n<invoke name=\"f\">\n", "</invoke>\n</minimax:tool_call>"],
            ["<parameter name=\"", "\">", "</parameter>\n"],
        ),
    ),
    format_case(
        "kimi-k2",
        KIMI_K2,
        "<|im_assistant|>assistant<|im_middle|>",
        Call::Json([
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>",
            "<|tool_call_end|><|tool_calls_section_end|>",
        ]),
    ),
    format_case(
        "deepseek-v3",
        DEEPSEEK_V3,
        "<｜Assistant｜></think>",
        Call::Json([
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>",
            "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        ]),
    ),
    FormatCase {
        writing: Writing {
            answer: ["<|channel|>final<|message|>", ""],
            call: Call::Json(["<|channel|>commentary to=functions.f <|constrain|>json<|message|>", ""]),
        },
        ..format_case("harmony", HARMONY, "<|start|>assistant", HERMES)
    },
    format_case(
        "llama3",
        LLAMA3,
        "<|start_header_id|>assistant<|end_header_id|>\n\n",
        Call::Json(["{\"name\": \"f\", \"parameters\": ", "}"]),
    ),
    format_case("mistral", MISTRAL, "", Call::Json(["[TOOL_CALLS]f[ARGS]", ""])),
];
