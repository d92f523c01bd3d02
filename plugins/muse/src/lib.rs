//! Parser for Muse Glimmer: messages that name their recipient, and calls written as XML (ATEM),
//! parameters typed by the tool's schema.
//!
//! A turn is `<|start|>assistant to=self<|message|>…<|eom|>` (reasoning),
//! `<|start|>assistant to=user<|message|>…<|eot|>` (the answer; a message without recipient is one,
//! too), and a message to a tool:
//! `<atem:function_calls>\n<atem:invoke name="NAME">\n<atem:parameter name="KEY">VALUE </atem:parameter>\n</atem:invoke>\n</atem:function_calls>`.
//! The prompt ends behind `<|start|>assistant`. Calls count in messages to tools alone. A tool that
//! is declared by a bare name is shown as a namespace, so the model may write `get_time.get_time`
//! for `get_time`. `params::Blocks` is the state machine.

use parser_sdk::params::{BlockFormat, Blocks, Message, Part, Style};
use parser_sdk::{Descriptor, describe};

/// The parser of one stream.
pub type Muse = Blocks<Atem>;

/// The format of the model's chat template.
#[derive(Debug)]
pub struct Atem;

impl BlockFormat for Atem {
    const PARTS: &'static [(&'static str, Part)] = &[
        ("<|start|>", Part::TurnTag),
        ("<|message|>", Part::TagEnd),
        ("<|eom|>", Part::Content),
        ("<|eot|>", Part::TurnEnd),
        ("<atem:function_calls>", Part::Block),
        ("</atem:function_calls>", Part::BlockEnd),
        ("<atem:invoke name=", Part::Call),
        ("</atem:invoke>", Part::CallEnd),
        ("<atem:parameter name=", Part::Key),
        ("</atem:parameter>", Part::ValueEnd),
    ];
    const STYLE: Style = Style::Quoted;

    fn message(tag: &str) -> Message {
        match tag.split_whitespace().find_map(|word| word.strip_prefix("to=")) {
            Some("self") => Message::Reasoning,
            None | Some("user") => Message::Content,
            Some(_) => Message::Calls,
        }
    }

    fn describe() -> Descriptor {
        Descriptor {
            reasoning_end: Some("<|eom|><|start|>assistant".into()),
            ..describe!("muse", ["muse_glimmer"])
        }
    }
}

parser_sdk::export_parser!(Muse);
