//! Parser for MiniMax-M2, M2.1 and M2.5: `<think>` reasoning and calls written as XML, their
//! parameters typed by the tool's schema.
//!
//! `<minimax:tool_call>\n<invoke name="NAME">\n<parameter name="KEY">VALUE</parameter>\n…</invoke>\n…</minimax:tool_call>`,
//! as the models' chat template and tool calling guide have it; one block holds all calls of a
//! turn. The prompt opens the turn with `]~b]ai\n<think>\n`, and `[e~[` ends it. The tags around
//! reasoning and around a block, and the markers of turns, are tokens; the tags inside a block are
//! text. A string is raw text and kept to the byte, as the template writes it; other values are
//! JSON. `params::CallReader` says what is markup inside a value, and where markup and text can't
//! be told apart. `params::Blocks` is the state machine.

use parser_sdk::params::{BlockFormat, Blocks, Part, Style};
use parser_sdk::{Descriptor, describe};

/// The parser of one stream.
pub type MiniMaxM2 = Blocks<MiniMax>;

/// The format of the models' chat templates.
#[derive(Debug)]
pub struct MiniMax;

impl BlockFormat for MiniMax {
    const PARTS: &'static [(&'static str, Part)] = &[
        ("<think>", Part::Think),
        ("</think>", Part::ThinkEnd),
        ("<minimax:tool_call>", Part::Block),
        ("</minimax:tool_call>", Part::BlockEnd),
        ("]~b]", Part::Turn),
        ("[e~[", Part::TurnEnd),
        ("<invoke name=", Part::Call),
        ("</invoke>", Part::CallEnd),
        ("<parameter name=", Part::Key),
        ("</parameter>", Part::ValueEnd),
    ];
    const STYLE: Style = Style::Quoted;

    fn describe() -> Descriptor {
        Descriptor {
            reasoning_end: Some("</think>".into()),
            ..describe!("minimax-m2", ["minimax_m2", "MiniMaxM2ForCausalLM"])
        }
    }
}

parser_sdk::export_parser!(MiniMaxM2);
