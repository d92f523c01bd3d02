//! What the trait promises besides reading.

use std::sync::Arc;

use dynamo_parsers_v2::unified::MessagePhase;
use dynamo_parsers_v2::{
    Tool, UnifiedEvent, UnifiedParser, UnifiedParserEvent, UnifiedParserExt, UnifiedParserInit,
    UnifiedParserOutput, UnifiedParserStartingState, UnifiedToolOutputMode, create_unified_parser_for_family,
    unregister_unified_parser, vendor_unified_families,
};
use gateway_tests::Tokens;
use serde_json::json;
use sluice_dynamo::{DynamoParser, Reader, register};

fn tools() -> Vec<Tool> {
    let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    vec![Tool { name: "get_weather".to_owned(), description: None, parameters, strict: None }]
}

fn parser(name: &str) -> DynamoParser {
    DynamoParser::new(Arc::new(Reader::load(name).expect("a shipped parser")), &tools())
}

fn text(text: &str) -> UnifiedEvent {
    UnifiedEvent::Text { text: text.to_owned() }
}

fn reasoning(text: &str) -> UnifiedEvent {
    UnifiedEvent::Reasoning { text: text.to_owned() }
}

fn init(starting_state: UnifiedParserStartingState) -> UnifiedParserInit {
    UnifiedParserInit { starting_state, ..UnifiedParserInit::default() }
}

const CALL: &str =
    "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>";

#[test]
fn a_registered_reader_reads_its_family_until_it_is_taken_away() {
    register("qwen3_coder", Reader::load("qwen3").expect("a shipped parser")).expect("room");
    assert!(vendor_unified_families().contains(&"qwen3".to_owned()), "by its canonical name");
    let call = UnifiedEvent::ToolCall { name: "get_weather".to_owned(), arguments: json!({"city": "Oslo"}) };
    let mut parser = create_unified_parser_for_family("qwen3", &tools()).expect("a parser");
    parser.parse_into(CALL, &mut UnifiedParserOutput::default()).expect("text");
    parser.reset();
    assert_eq!(parser.parse_complete(CALL).expect("text"), [call]);
    register("qwen3", Reader::load("glm").expect("a shipped parser")).expect("the same slot");
    let mut parser = create_unified_parser_for_family("qwen3", &tools()).expect("a parser");
    let glm = "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n</tool_call>";
    assert!(matches!(&parser.parse_complete(glm).expect("text")[..], [UnifiedEvent::ToolCall { .. }]));
    unregister_unified_parser("qwen3").expect("it was registered");
    let mut theirs = create_unified_parser_for_family("qwen3", &tools()).expect("their own");
    assert!(matches!(&theirs.parse_complete("Hi.").expect("text")[..], [UnifiedEvent::Text { .. }]));
}

#[test]
fn the_prompts_state_is_where_the_output_begins() {
    for name in ["qwen3", "glm", "kimi-k2", "deepseek-v4"] {
        let mut inside = parser(name);
        inside.initialize_request(init(UnifiedParserStartingState::Reasoning)).expect(name);
        let read = inside.parse_complete("Hm.</think>Yes.").expect(name);
        assert_eq!(read, [reasoning("Hm."), text("Yes.")], "{name}");
        let mut behind = parser(name);
        behind.initialize_request(init(UnifiedParserStartingState::Response)).expect(name);
        assert_eq!(behind.parse_complete("Yes.").expect(name), [text("Yes.")], "{name}");
    }
}

#[test]
fn a_state_that_no_marker_opens_is_refused() {
    let error =
        parser("harmony").initialize_request(init(UnifiedParserStartingState::Reasoning)).expect_err("no");
    assert!(error.to_string().contains("prompt's token ids"), "{error}");
}

#[test]
fn of_a_whole_prompt_the_models_turn_counts() {
    let reader = Reader::load("qwen3").expect("a shipped parser");
    let tokens = Tokens::new(&reader.plugin().descriptor().markers);
    let reader = Arc::new(reader.with_tokenizer(Arc::new(tokens.clone())).expect("its markers"));
    let prompt = "<|im_start|>user\nWhat does <think> do?<|im_end|>\n<|im_start|>assistant\n<think>\n";
    let pieces = parser_kit::case::by_marker(prompt, &reader.plugin().descriptor().markers);
    let prompt_token_ids = super::seen::ids(&tokens.encode(&pieces));
    let mut parser = DynamoParser::new(reader, &tools());
    let init = UnifiedParserInit { prompt_token_ids, ..UnifiedParserInit::default() };
    parser.initialize_request(init).expect("a prompt");
    assert_eq!(parser.parse_complete("Hm.</think>Yes.").expect("text"), [reasoning("Hm."), text("Yes.")]);
}

#[test]
fn guided_json_is_refused() {
    let tool_output_mode = UnifiedToolOutputMode::GuidedJson { named_tool: None };
    let init = UnifiedParserInit { tool_output_mode, ..UnifiedParserInit::default() };
    let error = parser("qwen3").initialize_request(init).expect_err("no format of a model's");
    assert!(error.to_string().contains("guided JSON"), "{error}");
}

#[test]
fn phases_are_told_on_request() {
    let output = "<|channel|>commentary<|message|>Looking.<|end|><|start|>assistant<|channel|>final<|message|>Done.<|return|>";
    let read = |enabled| {
        let mut parser = parser("harmony");
        parser.preserve_message_phases(enabled);
        let mut events = UnifiedParserOutput::default();
        parser.parse_into(output, &mut events).expect("text");
        events.append(&mut parser.finish_at_eos().expect("the end"));
        events.events
    };
    let told = |phase, text: &str| {
        [
            UnifiedParserEvent::MessageStart(phase),
            UnifiedParserEvent::Text(text.to_owned()),
            UnifiedParserEvent::MessageEnd,
        ]
    };
    let expected =
        [told(MessagePhase::Commentary, "Looking."), told(MessagePhase::FinalAnswer, "Done.")].concat();
    assert_eq!(read(true), expected);
    assert_eq!(read(false), [UnifiedParserEvent::Text("Looking.Done.".to_owned())]);
}

#[test]
fn a_call_that_was_cut_isnt_complete() {
    let mut parser = parser("qwen3");
    let mut output = UnifiedParserOutput::default();
    parser.parse_into(&CALL[..60], &mut output).expect("text");
    output.append(&mut parser.finish().expect("the end"));
    assert!(output.events.iter().any(|event| matches!(event, UnifiedParserEvent::ToolCall(_))));
    assert_eq!(output.assembled(), []);
}

#[test]
fn text_whose_place_isnt_known_comes_back_from_reset() {
    let mut parser = parser("qwen3");
    let mut output = UnifiedParserOutput::default();
    parser.parse_into("Hi <tool", &mut output).expect("text");
    assert_eq!(output.assembled(), [text("Hi")]);
    // White space at its end was trimmed.
    assert_eq!(parser.reset(), "<tool");
}

#[test]
fn text_and_token_ids_dont_mix_and_the_end_is_the_end() {
    let reader = Reader::load("qwen3").expect("a shipped parser");
    let tokens = Tokens::new(&reader.plugin().descriptor().markers);
    let mut parser =
        DynamoParser::new(Arc::new(reader.with_tokenizer(Arc::new(tokens)).expect("markers")), &[]);
    let mut output = UnifiedParserOutput::default();
    assert!(parser.input_capabilities().token_ids);
    parser.parse_into("a", &mut output).expect("text");
    parser.parse_token_ids_into(&[0], &mut output).expect_err("ids behind text");
    parser.reset();
    parser.finish().expect("the end");
    parser.continuation().err().expect("there is nothing to go on with");
    parser.parse_into("a", &mut output).expect_err("behind the end");
    parser.reset();
    parser.parse_into("a", &mut output).expect("a new stream");
}

#[test]
fn without_a_tokenizer_token_ids_are_refused() {
    let mut parser = parser("qwen3");
    assert!(!parser.input_capabilities().token_ids);
    parser.parse_token_ids_into(&[0], &mut UnifiedParserOutput::default()).expect_err("ids");
}
