//! Parser for Kimi K2 (Instruct, Thinking, K2.5): `<think>` reasoning, and sections of calls with a
//! special token for each part.
//!
//! A call is
//! `<|tool_call_begin|>functions.NAME:INDEX<|tool_call_argument_begin|>{…}<|tool_call_end|>`; a
//! header in another spelling is matched against the tools that may be called (`name`).
//! `parser_sdk::sections` is the state machine.

mod name;

use parser_sdk::sections::{Format, Mark, Sections};
use parser_sdk::{Descriptor, Tools, describe};

/// The parser of one stream.
pub type KimiK2 = Sections<Kimi>;

/// The format of the models' chat templates and of their technical report, which spells the
/// section's markers in the singular.
#[derive(Debug)]
pub struct Kimi;

impl Format for Kimi {
    const MARKS: &'static [(&'static str, Mark)] = &[
        ("<think>", Mark::Think),
        ("</think>", Mark::ThinkEnd),
        ("<|tool_calls_section_begin|>", Mark::Section),
        ("<|tool_calls_section_end|>", Mark::SectionEnd),
        ("<|tool_call_section_begin|>", Mark::Section),
        ("<|tool_call_section_end|>", Mark::SectionEnd),
        ("<|tool_call_begin|>", Mark::Call),
        ("<|tool_call_argument_begin|>", Mark::Separator),
        ("<|tool_call_end|>", Mark::CallEnd),
        ("<|im_end|>", Mark::TurnEnd),
        ("<|im_assistant|>", Mark::Role),
        ("<|im_user|>", Mark::Role),
        ("<|im_system|>", Mark::Role),
        ("<|im_middle|>", Mark::Markup),
    ];

    fn describe() -> Descriptor {
        Descriptor {
            history_call_ids: Some("functions.{name}:{index}".into()),
            reasoning_end: Some("</think>".into()),
            ..describe!("kimi-k2", ["kimi_k2", "kimi_k25", "kimi_linear"])
        }
    }

    fn may_begin(text: &str, tools: &Tools) -> bool {
        name::may_begin(text, tools)
    }

    fn name(header: &str, tools: &Tools) -> String {
        name::matched(header, tools).to_owned()
    }
}

parser_sdk::export_parser!(KimiK2);
