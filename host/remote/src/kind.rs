//! Kinds of remote engines.

/// Kind of what is behind an engine's URL: a protocol, or a gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineKind {
    /// `/v1/completions` with token ids, in vLLM's form.
    OpenAi,
    /// vLLM's `/inference/v1/generate`.
    Vllm,
    /// SGLang's `/generate`.
    Sglang,
    /// llama.cpp's `/completion`.
    LlamaCpp,
    /// A gateway that chooses among engines of its own, asked as [`Self::OpenAi`]: llm-d's router,
    /// Dynamo, `AIBrix`.
    Gateway,
}

impl EngineKind {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::OpenAi, Self::Vllm, Self::Sglang, Self::LlamaCpp, Self::Gateway];

    /// The kind of this name.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Its name, as `--engine-kind` takes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Vllm => "vllm",
            Self::Sglang => "sglang",
            Self::LlamaCpp => "llamacpp",
            Self::Gateway => "gateway",
        }
    }
}
