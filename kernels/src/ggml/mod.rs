//! Block types of GGUF files, whatever computes with them: blocks of neighbours in a row, decoded
//! to codes, integer scales and one factor, and from there to f32.
//!
//! Invariant: a decoded block has exactly the numbers of the stored one. Its products up to the
//! last addition are exact in f32, so the values are those of the format's other readers, bit for
//! bit. Blocks are not checked: factors that aren't finite make values that aren't.

mod blocks_of_256;
mod blocks_of_32;
mod blocks_of_grids;
mod facts;

use half::f16;

/// Maximum number of values in a block.
pub const MAX_BLOCK: usize = 256;
/// Number of neighbours that share an integer scale.
pub const SCALE_GROUP: usize = 16;

/// Type of blocks, by its name in GGML.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(non_camel_case_types, reason = "names of the format")]
#[expect(missing_docs, reason = "the names say it")]
pub enum BlockType {
    Q1_0,
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q8_0,
    Q2_K,
    Q3_K,
    Q4_K,
    Q5_K,
    Q6_K,
    IQ1_S,
    IQ1_M,
    IQ2_XXS,
    IQ2_XS,
    IQ2_S,
    IQ3_XXS,
    IQ3_S,
    IQ4_NL,
    IQ4_XS,
    TQ1_0,
    TQ2_0,
    MXFP4,
    NVFP4,
    Q2_0,
}

/// Values that codes stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeValues {
    /// The code, less this number.
    Offset(u8),
    /// This entry; the codes have four bits.
    Table(&'static [i8; 16]),
}

/// Decoded block: `value = factor * scale * value of the code + minimum_factor * minimum`. Only the
/// elements of the block's size are set. [`BlockType::has_factors_of_16`] says whether the factor is
/// that of the whole block.
#[derive(Debug, Clone)]
pub struct Block {
    /// A code for each value.
    pub codes: [u8; MAX_BLOCK],
    /// Scale of each 16 neighbours.
    pub scales: [i8; MAX_BLOCK / SCALE_GROUP],
    /// Minimum of each 16 neighbours; only types with minimums use it.
    pub minimums: [u8; MAX_BLOCK / SCALE_GROUP],
    /// Factor of scales.
    pub factor: f32,
    /// Factors of scales of each 16 neighbours, exact in f16; only types with such use them.
    pub factors_of_16: [f32; MAX_BLOCK / SCALE_GROUP],
    /// Factor of minimums.
    pub minimum_factor: f32,
}

impl BlockType {
    /// All types.
    pub const ALL: [Self; 25] = [
        Self::Q1_0,
        Self::Q4_0,
        Self::Q4_1,
        Self::Q5_0,
        Self::Q5_1,
        Self::Q8_0,
        Self::Q2_K,
        Self::Q3_K,
        Self::Q4_K,
        Self::Q5_K,
        Self::Q6_K,
        Self::IQ1_S,
        Self::IQ1_M,
        Self::IQ2_XXS,
        Self::IQ2_XS,
        Self::IQ2_S,
        Self::IQ3_XXS,
        Self::IQ3_S,
        Self::IQ4_NL,
        Self::IQ4_XS,
        Self::TQ1_0,
        Self::TQ2_0,
        Self::MXFP4,
        Self::NVFP4,
        Self::Q2_0,
    ];

    /// Returns the type with this number in files (`ggml_type`); `None` for types without blocks
    /// and for unknown ones.
    pub fn from_id(id: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.facts().id == id)
    }

    /// Name of the type, for people.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// Number of values in a block.
    pub fn block_len(self) -> usize {
        self.facts().len
    }

    /// Number of bytes of a block.
    pub fn block_bytes(self) -> usize {
        self.facts().bytes
    }

    /// Number of bytes of a matrix; `None` if its rows aren't whole blocks, or there are too many.
    pub fn matrix_bytes(self, rows: usize, cols: usize) -> Option<usize> {
        let blocks = cols.is_multiple_of(self.block_len()).then_some(cols / self.block_len())?;
        rows.checked_mul(blocks)?.checked_mul(self.block_bytes())
    }

    /// Values of codes.
    pub fn code_values(self) -> CodeValues {
        self.facts().values
    }

    /// Whether blocks have minimums.
    pub fn has_minimums(self) -> bool {
        matches!(self, Self::Q4_1 | Self::Q5_1 | Self::Q2_K | Self::Q4_K | Self::Q5_K)
    }

    /// Whether each 16 neighbours have a factor of their own, [`Block::factors_of_16`], and the scale
    /// one.
    pub fn has_factors_of_16(self) -> bool {
        self == Self::NVFP4
    }

    /// Whether all values of a block are finite.
    ///
    /// # Panics
    /// If `bytes` isn't one block.
    pub fn is_finite(self, bytes: &[u8]) -> bool {
        assert_eq!(bytes.len(), self.block_bytes(), "bytes of a block of {}", self.name());
        match self {
            // 6 · 2¹²⁶ is beyond f32.
            Self::MXFP4 => bytes[0] <= 252,
            Self::IQ1_M => blocks_of_grids::scattered_factor(bytes).is_finite(),
            _ => self.facts().factors.iter().all(|at| half(bytes, *at).is_finite()),
        }
    }

    /// Decodes a block.
    ///
    /// # Panics
    /// If `bytes` isn't one block.
    pub fn decode(self, bytes: &[u8], to: &mut Block) {
        assert_eq!(bytes.len(), self.block_bytes(), "bytes of a block of {}", self.name());
        match self {
            Self::Q1_0
            | Self::Q4_0
            | Self::Q4_1
            | Self::Q5_0
            | Self::Q5_1
            | Self::Q8_0
            | Self::IQ4_NL
            | Self::MXFP4
            | Self::NVFP4
            | Self::Q2_0 => blocks_of_32::decode(self, bytes, to),
            Self::Q2_K
            | Self::Q3_K
            | Self::Q4_K
            | Self::Q5_K
            | Self::Q6_K
            | Self::IQ4_XS
            | Self::TQ1_0
            | Self::TQ2_0 => blocks_of_256::decode(self, bytes, to),
            Self::IQ1_S
            | Self::IQ1_M
            | Self::IQ2_XXS
            | Self::IQ2_XS
            | Self::IQ2_S
            | Self::IQ3_XXS
            | Self::IQ3_S => blocks_of_grids::decode(self, bytes, to),
        }
    }
}

impl Default for Block {
    fn default() -> Self {
        Self {
            codes: [0; MAX_BLOCK],
            scales: [1; MAX_BLOCK / SCALE_GROUP],
            minimums: [0; MAX_BLOCK / SCALE_GROUP],
            factor: 0.0,
            factors_of_16: [0.0; MAX_BLOCK / SCALE_GROUP],
            minimum_factor: 0.0,
        }
    }
}

impl Block {
    /// Writes the block's values to `to`, as many as it has elements.
    pub fn values(&self, kind: BlockType, to: &mut [f32]) {
        let values = kind.code_values();
        let groups = to.chunks_mut(SCALE_GROUP).zip(self.codes.chunks(SCALE_GROUP));
        for (i, (to, codes)) in groups.enumerate() {
            let factor = if kind.has_factors_of_16() { self.factors_of_16[i] } else { self.factor };
            let scale = factor * f32::from(self.scales[i]);
            let minimum = self.minimum_factor * f32::from(self.minimums[i]);
            for (to, code) in to.iter_mut().zip(codes) {
                let value = scale * f32::from(values.of(*code));
                *to = if kind.has_minimums() { value + minimum } else { value };
            }
        }
    }
}

impl CodeValues {
    /// Value of a code.
    pub fn of(self, code: u8) -> i16 {
        match self {
            Self::Offset(offset) => i16::from(code) - i16::from(offset),
            Self::Table(table) => i16::from(table[usize::from(code & 15)]),
        }
    }
}

/// Reads the half float at `bytes[at..at + 2]`.
fn half(bytes: &[u8], at: usize) -> f32 {
    f16::from_le_bytes([bytes[at], bytes[at + 1]]).to_f32()
}

/// Writes the lower halves of all bytes, then the upper halves.
fn halves(bytes: &[u8], to: &mut [u8]) {
    let (lower, upper) = to.split_at_mut(bytes.len());
    for ((byte, lower), upper) in bytes.iter().zip(lower).zip(upper) {
        (*lower, *upper) = (byte & 15, byte >> 4);
    }
}
