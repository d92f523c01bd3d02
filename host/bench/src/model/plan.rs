//! Plan of a benchmark: prompts of several lengths, and answers of several sequences at a time or
//! after long contexts.

use std::fmt;

use engine::runner::RunnerShape;

/// Parameters of the tests to run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Lengths of prompts, in tokens.
    pub prompts: Vec<usize>,
    /// Tokens that each sequence generates; zero leaves out all decode tests.
    pub generate: usize,
    /// Numbers of sequences that generate at the same time.
    pub parallel: Vec<usize>,
    /// Numbers of tokens in the context before one sequence generates.
    pub depths: Vec<usize>,
    /// Number of timed repetitions of each test.
    pub repetitions: usize,
}

/// One measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Test {
    /// Prefill of one prompt.
    Prefill {
        /// Length of the prompt, in tokens.
        tokens: usize,
    },
    /// Decode: steps of one token for each sequence.
    Decode {
        /// Tokens that each sequence generates.
        tokens: usize,
        /// Number of sequences.
        parallel: usize,
        /// Tokens in each sequence's context before it generates.
        depth: usize,
    },
}

/// A test that the runner has no room for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The test's sequences are longer than the model's context.
    #[error("{test} needs a context of {needed} tokens; there are {context}")]
    Context {
        /// Test that has no room.
        test: Test,
        /// Length of a sequence, in tokens.
        needed: usize,
        /// Tokens of the model's context.
        context: usize,
    },
    /// The test needs more tokens than the KV cache holds.
    #[error("{test} needs a KV cache for {needed} tokens; this one is for {tokens}: set a larger --kv-cache")]
    Cache {
        /// Test that has no room.
        test: Test,
        /// Tokens of all sequences, rounded up to whole blocks.
        needed: usize,
        /// Capacity of the cache, in tokens.
        tokens: usize,
    },
    /// The test has more sequences than a step may have tokens.
    #[error("{test} needs steps of {needed} tokens; they have {most}")]
    Step {
        /// Test that has no room.
        test: Test,
        /// Number of sequences.
        needed: usize,
        /// Maximum number of tokens of a step.
        most: usize,
    },
}

impl Plan {
    /// Tests in the order in which they run: prompts, numbers of sequences, depths.
    pub fn tests(&self) -> Vec<Test> {
        let tokens = self.generate;
        let prompts = self.prompts.iter().map(|tokens| Test::Prefill { tokens: *tokens });
        let parallel = self.parallel.iter().map(|parallel| (*parallel, 0));
        let deep = self.depths.iter().map(|depth| (1, *depth));
        let decode = |(parallel, depth)| Test::Decode { tokens, parallel, depth };
        let decodes = parallel.chain(deep).map(decode).filter(|_| tokens > 0);
        prompts.chain(decodes).collect()
    }

    /// Checks that a runner of this shape has room for all tests.
    ///
    /// # Errors
    /// The first test that has no room.
    pub fn check(&self, shape: &RunnerShape) -> Result<(), PlanError> {
        self.tests().into_iter().try_for_each(|test| test.check(shape))
    }
}

impl Test {
    /// Number of tokens that the test computes.
    pub fn tokens(self) -> usize {
        match self {
            Self::Prefill { tokens } => tokens,
            Self::Decode { tokens, parallel, .. } => tokens * parallel,
        }
    }

    /// Number of sequences that run at the same time.
    pub fn parallel(self) -> usize {
        match self {
            Self::Prefill { .. } => 1,
            Self::Decode { parallel, .. } => parallel,
        }
    }

    /// Tokens in each sequence's context before it generates.
    pub fn depth(self) -> usize {
        match self {
            Self::Prefill { .. } => 0,
            Self::Decode { depth, .. } => depth,
        }
    }

    /// Checks that a runner of this shape has room for the test.
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

/// Names follow llama-bench.
impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prefill { tokens } => write!(f, "pp{tokens}"),
            Self::Decode { tokens, parallel, depth: 0 } => write!(f, "tg{tokens} x{parallel}"),
            Self::Decode { tokens, parallel, depth } => write!(f, "tg{tokens} x{parallel} @ d{depth}"),
        }
    }
}
