//! Fills memory with a repeated word or with random weights.

use seeded::SplitMix64;

use crate::check::THREADS;
use crate::{Args, Defines, DevicePtr, KernelId, KernelSource, Launch, Variant};

static SOURCE: KernelSource = KernelSource {
    name: "fill.cu",
    text: concat!(
        "#line 1 \"mxfp4.cuh\"\n",
        include_str!("../mxfp4.cuh"),
        "\n#line 1 \"fill.cu\"\n",
        include_str!("../fill.cu")
    ),
};

/// `out[i] = word`.
#[derive(Debug, Clone, Copy)]
pub struct Fill {
    /// `[words]` of four bytes.
    pub out: DevicePtr,
    /// Value of each word.
    pub word: u32,
    /// Number of words.
    pub words: u64,
}

/// Draws bf16 uniformly from `middle ± spread`; a seed gives the same values here and on the CPU.
#[derive(Debug, Clone, Copy)]
pub struct RandomWeights {
    /// `[count]` bf16, at a multiple of 8 bytes.
    pub out: DevicePtr,
    /// Number of weights.
    pub count: u64,
    /// Start of the sequence of draws.
    pub seed: u64,
    /// Middle of the range.
    pub middle: f32,
    /// Greatest distance from `middle`.
    pub spread: f32,
}

/// Draws random bytes: bits in `mask` are 0 or 1 with equal probability, other bits are 0.
#[derive(Debug, Clone, Copy)]
pub struct RandomCodes {
    /// `[count]` u8, at a multiple of 8 bytes.
    pub out: DevicePtr,
    /// Number of bytes.
    pub count: u64,
    /// Start of the sequence of draws.
    pub seed: u64,
    /// Bits that may be set.
    pub mask: u8,
    /// Whether the bytes are MXFP4 codes, whose bits are then reordered ([`crate::pack_mxfp4`]);
    /// `count` is a multiple of 8.
    pub mxfp4: bool,
}

impl Fill {
    /// # Panics
    /// Where there is nothing to fill.
    pub fn launch(&self) -> Launch {
        let args = Args::new().ptr(self.out).u32(self.word).u64(self.words);
        launch("fill", self.out, self.words, args)
    }

    pub(crate) fn variants() -> Vec<Variant> {
        vec![Variant { source: &SOURCE, defines: Defines::new(&[]) }]
    }
}

impl RandomWeights {
    /// # Panics
    /// Where there is nothing to fill, or memory is misaligned.
    pub fn launch(&self) -> Launch {
        let args = Args::new().ptr(self.out).u64(self.count).u64(self.seed).f32(self.middle).f32(self.spread);
        launch("random_weights", self.out, self.count.div_ceil(4), args)
    }
}

impl RandomCodes {
    /// # Panics
    /// Where there is nothing to fill, or memory is misaligned.
    pub fn launch(&self) -> Launch {
        let Self { out, count, seed, mask, mxfp4 } = *self;
        assert!(!mxfp4 || count.is_multiple_of(8), "random_codes: {count} bytes of MXFP4");
        let args = Args::new().ptr(out).u64(count).u64(seed).u32(mask.into()).u32(mxfp4.into());
        launch("random_codes", self.out, self.count.div_ceil(8), args)
    }
}

fn launch(entry: &'static str, out: DevicePtr, threads: u64, args: Args) -> Launch {
    assert!(
        threads > 0 && out != DevicePtr::NULL && out.0.is_multiple_of(8),
        "{entry}: {threads} at {out:?}"
    );
    let blocks = u32::try_from(threads.div_ceil(THREADS.into())).expect("blocks of a grid");
    Launch {
        kernel: KernelId { source: &SOURCE, defines: Defines::new(&[]), entry },
        grid: [blocks, 1, 1],
        block: [THREADS, 1, 1],
        shared_bytes: 0,
        args,
        overlaps: true,
    }
}

/// Reference: bits of the weights that [`RandomWeights`] draws.
#[expect(clippy::cast_possible_truncation, reason = "takes sixteen bits at a time")]
pub fn random_weights_reference(count: usize, seed: u64, middle: f32, spread: f32) -> Vec<u16> {
    let uniform = |z: u64, i: usize| f32::from((z >> (16 * i)) as i16) / 32768.0;
    let cut = |x: f32| (x.to_bits() >> 16) as u16;
    let four = |z| (0..4).map(move |i| cut(middle + spread * uniform(z, i)));
    SplitMix64::new(seed).flat_map(four).take(count).collect()
}

/// Reference: bytes that [`RandomCodes`] draws, in the order of files.
pub fn random_codes_reference(count: usize, seed: u64, mask: u8) -> Vec<u8> {
    SplitMix64::new(seed).flat_map(u64::to_le_bytes).map(|code| code & mask).take(count).collect()
}
