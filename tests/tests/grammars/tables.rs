//! Tables that the parser `response-template` interprets; each is a format of its own.

use super::oracle::Format;
use super::round_trip;

const CHATML: &[&str] = &[
    "",
    "<|im_start|>assistant\n",
    "<|im_start|>assistant\n<think>\n",
    "<|im_start|>assistant\n<think>\n\n</think>\n\n",
];

macro_rules! tables {
    ($($name:ident $prompts:expr;)*) => {
        /// All tables, by name.
        pub(crate) const ALL: &[(&str, Format)] = &[$((stringify!($name), Format::of_table(
            include_str!(concat!(
                "../../../plugins/response-template/tests/tables/", stringify!($name), ".json"
            )),
            $prompts,
        ))),*];

        $(#[test]
        fn $name() {
            round_trip(format(stringify!($name)));
        })*
    };
}

tables! {
    hermes CHATML;
    smollm CHATML;
    xml CHATML;
    glm &["", "<|assistant|>", "<|assistant|>\n<think></think>\n"];
    gptoss &["", "<|start|>assistant", "<|start|>assistant<|channel|>analysis<|message|>"];
    cohere &["", "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>"];
    ernie &["", "Assistant:", "Assistant:\n<think>"];
    deepseek &["", "<｜Assistant｜>", "<｜Assistant｜><think>\n"];
    inkling &["", "<|message_model|>"];
    llama &["", "<|start_header_id|>assistant<|end_header_id|>\n\n"];
    python CHATML;
}

/// Format of this table.
pub(crate) fn format(name: &str) -> Format {
    ALL.iter().find(|(known, _)| *known == name).expect("a table").1
}

/// Whether a marker is one token in tokenizers.
pub(crate) fn is_token(literal: &str) -> bool {
    literal.starts_with('<') && literal.ends_with('>') && !["</parameter>", "</function>"].contains(&literal)
}

/// Whether the markers that end a turn also end it inside a call's strings, so that calls need
/// markers that are tokens.
pub(crate) fn needs_tokens(table: &str) -> bool {
    let such = ["hermes", "smollm", "deepseek", "llama", "python"];
    ALL.iter().any(|(name, format)| format.table == Some(table) && such.contains(name))
}
