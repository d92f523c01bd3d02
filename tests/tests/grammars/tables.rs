//! Tables that the parser `response-template` interprets; each is a format of its own.

use super::oracle::Format;
use super::round_trip;

const HERMES: &str = include_str!("../../../plugins/response-template/tests/tables/hermes.json");
const SMOLLM: &str = include_str!("../../../plugins/response-template/tests/tables/smollm.json");
const XML: &str = include_str!("../../../plugins/response-template/tests/tables/xml.json");
const GLM: &str = include_str!("../../../plugins/response-template/tests/tables/glm.json");
const GPTOSS: &str = include_str!("../../../plugins/response-template/tests/tables/gptoss.json");
const COHERE: &str = include_str!("../../../plugins/response-template/tests/tables/cohere.json");
const ERNIE: &str = include_str!("../../../plugins/response-template/tests/tables/ernie.json");
const DEEPSEEK: &str = include_str!("../../../plugins/response-template/tests/tables/deepseek.json");
const INKLING: &str = include_str!("../../../plugins/response-template/tests/tables/inkling.json");
const LLAMA: &str = include_str!("../../../plugins/response-template/tests/tables/llama.json");
const PYTHON: &str = include_str!("../../../plugins/response-template/tests/tables/python.json");

const CHATML: &[&str] = &[
    "",
    "<|im_start|>assistant\n",
    "<|im_start|>assistant\n<think>\n",
    "<|im_start|>assistant\n<think>\n\n</think>\n\n",
];

pub(crate) const HERMES_FORMAT: Format = Format::of_table(HERMES, CHATML);

/// Whether a marker is one token in tokenizers.
pub(crate) fn is_token(literal: &str) -> bool {
    literal.starts_with('<') && literal.ends_with('>') && !["</parameter>", "</function>"].contains(&literal)
}

/// Whether the markers that end a turn also end it inside a call's strings, so that calls need
/// markers that are tokens.
pub(crate) fn needs_tokens(table: &str) -> bool {
    [HERMES, SMOLLM, DEEPSEEK, LLAMA, PYTHON].contains(&table)
}

/// All tables, by name.
pub(crate) const ALL: [(&str, Format); 11] = [
    ("hermes", Format::of_table(HERMES, CHATML)),
    ("smollm", Format::of_table(SMOLLM, CHATML)),
    ("xml", Format::of_table(XML, CHATML)),
    ("glm", Format::of_table(GLM, &["", "<|assistant|>", "<|assistant|>\n<think></think>\n"])),
    (
        "gptoss",
        Format::of_table(
            GPTOSS,
            &["", "<|start|>assistant", "<|start|>assistant<|channel|>analysis<|message|>"],
        ),
    ),
    ("cohere", Format::of_table(COHERE, &["", "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>"])),
    ("ernie", Format::of_table(ERNIE, &["", "Assistant:", "Assistant:\n<think>"])),
    ("deepseek", Format::of_table(DEEPSEEK, &["", "<｜Assistant｜>", "<｜Assistant｜><think>\n"])),
    ("inkling", Format::of_table(INKLING, &["", "<|message_model|>"])),
    ("llama", Format::of_table(LLAMA, &["", "<|start_header_id|>assistant<|end_header_id|>\n\n"])),
    ("python", Format::of_table(PYTHON, CHATML)),
];

fn walk(name: &str) {
    let (_, format) = ALL.into_iter().find(|(of, _)| *of == name).expect("a table");
    round_trip(format);
}

#[test]
fn hermes() {
    walk("hermes");
}

#[test]
fn smollm() {
    walk("smollm");
}

#[test]
fn python() {
    walk("python");
}

#[test]
fn xml() {
    walk("xml");
}

#[test]
fn glm() {
    walk("glm");
}

#[test]
fn gptoss() {
    walk("gptoss");
}

#[test]
fn cohere() {
    walk("cohere");
}

#[test]
fn ernie() {
    walk("ernie");
}

#[test]
fn deepseek() {
    walk("deepseek");
}

#[test]
fn inkling() {
    walk("inkling");
}

#[test]
fn llama() {
    walk("llama");
}
