//! One step's work, flat over sequences: the same description for every backend.

/// Tokens to run through the model in one step. `n` tokens over `s` sequences; prefill chunks and decodes mix freely.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    /// `[n]` token ids.
    pub tokens: Vec<u32>,
    /// `[n]` position of each token in its sequence.
    pub positions: Vec<u32>,
    /// `[n]` slot of the KV cache that each token's key and value go to: `block * block_size + offset`.
    pub slots: Vec<u32>,
    /// `[s + 1]` where each sequence's tokens begin in `tokens`, and `n`.
    pub starts: Vec<u32>,
    /// `[s]` tokens of each sequence once this step is done (the last token attends to that many).
    pub context_lens: Vec<u32>,
    /// `[s * table_width]` blocks of each sequence in order, padded with 0.
    pub block_tables: Vec<u32>,
    /// Width of a row of `block_tables`.
    pub table_width: usize,
    /// Rows (indices into `tokens`) whose logits are wanted, ascending.
    pub logit_rows: Vec<u32>,
}

impl Batch {
    /// Number of sequences.
    pub fn sequences(&self) -> usize {
        self.context_lens.len()
    }
}

/// Runs batches through one model: what the scheduler knows of models and devices.
pub trait Runner: Send {
    /// Sizes that the scheduler plans with.
    fn shape(&self) -> &RunnerShape;
    /// Runs one step. Writes the KV cache and returns logits `[logit_rows, vocab]` in f32.
    fn run(&mut self, batch: &Batch) -> Result<&[f32], RunError>;
}

/// Sizes of a runner.
#[derive(Debug, Clone)]
pub struct RunnerShape {
    /// What it is, for people: `cpu, 2 threads, bf16`.
    pub name: String,
    /// Ids are below this.
    pub vocab: usize,
    /// Positions are below this.
    pub context: usize,
    /// Tokens of a KV block.
    pub block_size: usize,
    /// Blocks of the KV cache.
    pub blocks: usize,
}

/// A step that failed; the sequences in it end with an error.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct RunError(pub String);
