//! Parser for DeepSeek V3, V3-0324, R1 and V3.1: `<think>` reasoning, and sections of calls with a
//! special token for each part.
//!
//! Up to R1 a call is `function<｜tool▁sep｜>NAME`, a newline and fenced JSON; from V3.1 on it is
//! `NAME<｜tool▁sep｜>{…}`. The text before the separator tells them apart. `parser_sdk::sections` is
//! the state machine. From V3.2 on models have another format, the plugin `deepseek-v4`.

use parser_sdk::sections::{Format, Mark, Sections};
use parser_sdk::{Descriptor, describe};

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

    fn describe() -> Descriptor {
        Descriptor { reasoning_end: Some("</think>".into()), ..describe!("deepseek-v3", ["deepseek_v3"]) }
    }
}

parser_sdk::export_parser!(DeepSeekV3);
