// FP8 weights as linear layers and experts have them on the device, and their conversion to bf16.
//
// A code is E4M3: sign, four bits of exponent, three of mantissa (OCP 8-bit Floating Point v1.0); codes are in the order of files. Eight
// rows share a row of f32 scales, one for each quantisation block of columns. (Quantisation blocks have a multiple of eight rows, so the
// rows of scales are repeated at load; then matrices may be stacked or interleaved by eight rows, and kernels needn't know.)
//
// At bits 15 and 10 to 4 of a bf16 a code's bits are its value times 2^-120, since subnormal numbers have the same form in both formats.
// The product with 2^120 is the value, never rounded. (Codes 0x7f and 0xff, NaN in E4M3, become ±480; a model with one is refused at
// load.) The upper and the lower byte of four results are made at once and brought together by PRMT: with both products 9 instructions
// for 4 codes. The scale isn't part of a weight: each kernel multiplies its sum over columns of one quantisation block by the scale, in
// f32, as the CPU does. So no weight is rounded, and a scale costs one instruction for many weights.

// 2^120, twice.
constexpr u32 FP8_FACTOR = 0x7b807b80;
// Rows of a weight that share a row of scales.
constexpr u32 FP8_ROWS = 8;

// Eight values as pairs, from two words of codes.
DEVICE void unpack_fp8(u32 (&pairs)[4], u32 first, u32 second) {
    _Pragma("unroll") for (u32 i = 0; i < 2; i++) {
        u32 codes = i ? second : first;
        u32 upper = (codes >> 4 & 0x07070707) | (codes & 0x80808080), lower = codes << 4 & 0xf0f0f0f0;
        pairs[2 * i] = bf16_multiply(__byte_perm(lower, upper, 0x5140), FP8_FACTOR);
        pairs[2 * i + 1] = bf16_multiply(__byte_perm(lower, upper, 0x7362), FP8_FACTOR);
    }
}
