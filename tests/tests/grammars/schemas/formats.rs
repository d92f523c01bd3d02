//! Formats under test, and how each writes an answer and a call of `f`.

use super::super::{
    APERTUS, DEEPSEEK_V3, DEEPSEEK_V4, GEMMA4, GLM, HARMONY, HUNYUAN, KIMI_K2, KIMI_K3, LLAMA3, MINIMAX_M2,
    MINIMAX_M3, MISTRAL, MUSE, PYTHONIC, QWEN3 as QWEN3_FORMAT, QWEN3_CODER, oracle::Format, tables,
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

pub(super) const ALL: [FormatCase; 18] = [
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
    format_case("gemma4", GEMMA4, "<|turn>model\n", Call::Bare(["<|tool_call>call:f{", "}<tool_call|>"])),
    format_case(
        "minimax-m3",
        MINIMAX_M3,
        "]~b]ai\n</mm:think>",
        Call::Elements([
            "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"f\">",
            "]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
        ]),
    ),
    format_case(
        "pythonic",
        PYTHONIC,
        CHATML,
        Call::Python(["<|tool_call_start|>[f(", ")]<|tool_call_end|>"]),
    ),
    format_case(
        "apertus",
        APERTUS,
        "<|assistant_start|>",
        Call::Json(["<|tools_prefix|>[{\"f\": ", "}]<|tools_suffix|>"]),
    ),
    format_case(
        "hunyuan",
        HUNYUAN,
        "<|extra_0|><think>\n\n</think>\n",
        Call::Json([
            "<answer>\n<tool_calls>[{\"name\": \"f\", \"arguments\": ",
            "}]</tool_calls>\n</answer>",
        ]),
    ),
    FormatCase {
        writing: Writing {
            answer: [" to=user<|message|>", ""],
            call: Call::Parameters(
                [
                    " to=f<|message|><atem:function_calls>\n<atem:invoke name=\"f\">\n",
                    "</atem:invoke>\n</atem:function_calls>",
                ],
                ["<atem:parameter name=\"", "\">", "</atem:parameter>\n"],
            ),
        },
        ..format_case("muse", MUSE, "<|start|>assistant", HERMES)
    },
    format_case(
        "deepseek-v4",
        DEEPSEEK_V4,
        "<｜Assistant｜></think>",
        Call::Typed(
            [
                "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"f\">\n",
                "</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
            ],
            [
                "<｜DSML｜parameter name=\"",
                "\" string=\"true\">",
                "\" string=\"false\">",
                "</｜DSML｜parameter>\n",
            ],
        ),
    ),
    FormatCase {
        writing: Writing {
            answer: ["", "<|close|>response<|sep|>"],
            call: Call::Typed(
                [
                    "<|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool=\"f\" index=\"1\"<|sep|>",
                    "<|close|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|>",
                ],
                [
                    "<|open|>argument key=\"",
                    "\" type=\"string\"<|sep|>",
                    "\" type=\"object\"<|sep|>",
                    "<|close|>argument<|sep|>",
                ],
            ),
        },
        ..format_case(
            "kimi-k3",
            KIMI_K3,
            "<|open|>message role=\"assistant\"<|sep|><|open|>response<|sep|>",
            HERMES,
        )
    },
];
