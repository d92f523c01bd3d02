//! Reads a turn of Qwen3's through Symphony's trait: `cargo run --release --example read_with_symphony`.
#![allow(clippy::print_stdout, reason = "its result is what it prints")]

use std::sync::Arc;

use sluice_symphony::{Reader, SymphonyParser};
use symphony::{EngineFinish, Events, Input, Parser};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let reader = Arc::new(Reader::load("qwen3")?.opened_by("<|im_start|>assistant"));

    let tools = serde_json::from_value::<Vec<_>>(serde_json::json!([{"type": "function", "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}
    }}]))?;
    let mut parser = SymphonyParser::new(reader, &tools);
    let mut events = Events::new();
    let prompt = "<|im_start|>user\nIs it cold in Helsinki?<|im_end|>\n<|im_start|>assistant\n<think>\n";
    parser.feed(Input::Prompt { token_ids: &[], text: prompt }, &mut events)?;
    let steps = [
        "The user wa",
        "nts the weather.\n</thi",
        "nk>\n\nLet me look.\n<tool_call>\n{\"name\": \"get_wea",
        "ther\", \"arguments\": {\"city\": \"Hel",
        "sinki\"}}\n</tool_call>",
    ];
    for text in steps {
        parser.feed(Input::Delta { token_ids: &[], text, spans: &[] }, &mut events)?;
        println!("{:?}", events.drain());
    }
    parser.feed(Input::End { finish: EngineFinish::Stop }, &mut events)?;
    println!("{:?}", events.drain());
    Ok(())
}
