//! Tests of each kind of engine: request bodies and events.

mod bodies;
mod events;

use crate::kind::EngineKind;

const KINDS: [EngineKind; 4] =
    [EngineKind::OpenAi, EngineKind::Vllm, EngineKind::Sglang, EngineKind::LlamaCpp];
