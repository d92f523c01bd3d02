//! Tokens from rows of logits, on the device. Parameters of rows, edits and results are arrays of words, in the order of these structs.

mod reference;

pub use reference::{Reference, sample_reference};

use crate::check;
use crate::{Args, Defines, DevicePtr, KernelId, Launch, Source, Variant};

static SOURCE: Source = Source {
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

/// The most alternatives of a row.
pub const MAX_TOP: u32 = 255;
/// Shared memory: bins, sums of warps, and single values.
const SHARED_BYTES: u32 = 2 * 2048 * 4 + 32 * 8 + 8 + 16 + 8;

/// How the token of one row is chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DrawRow {
    /// Row of logits; each at most once.
    pub logit_row: u32,
    /// Where the id is written in the lanes' last samples.
    pub lane: Option<u32>,
    /// Row of the masks.
    pub mask_row: Option<u32>,
    /// First and end of its edits.
    pub edits: (u32, u32),
    /// 0 or less, or NaN: the likeliest.
    pub temperature: f32,
    /// 1 or more: all.
    pub top_p: f32,
    /// 0: all.
    pub top_k: u32,
    /// 0 or less: all.
    pub min_p: f32,
    /// Of the sequence.
    pub seed: u64,
    /// Of the new token.
    pub position: u64,
    /// Alternatives to report; none: no log-probabilities.
    pub top_logprobs: Option<u8>,
}

impl DrawRow {
    /// Words of a row.
    pub const WORDS: usize = 16;

    /// As the kernel reads it.
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

/// A change of a logit: `bias` is added; then what is above zero is divided by `repetition` and the rest multiplied; then `minus`
/// is subtracted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EditRow {
    /// Which token; below the vocabulary's size, and once for a row of logits.
    pub id: u32,
    /// 0 changes nothing.
    pub bias: f32,
    /// 1 changes nothing.
    pub repetition: f32,
    /// 0 changes nothing.
    pub minus: f32,
}

impl EditRow {
    /// Words of an edit.
    pub const WORDS: usize = 4;

    /// As the kernel reads it.
    pub fn words(&self) -> [u32; Self::WORDS] {
        [self.id, self.bias.to_bits(), self.repetition.to_bits(), self.minus.to_bits()]
    }
}

/// What became of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SampledRow {
    /// A token.
    Token {
        /// Its id.
        id: u32,
        /// Its log-probability before temperature, edits and mask, where log-probabilities were asked for.
        logprob: f32,
        /// Alternatives that were written.
        alternatives: u32,
    },
    /// A logit is NaN or infinity.
    NotANumber {
        /// Of which token; the lowest.
        id: u32,
        /// What it is.
        logit: f32,
    },
    /// Mask and edits leave nothing.
    NoToken,
}

impl SampledRow {
    /// Words of a result.
    pub const WORDS: usize = 4;

    /// From what the kernel wrote. None: it didn't write it.
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

/// One token for each draw.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// `[.., vocab]` f32. Edits are made in it.
    pub logits: DevicePtr,
    /// `[rows]` of [`DrawRow`].
    pub draws: DevicePtr,
    /// Of [`EditRow`], used up: the logits before the edits take the places of `bias`. None: no row has edits.
    pub edits: Option<DevicePtr>,
    /// `[.., vocab / 32]` u32, rounded up: a bit for each id that may come. None: no row has a mask.
    pub masks: Option<DevicePtr>,
    /// `[lanes]` u32: ids are written there, too.
    pub samples: Option<DevicePtr>,
    /// `[rows]` of [`SampledRow`].
    pub out: DevicePtr,
    /// `[rows, top_width, 2]`: ids and log-probabilities (f32) of alternatives, likeliest first. None: rows ask for none.
    pub top: Option<DevicePtr>,
    /// Draws.
    pub rows: u32,
    /// Ids.
    pub vocab: u32,
    /// Room for alternatives of a row.
    pub top_width: u32,
}

impl Sample {
    /// # Panics
    /// Where there is nothing to do, a pointer is null, or there are more alternatives than [`MAX_TOP`].
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
