//! Reads a turn of Qwen3's through Dynamo's registry: `cargo run --release --example read_with_dynamo`.
#![allow(clippy::print_stdout, reason = "its result is what it prints")]

use dynamo_parsers_v2::{Tool, UnifiedParserOutput, create_unified_parser_for_family};
use sluice_dynamo::{Reader, register};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    register("qwen3-hermes", Reader::load("qwen3")?)?;

    let parameters = serde_json::json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let tool = Tool { name: "get_weather".into(), description: None, parameters, strict: None };
    let mut parser = create_unified_parser_for_family("qwen3-hermes", &[tool])?;
    let steps = [
        "<think>\nThe user wa",
        "nts the weather.\n</thi",
        "nk>\n\nLet me look.\n<tool_call>\n{\"name\": \"get_wea",
        "ther\", \"arguments\": {\"city\": \"Hel",
        "sinki\"}}\n</tool_call>",
    ];
    for step in steps {
        let mut output = UnifiedParserOutput::default();
        parser.parse_into(step, &mut output)?;
        println!("{:?}", output.events);
    }
    println!("{:?}", parser.finish_at_eos()?.events);
    Ok(())
}
