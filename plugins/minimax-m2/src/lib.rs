//! Parser for MiniMax-M2, M2.1 and M2.5: `<think>` reasoning and calls written as XML, their parameters typed by the tool's schema.
//!
//! `<minimax:tool_call>\n<invoke name="NAME">\n<parameter name="KEY">VALUE</parameter>\n…</invoke>\n…</minimax:tool_call>`, as the models'
//! chat template and tool calling guide have it; one block holds all calls of a turn. The prompt opens the turn with `]~b]ai\n<think>\n`,
//! and `[e~[` ends it. The tags around reasoning and around a block, and the markers of turns, are tokens; the tags inside a block are
//! text. A string is raw text and kept to the byte, as the template writes it; other values are JSON. `params::CallReader` says what is
//! markup inside a value, and where markup and text can't be told apart.
//! `params::Blocks` is the state machine.

mod grammar;

use parser_sdk::params::{Blocks, Format, Part, Style};
use parser_sdk::{Descriptor, Request};

const THINK: usize = 0;
const THINK_END: usize = 1;
const BLOCK: usize = 2;
const BLOCK_END: usize = 3;
const TURN: usize = 4;
const TURN_END: usize = 5;
const CALL: usize = 6;
const CALL_END: usize = 7;
const PARAMETER: usize = 8;
const PARAMETER_END: usize = 9;

/// The parser of one stream.
pub type MiniMaxM2 = Blocks<MiniMax>;

/// The format of the models' chat templates.
#[derive(Debug)]
pub struct MiniMax;

impl Format for MiniMax {
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
            name: "minimax-m2".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            models: vec!["minimax_m2".into(), "MiniMaxM2ForCausalLM".into()],
            ..Descriptor::default()
        }
    }

    fn constrain(request: &Request) -> Result<Option<String>, String> {
        grammar::of(request)
    }
}

parser_sdk::export_parser!(MiniMaxM2);
