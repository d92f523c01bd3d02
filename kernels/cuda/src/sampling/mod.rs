//! Sampling of tokens from rows of logits, on the device. Draws, edits and results are arrays of
//! u32 words, in the order of the fields of these structs.

mod reference;

pub use reference::{Reference, sample_reference};

use crate::check;
use crate::{Args, Defines, DevicePtr, KernelId, KernelSource, Launch, Variant};

static SOURCE: KernelSource = KernelSource {
    name: "sampling.cu",
    text: concat!(
        "#line 1 \"sampling_row.cuh\"\n",
        include_str!("../../sampling_row.cuh"),
        "\n#line 1 \"sampling_limit.cuh\"\n",
        include_str!("../../sampling_limit.cuh"),
        "\n#line 1 \"sampling_top.cuh\"\n",
        include_str!("../../sampling_top.cuh"),
        "\n#line 1 \"sampling.cu\"\n",
        include_str!("../../sampling.cu")
    ),
};

/// Greatest number of alternatives of a row.
pub const MAX_TOP: u32 = 255;
/// Bytes of shared memory: bins, sums of warps, and single values (`Shared` in `sampling_row.cuh`).
const SHARED_BYTES: u32 = 2 * 2048 * 4 + 32 * 8 + 8 + 16 + 8;

/// Parameters of one draw: how the token of a row is chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DrawRow {
    /// Row of logits; at most one draw has it.
    pub logit_row: u32,
    /// Index in `samples` that the id is written to; `None`: it is written to the results only.
    pub lane: Option<u32>,
    /// Row of the masks; `None`: all ids may be chosen.
    pub mask_row: Option<u32>,
    /// Indices of the draw's edits: the first, and the end.
    pub edits: (u32, u32),
    /// Temperature; 0 or less, or NaN: the likeliest token is chosen.
    pub temperature: f32,
    /// Share of the weight that is kept; 1 or more: all.
    pub top_p: f32,
    /// Number of likeliest tokens that are kept; 0: all.
    pub top_k: u32,
    /// Least weight, relative to the likeliest token's; 0 or less: all tokens are kept.
    pub min_p: f32,
    /// Seed of the sequence.
    pub seed: u64,
    /// Position of the new token in the sequence.
    pub position: u64,
    /// Alternatives to report; `None`: no log-probabilities.
    pub top_logprobs: Option<u8>,
}

impl DrawRow {
    /// Words of a draw.
    pub const WORDS: usize = 16;

    /// The draw as the kernel reads it.
    pub fn words(&self) -> [u32; Self::WORDS] {
        #[expect(clippy::cast_possible_truncation, reason = "the low half, and the high one")]
        let halves = |x: u64| [x as u32, (x >> 32) as u32];
        let ([seed, seed_high], [position, position_high]) = (halves(self.seed), halves(self.position));
        let none = u32::MAX;
        [
            self.logit_row,
            self.lane.unwrap_or(none),
            self.mask_row.unwrap_or(none),
            self.edits.0,
            self.edits.1,
            self.temperature.to_bits(),
            self.top_p.to_bits(),
            self.top_k,
            self.min_p.to_bits(),
            seed,
            seed_high,
            position,
            position_high,
            self.top_logprobs.map_or(none, u32::from),
            0,
            0,
        ]
    }
}

/// Change of a logit: `bias` is added; then a logit above zero is divided by `repetition` and any
/// other multiplied by it; then `minus` is subtracted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EditRow {
    /// Token id, below the vocabulary's size; at most one edit of a row of logits has it.
    pub id: u32,
    /// Added first; 0 changes nothing.
    pub bias: f32,
    /// Divisor or factor; 1 changes nothing.
    pub repetition: f32,
    /// Subtracted last; 0 changes nothing.
    pub minus: f32,
}

impl EditRow {
    /// Words of an edit.
    pub const WORDS: usize = 4;

    /// The edit as the kernel reads it.
    pub fn words(&self) -> [u32; Self::WORDS] {
        [self.id, self.bias.to_bits(), self.repetition.to_bits(), self.minus.to_bits()]
    }
}

/// Result of a draw.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SampledRow {
    /// A token was chosen.
    Token {
        /// Id of the token.
        id: u32,
        /// Its log-probability before temperature, edits and mask; meaningful where
        /// log-probabilities were asked for.
        logprob: f32,
        /// Number of alternatives that were written.
        alternatives: u32,
    },
    /// A logit of the row is NaN or plus infinity.
    NotANumber {
        /// Id of the logit; the lowest, if there are several.
        id: u32,
        /// Value of the logit.
        logit: f32,
    },
    /// Mask and edits leave no token.
    NoToken,
}

impl SampledRow {
    /// Words of a result.
    pub const WORDS: usize = 4;

    /// The result from the words that the kernel wrote; `None` if it wrote none.
    pub fn from_words([status, id, value, alternatives]: [u32; Self::WORDS]) -> Option<Self> {
        let value = f32::from_bits(value);
        match status {
            0 => Some(Self::Token { id, logprob: value, alternatives }),
            1 => Some(Self::NotANumber { id, logit: value }),
            2 => Some(Self::NoToken),
            _ => None,
        }
    }
}

/// Chooses one token for each draw.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// `[.., vocab]` f32. The kernel applies the edits in place.
    pub logits: DevicePtr,
    /// `[rows]` of [`DrawRow`].
    pub draws: DevicePtr,
    /// [`EditRow`]s, overwritten: the kernel replaces `bias` by the logit before the edit. `None`:
    /// no draw has edits.
    pub edits: Option<DevicePtr>,
    /// `[.., vocab / 32]` u32, rounded up: a bit for each id, set where the id may be chosen.
    /// `None`: no draw has a mask.
    pub masks: Option<DevicePtr>,
    /// `[lanes]` u32: the ids are written there as well, at the draws' `lane`.
    pub samples: Option<DevicePtr>,
    /// `[rows]` of [`SampledRow`].
    pub out: DevicePtr,
    /// `[rows, top_width, 2]`: ids and log-probabilities (f32) of alternatives, likeliest first.
    /// `None`: no draw asks for alternatives.
    pub top: Option<DevicePtr>,
    /// Number of draws.
    pub rows: u32,
    /// Size of the vocabulary.
    pub vocab: u32,
    /// Alternatives that a row has room for.
    pub top_width: u32,
}

impl Sample {
    /// # Panics
    /// Where there is nothing to compute, a pointer is null, or there are more alternatives than
    /// [`MAX_TOP`].
    pub fn launch(&self) -> Launch {
        check::shape("sample", self.rows, self.vocab, &[self.logits, self.draws, self.out]);
        let top_fits = self.top_width <= MAX_TOP && (self.top.is_some() || self.top_width == 0);
        assert!(
            top_fits && self.vocab < u32::MAX - 64,
            "sample: {} alternatives of {}",
            self.top_width,
            self.vocab
        );
        Launch {
            kernel: KernelId { source: &SOURCE, defines: Defines::new(&[]), entry: "sample" },
            grid: [self.rows, 1, 1],
            block: [1024, 1, 1],
            shared_bytes: SHARED_BYTES,
            args: Args::new()
                .ptr(self.logits)
                .ptr(self.draws)
                .optional(self.edits)
                .optional(self.masks)
                .optional(self.samples)
                .ptr(self.out)
                .optional(self.top)
                .u32(self.vocab)
                .u32(self.top_width),
            overlaps: true,
        }
    }

    pub(crate) fn variants() -> Vec<Variant> {
        vec![Variant { source: &SOURCE, defines: Defines::new(&[]) }]
    }
}
