//! Order of quantisation codes in kernels.

/// Greatest scale of MXFP4 weights (an exponent of two, plus 127) with which kernels have every
/// weight exactly; see `mxfp4.cuh`.
pub const MXFP4_MAX_SCALE: u8 = 128;

/// Two E2M1 codes of a byte as a pair of bf16 that is 2¹²⁶ times too small: sign in bit 15, other
/// bits in 8 to 6.
static E2M1_PAIRS: [u32; 256] = {
    let mut pairs = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (low, high) = (byte & 15, byte >> 4);
        pairs[byte as usize] = (low & 8) << 12 | (low & 7) << 6 | (high & 8) << 28 | (high & 7) << 22;
        byte += 1;
    }
    pairs
};

/// Reorders the bits of 16 E2M1 codes, two in a byte, the lower half first, to the order of kernels
/// (`mxfp4.cuh`).
#[inline]
pub fn pack_mxfp4(codes: [u8; 8]) -> [u8; 8] {
    const FIRST_WORD_LEFT: u32 = 0x0603_0603;
    let mut words = [0u32; 3];
    for (i, byte) in (0u32..).zip(codes) {
        let pair = E2M1_PAIRS[usize::from(byte)];
        words[i as usize % 3] |= if i < 5 { pair.rotate_left(2 * i) } else { pair >> (16 - 2 * i) };
    }
    let [first, second, shared] = words;
    let (first, second) = (first | (shared & FIRST_WORD_LEFT), second | (shared & !FIRST_WORD_LEFT));
    (u64::from(first) | u64::from(second) << 32).to_le_bytes()
}
