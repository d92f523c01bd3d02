//! Deltas of megabytes, as engines send whose parser or detokenizer hangs back: the time that a parser's call may take doesn't depend on them.

use std::path::Path;

use contract::{FinishReason, Request, ToolKind};
use host::limits::ParserLimits;
use host::parser::{PluginSource, Runtime};
use turn::{Binding, ItemStatus, TokenText, Turn, TurnEvents, TurnSettings, counted_call_ids, fold, values};

/// Size of the arguments in one delta: what a parser reads in five milliseconds is far less.
const ARGUMENTS: usize = 8 << 20;

#[test]
fn a_call_of_megabytes_in_one_delta_comes_back_whole() {
    let runtime = Runtime::new(&ParserLimits::default()).expect("wasmtime works here");
    let arguments = format!("{{\"a\": \"{}\"}}", "Zürich \\n".repeat(ARGUMENTS / 10));
    for (name, before, behind) in [
        ("mistral", "[TOOL_CALLS]add[ARGS]", "</s>"),
        ("qwen3", "<tool_call>\n{\"name\": \"add\", \"arguments\": ", "}\n</tool_call><|im_end|>"),
        ("llama3", "{\"name\": \"add\", \"parameters\": ", "}<|eom_id|>"),
    ] {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins").join(name).with_extension("wasm");
        let plugin = runtime.load(&PluginSource::File(file), &[]).expect("a shipped parser");
        let tool = values::tool("add", ToolKind::Function, "{}");
        let request = Request { tools: [tool].into(), ..Request::default() };
        let binding = Binding::by_text(plugin.descriptor()).expect("the host checked its markers");
        let settings = TurnSettings::of(&request, counted_call_ids());
        let mut turn = Turn::new(&binding, plugin.start(&request).expect("an instance"), settings);
        let mut events = TurnEvents::default();
        let _ = turn.step(&[TokenText::new(None, &[before, &arguments, behind].concat())], &mut events);
        let _ = turn.finish(FinishReason::Stop, None, &mut events);
        assert_eq!(turn.fault(), None, "{name}");
        let items = fold(events).expect("well-formed events");
        assert_eq!(items.len(), 1, "{name}");
        assert!(items[0].text == arguments && items[0].status == ItemStatus::Completed, "{name}");
    }
}
