//! Operations of the CPU: f32 activations; weights in f32, bf16, f16, FP8, MXFP4 or blocks of GGUF
//! files, widened as they are read, or repacked or quantised at load; f32 accumulation (of quantised weights, a group's
//! products are summed in integers).
//!
//! Every sum has one fixed order, given by the row's length and the weight's type alone. With
//! inputs in f32 it is: sixteen lanes, element `i` in lane `i % 16`, then a tree over the lanes;
//! `linear` has the other orders. Tiles and threads get whole outputs and never cut a sum, so a row
//! is the same bit for bit alone, in any batch, and with any number of threads.
#![expect(
    clippy::inline_always,
    reason = "vector code is compiled with the instructions of its outermost caller"
)]
#![expect(clippy::cast_precision_loss, reason = "widths, counts and positions are far below 2²³")]

mod activation;
mod attention;
mod clamped_swiglu;
mod delta;
mod embed;
mod experts;
mod isa;
mod kv;
mod lanes;
mod linear;
mod matrix;
mod memory;
mod mla;
mod norm;
mod output;
mod packed;
mod pool;
mod quantized;
mod repacked;
mod rope;
mod rope_angles;
mod route;
mod short_conv;
mod states;
mod sync;

pub use activation::{Columns, gate_mul, gate_mul_columns, sigmoid_mul, soft_cap};
pub use attention::{AttentionParams, SequenceRows, attention};
pub use clamped_swiglu::clamped_swiglu;
pub use delta::{DeltaLayer, gated_delta};
pub use embed::embed;
pub use experts::{Expert, ExpertScratch, experts};
pub use isa::Isa;
pub use kv::{BLOCK_SIZE, KvCache, KvDtype, KvLayer, KvShape};
pub use linear::{Group, grouped_linear, linear, linear_reference};
pub use matrix::{Elements, InputRounding, Matrix};
pub use mla::{MlaScratch, MlaWeights, mla_attention, mla_write};
pub use norm::rms_norm;
pub use packed::{FileBlocks, Fp8Blocks, Mxfp4};
pub use quantized::{QuantizeError, QuantizeTo, QuantizedMatrix};
pub use repacked::RepackedMatrix;
pub use rope::{q_norm_rope, qk_norm_rope_write};
pub use rope_angles::RopeAngles;
pub use route::{Routes, route};
pub use short_conv::{ShortConv, short_conv};
pub use states::{FirstState, LayerStates, StatePool, StatePoolShape, StateSave, StateSequence, StateSizes};

use pool::Pool;

/// Maximum number of threads of a [`Cpu`]: more cores than any machine gives to one model.
pub const MAX_THREADS: usize = 512;

/// Threads and instruction set that every operation runs with.
#[derive(Debug)]
pub struct Cpu {
    pool: Pool,
    isa: Isa,
}

impl Cpu {
    /// Makes a set of `threads` threads, the caller's included (at least one; fewer if the system
    /// can't start as many), with the best instructions of this machine.
    pub fn new(threads: usize) -> Self {
        Self::with_isa(threads, Isa::detect())
    }

    /// Makes a set of threads as [`Self::new`] does, with chosen instructions.
    pub fn with_isa(threads: usize, isa: Isa) -> Self {
        Self { pool: Pool::new(threads), isa }
    }

    /// Number of threads, the caller's included.
    pub fn threads(&self) -> usize {
        self.pool.threads()
    }

    /// Instruction set in use.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// Runs `work(0) … work(tasks - 1)`, on all threads if `cost` (about a number of
    /// multiplications) is worth waking them.
    fn parallel_for(&self, tasks: usize, cost: usize, work: impl Fn(usize) + Sync) {
        // In Miri, which looks for data races, threads share all work: large work would take it too
        // long.
        const WORTH_WAKING: usize = if cfg!(miri) { 0 } else { 1 << 17 };
        if cost < WORTH_WAKING {
            (0..tasks).for_each(work);
        } else {
            self.pool.run(tasks, &work);
        }
    }
}
