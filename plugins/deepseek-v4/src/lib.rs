//! Parser for DeepSeek V3.2, V4 and V4.1: `<think>` reasoning and calls in DSML, whose parameters
//! say how they are to be read.
//!
//! V4 has
//! `<｜DSML｜tool_calls>\n<｜DSML｜invoke name="NAME">\n<｜DSML｜parameter name="KEY" string="true">VALUE</｜DSML｜parameter>\n </｜DSML｜invoke>\n</｜DSML｜tool_calls>`,
//! as the models' encoders have it; the block is called `function_calls` in V3.2, and `calls` in
//! V4.1, which puts a blank behind each `｜DSML｜`. One block holds all calls of a turn. The value of
//! `string="true"` is raw text, kept to the byte; that of `string="false"` is JSON. A parameter
//! without the attribute is typed by the tool's schema. The prompt opens the turn with
//! `<｜Assistant｜><think>`, or with `<｜Assistant｜></think>` where the model is not to think.
//! `params::Blocks` is the state machine.

use parser_sdk::params::{BlockFormat, Blocks, Part, Style};
use parser_sdk::{Descriptor, describe};

/// The parser of one stream.
pub type DeepSeekV4 = Blocks<Dsml>;

/// The format of the models' encoders.
#[derive(Debug)]
pub struct Dsml;

impl BlockFormat for Dsml {
    const PARTS: &'static [(&'static str, Part)] = &[
        ("<think>", Part::Think),
        ("</think>", Part::ThinkEnd),
        ("<｜Assistant｜>", Part::Content),
        ("<｜end▁of▁sentence｜>", Part::TurnEnd),
        ("<｜DSML｜tool_calls>", Part::Block),
        ("</｜DSML｜tool_calls>", Part::BlockEnd),
        ("<｜DSML｜invoke name=", Part::Call),
        ("</｜DSML｜invoke>", Part::CallEnd),
        ("<｜DSML｜parameter name=", Part::Key),
        ("</｜DSML｜parameter>", Part::ValueEnd),
        // V3.2.
        ("<｜DSML｜function_calls>", Part::Block),
        ("</｜DSML｜function_calls>", Part::BlockEnd),
        // V4.1.
        ("<｜DSML｜ calls>", Part::Block),
        ("</｜DSML｜ calls>", Part::BlockEnd),
        ("<｜DSML｜ invoke name=", Part::Call),
        ("</｜DSML｜ invoke>", Part::CallEnd),
        ("<｜DSML｜ parameter name=", Part::Key),
        ("</｜DSML｜ parameter>", Part::ValueEnd),
    ];
    const STYLE: Style = Style::Flagged;

    fn describe() -> Descriptor {
        let models = ["deepseek_v32", "deepseek_v4", "DeepseekV32ForCausalLM", "DeepseekV4ForCausalLM"];
        Descriptor { reasoning_end: Some("</think>".into()), ..describe!("deepseek-v4", models) }
    }
}

parser_sdk::export_parser!(DeepSeekV4);
