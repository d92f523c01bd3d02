//! Parser for DeepSeek V3, V3-0324, R1 and V3.1: `<think>` reasoning, and sections of calls with a special token for each part.
//!
//! Up to R1 a call is `function<｜tool▁sep｜>NAME`, a newline and fenced JSON; from V3.1 on it is `NAME<｜tool▁sep｜>{…}`. The text before the
//! separator tells them apart. `parser_sdk::sections` is the state machine. From V3.2 on models have another format, the plugin `deepseek-v4`.

use parser_sdk::Descriptor;
use parser_sdk::grammar::{Callable, literal};
use parser_sdk::sections::{Format, Mark, Sections};

/// Longest name of a tool, in bytes; a whole header has 256 at most.
const NAME: usize = 200;

/// The parser of one stream.
pub type DeepSeekV3 = Sections<DeepSeek>;

/// The format of the models' chat templates.
#[derive(Debug)]
pub struct DeepSeek;

impl Format for DeepSeek {
    const MARKS: &'static [(&'static str, Mark)] = &[
        ("<think>", Mark::Think),
        ("</think>", Mark::ThinkEnd),
        ("<｜tool▁calls▁begin｜>", Mark::Section),
        ("<｜tool▁calls▁end｜>", Mark::SectionEnd),
        ("<｜tool▁call▁begin｜>", Mark::Call),
        ("<｜tool▁sep｜>", Mark::Separator),
        ("<｜tool▁call▁end｜>", Mark::CallEnd),
        ("<｜end▁of▁sentence｜>", Mark::TurnEnd),
        ("<｜Assistant｜>", Mark::Markup),
        ("<｜User｜>", Mark::Markup),
        ("<｜tool▁outputs▁begin｜>", Mark::Markup),
        ("<｜tool▁outputs▁end｜>", Mark::Markup),
        ("<｜tool▁output▁begin｜>", Mark::Markup),
        ("<｜tool▁output▁end｜>", Mark::Markup),
    ];
    const KIND: Option<&'static str> = Some("function");
    const OPENING: &'static [&'static str] = &["<｜Assistant｜>"];
    // From V3.1 on a prompt without reasoning ends in `</think>`.
    const ENDS_THOUGHT: bool = true;

    fn describe() -> Descriptor {
        Descriptor {
            name: "deepseek-v3".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            models: vec!["deepseek_v3".into()],
            ..Descriptor::default()
        }
    }

    /// Grammar of a call of `tool` in either of the two spellings.
    fn call(tool: &Callable<'_>, separator: &str) -> Result<String, String> {
        let name = tool.name_without(NAME, |char| char.is_whitespace() || "{`".contains(char))?;
        let arguments = tool.arguments.json();
        let fenced = literal(&format!("{name}\n```json\n"));
        let function = format!("\"function\" {separator} {fenced} {arguments} \"\\n```\"");
        Ok(format!("{} {separator} {arguments} | {function}", literal(name)))
    }
}

parser_sdk::export_parser!(DeepSeekV3);
