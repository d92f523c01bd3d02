//! Deltas of megabytes, as engines send whose parser or detokenizer hangs back: neither the time
//! that a parser's call may take nor the number of its ops depends on them.

use std::path::Path;

use contract::{FinishReason, Request, ToolKind};
use parsers::ParserLimits;
use parsers::{PluginSource, Runtime};
use turn::{
    Binding, FoldedItem, ItemStatus, TokenText, Turn, TurnEvents, TurnSettings, counted_call_ids, fold,
    values,
};

/// Size of the arguments in one delta: what a parser reads in five milliseconds is far less.
const ARGUMENTS: usize = 8 << 20;
/// Number of strings in one delta: more ops than a step may have.
const STRINGS: usize = 20_000;

/// The only item of a turn that the model writes in one delta, read by the shipped parser of this
/// name.
fn in_one_delta(name: &str, output: &str) -> FoldedItem {
    let runtime = Runtime::new(&ParserLimits::default()).expect("wasmtime works here");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins").join(name).with_extension("wasm");
    let plugin = runtime.load(&PluginSource::File(file), &[]).expect("a shipped parser");
    let tool = values::tool("add", ToolKind::Function, "{}");
    let request = Request { tools: [tool].into(), ..Request::default() };
    let binding = Binding::by_text(plugin.descriptor()).expect("the host checked its markers");
    let settings = TurnSettings::of(&request, counted_call_ids());
    let mut turn = Turn::new(&binding, plugin.start(&request).expect("an instance"), settings);
    let mut events = TurnEvents::default();
    let _ = turn.step(&[TokenText::new(None, output)], &mut events);
    let _ = turn.finish(FinishReason::Stop, None, &mut events);
    assert_eq!(turn.fault(), None, "{name}");
    let mut items = fold(events).expect("well-formed events");
    assert_eq!(items.len(), 1, "{name}");
    items.remove(0)
}

#[test]
fn a_call_of_megabytes_in_one_delta_comes_back_whole() {
    let arguments = format!("{{\"a\": \"{}\"}}", "Zürich \\n".repeat(ARGUMENTS / 10));
    for (name, before, behind) in [
        ("mistral", "[TOOL_CALLS]add[ARGS]", "</s>"),
        ("qwen3", "<tool_call>\n{\"name\": \"add\", \"arguments\": ", "}\n</tool_call><|im_end|>"),
        ("llama3", "{\"name\": \"add\", \"parameters\": ", "}<|eom_id|>"),
    ] {
        let call = in_one_delta(name, &[before, &arguments, behind].concat());
        assert!(call.text == arguments && call.status == ItemStatus::Completed, "{name}");
    }
}

#[test]
fn list_of_very_many_respelt_strings_is_no_fault() {
    for string in ["", "a", "a string of thirty characters"] {
        let list = vec![format!("'{string}'"); STRINGS].join(",");
        let call = in_one_delta("pythonic", &format!("[add(a=[{list}])]"));
        let expected = serde_json::json!({ "a": vec![string; STRINGS] });
        assert_eq!(call.status, ItemStatus::Completed);
        assert!(serde_json::from_str::<serde_json::Value>(&call.text).ok() == Some(expected), "{string:?}");
    }
}
