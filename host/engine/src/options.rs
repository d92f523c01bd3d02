//! Bounds of a local engine.

use std::time::Duration;

use crate::speculation::SpeculationOptions;

/// Bounds of a local engine.
#[derive(Debug, Clone)]
pub struct LocalOptions {
    /// Tokens of one step; long prompts are computed in chunks of it. At least `sequences` are taken, and no more than the runner
    /// takes.
    pub batch_tokens: usize,
    /// Sequences of one step.
    pub sequences: usize,
    /// Requests that may wait.
    pub waiting: usize,
    /// How long a request may wait until it begins: after that it is refused, and [`crate::Generation::started`] waits for either. None: for
    /// ever, and it has started at once.
    pub queue_timeout: Option<Duration>,
    /// Whether prompts reuse what earlier sequences with the same beginning computed.
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
            queue_timeout: None,
            prefix_cache: true,
            speculation: SpeculationOptions::default(),
        }
    }
}
