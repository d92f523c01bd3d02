//! What is measured: prompts of some lengths, and answers of several sequences at a time or behind long contexts.

use std::fmt;

use engine::runner::RunnerShape;

/// What is measured.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Lengths of prompts.
    pub prompts: Vec<usize>,
    /// Tokens that each sequence generates; zero: none do.
    pub generate: usize,
    /// Sequences that generate at a time.
    pub parallel: Vec<usize>,
    /// Tokens that one sequence has before it generates.
    pub depths: Vec<usize>,
    /// How often each test is timed.
    pub repetitions: usize,
}

/// One measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Test {
    /// A prompt.
    Prefill {
        /// Its length.
        tokens: usize,
    },
    /// Steps of one token for each sequence.
    Decode {
        /// Tokens of each sequence.
        tokens: usize,
        /// Sequences.
        parallel: usize,
        /// Tokens that each has before.
        depth: usize,
    },
}

/// A test that the runner has no room for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Longer than the model's context.
    #[error("{test} needs a context of {needed} tokens; there are {context}")]
    Context {
        /// Which.
        test: Test,
        /// Tokens of a sequence.
        needed: usize,
        /// Those that it may have.
        context: usize,
    },
    /// More than the cache holds.
    #[error("{test} needs a KV cache for {needed} tokens; this one is for {tokens}: set a larger --kv-cache")]
    Cache {
        /// Which.
        test: Test,
        /// Tokens of all sequences, in whole blocks.
        needed: usize,
        /// Tokens that the cache is for.
        tokens: usize,
    },
    /// More sequences than a step has rows.
    #[error("{test} needs steps of {needed} tokens; they have {most}")]
    Step {
        /// Which.
        test: Test,
        /// Sequences.
        needed: usize,
        /// Tokens of a step.
        most: usize,
    },
}

impl Plan {
    /// The tests in their order: prompts, numbers of sequences, depths.
    pub fn tests(&self) -> Vec<Test> {
        let tokens = self.generate;
        let prompts = self.prompts.iter().map(|tokens| Test::Prefill { tokens: *tokens });
        let parallel = self.parallel.iter().map(|parallel| (*parallel, 0));
        let deep = self.depths.iter().map(|depth| (1, *depth));
        let decode = |(parallel, depth)| Test::Decode { tokens, parallel, depth };
        let decodes = parallel.chain(deep).map(decode).filter(|_| tokens > 0);
        prompts.chain(decodes).collect()
    }

    /// Whether a runner of this shape has room for all tests.
    ///
    /// # Errors
    /// It hasn't.
    pub fn check(&self, shape: &RunnerShape) -> Result<(), PlanError> {
        self.tests().into_iter().try_for_each(|test| test.check(shape))
    }
}

impl Test {
    /// Tokens that are computed.
    pub fn tokens(self) -> usize {
        match self {
            Self::Prefill { tokens } => tokens,
            Self::Decode { tokens, parallel, .. } => tokens * parallel,
        }
    }

    /// Sequences at a time.
    pub fn parallel(self) -> usize {
        match self {
            Self::Prefill { .. } => 1,
            Self::Decode { parallel, .. } => parallel,
        }
    }

    /// Tokens that each sequence has before.
    pub fn depth(self) -> usize {
        match self {
            Self::Prefill { .. } => 0,
            Self::Decode { depth, .. } => depth,
        }
    }

    /// Whether a runner of this shape has room for it.
    fn check(self, shape: &RunnerShape) -> Result<(), PlanError> {
        let each = match self {
            Self::Prefill { tokens } => tokens,
            Self::Decode { tokens, depth, .. } => depth + tokens,
        };
        let (test, context) = (self, shape.context);
        if each > context {
            return Err(PlanError::Context { test, needed: each, context });
        }
        let needed = each.next_multiple_of(shape.block_size) * self.parallel();
        let tokens = shape.blocks * shape.block_size;
        if needed > tokens {
            return Err(PlanError::Cache { test, needed, tokens });
        }
        let (needed, most) = (self.parallel(), shape.batch_tokens);
        if needed > most { Err(PlanError::Step { test, needed, most }) } else { Ok(()) }
    }
}

/// As llama-bench names its tests.
impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prefill { tokens } => write!(f, "pp{tokens}"),
            Self::Decode { tokens, parallel, depth: 0 } => write!(f, "tg{tokens} x{parallel}"),
            Self::Decode { tokens, parallel, depth } => write!(f, "tg{tokens} x{parallel} @ d{depth}"),
        }
    }
}
