//! Input of each parser's target: the fragments and prompts of the format's tests, beside the
//! markers and the common fragments.

use std::fmt;

use parser_kit::{VALUES, agree, check_broken_off};
use parser_sdk::{Descriptor, Parser};

use crate::Stream;

#[path = "../../plugins/apertus/tests/format/fragments.rs"]
mod apertus;
#[path = "../../plugins/deepseek-v3/tests/format/fragments.rs"]
mod deepseek_v3;
#[path = "../../plugins/deepseek-v4/tests/format/fragments.rs"]
mod deepseek_v4;
#[path = "../../plugins/gemma4/tests/format/fragments.rs"]
mod gemma4;
#[path = "../../plugins/glm/tests/format/fragments.rs"]
mod glm;
#[path = "../../plugins/harmony/tests/format/fragments.rs"]
mod harmony;
#[path = "../../plugins/hunyuan/tests/format/fragments.rs"]
mod hunyuan;
#[path = "../../plugins/kimi-k2/tests/format/fragments.rs"]
mod kimi_k2;
#[path = "../../plugins/kimi-k3/tests/format/fragments.rs"]
mod kimi_k3;
#[path = "../../plugins/llama3/tests/format/fragments.rs"]
mod llama3;
#[path = "../../plugins/minimax-m2/tests/format/fragments.rs"]
mod minimax_m2;
#[path = "../../plugins/minimax-m3/tests/format/fragments.rs"]
mod minimax_m3;
#[path = "../../plugins/mistral/tests/format/fragments.rs"]
mod mistral;
#[path = "../../plugins/muse/tests/format/fragments.rs"]
mod muse;
#[path = "../../plugins/pythonic/tests/format/fragments.rs"]
mod pythonic;
#[path = "../../plugins/qwen3/tests/format/fragments.rs"]
mod qwen3;
#[path = "../../plugins/qwen3-coder/tests/format/fragments.rs"]
mod qwen3_coder;
#[path = "../../plugins/response-template/tests/format/fragments.rs"]
mod response_template;

/// Number of places at which a stream is broken off.
const BREAKS: usize = 8;

/// Format and its parser.
pub struct Format {
    /// Folder of the plugin.
    pub plugin: &'static str,
    prompts: &'static [&'static str],
    fragments: &'static [&'static str],
    /// Fragments of values, if the format writes them as text.
    values: &'static [&'static str],
    /// Response templates with their fragments, one of which the head selects; empty if the format
    /// is the parser's own.
    tables: &'static [(&'static str, &'static [&'static str])],
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
        Self { plugin, prompts, fragments, values: &[], tables: &[], describe: P::describe, play: play::<P> }
    }

    /// The format, whose values are text ([`parser_kit::ParameterFormat`]).
    const fn with_values(self) -> Self {
        Self { values: VALUES, ..self }
    }

    /// Plays `data` as a turn of this format in every way that must give the same result.
    ///
    /// # Panics
    /// The parser broke a property.
    pub fn check(&self, data: &[u8]) {
        let table = data.get(2).copied().unwrap_or_default() / 8;
        let options = self.options(table);
        let markers = self.markers(&options);
        if let Some(mut stream) = Stream::read(data, &self.fragments(table, &markers)) {
            stream.request.options = options;
            (self.play)(&stream, self.prompts[stream.prompt % self.prompts.len()]);
        }
    }

    /// Options of the parser: the table of this number, if it has tables.
    pub fn options(&self, table: u8) -> Vec<(String, String)> {
        let chosen =
            self.table(table).map(|(table, _)| ("response_template".to_owned(), (*table).to_owned()));
        chosen.into_iter().collect()
    }

    fn table(&self, number: u8) -> Option<&'static (&'static str, &'static [&'static str])> {
        self.tables.get(usize::from(number) % self.tables.len().max(1))
    }

    /// Texts of the bytes from 0x80 on: `markers`, which are the descriptor's, the fragments of the
    /// format, or of its table of this number, and the common ones.
    pub fn fragments<'a>(&self, table: u8, markers: &'a [String]) -> Vec<&'a str> {
        let of_table = self.table(table).map_or(&[][..], |(_, fragments)| fragments);
        let all = markers.iter().map(String::as_str).chain([of_table, self.fragments, self.values, COMMON].concat());
        let mut seen = std::collections::HashSet::new();
        all.filter(|fragment| seen.insert(*fragment)).collect()
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

/// Fragments that are difficult for every parser: JSON that ends anywhere, names, half markers,
/// characters of several bytes.
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
pub const QWEN3: Format = Format::of::<qwen3_parser::Qwen3>("qwen3", qwen3::PROMPTS, qwen3::FRAGMENTS);

/// Qwen3-Coder: calls in XML.
pub const QWEN3_CODER: Format =
    Format::of::<qwen3_coder_parser::Qwen3Coder>("qwen3-coder", qwen3_coder::PROMPTS, qwen3_coder::FRAGMENTS).with_values();

/// Harmony: channels and recipients.
pub const HARMONY: Format =
    Format::of::<harmony_parser::Harmony>("harmony", harmony::PROMPTS, harmony::FRAGMENTS);

/// Kimi K2: sections of calls, with ids in place of names.
pub const KIMI_K2: Format =
    Format::of::<kimi_k2_parser::KimiK2>("kimi-k2", kimi_k2::PROMPTS, kimi_k2::FRAGMENTS);

/// DeepSeek-V3 and V3.1: sections of calls, with or without fences.
pub const DEEPSEEK_V3: Format =
    Format::of::<deepseek_v3_parser::DeepSeekV3>("deepseek-v3", deepseek_v3::PROMPTS, deepseek_v3::FRAGMENTS);

/// GLM 4.5 to 4.7: calls in XML.
pub const GLM: Format = Format::of::<glm_parser::Glm>("glm", glm::PROMPTS, glm::FRAGMENTS).with_values();

/// Llama 3: calls as JSON, after `<|python_tag|>`, and in `<function=…>`.
pub const LLAMA3: Format = Format::of::<llama3_parser::Llama3>("llama3", llama3::PROMPTS, llama3::FRAGMENTS);

/// Mistral: calls that begin with a marker and end with their JSON, or lists of calls.
pub const MISTRAL: Format =
    Format::of::<mistral_parser::Mistral>("mistral", mistral::PROMPTS, mistral::FRAGMENTS);

/// MiniMax-M2: calls in XML, names and keys in quotes.
pub const MINIMAX_M2: Format =
    Format::of::<minimax_m2_parser::MiniMaxM2>("minimax-m2", minimax_m2::PROMPTS, minimax_m2::FRAGMENTS).with_values();

/// Gemma 4 and `FunctionGemma`: keys without quotes, strings between markers.
pub const GEMMA4: Format = Format::of::<gemma4_parser::Gemma4>("gemma4", gemma4::PROMPTS, gemma4::FRAGMENTS);

/// Calls in Python.
pub const PYTHONIC: Format =
    Format::of::<pythonic_parser::Pythonic>("pythonic", pythonic::PROMPTS, pythonic::FRAGMENTS);

/// Apertus: JSON calls whose key is the tool's name.
pub const APERTUS: Format =
    Format::of::<apertus_parser::Apertus>("apertus", apertus::PROMPTS, apertus::FRAGMENTS);

/// DeepSeek V3.2 to V4.1: calls in DSML, whose parameters say whether they are text.
pub const DEEPSEEK_V4: Format =
    Format::of::<deepseek_v4_parser::DeepSeekV4>("deepseek-v4", deepseek_v4::PROMPTS, deepseek_v4::FRAGMENTS).with_values();

/// Hunyuan A13B: a JSON list of calls.
pub const HUNYUAN: Format =
    Format::of::<hunyuan_parser::Hunyuan>("hunyuan", hunyuan::PROMPTS, hunyuan::FRAGMENTS);

/// Kimi K3: channels, and arguments that say their types.
pub const KIMI_K3: Format =
    Format::of::<kimi_k3_parser::KimiK3>("kimi-k3", kimi_k3::PROMPTS, kimi_k3::FRAGMENTS).with_values();

/// MiniMax-M3: calls as namespaced tags, nested as the values are.
pub const MINIMAX_M3: Format =
    Format::of::<minimax_m3_parser::MiniMaxM3>("minimax-m3", minimax_m3::PROMPTS, minimax_m3::FRAGMENTS).with_values();

/// Muse Glimmer: messages that name their recipient, calls in ATEM.
pub const MUSE: Format = Format::of::<muse_parser::Muse>("muse", muse::PROMPTS, muse::FRAGMENTS).with_values();

/// Formats that are tables in a model's `tokenizer_config.json`.
pub const RESPONSE_TEMPLATE: Format = Format {
    tables: response_template::TABLES,
    ..Format::of::<response_template_parser::ResponseTemplate>(
        "response-template",
        &[""],
        response_template::FRAGMENTS,
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
