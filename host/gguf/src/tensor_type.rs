//! Types of tensors that are read: plain numbers, and the blocks that kernels have.

use kernels::ggml::BlockType;

/// Type of a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TensorType {
    /// 32-bit floats.
    F32,
    /// IEEE half floats.
    F16,
    /// Upper halves of 32-bit floats.
    Bf16,
    /// Blocks of neighbours in a row.
    Blocks(BlockType),
}

/// Numbers and names of ggml's types that are not read.
const NOT_READ: [(u32, &str); 9] = [
    (9, "Q8_1"),
    (15, "Q8_K"),
    (24, "I8"),
    (25, "I16"),
    (26, "I32"),
    (27, "I64"),
    (28, "F64"),
    (31, "Q4_0_4_4"),
    (36, "IQ4_NL_4_4"),
];

impl TensorType {
    /// The type with ggml's number `id`. The error is a reason.
    pub(crate) fn from_id(id: u32) -> Result<Self, String> {
        match id {
            0 => return Ok(Self::F32),
            1 => return Ok(Self::F16),
            30 => return Ok(Self::Bf16),
            _ => {}
        }
        if let Some(blocks) = BlockType::from_id(id) {
            return Ok(Self::Blocks(blocks));
        }
        let name = NOT_READ.iter().find(|(other, _)| *other == id).map(|(_, name)| (*name).to_owned());
        let name = name.unwrap_or_else(|| format!("number {id}"));
        let read: Vec<&str> = BlockType::ALL.iter().map(|blocks| blocks.name()).collect();
        Err(format!("type {name} is not supported; supported: F32, F16, BF16, {}", read.join(", ")))
    }

    /// ggml's name of the type.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "F32",
            Self::F16 => "F16",
            Self::Bf16 => "BF16",
            Self::Blocks(blocks) => blocks.name(),
        }
    }

    /// Number of values in a block.
    pub(crate) fn block_len(self) -> usize {
        if let Self::Blocks(blocks) = self { blocks.block_len() } else { 1 }
    }

    /// Number of bytes of a row of `cols` values; `None` if these aren't whole blocks.
    pub fn row_bytes(self, cols: usize) -> Option<usize> {
        match self {
            Self::F32 => cols.checked_mul(4),
            Self::F16 | Self::Bf16 => cols.checked_mul(2),
            Self::Blocks(blocks) => blocks.matrix_bytes(1, cols),
        }
    }
}
