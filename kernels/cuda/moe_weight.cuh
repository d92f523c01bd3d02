// Weights of experts in their stored format (FORMAT), and their conversion to bf16:
//   0: bf16.
//   1: MXFP4 (mxfp4.cuh).
//   2: FP8 (fp8.cuh); the kernel multiplies sums by the scales.

// Neighbouring weights in their stored format, and their scale: MXFP4's byte, or the bits of FP8's f32 where it is kept here.
struct Chunk {
    uint4 bits;
    u32 scale;
};

// Weights of 16 bytes, and weights that are converted at once: all of bf16, half of the others.
constexpr u32 CHUNK_COLS = FORMAT == 1 ? 32 : FORMAT == 2 ? 16 : 8, STEP = FORMAT == 1 ? 16 : 8;

// The weights of a step of a chunk as pairs of bf16.
template <u32 Pairs>
DEVICE void widen(u32 (&pairs)[Pairs], const Chunk& chunk, u32 step) {
    u32 first = step ? chunk.bits.z : chunk.bits.x, second = step ? chunk.bits.w : chunk.bits.y;
    if constexpr (FORMAT == 0) {
        pairs[0] = first, pairs[1] = second, pairs[2] = chunk.bits.z, pairs[3] = chunk.bits.w;
    } else if constexpr (FORMAT == 1) {
        unpack_mxfp4(pairs, first, second, mxfp4_factor(chunk.scale));
    } else {
        unpack_fp8(pairs, first, second);
    }
}
