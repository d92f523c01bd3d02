//! Options of a local engine.

use std::time::Duration;

use crate::speculation::SpeculationOptions;

/// Limits of a local engine, its prefix cache and its speculation.
#[derive(Debug, Clone)]
pub struct LocalOptions {
    /// Maximum number of tokens in one step; longer prompts are computed in chunks. Values below
    /// `sequences` or above the runner's maximum are replaced by these.
    pub batch_tokens: usize,
    /// Maximum number of sequences in one step.
    pub sequences: usize,
    /// Maximum number of waiting requests; more are refused.
    pub waiting: usize,
    /// Number of principals that may send requests. If there are several, none may have all places
    /// for waiting requests.
    pub principals: usize,
    /// Longest time that a request waits to begin. After it the request is refused, and
    /// [`crate::Generation::started`] waits for either. `None`: no limit, and `started` returns at
    /// once.
    pub queue_timeout: Option<Duration>,
    /// Whether prompts reuse KV blocks of earlier sequences with the same beginning.
    pub prefix_cache: bool,
    /// Drafts, which save steps and never change a token.
    pub speculation: SpeculationOptions,
}

impl Default for LocalOptions {
    fn default() -> Self {
        Self {
            batch_tokens: 512,
            sequences: 64,
            waiting: 1024,
            principals: 1,
            queue_timeout: None,
            prefix_cache: true,
            speculation: SpeculationOptions::default(),
        }
    }
}
