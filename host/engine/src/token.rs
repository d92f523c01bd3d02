//! A generated token, and how it is chosen.

/// Sampling of the next token: temperature, then `min_p`, `top_k` and `top_p`, then a draw.
/// Randomness depends on (`seed`, position) only.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SamplingParams {
    /// 0 is greedy.
    pub temperature: f32,
    /// Keeps the smallest set of likeliest tokens whose probabilities sum to at least this; in (0,
    /// 1].
    pub top_p: f32,
    /// Keeps the k likeliest tokens; 0 keeps all.
    pub top_k: u32,
    /// Keeps tokens that have at least this share of the likeliest token's probability; 0 keeps
    /// all.
    pub min_p: f32,
    /// Seed of this sequence.
    pub seed: u64,
}

impl SamplingParams {
    /// The likeliest token, always.
    pub const GREEDY: Self = Self { temperature: 0.0, top_p: 1.0, top_k: 0, min_p: 0.0, seed: 0 };
}

/// A generated token.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    /// Token id.
    pub id: u32,
    /// Log-probabilities of the token and its alternatives, where the request asks for them.
    pub logprobs: Option<Box<Logprobs>>,
}

/// Log-probabilities (natural) at one position, before temperature.
#[derive(Debug, Clone, PartialEq)]
pub struct Logprobs {
    /// Log-probability of the chosen token.
    pub chosen: f32,
    /// (id, log-probability) of the likeliest tokens, likeliest first.
    pub top: Vec<(u32, f32)>,
}
