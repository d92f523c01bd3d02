//! Parser for `GigaChat` 3.5: `<think>` reasoning and calls in GCML, whose parameters say how they are to
//! be read.
//!
//! `<｜GCML｜tool_calls>\n<｜GCML｜invoke name="NAME">\n<｜GCML｜parameter name="KEY" string="true">VALUE</｜GCML｜parameter>\n</｜GCML｜invoke>\n</｜GCML｜tool_calls>`,
//! as the model's chat template has it. One block holds all calls of a turn. The value of
//! `string="true"` is raw text, kept to the byte; that of `string="false"` is JSON. A parameter without
//! the attribute is typed by the tool's schema. The prompt opens the turn with
//! `assistant<|role_sep|>\n`, and with `<think>` behind it where the model is to think; a model that
//! isn't given that writes it. `params::Blocks` is the state machine behind it.

use parser_sdk::params::{BlockFormat, Blocks, Part, Style};
use parser_sdk::{Descriptor, FinishReason, Output, Parser, Request, describe};

/// The role, which stands in front of its marker.
const ROLE: &str = "assistant";
const ROLE_END: usize = 2;

/// The parser of one stream.
#[derive(Debug)]
pub struct GigaChat35 {
    blocks: Blocks<Gcml>,
    /// Held text at the turn's beginning that may be the role.
    role: Option<String>,
}

impl Parser for GigaChat35 {
    fn describe(options: &[(String, String)]) -> Result<Descriptor, String> {
        Blocks::<Gcml>::describe(options)
    }

    fn start(request: &Request) -> Result<Self, String> {
        Ok(Self { blocks: Blocks::start(request)?, role: Some(String::new()) })
    }

    fn text(&mut self, chunk: &str, out: &mut Output) {
        let Some(mut role) = self.role.take() else { return self.blocks.text(chunk, out) };
        role.push_str(chunk);
        if ROLE.starts_with(&role) {
            self.role = Some(role);
        } else {
            self.blocks.text(&role, out);
        }
    }

    fn marker(&mut self, index: usize, out: &mut Output) {
        let role = self.role.take().unwrap_or_default();
        if !role.is_empty() && (index != ROLE_END || role != ROLE) {
            out.hiding(Gcml::PARTS[index].0.len(), |out| self.blocks.text(&role, out));
        }
        self.blocks.marker(index, out);
    }

    fn finish(&mut self, reason: FinishReason, out: &mut Output) {
        let role = self.role.take().unwrap_or_default();
        if !role.is_empty() {
            self.blocks.text(&role, out);
        }
        self.blocks.finish(reason, out);
    }
}

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
            reasoning_end: Some("</think>".into()),
            ..describe!("gigachat35", ["GigaChat35ForCausalLM"])
        }
    }
}

parser_sdk::export_parser!(GigaChat35);
