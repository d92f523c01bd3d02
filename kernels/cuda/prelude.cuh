// What all kernels share, in CUDA and in C++ alike: types, vectors of numbers, sums over warps and blocks.
//
// bf16 is kept as its bits, the upper half of an f32. Eight numbers are read or written in accesses of 16 bytes: two for f32, one
// for bf16.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned long long u64;
typedef u16 bf16;

DEVICE float f32_of(bf16 x) {
    return __uint_as_float((u32)x << 16);
}

DEVICE float f32_low(u32 pair) {
    return __uint_as_float(pair << 16);
}

DEVICE float f32_high(u32 pair) {
    return __uint_as_float(pair & 0xffff0000u);
}

DEVICE bf16 bf16_of(float x) {
    return (bf16)bf16_pair(x, 0.0f);
}

template <int N>
struct Floats {
    float at[N];
};

// Loads N consecutive numbers. Accesses of 16 bytes (eight numbers, or four f32) need addresses that are multiples of 16.
template <int N>
DEVICE Floats<N> load(const float* p) {
    Floats<N> v;
    if (N % 4 == 0) {
        _Pragma("unroll") for (int i = 0; i < N / 4; i++) {
            float4 part = ((const float4*)p)[i];
            v.at[4 * i] = part.x, v.at[4 * i + 1] = part.y, v.at[4 * i + 2] = part.z, v.at[4 * i + 3] = part.w;
        }
    } else {
        _Pragma("unroll") for (int i = 0; i < N; i++) v.at[i] = p[i];
    }
    return v;
}

DEVICE Floats<8> floats_of(uint4 bits) {
    Floats<8> v;
    v.at[0] = f32_low(bits.x), v.at[1] = f32_high(bits.x), v.at[2] = f32_low(bits.y), v.at[3] = f32_high(bits.y);
    v.at[4] = f32_low(bits.z), v.at[5] = f32_high(bits.z), v.at[6] = f32_low(bits.w), v.at[7] = f32_high(bits.w);
    return v;
}

template <int N>
DEVICE Floats<N> load(const bf16* p) {
    static_assert(N == 1 || N == 8, "one number or 16 bytes");
    Floats<N> v;
    if (N == 8) {
        Floats<8> eight = floats_of(*(const uint4*)p);
        _Pragma("unroll") for (int i = 0; i < N; i++) v.at[i] = eight.at[i];
    } else {
        v.at[0] = f32_of(p[0]);
    }
    return v;
}

template <int N>
DEVICE void store(float* p, const Floats<N>& v) {
    if (N % 4 == 0) {
        _Pragma("unroll") for (int i = 0; i < N / 4; i++) {
            ((float4*)p)[i] = make_float4(v.at[4 * i], v.at[4 * i + 1], v.at[4 * i + 2], v.at[4 * i + 3]);
        }
    } else {
        _Pragma("unroll") for (int i = 0; i < N; i++) p[i] = v.at[i];
    }
}

DEVICE uint4 bits_of(const Floats<8>& v) {
    return make_uint4(bf16_pair(v.at[0], v.at[1]), bf16_pair(v.at[2], v.at[3]), bf16_pair(v.at[4], v.at[5]),
                      bf16_pair(v.at[6], v.at[7]));
}

DEVICE void store(bf16* p, const Floats<8>& v) {
    *(uint4*)p = bits_of(v);
}

DEVICE void store(bf16* p, const Floats<1>& v) {
    p[0] = bf16_of(v.at[0]);
}

// Sum over the warp, returned to all lanes.
DEVICE float warp_sum(float x) {
    _Pragma("unroll") for (int offset = 16; offset > 0; offset /= 2) x += __shfl_xor_sync(0xffffffffu, x, offset);
    return x;
}

DEVICE float warp_max(float x) {
    _Pragma("unroll") for (int offset = 16; offset > 0; offset /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, offset));
    return x;
}

// Sum over the block (one-dimensional, whole warps), returned to all threads and always added in the same order. `scratch` has
// room for one number of each warp; it may be used again after the block's next barrier.
DEVICE float block_sum(float x, float* scratch) {
    x = warp_sum(x);
    if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = x;
    __syncthreads();
    float sum = 0.0f;
    for (u32 warp = 0; warp < blockDim.x / 32; warp++) sum += scratch[warp];
    return sum;
}

// The KV cache of a layer is [block of 64 tokens][kv head][token][HeadDim] bf16, keys and values apart. Chunks of eight elements
// (16 bytes) in a token's head swap places by the token's lowest bits, so that a column of chunks of neighbouring tokens lies in
// all banks of shared memory. Returns the index of element `dim` in the token's row.
template <u32 HeadDim>
DEVICE u32 kv_swizzle(u32 token, u32 dim) {
    constexpr u32 mask = HeadDim % 64 == 0 ? 7 : HeadDim % 32 == 0 ? 3 : HeadDim % 16 == 0 ? 1 : 0;
    return dim ^ (token & mask) * 8;
}

// Index of the first element of a head, for the token in `slot` (64 * block + token in the block).
template <u32 HeadDim>
DEVICE u64 kv_row(u32 slot, u32 head, u32 kv_heads) {
    return (((u64)(slot / 64) * kv_heads + head) * 64 + slot % 64) * HeadDim;
}

// Sine and cosine of an f32 angle below 2²¹. Two steps of Cody and Waite (1980) reduce the angle to within a turn, where the
// device's fast functions are exact to 2⁻²¹; the exact functions would need a stack.
DEVICE void sine_cosine(float angle, float* sine, float* cosine) {
    float turns = rintf(angle * 0.15915494f);
    angle = fmaf(turns, -6.2831855f, angle);
    angle = fmaf(turns, 1.7484556e-7f, angle);
    *sine = __sinf(angle);
    *cosine = __cosf(angle);
}

// Less than every number: the score of positions that a row doesn't see.
#define MINUS_INFINITY (-__uint_as_float(0x7f800000u))

// Combination of partial results of a sum that is weighted by a softmax. A partial result is a row of Width sums, the largest
// score (in units of log2), and the sum of weights.
struct Joined {
    float most, sum, value;
};

// Combines `count` partial results, `stride` floats apart, in their order, for the sum with index `at`. `most` is one more score
// to compare with the largest ones. The partial results may have been written by other blocks.
template <u32 Width>
DEVICE Joined join(const volatile float* parts, u32 count, u64 stride, u32 at, float most) {
    Joined all = {most, 0.0f, 0.0f};
    for (u32 i = 0; i < count; i++) all.most = fmaxf(all.most, parts[i * stride + Width]);
    for (u32 i = 0; i < count; i++) {
        const volatile float* part = parts + i * stride;
        float factor = exp2f(part[Width] - all.most);
        all.sum += factor * part[Width + 1], all.value += factor * part[at];
    }
    return all;
}
