// Fills memory with one repeated word, or with random weights, the same as host/engine/src/models/random.rs draws.
//
// Draws are those of splitmix64 (Steele, Lea and Flood 2014, doi:10.1145/2660193.2660195) at an index of its sequence, so each
// thread computes its own draw of eight bytes. Bytes: only what is written.

DEVICE u64 draw(u64 seed, u64 at) {
    u64 state = seed + (at + 1) * 0x9e3779b97f4a7c15ull;
    u64 z = (state ^ state >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

KERNEL __launch_bounds__(256) void fill(u32* out, u32 word, u64 words) {
    grid_launch_dependents();
    grid_dependency_wait();
    u64 at = (u64)blockIdx.x * 256 + threadIdx.x;
    if (at < words) out[at] = word;
}

// Draws bf16 uniformly from middle ± spread, four from each draw. Values are truncated, not rounded, and product and sum are
// separate operations, so that the bits are those of the CPU.
KERNEL __launch_bounds__(256) void random_weights(bf16* out, u64 count, u64 seed, float middle, float spread) {
    grid_launch_dependents();
    grid_dependency_wait();
    u64 at = (u64)blockIdx.x * 256 + threadIdx.x;
    if (at * 4 >= count) return;
    u64 z = draw(seed, at);
    u32 bits[4];
    _Pragma("unroll") for (u32 i = 0; i < 4; i++) {
        float uniform = (float)(short)(z >> 16 * i) * (1.0f / 32768.0f);
        bits[i] = __float_as_uint(__fadd_rn(middle, __fmul_rn(spread, uniform))) >> 16;
    }
    if (at * 4 + 4 <= count) {
        *(uint2*)(out + at * 4) = make_uint2(bits[0] | bits[1] << 16, bits[2] | bits[3] << 16);
    } else {
        _Pragma("unroll") for (u32 i = 0; i < 3; i++) if (at * 4 + i < count) out[at * 4 + i] = (bf16)bits[i];
    }
}

// Draws codes of eight bits, eight from each draw; bits that aren't in `mask` are zero. MXFP4 codes are reordered (mxfp4.cuh).
KERNEL __launch_bounds__(256) void random_codes(u8* out, u64 count, u64 seed, u32 mask, u32 mxfp4) {
    grid_launch_dependents();
    grid_dependency_wait();
    u64 at = (u64)blockIdx.x * 256 + threadIdx.x;
    if (at * 8 >= count) return;
    u64 z = draw(seed, at) & mask * 0x0101010101010101ull;
    if (mxfp4) z = pack_mxfp4(z);
    if (at * 8 + 8 <= count) {
        *(uint2*)(out + at * 8) = make_uint2((u32)z, (u32)(z >> 32));
    } else {
        _Pragma("unroll") for (u32 i = 0; i < 7; i++) if (at * 8 + i < count) out[at * 8 + i] = (u8)(z >> 8 * i);
    }
}
