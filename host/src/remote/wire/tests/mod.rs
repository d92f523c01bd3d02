//! Each kind by itself: what it is sent, and what its events come to.

mod bodies;
mod events;

use super::EngineKind;

const KINDS: [EngineKind; 4] =
    [EngineKind::OpenAi, EngineKind::Vllm, EngineKind::Sglang, EngineKind::LlamaCpp];
