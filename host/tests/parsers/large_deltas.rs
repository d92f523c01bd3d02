//! Deltas of megabytes, as engines send whose parser or detokenizer hangs back: the time that a parser's call may take doesn't depend on them.

use std::path::Path;
use std::sync::Arc;

use host::limits::ParserLimits;
use host::parser::contract::{FinishReason, Request, Tool, ToolKind};
use host::parser::{PluginSource, Runtime};
use host::turn::{ItemStatus, MarkerTable, TokenText, Turn, TurnEvents, TurnSettings, fold};

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
        let tool = Tool {
            name: "add".to_owned(),
            description: String::new(),
            kind: ToolKind::Function,
            parameters_json: "{}".to_owned(),
            strict: false,
            grammar: None,
        };
        let request = Request { tools: vec![tool], ..Request::default() };
        let descriptor = plugin.descriptor();
        let markers = MarkerTable::by_text(&descriptor.markers).expect("the host checked them");
        let settings = TurnSettings {
            stops: descriptor.stops.clone().into(),
            tools: Arc::new(["add".to_owned()]),
            ..TurnSettings::new(name, Arc::new(markers))
        };
        let mut turn = Turn::new(settings, plugin.start(&request).expect("an instance"));
        let mut events = TurnEvents::default();
        let _ = turn.step(&[TokenText::new(None, &[before, &arguments, behind].concat())], &mut events);
        let _ = turn.finish(FinishReason::Stop, None, &mut events);
        assert_eq!(turn.fault(), None, "{name}");
        let items = fold(events).expect("well-formed events");
        assert_eq!(items.len(), 1, "{name}");
        assert!(items[0].text == arguments && items[0].status == ItemStatus::Completed, "{name}");
    }
}
