//! Whole path of one answer without sockets, from the engine's first step to the last SSE byte, for
//! benchmarks.

use api::event_buffer::EventBuffer;
use api::frames::Frames;
use api::{ApiRequest, Defaults, Protocol};
use bytes::{Bytes, BytesMut};
use model::limits::ModelLimits;
use model::{Model, Models};
use serde_json::{Value, json};
use turn::TurnEvents;

use crate::server::Setup;

/// Kind of item that makes up most of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A message.
    Text,
    /// Reasoning.
    Reasoning,
    /// Reasoning, sent as a summary.
    Summary,
    /// JSON arguments of a tool call.
    Arguments,
    /// Input of a custom tool, a patch, which the model's format writes as a JSON string.
    CustomInput,
}

impl Shape {
    /// All shapes.
    pub const ALL: [Self; 5] =
        [Self::Text, Self::Reasoning, Self::Summary, Self::Arguments, Self::CustomInput];

    /// Model output of this shape, of about `tokens` tokens.
    pub fn output(self, tokens: usize) -> String {
        let words = |text: &str, each: usize| text.repeat(tokens.div_ceil(each));
        match self {
            Self::Text => words("The weather in the city is sunny. ", 8),
            Self::Reasoning | Self::Summary => {
                format!("<think>\n{}\n</think>\n\nDone.", words("The user wants the weather. ", 6))
            }
            Self::Arguments => call("tool", &json!({ "x": words("the weather ", 2) })),
            Self::CustomInput => {
                let lines = words("+    \"weather\": \"the city is sunny\",\n", 25);
                call("apply_patch", &json!({ "input": format!("*** Begin Patch\n{lines}*** End Patch\n") }))
            }
        }
    }

    /// Body of a request that leads to an answer of this shape.
    pub fn request(self, protocol: Protocol) -> Vec<u8> {
        let function = json!({ "type": "function", "name": "tool", "parameters": { "type": "object" } });
        let custom = json!({ "type": "custom", "name": "apply_patch" });
        let body = match protocol {
            Protocol::Responses => {
                let summary = (self == Self::Summary).then_some("auto");
                json!({ "model": "m", "input": "x", "stream": true, "tools": [function, custom], "reasoning": { "summary": summary } })
            }
            Protocol::Completions => {
                json!({ "model": "m", "prompt": "x", "stream": true, "max_tokens": u32::MAX })
            }
            Protocol::Chat => {
                let tools = json!([{ "type": "function", "function": function }, { "type": "custom", "custom": custom }]);
                json!({ "model": "m", "messages": [{ "role": "user", "content": "x" }], "stream": true, "tools": tools })
            }
            Protocol::Messages => {
                let tools = ["tool", "apply_patch"]
                    .map(|name| json!({ "name": name, "input_schema": { "type": "object" } }));
                json!({ "model": "m", "max_tokens": u32::MAX, "messages": [{ "role": "user", "content": "x" }], "stream": true,
                        "thinking": { "type": "adaptive" }, "tools": tools })
            }
        };
        body.to_string().into_bytes()
    }
}

fn call(name: &str, arguments: &Value) -> String {
    format!("<tool_call>\n{{\"name\": \"{name}\", \"arguments\": {arguments}}}\n</tool_call>")
}

/// Loads a model that replays `text`, one token per step. The returned folder must outlive the
/// model.
///
/// # Panics
/// If the model doesn't load.
pub fn replay_model(text: &str) -> (Model, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut setup = Setup::replay(folder.path(), &json!([{ "text": text, "tokens_per_step": 1 }]));
    setup.model.context = Some(1 << 20);
    let models = Models::load(&setup.model, &[], &setup.shared, &ModelLimits::default(), &mut |_, _| {});
    (models.expect("the model loads").first().clone(), folder)
}

/// Generates one answer, passes each write to `sink`, and returns the number of output tokens.
///
/// # Panics
/// If the request is refused.
pub async fn answer(model: &Model, protocol: Protocol, body: &[u8], mut sink: impl FnMut(Bytes)) -> u32 {
    let ApiRequest { job, mut machine, .. } = protocol.read(body, &Defaults::default()).expect("a request");
    let mut turn = model.start(job).await.expect("a turn");
    let (mut buffer, mut events) = (EventBuffer::new(), TurnEvents::default());
    let (mut frames, mut out) = (Frames::new(machine.has_done()), BytesMut::new());
    machine.begin(&mut buffer);
    loop {
        let ended = turn.next(&mut events).await;
        for event in events.iter() {
            machine.turn(event, &mut buffer);
        }
        events.clear();
        if let Some(ended) = &ended {
            machine.end(&ended.end, ended.usage, &mut buffer);
        }
        frames.events(&buffer, &mut out);
        buffer.clear();
        if let Some(ended) = ended {
            frames.end(&mut out);
            sink(out.freeze());
            return ended.usage.output_tokens;
        }
        sink(out.split().freeze());
    }
}
