//! Parser for GigaChat 3.5: `<think>` reasoning and calls in GCML, whose parameters say how they are to
//! be read.
//!
//! `<｜GCML｜tool_calls>\n<｜GCML｜invoke name="NAME">\n<｜GCML｜parameter name="KEY" string="true">VALUE</｜GCML｜parameter>\n</｜GCML｜invoke>\n</｜GCML｜tool_calls>`,
//! as the model's chat template has it. One block holds all calls of a turn. The value of
//! `string="true"` is raw text, kept to the byte; that of `string="false"` is JSON. A parameter without
//! the attribute is typed by the tool's schema. The prompt opens the turn with
//! `assistant<|role_sep|>\n`, and with `<think>` behind it where the model is to think. `params::Blocks`
//! is the state machine.

use parser_sdk::Descriptor;
use parser_sdk::params::{BlockFormat, Blocks, Part, Style};

/// The parser of one stream.
pub type GigaChat35 = Blocks<Gcml>;

/// The format of the model's chat template.
#[derive(Debug)]
pub struct Gcml;

impl BlockFormat for Gcml {
    const PARTS: &'static [(&'static str, Part)] = &[
        ("<think>", Part::Think),
        ("</think>", Part::ThinkEnd),
        ("<|role_sep|>", Part::Content),
        ("<|message_sep|>", Part::TurnEnd),
        ("<｜GCML｜tool_calls>", Part::Block),
        ("</｜GCML｜tool_calls>", Part::BlockEnd),
        ("<｜GCML｜invoke name=", Part::Call),
        ("</｜GCML｜invoke>", Part::CallEnd),
        ("<｜GCML｜parameter name=", Part::Key),
        ("</｜GCML｜parameter>", Part::ValueEnd),
    ];
    const STYLE: Style = Style::Flagged;

    fn describe() -> Descriptor {
        Descriptor {
            name: "gigachat35".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            models: vec!["GigaChat35ForCausalLM".into()],
            reasoning_end: Some("</think>".into()),
            grammar: Some(include_str!("grammar.lark").into()),
            ..Descriptor::default()
        }
    }
}

parser_sdk::export_parser!(GigaChat35);
