//! Input of each parser's target: the format's own fragments and prompts, beside the markers and the common fragments.

use std::fmt;

use parser_kit::{agree, check_broken_off};
use parser_sdk::{Descriptor, Parser};

use crate::Stream;

/// Number of places at which a stream is broken off.
const BREAKS: usize = 8;

/// Format and its parser.
pub struct Format {
    /// Folder of the plugin.
    pub plugin: &'static str,
    prompts: &'static [&'static str],
    fragments: &'static [&'static str],
    /// Response templates, one of which the head selects; empty if the format is the parser's own.
    tables: &'static [&'static str],
    describe: fn(&[(String, String)]) -> Result<Descriptor, String>,
    play: fn(&Stream, &str),
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Format").field("plugin", &self.plugin).finish_non_exhaustive()
    }
}

impl Format {
    const fn of<P: Parser>(
        plugin: &'static str,
        prompts: &'static [&'static str],
        fragments: &'static [&'static str],
    ) -> Self {
        Self { plugin, prompts, fragments, tables: &[], describe: P::describe, play: play::<P> }
    }

    /// Plays `data` as a turn of this format in every way that must give the same result.
    ///
    /// # Panics
    /// The parser broke a property.
    pub fn check(&self, data: &[u8]) {
        let options = self.options(data.get(2).copied().unwrap_or_default() / 8);
        let markers = self.markers(&options);
        if let Some(mut stream) = Stream::read(data, &self.fragments(&markers)) {
            stream.request.options = options;
            (self.play)(&stream, self.prompts[stream.prompt % self.prompts.len()]);
        }
    }

    /// Options of the parser: the table of this number, if it has tables.
    pub fn options(&self, table: u8) -> Vec<(String, String)> {
        let chosen = self.tables.get(usize::from(table) % self.tables.len().max(1));
        chosen.map(|table| ("response_template".to_owned(), (*table).to_owned())).into_iter().collect()
    }

    /// Texts of the bytes from 0x80 on: `markers`, which are the descriptor's, the format's own fragments, and the common ones.
    pub fn fragments<'a>(&self, markers: &'a [String]) -> Vec<&'a str> {
        let markers = markers.iter().map(String::as_str);
        markers.chain(self.fragments.iter().copied()).chain(COMMON.iter().copied()).collect()
    }

    /// Markers of the parser.
    ///
    /// # Panics
    /// The parser refuses these options.
    pub fn markers(&self, options: &[(String, String)]) -> Vec<String> {
        (self.describe)(options).expect("describes itself").markers
    }
}

fn play<P: Parser>(stream: &Stream, prompt: &str) {
    let Stream { request, output, sizes, reason, .. } = stream;
    agree::<P>(request, prompt, output, sizes, *reason);
    check_broken_off::<P>(request, prompt, output, BREAKS);
}

/// Fragments that are difficult for every parser: JSON that ends anywhere, names, half markers, characters of several bytes.
const COMMON: &[&str] = &[
    "{\"name\": \"add\", ",
    "{\"name\": \"add\", \"arguments\": {",
    "{\"name\": \"add\", \"parameters\": {",
    "\"arguments\": {",
    "\"name\": \"add\"",
    "\"name\": \"patch\"",
    "{\"input\": \"",
    "\"input\": ",
    "{\"a\": 1}",
    "{\"i\": 5}",
    "\": \"",
    "\\\"",
    "\\u00e9",
    "\\ud83d\\ude00",
    "\\ud83d",
    "}}",
    "}}\n",
    "]}",
    "add",
    "get_weather",
    "patch",
    "nowhere",
    "null",
    "true",
    "1.5e3",
    "</",
    "<|",
    "|>",
    "```",
    "```json\n",
    "assistant",
    "\n\n",
    "  ",
    "é",
    "😀",
    "\u{2003}",
    "prose, long enough to be no number, name or word at all, however it is cut, ",
];

/// Qwen3: `<think>` and calls that are one JSON object.
pub const QWEN3: Format = Format::of::<qwen3_parser::Qwen3>(
    "qwen3",
    &["<|im_start|>assistant\n", "", "<think>\n", "<think>\n\n</think>\n\n"],
    &["<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n</tool_call>", "\"parameters\":"],
);

/// Qwen3-Coder: calls in XML.
pub const QWEN3_CODER: Format = Format::of::<qwen3_coder_parser::Qwen3Coder>(
    "qwen3-coder",
    &["<|im_start|>assistant\n", "", "<think>\n", "<think>\n\n</think>\n\n"],
    &[
        "<tool_call>\n<function=add>\n<parameter=i>\n",
        "<function=patch>\n<parameter=input>\n",
        "<parameter=a>\n",
        "<parameter=s>\n",
        "<parameter=t>\n",
        "\n</parameter>\n</function>\n</tool_call>",
    ],
);

/// Harmony: channels and recipients.
pub const HARMONY: Format = Format::of::<harmony_parser::Harmony>(
    "harmony",
    &[
        "<|start|>assistant",
        "",
        "<|start|>assistant<|channel|>final<|message|>",
        "<|start|>assistant<|channel|>comment",
    ],
    &[
        "<|channel|>analysis<|message|>",
        "<|channel|>commentary<|message|>",
        "<|channel|>final<|message|>",
        "<|channel|>commentary to=functions.add <|constrain|>json<|message|>",
        "<|channel|>analysis to=functions.patch json<|message|>",
        "<|channel|>analysis to=python code<|message|>",
        "<|end|><|start|>assistant",
        " to=functions.add",
        " to=",
        "functions.",
        "analysis",
        "commentary",
        "final",
        " json",
    ],
);

/// Kimi K2: sections of calls, with ids in place of names.
pub const KIMI_K2: Format = Format::of::<kimi_k2_parser::KimiK2>(
    "kimi-k2",
    &["<|im_assistant|>assistant<|im_middle|>", "", "<|im_assistant|>assistant<|im_middle|><think>"],
    &[
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.add:0<|tool_call_argument_begin|>",
        "<|tool_call_begin|>functions.patch:1<|tool_call_argument_begin|>",
        "<|tool_call_end|><|tool_calls_section_end|>",
        "functions.",
        "functions.add:0",
        ":0",
        ":",
    ],
);

/// DeepSeek-V3 and V3.1: sections of calls, with or without fences.
pub const DEEPSEEK_V3: Format = Format::of::<deepseek_v3_parser::DeepSeekV3>(
    "deepseek-v3",
    &["<｜Assistant｜>", "", "<｜Assistant｜><think>\n", "<｜Assistant｜></think>"],
    &[
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>add\n```json\n",
        "<｜tool▁call▁begin｜>add<｜tool▁sep｜>",
        "<｜tool▁call▁begin｜>patch<｜tool▁sep｜>",
        "\n```<｜tool▁call▁end｜>",
        "\n```",
        "function",
        "<｜tool",
        "▁call▁begin｜>",
    ],
);

/// GLM 4.5 to 4.7: calls in XML.
pub const GLM: Format = Format::of::<glm_parser::Glm>(
    "glm",
    &["<|assistant|>", "", "<|assistant|><think>", "<|assistant|></think>"],
    &[
        "<tool_call>add\n<arg_key>i</arg_key>\n<arg_value>",
        "<tool_call>patch\n<arg_key>input</arg_key>\n<arg_value>",
        "<arg_key>a</arg_key><arg_value>",
        "<arg_key>s</arg_key><arg_value>",
        "<arg_key>t</arg_key><arg_value>",
        "</arg_value></tool_call>",
    ],
);

/// Llama 3: calls as JSON, after `<|python_tag|>`, and in `<function=…>`.
pub const LLAMA3: Format = Format::of::<llama3_parser::Llama3>(
    "llama3",
    &["<|start_header_id|>assistant<|end_header_id|>\n\n", ""],
    &[
        "<|python_tag|>add.call(i=",
        "<function=add>{\"a\": 1}</function>",
        "<function=add>",
        "{\"type\": \"function\", ",
        ".call(",
        "s='",
        ", a=[",
        "True",
        "None",
        "; ",
        "brave_search.call(query=\"",
    ],
);

/// Mistral: calls that begin with a marker and end with their JSON, or lists of calls.
pub const MISTRAL: Format = Format::of::<mistral_parser::Mistral>(
    "mistral",
    &["", "[THINK]"],
    &[
        "[TOOL_CALLS]add[ARGS]",
        "[TOOL_CALLS]patch[CALL_ID]Vv6rQ0tXk[ARGS]",
        "[TOOL_CALLS]add{\"a\": ",
        "[TOOL_CALLS] [{\"name\": \"add\", \"arguments\": ",
        "}, {\"name\": \"patch\", \"arguments\": {\"input\": \"",
        "Vv6rQ0tXk",
        "[TOOL",
    ],
);

/// MiniMax-M2: calls in XML, names and keys in quotes.
pub const MINIMAX_M2: Format = Format::of::<minimax_m2_parser::MiniMaxM2>(
    "minimax-m2",
    &["]~b]ai\n<think>\n", "", "]~b]ai\n", "]~b]ai\n<think>\n\n</think>\n\n"],
    &[
        "<minimax:tool_call>\n<invoke name=\"add\">\n",
        "<minimax:tool_call>\n<invoke name=\"patch\">\n<parameter name=\"input\">",
        "<invoke name=\"add\">",
        "<parameter name=\"a\">",
        "<parameter name=\"i\">",
        "<parameter name=\"s\">",
        "</parameter>\n</invoke>\n</minimax:tool_call>",
    ],
);

/// Gemma 4 and `FunctionGemma`: keys without quotes, strings between markers.
pub const GEMMA4: Format = Format::of::<gemma4_parser::Gemma4>(
    "gemma4",
    &["<|turn>model\n", "", "<|turn>model\n<|channel>thought\n<channel|>", "<start_of_turn>model\n"],
    &[
        "<|channel>thought\n",
        "<|tool_call>call:add{a:",
        "<|tool_call>call:patch{input:<|\"|>",
        "<|\"|>,s:New York, i:",
        "<start_function_call>call:add{s:<escape>",
        "call:add(a=",
        "thought\n",
        "}<tool_call|>",
    ],
);

/// Calls in Python.
pub const PYTHONIC: Format = Format::of::<pythonic_parser::Pythonic>(
    "pythonic",
    &["<|im_start|>assistant\n", "", "<|header_start|>assistant<|header_end|>\n\n"],
    &[
        "[add(a=",
        "<|tool_call_start|>[patch(input='",
        "<function_calls>\nadd(s=\"",
        "', s=\"\"\"",
        ", s=New York, i=",
        "{'a': (1, None)}",
        "[{\"name\": \"add\", \"arguments\": ",
        ")]",
    ],
);

/// Apertus: JSON calls whose key is the tool's name.
pub const APERTUS: Format = Format::of::<apertus_parser::Apertus>(
    "apertus",
    &["<|assistant_start|>", ""],
    &[
        "<|tools_prefix|>[{\"add\": ",
        "<|tools_prefix|>[{\"patch\": {\"input\": \"",
        "}, {\"add\": {\"a\": ",
        "}]<|tools_suffix|>",
    ],
);

/// DeepSeek V3.2 to V4.1: calls in DSML, whose parameters say whether they are text.
pub const DEEPSEEK_V4: Format = Format::of::<deepseek_v4_parser::DeepSeekV4>(
    "deepseek-v4",
    &["<｜Assistant｜><think>", "", "<｜Assistant｜></think>"],
    &[
        "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"add\">\n",
        "<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"patch\">\n<｜DSML｜ parameter name=\"input\" string=\"true\">",
        "<｜DSML｜invoke name=\"add\">",
        "<｜DSML｜parameter name=\"a\" string=\"false\">",
        "<｜DSML｜parameter name=\"i\">",
        "<｜DSML｜parameter name=\"s\" string=\"true\">",
        "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
    ],
);

/// Hunyuan A13B: a JSON list of calls.
pub const HUNYUAN: Format = Format::of::<hunyuan_parser::Hunyuan>(
    "hunyuan",
    &["<|extra_0|>", "", "<|extra_0|><think>\n\n</think>\n"],
    &[
        "<tool_calls>[{\"name\": \"add\", \"arguments\": ",
        "<tool_calls>[{\"name\": \"patch\", \"arguments\": {\"input\": \"",
        "}, {\"arguments\": {\"a\": 1}, \"name\": \"add\"}]",
        "}]</tool_calls>\n</answer>",
    ],
);

/// Kimi K3: channels, and arguments that say their types.
pub const KIMI_K3: Format = Format::of::<kimi_k3_parser::KimiK3>(
    "kimi-k3",
    &[
        "<|open|>message role=\"assistant\"<|sep|><|open|>think<|sep|>",
        "",
        "<|open|>message role=\"assistant\"<|sep|><|open|>response<|sep|>",
    ],
    &[
        "<|open|>tools<|sep|><|open|>call tool=\"add\" index=\"1\"<|sep|>",
        "<|open|>tools<|sep|><|open|>call tool=\"patch\" index=\"1\"<|sep|><|open|>argument key=\"input\" type=\"string\"<|sep|>",
        "<|open|>argument key=\"a\" type=\"array\"<|sep|>",
        "<|open|>argument key=\"i\" type=\"number\"<|sep|>",
        "<|open|>argument key=\"s\" type=\"string\"<|sep|>",
        "<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>",
    ],
);

/// MiniMax-M3: calls as namespaced tags, nested as the values are.
pub const MINIMAX_M3: Format = Format::of::<minimax_m3_parser::MiniMaxM3>(
    "minimax-m3",
    &["]~b]ai\n<mm:think>", "", "]~b]ai\n</mm:think>", "]~b]ai\n"],
    &[
        "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"add\">",
        "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"patch\">]<]minimax[>[<input>",
        "]<]minimax[>[<a>]<]minimax[>[<item>",
        "]<]minimax[>[</item>]<]minimax[>[</a>",
        "]<]minimax[>[<i>",
        "]<]minimax[>[</i>",
        "]<]minimax[>[<s>",
        "]<]minimax[>[</s>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
    ],
);

/// Muse Glimmer: messages that name their recipient, calls in ATEM.
pub const MUSE: Format = Format::of::<muse_parser::Muse>(
    "muse",
    &["<|start|>assistant", ""],
    &[
        " to=self<|message|>",
        " to=user<|message|>",
        "<|start|>assistant to=add<|message|>",
        "<atem:function_calls>\n<atem:invoke name=\"add\">\n",
        "<atem:function_calls>\n<atem:invoke name=\"patch\">\n<atem:parameter name=\"input\">",
        "<atem:parameter name=\"a\">",
        "<atem:parameter name=\"i\">",
        "<atem:parameter name=\"s\">",
        "</atem:parameter>\n</atem:invoke>\n</atem:function_calls>",
    ],
);

/// Formats that are tables in a model's `tokenizer_config.json`.
pub const RESPONSE_TEMPLATE: Format = Format {
    tables: &[
        include_str!("../../plugins/response-template/tests/tables/cohere.json"),
        include_str!("../../plugins/response-template/tests/tables/deepseek.json"),
        include_str!("../../plugins/response-template/tests/tables/ernie.json"),
        include_str!("../../plugins/response-template/tests/tables/glm.json"),
        include_str!("../../plugins/response-template/tests/tables/gptoss.json"),
        include_str!("../../plugins/response-template/tests/tables/hermes.json"),
        include_str!("../../plugins/response-template/tests/tables/inkling.json"),
        include_str!("../../plugins/response-template/tests/tables/llama.json"),
        include_str!("../../plugins/response-template/tests/tables/smollm.json"),
        include_str!("../../plugins/response-template/tests/tables/xml.json"),
    ],
    ..Format::of::<response_template_parser::ResponseTemplate>(
        "response-template",
        &[""],
        &[
            "commentary to=functions.",
            "analysis",
            "final",
            "<function=",
            "<parameter=",
            "</parameter>",
            "<arg_key>",
            "</arg_key>",
            "<arg_value>",
            "</arg_value>",
            "<｜tool▁sep｜>",
            "{\"tool_name\": \"add\", ",
            "\"args\": ",
        ],
    )
};

/// All formats whose seeds are made from cases.
pub const ALL: [&Format; 12] = [
    &QWEN3,
    &QWEN3_CODER,
    &HARMONY,
    &KIMI_K2,
    &DEEPSEEK_V3,
    &GLM,
    &LLAMA3,
    &MISTRAL,
    &MINIMAX_M2,
    &GEMMA4,
    &PYTHONIC,
    &APERTUS,
];
